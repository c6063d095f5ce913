//! What the device holds of writes that it has taken into its buffer, as far as the times tell at which commands came back, and
//! when the next write is to follow.
//!
//! A drive takes writes until its buffer is full; the next one waits in the drive for room, and with it whoever urgent comes
//! meanwhile, since one command is in the drive at a time. Nothing is gained by that: the arm writes back as fast either way. So
//! where someone urgent may come, a write follows when it is thought to find room at once. Nothing is forced to the medium: that
//! would cost a revolution each time, and the drive the choice of what to write back first.
//!
//! **A drive that reads between two write-backs** keeps a reader waiting for the one under way, however much it holds. Its
//! buffer is kept nearly full, so that it has much to choose from. How fast it drains is learned: a write that waits tells that
//! the buffer is full, and what was taken between two such writes is what was written back. As long as none waits, the
//! buffer may drain faster than is believed, and that is believed to be so, little by little.
//!
//! **A drive that writes everything back before it reads** keeps a reader waiting for all that it holds. It is given only what
//! keeps the arm streaming. When it has written all is worked out from where the writes lie.

use crate::predict::{BufferBelief, Predictor};
use block::{Command, Direction, Extent, Lbn, Span, Time, Verb};

/// Where a command stands among those of a request's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InTurn {
    First,
    Later,
}

/// This part of the buffer is left free, so that what is learned of its pace may be off.
const SPARE: u32 = 16;
/// A write that finds room tells that the buffer drains faster by this part than was believed, if it does.
const FASTER: f64 = 1.0 / 256.0;
/// What was measured last counts for so much of the pace.
const NEWEST: f64 = 0.25;
/// A write is held back for so long at most; and a device that was left alone for longer has perhaps written back all it holds.
const LONGEST: Span = Span(100_000_000);
/// Of writes that are to be written back before a read: so many may wait while one is written back.
const WAITING: u64 = 3;

/// What is believed to be in the device's buffer.
#[derive(Clone, Debug)]
pub(crate) struct Backlog {
    buffer: BufferBelief,
    /// When the command in flight was issued; nothing where it was not seen.
    issued: Option<Time>,
    /// When all that is buffered should be on the medium, the write in flight included, and where the last of it ends. Of use where
    /// that goes first.
    drained: Time,
    next: Option<Lbn>,
    /// Blocks of room at a time, and the pace at which room comes, in blocks per ns, once that is known.
    room: f64,
    since: Time,
    pace: Option<f64>,
    /// Since a write last had to wait: blocks taken, and the time the arm had for them; nothing before one has.
    full: Option<(f64, Span)>,
}

impl Backlog {
    pub(crate) fn new(buffer: BufferBelief) -> Backlog {
        let room = f64::from(buffer.blocks);
        let (issued, drained, since) = (None, Time::ZERO, Time::ZERO);
        Backlog { buffer, issued, drained, next: None, room, since, pace: None, full: None }
    }

    /// The arm may have written back until now.
    #[inline]
    fn pass(&mut self, now: Time) {
        let span = now.since(self.since);
        self.since = now;
        if let Some(pace) = self.pace {
            self.room = (self.room + pace * span.0 as f64).min(f64::from(self.buffer.blocks));
        }
        if span > LONGEST {
            self.full = None;
        }
        if let Some((_, arm)) = &mut self.full {
            *arm += span;
        }
    }

    /// A command is issued, the only one in the device.
    #[inline]
    pub(crate) fn issue<P: Predictor>(&mut self, belief: &P, now: Time, command: &Command, spot: &P::Spot) {
        self.pass(now);
        self.issued = Some(now);
        if self.buffer.goes_first && command.verb == (Verb::Write { fua: false }) {
            self.add_first(belief, now, command.at, *spot);
        }
    }

    /// What goes before any read has one write more.
    #[inline(never)]
    fn add_first<P: Predictor>(&mut self, belief: &P, now: Time, at: Extent, spot: P::Spot) {
        let from = self.drained.max(now);
        let goes_on = self.next.replace(at.end()) == Some(at.start);
        let way = belief.approach(from, at, spot, Direction::Write).filter(|_| !goes_on);
        let there = way.map_or(Span::ZERO, |way| way.travel + way.wait);
        self.drained = from + there + belief.transfer(at, spot);
    }

