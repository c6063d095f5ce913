//! Maps drawn by a seed, beside the same tracks laid out one after the other; `HALFTURN_SEED=N` has those of one seed.

use super::{Arrangement, MapRegion, PatternLevel, TrackAddress, TrackGeometry, TrackMap, TrackRun};
use crate::draw::ProbeDraw;
use crate::estimate::{fraction, signed_fraction};
use block::Lbn;
use disk::Layout;
use std::collections::BTreeSet;

const MAPS: u64 = 300;

/// A track as it lies, place after place of the pattern.
struct PlainTrack {
    /// The place in the pattern at which it begins.
    first: u64,
    angle: f64,
    round: u32,
}

/// The tracks of a region from the pattern's beginning, up to so many places: each period begins where the one before it
/// did, and turned.
fn lay_out(region: &MapRegion, end: u64) -> Vec<PlainTrack> {
    let mut tracks: Vec<PlainTrack> = Vec::new();
    // The angle at which the period of each level began, the innermost first, and the place at which it ends.
    let mut began = vec![region.angle; region.levels.len()];
    let mut ends: Vec<u64> = region.levels.iter().map(|level| level.sectors).collect();
    let (mut at, mut angle) = (0, region.angle);
    let (mut left, mut round, mut turn) = (region.track, region.round, region.turn);
    let mut begins = 0;
    while at < end {
        if let Some(run) = region.runs.iter().find(|run| run.sectors == at - begins) {
            angle = began[0] + run.angle;
            (left, round, turn) = (run.track, run.round, run.turn);
        }
        let sectors = left.min(ends.first().map_or(u64::MAX, |end| end - at));
        tracks.push(PlainTrack { first: at, angle, round });
        at += sectors;
        angle += turn;
        // The outermost period that ends here begins anew, and with it those inside.
        if let Some(outer) = ends.iter().rposition(|end| *end == at) {
            began[outer] += region.levels[outer].turn;
            angle = began[outer];
            for inner in 0..=outer {
                began[inner] = angle;
                ends[inner] = at + region.levels[inner].sectors;
            }
            begins = at;
        }
    }
    tracks
}

/// A region of tracks that turn evenly within a cylinder or a band's run, and otherwise at the ends of periods.
fn region(draw: &mut ProbeDraw, first: u64, heads: u64, arrangement: Arrangement) -> MapRegion {
    let round = 12 + draw.below(30) as u32;
    let track = u64::from(round) - draw.below(3);
    let period = match arrangement {
        Arrangement::Heads => vec![heads],
        Arrangement::Bands(width) => vec![width, heads * width],
    };
    let mut levels: Vec<PatternLevel> = Vec::new();
    for tracks in period {
        // The last track of a cylinder may be short of some sectors.
        let spare = if levels.is_empty() && arrangement == Arrangement::Heads { draw.below(2) * 3 } else { 0 };
        levels.push(PatternLevel { sectors: tracks * track - spare, turn: draw.unit() });
    }
    levels.dedup_by_key(|level| level.sectors);
    if draw.below(2) == 0 {
        let sectors = levels.last().map_or(1, |level| level.sectors) * (2 + draw.below(4));
        levels.push(PatternLevel { sectors, turn: draw.unit() });
    }
    let whole = levels.last().map_or(1, |level| level.sectors);
    MapRegion {
        first,
        sectors: whole * (2 + draw.below(4)),
        skip: 0,
        round,
        track,
        turn: draw.unit(),
        runs: Vec::new(),
        levels,
        angle: draw.unit(),
        slips: Vec::new(),
        bends: Vec::new(),
    }
}

