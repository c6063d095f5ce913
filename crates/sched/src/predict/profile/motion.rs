//! The times of the arm's moves in ticks: fractions of a revolution as the drive really turns.

use crate::predict::{STEP_BITS, Swing, TURN_BITS};
use block::{Direction, Span};
use disk::{Overheads, Switches};

/// Seek and rotation times in clock ticks.
///
/// The seek curve, of as many entries as there are cylinders, is kept in ticks of the revolution that was believed in first. Where the
/// drive turns at another rate one factor makes up for it: what a rate costs to learn anew does not grow with the drive.
#[derive(Clone, Debug)]
pub(super) struct Motion {
    /// The revolution they are fractions of, in ns.
    period_ns: f64,
    /// Seek by distance, for reads, and the least seek at this distance or any longer; in ticks of `curve_ns`.
    seek: Vec<u32>,
    floor: Vec<u32>,
    curve_ns: f64,
    /// What a tick of the curve is in ticks, in parts of 2³¹.
    pace: u64,
    /// Cylinders that the arm crosses at most by the end of each step after it left, and the pace that is told for: no more than `pace`.
    reach: Vec<u32>,
    reach_pace: u64,
    pub(super) head_switch: u64,
    pub(super) write_settle: u64,
    /// Before the arm moves: after a read and after a write, for reads and for writes.
    pub(super) overhead: [[u64; 2]; 2],
    /// Before the first block of a read that is in the cache, after a read and after a write.
    pub(super) hit: [u64; 2],
    /// Before the buffer fills with a write, after a read and after a write.
    pub(super) buffered: [u64; 2],
}

/// Parts of a factor, as a power of two: a tick of 32 bits times up to twice as many parts keeps within 64 bits.
const PACE_BITS: u32 = 31;

/// How far the arm gets is told for one that is quicker by a 64th, and is worked out anew only when the pace has left what that is a
/// bound for: no rate that is followed does. A drive has hundreds of thousands of cylinders.
const REACH_HOLDS: u64 = 32;

/// Steps for which it is worked out how far the arm gets.
const FORESEEN: usize = 8192;

impl Motion {
    /// The moves of a drive whose revolution takes `period_ns`.
    pub(super) fn new(seek_ns: &[u32], switches: &Switches, overheads: &Overheads, period_ns: f64) -> Motion {
        let seek: Vec<u32> = seek_ns.iter().map(|ns| ticks(Span(u64::from(*ns)), period_ns) as u32).collect();
        let mut floor = seek.clone();
        for d in (1..floor.len()).rev() {
            floor[d - 1] = floor[d - 1].min(floor[d]);
        }
        let mut motion = Motion {
            period_ns,
            seek,
            floor,
            curve_ns: period_ns,
            pace: 1 << PACE_BITS,
            reach: Vec::new(),
            reach_pace: 0,
            head_switch: 0,
            write_settle: 0,
            overhead: [[0; 2]; 2],
            hit: [0; 2],
            buffered: [0; 2],
        };
        motion.retime(switches, overheads, period_ns);
        motion
    }

    /// The same moves where a revolution takes `period_ns`, at most twice as fast as at first.
    pub(super) fn retime(&mut self, switches: &Switches, overheads: &Overheads, period_ns: f64) {
        let ticks = |span: Span| ticks(span, period_ns);
        let both = [Direction::Read, Direction::Write];
        self.period_ns = period_ns;
        self.pace = (self.curve_ns / period_ns * f64::from(1u32 << PACE_BITS)).min(f64::from(u32::MAX)) as u64;
        if !(self.reach_pace..=self.reach_pace + self.reach_pace / REACH_HOLDS).contains(&self.pace) {
            self.reach_pace = self.pace - self.pace / (2 * REACH_HOLDS);
            self.retell_reach();
        }
        self.head_switch = ticks(switches.head);
        self.write_settle = ticks(switches.write_settle);
        self.overhead = both.map(|last| [overheads.read, overheads.write].map(|after| ticks(after.a(last))));
        self.hit = both.map(|last| ticks(overheads.hit.a(last)));
        self.buffered = both.map(|last| ticks(overheads.buffered.a(last)));
    }

