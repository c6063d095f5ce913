//! The mechanics of a drive worked out for use: where a block lies, how long the arm takes to get there, and
//! when a run of blocks has passed under the heads. Pure arithmetic over a [`Spin`]; no state.
//!
//! **A piece at a time.** `Mechanics::pass_each` tells of each run of sectors as it passes, in the order of the
//! blocks, also where zero-latency access takes them in another. What the bus makes of that is `drive::delivery`.

use crate::rotation::JUST_PASSED;
use crate::{Access, Delivery, Layout, Rotation, SeekTable, Spin, Spot, Track};
use block::{Direction, Extent, Lbn, Span, Time};

/// Times of moves that are not seeks, and what writing adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// To another head of the same cylinder.
    pub head: Span,
    /// The same, before writing.
    pub head_write: Span,
    /// To the adjacent cylinder in a sequential transfer.
    pub cylinder: Span,
    /// The same, before writing.
    pub cylinder_write: Span,
    /// What a write adds to a random move of the arm, to settle more finely.
    pub write_settle: Span,
}

/// Blocks of a passage that follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// When the first came under the head; `end`, if all had been taken before.
    pub began: Time,
    /// When the last had passed.
    pub end: Time,
    /// Physical sectors that it covers.
    pub sectors: u64,
}

/// A move of the arm by its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stroke {
    /// The move between cylinders.
    pub seek: Span,
    /// What switching heads takes beyond the seek.
    pub switch: Span,
    /// Settling before a write.
    pub settle: Span,
}

impl Stroke {
    /// Seek, head switch and settling together.
    #[must_use]
    pub fn total(self) -> Span {
        self.seek + self.switch + self.settle
    }
}

/// A run of blocks passing under the heads; the parts add up to the time from where it was asked to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When the first block came under the heads.
    pub began: Time,
    /// When the last had passed.
    pub end: Time,
    /// Waiting for sectors to come round.
    pub rotation: Span,
    /// What of that was on the first track: what a better moment to arrive could have saved.
    pub latency: Span,
    /// The time in which the wanted blocks pass the head.
    pub transfer: Span,
    /// Crossing to following tracks and cylinders.
    pub crossing: Span,
    /// Where it ended: the place after the last block, on the same track.
    pub after: Spot,
    /// The angle under the head at the end: that of `after`, unless blocks were taken out of order.
    pub angle: u64,
}

/// The mechanics of a drive.
#[derive(Clone, Debug)]
pub struct Mechanics {
    /// Where each block lies on the surfaces.
    pub layout: Layout,
    /// Seek times by distance in cylinders.
    pub seek: SeekTable,
    /// Seek times before a random write, where they are another curve.
    pub seek_write: Option<SeekTable>,
    /// The spindle at its nominal speed.
    pub rotation: Rotation,
    /// Moves that are not seeks.
    pub switches: Switches,
    /// What is taken on arrival.
    pub access: Access,
}

impl Mechanics {
    /// The move of the arm to a random access on another track.
    #[must_use]
    #[inline]
    pub fn stroke(&self, from: Track, to: Track, direction: Direction) -> Stroke {
        let seek = self.curve(direction).time(from.cylinder.abs_diff(to.cylinder));
        // A write that may begin before the head has settled as for a read follows a head switch sooner, too.
        let head =
            if direction.writes() { self.switches.head.min(self.switches.head_write) } else { self.switches.head };
        let switch = if from.head == to.head { Span::ZERO } else { head.less(seek) };
        let moves = seek + switch > Span::ZERO;
        let settle = if direction.writes() && moves { self.switches.write_settle } else { Span::ZERO };
        Stroke { seek, switch, settle }
    }

    /// The seek times before a read or a random write.
    #[must_use]
    #[inline]
    pub fn curve(&self, direction: Direction) -> &SeekTable {
        self.seek_write.as_ref().filter(|_| direction.writes()).unwrap_or(&self.seek)
    }

    /// The longest that a block can be away: the longest move of the arm and a turn.
    #[must_use]
    pub fn longest_access(&self) -> Span {
        let longest = |curve: &SeekTable| curve.ns().iter().max().map_or(0, |ns| u64::from(*ns));
        let seek = longest(&self.seek).max(self.seek_write.as_ref().map_or(0, longest));
        let switches = &self.switches;
        Span(seek).max(switches.head).max(switches.head_write) + switches.write_settle + self.rotation.period()
    }

