//! Surveys of platters that are known, slips and sectors elsewhere included.

use super::*;
use crate::draw::ProbeDraw;
use crate::estimate::signed_fraction;
use crate::platter::{Platter, with_eye};

/// Surveys a platter, or looks at it otherwise.
fn with_survey<T>(platter: &mut Platter, map: TrackMap, look: impl FnOnce(&mut MapSurvey<Platter>) -> T) -> T {
    with_eye(platter, |eye| look(&mut MapSurvey { eye, map, until: Time::NEVER, regular_until: 0 }))
}

/// What a sector's angle is off from where a map has it, in sectors.
fn off(ours: &TrackMap, theirs: &TrackMap, sector: u64) -> f64 {
    let there = theirs.place(sector);
    signed_fraction(ours.place(sector).angle - there.angle) * f64::from(there.round)
}

/// A platter of some zones, with slips and, where that is wanted, sectors elsewhere, some of them in a row.
fn draw_platter(draw: &mut ProbeDraw, elsewhere: u64) -> Platter {
    let heads = 1 + draw.below(4);
    let zones: Vec<(u64, u32)> =
        (0..=draw.below(2)).map(|_| (40 + draw.below(60), 140 + draw.below(120) as u32)).collect();
    let mut platter = Platter::of_zones(heads, &zones);
    let map = &mut platter.geometry.map;
    for region in &mut map.regions {
        let (mut at, mut shift) = (region.first, 0);
        loop {
            at += region.track * (8 + draw.below(60)) + draw.below(region.track);
            if at + 12 * region.track > region.end() {
                break;
            }
            shift += 1 + draw.below(2) as i64;
            region.slips.push((at, shift));
        }
        let mut at = region.first + 20 * region.track;
        for _ in 0..elsewhere {
            at += 2 * region.track + draw.below(4 * region.track);
            if at + 12 * region.track > region.end() {
                break;
            }
            // At the edge of a track some that lie elsewhere may pass for a region of their own.
            at = region.track_start(at) + 10 + draw.below(region.track - 30);
            for sector in at..at + 1 + draw.below(4) {
                map.remaps.push((sector, draw.unit()));
            }
        }
    }
    platter
}

/// Every sector is where the platter has it, but for those elsewhere that were not met; those that were are where they are.
#[test]
fn a_survey_finds_every_sector_of_a_platter_where_it_is() {
    let given = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let (mut in_a_row, mut all, mut all_wrong) = (0, 0, 0);
    for seed in given.map_or(0..60, |seed| seed..seed + 1) {
        println!("HALFTURN_SEED={seed}");
        let mut draw = ProbeDraw::new(seed);
        let mut platter = draw_platter(&mut draw, 60 * (seed % 2));
        let truth = platter.geometry.map.clone();
        let found = with_survey(&mut platter, TrackMap::default(), |survey| {
            survey.run(&mut ()).expect("it can be read");
            survey.map.clone()
        });
        let elsewhere = |sector: u64| truth.remaps.binary_search_by_key(&sector, |(at, _)| *at).is_ok();
        let (end, mut edges, mut wrong) = (truth.regions.last().expect("there is one").end(), 0, 0);
        for sector in (0..end).filter(|sector| !elsewhere(*sector)) {
            wrong += u64::from(off(&found, &truth, sector).abs() > 0.3);
            edges += u64::from(found.track_start(sector) != truth.track_start(sector));
        }
        // Where a zone begins in step with the one before, some sectors may be taken for the wrong one's.
        assert!(wrong * 200 < end, "{wrong} of {end}");
        (all, all_wrong) = (all + end, all_wrong + wrong);
        // And a slip among sectors elsewhere may be put on another of them.
        assert!(edges * 100 < end, "{edges} of {end}");
        for (sector, _) in &found.remaps {
            assert!(off(&found, &truth, *sector).abs() < 0.01, "{sector}");
        }
        in_a_row += found.remaps.windows(2).filter(|pair| pair[0].0 + 1 == pair[1].0).count();
        assert_eq!(found.guessed, None);
        // Where nothing is out of order a zone is a region, and where it is, few more.
        assert!(found.regions.len() <= truth.regions.len() + truth.remaps.len() / 8 + 1, "{:?}", found.regions);
    }
    println!("{in_a_row} in a row; {all_wrong} of {all} wrong");
    assert!(all_wrong * 20_000 < all || given.is_some(), "{all_wrong} of {all}");
    assert!(in_a_row > 8 || given.is_some(), "{in_a_row}");
}

