//! A store behind a network, as its file describes it.

use super::keys::{CAPACITY, MB_S, capacity, time};
use super::{Form, Kind};
use block::{BadInput, Span};
use config::Section;
use std::path::Path;

config::keys! {
    /// The least time of a command, its transfer apart.
    LATENCY: Span = span("latency").required();
    /// Median of what it takes longer, which is log-normal.
    JITTER: Span = span("jitter").usually("0ms");
    /// Standard deviation of the logarithm of that.
    SIGMA: f64 = number("sigma", 0.0, 3.0).usually("0");
    /// Share of commands that are held up besides.
    TAIL_SHARE: f64 = share("tail_share").usually("0");
    /// For so long.
    TAIL: Span = span("tail").usually("0ms");
}

pub(super) static FORM: Form = Form {
    word: "store",
    what: "a network store",
    keys: &[CAPACITY.about, LATENCY.about, JITTER.about, SIGMA.about, TAIL_SHARE.about, TAIL.about, MB_S.about],
    example: "kind = \"store\"
title = \"a block store in the next room\"
capacity = \"1TB\"
latency = \"0.4ms\"
jitter = \"0.1ms\"
sigma = 0.5
mb_s = 500
depth = 64",
    text: "A time for each command by itself, and the network's rate; `noise = false` leaves jitter and tail out.",
    least_depth: 1,
    read,
};

/// A store behind a network: a time that varies, and the network's rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// Blocks that a host may address.
    pub blocks: u64,
    /// The least time of a command, its transfer apart.
    pub latency: Span,
    /// Median of what it takes longer, which is log-normal.
    pub jitter: Span,
    /// Standard deviation of the logarithm of that.
    pub sigma: f64,
    /// Share of commands that are held up besides.
    pub tail_share: f64,
    /// How long a slow answer takes.
    pub tail: Span,
    /// Rate of the network, 10^6 bytes/s.
    pub mb_s: f64,
}

fn read(root: &Section, _: &Path) -> Result<Kind, BadInput> {
    Ok(Kind::Store(Store {
        blocks: capacity(root)?,
        latency: time(root, &LATENCY)?,
        jitter: time(root, &JITTER)?,
        sigma: root.value(&SIGMA)?,
        tail_share: root.value(&TAIL_SHARE)?,
        tail: time(root, &TAIL)?,
        mb_s: root.value(&MB_S)?,
    }))
}
