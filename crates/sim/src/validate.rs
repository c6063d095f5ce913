//! How near a model of a drive is to the drive: a measured exchange of requests replayed against the model, and the
//! two distributions of response times compared.
//!
//! One request is outstanding. The first arrives at time zero, each following one when the one before it has completed
//! *in the simulation* and the pause that was measured between the two has passed. What the drive does in the
//! pauses, reading ahead and writing back, carries on.

use block::{Command, Extent, Op, Outcome, Place, Span, Tag, Time, Verb};
use disk::{Sheet, Truth};
use drive::{Drive, Parts};

/// One request of a measured exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// Whether it read or wrote.
    pub op: Op,
    /// The blocks it covered.
    pub at: Extent,
    /// How long the drive took.
    pub response: Span,
    /// From its completion to the next request.
    pub pause: Span,
}

/// One request, measured and simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Whether it read or wrote.
    pub op: Op,
    /// The blocks it covered.
    pub at: Extent,
    /// The response time in the trace.
    pub measured: Span,
    /// The response time in the simulation.
    pub simulated: Span,
    /// The simulated time by its parts.
    pub parts: Parts,
    /// Whether the simulated drive answered from its memory alone.
    pub hit: bool,
}

/// Replays a measured exchange. The phase of the platter at time zero, which nobody measured, comes from the seed.
///
/// # Errors
/// The index of the first request that the drive refuses, because it lies past its end.
pub fn replay(
    sheet: &Sheet,
    truth: &Truth,
    seed: u64,
    exchange: impl IntoIterator<Item = Measured>,
) -> Result<Vec<Pair>, usize> {
    let mut drive = Drive::new(sheet, truth, seed);
    let mut now = Time::ZERO;
    let mut pairs = Vec::new();
    for (i, Measured { op, at, response, pause }) in exchange.into_iter().enumerate() {
        let verb = match op {
            Op::Read | Op::Repair => Verb::Read,
            Op::Write { fua } => Verb::Write { fua },
            Op::Move => Verb::Write { fua: false },
            Op::Discard(what) => Verb::Discard(what),
            Op::Flush => Verb::Flush,
        };
        drive.issue(now, Tag(0), Command::new(verb, at, Place::Nowhere));
        let (end, _, outcome, parts) = drive.complete();
        if outcome != Outcome::Ok {
            return Err(i);
        }
        let hit = parts.rotation + parts.seek + parts.switch + parts.transfer + parts.external == Span::ZERO;
        pairs.push(Pair { op, at, measured: response, simulated: end.since(now), parts, hit });
        now = end + pause;
    }
    Ok(pairs)
}

/// How far apart two distributions of response times are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demerit {
    /// How many requests were compared.
    pub requests: u64,
    /// Mean as measured, ms.
    pub measured_mean_ms: f64,
    /// Mean as simulated, ms.
    pub simulated_mean_ms: f64,
    /// The demerit figure, ms: root of the mean square of the horizontal distance between the two distributions
    /// (Ruemmler and Wilkes, An Introduction to Disk Drive Modeling, 1994), from histograms as DiskSim takes it.
    pub demerit_ms: f64,
    /// The same from the sorted times themselves, ms.
    pub plain_ms: f64,
}

impl Demerit {
    /// The demerit of these pairs.
    #[must_use]
    pub fn of<'a>(pairs: impl IntoIterator<Item = &'a Pair>) -> Demerit {
        let (mut measured, mut simulated): (Vec<u64>, Vec<u64>) =
            pairs.into_iter().map(|pair| (pair.measured.0, pair.simulated.0)).unzip();
        if measured.is_empty() {
            return Demerit::default();
        }
        measured.sort_unstable();
        simulated.sort_unstable();
        let mean = |times: &[u64]| times.iter().map(|ns| *ns as f64).sum::<f64>() / times.len() as f64 / 1e6;
        let squares: f64 = measured.iter().zip(&simulated).map(|(a, b)| (*a as f64 - *b as f64).powi(2)).sum();
        Demerit {
            requests: measured.len() as u64,
            measured_mean_ms: mean(&measured),
            simulated_mean_ms: mean(&simulated),
            demerit_ms: histogram_demerit(&measured, &simulated),
            plain_ms: (squares / measured.len() as f64).sqrt() / 1e6,
        }
    }

    /// The demerit figure as a share of the measured mean, in percent.
    #[must_use]
    pub fn percent(&self) -> f64 {
        100.0 * self.demerit_ms / self.measured_mean_ms
    }

    /// How far the simulated mean is off the measured one, in percent of it.
    #[must_use]
    pub fn mean_error_percent(&self) -> f64 {
        100.0 * (self.simulated_mean_ms / self.measured_mean_ms - 1.0)
    }
}