/// Heads of one cylinder that hold different numbers of sectors.
fn uneven(draw: &mut ProbeDraw, first: u64, heads: u64) -> MapRegion {
    let mut runs = Vec::new();
    let mut sectors = 0;
    for head in 0..heads {
        let round = 12 + 7 * (head % 3) as u32 + draw.below(7) as u32;
        let angle = if head == 0 { 0.0 } else { draw.unit() };
        runs.push(TrackRun { sectors, tracks: head, angle, round, track: u64::from(round), turn: draw.unit() });
        sectors += u64::from(round);
    }
    let most = runs.iter().map(|run| run.round).max().unwrap_or(1);
    let levels = vec![PatternLevel { sectors, turn: draw.unit() }];
    let (track, angle) = (u64::from(most), draw.unit());
    let (turn, count) = (runs[0].turn, sectors * (3 + draw.below(9)));
    MapRegion {
        first,
        sectors: count,
        skip: 0,
        round: most,
        track,
        turn,
        runs,
        levels,
        angle,
        slips: Vec::new(),
        bends: Vec::new(),
    }
}

/// A geometry of up to three regions.
pub(crate) fn draw_geometry(seed: u64) -> TrackGeometry {
    let mut draw = ProbeDraw::new(seed);
    let heads = 1 + draw.below(4);
    let arrangement =
        if heads > 1 && draw.below(3) == 0 { Arrangement::Bands(2 + draw.below(4)) } else { Arrangement::Heads };
    let mut regions: Vec<MapRegion> = Vec::new();
    for _ in 0..=draw.below(3) {
        let first = regions.last().map_or(0, MapRegion::end);
        let runs = heads > 1 && arrangement == Arrangement::Heads && draw.below(4) == 0;
        regions.push(if runs { uneven(&mut draw, first, heads) } else { region(&mut draw, first, heads, arrangement) });
    }
    // The last one may end anywhere.
    let whole = regions.last().map_or(0, |last| last.sectors);
    if let Some(last) = regions.last_mut().filter(|_| draw.below(3) == 0) {
        last.sectors = 1 + draw.below(last.sectors);
        if draw.below(2) == 0 {
            // Where a track does, which may make its last band a narrower one; and may turn evenly throughout.
            last.sectors = last.sectors.next_multiple_of(last.track * heads).min(whole);
            if draw.below(2) == 0 {
                let turn = |sectors: u64| fraction((sectors / last.track) as f64 * last.turn);
                last.levels.iter_mut().for_each(|level| level.turn = turn(level.sectors));
            }
        }
    }
    TrackGeometry::new(TrackMap { regions, remaps: Vec::new(), guessed: None }, heads, arrangement)
}

/// Slips some places of a region, in ascending order.
fn slip(region: &mut MapRegion, draw: &mut ProbeDraw) {
    let (mut at, mut shift) = (region.first, 0);
    for _ in 0..draw.below(6) {
        at += 1 + draw.below(region.track);
        shift += 1 + draw.below(2) as i64;
        if at < region.end() {
            region.slips.push((at, shift));
        }
    }
}

/// Runs a law over maps, and says which of them broke it.
pub(crate) fn of_each(law: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let given = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = given.map_or(0..MAPS, |seed: u64| seed..seed + 1);
    for seed in seeds {
        if let Err(cause) = std::panic::catch_unwind(|| law(seed)) {
            eprintln!("HALFTURN_SEED={seed}");
            std::panic::resume_unwind(cause);
        }
    }
}

