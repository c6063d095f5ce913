//! The drives of the catalogue are what their sources say: capacity, where zones begin and end, mean seek.

use block::Lbn;
use disk::catalogue;

/// Name, blocks, mean seek in ms over all pairs of cylinders where a source gives it, sustained MB/s at the outer and
/// inner edge where one does.
type Row = (&'static str, u64, Option<f64>, Option<(f64, f64)>);

const PUBLISHED: [Row; 6] = [
    ("st318437lw", 35_842_652, Some(8.83), Some((41.7, 24.3))),
    ("atlas10k", 17_938_986, Some(5.54), Some((23.5, 16.1))),
    ("dnes-309170w", 17_916_240, None, None),
    ("mimic-base", 6534 * 10 * 272, None, Some((20.2, 20.2))),
    ("lxt-535sy", 203 * 11 * (71 + 67 + 64 + 60 + 57 + 53 + 50 + 46), Some(12.0), None),
    ("nl20", 39_063_650_304, Some(7.97), Some((285.0, 143.0))),
];

#[test]
fn every_drive_is_listed_here() {
    assert!(catalogue::names().eq(PUBLISHED.iter().map(|row| row.0)));
}

#[test]
fn capacities_and_mean_seeks_are_as_published() {
    for (name, blocks, mean_ms, _) in PUBLISHED {
        let mechanics = catalogue::find(name).unwrap().sheet.mechanics;
        assert_eq!(mechanics.layout.blocks(), blocks, "{name}");
        let got = mechanics.seek.mean_ms();
        println!("{name}: {blocks} blocks, mean seek {got:.3} ms");
        if let Some(mean_ms) = mean_ms {
            assert!((got - mean_ms).abs() < 0.006 * mean_ms, "{name}: mean seek {got} ms, published {mean_ms}");
        }
    }
}

#[test]
fn every_zone_begins_on_a_track_of_its_own_behind_the_one_before_it() {
    for name in catalogue::names() {
        let layout = catalogue::find(name).unwrap().sheet.mechanics.layout.clone();
        let mut next = Lbn(0);
        for zone in 0..layout.zones() {
            let (first, last) = layout.zone_blocks(zone);
            assert_eq!(first, next, "{name}, zone {zone}");
            for lbn in [first, last] {
                let spot = layout.locate(lbn);
                assert_eq!(spot.track.zone, zone, "{name}, block {lbn:?}");
            }
            let begin = layout.locate(first);
            assert_eq!(begin.sector, 0, "{name}, zone {zone}");
            let before = first.0.checked_sub(1).map(|lbn| layout.locate(Lbn(lbn)).track);
            assert_eq!(before.map(|track| track.zone), zone.checked_sub(1), "{name}, zone {zone}");
            assert!(before.is_none_or(|track| track.cylinder < begin.track.cylinder), "{name}, zone {zone}");
            next = Lbn(last.0 + 1);
        }
        assert_eq!(next.0, layout.blocks(), "{name}");
    }
}

#[test]
fn a_longer_seek_takes_longer_but_for_the_joint_of_two_pieces() {
    for name in catalogue::names() {
        let mechanics = catalogue::find(name).unwrap().sheet.mechanics;
        let ns = mechanics.seek.ns();
        assert_eq!((ns.len() as u32, ns[0]), (mechanics.layout.cylinders(), 0), "{name}");
        let shorter = ns.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert!(shorter <= 1 && ns.windows(2).all(|pair| pair[1] + 5_000 > pair[0]), "{name}: {shorter}");
    }
}

/// MB/s of a drive that streams past a zone's tracks: a whole band, or a cylinder, from its first sector on.
fn streaming(name: &str, zone: u32) -> f64 {
    let mechanics = catalogue::find(name).unwrap().sheet.mechanics;
    let (first, last) = mechanics.layout.zone_blocks(zone);
    let blocks = (last.0 - first.0 + 1).min(8 << 20);
    let at = block::Extent { start: first, blocks: blocks as u32 };
    let spot = mechanics.layout.locate(first);
    let passage = mechanics.pass(&mechanics.rotation, block::Time(0), spot, at, false);
    at.bytes() as f64 / 1e6 / passage.end.since(passage.began).as_secs()
}

#[test]
fn media_rates_with_all_crossings_are_as_published() {
    for (name, _, _, rates) in PUBLISHED {
        let last = catalogue::find(name).unwrap().sheet.mechanics.layout.zones() - 1;
        let (outer, inner) = (streaming(name, 0), streaming(name, last));
        println!("{name}: {outer:.2} to {inner:.2} MB/s");
        if let Some((published_outer, published_inner)) = rates {
            for (got, published) in [(outer, published_outer), (inner, published_inner)] {
                assert!((got / published - 1.0).abs() < 0.008, "{name}: {got} MB/s, published {published}");
            }
        }
    }
}

#[test]
fn a_name_is_found_however_it_is_written_and_a_wrong_one_is_mended() {
    assert_eq!(catalogue::find("ST318437LW").unwrap().sheet.name, "st318437lw");
    assert_eq!(catalogue::find("dnes_309170w").unwrap().sheet.name, "dnes-309170w");
    let error = catalogue::find("atlas11k").unwrap_err();
    assert!(error.mend.contains("atlas10k"), "{error}");
}
