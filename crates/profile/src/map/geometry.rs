//! Which tracks share a cylinder, and so how far apart any two are for the arm.

use super::{FEW, MOST_HEADS, MapRegion, TrackMap};

/// How the tracks of a region lie over heads and cylinders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// All heads of a cylinder, then the next cylinder.
    Heads,
    /// So many cylinders on one head, then back on the next; then the next band.
    Bands(u64),
}

/// A track's place for the arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackAddress {
    /// Cylinder, from the drive's first sector.
    pub cylinder: u64,
    /// Head, as its turn comes in a cylinder or band.
    pub head: u64,
}

/// Whether regions of so many tracks are bands of so many heads: each head's tracks end a region, but for those of the last one, with
/// which the next band may go on.
fn are_bands(regions: &[u64], heads: u64) -> bool {
    let mut regions = regions.iter().copied();
    let mut left = regions.next().unwrap_or(0);
    while left > 0 {
        let width = left;
        for head in 1..heads {
            match regions.next() {
                Some(tracks) if tracks == width || (tracks > width && head + 1 == heads) => left = tracks - width,
                _ => return false,
            }
        }
        left = if left > 0 { left } else { regions.next().unwrap_or(0) };
    }
    true
}

/// A map with cylinders.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackGeometry {
    /// The map; every region has a period of a cylinder or a run of a band.
    pub map: TrackMap,
    /// How many heads the drive has.
    pub heads: u64,
    /// The order in which tracks follow one another.
    pub arrangement: Arrangement,
    /// The cylinder at which the pattern of each region begins.
    pub cylinders: Vec<u64>,
}

/// The region with its tracks numbered from where a cylinder begins, `into` tracks before its own first.
fn align(region: MapRegion, heads: u64, into: u64) -> MapRegion {
    // Tracks of several kinds begin where their period does.
    if !region.runs.is_empty() || (0..region.levels.len()).any(|i| region.tracks(i) == heads) {
        return region;
    }
    // Turned evenly throughout: the period is as good as any.
    let skip = region.skip + into * region.track;
    let angle = region.angle - into as f64 * region.turn;
    let level = super::PatternLevel { sectors: heads * region.track, turn: heads as f64 * region.turn };
    let levels = if region.levels.is_empty() { vec![level] } else { region.levels.clone() };
    MapRegion { skip, angle, levels, ..region }
}

impl TrackGeometry {
    /// The cylinders that follow from how many heads there are.
    #[must_use]
    pub fn new(map: TrackMap, heads: u64, arrangement: Arrangement) -> TrackGeometry {
        let (mut tracks, mut cylinders, mut regions) = (0u64, Vec::new(), Vec::new());
        // The cylinder at which the last band begins, and how many tracks of it the region before has.
        let mut open = (0, 0);
        for region in map.regions {
            // A cylinder's tracks, and those of a whole band.
            let (period, wide) = match arrangement {
                Arrangement::Heads => (heads, 1),
                Arrangement::Bands(width) => (heads * width, width),
            };
            let region = match arrangement {
                Arrangement::Heads => align(region, heads, tracks % heads),
                Arrangement::Bands(_) => region,
            };
            let first = region.place(region.first).track;
            let base = match arrangement {
                Arrangement::Heads => (tracks.saturating_sub(first) + period / 2) / period,
                Arrangement::Bands(_) if first > 0 && first == open.1 => open.0,
                Arrangement::Bands(_) => tracks.saturating_sub(first).div_ceil(heads),
            };
            let last = region.place(region.end().max(region.first + 1) - 1).track;
            let end = last + 1;
            open = (base + end / period * wide, end % period);
            tracks = match arrangement {
                Arrangement::Heads => base * period + end,
                // The last band is as narrow as it must be.
                Arrangement::Bands(_) => (base + end / period * wide + (end % period).div_ceil(heads)) * heads,
            };
            cylinders.push(base);
            regions.push(region);
        }
        TrackGeometry { map: TrackMap { regions, ..map }, heads, arrangement, cylinders }
    }

    /// The same of all of a map, of which it is what was looked at.
    #[must_use]
    pub fn over(self, map: TrackMap) -> TrackGeometry {
        let mut whole = TrackGeometry::new(map, self.heads, self.arrangement);
        let known = self.cylinders.len();
        let moved = known.checked_sub(1).map_or(0, |last| self.cylinders[last] - whole.cylinders[last]);
        whole.cylinders.iter_mut().skip(known).for_each(|cylinder| *cylinder += moved);
        whole.cylinders.splice(..known, self.cylinders);
        whole
    }

    /// Cylinders and bands of a region: the width of the band a track lies in.
    fn width(&self, region: usize, track: u64, width: u64) -> u64 {
        let r = &self.map.regions[region];
        let tracks = r.place(r.end().max(r.first + 1) - 1).track + 1;
        let (band, period) = (track / (width * self.heads), width * self.heads);
        let left = tracks.saturating_sub(band * period);
        // The next region may go on with the same band.
        let goes_on = self.cylinders.get(region + 1) == Some(&(self.cylinders[region] + band * width));
        let is_narrow = left < period && left.is_multiple_of(self.heads) && !goes_on;
        if is_narrow { (left / self.heads).max(1) } else { width }
    }

