//! Layouts given as a list of runs: `locate` agrees with the runs written out block by block.

use block::Lbn;
use disk::{Layout, LayoutPlan, ListPlan, ListZone, SectorRun, disksim, parse, write};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use std::path::{Path, PathBuf};

const HEADS: u32 = 3;

/// What a drive has done with the sectors of each track: `.` holds the next block, `x` is bad and passed over, `r` is bad
/// and its block lies on a spare.
type Tracks = Vec<Vec<char>>;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A block where the plan puts it: zone, cylinder, head, sector, angle in revolutions, whether it was moved.
type Place = (u32, u32, u32, u32, f64, bool);

/// Sectors of the last track that are no spares.
const LAST: u32 = 30;

/// Whether the block of a bad sector lies on a spare: a list shows this where blocks of its track lie on both sides.
fn is_spared(marks: &[char], sector: usize, width: u32) -> bool {
    let is = |sector: usize, mark| marks.get(sector) == Some(&mark);
    is(sector, 'r') && sector > 0 && sector + 1 < width as usize && !is(sector - 1, 'x') && !is(sector + 1, 'x')
}

/// Two zones of two cylinders, filled track by track, every other cylinder with its heads down where it `descends`; spares
/// are at the end of the last track.
fn made(tracks: &Tracks, descends: bool, sectors: [u32; 2]) -> (ListPlan, Vec<Place>) {
    let zone = |z: u32| ListZone {
        first_cylinder: z * 2,
        last_cylinder: z * 2 + 1,
        sectors: sectors[z as usize],
        first: 0,
        offset: 0.125 * f64::from(z + 1),
        head_skew: 0.3,
        cylinder_skew: 0.45,
    };
    let mut zones = vec![zone(0), zone(1)];
    let (mut places, mut spares): (Vec<Place>, u32) = (Vec::new(), 0);
    let last = tracks.len() as u32 - 1;
    let spot = |t: u32, sector: u32, remapped: bool| {
        let (cylinder, k) = (t / HEADS, t % HEADS);
        let head = if descends && cylinder % 2 == 1 { HEADS - 1 - k } else { k };
        let (z, c) = (cylinder / 2, cylinder % 2);
        let turned = 0.3 * f64::from((HEADS - 1) * c + k) + 0.45 * f64::from(c) + 0.125 * f64::from(z + 1);
        (z, cylinder, head, sector, turned + f64::from(sector) / f64::from(sectors[z as usize]), remapped)
    };
    for (t, marks) in tracks.iter().enumerate() {
        let t = t as u32;
        if t == 2 * HEADS {
            zones[1].first = places.len() as u64;
        }
        let width = sectors[(t / HEADS / 2) as usize];
        for sector in 0..if t == last { LAST } else { width } {
            // Sector 3 is good, so that no track is without blocks.
            match marks.get(sector as usize).filter(|_| sector != 3) {
                Some('x') => {}
                Some('r') if is_spared(marks, sector as usize, width) => {
                    spares += 1;
                    places.push(spot(last, sectors[1] - spares, true));
                }
                _ => places.push(spot(t, sector, false)),
            }
        }
    }
    let mut runs: Vec<SectorRun> = Vec::new();
    for (i, (_, cylinder, head, sector, ..)) in places.iter().enumerate() {
        let goes_on =
            |run: &&mut SectorRun| (run.cylinder, run.head, run.sector + run.count) == (*cylinder, *head, *sector);
        // Every now and then one run is given as two.
        match runs.last_mut().filter(goes_on).filter(|_| i % 17 > 0) {
            Some(run) => run.count += 1,
            None => runs.push(SectorRun { cylinder: *cylinder, head: *head, sector: *sector, count: 1 }),
        }
    }
    (ListPlan { zones, runs }, places)
}

fn agrees(layout: &Layout, places: &[Place]) -> Result<(), TestCaseError> {
    prop_assert_eq!(layout.blocks(), places.len() as u64);
    for (i, place) in places.iter().enumerate() {
        let spot = layout.locate(Lbn(i as u64));
        let got = (spot.track.zone, spot.track.cylinder, spot.track.head, spot.sector, spot.remapped);
        prop_assert_eq!(got, (place.0, place.1, place.2, place.3, place.5), "block {}", i);
        let off = spot.angle as f64 / 18_446_744_073_709_551_616.0 - place.4;
        prop_assert!((off - off.round()).abs() < 1e-9, "block {i}: {} for {place:?}", spot.angle);
        let goes_on = |pair: &&[Place]| {
            let [a, b] = pair else { return false };
            (a.1, a.2, a.3 + 1, a.5) == (b.1, b.2, b.3, b.5)
        };
        let left = places[i..].windows(2).take_while(goes_on).count() as u32 + 1;
        prop_assert_eq!(spot.left, left, "block {}", i);
    }
    Ok(())
}

