//! Where blocks lie: on layouts of every order and scheme of sparing, `locate` and `track_bounds` agree with a plain
//! list of all sectors in filling order.

mod common;

use block::Lbn;
use common::{check, plans};
use disk::{Layout, LayoutPlan, Order, ZonePlan};
use proptest::prelude::*;

/// Where every block of a plan lies, how far the ones after it follow, and on which track, by the plain list.
fn agrees(plan: &LayoutPlan) -> Result<(), TestCaseError> {
    let layout = Layout::new(plan).map_err(TestCaseError::fail)?;
    let list = plans::sectors(plan);
    let per = u64::from(plan.sector_blocks);
    prop_assert_eq!(layout.blocks(), plan.blocks.unwrap_or(list.len() as u64 * per));
    let list = &list[..layout.blocks().div_ceil(per) as usize];
    for (i, sector) in list.iter().enumerate() {
        let first = i as u64 * per;
        for lbn in (first..first + per).filter(|lbn| *lbn < layout.blocks()) {
            let spot = layout.locate(Lbn(lbn));
            let got = (spot.track.zone, spot.track.cylinder, spot.track.head, spot.sector, spot.remapped);
            let expected = (sector.zone, sector.cylinder, sector.head, sector.sector, sector.remapped);
            prop_assert_eq!(got, expected, "block {} of {:?}", lbn, sector);
            prop_assert_eq!(layout.zone_of(Lbn(lbn)), sector.zone, "block {} of {:?}", lbn, sector);
            prop_assert!(plans::apart(spot.angle, sector.angle) < 1e-9, "{sector:?}: {}", spot.angle);
            for n in [1, layout.heads() - 1, layout.heads()] {
                let Some(first) = layout.beneath(Lbn(lbn)).and_then(|it| it.first_block(n)) else { continue };
                let there = layout.locate(first);
                let expected = (spot.track.cylinder, (spot.track.head + n) % layout.heads(), 0);
                prop_assert_eq!((there.track.cylinder, there.track.head, there.sector), expected, "{} heads on", n);
                prop_assert!(n < layout.heads() && !spot.remapped);
            }
            let mut run = list[i..].windows(2).take_while(|pair| {
                let [a, b] = pair else { return false };
                let on = (a.zone, a.track, a.physical + 1) == (b.zone, b.track, b.physical);
                on && a.remapped == b.remapped && !b.remapped
            });
            let run = run.by_ref().count() as u32 + 1;
            let moved_tracks = plan.sparing == disk::Sparing::Tracks && sector.remapped;
            prop_assert!(spot.left == run || moved_tracks, "block {lbn}: {} follow, not {run}", spot.left);
            let first = layout.locate(Lbn((i as u64 - u64::from(spot.before)) * per));
            prop_assert_eq!(first.on(spot.before, layout.sector_angle(spot.track.zone)), spot, "block {}", lbn);
            let next = list.get(i + spot.left as usize);
            let elsewhere = next.is_some_and(|next| !next.remapped && next.track != sector.track);
            prop_assert!(elsewhere || !spot.ends_track, "block {lbn}: {spot:?} before {next:?}");
        }
    }
    Ok(())
}

#[test]
fn every_block_lies_where_the_list_of_sectors_has_it() {
    check(400, plans::plans(), |plan| agrees(&plan));
}

#[test]
fn slips_spares_and_remaps_of_every_scheme_are_where_striking_sectors_out_one_by_one_has_them() {
    check(3000, plans::defective(), |plan| agrees(&plan));
}

#[test]
fn no_two_blocks_lie_on_one_sector() {
    check(500, prop_oneof![plans::plans(), plans::defective()], |plan| {
        let layout = Layout::new(&plan).map_err(TestCaseError::fail)?;
        let step = plan.sector_blocks as usize;
        let mut places: Vec<_> = (0..layout.blocks())
            .step_by(step)
            .map(|lbn| {
                let spot = layout.locate(Lbn(lbn));
                (spot.track.cylinder, spot.track.head, spot.sector)
            })
            .collect();
        let all = places.len();
        places.sort_unstable();
        places.dedup();
        prop_assert_eq!(places.len(), all);
        Ok(())
    });
}

