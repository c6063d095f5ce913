//! What of the wanted blocks is read first where there is time for one of several runs: that which would cost most later.

use super::{GROUP, UnitState, Wanted};
use block::{Extent, Lbn};

/// How dense the wanted units of a group lie, of how dense they lie where any are: in so many parts, from one up to so many.
const DENSITY_PARTS: u64 = 16;
const MOST_DENSE: u64 = 4 * DENSITY_PARTS;

impl Wanted {
    /// What it is worth to read an extent, of which the caller guarantees that all is wanted. Each block is worth the more, the denser
    /// wanted ones lie around it: the arm comes there too rarely, and what is left where it comes often would be had in vain. To come back
    /// for a run costs what `detour` blocks do: who reads the whole of one saves that, who cuts one in two adds it.
    #[must_use]
    pub fn worth(&self, at: Extent, detour: u32) -> u64 {
        let unit = u64::from(self.unit);
        let before = (at.start.0 / unit).checked_sub(1);
        let after = Some(at.end().0.div_ceil(unit)).filter(|after| after * unit < self.blocks);
        let is_wanted = |unit: &u64| self.find(*unit, unit + 1, UnitState::Wanted).is_some();
        let detours = 1 - [before, after].into_iter().flatten().filter(is_wanted).count() as i64;
        let blocks = i64::from(at.blocks) + detours * i64::from(detour);
        blocks.max(1) as u64 * self.price(at.start)
    }

    /// How many blocks from one on are worth no more than this, whatever lies beside them.
    #[must_use]
    pub fn blocks_worth(&self, worth: u64, from: Lbn, detour: u32) -> u32 {
        let blocks = (worth / self.price(from)).saturating_sub(u64::from(detour));
        blocks.min(u64::from(u32::MAX)) as u32
    }

    /// What a block is worth. By the fourth power of the density even a drive of two zones, or an arm that seldom comes to the end of it,
    /// is read at one pace everywhere; found by trying on `nl20` and `atlas10k`: the second is slower by 2 %, the eighth no faster.
    fn price(&self, at: Lbn) -> u64 {
        let group = (at.0 / u64::from(self.unit) / GROUP) as usize;
        let here = self.counts.get(group).map_or(0, |count| u64::from(*count));
        (here * self.begun * DENSITY_PARTS / self.left.max(1)).clamp(1, MOST_DENSE).pow(4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_runs_are_worth_more_and_dense_ones_most() {
        let (unit, group) = (8, GROUP * 8);
        let mut wanted = Wanted::nothing(3 * group + 80, unit);
        // Two runs in the first group, and half of the second; at the end of the device half of ten units.
        for (from, until) in [(0, 80), (160, 168), (group, group + group / 2), (3 * group + 40, 3 * group + 80)] {
            wanted.want(Lbn(from), Lbn(until));
        }
        let worth = |from: u64, units: u32| wanted.worth(Extent::new(from, units * unit), 20);
        assert!(worth(0, 10) > worth(0, 9) && worth(160, 1) > worth(0, 3), "a whole run saves a way");
        assert!(worth(0, 5) == worth(40, 5) && worth(0, 5) > worth(16, 5), "one cut in two adds one");
        assert_eq!(worth(3 * group + 40, 5), 40 + 20, "behind the last block nothing is wanted");
        assert!(worth(group + 800, 10) > worth(0, 10), "what lies dense is worth more");
        for (from, units) in [(0, 10), (0, 5), (16, 5), (160, 1), (group + 800, 10)] {
            let known = worth(from, units);
            assert!(wanted.blocks_worth(known, Lbn(from), 20) <= units * unit, "{units} from {from}");
        }
        [(0, 80), (160, 8)].into_iter().for_each(|(from, blocks)| wanted.remove_read(Extent::new(from, blocks)));
        assert_eq!((wanted.begun, wanted.left), (2, GROUP / 2 + 5));
    }
}
