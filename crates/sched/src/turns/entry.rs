//! When a turn for a floor that is owed begins: where the way there is short.
//!
//! What a turn costs those who wait is the way there and back, and that differs from one request of theirs to the next: by how far the arm
//! has to go, and by what has to come round. So a floor is paid a little later than it is owed, at the first moment at which
//! the way is no longer than those that were found of late. How long that is follows from what comes: it falls with each turn that found
//! one, and rises with each that found none in time. Nothing is lost by waiting: what is owed stays so.

use super::Turns;
use block::{Lbn, Span};

/// What counts as short is less by this part after a way that was, and more by this part, and by so much, after none was found.
const LESS: u64 = 16;
const MORE: u64 = 4;
const LEAST: u64 = 200_000;

/// How short a way has to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TurnEntry {
    short: Span,
    /// Whether a floor has been owed for as long as its turn may wait.
    is_last: bool,
    /// Whether it waits now.
    pub(super) waits: bool,
}

impl TurnEntry {
    /// The way there is so long now.
    fn weigh(&mut self, way: Span) {
        self.waits = way > self.short && !self.is_last;
        match way > self.short {
            true if self.waits => {}
            true => self.short = self.short + Span((self.short.0 / MORE).max(LEAST)),
            false => self.short = self.short.less(Span(self.short.0 / LESS)),
        }
    }
}

impl Turns {
    /// Where a class goes on for whose floor a turn would begin now, if that may wait: others have something to do meanwhile.
    pub(crate) fn find_entry(&mut self) -> Option<Lbn> {
        self.entry.waits = false;
        if self.turn.is_some_and(|turn| turn.owed && self.lasts(&turn)) {
            return None;
        }
        let now = self.now;
        let owed = |rank: &mut super::Rank| Some((rank.rank, rank.shares.pick_owed(now)?, rank.shares.owed_since()?));
        let (rank, leaf, since) = self.ranks.iter_mut().find_map(owed)?;
        let class = self.leaves.iter().position(|known| *known == leaf)? as u8;
        let asks =
            |(other, it): (u8, &super::Class)| other != class && (it.waiting > 0 || self.return_of(other).is_some());
        if self.does_work(rank, class) || !(0..).zip(&self.classes).any(asks) {
            return None;
        }
        self.entry.is_last = now.since(since) >= self.owed_slice(class);
        self.places[usize::from(class)]
    }

    /// The way there is so long.
    pub(crate) fn weigh_entry(&mut self, way: Span) {
        self.entry.weigh(way);
    }

    /// A transfer of a class has ended before this block.
    pub(crate) fn note_place(&mut self, class: u8, next: Lbn) {
        self.reach(class);
        self.places[usize::from(class)] = Some(next);
    }
}
