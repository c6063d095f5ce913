//! The commands of all disks as they are recorded for a while.

use crate::film::Steps;
use block::{Command, Place, RequestId, Tag, Time};
use drive::Parts;
use flow::PictureScope;

/// So many pieces, on average, are drawn of a command.
const PIECES: usize = 6;

/// The commands of all disks for a while.
#[derive(Clone, Debug)]
pub(crate) struct Reel {
    pub(crate) scope: PictureScope,
    pub(crate) cut: bool,
    pub(crate) disks: Vec<Steps>,
    /// Commands kept, and those of them that are under way.
    kept: usize,
    under_way: usize,
    /// The number of the request in each slot.
    numbers: Vec<u32>,
    submitted: u32,
}

impl Reel {
    pub(crate) fn new(scope: PictureScope) -> Reel {
        Reel { scope, cut: false, disks: Vec::new(), kept: 0, under_way: 0, numbers: Vec::new(), submitted: 0 }
    }

    pub(crate) fn note_request(&mut self, id: RequestId) {
        let slot = id.0 as usize;
        self.numbers.resize(self.numbers.len().max(slot + 1), 0);
        self.submitted += 1;
        self.numbers[slot] = self.submitted;
    }

    pub(crate) fn begin_command(&mut self, now: Time, disk: usize, tag: Tag, command: Command, own_until: Time) {
        if now >= self.scope.to {
            return;
        }
        if self.kept >= self.scope.most / PIECES {
            (self.scope.to, self.cut) = (now, true);
            return;
        }
        let request = match command.place {
            Place::Request(id, _) => self.numbers.get(id.0 as usize).copied(),
            Place::Nowhere | Place::Frame(..) | Place::Scan => None,
        };
        self.disks.resize(self.disks.len().max(disk + 1), Steps::default());
        self.disks[disk].begin_command(now, tag, command, own_until, request);
        (self.kept, self.under_way) = (self.kept + 1, self.under_way + 1);
    }

    pub(crate) fn end_command(&mut self, now: Time, disk: usize, tag: Tag, parts: Parts) {
        let Some(steps) = self.disks.get_mut(disk) else { return };
        if steps.end_command(now, tag, parts) {
            self.under_way -= 1;
            // What was over before it begins is not shown.
            if now <= self.scope.from {
                self.kept -= steps.forget();
            }
        }
    }

    pub(crate) fn is_over(&self, now: Time, until: Option<Time>) -> bool {
        now > until.unwrap_or(Time::NEVER).min(self.scope.to) && self.under_way == 0
    }
}
