//! Where a write may go: the tracks that lie wholly inside the scratch.

use super::arm::{PatternTrack, TrialPath};
use crate::eye::Eye;
use crate::map::{TrackAddress, TrackGeometry};
use block::Device;

/// Draws for a track before there is taken to be none.
const DRAWS: usize = 64;
/// Ways drawn for a distance.
const WAYS: usize = 48;

/// The tracks that may be written.
#[derive(Clone, Copy, Debug)]
pub struct Field<'g> {
    /// The drive's geometry, as mapped.
    pub geometry: &'g TrackGeometry,
    /// The first sector that may be written.
    pub first: u64,
    /// The sector after the last.
    pub end: u64,
}

impl<'g> Field<'g> {
    /// Sectors of the longest track of those the field begins and ends on.
    #[must_use]
    pub fn track_sectors(&self) -> u64 {
        let map = &self.geometry.map;
        [self.first, self.end - 1].map(|sector| map.regions[map.region_of(sector)].track).into_iter().max().unwrap_or(1)
    }

    /// The track of a sector, if all of it may be written.
    fn whole(&self, sector: u64) -> Option<(usize, u64)> {
        if !(self.first..self.end).contains(&sector) {
            return None;
        }
        let index = self.geometry.map.region_of(sector);
        let region = &self.geometry.map.regions[index];
        let start = region.track_start(sector);
        let inside = start >= self.first && region.next_track(start) <= self.end;
        inside.then(|| (index, region.place(sector).track))
    }

    /// A track that may be written, anywhere; nothing if there is none.
    pub fn track<D: Device>(&self, eye: &mut Eye<D>) -> Option<(usize, u64)> {
        let drawn = (0..DRAWS).find_map(|_| self.whole(self.first + eye.bench.draw.below(self.end - self.first)));
        let map = &self.geometry.map;
        let second = || map.regions[map.region_of(self.first)].next_track(self.first);
        drawn.or_else(|| self.whole(self.first)).or_else(|| self.whole(second()))
    }

    /// Ways that end on a track of the field and begin so many cylinders and heads from it, wherever that is.
    pub fn ways<D: Device>(&self, eye: &mut Eye<D>, distance: u64, heads: u64) -> Vec<TrialPath<'g>> {
        let geometry = self.geometry;
        let track = |(region, number): (usize, u64)| PatternTrack { region: &geometry.map.regions[region], number };
        let mut ways = Vec::new();
        for _ in 0..8 * WAYS {
            let Some((region, number)) = self.track(eye) else { break };
            let to = geometry.address(region, number);
            let head = (to.head + heads) % geometry.heads;
            let out = to.cylinder.checked_sub(distance).filter(|_| eye.bench.draw.below(2) == 0);
            let cylinder = out.unwrap_or(to.cylinder + distance);
            if let Some(from) = geometry.track(TrackAddress { cylinder, head }) {
                ways.push(TrialPath::new(track(from), track((region, number))));
            }
            if ways.len() == WAYS {
                break;
            }
        }
        ways
    }

    /// A sector as far from the field as the drive allows, within some of its blocks: the arm that comes from there is late.
    pub fn far<D: Device>(&self, eye: &mut Eye<D>) -> u64 {
        let all = eye.bench.sectors();
        let some = (all / 32).max(1);
        let drawn = eye.bench.draw.below(some);
        if self.first + self.end > all { drawn } else { all - 1 - drawn }
    }
}