    /// Works out anew how far the arm gets in how many steps.
    fn retell_reach(&mut self) {
        self.reach.clear();
        let mut farther = 0;
        while farther < self.floor.len() && self.reach.len() < FORESEEN {
            let by = (self.reach.len() as u64 + 1) << STEP_BITS;
            let rest = &self.floor[farther..];
            farther += rest.partition_point(|ticks| (u64::from(*ticks) * self.reach_pace) >> PACE_BITS <= by);
            self.reach.push((farther as u32).saturating_sub(1));
        }
        // Beyond the end of the curve all moves take what the longest does; how far the arm gets in many turns need not be known.
        self.reach.pop();
        self.reach.push(Swing::EVERYWHERE);
    }

    /// Cylinders that the arm crosses at most by the end of each step after it left.
    #[inline(always)]
    pub(super) fn reach(&self) -> &[u32] {
        &self.reach
    }

    /// Ticks of a seek over so many cylinders, for a read.
    #[inline(always)]
    pub(super) fn seek(&self, distance: u32) -> u64 {
        self.at_pace(&self.seek, distance)
    }

    /// Ticks of the shortest seek over so many cylinders or more.
    #[inline(always)]
    pub(super) fn least_seek(&self, distance: u32) -> u64 {
        self.at_pace(&self.floor, distance)
    }

    /// What a table has for a distance, at the pace of today; beyond its end, what it has last.
    #[inline(always)]
    fn at_pace(&self, table: &[u32], distance: u32) -> u64 {
        let ticks = table.get(distance as usize).or(table.last()).copied().unwrap_or(0);
        (u64::from(ticks) * self.pace) >> PACE_BITS
    }

    /// A span in ticks.
    pub(super) fn ticks(&self, span: Span) -> u64 {
        ticks(span, self.period_ns)
    }

    /// Whether a revolution of `period_ns` is so different that the ticks no longer hold: by an 8192nd, which moves a full stroke of
    /// 20 ms by less than a sector.
    pub(super) fn is_stale(&self, period_ns: f64) -> bool {
        const STALE: f64 = 1.0 / 8192.0;
        (period_ns / self.period_ns - 1.0).abs() > STALE
    }
}

fn ticks(span: Span, period_ns: f64) -> u64 {
    // Signed numbers are converted by one instruction each way; no span is so long that it mattered.
    (span.0 as i64 as f64 / period_ns * f64::from(1u32 << TURN_BITS)) as i64 as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the rate drifts, the arm gets no farther than is told, and not much less far.
    #[test]
    fn how_far_the_arm_gets_holds_at_every_rate() {
        let sheet = disk::catalogue::find("nl20").expect("it is known").sheet;
        let mechanics = &sheet.mechanics;
        let nominal = mechanics.rotation.period_ns();
        let mut motion = Motion::new(mechanics.seek.ns(), &mechanics.switches, &sheet.overheads, nominal);
        let mut worked_out = std::collections::BTreeSet::new();
        for (i, rate) in (-60..=60).chain((-200..200).rev()).enumerate() {
            motion.retime(&mechanics.switches, &sheet.overheads, nominal * (1.0 + f64::from(rate) / 5000.0));
            worked_out.insert(motion.reach_pace);
            assert!(i > 120 || worked_out.len() == 1, "worked out anew at {rate}");
            for step in (0..400).step_by(7) {
                let by = (step as u64 + 1) << STEP_BITS;
                let told = motion.reach()[step] as usize;
                let within = |by: u64| {
                    motion.floor.partition_point(|ticks| (u64::from(*ticks) * motion.pace) >> PACE_BITS <= by)
                };
                assert!(told + 1 >= within(by), "{rate}: step {step}, {told}");
                assert!(told <= within(by + by / 16), "{rate}: step {step}, {told}");
            }
        }
        assert!((3..9).contains(&worked_out.len()), "{}", worked_out.len());
    }
}
