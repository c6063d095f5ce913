//! How soon a command may begin, by how far the arm moves: the time that always passes, and what makes an arrival late.

/// Knots to an octave of tracks; between them a time is interpolated.
const PARTS: u32 = 8;
const KNOTS: usize = 33 * PARTS as usize + 1;

/// A command that began within this share of a revolution of when its angle was to come, or of that and a revolution, was in time, or
/// late by one: else something came between.
const NEAR: u64 = 16;
/// What was to wait for less than this share of a revolution tells by being in time that the arm may be faster, and by being late that
/// it is slower. Where none was in time of late, what waits for longer tells, too; else it was held up by something else.
const TIGHT: u64 = 64;
const LATE: u64 = 8;
/// Where more than this share came late, of about so many, moves take longer than they did: then all that was late tells.
const SLOWER: f32 = 0.08;
const LATELY: f32 = 64.0;
/// Steps by which a knot moves, as shares of a revolution, at most and at least; how many times more in time than late it takes to keep it
/// where it is, before and after it was found too low; after so many in time in a row the step doubles, and it is no longer found.
const MOST: u64 = 128;
const LEAST: u64 = 4096;
const SEEKING: u64 = 4;
const KEEPING: u64 = 32;
const ROW: u8 = 64;

/// What is known of a distance.
#[derive(Clone, Copy, Debug, Default)]
struct Knot {
    /// In ns; nothing is known while no time was seen.
    time: u64,
    seen: u32,
    /// It is told by reads that ended at the angle where they should have: it was no answer from memory.
    certain: bool,
    /// By how much it moves, in ns, how many came in time since one was late, and whether it was found by that.
    step: u64,
    in_time: u8,
    found: bool,
}

/// Times by distance in tracks, in ns.
#[derive(Clone, Debug)]
pub(super) struct ReachTimes {
    knots: Vec<Knot>,
    /// The same with what lies between filled in, and the least from each on.
    curve: Vec<u64>,
    floor: Vec<u64>,
    unseen: u32,
    /// The share that came late, of late.
    late: f32,
}

impl Default for ReachTimes {
    fn default() -> ReachTimes {
        ReachTimes {
            knots: vec![Knot::default(); KNOTS],
            curve: vec![0; KNOTS],
            floor: vec![0; KNOTS],
            unseen: 0,
            late: 0.0,
        }
    }
}

/// The knot at a distance or before it, and how far on to the next it is, of 256.
#[inline(always)]
fn place(tracks: u32) -> (usize, u64) {
    let Some(octave) = tracks.checked_ilog2() else { return (0, 0) };
    // The bits behind the highest: the first three number the part.
    let within = tracks << (31 - octave) << 1;
    ((PARTS * (octave + 1) + (within >> 29)) as usize, u64::from(within >> 21 & 255))
}

/// What lies so far on from one to the other, of 256.
#[inline(always)]
fn between(left: u64, right: u64, on: u64) -> u64 {
    (left * (256 - on) + right * on) >> 8
}

/// The curve is drawn anew after so many times.
const DRAWN: u32 = 64;

impl ReachTimes {
    #[inline(always)]
    pub(super) fn time(&self, tracks: u32) -> u64 {
        let (i, on) = place(tracks);
        between(self.curve[i], self.curve[i + 1], on)
    }

    /// Of no distance from this one on is it less.
    #[inline(always)]
    pub(super) fn least(&self, tracks: u32) -> u64 {
        self.floor[place(tracks).0]
    }

