//! A device made up for tests: each command takes as long as it has blocks, in ms, whatever else is in it.

use block::{Caps, Command, Outcome, Span, Tag, Time};
use drive::{Account, Machine, Parts};

/// The device.
pub(crate) struct Made {
    pub(crate) depth: u16,
    /// The command it never completes, counted from 0.
    pub(crate) strands: Option<u64>,
    /// How long a block takes.
    pub(crate) block: Span,
    pub(crate) issued: u64,
    /// When each command in it ends, what it is called, and how long it takes.
    pub(crate) flying: Vec<(Time, Tag, Span)>,
    pub(crate) since: Time,
}

impl Made {
    pub(crate) fn new(depth: u16) -> Made {
        let block = Span(1_000_000);
        Made { depth, strands: None, block, issued: 0, flying: Vec::new(), since: Time::ZERO }
    }

    fn first(&self) -> Option<usize> {
        let ending =
            self.flying.iter().enumerate().filter(|(_, (end, ..))| *end < Time::NEVER || self.strands.is_none());
        ending.min_by_key(|(_, (end, tag, _))| (*end, tag.0)).map(|(i, _)| i)
    }
}

impl Machine for Made {
    fn caps(&self) -> Caps {
        Caps { blocks: 1 << 20, depth: self.depth, seek: block::SeekBy::Nothing, arms: 1 }
    }

    fn issue(&mut self, now: Time, tag: Tag, command: Command) {
        let takes = Span(self.block.0.saturating_mul(u64::from(command.at.blocks)));
        let end = if self.strands == Some(self.issued) { Time::NEVER } else { now + takes };
        self.issued += 1;
        self.flying.push((end, tag, takes));
    }

    fn next(&self) -> Option<Time> {
        self.first().map(|i| self.flying[i].0)
    }

    fn finish(&mut self) -> Option<(Time, Tag, Outcome, Parts)> {
        let (end, tag, takes) = self.flying.remove(self.first().expect("one ends"));
        Some((end, tag, Outcome::Ok, Parts { transfer: takes, ..Parts::default() }))
    }

    fn take_account(&mut self, now: Time) -> Account {
        let since = std::mem::replace(&mut self.since, now);
        Account { since, until: now, ..Account::default() }
    }
}
