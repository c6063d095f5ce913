//! The mechanical profile: the sheet's seek curve and layout, and the phase of the platter tracked from the
//! times at which commands came back. It is never told the drive's phase, its true rpm or its noise.
//!
//! Ticks are 2⁻²⁸ revolutions: angles wrap by masking, and no candidate needs a multiplication.
//!
//! **A drive that buffers.** What is in its buffer, what it writes back next and when the arm is free again is believed as the
//! sheet has it ([`unwritten`]); of several commands in the drive, nobody knows which comes next, and only ways count.
//!
//! The hot paths are `cost`, of each candidate, and `note_issue` with `note_completion`, of each command. A place is found once, when
//! a request arrives. Where nobody asks what anything costs, no profile is kept ([`crate::policy::Needs::Nothing`]).

use super::{
    Approach, BufferBelief, Follower, Goal, Knowledge, Manual, Passing, Predictor, Recipe, Sieve, Swing, TURN_BITS,
    Tells,
};
use block::{Command, Direction, Extent, Lbn, Outcome, SeekBy, Span, Time, Verb};
use disk::{Beneath, Cache, Drain, Mechanics, Overheads, Progress, Sheet, Spin, Spot, Track};
use std::sync::Arc;

mod ahead;
mod following;
mod foresight;
mod head;
mod lateness;
mod motion;
mod passed;
mod passing;
mod phase;
mod unwritten;
mod way;
pub(crate) use ahead::{GoingOn, ReadAhead, go_on};
use following::Flight;
pub use head::Head;
use lateness::Lateness;
use motion::Motion;
use phase::Phase;
use unwritten::BufferContents;
pub(crate) use way::Way;

/// For so many commands after a write into the buffer, or after a pause in which the drive could write back, it
/// may still be at that when a command comes: a late arrival then says nothing of seeks.
const WRITE_BACK: u32 = 2;

/// Ticks in a revolution, less one.
const TURN: u64 = (1 << TURN_BITS) - 1;

/// How often the ticks are held against the rate at which the drive is found to turn, in observations.
const REVIEW: u32 = 256;

/// A revolution as an angle.
const TURN_ANGLE: f64 = 18_446_744_073_709_551_616.0;

/// Nothing is read ahead: no key is such.
const NOTHING: (u64, u16, u64) = (u64::MAX, 0, u64::MAX);

/// An angle in ticks.
fn ticks_of(angle: u64) -> u32 {
    (angle >> (64 - TURN_BITS)) as u32
}

/// How a command that used the arm leaves it.
#[derive(Clone, Copy, Debug)]
struct Left {
    track: Track,
    /// The angle behind the last block.
    angle: u64,
    /// The block after it.
    next: Lbn,
    /// After a read the drive reads on, and leaves at the end of a sector.
    reading: bool,
    /// Whether it was a transfer, which may go on.
    transferred: bool,
    /// After a read: what the drive reads ahead.
    ahead: Option<ReadAhead>,
}

/// Belief from a drive's sheet.
#[derive(Clone, Debug)]
pub struct Profile {
    mechanics: Arc<Mechanics>,
    overheads: Overheads,
    motion: Motion,
    way: Way,
    cache: Cache,
    buffers_writes: bool,
    /// What is in the buffer.
    unwritten: BufferContents,
    /// When the arm has done what it does of itself; how that leaves it is told already.
    free: Time,
    reads_ahead: bool,
    /// Which way the data of the last command went: overheads depend on it.
    last: Direction,
    /// Whether the buffer may hold something to write back, and commands since the drive may have been at it.
    dirty: bool,
    undisturbed: u32,
    /// When the last command came back.
    idle_since: Time,
    phase: Phase,
    lateness: Lateness,
    /// Observations since the ticks were last held against the rate.
    reviewed: u32,
    left: Left,
    /// How the one before the command in flight left the arm, where that is a read that does not go on with it and all that is in
    /// flight: where the answer comes from the cache, there the arm still is.
    before: Option<Left>,
    in_flight: u32,
    /// Of so many in flight it is known in which order they are served.
    in_order: u32,
    /// What the end of the first of two in flight will tell.
    followed: Option<Flight>,
    /// The track of the last write into the buffer, and whether that was the last command.
    beside: Track,
    was_buffered: bool,
    /// The angle under the head when the medium is done with the command in flight.
    angle: u64,
    /// By how much that comes back later.
    lag: Span,
    /// Whether that tells the phase: what is read on over a slow bus comes when the bus is through with it.
    tells_phase: bool,
    arm: Lbn,
    /// When the command in flight was issued, and the least its mechanics should take.
    issued: Time,
    soonest: Span,
    /// When the medium should be done with it and how long it should wait for its sector, in ticks; where the
    /// phase is known.
    expected: Option<(Time, u64)>,
    /// Of the last read that went on where one had ended: when it was issued, and when the medium should be done with it.
    further: (Time, Time),
}

