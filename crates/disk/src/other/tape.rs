//! A tape, as its file describes it.

use super::keys::{CAPACITY, MB_S, capacity, time};
use super::{Form, Kind};
use block::{BadInput, Span};
use config::Section;
use std::path::Path;

config::keys! {
    /// Wraps; all hold the same, but for the last.
    WRAPS: u32 = within("wraps", 1, 1 << 20).required();
    /// From one end to the other without a transfer.
    FULL_LENGTH: Span = span("full_length").required();
    /// To another wrap, at the ends or in between.
    WRAP_CHANGE: Span = span("wrap_change").required();
    /// Until a tape that stood or ran elsewhere streams.
    START: Span = span("start").required();
    /// How long it goes on streaming, from its buffer, when nothing comes.
    STOPS_AFTER: Span = span("stops_after").usually("0ms");
}

pub(super) static FORM: Form = Form {
    word: "tape",
    what: "a tape",
    keys: &[
        CAPACITY.about,
        WRAPS.about,
        FULL_LENGTH.about,
        WRAP_CHANGE.about,
        START.about,
        STOPS_AFTER.about,
        MB_S.about,
    ],
    example: "kind = \"tape\"
title = \"a tape of 1.5 TB\"
capacity = \"1.5TB\"
wraps = 80
full_length = \"80s\"
wrap_change = \"1s\"
start = \"2s\"
mb_s = 140",
    text: "Wraps to and fro along the tape: to get there takes as long as it is along the tape, not in blocks; then it streams.",
    least_depth: 1,
    read,
};

/// A tape whose wraps run to and fro along its length: the first from the beginning, the second back.
#[derive(Clone, Debug, PartialEq)]
pub struct Tape {
    /// Blocks that a host may address.
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
        wraps: root.value(&WRAPS)?,
        full_length: time(root, &FULL_LENGTH)?,
        wrap_change: time(root, &WRAP_CHANGE)?,
        start: time(root, &START)?,
        stops_after: time(root, &STOPS_AFTER)?,
        mb_s: root.value(&MB_S)?,
    }))
}

impl Tape {
    /// Blocks of a wrap.
    #[must_use]
    pub fn wrap_blocks(&self) -> u64 {
        self.blocks.div_ceil(u64::from(self.wraps))
    }
}
