//! The drives of the catalogue are what their sources say: capacity, where zones begin and end, mean seek.

use block::Lbn;
use disk::catalogue;

/// Name, blocks, mean seek in ms over all pairs of cylinders where a source gives it, sustained MB/s at the outer and
/// inner edge where one does.
type Row = (&'static str, u64, Option<f64>, Option<(f64, f64)>);

const PUBLISHED: [Row; 20] = [
    ("st318437lw", 35_842_652, Some(8.83), Some((41.7, 24.3))),
    ("wd400bb", 78_165_360, Some(8.9), None),
    ("atlas10k", 17_938_986, Some(5.54), Some((23.5, 16.1))),
    ("atlas10k-validation", 17_938_986, Some(5.54), Some((23.5, 16.1))),
    ("dnes-309170w", 17_916_240, None, None),
    ("mimic-base", 6534 * 10 * 272, None, Some((20.2, 20.2))),
    ("mimic-base-corrected", 6534 * 10 * 272, None, None),
    ("mimic-2", 6534 * 10 * 272, None, None),
    ("mimic-3", 6534 * 10 * 272, None, None),
    ("mimic-4", 6534 * 10 * 272, None, None),
    ("mimic-5", 6534 * 10 * 272, None, None),
    ("mimic-6", 6534 * 10 * 272, None, None),
    ("mimic-7", 6534 * 20 * 544, None, None),
    ("mimic-7-corrected", 6534 * 20 * 544, None, None),
    ("mimic-8", 6534 * 5 * 136, None, None),
    ("mimic-8-corrected", 6534 * 5 * 136, None, None),
    ("ibm-9lzx", 6534 * 10 * 272, None, None),
    ("lxt-535sy", 203 * 11 * (71 + 67 + 64 + 60 + 57 + 53 + 50 + 46), Some(12.0), None),
    ("hp-335h", 1449 * 8 * 113 / 2, None, None),
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
        // The pieces published for the HP 335H meet 23 us apart.
        let gap = if name == "hp-335h" { 25_000 } else { 5_000 };
        assert!(shorter <= 1 && ns.windows(2).all(|pair| pair[1] + gap > pair[0]), "{name}: {shorter}");
    }
}

/// Name, distance in cylinders (0: the whole stroke), ms as published or as derived from what is published.
const SEEKS: [(&str, u32, f64); 33] = [
    ("st318437lw", 1, 0.95),
    ("st318437lw", 100, 1.67),
    ("st318437lw", 1000, 3.38),
    ("st318437lw", 10_000, 9.0),
    ("st318437lw", 20_000, 14.0),
    ("st318437lw", 0, 19.1),
    ("wd400bb", 1, 2.0),
    ("wd400bb", 0, 21.0),
    ("atlas10k", 1, 1.245),
    // The fit's; measured were 10.828 ms, of which it falls 3 % short.
    ("atlas10k", 0, 10.48),
    ("atlas10k-validation", 1, 1.245),
    ("lxt-535sy", 1, 3.0),
    ("lxt-535sy", 520, 12.0),
    ("lxt-535sy", 0, 24.0),
    ("hp-335h", 1, 4.047),
    ("hp-335h", 616, 18.23),
    ("hp-335h", 0, 28.22),
    ("nl20", 0, 15.2),
    ("mimic-base", 1, 0.8),
    ("mimic-base", 400, 6.0),
    ("mimic-base", 3000, 8.0),
    ("mimic-base", 0, 10.7),
    ("mimic-2", 1, 0.16),
    ("mimic-2", 400, 1.32),
    ("mimic-2", 3000, 1.6),
    ("mimic-2", 0, 1.98),
    ("mimic-3", 1, 2.0),
    ("mimic-3", 400, 33.0),
    ("mimic-3", 3000, 40.0),
    ("mimic-3", 0, 49.5),
    ("mimic-6", 400, 1.32),
    ("mimic-7", 3000, 8.0),
    ("mimic-8-corrected", 3000, 8.0),
];

#[test]
fn seeks_over_single_distances_are_as_published() {
    for (name, distance, published) in SEEKS {
        let mechanics = catalogue::find(name).unwrap().sheet.mechanics;
        let distance = if distance == 0 { mechanics.layout.cylinders() - 1 } else { distance };
        let ms = mechanics.seek.time(distance).as_ms();
        println!("{name}: {distance} cylinders in {ms:.3} ms, published {published}");
        assert!((ms - published).abs() < 0.01 * published, "{name}: {distance} cylinders in {ms} ms, not {published}");
    }
}

/// Name, MB/s within a track at the outer and at the inner edge.
const MEDIA: [(&str, f64, f64); 11] = [
    ("st318437lw", 46.08, 26.85),
    ("wd400bb", 40.0, 24.4),
    ("atlas10k", 28.57, 19.59),
    ("lxt-535sy", 2.18, 1.41),
    ("hp-335h", 1.93, 1.93),
    ("nl20", 313.6, 156.8),
    ("mimic-base", 23.2, 23.2),
    ("mimic-4", 69.6, 69.6),
    ("mimic-5", 11.6, 11.6),
    ("mimic-7", 46.4, 46.4),
    ("mimic-8", 11.6, 11.6),
];

#[test]
fn rates_within_a_track_are_as_published() {
    for (name, outer, inner) in MEDIA {
        let mechanics = catalogue::find(name).unwrap().sheet.mechanics;
        let layout = &mechanics.layout;
        for (zone, published) in [(0, outer), (layout.zones() - 1, inner)] {
            let bytes = f64::from(layout.track_sectors(zone) << layout.sector_shift()) * 512.0;
            let rate = bytes / 1e6 / mechanics.rotation.period().as_secs();
            println!("{name}: {rate:.2} MB/s in zone {zone}, published {published}");
            assert!((rate / published - 1.0).abs() < 0.01, "{name}: {rate} MB/s, published {published}");
        }
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