    /// The share of reads anywhere from block `from` up to `end`, each after one anywhere there, that the arm and the rotation alone
    /// keep from their first block for longer than `within`.
    #[must_use]
    pub fn later_than(&self, within: Span, from: u64, end: u64) -> f64 {
        /// Places that are looked at, evenly over the blocks.
        const PLACES: u64 = 64;
        let end = end.min(self.layout.blocks());
        let place =
            |n: u64| self.layout.locate(Lbn(from + (end.saturating_sub(from)) * (2 * n + 1) / (2 * PLACES))).track;
        let tracks: Vec<Track> = (0..PLACES).map(place).collect();
        let turn = self.rotation.period().0 as f64;
        let late = |from: &Track, to: &Track| {
            // The sector may be anywhere on its track when the arm arrives.
            let left = within.0 as f64 - self.stroke(*from, *to, Direction::Read).total().0 as f64;
            1.0 - (left / turn).clamp(0.0, 1.0)
        };
        let all: f64 = tracks.iter().map(|from| tracks.iter().map(|to| late(from, to)).sum::<f64>()).sum();
        all / (PLACES * PLACES) as f64
    }

    /// The time to follow a sequential transfer from one track to the next.
    #[must_use]
    #[inline]
    pub fn crossing(&self, from: Track, to: Track, direction: Direction) -> Span {
        let switches = &self.switches;
        match from.cylinder.abs_diff(to.cylinder) {
            0 if from.head == to.head => Span::ZERO,
            0 if direction.writes() => switches.head_write,
            0 => switches.head,
            1 if direction.writes() => switches.cylinder_write,
            1 => switches.cylinder,
            distance => self.seek.time(distance),
        }
    }

    /// The passage of `at`, whose first block lies at `spot`, under heads that are on its track from `now`.
    /// `spot` may also be the place after the last block passed, even at the end of its track. Whole physical
    /// sectors pass. O(tracks touched).
    #[must_use]
    #[inline(always)]
    pub fn pass(&self, spin: &impl Spin, now: Time, spot: Spot, at: Extent, direction: Direction) -> Passage {
        match self.pass_at_once(spin, now, spot, at, direction) {
            Some((passage, _)) => passage,
            None => self.pass_pieces(spin, now, spot, at, direction, |_| {}),
        }
    }

    /// How long heads that are on its track from `now` wait there for the blocks of `at`, as [`Mechanics::pass`] has it.
    #[must_use]
    #[inline]
    pub fn latency(&self, spin: &impl Spin, now: Time, spot: &Spot, at: Extent, direction: Direction) -> Span {
        match self.follow_at_once(spin, now, spot, at, direction) {
            Some(_) => spin.reach(now, spot.angle).since(now),
            None => self.pass_pieces(spin, now, *spot, at, direction, |_| {}).latency,
        }
    }

    /// By how large an angle heads may come too late to where the blocks of `at` begin and yet find what they want at once; the largest
    /// where that angle alone does not tell.
    #[must_use]
    #[inline]
    pub fn catch_angle(&self, spot: &Spot, at: Extent, direction: Direction) -> u64 {
        let sectors = self.layout.sectors_of(at);
        if sectors > u64::from(spot.left) {
            return u64::MAX;
        }
        match self.access.on_arrival(direction, spot.sector) {
            false => JUST_PASSED,
            true => self.layout.sector_angle(spot.track.zone).saturating_mul(sectors + 1),
        }
    }

    /// No less than this passes from `now` until heads that come to its track then, or however much later, have the first block of
    /// `at`: told by its angle alone, of a spindle that turns at an even pace.
    #[must_use]
    #[inline(always)]
    pub fn least_latency(&self, spin: &impl Spin, now: Time, spot: &Spot, at: Extent, direction: Direction) -> Span {
        let caught = self.catch_angle(spot, at, direction);
        let passed = spot.angle.wrapping_add(caught).wrapping_sub(spin.phase(now));
        // What rounding may have added.
        spin.turning(passed.saturating_sub(caught)).less(Span(2))
    }

    /// The same of a read whose data are delivered as they pass.
    #[must_use]
    #[inline(always)]
    pub fn pass_delivered(
        &self,
        spin: &impl Spin,
        now: Time,
        spot: Spot,
        at: Extent,
        delivery: Delivery,
    ) -> (Passage, Delivery) {
        let shift = self.layout.sector_shift();
        if let Some((passage, piece)) = self.pass_at_once(spin, now, spot, at, Direction::Read) {
            return (passage, delivery.with_piece(piece, shift));
        }
        self.pass_pieces_delivered(spin, now, spot, at, delivery)
    }