    /// A command began so long after it was given; `expected` it was, where it came from the angle that was expected. A revolution takes
    /// `period`.
    pub(super) fn learn(&mut self, tracks: u32, began: u64, expected: Option<u64>, period: u64) {
        let (i, on) = place(tracks);
        for knot in &mut self.knots[i..=i + 1] {
            if knot.seen == 0 || expected.is_some() && !knot.certain {
                let step = period / MOST;
                *knot = Knot { time: began, certain: expected.is_some(), step, ..Knot::default() };
            }
        }
        if expected.is_none() && self.knots[i..=i + 1].iter().any(|knot| knot.certain) {
            return;
        }
        let time = between(self.knots[i].time, self.knots[i + 1].time, on);
        if began < time {
            self.lower(i, on, began);
        } else if let Some(expected) = expected {
            self.weigh((i, on), expected.saturating_sub(time), began.saturating_sub(expected), period);
        }
        self.knots[i].seen = self.knots[i].seen.saturating_add(u32::from(on < 192));
        self.knots[i + 1].seen = self.knots[i + 1].seen.saturating_add(u32::from(on >= 64));
        self.unseen += 1;
        if self.unseen >= DRAWN || (self.unseen == 1 && self.curve[0] == 0) {
            self.draw();
        }
    }

    /// A command began sooner than the arm was believed to get there. A shorter way takes no longer, so the knot before is lowered
    /// first, and the one behind by what is still above.
    fn lower(&mut self, i: usize, on: u64, began: u64) {
        let [left, right] = &mut self.knots[i..=i + 1] else { return };
        let time = between(left.time, right.time, on);
        let target = if left.seen < 16 { began } else { began.midpoint(time) };
        left.time = left.time.min(target);
        let above = between(left.time, right.time, on).saturating_sub(target);
        right.time -= (above * 256 / on.max(1)).min(2 * above).min(right.time);
    }

    /// A command that was to wait for so long at its track began so much later than expected.
    fn weigh(&mut self, (i, on): (usize, u64), wait: u64, behind: u64, period: u64) {
        let in_time = behind <= period / NEAR && wait < period / TIGHT;
        let nearer = &mut self.knots[i + usize::from(on >= 128)];
        let comes_late = behind.abs_diff(period) < period / NEAR;
        self.late += (f32::from(u8::from(comes_late)) - self.late) / LATELY;
        let is_slower = self.late > SLOWER;
        let within = if nearer.in_time == 0 || is_slower { period / LATE } else { period / TIGHT };
        let is_late = comes_late && wait < within;
        let step = nearer.step as i64;
        let change = if in_time {
            nearer.in_time += 1;
            if nearer.in_time == ROW {
                (nearer.in_time, nearer.found) = (1, false);
                nearer.step = (nearer.step * 2).min(period / MOST);
            }
            -step / if nearer.found { KEEPING } else { SEEKING } as i64
        } else if is_late {
            // Late twice running, it is far too low.
            let next = if nearer.found && nearer.in_time == 0 { nearer.step * 4 } else { nearer.step / 2 };
            (nearer.step, nearer.in_time, nearer.found) = (next.clamp(period / LEAST, period / MOST), 0, true);
            if is_slower { step.max(wait as i64 / 2) } else { step }
        } else {
            return;
        };
        // What is between the knots moves by all of it.
        let square = (256 - on) * (256 - on) + on * on;
        for (knot, weight) in self.knots[i..=i + 1].iter_mut().zip([256 - on, on]) {
            knot.time = knot.time.saturating_add_signed(change * (weight * 256) as i64 / square as i64);
        }
    }

