//! What a drive's memory does besides, held against the truth: what it takes that nobody asked for, whether it reads on
//! again, what written data do in it, and whether a read waits for the few writes that a small buffer holds.

use crate::writes::middle;
use block::Span;
use disk::{Access, Ahead, Cache, Drain, Sheet};
use drive::Drive;
use profile::{ProfileOptions, ProfileOutcome, Thoroughness};

/// A drive of one zone, changed, and the sheet that a quick profile writes of it.
fn profile_changed_drive(change: impl Fn(&mut Sheet)) -> (Sheet, Sheet) {
    let disk::Drive { mut sheet, truth } = crate::drive("mimic-base");
    sheet.overheads.buffered = disk::After::either(Span(100_000));
    // An answer from memory takes longer after a write.
    sheet.overheads.hit = disk::After { read: Span(100_000), write: Span(150_000) };
    change(&mut sheet);
    let mut device = sim::Bench::new(Drive::new(&sheet, &truth, 7));
    let scratch = Some(middle(&sheet, 1 << 20));
    let options = ProfileOptions { name: "it".into(), seed: 1, effort: Thoroughness::Quick, scratch };
    let profile = profile::profile(&mut device, &options, &mut ()).expect("it can be read and written");
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("it turns") };
    let text = disk::write(&known.plan("it", profile.blocks));
    (disk::parse("it", "it.toml", &text).expect("the drive file is one").sheet, sheet)
}

/// Another way to take what passes under the head.
pub(crate) fn accesses(sheet: &mut Sheet, change: impl Fn(&mut Access)) {
    let mut mechanics = (*sheet.mechanics).clone();
    change(&mut mechanics.access);
    sheet.mechanics = mechanics.into();
}

#[track_caller]
fn is_known(cache: impl Fn(&mut Cache), free: bool) {
    is_known_where(cache, free, None);
}

#[track_caller]
fn is_known_where(cache: impl Fn(&mut Cache), free: bool, read: Option<Span>) {
    let (ours, theirs) = profile_changed_drive(|sheet| {
        cache(&mut sheet.cache);
        accesses(sheet, |access| access.free = free);
        // The arm goes so long after a read was given, if not as long as it does.
        sheet.overheads.read = read.map_or(sheet.overheads.read, disk::After::either);
    });
    let habits = |sheet: &Sheet| {
        let Cache { shared, resumes, ahead, almost_hits, drain, write_buffer, hits_wait, written_hits, .. } =
            sheet.cache;
        let of_writes = (write_buffer > 0).then_some((write_buffer, drain, hits_wait, written_hits));
        (sheet.mechanics.access.free, shared, resumes, ahead, almost_hits, of_writes)
    };
    assert_eq!(habits(&ours), habits(&theirs), "{:?}\n{:?}", ours.cache, theirs.cache);
}

/// A segment holds a track, and more than it reads on.
fn reads_on(cache: &mut Cache, ahead: Ahead, resumes: bool) {
    (cache.segment, cache.ahead, cache.resumes) = (600, ahead, resumes);
    cache.read_ahead = if ahead == Ahead::Most { 64 } else { 600 };
}

#[test]
fn a_drive_that_keeps_what_passes_is_known() {
    is_known(|_| {}, true);
}

#[test]
fn a_drive_that_reads_on_again_is_known() {
    for ahead in [Ahead::Most, Ahead::Track] {
        is_known(|cache| reads_on(cache, ahead, true), false);
    }
    is_known(|cache| (cache.segments, cache.read_ahead, cache.resumes) = (1, 64, true), false);
}

#[test]
fn a_drive_that_reads_on_once_and_keeps_only_what_it_was_asked_for_is_known() {
    for ahead in [Ahead::Most, Ahead::Track] {
        is_known(|cache| reads_on(cache, ahead, false), false);
    }
}

/// A segment that holds no more than is read on drops what was read, and keeps what follows: that is driven out by as many others.
/// By the one controller the next read comes too late to find it; by the other it may be found still.
#[test]
fn segments_that_drop_what_was_read_for_what_is_read_on_are_counted() {
    for (segments, blocks, overhead_us) in [(32, 64, 200), (128, 128, 600)] {
        let disk::Drive { mut sheet, truth } = crate::drive("exos-x22");
        (sheet.cache.segments, sheet.cache.segment, sheet.cache.read_ahead) = (segments, blocks, blocks);
        sheet.overheads.read = disk::After::either(Span(overhead_us * 1000));
        let known = crate::known_in_short(&sheet, &truth);
        assert_eq!(known.cache.segments, segments, "of {blocks} blocks");
        assert_eq!(known.geometry.heads, 23, "segments of {blocks} blocks");
    }
}

#[test]
fn written_data_that_take_the_place_of_what_was_read_are_known() {
    for (segments, buffer) in [(3, 0), (8, 200)] {
        for shared in [false, true] {
            is_known(|cache| (cache.segments, cache.write_buffer, cache.shared) = (segments, buffer, shared), false);
        }
    }
}

#[test]
fn whether_a_read_waits_for_one_or_two_writes_is_known() {
    for extents in [1, 2] {
        for drain in [Drain::Soonest, Drain::InOrder] {
            let buffer =
                |cache: &mut Cache| (cache.write_buffer, cache.write_extents, cache.drain) = (200, extents, drain);
            is_known(buffer, false);
        }
    }
}

#[test]
fn what_reads_from_memory_wait_for_is_known_where_the_drive_reads_on() {
    for waits in [false, true] {
        let habits = |cache: &mut Cache| {
            (cache.write_buffer, cache.hits_wait, cache.written_hits) = (200, waits, !waits);
        };
        is_known(habits, false);
    }
}

#[test]
fn whether_what_is_just_being_read_on_counts_as_found_is_known_also_where_the_arm_goes_at_once() {
    for almost in [false, true] {
        for read in [None, Some(Span::ZERO)] {
            is_known_where(|cache| (cache.read_ahead, cache.almost_hits) = (64, almost), false, read);
        }
    }
}

#[test]
fn reads_that_begin_wherever_the_head_lands_are_told_apart_without_a_memory_and_over_a_slow_bus() {
    for anywhere in [false, true] {
        let (ours, theirs) = profile_changed_drive(|sheet| {
            let layout = &sheet.mechanics.layout;
            let medium = f64::from(layout.track_sectors(0)) * 512e3 / sheet.mechanics.rotation.period_ns();
            (sheet.cache.segments, sheet.bus.mb_s) = (0, Some(2.0 * medium));
            accesses(sheet, |access| (access.reads, access.writes) = (anywhere, anywhere));
        });
        let of = |sheet: &Sheet| (sheet.mechanics.access.reads, sheet.mechanics.access.writes);
        assert_eq!(of(&ours), of(&theirs));
    }
}

#[test]
fn the_bus_is_known_by_what_is_written_where_nothing_is_read_from_memory() {
    let (ours, theirs) = profile_changed_drive(|sheet| {
        (sheet.cache.segments, sheet.cache.write_buffer, sheet.bus.mb_s) = (0, 400, Some(60.0));
    });
    let mb_s = [&ours, &theirs].map(|sheet| sheet.bus.mb_s.unwrap_or(f64::MAX));
    assert!((mb_s[0] / mb_s[1] - 1.0).abs() < 0.01, "{mb_s:?}");
}
