//! What the drive has in its write buffer and what it does with that next, as its sheet has it: belief, which learns nothing of
//! either but by the times at which commands come back.
//!
//! A drive writes back, of the oldest few, what its arm can begin soonest: from where the arm is when it has read ahead as far
//! as it does, or when room is wanted. Belief goes through the same motions by its own phase of the platter, so that it knows
//! where the arm is then and when it is free. Seeks vary, and now and then the drive takes another one than was thought; the next
//! read tells where the arm is, and what is thought to be in the buffer is only ever off by which.
//!
//! **Room.** A write that waits where room was believed tells that the buffer holds no more than what is in it; one that finds
//! room where none was, that it holds more.

use super::{Head, Left, Predictor, Profile};
use block::{Command, Direction, Extent, Lbn, SortedExtents, Span, Time, Verb};
use disk::{After, Cache, Drain, Sheet, Spin, Spot, Track};
use std::collections::VecDeque;

/// Drives weigh so many against one another, the oldest first.
const WEIGHED: usize = 64;
/// So many of these tell what room costs. Were all asked, the next of a stream would seem near from anywhere, and the arm would go to it
/// again and again; were it one, writes here and there would seem dearer than they are.
const WEIGHED_FOR_ROOM: usize = 8;
/// Extents a drive keeps track of at most, where its sheet gives no number.
const MOST_EXTENTS: usize = 1024;
/// What a buffer may hold that nobody measured, in blocks, until a write waits.
const UNKNOWN_BLOCKS: u64 = 1 << 18;
/// So many writes in a row that come back sooner than from the medium, and there is a buffer.
const QUICK: u32 = 4;
/// Writes up to this length, alone or all that are in a row, are not of a stream, in blocks.
const SHORT_BLOCKS: u32 = 128;
/// A write that begins no farther than this from the end of the last goes on in a row with it, in blocks: of a stream some are
/// overtaken.
const NEAR_BLOCKS: u64 = 2048;
/// Of what is written back before all else so much is looked through beforehand.
const FORESEEN: usize = 64;

/// A write that is in the buffer and not on the medium.
#[derive(Clone, Copy, Debug)]
struct BufferedExtent {
    at: Extent,
    spot: Spot,
    /// When its data are there.
    ready: Time,
}

/// What is believed to be in the buffer.
#[derive(Clone, Debug)]
pub(super) struct BufferContents {
    /// In order of arrival.
    held: VecDeque<BufferedExtent>,
    /// Where they are, in the order of their places.
    places: SortedExtents,
    /// Blocks taken, those being written back included.
    blocks: u64,
    /// Blocks being written back, until the arm is free.
    leaving: u32,
    /// What there is room for: blocks as they are believed and as the sheet has them, and extents.
    capacity: u64,
    largest: u64,
    most: usize,
    /// The last write without FUA, and how many blocks were written in a row with it.
    last: Extent,
    row: u32,
    /// What a write-back takes of late.
    usual: Span,
    /// When all is written back and the track the arm is then on, where that goes before all else.
    drained: Option<(Time, Track)>,
    /// Room for looking that far ahead.
    scratch: VecDeque<BufferedExtent>,
    /// Whether the write in flight was to find room at once, and whether the last one had to wait for it.
    found_room: bool,
    waited: bool,
    /// Of a drive of which nobody measured it: how many writes in a row came back sooner than from the medium.
    quick: Option<u32>,
}

impl BufferContents {
    /// Nothing in the buffer of a drive.
    pub(super) fn new(sheet: &Sheet) -> BufferContents {
        let (cache, unknown) = (&sheet.cache, sheet.unmeasured.write_buffer);
        let largest = if unknown { UNKNOWN_BLOCKS } else { u64::from(cache.write_buffer) };
        let most = if cache.write_extents == 0 { MOST_EXTENTS } else { MOST_EXTENTS.min(cache.write_extents as usize) };
        let goes_first = largest > 0 && cache.drain != Drain::Soonest;
        BufferContents {
            held: VecDeque::with_capacity(if largest > 0 { most } else { 0 }),
            places: SortedExtents::with_capacity(if largest > 0 { most } else { 0 }),
            blocks: 0,
            leaving: 0,
            capacity: largest,
            largest,
            most,
            last: Extent { start: Lbn(0), blocks: 0 },
            row: 0,
            usual: Span::ZERO,
            drained: None,
            scratch: VecDeque::with_capacity(if goes_first { FORESEEN } else { 0 }),
            found_room: true,
            waited: false,
            quick: unknown.then_some(0),
        }
    }