    /// Fills in what was not seen, and lets no way take longer than a farther one, as long as it was never found to.
    fn draw(&mut self) {
        self.unseen = 0;
        let mut least = u64::MAX;
        for knot in self.knots.iter_mut().rev().filter(|knot| knot.seen >= 2 && knot.certain) {
            if !knot.found {
                knot.time = knot.time.min(least);
            }
            least = least.min(knot.time);
        }
        let mut last: Option<usize> = None;
        for i in 0..KNOTS {
            if self.knots[i].seen < 2 {
                continue;
            }
            self.curve[i] = self.knots[i].time;
            let from = last.map_or(0, |last| last + 1);
            let left = last.map_or(self.curve[i], |last| self.curve[last]) as f64;
            let right = self.curve[i] as f64;
            for between in from..i {
                let share = (between + 1 - from) as f64 / (i + 1 - from) as f64;
                self.curve[between] = (left + (right - left) * share) as u64;
            }
            last = Some(i);
        }
        if let Some(last) = last {
            for i in last + 1..KNOTS {
                self.curve[i] = self.curve[last];
            }
        }
        let mut least = u64::MAX;
        for i in (0..KNOTS).rev() {
            least = least.min(self.curve[i]);
            self.floor[i] = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 6_000_000;

    /// What moves of the arm take on the drive of these tests.
    fn truth(tracks: u32) -> u64 {
        1_200_000 + (40_000.0 * f64::from(tracks).sqrt()) as u64
    }

    struct Trial {
        reach: ReachTimes,
        draws: u64,
        late: u32,
    }

    impl Trial {
        fn draw(&mut self, below: u64) -> u64 {
            self.draws = self.draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.draws >> 33) % below
        }

        /// Reads at drawn distances, each of the angle that is believed to come soonest of so many. Something else
        /// holds up one of `held_up`.
        fn read(&mut self, count: u32, angles: u32, truth: impl Fn(u32) -> u64, held_up: u64) {
            self.late = 0;
            for _ in 0..count {
                let tracks = 30 + (self.draw(8000) * self.draw(8000) / 8000) as u32;
                // The next time that it passes, from when the arm is there.
                let next = |from: u64, angle: u64| from + (angle + PERIOD - from % PERIOD) % PERIOD;
                let drawn: Vec<u64> = (0..angles).map(|_| self.draw(PERIOD)).collect();
                let soonest = |angle: &&u64| next(self.reach.time(tracks), **angle);
                let angle = *drawn.iter().min_by_key(soonest).expect("one at least");
                let expected = next(self.reach.time(tracks), angle);
                let held = if self.draw(held_up) == 0 { PERIOD } else { 0 };
                let began = next(truth(tracks), angle) + held;
                self.late += u32::from(held == 0 && began > expected + PERIOD / 2);
                self.reach.learn(tracks, began, Some(expected), PERIOD);
            }
        }
    }

    /// By distance at first, so at any angle.
    fn begin(seed: u64) -> Trial {
        let mut trial = Trial { reach: ReachTimes::default(), draws: seed, late: 0 };
        trial.read(3000, 1, truth, 250);
        trial
    }

    #[test]
    fn the_time_of_each_distance_is_found_by_reads_in_time_and_late() {
        for seed in 0..5 {
            let mut trial = begin(seed);
            trial.read(30_000, 16, truth, 250);
            for tracks in [500, 1000, 2000, 4000, 7000] {
                let off = trial.reach.time(tracks) as i64 - truth(tracks) as i64;
                assert!(off.unsigned_abs() < PERIOD / 100, "seed {seed}: {off} ns off at {tracks} tracks");
            }
            trial.read(10_000, 16, truth, u64::MAX);
            assert!(trial.late < 150, "seed {seed}: {} of 10,000 late", trial.late);
        }
    }

    #[test]
    fn an_arm_that_becomes_slower_or_faster_is_followed() {
        let mut trial = begin(7);
        trial.read(20_000, 16, truth, 250);
        // What has become slower is late at once; what has become faster shows only where it is tried.
        for (part, reads) in [(6, 20_000), (5, 60_000)] {
            let slower = |tracks: u32| truth(tracks) * part / 5;
            trial.read(reads, 16, slower, 250);
            for tracks in [500, 2000, 5000] {
                let off = trial.reach.time(tracks) as i64 - slower(tracks) as i64;
                assert!(off.unsigned_abs() < PERIOD / 50, "{off} ns off at {tracks} tracks, {part} fifths");
            }
        }
    }

    #[test]
    fn what_came_from_memory_tells_nothing_once_angles_do() {
        let mut trial = begin(3);
        for tracks in (100..8000).step_by(7) {
            trial.reach.learn(tracks, 50_000, None, PERIOD);
        }
        trial.read(20_000, 16, truth, 250);
        for tracks in (100..8000).step_by(7) {
            trial.reach.learn(tracks, 50_000, None, PERIOD);
        }
        let off = trial.reach.time(2000) as i64 - truth(2000) as i64;
        assert!(off.unsigned_abs() < PERIOD / 100, "{off} ns");
    }
}