#[test]
fn every_sector_lies_where_its_track_does_slips_included() {
    of_each(|seed| {
        let mut draw = ProbeDraw::new(seed + 1_000_000);
        let geometry = draw_geometry(seed);
        for plain in &geometry.map.regions {
            let mut region = plain.clone();
            slip(&mut region, &mut draw);
            let most = region.slips.last().map_or(0, |(_, shift)| *shift as u64);
            let tracks = lay_out(&region, region.skip + region.sectors + most);
            let mut place = region.skip;
            let mut slips = region.slips.iter();
            let (mut next, mut shift) = (slips.next(), 0);
            let mut lies = Vec::new();
            for sector in region.first..region.end() {
                if let Some((_, to)) = next.filter(|(from, _)| *from == sector) {
                    place += (to - shift) as u64;
                    (shift, next) = (*to, slips.next());
                }
                let track = tracks.partition_point(|track| track.first <= place) - 1;
                lies.push((place, track));
                place += 1;
            }
            for (i, (place, number)) in lies.iter().enumerate() {
                let (sector, track) = (region.first + i as u64, &tracks[*number]);
                let found = region.place(sector);
                assert_eq!((region.pattern(sector), region.sector_at(*place)), (*place, sector));
                assert_eq!((found.track, found.sector), (*number as u64, place - track.first), "{sector}");
                assert_eq!((found.round, region.track_pattern(found.track)), (track.round, track.first), "{sector}");
                let angle = track.angle + (place - track.first) as f64 / f64::from(track.round);
                assert!(signed_fraction(found.angle - angle).abs() < 1e-9, "{sector}: {found:?}");
                let same = |(_, other): &&(u64, usize)| other == number;
                let begins = lies[..i].iter().rev().take_while(same).count();
                let left = lies[i..].iter().take_while(same).count() as u64;
                assert_eq!(region.track_start(sector), sector - begins as u64);
                if sector + left < region.end() {
                    assert_eq!((found.left, region.next_track(sector)), (left, sector + left), "{sector}");
                }
            }
        }
    });
}

#[test]
fn tracks_follow_one_another_over_heads_and_cylinders_without_a_gap() {
    of_each(|seed| {
        let geometry = draw_geometry(seed);
        let mut seen = BTreeSet::new();
        let mut last: Option<TrackAddress> = None;
        let mut sector = 0;
        let end = geometry.map.regions.last().map_or(0, MapRegion::end);
        while sector < end {
            let at = geometry.address_of(sector);
            assert!(seen.insert((at.cylinder, at.head)) && at.head < geometry.heads, "{sector}: {at:?} again");
            let index = geometry.map.region_of(sector);
            let (track, next) = (geometry.map.place(sector).track, geometry.map.next_track(sector));
            // The map vouches only for tracks that end well before their region does.
            if sector + geometry.map.regions[index].track < geometry.map.regions[index].end() {
                assert_eq!(geometry.track(at), Some((index, track)), "{sector}");
            }
            if let Some(before) = last {
                let moved = before.cylinder.abs_diff(at.cylinder);
                match geometry.arrangement {
                    Arrangement::Heads if at.head > 0 => assert!(moved == 0 && at.head == before.head + 1),
                    Arrangement::Heads => assert!(moved == 1 && before.head == geometry.heads - 1),
                    Arrangement::Bands(_) if at.head == before.head => assert_eq!(moved, 1, "{before:?} {at:?}"),
                    Arrangement::Bands(_) if at.head > 0 => assert!(moved == 0 && at.head == before.head + 1),
                    Arrangement::Bands(_) => assert_eq!(before.head, geometry.heads - 1),
                }
            }
            let cylinder_end = geometry.cylinder_end(sector);
            let here = |sector: u64| geometry.address_of(sector).cylinder == at.cylinder;
            assert!(here(cylinder_end - 1) && (cylinder_end == end || !here(cylinder_end)), "{sector}");
            last = Some(at);
            sector = next;
        }
        let cylinders: BTreeSet<u64> = seen.iter().map(|(cylinder, _)| *cylinder).collect();
        let all = geometry.all_cylinders();
        assert_eq!((cylinders.len() as u64, cylinders.last().map(|last| last + 1)), (all, Some(all)));
        let begun = geometry.map.regions.last().map_or(0, |region| region.sectors % region.outermost().sectors);
        if begun == 0 {
            assert_eq!(seen.len() as u64, all * geometry.heads, "a cylinder has a track of each head");
        }
    });
}

