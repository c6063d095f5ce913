//! Drives made up for what few drives of the catalogue have: sectors elsewhere, heads that hold more than others, slips
//! by the thousand; and how a profile's time grows with tracks and with slips.
//!
//! The growth, as a table: `cargo test --release -p halfturn-sim --test profile growth -- --ignored --nocapture`.

use crate::whole::{Line, line_of};
use profile::Thoroughness;

/// A drive of 10,000 rpm with this geometry.
fn made(geometry: &str) -> disk::Drive {
    let rest = "[rotation]\nrpm = 10000\n[seek]\na_ms = 0.5\nb_ms = 0.2\nknee = 400\nc_ms = 4.1\ne_ms = 1e-3\n\
        [switch]\nhead = \"0.6ms\"\ncylinder = \"0.7ms\"\n[overhead]\nread = \"0.1ms\"\n\
        [cache]\nsegments = 8\nsegment = \"64KiB\"\n";
    let text = format!("title = \"made up\"\nsources = [\"nowhere\"]\n{rest}{geometry}");
    disk::parse("made", "made.toml", &text).expect("it is a drive file")
}

/// Zones of heads-first cylinders, with so many slips in all, evenly apart but for a little, and some remaps.
fn zoned(cylinders: u64, slips: u64, remaps: u64) -> disk::Drive {
    let (heads, zones) = (4, 8);
    let mut rows = String::new();
    let mut defects = (String::new(), String::new());
    for zone in 0..zones {
        let (first, last) = (cylinders * zone / zones, cylinders * (zone + 1) / zones - 1);
        let round = 300 - 10 * zone;
        rows += &format!("[{first}, {last}, {round}, 60, 90, {}],\n", slips / zones + 40);
        let sectors = (last - first + 1) * heads * round;
        let each = |of: u64, i: u64| i * sectors / of + (i * 7919) % 61 + 5;
        for i in 0..slips / zones {
            defects.0 += &format!("[{zone}, {}],\n", each(slips / zones + 1, i));
        }
        for i in 0..remaps / zones {
            defects.1 += &format!("[{zone}, {}, {}],\n", each(remaps / zones + 1, i) + 70, sectors - 1 - i);
        }
    }
    let list = |name: &str, rows: &str| if rows.is_empty() { String::new() } else { format!("{name} = [\n{rows}]\n") };
    made(&format!(
        "[geometry]\nheads = {heads}\norder = \"heads-first\"\nsparing = \"zone\"\nzones = [\n{rows}]\n{}{}",
        list("slips", &defects.0),
        list("remaps", &defects.1)
    ))
}

fn thorough(name: &str, drive: disk::Drive) -> Line {
    line_of(name, drive, Thoroughness::Thorough, 0.0)
}

/// A sector that lies elsewhere by itself is met by chance only: all but those are known.
#[test]
fn slips_and_sectors_elsewhere_leave_the_rest_known() {
    let line = thorough("remapped", zoned(1000, 80, 160));
    assert!(line.angles > 0.999 && line.tracks > 0.99 && line.minutes < 15.0, "{line:?}");
}

/// Heads that hold different numbers of sectors, so many cylinders on one before the next.
fn uneven(width: u64, bands: u64) -> disk::Drive {
    let (mut tracks, mut entries, mut first, mut turned) = (String::new(), String::new(), 0, 0.0);
    for (head, round) in [300, 280, 290, 260].into_iter().enumerate() {
        tracks += &format!("[0, {}, {round}],\n", round - 1);
        let (start, way) = if head % 2 == 0 { (0, 1) } else { (width - 1, -1) };
        let (blocks, moves) = (width * round, u64::from(width > 1));
        entries +=
            &format!("[{first}, {start}, {turned:.6}, {round}, {moves}, 0.21, {blocks}, {way}, {head}, {head}],\n");
        first += blocks;
        turned = (turned + width as f64 * 0.21 + 0.04) % 1.0;
    }
    let root = format!("[0, 0, 0.0, {first}, {width}, {turned:.6}, {}, 1, 0, -1]", first * bands);
    let list = |entries: &str| format!("[[geometry.tree.list]]\nentries = [\n{entries}]\n");
    made(&format!("[geometry]\nheads = 4\n[geometry.tree]\ntracks = [\n{tracks}]\n{}{}", list(&entries), list(&root)))
}