#[test]
fn a_track_begins_and_ends_where_its_blocks_do() {
    check(500, prop_oneof![plans::plans(), plans::defective()], |plan| {
        let layout = Layout::new(&plan).map_err(TestCaseError::fail)?;
        let per = u64::from(plan.sector_blocks);
        let spots: Vec<_> = (0..layout.blocks()).step_by(per as usize).map(|lbn| layout.locate(Lbn(lbn))).collect();
        for (i, spot) in spots.iter().enumerate().filter(|(_, spot)| !spot.remapped) {
            let on = |spot_: &&disk::Spot| spot_.remapped || spot_.track == spot.track;
            // A remapped block beside the track's own counts to it.
            let mut first = i - spots[..i].iter().rev().take_while(on).count();
            let mut last = i + spots[i..].iter().take_while(on).count() - 1;
            let (from, to) = layout.track_bounds(Lbn(i as u64 * per));
            let (from, to) = ((from.0 / per) as usize, (to.0.div_ceil(per) as usize) - 1);
            while first < i && spots[first].remapped && first < from {
                first += 1;
            }
            while last > i && spots[last].remapped && last > to {
                last -= 1;
            }
            prop_assert!((first..=i).contains(&from) && (i..=last).contains(&to), "{i}: {from}..{to}, {first}..{last}");
            let inner_first = first + spots[first..=i].iter().take_while(|spot| spot.remapped).count();
            prop_assert!(from <= inner_first && to >= i, "{i}: {from} {inner_first}");
        }
        Ok(())
    });
}

#[test]
fn sectors_of_a_track_follow_one_another_without_a_gap() {
    check(100, plans::plans(), |plan| {
        let layout = Layout::new(&plan).map_err(TestCaseError::fail)?;
        let per = u64::from(plan.sector_blocks);
        for lbn in (per..layout.blocks()).step_by(per as usize) {
            let (before, here) = (layout.locate(Lbn(lbn - per)), layout.locate(Lbn(lbn)));
            let width = layout.sector_angle(here.track.zone);
            if here.track == before.track {
                prop_assert_eq!(here.angle.wrapping_sub(before.angle), width);
            }
            let turn = u128::from(width) * u128::from(layout.track_sectors(here.track.zone));
            prop_assert!((1 << 64) - turn <= u128::from(layout.track_sectors(here.track.zone)));
        }
        Ok(())
    });
}

#[test]
fn zones_share_the_blocks_out_without_a_gap() {
    check(200, plans::plans(), |plan| {
        let whole = LayoutPlan { blocks: None, ..plan };
        let layout = Layout::new(&whole).map_err(TestCaseError::fail)?;
        let mut next = 0;
        for zone in 0..layout.zones() {
            let (first, last) = layout.zone_blocks(zone);
            prop_assert_eq!(first.0, next);
            prop_assert_eq!((layout.locate(first).track.zone, layout.locate(last).track.zone), (zone, zone));
            next = last.0 + 1;
        }
        prop_assert_eq!(next, layout.blocks());
        Ok(())
    });
}

/// A zone of `cylinders` from cylinder 0, ten sectors a track.
fn zone(cylinders: u32) -> ZonePlan {
    ZonePlan {
        first_cylinder: 0,
        last_cylinder: cylinders - 1,
        sectors: 10,
        head_skew: 0.1,
        cylinder_skew: 0.3,
        ..ZonePlan::default()
    }
}

/// A layout of these zones.
fn plan(heads: u32, order: Order, sector_blocks: u32, zones: Vec<ZonePlan>) -> LayoutPlan {
    LayoutPlan { heads, order, sector_blocks, zones, ..LayoutPlan::default() }
}

#[test]
fn bands_run_forth_and_back_and_the_last_may_be_short() {
    for (heads, expected) in [
        (2, [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1), (3, 0), (4, 0), (4, 1), (3, 1)].as_slice()),
        (
            3,
            [
                (0, 0),
                (1, 0),
                (2, 0),
                (2, 1),
                (1, 1),
                (0, 1),
                (0, 2),
                (1, 2),
                (2, 2),
                (3, 0),
                (4, 0),
                (4, 1),
                (3, 1),
                (3, 2),
            ]
            .as_slice(),
        ),
    ] {
        let layout = Layout::new(&plan(heads, Order::BandSerpentine(3), 8, vec![zone(5)])).unwrap();
        for (i, (cylinder, head)) in expected.iter().enumerate() {
            let track = layout.locate(Lbn(i as u64 * 80)).track;
            assert_eq!((track.cylinder, track.head), (*cylinder, *head), "track {i} of {heads} heads");
        }
    }
}