#[test]
fn a_drive_file_of_a_map_has_every_sector_where_the_map_has_it() {
    of_each(|seed| {
        let mut draw = ProbeDraw::new(seed + 2_000_000);
        let mut geometry = draw_geometry(seed);
        for region in &mut geometry.map.regions {
            slip(region, &mut draw);
            // What is slipped is past the last cylinder: the region holds so many sectors less.
            region.sectors -= region.slips.last().map_or(0, |(_, shift)| *shift as u64);
            region.slips.retain(|(from, _)| *from < region.first + region.sectors);
        }
        let (mut first, heads) = (0, geometry.heads);
        for region in &mut geometry.map.regions {
            let moved = region.first - first;
            region.slips.iter_mut().for_each(|(from, _)| *from -= moved);
            region.first = first;
            first = region.end();
        }
        let shift = draw.below(3) as u32;
        let plan = crate::plan::layout(&geometry, first << shift, shift);
        let found = Layout::new(&plan).expect("it is a layout");
        assert_eq!((found.blocks(), u64::from(found.heads())), (first << shift, heads));
        // What repeats is written once: as many entries as there are longest periods, and the tracks of those that do not fit.
        let bands = geometry.map.regions.iter().map(|region| region.sectors / region.outermost().sectors + 1);
        let ends = geometry.map.regions.iter().map(|region| region.outermost().sectors.div_ceil(region.track / 2));
        let written = plan.tree.iter().flat_map(|tree| tree.lists.last()).map(Vec::len).sum::<usize>() as u64;
        assert!(written <= bands.sum::<u64>() + ends.sum::<u64>(), "{written} entries");
        for sector in 0..first {
            let spot = found.locate(Lbn(sector << shift));
            let (place, at) = (geometry.map.place(sector), geometry.address_of(sector));
            let angle = spot.angle as f64 / 18_446_744_073_709_551_616.0;
            assert!(signed_fraction(angle - place.angle).abs() < 1e-6, "{sector}: {angle} {place:?}");
            assert_eq!((u64::from(spot.track.cylinder), u64::from(spot.track.head)), (at.cylinder, at.head));
            let (from, to) = found.track_bounds(Lbn(sector << shift));
            let bounds = (geometry.map.track_start(sector), geometry.map.next_track(sector));
            assert_eq!((from.0 >> shift, to.0 >> shift), bounds, "{sector}");
        }
    });
}

#[test]
fn a_region_that_is_cut_short_or_begun_anew_keeps_its_rule() {
    of_each(|seed| {
        let mut draw = ProbeDraw::new(seed + 3_000_000);
        let geometry = draw_geometry(seed);
        for region in &geometry.map.regions {
            let mut whole = region.clone();
            slip(&mut whole, &mut draw);
            whole.bends = vec![(draw.below(whole.sectors), 0.125)];
            let cut = whole.first + 1 + draw.below(whole.sectors - 1);
            let mut short = whole.clone();
            short.close(cut);
            assert_eq!(short.end(), cut);
            for sector in whole.first..cut {
                let (a, b) = (short.place(sector), whole.place(sector));
                assert_eq!((a.track, a.sector, a.angle), (b.track, b.sector, b.angle), "{sector}");
            }
            let again = whole.again(cut, 0.25);
            assert!(again.like(&whole) && whole.like(&again) && again.end() == cut);
            assert!(signed_fraction(again.place_at(0).angle - 0.25).abs() < 1e-12);
            let wider = MapRegion { turn: fraction(region.turn + 0.5 / f64::from(region.round)), ..region.clone() };
            assert!(!wider.like(region), "turned by half a sector a track more");
        }
    });
}

#[test]
fn what_is_found_further_on_turns_the_longest_period_and_nothing_inside_the_first() {
    of_each(|seed| {
        let mut draw = ProbeDraw::new(seed + 4_000_000);
        for region in &draw_geometry(seed).map.regions {
            let first = region.levels.last().map_or(region.track, |level| level.sectors);
            if region.sectors <= first {
                continue;
            }
            let sector = region.first + first + draw.below(region.sectors - first);
            let mut refined = region.clone();
            refined.refine(sector, 0.01);
            let moved = |at: u64| signed_fraction(refined.place(at).angle - region.place(at).angle);
            assert!((moved(sector) - 0.01).abs() < 1e-9, "{sector}: {}", moved(sector));
            assert!((region.first..region.first + first).all(|at| moved(at).abs() < 1e-12));
        }
    });
}

