//! How fast the platter turns, and where it is: found from the times at which reads of near blocks came back, then followed.
//!
//! Angles are fractions of a revolution, of 2³² or, where time is multiplied by them, of 2⁶⁴; they wrap by themselves. What is
//! summed is whole numbers and products of them, so that every machine finds the same.

use super::sample::{Allowance, LookMemory, Sample, Waves, share_of_turn};
use block::Time;

/// Revolutions a second that are looked for: of 3,000 to 18,000 rpm.
const SLOWEST: u64 = 50;
const FASTEST: u64 = 300;

/// Pairs of near reads that are compared, and as many at least.
const PAIRS: usize = 256;
const FEWEST: usize = 48;

/// Blocks between the reads of a pair, at most.
const NEAR: u64 = 160;

/// Reads of a pair lie no farther apart in time, at first and at last, in ns: a spindle wanders.
const SHORT: u64 = 4_000_000_000;
const LONG: u64 = 60_000_000_000;
/// Nor nearer: what came sooner than any platter turns was as a rule in the drive's memory, and turns hardly at a slow rate, which all
/// of them would speak for.
const SOON: u64 = 1_000_000_000 / FASTEST;

/// A revolution, in 2⁻⁶⁴ of one.
const TURN: f64 = 18_446_744_073_709_551_616.0;

/// Angles over which a mean of late is taken, about.
const LATELY: f32 = 128.0;

/// Nanoseconds of a second.
const SECOND: f64 = 1e9;

/// A multiple of a rate agrees nearly as well as the rate itself: it has to agree so many times better.
const MULTIPLE: f32 = 1.25;

/// By chance the best of 2ⁿ rates agrees by 0.7 n: so much more is asked for, and at least this share of all pairs.
const BY_CHANCE: f32 = 0.7;
const BEYOND: f32 = 12.0;
const SHARE: f32 = 0.3;

/// What is believed of the platter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turning {
    /// 2⁻⁶⁴ revolutions a nanosecond; nothing is known to turn while it is zero.
    pub(super) rate: u64,
    phase: u64,
    since: u64,
    /// How far angles were from what was expected of late, and by how many they were told.
    pub(super) astray: f32,
    /// Since nothing was heard for long: what the angles of known blocks were off by.
    lost: [i32; HEARD],
    heard: u8,
}

/// Where nothing agreed for so long, in ns, the platter is sought anew: that many angles of known blocks tell by how much it is ahead, if
/// all but one are as near as this to one of them, in 2⁻³² revolutions. A host that was idle all night has not lost its chart.
const QUIET: u64 = 1_000_000_000;
const HEARD: usize = 5;
const ALIKE: u32 = 1 << 28;

impl Turning {
    /// Of this rate, from time zero on.
    fn of(rate: u64) -> Turning {
        Turning { rate, ..Turning::default() }
    }

    /// Where it is, in 2⁻³² revolutions.
    #[inline(always)]
    pub(super) fn at(&self, now: Time) -> u32 {
        (self.phase.wrapping_add(now.0.wrapping_sub(self.since).wrapping_mul(self.rate)) >> 32) as u32
    }

    /// One revolution, in ns.
    pub(super) fn period(&self) -> u64 {
        if self.rate == 0 { 0 } else { (TURN / self.rate as f64) as u64 }
    }

    /// An angle was so far from what was expected, in 2⁻³² revolutions.
    pub(super) fn note(&mut self, off: i32) {
        self.astray += (share_of_turn(off) - self.astray) / LATELY;
    }

    /// After a long silence a known block was so far from where it was expected: whether the platter is still being sought by that.
    pub(super) fn seek_phase(&mut self, now: Time, off: i32) -> bool {
        if now.0.saturating_sub(self.since) < QUIET {
            return false;
        }
        self.lost[usize::from(self.heard)] = off;
        self.heard += 1;
        if usize::from(self.heard) < HEARD {
            return true;
        }
        self.heard = 0;
        let alike =
            |from: &&i32| self.lost.iter().filter(|off| off.wrapping_sub(**from).unsigned_abs() < ALIKE).count();
        let Some(ahead) = self.lost.iter().max_by_key(alike).copied() else { return false };
        if alike(&&ahead) < HEARD - 1 {
            return false;
        }
        let elapsed = now.0.saturating_sub(self.since);
        self.phase =
            self.phase.wrapping_add(elapsed.wrapping_mul(self.rate)).wrapping_add_signed(-(i64::from(ahead) << 32));
        (self.since, self.astray) = (now.0, 0.0);
        true
    }

    /// At `now` the platter is believed to be so far ahead of where it is, in 2⁻³² revolutions.
    pub(super) fn correct(&mut self, now: Time, ahead: i32) {
        // What is far off was not read from where it is taken to lie.
        if ahead.unsigned_abs() > u32::MAX / 10 {
            return;
        }
        let elapsed = now.0.saturating_sub(self.since).max(1);
        let error = i64::from(ahead) << 32;
        self.phase = self.phase.wrapping_add(elapsed.wrapping_mul(self.rate)).wrapping_add_signed(-error / 32);
        self.since = now.0;
        let pull = error / 4096 / elapsed.max(5_000_000) as i64;
        let most = (self.rate >> 14) as i64;
        self.rate = self.rate.wrapping_add_signed(-pull.clamp(-most, most));
    }
}