#[test]
fn a_block_past_the_end_is_taken_for_the_last_one() {
    let plan = LayoutPlan { blocks: Some(47), ..plan(2, Order::HeadsFirst, 1, vec![zone(3)]) };
    let layout = Layout::new(&plan).unwrap();
    let last = layout.locate(Lbn(46));
    assert_eq!((last.track.cylinder, last.track.head, last.sector), (2, 0, 6));
    for past in [47, 60, u64::MAX] {
        assert_eq!(layout.locate(Lbn(past)), last);
    }
}

#[test]
fn a_plan_that_is_no_disk_is_refused_in_words() {
    let good = plan(2, Order::HeadsFirst, 1, vec![zone(3)]);
    assert!(Layout::new(&good).is_ok());
    let with_zone = |change: fn(&mut ZonePlan)| {
        let mut plan = good.clone();
        change(&mut plan.zones[0]);
        plan
    };
    let bad = [
        (LayoutPlan { heads: 0, ..good.clone() }, "at least one zone and one head"),
        (LayoutPlan { zones: vec![], ..good.clone() }, "at least one zone and one head"),
        (LayoutPlan { sector_blocks: 3, ..good.clone() }, "power of two"),
        (LayoutPlan { order: Order::BandSerpentine(0), ..good.clone() }, "a band holds"),
        (LayoutPlan { blocks: Some(61), ..good.clone() }, "the zones hold 60"),
        (LayoutPlan { zones: vec![zone(3), zone(3)], ..good.clone() }, "inside the zone before it"),
        (with_zone(|zone| zone.sectors = 0), "no sectors"),
        (with_zone(|zone| zone.spares = 60), "more spares than sectors"),
        (with_zone(|zone| zone.slips = vec![3, 3]), "slips that do not ascend"),
        (with_zone(|zone| zone.slips = vec![60]), "past its end"),
        (with_zone(|zone| zone.remaps = vec![(0, 60)]), "remaps past its end"),
        (with_zone(|zone| zone.reserved = 60), "more spares than sectors"),
        (with_zone(|zone| zone.first_cylinder = 3), "before it begins"),
        (with_zone(|zone| zone.last_cylinder = 1 << 24), "at most 2^24"),
    ];
    for (plan, part) in bad {
        let error = Layout::new(&plan).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn zones_past_the_capacity_are_no_zones() {
    let zone = |first_cylinder, last_cylinder| ZonePlan {
        first_cylinder,
        last_cylinder,
        sectors: 100,
        head_skew: 0.1,
        cylinder_skew: 0.1,
        ..ZonePlan::default()
    };
    let zones = vec![zone(0, 9), zone(10, 19), zone(20, 29)];
    let plan = LayoutPlan { blocks: Some(2_050), ..plan(2, Order::HeadsFirst, 1, zones) };
    let layout = Layout::new(&plan).unwrap();
    assert_eq!((layout.zones(), layout.cylinders(), layout.blocks()), (2, 30, 2_050));
    assert_eq!(layout.zone_blocks(1), (Lbn(2_000), Lbn(2_049)));
    assert_eq!(layout.locate(Lbn(2_000)).left, 50);
    assert_eq!(layout.track_bounds(Lbn(2_049)), (Lbn(2_000), Lbn(2_050)));
}

#[test]
fn the_tracks_beneath_one_are_found_on_drives_of_every_order() {
    for model in ["nl20", "atlas10k", "st318437lw"] {
        let layout = disk::catalogue::find(model).unwrap().sheet.mechanics.layout.clone();
        let places = (0..1000).map(|i| Lbn(layout.blocks() / 1000 * i));
        let found = places.filter(|lbn| {
            let spot = layout.locate(*lbn);
            layout.beneath(*lbn).and_then(|it| it.first_block(1)).map(|first| layout.locate(first).track).is_some_and(
                |there| (there.cylinder, there.head) == (spot.track.cylinder, (spot.track.head + 1) % layout.heads()),
            )
        });
        assert!(found.count() >= 990, "{model}");
    }
}
