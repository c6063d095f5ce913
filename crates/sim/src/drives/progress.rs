//! How far a run has come, as whoever watches is told, and whether it gets on at all.
//!
//! A closed load whose requests fail in no time, at an array of which every disk is lost, would ask for ever at one instant.

use super::{Drives, Measured};
use crate::tell::Tell;
use block::{At, BadInput, Ending, Time};
use drive::Machine;

/// How often the watcher is told of progress, in requests.
pub(super) const TELL_EVERY: u64 = 1 << 15;

/// So many times in a row it is told of failures at one instant before the run is given up: more than can have waited for a disk
/// that fails.
const STILL: u32 = 40;

/// The watcher, and since when nothing but failures came of time that stands still.
pub(super) struct RunProgress<'a> {
    tell: Tell<'a>,
    last: Time,
    still: u32,
}

impl<'a> RunProgress<'a> {
    pub(super) fn new(tell: Tell<'a>) -> RunProgress<'a> {
        RunProgress { tell, last: Time::ZERO, still: 0 }
    }

    /// So many have ended in all: the watcher is told of those it has not heard of.
    pub(super) fn tell_rest(&self, ended: u64) {
        let _ = (self.tell)(ended % TELL_EVERY);
    }
}

impl<M: Machine, L: Measured> Drives<'_, M, L> {
    /// Tells of requests that ended, the last of them so. The run is over where whoever is told has had enough, or no time passes.
    #[cold]
    pub(super) fn tell_progress(&mut self, now: Time, how: Ending) {
        let RunProgress { tell, last, still } = &mut self.progress;
        let stands = matches!(how, Ending::Failed(_)) && now == *last;
        (*last, *still) = (now, if stands { *still + 1 } else { 0 });
        let bad = |what: &str, mend: &str| Some(BadInput::new("the run", At::File, what, mend));
        if tell(TELL_EVERY).is_break() {
            self.failed = bad("was stopped before its end", "run it again");
        } else if *still == STILL {
            self.failed = bad(
                "does not get on: requests fail as soon as they come, and others come at once",
                "let fewer disks fail, or give closed workloads a `think` time",
            );
        }
        self.over |= self.failed.is_some();
    }
}