impl Profile {
    /// Belief in a sheet, with the phase unknown.
    #[must_use]
    pub fn new(sheet: &Sheet) -> Profile {
        let mechanics = Arc::clone(&sheet.mechanics);
        let period = mechanics.rotation.period_ns();
        Profile {
            motion: Motion::new(mechanics.seek.ns(), &mechanics.switches, &sheet.overheads, period),
            overheads: sheet.overheads,
            reviewed: 0,
            way: Way::new(sheet),
            cache: sheet.cache,
            buffers_writes: sheet.cache.write_buffer > 0,
            unwritten: BufferContents::new(sheet),
            free: Time::ZERO,
            reads_ahead: sheet.cache.segments > 0 && sheet.cache.read_ahead > 0,
            last: Direction::Read,
            dirty: false,
            undisturbed: WRITE_BACK,
            idle_since: Time::ZERO,
            phase: Phase::new(&mechanics.rotation),
            lateness: Lateness::new(),
            left: Left {
                track: mechanics.layout.locate(Lbn(0)).track,
                angle: 0,
                next: Lbn(0),
                reading: false,
                transferred: false,
                ahead: None,
            },
            before: None,
            in_flight: 0,
            in_order: 0,
            followed: None,
            beside: mechanics.layout.locate(Lbn(0)).track,
            was_buffered: false,
            angle: 0,
            lag: Span::ZERO,
            tells_phase: true,
            arm: Lbn(0),
            issued: Time::ZERO,
            soonest: Span::ZERO,
            expected: None,
            further: (Time::NEVER, Time::NEVER),
            mechanics,
        }
    }

    /// What the phase is believed to be, and how well.
    #[must_use]
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// Whether a transfer goes on where the last one ended, so that the drive is at it or has it already.
    fn follows(&self, at: Extent, direction: Direction) -> bool {
        let Left { next, reading, transferred, .. } = self.left;
        transferred && at.start == next && direction.writes() != reading && (direction.writes() || self.reads_ahead)
    }

    /// How long blocks take to pass at the pace of a zone, with a switch of heads at the end of each track.
    fn transfer_in(&self, at: Extent, zone: u32) -> Span {
        let layout = &self.mechanics.layout;
        let period = self.phase.period_ns();
        let sectors = f64::from(at.blocks.div_ceil(1 << layout.sector_shift()));
        let turns = sectors * layout.sector_angle(zone) as f64 / TURN_ANGLE;
        Span((turns * (period + self.mechanics.switches.head.0 as f64)) as u64)
    }

    /// When the arm is at `spot` and a write may begin, if it leaves for it now.
    #[inline(always)]
    fn arrival(&self, now: Time, at: Extent, spot: Spot, direction: Direction) -> Time {
        let track = self.left.track;
        let stroke = self.mechanics.stroke(track, spot.track, direction).total();
        let overhead = if direction.writes() { self.overheads.write } else { self.overheads.read };
        let ready = (now + overhead.a(self.last)).max(self.free);
        let stay = |(phase, ahead_of)| self.phase.turning(self.stay(track.zone, ahead_of, phase));
        let stay = self.phase.at(ready).zip(self.ahead_of()).map_or(Span::ZERO, stay);
        let arrived = ready + stay + stroke;
        if !direction.writes() {
            return arrived;
        }
        let sector = self.mechanics.sector_time(spot.track.zone);
        let continues = self.last.writes() && at.start == self.left.next;
        arrived.max(self.way.write_from(now, overhead.a(self.last), sector, at, continues))
    }
}

/// Ticks that a head at `phase` waits, after travelling, for the angle in the low half of `key`.
#[inline]
fn wait(travel: u64, phase: u64, key: u64) -> u64 {
    key.wrapping_sub(phase + travel) & TURN
}

config::keys! {
    /// Whose word on the mechanics `predictor = "profile"` takes: `sheet`, the data sheet of the drive itself; `learned`, a
    /// profile of another drive of the same make, made before the run from the times of commands; or a drive file, such as
    /// `halfturn profile -o` writes.
    pub PROFILE: String = text("profile").naming(config::NamedBy::FileOrKnown).usually("sheet");
}