    /// The same of blocks that do not follow one another.
    #[inline(never)]
    fn pass_pieces_delivered(
        &self,
        spin: &impl Spin,
        now: Time,
        spot: Spot,
        at: Extent,
        mut delivery: Delivery,
    ) -> (Passage, Delivery) {
        let shift = self.layout.sector_shift();
        let passage = self
            .pass_pieces(spin, now, spot, at, Direction::Read, |piece| delivery = delivery.with_piece(piece, shift));
        (passage, delivery)
    }

    /// The same, telling of each piece in the order of its blocks.
    #[must_use]
    #[inline]
    pub fn pass_each(
        &self,
        spin: &impl Spin,
        now: Time,
        spot: Spot,
        at: Extent,
        direction: Direction,
        mut each: impl FnMut(Piece),
    ) -> Passage {
        if let Some((passage, piece)) = self.pass_at_once(spin, now, spot, at, direction) {
            each(piece);
            return passage;
        }
        self.pass_pieces(spin, now, spot, at, direction, each)
    }

    /// The passage of blocks that follow one another on a track and are taken in their order, as most short ones are: the hot
    /// path of all that goes on in a drive.
    #[must_use]
    #[inline(always)]
    pub fn pass_at_once(
        &self,
        spin: &impl Spin,
        now: Time,
        spot: Spot,
        at: Extent,
        direction: Direction,
    ) -> Option<(Passage, Piece)> {
        let sectors = self.follow_at_once(spin, now, &spot, at, direction)?;
        let (begin, end, after) = self.pass_run(spin, now, spot, sectors);
        let (rotation, transfer) = (begin.since(now), end.since(begin));
        let (latency, crossing, angle) = (rotation, Span::ZERO, after.angle);
        let passage = Passage { began: begin, end, rotation, latency, transfer, crossing, after, angle };
        Some((passage, Piece { began: begin, end, sectors }))
    }

    /// How many sectors blocks take that follow one another on a track and are taken in their order.
    #[inline(always)]
    fn follow_at_once(
        &self,
        spin: &impl Spin,
        now: Time,
        spot: &Spot,
        at: Extent,
        direction: Direction,
    ) -> Option<u64> {
        let sectors = self.layout.sectors_of(at);
        let on_arrival = self.access.on_arrival(direction, spot.sector);
        let apart = sectors > u64::from(spot.left) || (on_arrival && self.lands_within(spin, now, spot, sectors));
        (!apart).then_some(sectors)
    }

    /// Whether a head that is there `now` lands in the middle of the next so many sectors: not where it can still catch the
    /// first of them, in the last, or beside them.
    #[inline(always)]
    fn lands_within(&self, spin: &impl Spin, now: Time, start: &Spot, sectors: u64) -> bool {
        let width = self.layout.sector_angle(start.track.zone);
        // Times are rounded up to nanoseconds: a head that runs on from the sector before lands just past the boundary.
        // What `reach` would still catch is not skipped, or each such access would cost a turn.
        let into = spin.phase(now).wrapping_sub(start.angle).saturating_sub(JUST_PASSED);
        into > 0 && into <= width.wrapping_mul(sectors - 1)
    }

    /// Sectors that follow one another pass under a head that is there `now`: from when, until when, and the place after them.
    #[inline(always)]
    fn pass_run(&self, spin: &impl Spin, now: Time, mut spot: Spot, sectors: u64) -> (Time, Time, Spot) {
        let begin = spin.reach(now, spot.angle);
        let end = self.pass_time(spin, begin, &mut spot, sectors as u32).max(now);
        (begin.max(now), end, spot)
    }

