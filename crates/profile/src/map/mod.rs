//! The map of a drive, as angles: where on its track each sector begins and where tracks end.

mod geometry;
#[cfg(test)]
pub(crate) mod laws;
mod region;

pub use geometry::{Arrangement, TrackAddress, TrackGeometry};
pub(crate) use region::ALIKE;
pub use region::{MapRegion, PatternLevel, SectorPlace, TrackRun};

/// Zones that are fewer tell nothing of heads: by chance they have tracks in common, or end as bands would.
const FEW: usize = 4;

/// Heads that a drive has, at most, as far as zones tell.
const MOST_HEADS: u64 = 24;

/// The greatest number that divides both.
fn greatest_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}

/// A drive's map: regions in ascending sectors without a gap between them, and sectors that lie elsewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrackMap {
    /// The regions, by their first sectors.
    pub regions: Vec<MapRegion>,
    /// Sectors whose data lie elsewhere, and the angle at which each begins; ascending.
    pub remaps: Vec<(u64, f64)>,
    /// From which sector on it was not looked at, and is taken to go on as before.
    pub guessed: Option<u64>,
}

impl TrackMap {
    /// What was looked at of it.
    #[must_use]
    pub fn without_gaps(&self) -> TrackMap {
        let end = self.guessed.unwrap_or(u64::MAX);
        let regions = self.regions.iter().filter(|region| region.first < end);
        let cut = |region: &MapRegion| MapRegion { sectors: region.sectors.min(end - region.first), ..region.clone() };
        let remaps = self.remaps.iter().copied().filter(|(sector, _)| *sector < end).collect();
        TrackMap { regions: regions.map(cut).collect(), remaps, guessed: None }
    }

    /// Regions of one kind that follow one another, as those of a zone do.
    fn zones(&self) -> impl Iterator<Item = &[MapRegion]> {
        self.regions.chunk_by(|a, b| (a.round, a.track) == (b.round, b.track))
    }

    /// How many tracks each zone has.
    fn zone_tracks(&self) -> Vec<u64> {
        let tracks = |zone: &[MapRegion]| {
            // A region that begins inside a track shares it with the one before.
            let shared = zone.iter().skip(1).filter(|region| region.place(region.first).sector > 0).count() as u64;
            zone.iter().map(MapRegion::track_count).sum::<u64>() - shared
        };
        self.zones().map(tracks).collect()
    }

    /// Of how many tracks, or a multiple of that, all zones are, as they are of a multiple of a drive's heads in whatever order these
    /// come; nothing where zones are few, or alike, or so many are more than a drive has heads. The last one ends where the drive does.
    #[must_use]
    pub fn common_tracks(&self) -> Option<u64> {
        let zones = self.zone_tracks();
        let zones = zones.split_last().map_or(&[][..], |(_, whole)| whole);
        let are_alike = zones.windows(2).all(|pair| pair[0] == pair[1]);
        let common = zones.iter().copied().fold(0, greatest_divisor);
        (zones.len() >= FEW && !are_alike && common <= MOST_HEADS).then_some(common)
    }

    /// The index of the region that holds a sector.
    #[must_use]
    pub fn region_of(&self, sector: u64) -> usize {
        self.regions.partition_point(|region| region.first <= sector).saturating_sub(1)
    }

    /// Where a sector lies. The caller guarantees that the map is not empty.
    #[must_use]
    pub fn place(&self, sector: u64) -> SectorPlace {
        let place = self.regions[self.region_of(sector)].place(sector);
        match self.remaps.binary_search_by_key(&sector, |(at, _)| *at) {
            Ok(i) => SectorPlace { angle: self.remaps[i].1, ..place },
            Err(_) => place,
        }
    }

    /// The first sector of the track a sector is on.
    #[must_use]
    pub fn track_start(&self, sector: u64) -> u64 {
        self.regions[self.region_of(sector)].track_start(sector)
    }

    /// The first sector of the track after a sector's.
    #[must_use]
    pub fn next_track(&self, sector: u64) -> u64 {
        let region = &self.regions[self.region_of(sector)];
        region.next_track(sector).min(region.end())
    }
}
