//! The way of data to and from the host, held against the truth.

use crate::writes::{middle, written};
use disk::{After, Bus, Sheet};
use drive::Drive;
use profile::ProfileOutcome;

/// The sheet that a profile with a scratch writes of a drive like this one but for its bus.
fn found(name: &str, change: impl Fn(&mut Sheet)) -> (Sheet, Sheet) {
    let disk::Drive { mut sheet, truth } = crate::drive(name);
    change(&mut sheet);
    let mut device = sim::Bench::new(Drive::new(&sheet, &truth, 7));
    let profile = written(name, &mut device, middle(&sheet, 1 << 20));
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("{name} turns") };
    let text = disk::write(&known.plan("it", profile.blocks));
    (disk::parse("it", "it.toml", &text).expect("the drive file is one").sheet, sheet)
}

#[track_caller]
fn is_known(name: &str, change: impl Fn(&mut Sheet)) {
    let (found, real) = found(name, change);
    let mb_s = |bus: Bus| bus.mb_s.unwrap_or(f64::MAX);
    let (ours, theirs) = (found.bus, real.bus);
    assert!((mb_s(ours) / mb_s(theirs) - 1.0).abs() < 0.01, "{name}: {ours:?} {theirs:?}");
    assert!((ours.watermark - theirs.watermark).abs() < 0.05, "{name}: {ours:?} {theirs:?}");
    assert!((ours.write_watermark - theirs.write_watermark).abs() < 0.12, "{name}: {ours:?} {theirs:?}");
    let (ours, theirs) = (found.overheads.hit, real.overheads.hit);
    let off = |ours: block::Span, theirs: block::Span| ours.0.abs_diff(theirs.0);
    let known = found.cache.segments == 0 || off(ours.read, theirs.read).max(off(ours.write, theirs.write)) < 5_000;
    assert!(known, "{name}: {ours:?} {theirs:?}");
}

#[test]
fn a_slow_bus_is_known_where_nothing_is_answered_from_memory() {
    is_known("hp-335h", |_| {});
}

#[test]
fn a_slow_bus_is_known_where_what_was_read_is_soon_driven_out() {
    is_known("atlas10k-validation", |_| {});
}

/// What was read is gone by then, and comes round again after one revolution or several. How much of a write must be there before
/// it goes is not told apart there.
#[test]
fn the_rate_of_a_bus_of_a_tenth_of_the_medium_is_known() {
    for (name, mb_s) in [("st318437lw", 4.0), ("wd400bb", 5.0)] {
        let (found, _) = found(name, |sheet| sheet.bus.mb_s = Some(mb_s));
        assert!(found.bus.mb_s.is_some_and(|ours| (ours / mb_s - 1.0).abs() < 0.01), "{name}: {:?}", found.bus);
    }
}

#[test]
fn how_much_must_be_there_before_it_goes_is_known() {
    for share in [0.5, 1.0] {
        is_known("atlas10k-validation", |sheet| {
            (sheet.bus.watermark, sheet.bus.write_watermark) = (share, share);
            sheet.overheads.hit = After { read: block::Span(300_000), write: block::Span(1_200_000) };
        });
    }
}

/// Reads that begin wherever the head lands show unless the bus takes a revolution and more for the shortest track: then they gain
/// nothing. Those that do not are not taken for such, though each zone's tracks then end at another angle.
#[test]
fn reads_that_begin_anywhere_are_told_behind_any_bus() {
    for (mb_s, shows) in
        [(4.0, false), (14.0, false), (22.0, true), (26.0, true), (29.0, true), (40.0, true), (300.0, true)]
    {
        for anywhere in [true, false] {
            let disk::Drive { mut sheet, truth } = crate::drive("atlas10k");
            crate::habits::accesses(&mut sheet, |access| access.reads = anywhere);
            sheet.bus.mb_s = Some(mb_s);
            let known = crate::known_in_short(&sheet, &truth);
            assert_eq!(known.transfer.on_arrival, anywhere && shows, "{mb_s} MB/s");
        }
    }
}