    /// A command came back.
    #[inline]
    pub(crate) fn land<P: Predictor>(&mut self, belief: &P, now: Time, command: &Command) {
        let Some(issued) = self.issued.take() else {
            // It was one of many.
            *self = Backlog::new(self.buffer);
            return;
        };
        match command.verb {
            Verb::Write { fua: false } => self.land_write(belief, now, command.at),
            // The arm was elsewhere, and had to be done with all that goes first.
            Verb::Read | Verb::Write { fua: true } | Verb::Seek => {
                (self.since, self.drained, self.next) = (now, issued, None);
            }
            Verb::Flush => {
                self.pass(now);
                (self.room, self.full, self.drained) = (f64::from(self.buffer.blocks), None, now);
            }
            Verb::Discard(_) => self.pass(now),
        }
    }

    /// A read came back, and another is issued: as `land` and `issue` have it.
    #[inline]
    pub(crate) fn read_on(&mut self, now: Time) {
        match self.issued.replace(now) {
            Some(issued) => (self.since, self.drained, self.next) = (now, issued, None),
            None => {
                *self = Backlog::new(self.buffer);
                self.pass(now);
                self.issued = Some(now);
            }
        }
    }

    /// The same of a write into the buffer.
    #[inline(never)]
    fn land_write<P: Predictor>(&mut self, belief: &P, now: Time, at: Extent) {
        let blocks = f64::from(at.blocks);
        self.pass(now);
        self.room = (self.room - blocks).max(0.0);
        if let Some((taken, _)) = &mut self.full {
            *taken += blocks;
        }
        if belief.has_waited() {
            self.drained = now + self.all(belief, at);
            self.learn_pace();
        } else {
            self.pace = self.pace.map(|pace| pace * (1.0 + FASTER));
        }
    }

    /// A write had to wait for room: there is none now.
    fn learn_pace(&mut self) {
        self.room = 0.0;
        let Some((taken, arm)) = self.full.replace((0.0, Span::ZERO)) else { return };
        let found = taken / arm.0.max(1) as f64;
        self.pace = Some(self.pace.map_or(found, |pace| pace + (found - pace) * NEWEST));
    }

    /// How long a full buffer takes to drain, of writes like this one.
    fn all<P: Predictor>(&self, belief: &P, at: Extent) -> Span {
        let each = belief.transfer(at, belief.spot(at));
        let fit = (self.buffer.blocks / at.blocks.max(1)).min(self.buffer.extents);
        Span(each.0 * u64::from(fit))
    }

    /// When the next command of a write may follow, if not now: of so many blocks at most.
    pub(crate) fn holds<P: Predictor>(
        &self,
        belief: &P,
        now: Time,
        rest: Extent,
        most: u32,
        place: InTurn,
    ) -> Option<Time> {
        let due = self.due(belief, now, rest, most, place)?.min(self.since + LONGEST);
        Some(due).filter(|due| *due > now)
    }

    fn due<P: Predictor>(&self, belief: &P, now: Time, rest: Extent, most: u32, place: InTurn) -> Option<Time> {
        if self.buffer.goes_first {
            let at = Extent { blocks: rest.blocks.min(most), ..rest };
            let each = belief.transfer(at, belief.spot(at));
            return Some(Time(self.drained.0.saturating_sub(each.0 * WAITING)));
        }
        // The others of a turn are to be there when the arm has come so far: room for all of them was waited for.
        let pace = self.pace.filter(|_| place == InTurn::First)?;
        let spare = self.buffer.blocks / SPARE;
        let wanted = f64::from(rest.blocks.min(self.buffer.blocks - 2 * spare) + spare);
        let room = self.room + pace * now.since(self.since).0 as f64;
        (room < wanted).then(|| now + Span(((wanted - room) / pace) as u64 + 1))
    }
}