#[test]
fn every_block_lies_where_its_run_has_it() {
    let mark = prop_oneof![6 => Just('.'), 1 => Just('x'), 1 => Just('r')];
    let tracks = prop::collection::vec(prop::collection::vec(mark, 9), 4 * HEADS as usize);
    let cases = (tracks, any::<bool>(), 7..10u32, 120..130u32);
    let seed = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let config = Config { cases: 1000, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    let result = TestRunner::new(config).run(&cases, |(tracks, descends, first, second)| {
        let (list, places) = made(&tracks, descends, [first, second]);
        let plan = LayoutPlan { heads: HEADS, sector_blocks: 1, list: Some(list), ..LayoutPlan::default() };
        agrees(&Layout::new(&plan).map_err(TestCaseError::fail)?, &places)?;
        let cut = places.len() as u64 / 3;
        let layout = Layout::new(&LayoutPlan { blocks: Some(cut), ..plan }).map_err(TestCaseError::fail)?;
        agrees(&layout, &places[..cut as usize])
    });
    if let Err(error) = result {
        panic!("{error}\nHALFTURN_SEED={seed}");
    }
}

/// The blocks of the fixture, as its map has them.
fn mapped() -> Vec<Place> {
    // First block, cylinder, head, first sector, sectors, angle of the track's sector 0.
    let runs: [(u32, u32, u32, u32, f64); 14] = [
        (0, 0, 0, 9, 0.0),
        (0, 1, 0, 4, 2.0 / 9.0),
        (0, 1, 5, 4, 2.0 / 9.0),
        (1, 1, 0, 9, 6.0 / 9.0),
        (1, 0, 0, 2, 8.0 / 9.0),
        (2, 1, 8, 1, 14.0 / 9.0),
        (1, 0, 3, 6, 8.0 / 9.0),
        (2, 0, 0, 9, 12.0 / 9.0),
        (2, 1, 0, 4, 14.0 / 9.0),
        (2, 1, 4, 3, 14.0 / 9.0),
        (3, 0, 0, 6, 0.25),
        (3, 1, 0, 6, 0.75),
        (4, 0, 1, 5, 0.5),
        (4, 1, 0, 5, 1.0),
    ];
    let mut places = Vec::new();
    for (i, (cylinder, head, sector, count, turned)) in runs.into_iter().enumerate() {
        let (zone, width) = if cylinder < 3 { (0, 9.0) } else { (1, 6.0) };
        let place = |sector| (zone, cylinder, head, sector, turned + f64::from(sector) / width, i == 5);
        places.extend((sector..sector + count).map(place));
    }
    places
}

#[test]
fn a_map_file_is_read_and_what_is_written_of_it_is_the_same_drive() {
    let import = disksim::load(&fixture("g2.diskspecs"), None).unwrap();
    assert!(import.warnings[0].contains("no disksim_disk") && import.warnings.len() == 1, "{:?}", import.warnings);
    let layout = &import.drive.sheet.mechanics.layout;
    let (first, last) = layout.zone_blocks(1);
    assert_eq!((layout.cylinders(), layout.zones(), first, last), (5, 2, Lbn(51), Lbn(72)));
    assert_eq!(layout.track_bounds(Lbn(30)), (Lbn(26), Lbn(35)));
    agrees(layout, &mapped()).unwrap();
    let text = write(&import.plan);
    let back = parse("g2", "g2.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    agrees(&back.sheet.mechanics.layout, &mapped()).unwrap();
    assert_eq!(back.sheet.mechanics.seek.ns(), import.drive.sheet.mechanics.seek.ns());
}

#[test]
fn a_list_that_is_no_layout_is_refused_in_words() {
    let zone = ListZone { last_cylinder: 1, sectors: 9, ..ListZone::default() };
    let second = ListZone { first_cylinder: 2, last_cylinder: 3, first: 9, ..zone };
    let run = |cylinder, head, sector, count| SectorRun { cylinder, head, sector, count };
    let whole = run(0, 0, 0, 9);
    for (zones, runs, told) in [
        (vec![], vec![whole], "a list needs zones"),
        (vec![ListZone { first: 1, ..zone }], vec![whole], "the first begins at block 0"),
        (vec![ListZone { sectors: 0, ..zone }], vec![whole], "zone 0 has cylinders 0 to 1 of 0 sectors a track"),
        (vec![ListZone { last_cylinder: 1 << 24, ..zone }], vec![whole], "zone 0 has cylinders 0 to 16777216"),
        (vec![zone, ListZone { first_cylinder: 1, ..second }], vec![whole], "zone 1 begins at cylinder 1, block 9"),
        (vec![zone, ListZone { first: 0, ..second }], vec![whole], "zone 1 begins at cylinder 2, block 0"),
        (vec![zone, second], vec![whole], "the last zone begins past block 8"),
        (vec![zone], vec![], "a list has from 1 to 16777216 runs, not 0"),
        (vec![zone], vec![run(2, 0, 0, 9)], "run 0 lies on cylinder 2, which is of no zone"),
        (vec![zone], vec![whole, run(0, 2, 0, 9)], "run 1 lies on head 2, of 2"),
        (vec![zone], vec![run(0, 0, 1, 9)], "run 0 has 9 sectors from sector 1 on, of 9 on a track"),
        (vec![zone], vec![run(0, 0, 1, u32::MAX)], "run 0 has 4294967295 sectors"),
        (vec![zone], vec![run(0, 0, 1, 0)], "run 0 has 0 sectors"),
        (vec![zone], vec![run(0, 0, 0, 5), whole], "the runs of blocks 0 and 5 overlap on cylinder 0, head 0"),
    ] {
        let list = Some(ListPlan { zones, runs });
        let plan = LayoutPlan { heads: 2, sector_blocks: 1, list, ..LayoutPlan::default() };
        let error = Layout::new(&plan).unwrap_err();
        assert!(error.contains(told), "{error:?} for {told:?}");
    }
}
