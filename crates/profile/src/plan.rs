//! A geometry as a drive file has it: a tree of runs (see [`disk::TreePlan`]).

use crate::estimate::{fraction, signed_fraction};
use crate::map::{ALIKE, Arrangement, MapRegion, TrackGeometry};
use disk::{Child, Elsewhere, EntryPlan, Layout, LayoutPlan, TrackPlan, TreePlan};
use std::collections::BTreeMap;

/// A tree as it grows. Places are sectors of the medium, slipped ones included, from the drive's first.
struct PlanTree<'g> {
    geometry: &'g TrackGeometry,
    plan: TreePlan,
    pieces: BTreeMap<(u32, u32, u32), u32>,
    root: Vec<EntryPlan>,
}

/// What repeats in a region: a cylinder or a band.
struct RepeatUnit {
    sectors: u64,
    cylinders: u64,
    turn: f64,
    list: u32,
}

/// The layout of a geometry on a drive of so many blocks, with sectors of 2^`shift` blocks.
#[must_use]
pub fn layout(geometry: &TrackGeometry, blocks: u64, shift: u32) -> LayoutPlan {
    let mut tree = PlanTree { geometry, plan: TreePlan::default(), pieces: BTreeMap::new(), root: Vec::new() };
    let mut slipped = 0i64;
    for index in 0..geometry.map.regions.len() {
        tree.region(index, slipped);
        let region = &geometry.map.regions[index];
        let mut before = 0;
        for (from, shift) in &region.slips {
            tree.plan.slips.push((from.saturating_add_signed(slipped + before), shift - before));
            before = *shift;
        }
        slipped += before;
    }
    let PlanTree { mut plan, root, .. } = tree;
    plan.lists.push(root);
    plan.remaps = geometry.map.remaps.iter().filter_map(|remap| spare(geometry, *remap)).collect();
    let layout = |tree| LayoutPlan {
        heads: geometry.heads as u32,
        sector_blocks: 1 << shift,
        tree: Some(tree),
        blocks: Some(blocks),
        ..LayoutPlan::default()
    };
    if Layout::new(&layout(plan.clone())).is_err() {
        // A spare at an angle where the track has no sector.
        plan.remaps.clear();
    }
    layout(plan)
}

/// A sector that lies elsewhere, at an angle: on which track nobody can see, and so it is taken to be its own.
fn spare(geometry: &TrackGeometry, (sector, angle): (u64, f64)) -> Option<Elsewhere> {
    let index = geometry.map.region_of(sector);
    let region = geometry.map.regions.get(index)?;
    let place = region.place(sector);
    let begins = region.place_at(region.track_pattern(place.track));
    let on = (fraction(angle - begins.angle) * f64::from(place.round) + 0.5) as u32 % place.round;
    let address = geometry.address(index, place.track);
    let (cylinder, head) = (address.cylinder as u32, address.head as u32);
    Some(Elsewhere { first: sector, blocks: 1, cylinder, head, sector: on })
}