    /// The passage of any blocks, run by run.
    #[inline(never)]
    fn pass_pieces(
        &self,
        spin: &impl Spin,
        now: Time,
        spot: Spot,
        at: Extent,
        direction: Direction,
        mut each: impl FnMut(Piece),
    ) -> Passage {
        let shift = self.layout.sector_shift();
        let end = ((at.end().0 - 1) >> shift) + 1;
        let mut next = at.start.0 >> shift;
        let mut passage = Passage {
            began: now,
            end: now,
            rotation: Span::ZERO,
            latency: Span::ZERO,
            transfer: Span::ZERO,
            crossing: Span::ZERO,
            after: spot,
            angle: spot.angle,
        };
        let mut is_first = true;
        loop {
            let mut here = (end - next).min(u64::from(passage.after.left));
            if here > 0 {
                let arrived = passage.end;
                let on_arrival = self.access.on_arrival(direction, passage.after.sector);
                let scattered = if on_arrival { self.next_piece(&passage.after, next + here, end) } else { None };
                if let Some(all) =
                    scattered.filter(|all| self.pass_scattered(spin, &mut passage, (next, *all), &mut each))
                {
                    here = all - next;
                } else if !(on_arrival && self.pass_on_arrival(spin, &mut passage, here, &mut each)) {
                    let (began, end, after) = self.pass_run(spin, arrived, passage.after, here);
                    each(Piece { began, end, sectors: here });
                    if passage.transfer == Span::ZERO {
                        passage.began = began;
                    }
                    passage.rotation += began.since(arrived);
                    passage.transfer += end.since(began);
                    (passage.end, passage.after, passage.angle) = (end, after, after.angle);
                }
                next += here;
                if is_first {
                    passage.latency = passage.rotation;
                }
            }
            if next >= end {
                return passage;
            }
            let Some(crossing) = self.cross(&mut passage.after, next, direction) else { return passage };
            is_first &= (passage.after.track, passage.after.remapped) == (spot.track, spot.remapped);
            passage.crossing += crossing;
            passage.end += crossing;
        }
    }

    /// Where the head landed in the middle of the next `here` sectors, they pass from there: the rest first, then,
    /// nearly a revolution later, the beginning.
    fn pass_on_arrival(
        &self,
        spin: &impl Spin,
        passage: &mut Passage,
        here: u64,
        each: &mut impl FnMut(Piece),
    ) -> bool {
        let start = passage.after;
        if !self.lands_within(spin, passage.end, &start, here) {
            return false;
        }
        let width = self.layout.sector_angle(start.track.zone);
        let into = spin.phase(passage.end).wrapping_sub(start.angle);
        let skipped = into.saturating_sub(JUST_PASSED).div_ceil(width);
        let mut spot = start.on(skipped as u32, width);
        let arrived = passage.end;
        let begin = spin.reach(arrived, spot.angle);
        let between = self.pass_time(spin, begin, &mut spot, (here - skipped) as u32).max(arrived);
        let begin = begin.max(arrived);
        let mut spot = start;
        let again = spin.reach(between, spot.angle);
        let end = self.pass_time(spin, again, &mut spot, skipped as u32).max(between);
        let again = again.max(between);
        each(Piece { began: again, end, sectors: skipped });
        each(Piece { began: end, end, sectors: here - skipped });
        if passage.transfer == Span::ZERO {
            passage.began = begin;
        }
        passage.rotation += begin.since(arrived) + again.since(between);
        passage.transfer += between.since(begin) + end.since(again);
        passage.end = end;
        passage.angle = spot.angle;
        passage.after = start.on(here as u32, width);
        true
    }

    /// Where what is wanted of a track goes on behind a gap that begins at sector `next`: the sector after the last of it.
    fn next_piece(&self, spot: &Spot, next: u64, end: u64) -> Option<u64> {
        let mut all = next;
        while all < end {
            let there = self.layout.locate_sector(all);
            if (there.track, there.remapped) != (spot.track, spot.remapped) {
                break;
            }
            all += u64::from(there.left).min(end - all);
        }
        (all > next).then_some(all)
    }