/// Blocks and time between two reads; nothing where they are too far apart, or too near. Set is the highest bit where the one farther
/// along came first.
fn pair(one: &Sample, next: &Sample) -> Option<(u64, u64)> {
    let (blocks, apart) = (next.block - one.block, next.at.abs_diff(one.at));
    let first = if next.at > one.at { 0 } else { FIRST };
    (SOON..=LONG).contains(&apart).then_some((blocks | first, apart))
}

const FIRST: u64 = 1 << 63;

/// Each read is paired with as many of those after it.
const PARTNERS: usize = 3;

/// A search for the rate by which most pairs of near reads agree, which goes on for as long as it is allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateSearch {
    /// The lowest rate, what the next one is more, and how many there are.
    low: u64,
    step: u64,
    count: u64,
    /// The next one to be weighed, with which track.
    next: u64,
    track: usize,
    /// How well the best agreed, and the how manieth it was.
    power: f32,
    best: u64,
}

/// Blocks to a track, about: what the distance of pairs turns them by.
const TRACKS: [u64; 6] = [u64::MAX, 3000, 1000, 500, 250, 120];

impl RateSearch {
    /// One among the reads in memory, which are in the order of their blocks; nothing where too few are near one another.
    pub(super) fn begin(scratch: &mut LookMemory) -> Option<RateSearch> {
        let LookMemory { sorted, pairs, waves, .. } = scratch;
        let all = || {
            sorted.iter().enumerate().flat_map(|(i, one)| {
                let near = sorted[i + 1..].iter().take(PARTNERS).take_while(|next| next.block - one.block <= NEAR);
                near.filter_map(|next| pair(one, next))
            })
        };
        // The nearest: what their own distance turns them by is least.
        let mut counts = [0usize; NEAR as usize + 1];
        all().for_each(|(blocks, _)| counts[(blocks & !FIRST) as usize] += 1);
        let mut total = 0;
        let within = counts.iter().position(|count| {
            total += count;
            total >= pairs.capacity()
        });
        let within = within.map_or(NEAR, |within| within as u64);
        pairs.clear();
        pairs.extend(all().filter(|(blocks, _)| blocks & !FIRST <= within).take(pairs.capacity()));
        pairs.sort_unstable_by_key(|(blocks, apart)| (blocks & !FIRST, *apart, *blocks));
        let short = pairs.iter().filter(|(_, apart)| *apart <= SHORT).count();
        let reach = if short >= PAIRS / 2 { SHORT } else { LONG };
        pairs.retain(|(_, apart)| *apart <= reach);
        pairs.truncate(PAIRS);
        if pairs.len() < FEWEST {
            return None;
        }
        // A quarter of what turns once more over the longest time.
        let step = u64::MAX / reach / 4;
        let low = (TURN / SECOND) as u64 * SLOWEST;
        let count = ((TURN / SECOND) as u64 * (FASTEST - SLOWEST)) / step;
        let search = RateSearch { low, step, count, next: 0, track: 0, power: 0.0, best: 0 };
        search.begin_track(pairs, waves);
        Some(search)
    }

    /// Turns pairs by what their distance is on the track that is next.
    fn begin_track(&self, pairs: &[(u64, u64)], waves: &mut Waves) {
        waves.clear();
        for (blocks, apart) in pairs {
            let turned = (blocks & !FIRST).wrapping_mul(u64::MAX / TRACKS[self.track]);
            let turned = if blocks & FIRST == 0 { turned } else { turned.wrapping_neg() };
            waves.add(apart.wrapping_mul(self.low).wrapping_sub(turned), apart.wrapping_mul(self.step));
        }
    }

    fn rate(&self, number: u64) -> u64 {
        self.low + number * self.step
    }

    /// Goes on; what it found once it is through: a rate, or none.
    pub(super) fn go_on(&mut self, scratch: &mut LookMemory, allowance: &mut Allowance) -> Option<Option<Turning>> {
        let LookMemory { pairs, waves, .. } = scratch;
        while self.track < TRACKS.len() {
            while self.next < self.count {
                if allowance.is_spent() {
                    return None;
                }
                allowance.spend(waves.len());
                let power = waves.power();
                let multiple = self.rate(self.next) > self.rate(self.best) / 2 * 3;
                if power > self.power * if multiple { MULTIPLE } else { 1.0 } {
                    (self.power, self.best) = (power, self.next);
                }
                waves.step();
                self.next += 1;
            }
            (self.track, self.next) = (self.track + 1, 0);
            if self.track < TRACKS.len() {
                self.begin_track(pairs, waves);
            }
        }
        let bins = (self.count * TRACKS.len() as u64).max(2);
        let needed = bins.ilog2() as f32 * BY_CHANCE + BEYOND;
        let agree = self.power > needed && self.power > SHARE * pairs.len() as f32;
        Some(agree.then(|| Turning::of(self.rate(self.best))))
    }
}