impl PlanTree<'_> {
    fn piece(&mut self, low: u64, high: u64, sectors: u32) -> u32 {
        let (low, high) = (low as u32, high as u32);
        let next = self.plan.tracks.len() as u32;
        let index = *self.pieces.entry((low, high, sectors)).or_insert(next);
        if index == next {
            self.plan.tracks.push(TrackPlan { low, high, sectors });
        }
        index
    }

    fn region(&mut self, index: usize, slipped: i64) {
        let geometry = self.geometry;
        let region = &geometry.map.regions[index];
        let base = geometry.cylinders[index];
        let (from, to) = (region.skip, region.pattern(region.end() - 1) + 1);
        let place = |pattern: u64| (region.first + pattern - region.skip).saturating_add_signed(slipped);
        let Some(unit) = self.unit(index, None) else { return self.tracks(index, (from, to), place(from)) };
        let whole = from.next_multiple_of(unit.sectors).min(to);
        self.tracks(index, (from, whole), place(from));
        // A period beyond the unit turns otherwise at its end.
        let beyond = region.levels.iter().map(|level| level.sectors).find(|sectors| *sectors > unit.sectors);
        let narrow = self.narrow(region, &unit, to);
        let mut at = whole;
        while at < narrow {
            let next = beyond.map_or(narrow, |beyond| ((at / beyond + 1) * beyond).min(narrow));
            let bend = region.bends.partition_point(|(from, _)| *from <= at);
            let bend = region.bends.get(bend).map_or(u64::MAX, |(from, _)| *from);
            let next = match (bend.saturating_sub(at) / unit.sectors) * unit.sectors {
                0 => {
                    let next = (at + unit.sectors).min(narrow);
                    self.tracks(index, (at, next), place(at));
                    at = next;
                    continue;
                }
                even => next.min(at.saturating_add(even)),
            };
            self.root.push(EntryPlan {
                first: place(at),
                cylinder: (base + at / unit.sectors * unit.cylinders) as u32,
                offset: region.place_at(at).angle,
                each: unit.sectors,
                cylinders: unit.cylinders as u32,
                turn: unit.turn,
                blocks: next - at,
                descends: false,
                child: Child::List(unit.list),
            });
            at = next;
        }
        if at >= to {
            return;
        }
        let width = (to - at).div_ceil(region.track).div_ceil(geometry.heads);
        let last = if evenly_turned(region, at, to) { self.unit(index, Some(width)) } else { None };
        let Some(last) = last else { return self.tracks(index, (at, to), place(at)) };
        self.root.push(EntryPlan {
            first: place(at),
            cylinder: (base + at / unit.sectors * unit.cylinders) as u32,
            offset: region.place_at(at).angle,
            each: last.sectors,
            // Of one band nothing moves on; how wide it is tells where in it a sector elsewhere lies.
            cylinders: last.cylinders as u32,
            turn: 0.0,
            blocks: to - at,
            descends: false,
            child: Child::List(last.list),
        });
    }

    /// Where a last, narrower band begins; the end, if there is none.
    fn narrow(&self, region: &MapRegion, unit: &RepeatUnit, to: u64) -> u64 {
        let left = to % unit.sectors;
        // Its last track may end before it is full, as the drive does.
        let fits = left > 0 && left.div_ceil(region.track).is_multiple_of(self.geometry.heads);
        if self.geometry.arrangement != Arrangement::Heads && fits { to - left } else { to }
    }

    /// Tracks one by one, where a region begins inside a unit.
    fn tracks(&mut self, index: usize, (from, to): (u64, u64), place: u64) {
        let region = &self.geometry.map.regions[index];
        let mut at = from;
        while at < to {
            let there = region.place_at(at);
            let count = there.left.min(to - at);
            let address = self.geometry.address(index, there.track);
            let track = self.piece(there.sector, there.sector + count - 1, there.round);
            self.root.push(EntryPlan {
                first: place + at - from,
                cylinder: address.cylinder as u32,
                offset: there.angle,
                each: count,
                cylinders: 0,
                turn: 0.0,
                blocks: count,
                descends: false,
                child: Child::Track(track, address.head as u32),
            });
            at += count;
        }
    }

    /// The unit of a region: a cylinder, or a band of a width if it is not the usual one; where tracks differ, the shortest
    /// period. None if that is no whole number of cylinders.
    fn unit(&mut self, index: usize, width: Option<u64>) -> Option<RepeatUnit> {
        let heads = self.geometry.heads;
        let region = &self.geometry.map.regions[index];
        if !region.runs.is_empty() {
            return self.unit_of_runs(index);
        }
        let track = self.piece(0, region.track - 1, region.round);
        let mut entries = Vec::new();
        let unit = match self.geometry.arrangement {
            Arrangement::Heads => {
                let level = region.levels.iter().enumerate().find(|(i, _)| region.tracks(*i) == heads);
                let level = level.map(|(_, level)| *level);
                let sectors = level.map_or(heads * region.track, |level| level.sectors);
                let turn = level.map_or(heads as f64 * region.turn, |level| level.turn);
                for head in 0..heads {
                    let first = head * region.track;
                    let blocks = region.track.min(sectors - first);
                    let offset = fraction(head as f64 * region.turn);
                    entries.push(entry((first, 0), offset, (blocks, 0, 0.0), blocks, Child::Track(track, head as u32)));
                }
                RepeatUnit { sectors, cylinders: 1, turn: fraction(turn), list: 0 }
            }
            Arrangement::Bands(usual) => {
                let width = width.unwrap_or(usual);
                let of = |tracks: u64| (0..region.levels.len()).find(|i| region.tracks(*i) == tracks);
                let turn = |level: usize| region.levels[level].turn;
                let run = of(width).map_or(width as f64 * region.turn, turn);
                let band = of(heads * width).map_or(heads as f64 * run, turn);
                for head in 0..heads {
                    let down = !head.is_multiple_of(2);
                    let start = if down { width - 1 } else { 0 };
                    let offset = fraction(head as f64 * run);
                    let blocks = width * region.track;
                    let child = Child::Track(track, head as u32);
                    let repeat = (region.track, 1, fraction(region.turn));
                    let plain = entry((head * blocks, start), offset, repeat, blocks, child);
                    entries.push(EntryPlan { descends: down, ..plain });
                }
                RepeatUnit { sectors: heads * width * region.track, cylinders: width, turn: fraction(band), list: 0 }
            }
        };
        Some(RepeatUnit { list: self.list(entries), ..unit })
    }

    /// A list by its place among the lists, where it is if it is not new.
    fn list(&mut self, entries: Vec<EntryPlan>) -> u32 {
        let known = self.plan.lists.iter().position(|list| *list == entries);
        let list = known.unwrap_or_else(|| {
            self.plan.lists.push(entries);
            self.plan.lists.len() - 1
        });
        list as u32
    }

    /// The shortest period of a region whose tracks differ: an entry for each run, and each turn of the arm in it.
    fn unit_of_runs(&mut self, index: usize) -> Option<RepeatUnit> {
        let TrackGeometry { heads, arrangement, .. } = *self.geometry;
        let region = &self.geometry.map.regions[index];
        let (level, tracks) = (region.levels[0], region.tracks(0));
        let whole = match arrangement {
            Arrangement::Heads => heads,
            Arrangement::Bands(width) => heads * width,
        };
        if !tracks.is_multiple_of(whole) {
            return None;
        }
        let base = self.geometry.cylinders[index];
        let mut entries: Vec<EntryPlan> = Vec::new();
        let mut last = 0;
        for track in 0..tracks {
            let pattern = region.track_pattern(track);
            let place = region.place_at(pattern);
            let address = self.geometry.address(index, track);
            let cylinder = (address.cylinder - base) as u32;
            let child = Child::Track(self.piece(0, place.data - 1, place.round), address.head as u32);
            let follows = |entry: &EntryPlan| {
                let (way, step) = (cylinder.cmp(&last), cylinder.abs_diff(last));
                let only = entry.blocks == entry.each;
                let whole = entry.blocks.is_multiple_of(entry.each);
                // Where another run begins, it may be turned otherwise, though the arm goes on as before.
                let turned = region.place_at(entry.first).angle + (entry.blocks / entry.each) as f64 * entry.turn;
                let even = signed_fraction(place.angle - turned).abs() < ALIKE * place.width();
                entry.child == child && whole && step == 1 && (only || (even && entry.descends == way.is_lt()))
            };
            match entries.last_mut().filter(|entry| follows(entry)) {
                Some(entry) => {
                    if entry.blocks == entry.each {
                        entry.turn = fraction(place.angle - region.place_at(entry.first).angle);
                        (entry.cylinders, entry.descends) = (1, cylinder < last);
                    }
                    entry.blocks += place.left;
                }
                None => {
                    let offset = fraction(place.angle - region.angle);
                    entries.push(entry(
                        (pattern, u64::from(cylinder)),
                        offset,
                        (place.left, 0, 0.0),
                        place.left,
                        child,
                    ));
                }
            }
            last = cylinder;
        }
        let list = self.list(entries);
        Some(RepeatUnit { sectors: level.sectors, cylinders: tracks / heads, turn: level.turn, list })
    }
}