    /// The share of tracks of which it is not known on which head they are: bands that end sooner than others do, in regions of which
    /// they are a part.
    #[must_use]
    pub fn unknown_heads(&self) -> f64 {
        let Arrangement::Bands(width) = self.arrangement else { return 0.0 };
        let (mut all, mut unknown) = (0, 0);
        for (index, region) in self.map.regions.iter().enumerate() {
            let (last, count) = (region.last_track(), region.track_count());
            all += count;
            let (band, left) = ((last + 1) / (width * self.heads), (last + 1) % (width * self.heads));
            let goes_on = self.cylinders.get(index + 1) == Some(&(self.cylinders[index] + band * width));
            if !goes_on && !left.is_multiple_of(self.heads) {
                unknown += left.min(count);
            }
        }
        unknown as f64 / all.max(1) as f64
    }

    /// Where one head was found, how many more there may be, by where zones end or tracks turn otherwise inside them.
    #[must_use]
    pub fn other_heads(&self) -> Option<u64> {
        if self.heads > 1 {
            return None;
        }
        match self.map.without_gaps().common_tracks() {
            Some(common) => (common > 1).then_some(common),
            None => self.heads_by_regions(),
        }
    }

    /// Of how many heads there would be bands such that regions of one kind, one after the other, end where heads change: if there are
    /// no more than a few bands in a zone, no period shows. The most there may be; nothing where most zones are not so.
    fn heads_by_regions(&self) -> Option<u64> {
        let zones = self.map.zones().filter(|zone| zone.len() > 1);
        let zones = zones.map(|zone| zone.iter().map(MapRegion::track_count).collect::<Vec<u64>>());
        // Zones that are all as long may be of one kind, too, as may the bands of any drive.
        let zones: Vec<Vec<u64>> = zones.filter(|zone| zone.iter().any(|tracks| *tracks != zone[0])).collect();
        let fits = |heads: &u64| 4 * zones.iter().filter(|zone| are_bands(zone, *heads)).count() >= 3 * zones.len();
        if zones.len() < FEW { None } else { (2..=MOST_HEADS).rev().find(fits) }
    }

    /// Where a region's track lies.
    #[must_use]
    pub fn address(&self, region: usize, track: u64) -> TrackAddress {
        let base = self.cylinders[region];
        match self.arrangement {
            Arrangement::Heads => TrackAddress { cylinder: base + track / self.heads, head: track % self.heads },
            Arrangement::Bands(width) => {
                let here = self.width(region, track, width);
                let (band, within) = (track / (width * self.heads), track % (width * self.heads));
                let (head, k) = ((within / here).min(self.heads - 1), within % here);
                let k = if head.is_multiple_of(2) { k } else { here - 1 - k };
                TrackAddress { cylinder: base + band * width + k, head }
            }
        }
    }

    /// The region and track at an address, if there is one.
    #[must_use]
    pub fn track(&self, at: TrackAddress) -> Option<(usize, u64)> {
        let last = self.cylinders.partition_point(|base| *base <= at.cylinder).checked_sub(1)?;
        // A band may begin in one region and go on in those after it.
        let first = match self.arrangement {
            Arrangement::Heads => last,
            Arrangement::Bands(_) => {
                self.cylinders.partition_point(|base| *base < self.cylinders[last]).saturating_sub(1)
            }
        };
        (first..=last).rev().find_map(|region| self.track_of(region, at))
    }

    /// The region and its track at an address, if it has that.
    fn track_of(&self, region: usize, at: TrackAddress) -> Option<(usize, u64)> {
        let into = at.cylinder - self.cylinders[region];
        let track = match self.arrangement {
            Arrangement::Heads => into * self.heads + at.head,
            Arrangement::Bands(width) => {
                let band = into / width;
                let here = self.width(region, band * width * self.heads, width);
                let k = into % width;
                if k >= here {
                    return None;
                }
                let k = if at.head.is_multiple_of(2) { k } else { here - 1 - k };
                band * width * self.heads + at.head * here + k
            }
        };
        let r = &self.map.regions[region];
        let pattern = r.track_pattern(track);
        let inside = pattern >= r.skip && r.sector_at(pattern) + r.track < r.end();
        inside.then_some((region, track))
    }

    /// Where a sector lies for the arm.
    #[must_use]
    pub fn address_of(&self, sector: u64) -> TrackAddress {
        let region = self.map.region_of(sector);
        self.address(region, self.map.regions[region].place(sector).track)
    }

    /// The first sector after a sector that is on another cylinder.
    #[must_use]
    pub fn cylinder_end(&self, sector: u64) -> u64 {
        let cylinder = self.address_of(sector).cylinder;
        let last = self.map.regions.last().map_or(0, MapRegion::end);
        let mut end = self.map.next_track(sector);
        while end < last && self.address_of(end).cylinder == cylinder {
            end = self.map.next_track(end);
        }
        end
    }

    /// How many cylinders all regions have together.
    #[must_use]
    pub fn all_cylinders(&self) -> u64 {
        let Some(region) = self.map.regions.last() else { return 0 };
        let (index, base) = (self.map.regions.len() - 1, self.cylinders.last().copied().unwrap_or(0));
        let last = region.last_track();
        match self.arrangement {
            Arrangement::Heads => base + last / self.heads + 1,
            Arrangement::Bands(width) => {
                // A band that ends on its first head is as wide as it got there.
                let (band, within) = (last / (width * self.heads), last % (width * self.heads));
                base + band * width + self.width(index, last, width).min(within + 1)
            }
        }
    }
}
