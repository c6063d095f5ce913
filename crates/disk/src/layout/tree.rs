//! A layout as a tree of runs (DiskSim's G4): an entry covers blocks by repeating something, a piece of a track or another
//! list of entries, on cylinder after cylinder. What modern drives do with heads, zones and skews it can say without
//! naming each track.

use super::{Kind, Spot, Track, angle};

/// Lists within one another, at most.
const DEPTH: usize = 32;

/// A piece of a track: its sectors from `low` to `high`, on a track of `sectors` sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackPlan {
    /// First physical sector that holds blocks.
    pub low: u32,
    /// Last physical sector that holds blocks, inclusive.
    pub high: u32,
    /// Physical sectors all round the track.
    pub sectors: u32,
}

/// What an entry repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// A piece of a track, by its place among the plan's tracks, on a head.
    Track(u32, u32),
    /// A list of entries, by its place among the plan's lists.
    List(u32),
}

/// An entry: `blocks` blocks from block `first` on, of its list, as repeats of `each`; each repeat is `cylinders` on, and
/// turned by `turn`. Blocks and cylinders count from where the list begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntryPlan {
    /// First block, counted from the entry above.
    pub first: u64,
    /// Cylinder of the first repeat.
    pub cylinder: u32,
    /// Angle of the first repeat, in revolutions.
    pub offset: f64,
    /// Blocks of a repeat.
    pub each: u64,
    /// Cylinders from one repeat to the next.
    pub cylinders: u32,
    /// Turn from one repeat to the next, in revolutions.
    pub turn: f64,
    /// Blocks of all repeats.
    pub blocks: u64,
    /// Whether the cylinders of the repeats descend.
    pub descends: bool,
    /// The entry or tracks that repeat.
    pub child: Child,
}

/// Blocks whose sectors are bad, and where they are instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// First block that lies elsewhere.
    pub first: u64,
    /// How many blocks in a row lie there.
    pub blocks: u64,
    /// Cylinder of the spare.
    pub cylinder: u32,
    /// Head of the spare.
    pub head: u32,
    /// First sector of the spare.
    pub sector: u32,
}

/// A tree as a sheet gives it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreePlan {
    /// Pieces of tracks that entries point to.
    pub tracks: Vec<TrackPlan>,
    /// Lists of entries in ascending blocks; a list refers to lists before it, the last one is the whole drive.
    pub lists: Vec<Vec<EntryPlan>>,
    /// From which place on the medium on how many more places hold no block; less than none where spares end.
    pub slips: Vec<(u64, i64)>,
    /// Blocks that lie elsewhere, in ascending order.
    pub remaps: Vec<Elsewhere>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    plan: EntryPlan,
    offset: u64,
    turn: u64,
}

/// A tree worked out for use.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    tracks: Vec<TrackPlan>,
    lists: Vec<Vec<Entry>>,
    /// From which block on how many places were slipped.
    breaks: Vec<(u64, i64)>,
    remaps: Vec<(Elsewhere, Spot)>,
    blocks: u64,
    cylinders: u32,
}

