//! A store behind a network, as its file describes it.

use super::keys::{bounded, capacity, rate, time};
use super::{Form, Kind};
use block::{BadInput, Span};
use config::Section;
use std::path::Path;

pub(super) static FORM: Form = Form {
    word: "store",
    what: "a network store",
    keys: "`capacity`, `latency`, `jitter` and `sigma` (log-normal), `tail_share` and `tail`, `mb_s`",
    text: "a time for each command by itself, and the network's rate; \
           `noise = false` leaves jitter and tail out",
    least_depth: 1,
    read,
};

/// A store behind a network: a time that varies, and the network's rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// Capacity in blocks.
    pub blocks: u64,
    /// The least time of a command, its transfer apart.
    pub latency: Span,
    /// Median of what it takes longer, which is log-normal.
    pub jitter: Span,
    /// Standard deviation of the logarithm of that.
    pub sigma: f64,
    /// Share of commands that are held up besides.
    pub tail_share: f64,
    /// For so long.
    pub tail: Span,
    /// Rate of the network, 10^6 bytes/s.
    pub mb_s: f64,
}

fn read(root: &Section, _: &Path) -> Result<Kind, BadInput> {
    let sigma = root.f64("sigma")?.unwrap_or(0.0);
    if !(0.0..=3.0).contains(&sigma) {
        return Err(root.error("sigma", format!("`sigma` is {sigma}"), "give a number from 0 to 3"));
    }
    Ok(Kind::Store(Store {
        blocks: capacity(root)?,
        latency: time(root, "latency")?,
        jitter: bounded(root, "jitter")?.unwrap_or_default(),
        sigma,
        tail_share: root.share("tail_share")?.unwrap_or(0.0),
        tail: bounded(root, "tail")?.unwrap_or_default(),
        mb_s: rate(root)?,
    }))
}