    /// The same as `pass_on_arrival` where slips or remaps scatter what is wanted of a track, `from` up to `to`: whatever
    /// comes by first passes first, and what had passed before a revolution later.
    #[cold]
    fn pass_scattered(
        &self,
        spin: &impl Spin,
        passage: &mut Passage,
        (from, to): (u64, u64),
        each: &mut impl FnMut(Piece),
    ) -> bool {
        let start = passage.after;
        if start.remapped {
            self.pass_spares(spin, passage, (from, to), each);
            return true;
        }
        let width = self.layout.sector_angle(start.track.zone);
        let into = spin.phase(passage.end).wrapping_sub(start.angle).saturating_sub(JUST_PASSED);
        let mut first = from;
        while first < to {
            let there = self.layout.locate_sector(first);
            let skipped = into.saturating_sub(there.angle.wrapping_sub(start.angle)).div_ceil(width);
            let here = u64::from(there.left).min(to - first);
            first += skipped.min(here);
            if skipped < here {
                break;
            }
        }
        if first == from || first == to {
            return false;
        }
        let (untouched, mut began) = (passage.transfer == Span::ZERO, None);
        for (mut next, end) in [(first, to), (from, first)] {
            while next < end {
                let mut spot = self.layout.locate_sector(next);
                let here = u64::from(spot.left).min(end - next);
                let arrived = passage.end;
                let begin = spin.reach(arrived, spot.angle);
                let passed = self.pass_time(spin, begin, &mut spot, here as u32).max(arrived);
                let begin = begin.max(arrived);
                passage.rotation += begin.since(arrived);
                passage.transfer += passed.since(begin);
                (passage.end, passage.angle) = (passed, spot.angle);
                began = began.or(Some(begin));
                if next < first {
                    each(Piece { began: begin, end: passed, sectors: here });
                }
                next += here;
            }
        }
        each(Piece { began: passage.end, end: passage.end, sectors: to - first });
        if let Some(began) = began.filter(|_| untouched) {
            passage.began = began;
        }
        passage.after = self.layout.locate_sector(to - 1).on(1, width);
        true
    }

    /// The same of spares, which lie in any order.
    #[cold]
    fn pass_spares(
        &self,
        spin: &impl Spin,
        passage: &mut Passage,
        (from, to): (u64, u64),
        each: &mut impl FnMut(Piece),
    ) {
        let (arrived, untouched) = (passage.end, passage.transfer == Span::ZERO);
        let (mut first, mut transfer) = (Time::NEVER, Span::ZERO);
        for next in from..to {
            let mut spot = self.layout.locate_sector(next);
            let begin = spin.reach(arrived, spot.angle);
            let passed = self.pass_time(spin, begin, &mut spot, 1).max(arrived);
            let begin = begin.max(arrived);
            transfer += passed.since(begin);
            first = first.min(begin);
            if passed > passage.end {
                (passage.end, passage.angle) = (passed, spot.angle);
                each(Piece { began: begin, end: passed, sectors: 1 });
            } else {
                each(Piece { began: passage.end, end: passage.end, sectors: 1 });
            }
            passage.after = spot;
        }
        passage.transfer += transfer;
        passage.rotation += passage.end.since(arrived).less(transfer);
        if untouched {
            passage.began = first;
        }
    }

    /// The time a sector takes to pass.
    #[must_use]
    pub fn sector_time(&self, zone: u32) -> Span {
        self.rotation.turning(self.layout.sector_angle(zone))
    }

    /// `sectors` sectors, at least one, pass from `begin` on, when their first is under the head; the place moves on. Gives
    /// the end.
    #[inline(always)]
    fn pass_time(&self, spin: &impl Spin, begin: Time, spot: &mut Spot, sectors: u32) -> Time {
        let width = self.layout.sector_angle(spot.track.zone);
        let end = behind(spin, begin, spot, u64::from(sectors), width);
        *spot = spot.on(sectors, width);
        end
    }

    /// On to where the data go on with sector `next`, if there is one; the time that takes.
    pub(crate) fn cross(&self, spot: &mut Spot, next: u64, direction: Direction) -> Option<Span> {
        if next >= self.layout.sectors() {
            return None;
        }
        let there = self.layout.locate_sector(next);
        let crossing = self.crossing_to(spot, &there, direction);
        *spot = there;
        Some(crossing)
    }

    /// From behind the last sector before `from` to where the data go on: a seek of its own to or from a spare sector.
    #[must_use]
    pub fn crossing_to(&self, from: &Spot, there: &Spot, direction: Direction) -> Span {
        if there.remapped || from.remapped {
            return self.stroke(from.track, there.track, direction).total();
        }
        self.crossing(from.track, there.track, direction)
    }
}

/// When `sectors` sectors of an angle of `width` each have passed from `begin` on, when their first, at `spot`, is under the
/// head; at least one.
#[inline(always)]
pub(crate) fn behind(spin: &impl Spin, begin: Time, spot: &Spot, sectors: u64, width: u64) -> Time {
    let turn = width.wrapping_mul(sectors);
    spin.correct(begin + spin.turning(turn.wrapping_sub(1)), spot.angle.wrapping_add(turn))
}