/// A map of regions of so many tracks, taken for one head.
fn of_one_head(tracks: &[u64]) -> TrackGeometry {
    let mut draw = ProbeDraw::new(1);
    let mut regions: Vec<MapRegion> = Vec::new();
    for count in tracks {
        let first = regions.last().map_or(0, MapRegion::end);
        let one = region(&mut draw, first, 1, Arrangement::Heads);
        regions.push(MapRegion { skip: 0, sectors: one.track * count, ..one });
    }
    TrackGeometry::new(TrackMap { regions, remaps: Vec::new(), guessed: None }, 1, Arrangement::Heads)
}

/// Regions of so many tracks: those of a zone are of one kind.
fn in_zones(zones: &[&[u64]]) -> TrackGeometry {
    let mut split = of_one_head(&zones.concat());
    let mut at = 0;
    for (zone, regions) in zones.iter().enumerate() {
        let (round, track) = (100 + zone as u32, 100 + zone as u64);
        for tracks in *regions {
            let first = if at == 0 { 0 } else { split.map.regions[at - 1].end() };
            let sectors = tracks * track;
            let plain = MapRegion { levels: Vec::new(), runs: Vec::new(), ..split.map.regions[at].again(first, 0.3) };
            split.map.regions[at] = MapRegion { round, track, sectors, ..plain };
            at += 1;
        }
    }
    split
}

/// Of 2434 of the drawn drives each zone is a band of 64 tracks a head, and one of 61.
#[test]
fn regions_that_end_where_heads_change_tell_how_many_there_are() {
    for (zone, heads) in [
        (&[64, 125, 61][..], Some(2)),
        (&[64, 128, 125, 61], Some(2)),
        (&[64, 64 + 30, 30, 64], None),
        (&[64, 64, 94, 30], None),
        (&[64, 64, 64, 94, 30, 30], None),
        (&[250], None),
        (&[125, 125], None),
    ] {
        assert_eq!(in_zones(&[zone; 5]).other_heads(), heads, "{zone:?}");
        assert_eq!(in_zones(&[zone; 3]).other_heads(), None, "too few");
    }
    for heads in 3..9 {
        let others = vec![64; heads - 2];
        let narrow = vec![30; heads - 2];
        let zone = [&[64][..], &others, &[94], &narrow, &[30]].concat();
        assert_eq!(in_zones(&[&zone[..]; 5]).other_heads(), Some(heads as u64), "{zone:?}");
    }
}

#[test]
fn zones_may_have_a_number_of_tracks_in_common() {
    for (tracks, common) in [
        (&[8, 12, 20, 4, 5][..], Some(4)),
        (&[8, 12, 21, 4, 5], Some(1)),
        (&[6, 6, 9, 12, 1], Some(3)),
        (&[6, 6, 6, 6, 1], None),
        (&[8, 12, 20, 4], None),
        (&[48, 72, 24, 48, 5], Some(24)),
        (&[50, 100, 50, 50, 5], None),
    ] {
        assert_eq!(of_one_head(tracks).map.common_tracks(), common, "{tracks:?}");
    }
    // What turns otherwise inside a zone ends none; and of more heads found there is no doubt.
    let split = in_zones(&[&[64, 125, 61], &[6], &[10, 2], &[4], &[5]]);
    assert_eq!((split.map.common_tracks(), split.other_heads()), (Some(2), Some(2)));
    assert_eq!(TrackGeometry { heads: 2, ..split }.other_heads(), None);
    // A region that begins inside a track has it in common with the one before.
    let mut shared = of_one_head(&[8, 12, 20, 4, 5]).map;
    let again = shared.regions[1].again(shared.regions[1].first + 5 * shared.regions[1].track + 3, 0.3);
    let rest = shared.regions[1].end() - again.first;
    shared.regions[1].sectors -= rest;
    shared.regions.insert(2, MapRegion { skip: 3, sectors: rest, ..again });
    assert_eq!(shared.common_tracks(), Some(4));
}