impl Tree {
    /// Works a plan out, for a drive of so many heads.
    pub(super) fn new(plan: &TreePlan, heads: u32) -> Result<Tree, String> {
        if let Some(i) = plan.tracks.iter().position(|it| it.high < it.low || it.high >= it.sectors) {
            return Err(format!("track {i} of the tree does not lie on its {} sectors", plan.tracks[i].sectors));
        }
        let mut reach: Vec<u64> = Vec::with_capacity(plan.lists.len());
        let mut depths: Vec<usize> = Vec::with_capacity(plan.lists.len());
        for (i, list) in plan.lists.iter().enumerate() {
            let (mut last, mut depth) = (0, 1);
            for (j, entry) in list.iter().enumerate() {
                let bad = |what: &str| format!("entry {j} of list {i} {what}");
                let next = list.get(j + 1).map_or(u64::MAX, |next| next.first);
                if entry.each == 0
                    || entry.blocks == 0
                    || entry.first.checked_add(entry.blocks).is_none_or(|end| end > next)
                {
                    return Err(bad("holds no blocks, or more than fit before the next"));
                }
                let repeats = entry.blocks.div_ceil(entry.each) - 1;
                let moved = repeats.saturating_mul(u64::from(entry.cylinders));
                let inner = match entry.child {
                    Child::Track(track, head) => {
                        let track = plan.tracks.get(track as usize).ok_or_else(|| bad("refers to no track"))?;
                        if entry.each > u64::from(track.high - track.low) + 1 || head >= heads {
                            return Err(bad("does not fit its track, or has no such head"));
                        }
                        0
                    }
                    Child::List(list) if (list as usize) < i => {
                        depth = depth.max(depths[list as usize] + 1);
                        reach[list as usize]
                    }
                    Child::List(list) => return Err(bad(&format!("refers to list {list}, which is not before it"))),
                };
                if entry.descends && moved > u64::from(entry.cylinder) || depth > DEPTH {
                    return Err(bad("descends below cylinder 0, or lies too deep"));
                }
                let moved = if entry.descends { 0 } else { moved };
                last = last.max(u64::from(entry.cylinder) + moved + inner);
            }
            if list.is_empty() || last >= 1 << 24 {
                return Err(format!("list {i} is empty, or has more than 2^24 cylinders"));
            }
            reach.push(last);
            depths.push(depth);
        }
        let root = plan.lists.last().ok_or("a tree needs at least one list")?;
        let mut tree = Tree {
            tracks: plan.tracks.clone(),
            lists: plan.lists.iter().map(|list| list.iter().map(|entry| Entry::new(*entry)).collect()).collect(),
            breaks: Vec::with_capacity(plan.slips.len()),
            remaps: Vec::new(),
            blocks: root.last().map_or(0, |entry| entry.first + entry.blocks),
            cylinders: reach.last().map_or(0, |last| *last as u32 + 1),
        };
        tree.slip(&plan.slips)?;
        for it in &plan.remaps {
            let spot = tree.spare(it).ok_or_else(|| format!("block {} is remapped to no track", it.first))?;
            tree.remaps.push((*it, spot));
        }
        tree.remaps.sort_by_key(|(it, _)| it.first);
        Ok(tree)
    }

    /// Works the slips out, and takes them off the capacity.
    fn slip(&mut self, slips: &[(u64, i64)]) -> Result<(), String> {
        let mut shift = 0i64;
        for (place, count) in slips {
            let from = place.saturating_add_signed(-shift);
            if self.breaks.last().is_some_and(|(last, _)| from < *last) {
                return Err(format!("the slip at {place} does not follow the one before it"));
            }
            shift = shift.saturating_add(*count);
            self.breaks.push((from, shift));
        }
        self.blocks = self.blocks.saturating_add_signed(-shift.max(0)).max(1);
        Ok(())
    }

    pub(super) fn sectors(&self) -> u64 {
        self.blocks
    }

    /// What lies past so many sectors does not exist for anyone.
    pub(super) fn cut(&mut self, sectors: u64) {
        self.blocks = self.blocks.min(sectors);
    }

    pub(super) fn cylinders(&self) -> u32 {
        self.cylinders
    }

    pub(super) fn kinds(&self) -> Vec<Kind> {
        let kind = |track: &TrackPlan| Kind { width: u64::MAX / u64::from(track.sectors), sectors: track.sectors };
        self.tracks.iter().map(kind).collect()
    }

    /// The first sectors of the parts of the drive: the entries of the last list.
    pub(super) fn parts(&self) -> Vec<u64> {
        let root = self.lists.last().map_or(&[][..], Vec::as_slice);
        root.iter().map(|entry| entry.plan.first).filter(|first| *first < self.blocks).collect()
    }

