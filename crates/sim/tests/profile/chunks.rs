//! The optimal range of chunks, held against the same sweep over a drive as its sheet has it, without noise and at another
//! phase.

use crate::{drive, names};
use disk::{Sheet, Truth};
use drive::Drive;
use profile::probe::chunk::{Chunks, sizes};
use profile::{ProfileOptions, ProfileOutcome, Scratch, Thoroughness};
use sched::plan::chunk_for;

/// The chunks of reads and of writes that a profile finds, and the sheet it writes.
fn swept(sheet: &Sheet, truth: &Truth, seed: u64) -> ([Chunks; 2], Sheet) {
    let mut device = sim::Bench::new(Drive::new(sheet, truth, seed));
    let blocks = sheet.mechanics.layout.blocks();
    let scratch = Some(Scratch { first: blocks / 2, blocks: (blocks / 8).min(1 << 20) });
    let options = ProfileOptions { name: "it".into(), seed, effort: Thoroughness::Quick, scratch };
    let profile = profile::profile(&mut device, &options, &mut ()).expect("it can be read and written");
    let ProfileOutcome::Disk(known) = profile.outcome else { panic!("it turns") };
    let plan = known.plan("it", profile.blocks);
    let (_, _, writes) = known.writes.clone().expect("it was written");
    let found = disk::parse("it", "it.toml", &disk::write(&plan)).expect("the drive file is one").sheet;
    ([known.chunks, writes], found)
}

/// By how many steps of the sweep two chunks differ.
fn steps(a: u32, b: u32, sector: u32) -> usize {
    let at = |chunk: u32| sizes(sector).iter().position(|size| *size >= chunk).unwrap_or(usize::MAX);
    at(a).abs_diff(at(b))
}

#[track_caller]
fn is_as_the_sheet_has_it(name: &str) {
    let disk::Drive { sheet, truth } = drive(name);
    let sector = 1 << sheet.mechanics.layout.sector_shift();
    let ((ours, found), (theirs, _)) = (swept(&sheet, &truth, 1), swept(&sheet, &Truth::default(), 2));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        match (ours.optimal, theirs.optimal) {
            (Some(ours), Some(theirs)) => assert!(
                steps(ours.0, theirs.0, sector) <= 1 && steps(ours.1, theirs.1, sector) <= 1,
                "{name}: {ours:?} {theirs:?}"
            ),
            (ours, theirs) => assert_eq!(ours, theirs, "{name}"),
        }
    }
    assert!(
        steps(chunk_for(&found), chunk_for(&sheet), sector) <= 1,
        "{name}: {} {}",
        chunk_for(&found),
        chunk_for(&sheet)
    );
}

#[test]
fn chunks_of_a_drive_that_handles_large_commands_badly() {
    is_as_the_sheet_has_it("st318437lw");
}

#[test]
fn what_large_commands_lose_is_in_the_drive_file() {
    let disk::Drive { sheet, truth } = drive("st318437lw");
    let (_, found) = swept(&sheet, &truth, 1);
    let (found, real) = (found.overheads.large.expect("they lose"), sheet.overheads.large.expect("they lose"));
    assert_eq!(found.above, real.above);
    assert!((found.read - real.read).abs() < 0.01 && (found.write - real.write).abs() < 0.01, "{found:?} {real:?}");
    let disk::Drive { sheet, truth } = drive("atlas10k");
    assert_eq!(swept(&sheet, &truth, 1).1.overheads.large, None);
}

#[test]
fn chunks_of_a_drive_with_a_small_buffer() {
    is_as_the_sheet_has_it("atlas10k");
}

#[test]
fn chunks_of_a_drive_without_a_memory() {
    is_as_the_sheet_has_it("hp-335h");
}

#[test]
#[ignore = "a minute, in a release build; prints a table"]
fn chunks_of_the_catalogue() {
    println!("| drive | reads | as by the sheet | writes | as by the sheet | chunk picked, found | true |");
    println!("|---|---|---|---|---|---|---|");
    for name in names() {
        let disk::Drive { sheet, truth } = drive(&name);
        let ((ours, found), (theirs, _)) = (swept(&sheet, &truth, 1), swept(&sheet, &Truth::default(), 2));
        println!(
            "| {name} | {:?} | {:?} | {:?} | {:?} | {} | {} |",
            ours[0].optimal,
            theirs[0].optimal,
            ours[1].optimal,
            theirs[1].optimal,
            chunk_for(&found),
            chunk_for(&sheet)
        );
        println!("  large commands: {:?} ({:?})", found.overheads.large, sheet.overheads.large);
        if std::env::var_os("HALFTURN_SWEEPS").is_some() {
            println!("  reads {:?}\n  writes {:?}", ours[0].sweep, ours[1].sweep);
        }
    }
}
