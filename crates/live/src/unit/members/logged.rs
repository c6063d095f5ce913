//! The log of an array's write buffer, and what the disks are told of it.
//!
//! **They name the log before anything rests on it,** and until nothing does: a service that has another or none is refused.

use super::Members;
use crate::array::{LOG_NUMBERS, WriteLog};

impl Members {
    /// The same, which has this log.
    #[must_use]
    pub(crate) fn logging(mut self, log: Option<WriteLog>) -> Members {
        self.log = log;
        let known = self.unknown - LOG_NUMBERS;
        self.log.iter_mut().for_each(|log| log.set_known(known));
        self
    }

    /// Nothing may rest on a log of which no disk knows.
    pub(super) fn check_log(&mut self) {
        if self.unwritten {
            self.log.iter_mut().for_each(WriteLog::fail);
        }
    }

    /// Nothing is on the log that is not on the disks, and nothing more will be.
    pub(super) fn drop_log(&mut self) {
        self.notes.iter_mut().for_each(|notes| notes.set_log(None));
        let known = self.write_notes();
        let Some(log) = &mut self.log else { return };
        if known {
            log.give_up();
            eprintln!("the log {} is given up: writes go to the disks alone", log.path());
        } else {
            log.set_stuck();
        }
    }
}
