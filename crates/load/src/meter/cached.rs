//! What the read cache of an array came to.

use super::{MIB, Meter};
use crate::results::ReadCacheFigures;
use block::BLOCK_BYTES;
use sched::array::CacheTally;

impl Meter {
    /// What the read cache of an array came to.
    pub fn set_cached(&mut self, cached: CacheTally) {
        self.cached = Some(cached);
    }

    pub(super) fn merge_cached(&mut self, other: &Meter) {
        match (&mut self.cached, &other.cached) {
            (Some(cached), Some(other)) => cached.merge(other),
            (cached, other) => *cached = cached.or(*other),
        }
    }

    /// The same for the results, where there is one.
    #[must_use]
    pub fn read_cache(&self) -> Option<ReadCacheFigures> {
        let came = self.cached?;
        let reads = came.hits + came.misses;
        Some(ReadCacheFigures {
            hits: came.hits,
            awaited: came.awaited,
            misses: came.misses,
            hit_fraction: came.hits as f64 / reads.max(1) as f64,
            read_ahead_mib: (came.ahead * BLOCK_BYTES) as f64 / MIB,
        })
    }
}
