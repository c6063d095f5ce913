//! The regions of an array, by which its disks note what may not agree, and what was never written.

use crate::unit::LiveDevice;
use block::{BLOCK_BYTES, Extent};
use sched::array::Geometry;
use std::ops::Range;

/// Regions that are told apart, each with a bit.
const REGIONS: u64 = 4096;
pub(super) const REGION_BYTES: usize = REGIONS as usize / 8;

/// A bit for each region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegionBits(Box<[u8; REGION_BYTES]>);

impl Default for RegionBits {
    fn default() -> RegionBits {
        RegionBits(Box::new([0; REGION_BYTES]))
    }
}

impl RegionBits {
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<RegionBits> {
        Some(RegionBits(Box::new(bytes.try_into().ok()?)))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &*self.0
    }

    pub(crate) fn has(&self, region: u64) -> bool {
        self.0[(region / 8) as usize] >> (region % 8) & 1 == 1
    }

    pub(crate) fn add(&mut self, region: u64) {
        self.0[(region / 8) as usize] |= 1 << (region % 8);
    }

    pub(crate) fn remove(&mut self, region: u64) {
        self.0[(region / 8) as usize] &= !(1 << (region % 8));
    }

    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|byte| byte.count_ones()).sum()
    }

    pub(super) fn any(&self) -> bool {
        self.0.iter().any(|byte| *byte != 0)
    }

    /// Adds the regions that the other has.
    pub(super) fn join(&mut self, other: &RegionBits) {
        self.0.iter_mut().zip(&*other.0).for_each(|(all, one)| *all |= one);
    }

    /// Keeps only the regions that the other has too.
    pub(crate) fn meet(&mut self, other: &RegionBits) {
        self.0.iter_mut().zip(&*other.0).for_each(|(all, one)| *all &= one);
    }

    pub(crate) fn list(&self) -> impl Iterator<Item = u64> + '_ {
        (0..REGIONS).filter(|region| self.has(*region))
    }

    /// The rows of these regions, in order.
    pub(crate) fn rows(&self, geometry: &Geometry) -> Vec<Range<u64>> {
        let mut all: Vec<Range<u64>> = Vec::new();
        for rows in self.list().map(|region| rows(geometry, region)) {
            match all.last_mut() {
                _ if rows.is_empty() => {}
                Some(last) if last.end == rows.start => last.end = rows.end,
                _ => all.push(rows),
            }
        }
        all
    }
}

/// Units of a disk that are one region.
fn region_rows(geometry: &Geometry) -> u64 {
    geometry.rows().div_ceil(REGIONS).max(1)
}

/// How many regions there are.
pub(super) fn count(geometry: &Geometry) -> u64 {
    geometry.rows().div_ceil(region_rows(geometry))
}

pub(super) fn region_of(geometry: &Geometry, row: u64) -> u64 {
    row / region_rows(geometry)
}

pub(super) fn rows(geometry: &Geometry, region: u64) -> Range<u64> {
    // Of an array of another layout there may be more.
    let (rows, all) = (region_rows(geometry), geometry.rows());
    (region * rows).min(all)..((region + 1) * rows).min(all)
}

/// The part of the array that is a region: its first block, and the one behind it.
pub(super) fn blocks(geometry: &Geometry, region: u64) -> (u64, u64) {
    let (rows, each) = (rows(geometry, region), geometry.row_blocks());
    (rows.start * each, rows.end * each)
}

/// The regions that a part of the array meets.
pub(super) fn meeting(geometry: &Geometry, (from, end): (u64, u64)) -> Range<u64> {
    let of = |block: u64| region_of(geometry, block / geometry.row_blocks());
    of(from)..(of(end.max(1) - 1) + 1).min(count(geometry))
}

/// The regions that an extent of a disk touches: none before the first row, or behind the last.
pub(crate) fn regions_of(geometry: &Geometry, at: Extent) -> Range<u64> {
    let of = |block| geometry.place(block).map(|(row, _)| region_of(geometry, row.min(geometry.rows() - 1)));
    match (of(at.start.0), of(at.end().0.saturating_sub(1))) {
        (Some(first), Some(last)) => first..last + 1,
        _ => 0..0,
    }
}

/// What of each disk is of a region; nothing where it is too long for one extent.
pub(crate) fn part(geometry: &Geometry, region: u64) -> Option<Extent> {
    let rows = rows(geometry, region);
    let blocks = (rows.end - rows.start) * u64::from(geometry.unit());
    Some(geometry.on_disk(rows.start, 0, u32::try_from(blocks).ok()?))
}

/// Whether an extent of a disk is known to be zeros, without reading it.
pub(crate) fn is_blank(unit: &mut dyn LiveDevice, at: Extent) -> bool {
    let (blocks, data) = unit.alike(at);
    !data && blocks >= u64::from(at.blocks)
}

/// Sees to it that an extent of a disk is zeros, where that takes no time: whether it is. What was changed is on the medium with
/// the next `sync`.
pub(crate) fn make_blank(unit: &mut dyn LiveDevice, at: Extent) -> bool {
    is_blank(unit, at) || unit.can_empty() && unit.empty(at).is_ok()
}

/// Bytes of the array in regions that were written, where these were not: no more than it holds, where it grows.
pub(super) fn written_bytes(blank: &RegionBits, geometry: &Geometry) -> u64 {
    let blank: u64 = blank.rows(geometry).into_iter().map(|rows| rows.end - rows.start).sum();
    ((geometry.rows() - blank) * geometry.row_blocks()).min(geometry.blocks()) * BLOCK_BYTES
}

/// How much of an array was ever written, as a line for users.
pub(super) fn show_written(written: u64, bytes: u64) -> String {
    let show = |bytes: u64| block::units::show_blocks(bytes / BLOCK_BYTES);
    format!("{} of {} were ever written\n", show(written), show(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched::array::Level;

    #[test]
    fn every_block_of_an_array_and_of_its_disks_is_of_one_region() {
        for (level, disks, each) in [
            (Level::Mirrored { copies: 2 }, 4, 8 * 10 + 3),
            (Level::Parity, 3, 8 * 4096),
            (Level::DoubleParity, 5, 8 * 9001),
            (Level::Striped, 2, 8 * 4097),
        ] {
            let it = Geometry::new(level, disks, 8, each).expect("a geometry");
            let regions = count(&it);
            assert!(regions <= REGIONS && rows(&it, regions - 1).end == it.rows(), "{level:?}");
            let (mut row, mut block) = (0, 0);
            for region in 0..regions {
                let (rows, (from, end)) = (rows(&it, region), blocks(&it, region));
                assert!(rows.start == row && rows.end > row && from == block, "{level:?}: {region}");
                let part = part(&it, region).expect("it is short");
                assert_eq!(regions_of(&it, part), region..region + 1);
                assert_eq!(meeting(&it, (from, end)), region..region + 1);
                (row, block) = (rows.end, end);
            }
            assert_eq!((row, block), (it.rows(), it.blocks()));
            let mut bits = RegionBits::default();
            [0, 1, regions - 1].into_iter().for_each(|region| bits.add(region));
            let last = rows(&it, regions - 1);
            assert_eq!(bits.rows(&it), [0..rows(&it, 1).end, last.clone()]);
            let left = it.rows() - rows(&it, 1).end - (last.end - last.start);
            assert_eq!(written_bytes(&bits, &it), left * it.row_blocks() * BLOCK_BYTES);
        }
    }
}