/// Buckets of a histogram: each ends 1 µs and 1 % after the one before.
const BUCKETS: usize = 1750;

/// The cumulative share of times (sorted, ns) up to the end of each bucket, with that end in µs; times beyond the
/// last bucket fall into it.
fn cumulative(times: &[u64]) -> Vec<(f64, f64)> {
    let mut edge = 0u64;
    let mut below = 0;
    (0..BUCKETS)
        .map(|i| {
            edge += 1 + edge / 100;
            below = if i + 1 == BUCKETS { times.len() } else { times.partition_point(|ns| ns / 1000 < edge) };
            (edge as f64, below as f64 / times.len() as f64)
        })
        .collect()
}

/// Where a cumulative distribution reaches `p`, between the points linearly. `from` is where to look first, and moves
/// on with growing `p`.
fn inverse(curve: &[(f64, f64)], p: f64, from: &mut usize) -> f64 {
    while *from + 1 < curve.len() && curve[*from].1 < p {
        *from += 1;
    }
    let (edge, share) = curve[*from];
    let (edge_before, share_before) = if *from == 0 { (0.0, 0.0) } else { curve[*from - 1] };
    if share <= share_before {
        return edge;
    }
    edge_before + (edge - edge_before) * ((p - share_before) / (share - share_before)).clamp(0.0, 1.0)
}

/// The root mean square distance of two distributions at p = 0.0001, 0.0002 … 1, in ms.
fn histogram_demerit(measured: &[u64], simulated: &[u64]) -> f64 {
    let (a, b) = (cumulative(measured), cumulative(simulated));
    let (mut i, mut j) = (0, 0);
    let squares: f64 = (1..=10_000)
        .map(|k| {
            let p = f64::from(k) / 10_000.0;
            (inverse(&a, p, &mut i) - inverse(&b, p, &mut j)).powi(2)
        })
        .sum();
    (squares / 1e4).sqrt() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Extent;

    fn pair(measured_us: u64, simulated_us: u64) -> Pair {
        let (measured, simulated) = (Span(measured_us * 1000), Span(simulated_us * 1000));
        Pair { op: Op::Read, at: Extent::new(0, 1), measured, simulated, parts: Parts::default(), hit: false }
    }

    #[test]
    fn a_distribution_is_no_way_from_itself_and_a_shifted_one_as_far_as_it_is_shifted() {
        let same: Vec<Pair> = (0..5000).map(|i| pair(1000 + i * 3, 1000 + (4999 - i) * 3)).collect();
        assert_eq!((Demerit::of(&same).demerit_ms, Demerit::of(&same).plain_ms), (0.0, 0.0));
        let shifted: Vec<Pair> = (0..5000).map(|i| pair(5000 + i * 3, 7000 + i * 3)).collect();
        let demerit = Demerit::of(&shifted);
        assert!((demerit.plain_ms - 2.0).abs() < 1e-9, "{demerit:?}");
        // The buckets are 1 % wide.
        assert!((demerit.demerit_ms - 2.0).abs() < 0.05, "{demerit:?}");
        assert!((demerit.mean_error_percent() - 100.0 * 2.0 / 12.4985).abs() < 1e-6, "{demerit:?}");
    }

    #[test]
    fn buckets_grow_by_a_hundredth_and_hold_what_ends_before_them() {
        let curve = cumulative(&[500, 1500, 150_000, u64::MAX]);
        assert_eq!(curve[..3], [(1.0, 0.25), (2.0, 0.5), (3.0, 0.5)]);
        assert_eq!((curve.len(), curve[BUCKETS - 1].1), (1750, 1.0));
        assert_eq!((curve[100].0, curve[101].0), (102.0, 104.0));
    }
}
