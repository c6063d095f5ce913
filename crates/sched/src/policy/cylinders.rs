//! Waiting jobs by cylinder, those of one cylinder in ascending order of block number, so that a drive's buffer is of use
//! (004 §6.1). Where there are no cylinders every block is one.

use crate::ordered::{Entry, Ordered, Position};
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::Extent;

/// Bits of a key below its cylinder: block numbers up to 512 TiB.
const LOW: u32 = 40;

/// The direction of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sweep {
    Up,
    Down,
}

impl Sweep {
    pub(super) fn reverse(self) -> Sweep {
        if self == Sweep::Up { Sweep::Down } else { Sweep::Up }
    }
}

pub(super) struct Cylinders {
    waiting: Ordered,
    /// Bits of a key below its cylinder.
    low: u32,
}

/// A key, and its bits below the cylinder.
pub(super) fn key<P: Predictor>(belief: &P, at: Extent, spot: P::Spot) -> (u64, u32) {
    match belief.cylinder(spot) {
        Some(cylinder) => (u64::from(cylinder) << LOW | at.start.0, LOW),
        None => (at.start.0, 0),
    }
}

impl Cylinders {
    pub(super) fn new() -> Cylinders {
        Cylinders { waiting: Ordered::new(), low: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn add<P: Predictor>(&mut self, id: JobId, job: &Job<P::Spot>, belief: &P) {
        let (key, low) = key(belief, job.rest(), job.spot);
        self.low = low;
        self.waiting.add(Entry { key, sequence: job.sequence, id, item: () });
    }

    /// Gives a job up, if it is held.
    pub(super) fn remove<P: Predictor>(&mut self, job: &Job<P::Spot>, belief: &P) -> bool {
        self.waiting.remove(key(belief, job.rest(), job.spot).0, job.sequence).is_some()
    }

    pub(super) fn holds<P: Predictor>(&self, job: &Job<P::Spot>, belief: &P) -> bool {
        self.waiting.holds(key(belief, job.rest(), job.spot).0, job.sequence)
    }

    /// The cylinder on which the last command ended.
    pub(super) fn arm<P: Predictor>(belief: &P) -> u64 {
        let last = Extent::new(belief.arm().0.saturating_sub(1), 1);
        belief.cylinder(belief.spot(last)).map_or(belief.arm().0, u64::from)
    }

    /// The nearest cylinder on which a job waits; of two equally near, that of the job submitted first.
    pub(super) fn nearest(&self, from: u64) -> Option<u64> {
        let (up, down) = (self.ahead(Sweep::Up, from), self.ahead(Sweep::Down, from));
        let near =
            |cylinder: &u64| (cylinder.abs_diff(from), self.first(*cylinder).map(|at| self.waiting.at(at).sequence));
        up.into_iter().chain(down).min_by_key(near)
    }

    /// The first cylinder from `from` on, in the direction of the sweep, on which a job waits.
    pub(super) fn ahead(&self, sweep: Sweep, from: u64) -> Option<u64> {
        let first = match sweep {
            Sweep::Up => self.first(from)?,
            Sweep::Down => self.waiting.last_before((from + 1) << self.low)?,
        };
        Some(self.waiting.at(first).key >> self.low)
    }

    /// Gives up the first job of a cylinder.
    pub(super) fn take(&mut self, cylinder: u64) -> Option<JobId> {
        let first = self.first(cylinder)?;
        Some(self.waiting.take(first))
    }

    fn first(&self, cylinder: u64) -> Option<Position> {
        self.waiting.at_or_after(cylinder << self.low)
    }
}

/// Cylinders in the order of LOOK: to the last one on which a job waits, then back.
pub(super) struct Look {
    pub(super) waiting: Cylinders,
    sweep: Sweep,
}

impl Look {
    pub(super) fn new() -> Look {
        Look { waiting: Cylinders::new(), sweep: Sweep::Up }
    }

    /// Gives up the next job from a cylinder on, and says where it is.
    pub(super) fn take(&mut self, from: u64) -> Option<(JobId, u64)> {
        if self.waiting.is_empty() {
            return None;
        }
        let ahead = self.waiting.ahead(self.sweep, from);
        let cylinder = ahead.or_else(|| {
            self.sweep = self.sweep.reverse();
            self.waiting.ahead(self.sweep, from)
        })?;
        Some((self.waiting.take(cylinder)?, cylinder))
    }
}