    /// Whether nothing is in it.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// All is on the medium.
    fn clear(&mut self) {
        self.held.clear();
        self.places.clear();
        (self.blocks, self.leaving, self.drained) = (0, 0, None);
    }

    /// Takes one of them out.
    fn take(&mut self, place: usize) -> Option<BufferedExtent> {
        let taken = self.held.remove(place)?;
        self.places.remove(taken.at);
        Some(taken)
    }

    /// Adds one, with nothing of it in the buffer.
    fn push(&mut self, held: BufferedExtent) {
        self.blocks += u64::from(held.at.blocks);
        self.places.add(held.at);
        self.held.push_back(held);
    }

    /// What was written back is on the medium.
    fn release(&mut self) {
        self.blocks -= u64::from(std::mem::take(&mut self.leaving));
    }

    /// Whether a write finds room at once.
    fn has_room(&self, at: Extent, cache: &Cache) -> bool {
        let joins = cache.joins_writes && self.held.back().is_some_and(|last| last.at.end() == at.start);
        let most = if joins { MOST_EXTENTS } else { self.most };
        let extents = self.held.len() + usize::from(self.most < MOST_EXTENTS && self.leaving > 0);
        let idle = cache.accepts_busy || joins || (self.held.is_empty() && self.leaving == 0);
        idle && self.blocks + u64::from(at.blocks) <= self.capacity.max(u64::from(at.blocks)) && extents < most
    }

    /// What is written anew is not written back as it was.
    fn supersede(&mut self, at: Extent) {
        while self.places.touches(at) {
            let place = self.held.iter().position(|held| held.at.overlaps(at));
            let Some(gone) = place.and_then(|place| self.take(place)) else { return };
            self.blocks -= u64::from(gone.at.blocks);
        }
    }

    /// A write is issued, whether or not the buffer is large enough for it.
    pub(super) fn note_write(&mut self, at: Extent) {
        let goes_on = self.last.end().0.abs_diff(at.start.0) <= NEAR_BLOCKS;
        self.row = if goes_on { self.row.saturating_add(at.blocks) } else { at.blocks };
        self.last = at;
    }

    /// Something else is done between writes: those that follow begin a row.
    #[inline(always)]
    pub(super) fn end_row(&mut self) {
        self.row = 0;
    }

    /// Whether several writes in a row are more than what is short.
    fn streams(&self) -> bool {
        self.row > SHORT_BLOCKS.max(self.last.blocks)
    }

    /// Whether the last write had to wait for room.
    pub(super) fn has_waited(&self) -> bool {
        self.waited
    }

    /// A write of so many blocks came back, after a wait or not.
    fn learn_room(&mut self, blocks: u32) {
        let before = self.blocks.saturating_sub(u64::from(blocks));
        match (self.waited, self.found_room) {
            (true, true) => self.capacity = before.clamp(u64::from(blocks), self.largest),
            (false, false) => self.capacity = (self.capacity + u64::from(blocks)).min(self.largest),
            _ => {}
        }
    }
}

impl Profile {
    /// Whether a command that came back at `happened` did so before the arm could have been there.
    pub(super) fn is_early(&self, happened: Time) -> bool {
        let took = Time(happened.0.saturating_sub(self.lag.0)).since(self.issued);
        took < Span(self.soonest.0 - self.soonest.0 / 8)
    }

    /// Whether a command completes in the drive's buffer.
    pub(super) fn is_buffered(&self, verb: Verb, at: Extent) -> bool {
        self.buffers_writes && verb == (Verb::Write { fua: false }) && u64::from(at.blocks) <= self.unwritten.largest
    }

    /// Which of these the drive writes back next, were its arm free at `began`, and left as it is.
    fn next_back(&self, held: &VecDeque<BufferedExtent>, began: Time, left: &Left) -> usize {
        let goes_on = |held: &BufferedExtent| self.goes_on_writing(left, held);
        if self.unwritten.places.begins_at(left.next)
            && let Some(place) = held.iter().position(goes_on)
        {
            return place;
        }
        if self.cache.drain == Drain::InOrder {
            return 0;
        }
        let (mut best, mut soonest) = (0, Time::NEVER);
        let there = held.iter().take(WEIGHED).take_while(|held| held.ready <= began);
        for (place, held) in there.enumerate() {
            let arrived = began + self.mechanics.stroke(left.track, held.spot.track, Direction::Write).total();
            if arrived < soonest {
                let begins = self.phase.reach(arrived, held.spot.angle);
                if begins < soonest {
                    (best, soonest) = (place, begins);
                }
            }
        }
        best
    }

