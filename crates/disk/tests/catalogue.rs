//! The drives of the catalogue are what their sources say: capacity, where zones begin and end, mean seek.

use block::{Direction, Lbn};
use disk::{Mechanics, Published, catalogue};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// The disks, each with what its sources print of it.
fn all() -> impl Iterator<Item = (&'static str, Arc<Mechanics>, Published)> {
    catalogue::names().map(|name| {
        let published = catalogue::read_published(name).unwrap_or_else(|error| panic!("{error}"));
        (name, catalogue::find(name).unwrap_or_else(|error| panic!("{error}")).sheet.mechanics, published)
    })
}

#[test]
fn every_file_of_the_folder_is_a_drive_that_is_read_and_says_how_large_it_is() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("catalogue");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("a readable entry").file_name().to_string_lossy().into_owned())
        .collect();
    let known: Vec<&str> = catalogue::names().chain(catalogue::others()).collect();
    assert_eq!(known.iter().map(|name| format!("{name}.toml")).collect::<BTreeSet<_>>(), there);
    for name in known {
        catalogue::model(name).unwrap_or_else(|error| panic!("{error}"));
    }
    for (name, _, published) in all() {
        assert!(published.blocks.is_some(), "{name}: give its `blocks` in [published]");
    }
}

#[test]
fn capacities_and_mean_seeks_are_as_published() {
    for (name, mechanics, published) in all() {
        assert_eq!(Some(mechanics.layout.blocks()), published.blocks, "{name}");
        let got = mechanics.seek.mean_ms();
        println!("{name}: {} blocks, mean seek {got:.3} ms", mechanics.layout.blocks());
        if let Some(mean_ms) = published.mean_seek_ms {
            assert!((got - mean_ms).abs() < 0.006 * mean_ms, "{name}: mean seek {got} ms, published {mean_ms}");
        }
    }
}

#[test]
fn every_zone_begins_on_a_track_of_its_own_behind_the_one_before_it() {
    for (name, mechanics, _) in all() {
        let layout = &mechanics.layout;
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
    for (name, mechanics, published) in all() {
        let ns = mechanics.seek.ns();
        assert_eq!((ns.len() as u32, ns[0]), (mechanics.layout.cylinders(), 0), "{name}");
        let shorter = ns.windows(2).filter(|pair| pair[1] < pair[0]).count();
        let gap = published.seek_joint_us.map_or(5_000, |us| (us * 1000.0) as u32);
        assert!(shorter <= 1 && ns.windows(2).all(|pair| pair[1] + gap > pair[0]), "{name}: {shorter}");
    }
}

#[test]
fn seeks_over_single_distances_are_as_published() {
    let mut seeks = 0;
    for (name, mechanics, published) in all() {
        let stroke = published.full_stroke_ms.map(|ms| (mechanics.layout.cylinders() - 1, ms));
        for (distance, published) in published.seeks_ms.into_iter().chain(stroke) {
            seeks += 1;
            let ms = mechanics.seek.time(distance).as_ms();
            println!("{name}: {distance} cylinders in {ms:.3} ms, published {published}");
            let off = (ms - published).abs();
            assert!(off < 0.01 * published, "{name}: {distance} cylinders in {ms} ms, not {published}");
        }
    }
    assert!(seeks >= 33, "{seeks} seeks are left to be held against");
}

#[test]
fn rates_within_a_track_are_as_published() {
    let mut drives = 0;
    for (name, mechanics, published) in all() {
        let Some([outer, inner]) = published.media_mb_s else { continue };
        drives += 1;
        let layout = &mechanics.layout;
        for (zone, published) in [(0, outer), (layout.zones() - 1, inner)] {
            let bytes = f64::from(layout.track_sectors(zone) << layout.sector_shift()) * 512.0;
            let rate = bytes / 1e6 / mechanics.rotation.period().as_secs();
            println!("{name}: {rate:.2} MB/s in zone {zone}, published {published}");
            assert!((rate / published - 1.0).abs() < 0.01, "{name}: {rate} MB/s, published {published}");
        }
    }
    assert!(drives >= 11, "{drives} drives are left to be held against");
}

/// MB/s of a drive that streams past a zone's tracks: a whole band, or a cylinder, from its first sector on.
fn streaming(mechanics: &Mechanics, zone: u32) -> f64 {
    let (first, last) = mechanics.layout.zone_blocks(zone);
    let blocks = (last.0 - first.0 + 1).min(8 << 20);
    let at = block::Extent { start: first, blocks: blocks as u32 };
    let spot = mechanics.layout.locate(first);
    let passage = mechanics.pass(&mechanics.rotation, block::Time(0), spot, at, Direction::Read);
    at.bytes() as f64 / 1e6 / passage.end.since(passage.began).as_secs()
}

#[test]
fn media_rates_with_all_crossings_are_as_published() {
    let mut drives = 0;
    for (name, mechanics, published) in all() {
        let (outer, inner) = (streaming(&mechanics, 0), streaming(&mechanics, mechanics.layout.zones() - 1));
        println!("{name}: {outer:.2} to {inner:.2} MB/s");
        if let Some(published) = published.outer_mb_s {
            drives += 1;
            assert!((outer / published - 1.0).abs() < 0.008, "{name}: {outer} MB/s, published {published}");
        }
        if let Some([published_outer, published_inner]) = published.sustained_mb_s {
            drives += 1;
            for (got, published) in [(outer, published_outer), (inner, published_inner)] {
                assert!((got / published - 1.0).abs() < 0.008, "{name}: {got} MB/s, published {published}");
            }
        }
    }
    assert!(drives >= 15, "{drives} drives are left to be held against");
}

#[test]
fn a_name_is_found_however_it_is_written_and_a_wrong_one_is_mended() {
    assert_eq!(catalogue::find("ST318437LW").unwrap().sheet.name, "st318437lw");
    assert_eq!(catalogue::find("dnes_309170w").unwrap().sheet.name, "dnes-309170w");
    let error = catalogue::find("atlas11k").unwrap_err();
    assert!(error.mend.contains("atlas10k"), "{error}");
}

#[test]
fn caches_are_switched_off_for_reads_for_writes_or_both() {
    for (name, ..) in all() {
        let cache = catalogue::find(name).unwrap_or_else(|error| panic!("{error}")).sheet.cache;
        for (reads, writes) in [(true, true), (true, false), (false, true), (false, false)] {
            let read = if reads { cache } else { cache.without_read_cache() };
            let switched = if writes { read } else { read.without_write_buffer() };
            let kept = |on: bool, value: u32| if on { value } else { 0 };
            let read = [cache.segments, cache.segment, cache.read_ahead].map(|value| kept(reads, value));
            assert_eq!([switched.segments, switched.segment, switched.read_ahead], read, "{name}");
            assert_eq!(switched.write_buffer, kept(writes, cache.write_buffer), "{name}");
        }
    }
}
