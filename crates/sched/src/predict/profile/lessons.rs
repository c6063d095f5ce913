//! What a sheet does not tell of writes ([`disk::Unmeasured`]), learned from the times at which they come back: whether the drive
//! buffers them, what a write into its buffer takes, how much later than a read one completes, and how long the arm settles before one.
//!
//! Until the times say, there is no opinion: a write is weighed by its place, and what it does to arm and platter is not gone by. A write
//! that comes back long before its blocks could have passed was buffered. One that comes back at the angle at which its last block
//! passes went to the medium, however many turns that took; by chance one of eight does. The first that do so tell by how much
//! completions of writes are later or earlier than those of reads.
//!
//! Times in nanoseconds, angles in 2⁻⁶⁴ revolutions.

use super::{Profile, TRUST, TURN_BITS};
use block::{Command, Outcome, Span, Time};
use disk::{After, Mechanics, Passage, Spin, Track, Unmeasured};
use std::sync::Arc;

/// What a write says for a buffer, or against one: about the logarithm of how much likelier its time is with one.
const AT_ONCE: i32 = 3;
const AT_NO_ANGLE: i32 = 1;
const AT_ITS_ANGLE: i32 = -2;
/// An opinion is held from here on, and weighs no more than twice that, so that a buffer switched on or off is noticed.
const CONVINCED: i32 = 16;

/// A completion is at its angle within this part of a revolution.
const NEAR: u64 = u64::MAX / 16;
/// Completions in a row at no angle that is known, after which the next tells another.
const ASTRAY: u32 = 2;

/// The shortest time of so many writes is what a write into the buffer takes.
const WINDOW: u32 = 64;

/// Classes of the time that was left to settle: 1/128 revolution each, up to a quarter of one.
const CLASSES: usize = 32;
const CLASS_BITS: u32 = TURN_BITS - 7;
/// Settling is looked at again after so many writes, then after twice as many; when more were counted, half are forgotten.
const FIRST_LOOK: u32 = 32;
const MEMORY: u32 = 2048;

/// A write in flight.
#[derive(Clone, Copy, Debug)]
struct WatchedWrite {
    at: block::Extent,
    issued: Time,
    /// When it should come back, and how long it should wait for its sector, in ticks; of use where the phase is known.
    expected: Time,
    wait: u64,
    moves: bool,
    locked: bool,
}

/// What was learned of writes.
#[derive(Clone, Debug)]
pub(super) struct WriteLessons {
    unmeasured: Unmeasured,
    /// Above nothing where the drive seems to buffer writes.
    leaning: i32,
    flight: Option<WatchedWrite>,
    /// How far behind the angle of its last block a write completes, and completions that were not there lately.
    offset: u64,
    astray: u32,
    /// The shortest time of the writes of this window, and how many there are.
    shortest: Span,
    window: u32,
    settling: Settling,
}

impl WriteLessons {
    /// What has to be learned of a drive; nothing where all is known.
    pub(super) fn of(unmeasured: Unmeasured) -> Option<Box<WriteLessons>> {
        unmeasured.any().then(|| {
            Box::new(WriteLessons {
                unmeasured,
                leaning: 0,
                flight: None,
                offset: 0,
                astray: ASTRAY,
                shortest: Span(u64::MAX),
                window: 0,
                settling: Settling::default(),
            })
        })
    }

    /// Whether a write came back at the angle of its last block, or where others of late did.
    fn is_at_its_angle(&mut self, off: u64) -> bool {
        let error = off.wrapping_sub(self.offset) as i64;
        if error.unsigned_abs() <= NEAR {
            self.offset = self.offset.wrapping_add_signed(error / 4);
            self.astray = 0;
            return true;
        }
        self.astray += 1;
        if self.astray > ASTRAY {
            (self.offset, self.astray) = (off, 0);
        }
        false
    }
}

/// How long an arm must have had to settle, by whether it was in time.
#[derive(Clone, Debug)]
struct Settling {
    late: [u32; CLASSES],
    in_time: [u32; CLASSES],
    seen: u32,
    look_at: u32,
    /// Whether it was ever worked out.
    is_known: bool,
}

impl Default for Settling {
    fn default() -> Settling {
        Settling { late: [0; CLASSES], in_time: [0; CLASSES], seen: 0, look_at: FIRST_LOOK, is_known: false }
    }
}

impl Settling {
    /// An arm that had `ticks` to settle was late, or was in time. Gives the class from which on it is in time, when that is due.
    fn add(&mut self, ticks: u64, late: bool) -> Option<usize> {
        let class = (ticks >> CLASS_BITS) as usize;
        let counts = if late { &mut self.late } else { &mut self.in_time };
        *counts.get_mut(class)? += 1;
        self.seen += 1;
        if self.seen < self.look_at {
            return None;
        }
        if self.seen >= MEMORY {
            self.late.iter_mut().chain(&mut self.in_time).for_each(|count| *count /= 2);
            self.seen /= 2;
        }
        self.look_at = (self.seen * 2).min(MEMORY);
        self.is_known = true;
        Some(self.bound())
    }

