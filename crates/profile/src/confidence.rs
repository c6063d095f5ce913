//! How well each finding is known: intervals that hold the truth in 95 of 100 cases.

use crate::probe::late;
use crate::profile::DriveKnowledge;
use disk::Confidence;

/// Standard deviations to either side.
const SIGMAS: f64 = 1.96;

/// About a value, so much to either side.
fn about(value: f64, within: f64) -> [f64; 2] {
    [value - within, value + within]
}

/// About a share that so many trials showed (Wilson's interval).
fn share(share: f64, trials: usize) -> [f64; 2] {
    let (n, z) = (trials.max(1) as f64, SIGMAS * SIGMAS);
    let middle = (share + z / (2.0 * n)) / (1.0 + z / n);
    // The 4 is that of Wilson's formula.
    let within = SIGMAS / (1.0 + z / n) * libm::sqrt(share * (1.0 - share) / n + z / (4.0 * n * n));
    [(middle - within).max(0.0), (middle + within).min(1.0)]
}

impl DriveKnowledge {
    /// The intervals of what was measured.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        let moves = &self.moves;
        let rpm = self.clock.mean_rpm();
        let round = self.geometry.map.regions.iter().map(|region| region.round).max().unwrap_or(1);
        let mut intervals = vec![
            ("rpm", about(rpm, rpm * self.clock.within())),
            ("angle_sectors", about(0.0, SIGMAS * self.clock.blur * f64::from(round))),
        ];
        let overhead = moves.overhead.map(|overhead| about(overhead, moves.overhead_within));
        intervals.extend(overhead.map(|overhead| ("overhead_ms", overhead.map(|ms| ms.max(0.0)))));
        let switch = moves.switch.map(|reach| about(self.head_switch(), reach.within + moves.overhead_within));
        intervals.extend(switch.map(|switch| ("head_switch_ms", switch.map(|ms| ms.max(0.0)))));
        let trials: usize = moves.points.iter().map(|point| point.reach.trials).sum();
        // Trials near the mean tell most, those far from it nothing: about half of them.
        let noise = SIGMAS * moves.spread / libm::sqrt(trials.max(1) as f64);
        intervals.push(("seek_noise_ms", about(moves.spread, noise)));
        intervals.push(("late_share", share(self.late.share, late::TRIALS.0)));
        intervals.push(("off_share", share(self.validation.late, self.validation.pairs.len())));
        let writes = self.writes.as_ref().and_then(|(.., chunks)| chunks.optimal);
        for (key, optimal) in [("chunk_read_blocks", self.chunks.optimal), ("chunk_write_blocks", writes)] {
            intervals.extend(optimal.map(|(least, most)| (key, [f64::from(least), f64::from(most)])));
        }
        let curve = moves.curve();
        let seek = |((far, ms), within): (&(u32, f64), f64)| (*far, about(*ms, within).map(|ms| ms.max(0.0)));
        let within = moves.points.iter().map(|point| point.reach.within + moves.overhead_within);
        Confidence { intervals, seeks: curve.iter().zip(within).map(seek).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_that_was_never_seen_may_still_be_some() {
        let [least, most] = share(0.0, 600);
        assert!(least == 0.0 && (0.004..0.008).contains(&most), "{most}");
        let [least, most] = share(0.5, 100);
        assert!((least - 0.404).abs() < 0.002 && (most - 0.596).abs() < 0.002, "{least} to {most}");
    }
}