    /// Whether one goes on where the arm has just written, so that it need not move or wait.
    fn goes_on_writing(&self, left: &Left, held: &BufferedExtent) -> bool {
        !left.reading && held.at.start == left.next && self.cache.streams_writes
    }

    /// How the arm is left, and when, by writing one back from `began` on.
    fn write_back(&self, began: Time, left: &Left, held: &BufferedExtent) -> (Left, Time) {
        let stroke = self.mechanics.stroke(left.track, held.spot.track, Direction::Write).total();
        let arrived = if self.goes_on_writing(left, held) { began } else { began + stroke };
        let passage = self.mechanics.pass(&self.phase, arrived, held.spot, held.at, Direction::Write);
        let Spot { track, angle, .. } = passage.after;
        let next = held.at.end();
        (Left { track, angle, next, reading: false, transferred: false, ahead: None }, passage.end)
    }

    /// The drive begins to write one back.
    fn begin_write_back(&mut self, began: Time) {
        self.unwritten.release();
        let place = self.next_back(&self.unwritten.held, began, &self.left);
        let Some(held) = self.unwritten.take(place) else { return };
        (self.left, self.free) = self.write_back(began, &self.left, &held);
        self.unwritten.leaving = held.at.blocks;
        let usual = &mut self.unwritten.usual;
        *usual = Span(usual.0 - usual.0 / 8 + self.free.since(began).0 / 8);
    }

    /// What the drive writes back on its own account until `now`, having no command.
    #[inline(never)]
    pub(super) fn write_back_until(&mut self, now: Time) {
        while self.free <= now {
            self.unwritten.release();
            let Some(first) = self.unwritten.held.front() else { break };
            let mut began = first.ready.max(self.free);
            if let Some(ahead) = &self.left.ahead {
                let so_far = ahead.stop(&self.mechanics, &self.phase, now);
                if so_far.reached < ahead.limit() {
                    break;
                }
                began = began.max(so_far.at);
            }
            if began > now {
                break;
            }
            self.begin_write_back(began);
        }
    }

    /// The arm is wanted by a command given at `now`: it is free, at the earliest, when it has done what goes before that.
    #[inline(never)]
    pub(super) fn free_arm(&mut self, now: Time) {
        if self.in_flight == 1 {
            self.write_back_until(now);
        }
        if self.cache.drain == Drain::Soonest {
            return;
        }
        let waited = self.unwritten.leaving > 0 || !self.unwritten.held.is_empty();
        while let Some(first) = self.unwritten.held.front() {
            let idle = if self.left.ahead.is_some() { now } else { self.free };
            self.begin_write_back(first.ready.max(self.free).max(idle));
        }
        if waited {
            self.free += self.looks_again();
        }
        self.unwritten.drained = None;
    }

    /// What passes before a command that waited for all to be written back is looked at.
    fn looks_again(&self) -> Span {
        if self.cache.drain == Drain::AllSoonest { self.overheads.write.write } else { Span::ZERO }
    }

    /// A write given at `now` goes into the buffer.
    #[inline(never)]
    pub(super) fn issue_buffered(&mut self, now: Time, command: &Command, spot: Spot) {
        if self.in_flight == 1 && !self.unwritten.is_empty() {
            self.write_back_until(now);
        }
        let mut room = now + self.overheads.buffered.a(self.last);
        self.unwritten.found_room = self.unwritten.has_room(command.at, &self.cache);
        while !self.unwritten.has_room(command.at, &self.cache) {
            if self.unwritten.leaving == 0 {
                if self.unwritten.held.is_empty() {
                    break;
                }
                self.begin_write_back(now.max(self.free));
            }
            room = room.max(self.free);
            self.unwritten.release();
        }
        let ready = room + self.way.write_time(command.at.blocks);
        let unwritten = &mut self.unwritten;
        unwritten.supersede(command.at);
        if unwritten.held.len() < MOST_EXTENTS {
            unwritten.push(BufferedExtent { at: command.at, spot, ready });
        }
        if self.left.reading && self.left.next == command.at.start {
            // What is read there goes on behind it.
            self.left.next = command.at.end();
        }
        (self.dirty, self.undisturbed) = (true, 0);
        (self.beside, self.was_buffered) = (spot.track, true);
        (self.expected, self.arm) = (None, command.at.end());
    }