    /// The bound that the fewest contradict. Of several the least: whoever goes by it learns whether that is so.
    fn bound(&self) -> usize {
        let contradict =
            |bound: usize| self.in_time[..bound].iter().sum::<u32>() + self.late[bound..].iter().sum::<u32>();
        (0..=CLASSES).min_by_key(|bound| (contradict(*bound), *bound)).unwrap_or(0)
    }
}

impl Profile {
    /// A write was issued from this track, of which not all is known beforehand.
    #[inline(never)]
    pub(super) fn watch_write(&mut self, command: &Command, from: Track, arrived: Time, passage: &Passage) {
        let Some(lessons) = &mut self.lessons else { return };
        lessons.flight = Some(WatchedWrite {
            at: command.at,
            issued: self.issued,
            expected: passage.end + self.lag,
            wait: self.motion.ticks(passage.began.since(arrived)),
            moves: from != self.mechanics.layout.locate(command.at.start).track,
            locked: self.phase.is_known(),
        });
        self.angle = self.angle.wrapping_add(lessons.offset);
        // Arrivals are not late while nobody knows when they are due.
        if lessons.unmeasured.write_settle && !lessons.settling.is_known {
            self.expected = None;
        }
    }

    /// A write came back, of which not all is known beforehand.
    #[inline(never)]
    pub(super) fn learn_write(&mut self, happened: Time, command: &Command, outcome: Outcome) {
        let Some(mut lessons) = self.lessons.take() else { return };
        if let Some(flight) = lessons.flight.take().filter(|it| it.at == command.at && outcome == Outcome::Ok) {
            self.learn_from(&mut lessons, &flight, happened, command);
        }
        self.lessons = Some(lessons);
    }

    fn learn_from(&mut self, lessons: &mut WriteLessons, flight: &WatchedWrite, happened: Time, command: &Command) {
        let turn = self.mechanics.rotation.period();
        let took = happened.since(flight.issued);
        let fills = took.less(self.way.write_time(command.at.blocks));
        let may_be_buffered = lessons.unmeasured.write_buffer && command.verb == block::Verb::Write { fua: false };
        let at_once = fills <= self.overheads.buffered.read + Span(turn.0 / 8);
        let alone = self.in_flight == 0;
        if may_be_buffered {
            self.learn_fill(lessons, fills);
            // Others in the drive came before it.
            let too_soon = !alone || flight.expected.since(happened) > Span(turn.0 / 8);
            if at_once {
                self.lean(lessons, if too_soon { AT_ONCE } else { 0 });
                return;
            }
        }
        if !alone {
            return;
        }
        let passed = Time(happened.0.saturating_sub(self.lag.0));
        let ends = self.angle.wrapping_sub(lessons.offset);
        if !flight.locked {
            // Where nothing is read, writes alone can tell the phase.
            self.phase.add_passage(passed, ends);
            return;
        }
        let at_its_angle = lessons.is_at_its_angle(self.phase.phase(passed).wrapping_sub(ends));
        if may_be_buffered {
            self.lean(lessons, if at_its_angle { AT_ITS_ANGLE } else { AT_NO_ANGLE });
        }
        let went_through = !may_be_buffered || lessons.leaning <= -CONVINCED;
        if went_through && at_its_angle && flight.moves && lessons.unmeasured.write_settle {
            self.learn_settling(&mut lessons.settling, flight, happened);
        }
    }

    /// A write speaks for a buffer, or against one.
    fn lean(&mut self, lessons: &mut WriteLessons, by: i32) {
        lessons.leaning = (lessons.leaning + by).clamp(-2 * CONVINCED, 2 * CONVINCED);
        self.buffers_writes = lessons.leaning > -CONVINCED;
        self.rested = if lessons.leaning >= CONVINCED { TRUST } else { 0 };
    }

    /// What a write into the buffer takes: what the shortest of late took.
    fn learn_fill(&mut self, lessons: &mut WriteLessons, fills: Span) {
        lessons.shortest = lessons.shortest.min(fills);
        lessons.window += 1;
        if lessons.window >= WINDOW {
            self.overheads.buffered = After::either(lessons.shortest);
            self.motion.buffered = [self.motion.ticks(lessons.shortest); 2];
            (lessons.shortest, lessons.window) = (Span(u64::MAX), 0);
        }
    }

    /// The arm was in time for a write, or a turn late.
    fn learn_settling(&mut self, settling: &mut Settling, flight: &WatchedWrite, happened: Time) {
        let turn = self.mechanics.rotation.period();
        let half = Span(turn.0 / 2);
        let had = flight.wait + self.motion.write_settle;
        let bound = if happened.since(flight.expected) > half {
            settling.add(had, true)
        } else if flight.expected.since(happened) > half {
            settling.add(had.saturating_sub(self.motion.ticks(turn)), false)
        } else {
            settling.add(had, false)
        };
        let Some(bound) = bound else { return };
        let settle = Span((turn.0 * bound as u64) >> 7);
        // Those of the sheet stay as they are.
        let mechanics: &mut Mechanics = Arc::make_mut(&mut self.mechanics);
        mechanics.switches.write_settle = settle;
        self.motion.write_settle = self.motion.ticks(settle);
    }
}