impl Recipe for Profile {
    const MANUAL: Manual = Manual {
        name: "profile",
        text: "Predicts by the drive's mechanics, as its data sheet or a learned profile gives them: the seek, and the wait for the sector. It follows the phase of the platter by the times at which commands complete.",
        keys: &[PROFILE.about],
        table: None,
        example: "predictor = \"profile\"\nprofile = \"learned\"",
        tells: Tells::Way,
    };

    fn make(known: &Knowledge, _: u64) -> Option<Profile> {
        known.sheet.as_deref().map(Profile::new)
    }
}

impl Predictor for Profile {
    type Spot = Spot;
    /// The head.
    type Mark = u16;
    type Head = Head;

    const TURNS: bool = true;

    #[inline]
    fn spot(&self, at: Extent) -> Spot {
        // What goes on where the last command ended lies where that left the head.
        match &self.left.ahead {
            Some(ReadAhead { so_far: Progress { reached, after, .. }, .. })
                if *reached == at.start && after.left > 0 =>
            {
                *after
            }
            _ => self.mechanics.layout.locate_command(at.start),
        }
    }

    /// Cylinder, then angle in ticks.
    fn key(&self, spot: Spot) -> u64 {
        u64::from(spot.track.cylinder) << 32 | u64::from(ticks_of(spot.angle))
    }

    fn mark(&self, spot: Spot) -> u16 {
        spot.track.head as u16
    }

    fn cylinder(&self, spot: Spot) -> Option<u32> {
        Some(spot.track.cylinder)
    }

    #[inline]
    fn head(&self, now: Time) -> (Head, u64) {
        if self.drive_chooses() {
            return self.head_among_several();
        }
        let phase = self.phase.at(now);
        if !self.unwritten.is_empty() {
            return self.head_of_writer(now, phase);
        }
        self.head_on(self.left.track, phase, self.last, self.ahead_of(), self.going_on())
    }

    #[inline]
    fn cost(&self, head: &Head, key: u64, surface: u16, direction: Direction) -> u64 {
        // The key first: it is seldom that of what is read ahead.
        if key == head.ahead.0 && surface == head.ahead.1 && !direction.writes() {
            return head.ahead.2;
        }
        if !head.locked {
            return self.travel(head, (key >> 32) as u32, surface, direction) + head.blind;
        }
        self.cost_of_way(head, key, surface, direction)
    }

    #[inline(always)]
    fn cost_of_way(&self, head: &Head, key: u64, surface: u16, direction: Direction) -> u64 {
        let travel = self.travel(head, (key >> 32) as u32, surface, direction);
        let wait = wait(travel, head.phase, key);
        travel + wait + self.lateness.penalty(wait)
    }