    /// A command given after one of direction `last` came back at `happened`, and writes may be in the buffer.
    #[inline(never)]
    pub(super) fn note_unwritten(&mut self, happened: Time, command: &Command, last: Direction) {
        if command.verb == Verb::Flush {
            self.dirty = false;
            self.unwritten.clear();
        }
        if self.is_buffered(command.verb, command.at) {
            let least = self.overheads.buffered.a(last) + self.way.write_time(command.at.blocks);
            self.unwritten.waited = self.has_waited_for_room(happened.since(self.issued).less(least));
            self.unwritten.learn_room(command.at.blocks);
        } else if command.verb.transfers() && !self.is_early(happened) {
            self.free = happened;
        }
        if self.in_flight == 0 {
            self.rest(happened);
        }
    }

    /// Whether a write that took so much longer than one that finds room waited for it: one of a slow stage takes as long either way.
    fn has_waited_for_room(&self, longer: Span) -> bool {
        let waits = self.mechanics.rotation.period().0 / 8;
        let is_slow = self.overheads.stages.is_some_and(|stages| stages.slow.0.abs_diff(longer.0) < waits);
        longer.0 > waits && !is_slow
    }

    /// Nothing is in the drive at `now` but what it holds.
    fn rest(&mut self, now: Time) {
        self.write_back_until(now);
        self.unwritten.drained = None;
        if self.cache.drain == Drain::Soonest || self.unwritten.held.len() > FORESEEN {
            return;
        }
        let mut rest = std::mem::take(&mut self.unwritten.scratch);
        rest.clear();
        rest.extend(&self.unwritten.held);
        let (mut left, mut free) = (self.left, self.free.max(now));
        while !rest.is_empty() {
            let place = self.next_back(&rest, free, &left);
            let Some(held) = rest.remove(place) else { break };
            (left, free) = self.write_back(held.ready.max(free), &left, &held);
        }
        self.unwritten.scratch = rest;
        let waited = !self.unwritten.held.is_empty() || self.unwritten.leaving > 0;
        self.unwritten.drained = waited.then_some((free + self.looks_again(), left.track));
    }

    /// The head where something may be written back first, at `phase` now: it leaves when that is done.
    #[inline(never)]
    pub(super) fn head_of_writer(&self, now: Time, phase: Option<u64>) -> (Head, u64) {
        let (free, track) = self.unwritten.drained.unwrap_or((self.free, self.left.track));
        let (head, key) = self.head_on(track, phase, self.last, self.ahead_of(), self.going_on());
        let busy = self.motion.ticks(free.since(now));
        (Head { leaves: head.leaves.map(|leaves| leaves.max(busy)), ..head }, key)
    }

    /// A write to the medium of a drive came back: where nobody knows of its buffer, too early ones tell that it has one.
    #[inline(never)]
    pub(super) fn look_for_buffer(&mut self, happened: Time) {
        let early = self.is_early(happened);
        let Some(quick) = &mut self.unwritten.quick else { return };
        *quick = if early { *quick + 1 } else { 0 };
        if *quick >= QUICK {
            let took = happened.since(self.issued);
            self.overheads.buffered = After::either(took);
            self.motion.buffered = [self.motion.ticks(took); 2];
            (self.buffers_writes, self.unwritten.quick) = (true, None);
        }
    }

    /// What a write costs that goes into the buffer, wherever it lies: what is left until there is room. Nothing where it is larger than
    /// the buffer, or written back before all else; then its place tells what it takes. A stream that is written back before all else
    /// keeps its order, though: what the head comes to first would leave holes in it, and each is a way of its own. Among several in the
    /// drive it is weighed by its place as all else is.
    pub(super) fn cost_buffered(&self, now: Time) -> Option<u64> {
        let like = Extent { start: self.arm, blocks: self.unwritten.last.blocks };
        let fits = u64::from(like.blocks) <= self.unwritten.largest;
        let goes_first = self.cache.drain != Drain::Soonest;
        if self.drive_chooses() || !self.buffers_writes || !fits || (goes_first && !self.unwritten.streams()) {
            return None;
        }
        // What the drive is reading ahead is had first.
        let last = self.last as usize;
        let least = self.motion.buffered[last].max(self.motion.hit[last] + 1);
        if goes_first || self.unwritten.has_room(like, &self.cache) {
            return Some(least);
        }
        Some(least.max(self.cost_of_room(now, like.blocks)))
    }

