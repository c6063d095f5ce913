//! What an array keeps of a request, beside what any core does.

use block::{Ending, Place};

/// What is kept of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    /// Where its bytes are.
    pub(super) base: Place,
    /// Children and updates of it that have not ended.
    pub(super) left: u32,
    /// How it ends, if not well.
    pub(super) trouble: Option<Ending>,
    /// Whether it keeps its order with others of its rows.
    pub(super) by_rows: bool,
    /// Whether a disk did not bring what it was asked for, which can be had from the rest of its row.
    pub(super) again: bool,
    /// Whether a command of it was issued.
    pub(super) begun: bool,
    /// Whether it goes on with a stream of reads.
    pub(super) follows: bool,
    /// The frame of the write buffer that its bytes are in; then nobody waits for it.
    pub(super) buffered: Option<u32>,
    /// Times that writing it out of the buffer failed.
    pub(super) tries: u8,
}

impl Task {
    /// One whose bytes are there, of which nothing is done.
    pub(super) fn at(base: Place) -> Task {
        Task {
            base,
            left: 0,
            trouble: None,
            by_rows: false,
            again: false,
            begun: false,
            follows: false,
            buffered: None,
            tries: 0,
        }
    }
}
