//! Where blocks lie: on layouts of every order, `locate`, `block_at` and `next_track` agree with a plain list of all
//! sectors in filling order.

mod common;

use block::Lbn;
use common::{check, plans};
use disk::{Layout, LayoutPlan, Order, ZonePlan};
use proptest::prelude::*;

#[test]
fn every_block_lies_where_the_list_of_sectors_has_it_and_is_found_there() {
    check(400, plans::plans(), |plan| {
        let layout = Layout::new(&plan).map_err(TestCaseError::fail)?;
        let list = plans::sectors(&plan);
        let per = u64::from(plan.sector_blocks);
        prop_assert_eq!(layout.blocks(), plan.blocks.unwrap_or(list.len() as u64 * per));
        for (i, sector) in list.iter().enumerate() {
            let first = i as u64 * per;
            for lbn in (first..first + per).filter(|lbn| *lbn < layout.blocks()) {
                let spot = layout.locate(Lbn(lbn));
                let got = (spot.track.zone, spot.track.index, spot.track.cylinder, spot.track.head, spot.sector);
                prop_assert_eq!(got, (sector.zone, sector.track, sector.cylinder, sector.head, sector.sector));
                prop_assert!(plans::apart(spot.angle, sector.angle) < 1e-9, "{sector:?}: {}", spot.angle);
            }
            let found = layout.block_at(sector.cylinder, sector.head, sector.sector);
            prop_assert_eq!(found, (first < layout.blocks()).then_some(Lbn(first)));
        }
        Ok(())
    });
}

#[test]
fn no_block_lies_on_spares_between_zones_or_past_the_capacity() {
    check(200, plans::plans(), |plan| {
        let layout = Layout::new(&plan).map_err(TestCaseError::fail)?;
        let list = plans::sectors(&plan);
        let most = plan.zones.iter().map(|zone| zone.sectors).max().unwrap_or(0);
        let mut found = 0;
        for cylinder in 0..layout.cylinders() + 2 {
            for head in 0..plan.heads + 2 {
                for sector in 0..most + 2 {
                    let Some(lbn) = layout.block_at(cylinder, head, sector) else { continue };
                    found += 1;
                    let there = list[(lbn.0 / u64::from(plan.sector_blocks)) as usize];
                    prop_assert_eq!((there.cylinder, there.head, there.sector), (cylinder, head, sector));
                }
            }
        }
        prop_assert_eq!(found, layout.blocks().div_ceil(u64::from(plan.sector_blocks)));
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
fn the_next_track_is_where_the_block_after_the_last_of_a_track_lies() {
    check(200, plans::plans(), |plan| {
        let whole = LayoutPlan { blocks: None, ..plan };
        let layout = Layout::new(&whole).map_err(TestCaseError::fail)?;
        let list = plans::sectors(&whole);
        let spot = |i: usize| layout.locate(Lbn(i as u64 * u64::from(whole.sector_blocks)));
        for (i, sector) in list.iter().enumerate() {
            let here = spot(i);
            let ends = list.get(i + 1).is_none_or(|next| (next.zone, next.track) != (sector.zone, sector.track));
            prop_assert_eq!(ends, here.sector + 1 == layout.sectors_on(here.track));
            if ends {
                prop_assert_eq!(layout.next_track(here.track), (i + 1 < list.len()).then(|| spot(i + 1)));
            }
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
        spares: 0,
    }
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
        let plan =
            LayoutPlan { heads, order: Order::BandSerpentine(3), sector_blocks: 8, zones: vec![zone(5)], blocks: None };
        let layout = Layout::new(&plan).unwrap();
        for (i, (cylinder, head)) in expected.iter().enumerate() {
            let track = layout.locate(Lbn(i as u64 * 80)).track;
            assert_eq!((track.cylinder, track.head), (*cylinder, *head), "track {i} of {heads} heads");
        }
    }
}

#[test]
fn a_block_past_the_end_is_taken_for_the_last_one() {
    let plan =
        LayoutPlan { heads: 2, order: Order::HeadsFirst, sector_blocks: 1, zones: vec![zone(3)], blocks: Some(47) };
    let layout = Layout::new(&plan).unwrap();
    let last = layout.locate(Lbn(46));
    assert_eq!((last.track.cylinder, last.track.head, last.sector), (2, 0, 6));
    for past in [47, 60, u64::MAX] {
        assert_eq!(layout.locate(Lbn(past)), last);
    }
}

#[test]
fn a_plan_that_is_no_disk_is_refused_in_words() {
    let good = LayoutPlan { heads: 2, order: Order::HeadsFirst, sector_blocks: 1, zones: vec![zone(3)], blocks: None };
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
        spares: 0,
    };
    let plan = LayoutPlan {
        heads: 2,
        order: Order::HeadsFirst,
        sector_blocks: 1,
        zones: vec![zone(0, 9), zone(10, 19), zone(20, 29)],
        blocks: Some(2_050),
    };
    let layout = Layout::new(&plan).unwrap();
    assert_eq!((layout.zones(), layout.cylinders(), layout.blocks()), (2, 30, 2_050));
    assert_eq!(layout.zone_blocks(1), (Lbn(2_000), Lbn(2_049)));
    assert_eq!(layout.sectors_on(layout.locate(Lbn(2_049)).track), 50);
    assert_eq!(layout.next_track(layout.locate(Lbn(2_049)).track), None);
}