/// Whether each track from one place in the pattern to another is turned as much as the next, so that runs of another width say
/// the same.
fn evenly_turned(region: &MapRegion, from: u64, to: u64) -> bool {
    let begins = region.place_at(from).angle;
    let mut tracks = (from..to).step_by(region.track as usize).zip(0u64..);
    region.runs.is_empty()
        && tracks.all(|(at, track)| {
            let place = region.place_at(at);
            let even = begins + fraction(track as f64 * region.turn);
            place.sector == 0 && signed_fraction(place.angle - even).abs() < ALIKE * place.width()
        })
}

/// An entry that ascends.
fn entry(
    (first, cylinder): (u64, u64),
    offset: f64,
    (each, cylinders, turn): (u64, u32, f64),
    blocks: u64,
    child: Child,
) -> EntryPlan {
    EntryPlan { first, cylinder: cylinder as u32, offset, each, cylinders, turn, blocks, descends: false, child }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::{PatternLevel, TrackMap, TrackRun};
    use block::Lbn;

    /// Of one head the arm goes on by a cylinder from each run to the next.
    #[test]
    fn runs_of_one_head_that_are_turned_otherwise_stay_so() {
        let run =
            |tracks: u64, angle| TrackRun { sectors: tracks * 100, tracks, angle, round: 100, track: 100, turn: 0.2 };
        let region = MapRegion {
            first: 0,
            sectors: 50_000,
            skip: 0,
            round: 100,
            track: 100,
            turn: 0.2,
            runs: vec![run(0, 0.0), run(12, 0.75)],
            levels: vec![PatternLevel { sectors: 2_500, turn: 0.6 }],
            angle: 0.1,
            slips: Vec::new(),
            bends: Vec::new(),
        };
        let map = TrackMap { regions: vec![region], remaps: Vec::new(), guessed: None };
        let geometry = TrackGeometry::new(map, 1, Arrangement::Heads);
        let found = Layout::new(&layout(&geometry, 50_000, 0)).expect("it is a layout");
        for sector in (0..50_000).step_by(50) {
            let angle = found.locate(Lbn(sector)).angle as f64 / 18_446_744_073_709_551_616.0;
            let off = signed_fraction(angle - geometry.map.place(sector).angle);
            assert!(off.abs() < 1e-6, "{sector}: {off}");
        }
    }

    #[test]
    fn a_sector_elsewhere_keeps_its_angle() {
        let level = PatternLevel { sectors: 1000, turn: 0.3 };
        let region = MapRegion {
            first: 0,
            sectors: 50_000,
            skip: 0,
            round: 100,
            track: 100,
            turn: 0.2,
            runs: Vec::new(),
            levels: vec![level],
            angle: 0.0,
            slips: Vec::new(),
            bends: vec![(3_000, 0.05)],
        };
        let map = TrackMap { regions: vec![region], remaps: vec![(1_234, 0.75)], guessed: None };
        let geometry = TrackGeometry::new(map, 10, Arrangement::Heads);
        let found = Layout::new(&layout(&geometry, 50_000, 0)).expect("it is a layout");
        for sector in [0, 1_233, 1_234, 1_235, 2_999, 3_000, 3_950, 49_999] {
            let angle = found.locate(Lbn(sector)).angle as f64 / 18_446_744_073_709_551_616.0;
            let off = crate::estimate::signed_fraction(angle - geometry.map.place(sector).angle);
            assert!(off.abs() < 1e-6, "{sector}: {off}");
        }
    }

    /// Wherever a sector lies elsewhere, in the first band or in a last, narrower one: all of them are known to the drive file.
    #[test]
    fn sectors_elsewhere_are_kept_in_whatever_band_they_lie() {
        for (arrangement, heads, track) in
            [(Arrangement::Bands(4), 2, 100), (Arrangement::Bands(3), 3, 90), (Arrangement::Heads, 3, 100)]
        {
            let width = if let Arrangement::Bands(width) = arrangement { width } else { 1 };
            let (run, band) = (width * track, heads * width * track);
            let levels =
                [run, band].map(|sectors| PatternLevel { sectors, turn: fraction((sectors / track) as f64 * 0.2) });
            let region = MapRegion {
                first: 0,
                sectors: 3 * band + (width - 1) * heads * track,
                skip: 0,
                round: 100,
                track,
                turn: 0.2,
                runs: Vec::new(),
                levels: levels[usize::from(width == 1)..].to_vec(),
                angle: 0.0,
                slips: Vec::new(),
                bends: Vec::new(),
            };
            let blocks = region.sectors;
            for sector in (7..blocks).step_by(37) {
                let remaps = vec![(sector, fraction(region.place(sector).angle + 0.31))];
                let map = TrackMap { regions: vec![region.clone()], remaps, guessed: None };
                let geometry = TrackGeometry::new(map, heads, arrangement);
                let plan = layout(&geometry, blocks, 0);
                assert_eq!(plan.tree.as_ref().map(|tree| tree.remaps.len()), Some(1), "{arrangement:?}: {sector}");
                let found = Layout::new(&plan).expect("it is a layout");
                let angle = found.locate(Lbn(sector)).angle as f64 / 18_446_744_073_709_551_616.0;
                let off = crate::estimate::signed_fraction(angle - geometry.map.place(sector).angle);
                // A spare lies on a sector of its track, and the angle need not be that of one.
                assert!(off.abs() < 0.5 / 100.0 + 1e-9, "{arrangement:?}, {sector}: {off}");
            }
        }
    }
}
