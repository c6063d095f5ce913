//! Regions that repeat each other become one, with a further period.

use super::{GOES_ON, MapSurvey, cycle};
use crate::estimate::{fraction, signed_fraction};
use crate::map::{MapRegion, PatternLevel, TrackMap};
use block::{BadInput, Device};

/// Tracks of a few regions that were met before the clock ran well, at most; and by how many times as many one that follows
/// must be longer to tell better.
const FIRST: u64 = 16;
const LONGER: u64 = 64;

impl<D: Device> MapSurvey<'_, '_, '_, D> {
    /// The region just begun joins the two before it if all three repeat each other.
    pub(super) fn merge(&mut self) {
        while join_alike(&mut self.map) || cycle::join_sequence(&mut self.map) {}
    }

    /// Looks again at the first tracks of all, met before the clock ran well: what the first long region says of them is
    /// believed where it agrees with each of them, at both ends and in the middle.
    ///
    /// # Errors
    /// As [`crate::bench::ProbeBench::read`].
    pub(super) fn look_again(&mut self) -> Result<(), BadInput> {
        let Some(at) = self.map.regions.iter().position(|region| region.sectors > LONGER * region.track) else {
            return Ok(());
        };
        let long = self.map.regions[at].clone();
        let tracks = long.first / long.track;
        let plain = is_plain(&long) && long.skip == 0 && long.first.is_multiple_of(long.track);
        if at == 0 || !plain || tracks > FIRST {
            return Ok(());
        }
        let angle = fraction(long.angle - tracks as f64 * long.turn);
        let whole = MapRegion { first: 0, sectors: long.end(), angle, ..long };
        let ends = [0, whole.track / 2, whole.track - 1];
        let sectors: Vec<u64> = (0..tracks).flat_map(|track| ends.map(|into| track * whole.track + into)).collect();
        if self.all_agree(&whole, &sectors)? {
            self.map.regions.splice(..=at, [whole]);
        }
        Ok(())
    }
}

/// Whether a region is one track after the other, all turned alike.
fn is_plain(region: &MapRegion) -> bool {
    region.levels.is_empty() && region.slips.is_empty() && region.bends.is_empty() && region.runs.is_empty()
}

/// Regions that go on as the next one does, looked at backwards, become part of it: the first tracks of a region tell its
/// rule least well.
pub(super) fn absorb(map: &mut TrackMap) {
    absorb_fragments(map);
    for i in (1..map.regions.len()).rev() {
        let (a, b) = (&map.regions[i - 1], &map.regions[i]);
        let plain = is_plain(a) && is_plain(b);
        // What of the earlier one is whole tracks of the later; the rest may be the beginning of a track that it goes on with.
        let whole = a.sectors.checked_sub(b.skip).filter(|sectors| sectors.is_multiple_of(a.track));
        let Some(whole) = whole.filter(|_| plain && a.skip == 0 && (a.round, a.track) == (b.round, b.track)) else {
            continue;
        };
        let angle = fraction(b.angle - (whole / a.track) as f64 * b.turn);
        if signed_fraction(angle - a.angle).abs() < GOES_ON / f64::from(a.round) {
            let (first, sectors) = (a.first, a.sectors + b.sectors);
            map.regions[i] = MapRegion { first, sectors, skip: 0, angle, ..b.clone() };
            map.regions.remove(i - 1);
        }
    }
}

/// What seemed to be no track, and is where the first sectors of the next region's first track should be, becomes part of that.
fn absorb_fragments(map: &mut TrackMap) {
    for i in (1..map.regions.len()).rev() {
        let (a, b) = (&map.regions[i - 1], &map.regions[i]);
        let ends = |region: &MapRegion, pattern: u64| {
            let place = region.place_at(pattern);
            place.angle + place.width()
        };
        let is_part = a.is_fragment() && a.sectors > 0 && a.sectors == b.skip && b.skip < b.track && b.slips.is_empty();
        if !is_part {
            continue;
        }
        let off = signed_fraction(ends(a, a.skip + a.sectors - 1) - ends(b, b.skip - 1));
        if off.abs() < GOES_ON / f64::from(b.round) {
            let (first, sectors) = (a.first, a.sectors + b.sectors);
            map.regions[i] = MapRegion { first, sectors, skip: 0, ..b.clone() };
            map.regions.remove(i - 1);
        }
    }
}

