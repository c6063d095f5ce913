//! A tape, as its file describes it.

use super::keys::{bounded, capacity, rate, time};
use super::{Form, Kind};
use block::{BadInput, Span};
use config::Section;
use std::path::Path;

pub(super) static FORM: Form = Form {
    word: "tape",
    what: "a tape",
    keys: "`capacity`, `wraps`, `full_length`, `wrap_change`, `start`, `stops_after`, `mb_s`",
    text: "wraps to and fro along the tape: to get there takes as long as it is along the tape, \
           not in blocks; then it streams",
    least_depth: 1,
    read,
};

/// A tape whose wraps run to and fro along its length: the first from the beginning, the second back.
#[derive(Clone, Debug, PartialEq)]
pub struct Tape {
    /// Capacity in blocks.
    pub blocks: u64,
    /// Wraps; all hold the same, but for the last.
    pub wraps: u32,
    /// From one end to the other without a transfer.
    pub full_length: Span,
    /// To another wrap, at the ends or in between.
    pub wrap_change: Span,
    /// Until a tape that stood or ran elsewhere streams.
    pub start: Span,
    /// How long it goes on streaming, from its buffer, when nothing comes.
    pub stops_after: Span,
    /// Rate of streaming, 10^6 bytes/s.
    pub mb_s: f64,
}

fn read(root: &Section, _: &Path) -> Result<Kind, BadInput> {
    Ok(Kind::Tape(Tape {
        blocks: capacity(root)?,
        wraps: root.need("wraps", root.within("wraps", 1, 1 << 20)?)?,
        full_length: time(root, "full_length")?,
        wrap_change: time(root, "wrap_change")?,
        start: time(root, "start")?,
        stops_after: bounded(root, "stops_after")?.unwrap_or_default(),
        mb_s: rate(root)?,
    }))
}

impl Tape {
    /// Blocks of a wrap.
    #[must_use]
    pub fn wrap_blocks(&self) -> u64 {
        self.blocks.div_ceil(u64::from(self.wraps))
    }
}
