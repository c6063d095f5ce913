//! Making a trace's addresses fit a drive smaller than the one it was taken from.

use crate::experiment::Fit;
use block::{Extent, Lbn};

/// Blocks that `compact` keeps or leaves out together: 1 MiB.
const UNIT: u64 = 2048;
/// Addresses beyond this are garbled, not large: 2 PiB.
const MOST_BLOCKS: u64 = 1 << 42;
/// Scaled addresses keep to multiples of 4 KiB.
const ALIGN: u64 = 8;

/// What a first pass over a trace learns of its addresses.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    end: u64,
    longest: u64,
    /// A bit for each unit touched.
    touched: Vec<u64>,
}

impl Footprint {
    /// The trace touches `at`.
    ///
    /// # Errors
    /// In words, why it cannot.
    pub fn add(&mut self, at: Extent) -> Result<(), String> {
        let end = at.end().0;
        if end > MOST_BLOCKS {
            return Err(format!("block {end} lies beyond 2 PiB"));
        }
        self.end = self.end.max(end);
        self.longest = self.longest.max(u64::from(at.blocks));
        for unit in at.start.0 / UNIT..end.div_ceil(UNIT) {
            let word = (unit / 64) as usize;
            if word >= self.touched.len() {
                self.touched.resize(word + 1, 0);
            }
            self.touched[word] |= 1 << (unit % 64);
        }
        Ok(())
    }
}

/// How addresses are moved.
#[derive(Clone, Debug)]
pub enum Fitting {
    /// Addresses stay as they are.
    AsIs,
    /// In proportion: starts in `from` blocks become starts in `to`.
    Scaled {
        /// The lowest address of the trace.
        from: u64,
        /// The highest address of the trace, exclusive.
        to: u64,
    },
    /// Addresses are taken modulo the capacity.
    Wrapped {
        /// The drive's capacity in blocks.
        capacity: u64,
    },
    /// Untouched units are left out.
    Compacted {
        /// The units touched, a bit each.
        touched: Vec<u64>,
        /// How many lie before each word of them.
        before: Vec<u64>,
    },
}

impl Fitting {
    /// As wished, to a drive of `capacity` blocks.
    ///
    /// # Errors
    /// In words, why it cannot be.
    pub fn new(fit: Fit, footprint: Footprint, capacity: u64) -> Result<Fitting, String> {
        match fit {
            Fit::Error => Ok(Fitting::AsIs),
            Fit::Wrap => Ok(Fitting::Wrapped { capacity }),
            Fit::Scale => Fitting::scale_to(&footprint, capacity),
            Fit::Compact => Fitting::compact_to(footprint, capacity),
        }
    }

    /// In proportion, to a drive of `capacity` blocks. What already fits stays as it is.
    fn scale_to(footprint: &Footprint, capacity: u64) -> Result<Fitting, String> {
        if footprint.end <= capacity {
            return Ok(Fitting::AsIs);
        }
        match capacity.checked_sub(footprint.longest) {
            Some(to) => Ok(Fitting::Scaled { from: footprint.end - footprint.longest, to }),
            None => Err(format!("a request of {} blocks is larger than the drive", footprint.longest)),
        }
    }

    /// With the untouched parts left out, to a drive of `capacity` blocks.
    fn compact_to(footprint: Footprint, capacity: u64) -> Result<Fitting, String> {
        let mut units = 0;
        let mut before = Vec::with_capacity(footprint.touched.len());
        for word in &footprint.touched {
            before.push(units);
            units += u64::from(word.count_ones());
        }
        if units * UNIT > capacity {
            return Err(format!(
                "the trace touches {} blocks in units of 1 MiB, and the drive has {capacity}",
                units * UNIT
            ));
        }
        Ok(Fitting::Compacted { touched: footprint.touched, before })
    }

    /// The place on the drive for `at` of the trace.
    #[must_use]
    pub fn map(&self, at: Extent) -> Extent {
        let start = at.start.0;
        let moved = match self {
            Fitting::AsIs => start,
            Fitting::Scaled { from, to } => {
                let scaled = (u128::from(start) * u128::from(*to) / u128::from((*from).max(1))) as u64;
                (scaled - scaled % ALIGN).min(*to)
            }
            Fitting::Wrapped { capacity } => {
                let start = start % capacity;
                start.min(capacity.saturating_sub(u64::from(at.blocks)))
            }
            Fitting::Compacted { touched, before } => {
                let unit = start / UNIT;
                let word = (unit / 64) as usize;
                let below = touched.get(word).map_or(0, |bits| (bits & ((1 << (unit % 64)) - 1)).count_ones());
                (before.get(word).copied().unwrap_or(0) + u64::from(below)) * UNIT + start % UNIT
            }
        };
        Extent { start: Lbn(moved), blocks: at.blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extents() -> impl Strategy<Value = Vec<Extent>> {
        prop::collection::vec((0..1u64 << 32, 1..10_000u32), 1..50)
            .prop_map(|all| all.into_iter().map(|(start, blocks)| Extent::new(start, blocks)).collect())
    }

    proptest! {
        #[test]
        fn whatever_is_fitted_lies_on_the_drive_and_keeps_its_size(extents in extents(), capacity in 20_000..1u64 << 30) {
            let mut footprint = Footprint::default();
            for at in &extents {
                footprint.add(*at).unwrap();
            }
            let mut fittings = vec![Fitting::scale_to(&footprint, capacity).unwrap(), Fitting::Wrapped { capacity }];
            fittings.extend(Fitting::compact_to(footprint, capacity));
            for fitting in fittings {
                for at in &extents {
                    let moved = fitting.map(*at);
                    prop_assert!(moved.end().0 <= capacity, "{at:?} became {moved:?} on {capacity}");
                    prop_assert_eq!(moved.blocks, at.blocks);
                }
            }
        }

        #[test]
        fn compacting_keeps_order_and_overlap(extents in extents()) {
            let mut footprint = Footprint::default();
            for at in &extents {
                footprint.add(*at).unwrap();
            }
            let fitting = Fitting::compact_to(footprint, u64::MAX).unwrap();
            for a in &extents {
                for b in &extents {
                    let (x, y) = (fitting.map(*a), fitting.map(*b));
                    prop_assert_eq!(a.start.cmp(&b.start), x.start.cmp(&y.start));
                    prop_assert_eq!(a.overlaps(*b), x.overlaps(y));
                }
            }
        }
    }
}
