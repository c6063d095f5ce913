//! Layouts given as a tree of runs: `locate` agrees with the tree written out place by place.

use block::Lbn;
use disk::{Child, Elsewhere, EntryPlan, Layout, LayoutPlan, TrackPlan, TreePlan, disksim};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use std::path::Path;

const HEADS: u32 = 3;

/// A place on the medium: track, cylinder, head, sector, angle in revolutions.
type Place = (u32, u32, u32, u32, f64);

/// All places of a list in order, from a cylinder and an angle on.
fn places(plan: &TreePlan, list: usize, cylinder: i64, angle: f64, all: &mut Vec<Place>) {
    for entry in &plan.lists[list] {
        let before = all.len() as u64;
        let mut repeat = 0;
        while all.len() as u64 - before < entry.blocks {
            let way = if entry.descends { -1 } else { 1 };
            let at = cylinder + i64::from(entry.cylinder) + way * repeat * i64::from(entry.cylinders);
            let turned = angle + entry.offset + entry.turn * repeat as f64;
            let begin = all.len();
            match entry.child {
                Child::List(inner) => places(plan, inner as usize, at, turned, all),
                Child::Track(track, head) => {
                    let piece = plan.tracks[track as usize];
                    all.extend((piece.low..=piece.high).map(|sector| {
                        let width = 1.0 / f64::from(piece.sectors);
                        (track, at as u32, head, sector, turned + f64::from(sector - piece.low) * width)
                    }));
                }
            }
            all.truncate(begin + entry.each as usize);
            repeat += 1;
        }
        all.truncate((before + entry.blocks) as usize);
    }
}

/// Tracks of up to nine sectors, a list of runs over them, and a root that repeats it.
fn plans() -> impl Strategy<Value = TreePlan> {
    let track = (0..3u32, 0..6u32, 0..3u32).prop_map(|(low, more, past)| TrackPlan {
        low,
        high: low + more,
        sectors: low + more + 1 + past,
    });
    let run = (0..4usize, 1..5u64, any::<bool>(), 0.0..1.0f64, 0.0..0.5f64, 0..HEADS);
    let upper = (1..4u64, 0.0..1.0f64, 0.0..0.5f64);
    let lists = (prop::collection::vec(run, 1..5), prop::collection::vec(upper, 1..4));
    let marks = prop::collection::vec((any::<prop::sample::Index>(), 1..3i64), 0..5);
    (prop::collection::vec(track, 4), lists, marks, any::<bool>()).prop_map(|(tracks, (runs, uppers), marks, remap)| {
        let mut lower = Vec::new();
        let mut first = 0;
        for (track, repeats, descends, offset, turn, head) in runs {
            let each = u64::from(tracks[track].high - tracks[track].low) + 1;
            let cylinder = if descends { 2 * (repeats as u32 - 1) } else { 0 };
            let (blocks, child) = (each * repeats, Child::Track(track as u32, head));
            lower.push(EntryPlan { first, cylinder, offset, each, cylinders: 2, turn, blocks, descends, child });
            first += blocks;
        }
        let each = first;
        let (mut root, mut first, mut cylinder) = (Vec::new(), 0, 0);
        for (repeats, offset, turn) in uppers {
            let blocks = each * repeats;
            let child = Child::List(0);
            root.push(EntryPlan { first, cylinder, offset, each, cylinders: 10, turn, blocks, descends: false, child });
            (first, cylinder) = (first + blocks, cylinder + 10 * repeats as u32);
        }
        let mut slips: Vec<(u64, i64)> =
            marks.iter().map(|(index, count)| (index.index(first as usize) as u64, *count)).collect();
        slips.sort_unstable();
        slips.dedup_by(|a, b| a.0 < b.0 + b.1 as u64 + 1);
        let slipped: i64 = slips.iter().map(|(_, count)| count).sum();
        if slipped as u64 + 1 >= first || slips.last().is_some_and(|(at, count)| at + *count as u64 >= first) {
            slips.clear();
        }
        let lists = vec![lower, root];
        let mut plan = TreePlan { tracks, lists, slips, remaps: Vec::new() };
        if remap {
            let mut all = Vec::new();
            places(&plan, 1, 0, 0.0, &mut all);
            let (_, cylinder, head, sector, _) = all[all.len() - 1];
            plan.remaps.push(Elsewhere { first: 0, blocks: 1, cylinder, head, sector });
        }
        plan
    })
}