/// Joins the last region, which is under way, to the two before it, if they are alike, as long, and turned alike.
fn join_alike(map: &mut TrackMap) -> bool {
    let [.., a, b, c] = &map.regions[..] else { return false };
    let length = |region: &MapRegion| (region.pattern(region.end() - 1) + 1) as i64;
    let even = !a.is_fragment()
        && a.like(b)
        && b.like(c)
        && a.skip == 0
        && b.skip == 0
        && a.bends.is_empty()
        && b.bends.is_empty()
        && length(a) == length(b);
    let turn = signed_fraction(b.angle - a.angle);
    let sector = 1.0 / f64::from(a.round);
    if !even || signed_fraction(c.angle - b.angle - turn).abs() > GOES_ON * sector || a.place(a.end() - 1).left != 1 {
        return false;
    }
    let mut whole = a.clone();
    let level = PatternLevel { sectors: length(a) as u64, turn: fraction(turn) };
    match whole.levels.last_mut() {
        // Tracks one by one: no period, but the turn from each to the next.
        None if level.sectors == whole.track => whole.turn = level.turn,
        Some(last) if last.sectors == level.sectors => *last = level,
        _ => whole.levels.push(level),
    }
    let shifted = a.slips.last().map_or(0, |(_, shift)| *shift);
    whole.slips.extend(b.slips.iter().map(|(from, shift)| (*from, shift + shifted)));
    let count = map.regions.len();
    map.regions.truncate(count - 3);
    // A first period that is not whole.
    if let Some(before) = map.regions.last()
        && !whole.levels.is_empty()
    {
        let part = length(before) - before.skip as i64;
        let base = MapRegion { levels: whole.levels[..whole.levels.len() - 1].to_vec(), ..whole.clone() };
        let skip = whole.outermost().sectors.checked_sub(part.unsigned_abs());
        if let Some(skip) = skip
            && before.like(&base)
        {
            let first = before.first;
            let mut slips = before.slips.clone();
            let shifted = slips.last().map_or(0, |(_, shift)| *shift);
            slips.extend(whole.slips.iter().map(|(from, shift)| (*from, shift + shifted)));
            let angle = fraction(whole.angle - whole.outermost().turn);
            let longer = MapRegion { first, skip, angle, slips, ..whole.clone() };
            if signed_fraction(longer.place(first).angle - before.place(first).angle).abs() < GOES_ON * sector {
                map.regions.pop();
                whole = longer;
            }
        }
    }
    map.regions.push(whole);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::laws::{draw_geometry, of_each};

    /// So many pieces of a region, each of so many sectors and as if nothing were known of what comes before it; the last has
    /// just begun.
    fn pieces(whole: &MapRegion, lengths: impl Iterator<Item = u64>) -> TrackMap {
        let mut map = TrackMap::default();
        let mut first = whole.first;
        for sectors in lengths {
            let place = whole.place(first);
            let (round, track) = (place.round, place.data);
            let next = whole.place(first + track.min(sectors));
            let turn = if sectors > track { fraction(next.angle - place.angle) } else { 0.25 };
            let inner = whole.levels.len().saturating_sub(1);
            let levels = if whole.runs.is_empty() { whole.levels[..inner].to_vec() } else { Vec::new() };
            let plain = MapRegion { first, sectors, skip: 0, angle: place.angle, levels, ..whole.clone() };
            let turn = if whole.runs.is_empty() { whole.turn } else { turn };
            map.regions.push(MapRegion { round, track, turn, runs: Vec::new(), ..plain });
            first += sectors;
        }
        map
    }

    /// Whether a map of one region has every sector of some where another has it.
    #[track_caller]
    fn is_as(map: &TrackMap, whole: &MapRegion, end: u64) {
        assert_eq!(map.regions.len(), 1, "{:?}", map.regions);
        for sector in whole.first..end {
            let (ours, theirs) = (map.place(sector), whole.place(sector));
            assert!(signed_fraction(ours.angle - theirs.angle).abs() < 1e-9, "{sector}: {ours:?} {theirs:?}");
            assert_eq!((ours.sector, ours.left, ours.round), (theirs.sector, theirs.left, theirs.round), "{sector}");
        }
    }

    #[test]
    fn periods_found_one_by_one_become_the_region_they_are_of() {
        of_each(|seed| {
            for whole in draw_geometry(seed).map.regions.iter().filter(|region| region.runs.is_empty()) {
                let period = whole.outermost().sectors;
                let mut map = pieces(whole, [period; 3].into_iter());
                // What ends inside a track, as its own rule has it, is no period.
                let ends = &map.regions[0];
                if whole.sectors < 3 * period || ends.place(ends.end() - 1).left != 1 {
                    continue;
                }
                assert!(join_alike(&mut map), "{whole:?}");
                is_as(&map, whole, whole.first + 3 * period);
                // Another turn to the third, by half a sector, is another rule.
                let mut other = pieces(whole, [period; 3].into_iter());
                other.regions[2].angle += 0.5 / f64::from(whole.round);
                assert!(!join_alike(&mut other) && other.regions.len() == 3);
            }
        });
    }

    #[test]
    fn heads_found_one_by_one_become_the_cylinder_they_make() {
        of_each(|seed| {
            for whole in draw_geometry(seed).map.regions.iter().filter(|region| region.runs.len() > 1) {
                let period = whole.outermost().sectors;
                let rounds: Vec<u32> = whole.runs.iter().map(|run| run.round).collect();
                // A cycle that is a shorter one several times over is found as that.
                if whole.sectors < 3 * period || (1..rounds.len()).any(|n| rounds.rotate_eq(n)) {
                    continue;
                }
                let lengths = whole.runs.iter().map(|run| run.track).cycle().take(2 * rounds.len() + 1);
                let mut map = pieces(whole, lengths);
                assert!(cycle::join_sequence(&mut map), "{whole:?}");
                is_as(&map, whole, whole.first + 2 * period);
            }
        });
    }

    trait RotateEq {
        fn rotate_eq(&self, by: usize) -> bool;
    }

    impl RotateEq for Vec<u32> {
        /// Whether it is the same turned by so many.
        fn rotate_eq(&self, by: usize) -> bool {
            self.iter().cycle().skip(by).zip(self).all(|(a, b)| a == b)
        }
    }
}