    /// Where a sector lies, which must be on the drive.
    pub(super) fn locate(&self, sector: u64) -> Spot {
        let next = self.remaps.partition_point(|(it, _)| it.first <= sector);
        if let Some((it, spare)) = next.checked_sub(1).map(|i| &self.remaps[i])
            && sector < it.first + it.blocks
        {
            let into = (sector - it.first) as u32;
            return self.along(*spare, into, (it.first + it.blocks - sector) as u32, into);
        }
        let mut before = sector - next.checked_sub(1).map_or(0, |i| self.remaps[i].0.first + self.remaps[i].0.blocks);
        let mut run = self.remaps.get(next).map_or(u64::MAX, |(it, _)| it.first - sector).min(self.blocks - sector);
        let next = self.breaks.partition_point(|(from, _)| *from <= sector);
        run = self.breaks.get(next).map_or(run, |(from, _)| run.min(from - sector));
        let (from, shift) = next.checked_sub(1).map_or((0, 0), |i| self.breaks[i]);
        before = before.min(sector - from);
        let mut place = sector.saturating_add_signed(shift);
        let (mut cylinder, mut turned) = (0u32, 0u64);
        let mut list = self.lists.len() - 1;
        loop {
            let entries = &self.lists[list];
            let i = entries.partition_point(|entry| entry.plan.first <= place).saturating_sub(1);
            let Entry { plan, offset, turn } = &entries[i];
            // A place no entry covers is taken for the last one before it.
            let within = (place - plan.first).min(plan.blocks - 1);
            let (repeat, rest) = (within / plan.each, within % plan.each);
            // Of what it repeats, an entry may end in the middle.
            run = run.min(plan.each - rest).min(plan.blocks - within);
            before = before.min(rest);
            let moved = repeat as u32 * plan.cylinders;
            cylinder += if plan.descends { plan.cylinder - moved } else { plan.cylinder + moved };
            turned = turned.wrapping_add(*offset).wrapping_add(turn.wrapping_mul(repeat));
            place = rest;
            match plan.child {
                Child::List(inner) => list = inner as usize,
                Child::Track(track, head) => {
                    let piece = &self.tracks[track as usize];
                    let track = Track { zone: track, cylinder, head };
                    let first = Spot { track, sector: piece.low, angle: turned, ..Spot::default() };
                    return self.along(first, rest as u32, run as u32, before as u32);
                }
            }
        }
    }

    /// The place so many sectors on, of which `before` precede it without a gap.
    fn along(&self, first: Spot, sectors: u32, left: u32, before: u32) -> Spot {
        let width = u64::MAX / u64::from(self.tracks[first.track.zone as usize].sectors);
        let angle = first.angle.wrapping_add(width.wrapping_mul(u64::from(sectors)));
        Spot { sector: first.sector + sectors, angle, left, before, ..first }
    }

    /// Where a spare lies.
    fn spare(&self, it: &Elsewhere) -> Option<Spot> {
        let (track, turned) = self.find(self.lists.len() - 1, u64::from(it.cylinder), (it.head, it.sector))?;
        let piece = &self.tracks[track as usize];
        if u64::from(it.sector) + it.blocks > u64::from(piece.sectors) {
            return None;
        }
        let track = Track { zone: track, cylinder: it.cylinder, head: it.head };
        let width = u64::MAX / u64::from(piece.sectors);
        let from_low = u64::from(it.sector).wrapping_sub(u64::from(piece.low));
        let angle = turned.wrapping_add(width.wrapping_mul(from_low));
        Some(Spot { track, sector: it.sector, angle, remapped: true, ..Spot::default() })
    }

    /// The track of a cylinder that has this head and sector, and the angle of the piece's first sector. The tree is not
    /// deep.
    fn find(&self, list: usize, cylinder: u64, (head, sector): (u32, u32)) -> Option<(u32, u64)> {
        self.lists[list].iter().find_map(|Entry { plan, offset, turn }| {
            let repeats = plan.blocks.div_ceil(plan.each);
            let step = u64::from(plan.cylinders).max(1);
            let (repeat, rest) = if plan.descends {
                let distance = u64::from(plan.cylinder).checked_sub(cylinder)?;
                (distance.div_ceil(step), distance.next_multiple_of(step) - distance)
            } else {
                let distance = cylinder.checked_sub(u64::from(plan.cylinder))?;
                (distance / step, distance % step)
            };
            if repeat >= repeats {
                return None;
            }
            let turned = offset.wrapping_add(turn.wrapping_mul(repeat));
            match plan.child {
                Child::Track(track, on) => {
                    let there = on == head && rest == 0 && sector < self.tracks[track as usize].sectors;
                    there.then_some((track, turned))
                }
                Child::List(inner) => {
                    let (track, more) = self.find(inner as usize, rest, (head, sector))?;
                    Some((track, turned.wrapping_add(more)))
                }
            }
        })
    }
}

impl Entry {
    fn new(plan: EntryPlan) -> Entry {
        Entry { plan, offset: angle(plan.offset), turn: angle(plan.turn) }
    }
}