#[test]
fn every_block_lies_where_the_tree_written_out_has_it() {
    let seed = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let config = Config { cases: 2000, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    let agrees = |tree: TreePlan| {
        let mut all = Vec::new();
        places(&tree, 1, 0, 0.0, &mut all);
        let mut data: Vec<(usize, Place)> = all.into_iter().enumerate().collect();
        data.retain(|(i, _)| !tree.slips.iter().any(|(at, n)| (*at..at + *n as u64).contains(&(*i as u64))));
        let remaps = tree.remaps.clone();
        let plan = LayoutPlan { heads: HEADS, sector_blocks: 1, tree: Some(tree), ..LayoutPlan::default() };
        let layout = Layout::new(&plan).map_err(TestCaseError::fail)?;
        prop_assert_eq!(layout.blocks(), data.len() as u64);
        for (lbn, (i, (track, cylinder, head, sector, angle))) in data.iter().enumerate() {
            let spot = layout.locate(Lbn(lbn as u64));
            if remaps.iter().any(|it| it.first == lbn as u64) {
                let (cylinder, head, sector) = (spot.track.cylinder, spot.track.head, spot.sector);
                let at = Elsewhere { first: lbn as u64, blocks: 1, cylinder, head, sector };
                prop_assert!(remaps.contains(&at) && spot.remapped && spot.left == 1, "{:?}", spot);
                continue;
            }
            let got = (spot.track.zone, spot.track.cylinder, spot.track.head, spot.sector, spot.remapped);
            prop_assert_eq!(got, (*track, *cylinder, *head, *sector, false), "block {}", lbn);
            let off = spot.angle as f64 / 18_446_744_073_709_551_616.0 - angle;
            prop_assert!((off - off.round()).abs() < 1e-9, "block {} at {}, not {}", lbn, spot.angle, angle);
            let follows = |pair: &&[(usize, Place)]| {
                let [(a, (t, c, h, s, _)), (b, (u, d, g, r, _))] = pair else { return false };
                a + 1 == *b && (t, c, h, s + 1) == (u, d, g, *r)
            };
            let run = data[lbn..].windows(2).take_while(follows).count() as u32 + 1;
            prop_assert!(spot.left >= 1 && spot.left <= run, "block {lbn} ({i}): {} follow, not {run}", spot.left);
        }
        Ok(())
    };
    if let Err(error) = TestRunner::new(config).run(&plans(), agrees) {
        panic!("{error}\nHALFTURN_SEED={seed}");
    }
}

#[test]
fn what_repeats_may_end_in_the_middle_of_a_track() {
    let track = TrackPlan { low: 0, high: 9, sectors: 10 };
    let entry = |first, cylinder, (each, blocks), child| EntryPlan {
        first,
        cylinder,
        offset: 0.0,
        each,
        cylinders: 1,
        turn: 0.1,
        blocks,
        descends: false,
        child,
    };
    let cylinder = vec![entry(0, 0, (10, 10), Child::Track(0, 0)), entry(10, 0, (10, 10), Child::Track(0, 1))];
    let root = vec![entry(0, 0, (20, 35), Child::List(0)), entry(35, 7, (20, 40), Child::List(0))];
    let tree = TreePlan { tracks: vec![track], lists: vec![cylinder, root], ..TreePlan::default() };
    let plan = LayoutPlan { heads: 2, sector_blocks: 1, tree: Some(tree), ..LayoutPlan::default() };
    let layout = Layout::new(&plan).expect("it is a layout");
    assert_eq!((layout.locate(Lbn(32)).left, layout.track_bounds(Lbn(32))), (3, (Lbn(30), Lbn(35))));
    assert_eq!((layout.locate(Lbn(35)).left, layout.locate(Lbn(35)).track.cylinder), (10, 7));
}

#[test]
fn a_tree_that_is_no_layout_is_refused_in_words() {
    let track = TrackPlan { low: 0, high: 9, sectors: 10 };
    let entry = EntryPlan {
        first: 0,
        cylinder: 0,
        offset: 0.0,
        each: 10,
        cylinders: 1,
        turn: 0.1,
        blocks: 100,
        descends: false,
        child: Child::Track(0, 0),
    };
    let good = TreePlan { tracks: vec![track], lists: vec![vec![entry]], ..TreePlan::default() };
    let of = |tree: TreePlan| {
        Layout::new(&LayoutPlan { heads: 1, sector_blocks: 1, tree: Some(tree), ..LayoutPlan::default() })
    };
    assert!(of(good.clone()).is_ok());
    let with = |change: &dyn Fn(&mut EntryPlan)| {
        let mut tree = good.clone();
        change(&mut tree.lists[0][0]);
        tree
    };
    let bad = [
        (TreePlan { lists: vec![], ..good.clone() }, "at least one list"),
        (TreePlan { lists: vec![vec![]], ..good.clone() }, "is empty"),
        (TreePlan { tracks: vec![TrackPlan { high: 10, ..track }], ..good.clone() }, "does not lie"),
        (with(&|it| it.each = 0), "holds no blocks"),
        (with(&|it| it.each = 11), "does not fit its track"),
        (with(&|it| it.child = Child::Track(1, 0)), "refers to no track"),
        (with(&|it| it.child = Child::Track(0, 1)), "no such head"),
        (with(&|it| it.child = Child::List(0)), "not before it"),
        (with(&|it| it.descends = true), "descends below"),
        (with(&|it| it.cylinders = 1 << 24), "more than 2^24"),
        (TreePlan { lists: vec![vec![entry, entry]], ..good.clone() }, "more than fit"),
        (TreePlan { slips: vec![(50, 1), (20, 1)], ..good.clone() }, "does not follow"),
    ];
    for (tree, part) in bad {
        let error = of(tree).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn the_drives_given_as_trees_put_no_two_blocks_on_one_sector() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/drives/disksim-g4");
    if !folder.is_dir() {
        println!("SKIPPED: {} is not there; its drives were NOT read", folder.display());
        return;
    }
    for file in ["G4_LBA_64bit_4T.diskspecs", "maxtor300g.diskspecs"] {
        let layout = disksim::load(&folder.join(file), None).unwrap().drive.sheet.mechanics.layout.clone();
        for part in 0..40 {
            let from = layout.blocks() / 40 * part;
            let mut places: Vec<_> = (from..(from + 20_000).min(layout.blocks()))
                .map(|lbn| {
                    let spot = layout.locate(Lbn(lbn));
                    assert!(spot.track.cylinder < layout.cylinders() && spot.track.head < layout.heads(), "{spot:?}");
                    assert!(spot.sector < layout.track_sectors(spot.track.zone) && spot.left > 0, "{spot:?}");
                    (spot.track.cylinder, spot.track.head, spot.sector)
                })
                .collect();
            let all = places.len();
            places.sort_unstable();
            places.dedup();
            assert_eq!(places.len(), all, "{file}: from block {from}");
        }
    }
}