    #[inline(always)]
    fn swing(&self, head: &Head, direction: Direction) -> Swing<'_> {
        let &Head { cylinder, phase, locked, blind, .. } = head;
        // What the drive reads ahead does not wait to come round.
        let apart = if direction.writes() { u64::MAX } else { head.ahead.0 };
        let leaves = head.leaves[direction as usize] + blind;
        Swing { cylinder, phase, turns: locked, leaves, apart, reach: self.motion.reach() }
    }

    /// Whatever cylinder a key is of, it costs no less than until its angle next comes round, once the least has passed.
    #[inline(always)]
    fn sieve(&self, head: &Head, least: u64, keys: &[u64], (from, to): (u64, u64)) -> Sieve {
        // What the drive reads ahead does not wait to come round. It lies where the head is, and seldom does anybody wait for it.
        let read_ahead = head.ahead.0;
        let waits = head.locked && !((from..=to).contains(&read_ahead) && keys.contains(&read_ahead));
        Sieve { origin: head.phase + least, bits: if waits { TURN } else { 0 } }
    }

    #[inline]
    fn least(&self, head: &Head, from: u64, to: u64, direction: Direction) -> u64 {
        let hit = if (from..=to).contains(&head.ahead.0) && !direction.writes() { head.ahead.2 } else { u64::MAX };
        let (first, last) = ((from >> 32) as u32, (to >> 32) as u32);
        let travel = self.least_travel(head, head.cylinder.abs_diff(head.cylinder.clamp(first, last)), direction);
        if !head.locked || first != last {
            return travel.min(hit);
        }
        // On one cylinder the angles are bounded too: wait for the first of them, unless it is among them.
        let (low, high) = (from as u32, to as u32);
        let here = ((head.phase + travel) & TURN) as u32;
        let waits = if (low..=high).contains(&here) { 0 } else { wait(travel, head.phase, from) };
        hit.min(travel + waits)
    }

    #[inline(always)]
    fn least_from(&self, head: &Head, distance: u32, direction: Direction) -> u64 {
        self.least_travel(head, distance, direction)
    }

    #[inline(always)]
    fn least_above(&self, head: &Head, from: u64, direction: Direction) -> u64 {
        let hit = if head.ahead.0 >= from && !direction.writes() { head.ahead.2 } else { u64::MAX };
        self.least_travel(head, ((from >> 32) as u32).saturating_sub(head.cylinder), direction).min(hit)
    }

    #[inline(always)]
    fn least_below(&self, head: &Head, to: u64, direction: Direction) -> u64 {
        // On the one cylinder that is left, angles count.
        if to >> 32 == 0 {
            return self.least(head, 0, to, direction);
        }
        let hit = if head.ahead.0 <= to && !direction.writes() { head.ahead.2 } else { u64::MAX };
        self.least_travel(head, head.cylinder.saturating_sub((to >> 32) as u32), direction).min(hit)
    }

    /// On one cylinder, by their angles.
    #[inline(always)]
    fn is_told_closer(&self, from: u64, to: u64) -> bool {
        from >> 32 == to >> 32
    }

    fn transfer(&self, at: Extent, spot: Spot) -> Span {
        self.transfer_in(at, spot.track.zone)
    }

    /// No more need be known of where it is than the zone.
    fn transfer_of(&self, at: Extent) -> Span {
        self.transfer_in(at, self.mechanics.layout.zone_of(at.start))
    }

    fn head_after(&self, head: &Head, at: Extent, spot: Spot, direction: Direction) -> (Head, u64) {
        let layout = &self.mechanics.layout;
        let width = layout.sector_angle(spot.track.zone);
        let sectors = layout.sectors_of(at);
        let (track, angle) = if sectors <= u64::from(spot.left) {
            (spot.track, spot.angle.wrapping_add(width.wrapping_mul(sectors)))
        } else {
            let last = layout.locate(Lbn(at.end().0 - 1));
            (last.track, last.angle.wrapping_add(layout.sector_angle(last.track.zone)))
        };
        let lag = || {
            if self.way.keeps_up() {
                return self.way.last(at);
            }
            let begins = self.phase.reach(Time::ZERO, spot.angle);
            self.way.read(&self.mechanics, &self.phase, begins, spot, at, begins).1
        };
        let (bus, ahead) = if direction.writes() { (0, None) } else { (self.ticks(lag()), Some(angle)) };
        let phase = head.locked.then(|| angle.wrapping_add(bus << (64 - TURN_BITS)));
        self.head_on(track, phase, direction, ahead.filter(|_| self.reads_ahead), NOTHING)
    }

    fn buffered_cost(&self, now: Time) -> Option<u64> {
        self.cost_buffered(now)
    }

    fn buffered_beside(&self) -> (Head, u64) {
        self.head_on(self.beside, None, Direction::Write, None, NOTHING)
    }

    fn buffer(&self) -> Option<BufferBelief> {
        let Cache { write_buffer: blocks, write_extents, drain, .. } = self.cache;
        let extents = if write_extents == 0 { u32::MAX } else { write_extents };
        (blocks > 0).then_some(BufferBelief { blocks, extents, goes_first: drain != Drain::Soonest })
    }

    fn has_waited(&self) -> bool {
        self.unwritten.has_waited()
    }

    fn ticks(&self, span: Span) -> u64 {
        self.motion.ticks(span)
    }

    fn arm(&self) -> Lbn {
        self.arm
    }

    fn approach(&self, now: Time, at: Extent, spot: Spot, direction: Direction) -> Option<Approach> {
        self.find_approach(now, at, spot, direction)
    }

    fn early(&self) -> Span {
        self.phase.turning(u64::from(self.lateness.early()) << (64 - TURN_BITS))
    }

    fn seek_time(&self, distance: u32) -> Span {
        self.overheads.read.a(self.last) + self.mechanics.seek.time(distance)
    }

    fn midway(&self, now: Time, spot: Spot, parts: u32, by: SeekBy) -> Option<Lbn> {
        let on = self.mechanics.layout.midway(self.left.track.cylinder, spot.track.cylinder, parts);
        Some(if by == SeekBy::Read { self.find_first_passing(now, on) } else { on })
    }

    fn touch_time(&self, spot: Spot) -> Span {
        // The arm comes in the middle of a sector, and the next one is read.
        let sectors = Span(2 * self.mechanics.sector_time(spot.track.zone).0);
        self.early() + sectors + self.overheads.done.read
    }

    #[inline(never)]
    fn follow_on(&self, now: Time, at: Extent) -> Span {
        // The arm is elsewhere where the last answer came from the cache, and need not be where nothing is read ahead.
        self.go_on(now, at).map_or(Span(u64::MAX), |it| it.took)
    }

    fn goal(&self, now: Time, verb: Verb, at: Extent, spot: Spot, still: Span) -> Option<Goal<Spot>> {
        if self.is_buffered(verb, at) { None } else { self.find_goal(now, at, spot, verb.direction(), still) }
    }

    fn track_blocks(&self, spot: Spot) -> u64 {
        let layout = &self.mechanics.layout;
        u64::from(layout.track_sectors(spot.track.zone)) << layout.sector_shift()
    }

    fn beneath(&self, on: Lbn) -> Option<Beneath> {
        self.mechanics.layout.beneath(on)
    }

    fn passing(&self, now: Time, on: Lbn, goal: Option<&Goal<Spot>>, still: Span) -> Option<Passing> {
        self.find_passing(now, on, goal, still)
    }

    fn ending(&self, now: Time, at: Extent, goal: Option<&Goal<Spot>>) -> Option<Time> {
        self.find_end(now, at, goal)
    }

    fn completion_time(&self) -> Option<Time> {
        self.expected.map(|(passed, _)| passed + self.lag)
    }

    fn expect_followers(&mut self) -> bool {
        self.in_order = u32::from(self.overheads.queued.is_some());
        self.in_order > 0
    }

    fn follower(&self, now: Time) -> Option<Follower> {
        self.find_follower(now)
    }

    fn note_follower(&mut self, now: Time, command: &Command, spot: Spot) {
        self.add_follower(now, command, spot);
    }

    fn note_followed(&mut self, happened: Time, command: &Command, outcome: Outcome) {
        self.end_followed(happened, command, outcome);
    }

    fn turn(&self) -> Span {
        self.mechanics.rotation.period()
    }

    #[inline]
    fn note_issue(&mut self, now: Time, command: &Command, spot: Spot) {
        self.issued = now;
        self.in_flight += 1;
        self.was_buffered = false;
        if self.buffers_writes && command.verb == (Verb::Write { fua: false }) {
            self.unwritten.note_write(command.at);
            if self.is_buffered(command.verb, command.at) {
                self.issue_buffered(now, command, spot);
                return;
            }
        } else if self.buffers_writes {
            self.unwritten.end_row();
        }
        if !self.unwritten.is_empty() {
            self.free_arm(now);
        }
        self.before = None;
        if !command.verb.transfers() {
            self.expected = None;
            self.left.transferred = false;
            if command.verb == Verb::Seek {
                (self.left.reading, self.left.track, self.arm) = (false, spot.track, command.at.start);
            }
            return;
        }
        if command.verb.writes() {
            self.issued_write(now, command.at, spot);
        } else if !self.follows(command.at, Direction::Read) {
            self.before = (self.in_flight == 1).then_some(self.left);
            self.issued_read(now, command.at, spot);
        } else {
            self.issued_further(now, command.at);
        }
    }

    fn distrust(&mut self) {
        self.tells_phase = false;
    }

    fn note_completion(&mut self, happened: Time, command: &Command, outcome: Outcome) {
        self.idle_since = happened;
        self.in_flight = self.in_flight.saturating_sub(1);
        let last = self.last;
        if command.verb.transfers() || command.verb.writes() {
            self.last = command.verb.direction();
        }
        let buffered = self.is_buffered(command.verb, command.at);
        if self.dirty {
            self.note_unwritten(happened, command, last);
        }
        let from_medium = command.verb.transfers() && !buffered;
        if command.verb.writes() && from_medium {
            self.look_for_buffer(happened);
        }
        if outcome != Outcome::Ok || !from_medium || !self.tells_phase {
            return;
        }
        self.learn_passage(happened);
    }

    #[inline(always)]
    fn note_further(&mut self, now: Time, before: &Command, next: &Command) {
        self.go_further(now, before, next);
    }
}