#[test]
fn tracks_of_one_cylinder_may_differ() {
    for (width, bands) in [(1, 3_000), (16, 200)] {
        let line = thorough("uneven", uneven(width, bands));
        assert!(line.angles == 1.0 && line.tracks == 1.0 && line.cylinders_off == 0.0, "{width}: {line:?}");
        assert!(line.minutes < 15.0, "{width}: {line:?}");
    }
}

/// Bands of so many tracks on a head, as of the last, and between them tracks that are each turned a little otherwise.
fn irregular(width: u64, bands: u64, strays: u64) -> disk::Drive {
    let (mut tracks, mut entries, mut first, mut turned) = (String::new(), String::new(), 0, 0.0);
    for (head, round) in [300u64, 280, 290, 260].into_iter().enumerate() {
        tracks += &format!("[0, {}, {round}],\n", round - 1);
        let (start, way) = if head % 2 == 0 { (0, 1) } else { (width - 1, -1) };
        let blocks = width * round;
        entries += &format!("[{first}, {start}, {turned:.6}, {round}, 1, 0.21, {blocks}, {way}, {head}, {head}],\n");
        first += blocks;
        turned = (turned + width as f64 * 0.21 + 0.04) % 1.0;
    }
    let (mut stray, mut offset) = (String::new(), 0.0);
    for i in 0..strays {
        stray += &format!("[{}, {i}, {offset:.6}, 300, 0, 0.0, 300, 1, 0, 0],\n", 300 * i);
        offset = (offset + 0.21 + (i * 7919 % 13) as f64 / 1500.0) % 1.0;
    }
    let part = bands * first;
    let root = |at: u64, cylinder: u64, list: u32, each: u64, blocks: u64, cylinders: u64| {
        format!("[{at}, {cylinder}, 0.0, {each}, {cylinders}, {turned:.6}, {blocks}, 1, {list}, -1],\n")
    };
    let rows = root(0, 0, 0, first, part, width)
        + &root(part, bands * width, 1, 300 * strays, 300 * strays, 0)
        + &root(part + 300 * strays, bands * width + strays, 0, first, part, width);
    let list = |entries: &str| format!("[[geometry.tree.list]]\nentries = [\n{entries}]\n");
    let lists = [&entries, &stray, &rows].map(|rows| list(rows)).concat();
    made(&format!("[geometry]\nheads = 4\n[geometry.tree]\ntracks = [\n{tracks}]\n{lists}"))
}

/// Where heads are not known to change, two tracks may be taken for one here and there.
#[test]
fn tracks_that_follow_no_rule_are_gone_through_one_by_one() {
    let line = thorough("irregular", irregular(16, 60, 600));
    assert!(line.angles == 1.0 && line.tracks > 0.99 && line.skews == 1.0 && line.minutes < 6.0, "{line:?}");
}

#[test]
#[ignore = "a minute; prints a table"]
fn growth() {
    println!("| tracks | slips | angles % | tracks % | min | commands |\n|---|---|---|---|---|---|");
    for (cylinders, slips) in [(2_500, 0), (10_000, 0), (40_000, 0), (10_000, 104), (10_000, 1_000), (10_000, 10_000)] {
        let it = thorough("made", zoned(cylinders, slips, 0));
        let (angles, tracks) = (100.0 * it.angles, 100.0 * it.tracks);
        println!("| {} | {slips} | {angles:.2} | {tracks:.2} | {:.1} | {} |", 4 * cylinders, it.minutes, it.commands);
    }
}