    /// What it costs until a write of so many blocks finds room. One that is long waits no longer than it would take by itself, so what
    /// counts is the way to what is written back for it: those are most often of a stream, and to go there and back for each would cost
    /// more than the room is worth.
    fn cost_of_room(&self, now: Time, blocks: u32) -> u64 {
        if self.unwritten.leaving > 0 {
            return self.motion.ticks(self.free.since(now));
        }
        if blocks <= SHORT_BLOCKS {
            return self.motion.ticks(self.unwritten.usual);
        }
        let (head, _) = self.head(now);
        let way = |held: &BufferedExtent| match self.goes_on_writing(&self.left, held) {
            true => 0,
            false => self.cost(&head, self.key(held.spot), self.mark(held.spot), Direction::Write),
        };
        self.unwritten.held.iter().take(WEIGHED_FOR_ROOM).map(way).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(change: impl Fn(&mut Cache)) -> (BufferContents, Cache) {
        let mut sheet = disk::catalogue::find("atlas10k").expect("it is known").sheet;
        sheet.cache.write_buffer = 64;
        change(&mut sheet.cache);
        (BufferContents::new(&sheet), sheet.cache)
    }

    fn add(unwritten: &mut BufferContents, start: u64, blocks: u32) {
        let at = Extent::new(start, blocks);
        unwritten.supersede(at);
        unwritten.push(BufferedExtent { at, spot: Spot::default(), ready: Time::ZERO });
    }

    #[test]
    fn there_is_room_until_blocks_or_extents_are_too_many() {
        let (mut by_blocks, cache) = buffer(|_| ());
        (0..7).for_each(|i| add(&mut by_blocks, i * 100, 8));
        assert!(by_blocks.has_room(Extent::new(5000, 8), &cache) && !by_blocks.has_room(Extent::new(5000, 9), &cache));
        let (mut by_extents, cache) = buffer(|cache| cache.write_extents = 3);
        (0..3).for_each(|i| add(&mut by_extents, i * 100, 8));
        assert!(!by_extents.has_room(Extent::new(5000, 8), &cache), "a fourth");
        assert!(by_extents.has_room(Extent::new(208, 8), &cache), "it joins the last");
        let apart = Cache { joins_writes: false, ..cache };
        assert!(!by_extents.has_room(Extent::new(208, 8), &apart), "none joins in this drive");
        by_extents.leaving = by_extents.take(0).map_or(0, |held| held.at.blocks);
        assert!(!by_extents.has_room(Extent::new(5000, 8), &cache), "what is being written back counts");
        by_extents.release();
        assert!(by_extents.has_room(Extent::new(5000, 8), &cache) && by_extents.blocks == 16);
    }

    #[test]
    fn what_is_written_anew_is_held_once() {
        let (mut unwritten, _) = buffer(|_| ());
        [(0, 8), (100, 8), (104, 8), (300, 8)]
            .into_iter()
            .for_each(|(start, blocks)| add(&mut unwritten, start, blocks));
        let starts: Vec<Lbn> = unwritten.held.iter().map(|held| held.at.start).collect();
        assert_eq!((starts, unwritten.blocks), (vec![Lbn(0), Lbn(104), Lbn(300)], 24));
    }

    #[test]
    fn room_is_learned_by_who_waits_and_who_does_not() {
        let (mut unwritten, cache) = buffer(|_| ());
        (0..4).for_each(|i| add(&mut unwritten, i * 100, 8));
        unwritten.waited = true;
        unwritten.learn_room(8);
        assert_eq!(unwritten.capacity, 24, "the fourth had to wait where room was believed");
        unwritten.found_room = unwritten.has_room(Extent::new(5000, 8), &cache);
        assert!(!unwritten.found_room);
        unwritten.waited = false;
        (0..9).for_each(|_| unwritten.learn_room(8));
        assert_eq!(unwritten.capacity, 64, "no more than the sheet has");
    }

    #[test]
    fn a_write_of_a_slow_stage_has_not_waited_for_room() {
        let mut sheet = disk::catalogue::find("atlas10k").expect("it is known").sheet;
        let waits =
            |sheet: &Sheet| [5.0, 11.9, 12.4].map(|ms| Profile::new(sheet).has_waited_for_room(Span::from_ms(ms)));
        assert_eq!(waits(&sheet), [true; 3]);
        sheet.overheads.stages = Some(disk::WriteStages { slow: Span::from_ms(12.0), ..disk::WriteStages::default() });
        assert_eq!(waits(&sheet), [true, false, false]);
    }
}