/// What lies otherwise between two places where leaps land is met, as a rule.
#[test]
fn a_piece_between_leaps_is_met() {
    let mut met = 0;
    for piece in 0..20 {
        let mut platter = Platter::of_zones(1, &[(900, 200)]);
        let region = &mut platter.geometry.map.regions[0];
        // Leaps land on tracks 255 and 511.
        let [first, end] = [280 + 4 * piece, 500].map(|track| region.track_pattern(track));
        region.bends = vec![(first, 0.2), (end, 0.0)];
        let inside = region.sector_at(first) + 50;
        let truth = platter.geometry.map.clone();
        let found = with_survey(&mut platter, TrackMap::default(), |survey| {
            survey.run(&mut ()).expect("it can be read");
            survey.map.clone()
        });
        met += u32::from(off(&found, &truth, inside).abs() < 0.3);
    }
    assert!(met > 10, "{met} of 20");
}

/// Tracks at the beginning that were met by another rule are of the first long region where that has them so, and else stay.
#[test]
fn the_first_tracks_are_believed_to_be_as_what_follows_only_if_they_are() {
    for (other, tracks) in [(false, 1), (false, 3), (false, 16), (false, 17), (true, 3)] {
        // One head, and all tracks turned alike.
        let mut platter = Platter::of_zones(1, &[(300, 200)]);
        let whole = MapRegion { turn: 0.16, levels: Vec::new(), ..platter.geometry.map.regions[0].clone() };
        platter.geometry.map.regions = vec![whole.clone()];
        let cut = tracks * whole.track;
        let begins = |turn| MapRegion { sectors: cut, turn, ..whole.clone() };
        let (first, sectors) = (cut, whole.sectors - cut);
        let long = MapRegion { first, sectors, angle: whole.place(cut).angle, ..whole.clone() };
        if other {
            platter.geometry.map.regions = vec![begins(0.3), long.clone()];
            platter.geometry.cylinders = vec![0, tracks];
        }
        let map = TrackMap { regions: vec![begins(0.3), long], ..TrackMap::default() };
        let found = with_survey(&mut platter, map, |survey| {
            survey.look_again().expect("it can be read");
            survey.map.clone()
        });
        let believed = !other && tracks <= 16;
        assert_eq!(found.regions.len(), if believed { 1 } else { 2 }, "{other}, {tracks}");
        for sector in 0..whole.end() {
            let right = off(&found, &platter.geometry.map, sector).abs() < 1e-6;
            assert!(right || (!believed && sector < cut), "{sector} of {tracks}");
        }
    }
}

/// A region with slips soon after it began is known by its pattern, and one of another pattern is not; near the end of the drive
/// nothing can be told.
#[test]
fn a_pattern_holds_through_slips_on_its_first_tracks() {
    let of_each = |slip: i64, round: u32, cylinders: u64| {
        let mut platter = Platter::of_zones(3, &[(50, 220), (cylinders, round)]);
        let region = &mut platter.geometry.map.regions[1];
        if slip > 0 {
            region.slips = vec![(region.first + 7, slip)];
        }
        let first = region.first;
        let known = &platter.geometry.map.regions[0];
        let pattern = known.again(first, platter.geometry.map.regions[1].angle);
        with_survey(&mut platter, TrackMap::default(), |survey| {
            [survey.holds(&pattern, first), survey.holds_slipped(&pattern, first)].map(|held| held.expect("it is read"))
        })
    };
    assert_eq!(of_each(0, 220, 60), [true, true]);
    for slip in [1, 2, 6] {
        assert_eq!(of_each(slip, 220, 60), [false, true], "{slip}");
    }
    assert_eq!(of_each(7, 220, 60), [false, false], "more than a thirty-second of a track");
    assert_eq!(of_each(2, 210, 60), [false, false]);
    assert_eq!(of_each(2, 220, 1), [false, false], "the drive ends");
}

/// The last sectors of a drive, too few to tell how wide they are, are taken to be as wide as others; and no track has more of them than
/// any has.
#[test]
fn the_last_sectors_of_a_drive_are_no_wider_or_narrower_than_sectors_are() {
    let mut platter = Platter::of_zones(1, &[(40, 200)]);
    let all = platter.geometry.map.regions[0].end();
    for left in 1..60 {
        let first = all - left;
        let region = with_eye(&mut platter, |eye| {
            let angle = eye.recall(first, None).expect("it is read").expect("it is read");
            learn::region(eye, (first, angle), &[1.0 / 200.0]).expect("it is read")
        });
        assert_eq!((region.first, region.round), (first, 200), "{left} sectors");
    }
}
