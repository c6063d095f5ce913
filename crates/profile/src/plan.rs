//! A geometry as a drive file has it: a tree of runs (see [`disk::TreePlan`]).

use crate::estimate::fraction;
use crate::map::{Arrangement, Geometry, Region};
use disk::{Child, EntryPlan, LayoutPlan, TrackPlan, TreePlan};
use std::collections::BTreeMap;

/// A tree as it grows. Places are sectors of the medium, slipped ones included, from the drive's first.
struct Tree<'g> {
    geometry: &'g Geometry,
    plan: TreePlan,
    pieces: BTreeMap<(u32, u32, u32), u32>,
    root: Vec<EntryPlan>,
}

/// What repeats in a region: a cylinder or a band.
struct Unit {
    sectors: u64,
    cylinders: u64,
    turn: f64,
    list: u32,
}

/// The layout of a geometry on a drive of so many blocks, with sectors of 2^`shift` blocks.
#[must_use]
pub fn layout(geometry: &Geometry, blocks: u64, shift: u32) -> LayoutPlan {
    let mut tree = Tree { geometry, plan: TreePlan::default(), pieces: BTreeMap::new(), root: Vec::new() };
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
    let Tree { mut plan, root, .. } = tree;
    plan.lists.push(root);
    LayoutPlan {
        heads: geometry.heads as u32,
        sector_blocks: 1 << shift,
        tree: Some(plan),
        blocks: Some(blocks),
        ..LayoutPlan::default()
    }
}

impl Tree<'_> {
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
        let unit = self.unit(region, None);
        let whole = from.next_multiple_of(unit.sectors).min(to);
        self.tracks(index, (from, whole), place(from));
        // A period beyond the unit turns otherwise at its end.
        let beyond = region.levels.iter().map(|level| level.sectors).find(|sectors| *sectors > unit.sectors);
        let narrow = self.narrow(region, &unit, to);
        let mut at = whole;
        while at < narrow {
            let next = beyond.map_or(narrow, |beyond| ((at / beyond + 1) * beyond).min(narrow));
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
        if at < to {
            let width = (to - at).div_ceil(region.track).div_ceil(geometry.heads);
            let last = self.unit(region, Some(width));
            self.root.push(EntryPlan {
                first: place(at),
                cylinder: (base + at / unit.sectors * unit.cylinders) as u32,
                offset: region.place_at(at).angle,
                each: last.sectors,
                cylinders: 0,
                turn: 0.0,
                blocks: to - at,
                descends: false,
                child: Child::List(last.list),
            });
        }
    }

    /// Where a last, narrower band begins; the end, if there is none.
    fn narrow(&self, region: &Region, unit: &Unit, to: u64) -> u64 {
        let left = to % unit.sectors;
        let fits = left > 0 && left.is_multiple_of(region.track * self.geometry.heads);
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
            let track = self.piece(there.sector, there.sector + count - 1, region.round);
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

    /// The unit of a region: a cylinder, or a band of a width if it is not the usual one.
    fn unit(&mut self, region: &Region, width: Option<u64>) -> Unit {
        let heads = self.geometry.heads;
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
                Unit { sectors, cylinders: 1, turn: fraction(turn), list: 0 }
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
                Unit { sectors: heads * width * region.track, cylinders: width, turn: fraction(band), list: 0 }
            }
        };
        let known = self.plan.lists.iter().position(|list| *list == entries);
        let list = known.unwrap_or_else(|| {
            self.plan.lists.push(entries);
            self.plan.lists.len() - 1
        });
        Unit { list: list as u32, ..unit }
    }
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
