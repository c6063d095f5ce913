//! Paces, floors, flushes, and what is repaired when.

use super::*;
use sched::array::Level;

const MS: u64 = 1_000_000;

fn upkeep(rebuild: RepairPace) -> Upkeep {
    let geometry = Geometry::new(Level::Parity, 3, 8, 8 * 400).expect("a geometry");
    let mut upkeep = Upkeep::new(geometry, rebuild, RepairPace::default());
    upkeep.begin_rebuild(0, &[]);
    upkeep
}

/// Requests that are asked for in a second, each of which takes so long, beside clients who are there or not.
fn count(upkeep: &mut Upkeep, took: u64, clients: Clients) -> u32 {
    let (mut count, mut now) = (0, upkeep.now);
    let end = now + Span(1000 * MS);
    while now < end {
        match upkeep.take(now, clients) {
            Some(errand) => {
                count += u32::from(errand.op == Op::Repair);
                now += Span(took * MS);
                upkeep.end(now, errand.number, Ending::Finished);
            }
            None => now = upkeep.due(clients).expect("there is more").max(now + Span(MS / 10)),
        }
    }
    count
}

#[test]
fn clients_who_ask_leave_it_its_floor_and_those_who_do_not_all() {
    let pace = RepairPace { blocks: 16, ..RepairPace::default() };
    let (busy, silent) =
        (Clients { outstanding: 3, silent_from: Time::ZERO }, Clients { outstanding: 0, silent_from: Time::ZERO });
    assert!((95..=101).contains(&count(&mut upkeep(pace), 10, silent)));
    let beside = count(&mut upkeep(pace), 10, busy);
    assert!((9..=16).contains(&beside), "a tenth of the time: {beside}");
    let half = count(&mut upkeep(RepairPace { floor: Some(0.5), ..pace }), 10, busy);
    assert!((48..=76).contains(&half), "half of the time: {half}");
    assert_eq!(upkeep(RepairPace { floor: Some(0.0), ..pace }).take(Time(MS), busy), None);
    let all = count(&mut upkeep(RepairPace { floor: None, ..pace }), 10, busy);
    assert!((95..=101).contains(&all), "the scheduler decides: {all}");
    let capped = count(&mut upkeep(RepairPace { apart: Span(50 * MS), ..pace }), 10, silent);
    assert!((19..=21).contains(&capped), "{capped}");
    // Who asked a moment ago may ask again.
    let just = Clients { outstanding: 0, silent_from: Time(700 * MS) };
    let mut late = upkeep(pace);
    late.behind_from = Time(900 * MS);
    assert_eq!((late.take(Time(700 * MS), just), late.due(just)), (None, Some(Time(700 * MS) + SILENCE)));
    assert!(late.take(Time(701 * MS), just).is_some());
}

/// A minute in which nobody asked is not held against it when many do.
#[test]
fn what_clients_left_it_does_not_count_for_its_floor_when_they_come_back() {
    for floor in [0.05, 0.1, 0.3] {
        let pace = RepairPace { blocks: 16, floor: Some(floor), ..RepairPace::default() };
        let mut upkeep = upkeep(pace);
        for _ in 0..60 {
            if upkeep.sweep.as_ref().is_some_and(|(_, sweep)| sweep.share() > 0.5) {
                upkeep.begin_rebuild(0, &[]);
            }
            assert!(count(&mut upkeep, 10, Clients { outstanding: 0, silent_from: Time::ZERO }) >= 95);
        }
        upkeep.begin_rebuild(0, &[]);
        let beside = f64::from(count(&mut upkeep, 10, Clients { outstanding: 32, silent_from: Time::ZERO }));
        assert!((floor * 100.0 - 2.0..=floor * 150.0 + 2.0).contains(&beside), "{floor}: {beside}");
    }
}

/// A client who comes while a request is under way that began alone makes it take longer.
#[test]
fn what_a_request_takes_alone_is_not_what_it_takes_when_clients_come_meanwhile() {
    let mut upkeep = upkeep(RepairPace { blocks: 16, ..RepairPace::default() });
    let silent = Clients { outstanding: 0, silent_from: Time::ZERO };
    for _ in 0..20 {
        count(&mut upkeep, 10, silent);
        upkeep.begin_rebuild(0, &[]);
    }
    for took in [30, 10].repeat(30) {
        let now = upkeep.now + Span(100 * MS);
        let errand = upkeep.take(now, silent).expect("a repair");
        upkeep.end(now + Span(took * MS), errand.number, Ending::Finished);
    }
    let alone = upkeep.alone.find(0, upkeep.geometry.blocks()).0 as f64 / 1e6;
    assert!((10.0..12.0).contains(&alone), "{alone} ms");
}

/// The inner tracks of disks are read at half the speed of the outer ones: a floor is a part of what is had where the rebuild is.
#[test]
fn a_floor_is_a_part_of_what_requests_take_alone_where_they_lie() {
    let mut upkeep = upkeep(RepairPace { blocks: 16, ..RepairPace::default() });
    let silent = Clients { outstanding: 0, silent_from: Time::ZERO };
    let half = upkeep.geometry.blocks() / 2;
    while let Some(errand) = upkeep.take(upkeep.now + Span(100 * MS), silent) {
        let took = if errand.at.start.0 < half { 10 } else { 30 };
        upkeep.end(upkeep.now + Span(took * MS), errand.number, Ending::Finished);
    }
    upkeep.begin_rebuild(0, &[]);
    // Beside clients one takes longer than alone anywhere: what it takes says nothing of that.
    let beside = count(&mut upkeep, 40, Clients { outstanding: 32, silent_from: Time::ZERO });
    assert!((9..=16).contains(&beside), "a tenth of the time: {beside}");
}

/// Beside clients who never leave off each request takes far longer than alone, and nobody knows how long that is.
#[test]
fn what_takes_long_beside_clients_is_asked_for_side_by_side_so_that_it_has_its_floor() {
    let busy = Clients { outstanding: 32, silent_from: Time::ZERO };
    for (known, took, least) in [(None, 400, 120), (Some(20), 400, 50), (Some(20), 90, 50)] {
        let mut upkeep = upkeep(RepairPace { blocks: 16, ..RepairPace::default() });
        let blocks = upkeep.geometry.blocks();
        known.iter().for_each(|ms: &u64| upkeep.alone.note(0, blocks, Span(ms * MS)));
        let (mut ended, mut flying, mut most) = (0, VecDeque::new(), 0);
        for now in (0..10_000).map(|ms| Time(ms * MS)) {
            while flying.front().is_some_and(|(at, _)| *at <= now) {
                let (_, number) = flying.pop_front().expect("one");
                upkeep.end(now, number, Ending::Finished);
                ended += 1;
            }
            while let Some(errand) = upkeep.take(now, busy).filter(|errand| errand.op == Op::Repair) {
                flying.push_back((now + Span(took * MS), errand.number));
            }
            most = most.max(flying.len());
        }
        assert!((least - 5..=least + 6).contains(&ended) && most <= MOST_BEHIND, "{known:?}, {took}: {ended}, {most}");
    }
}

#[test]
fn a_pace_that_is_changed_holds_at_once() {
    let busy = Clients { outstanding: 1, silent_from: Time::ZERO };
    let mut upkeep = upkeep(RepairPace { blocks: 16, ..RepairPace::default() });
    let before = count(&mut upkeep, 10, busy);
    upkeep.change_pace(PaceChange { floor: Some(1.0), rate: None });
    assert!(count(&mut upkeep, 10, busy) > 4 * before);
    upkeep.change_pace(PaceChange { floor: None, rate: Some(4.0) });
    upkeep.begin_rebuild(0, &[]);
    assert!(count(&mut upkeep, 10, busy) <= 5);
}

/// What is noted was flushed before, and is of the disk that is there.
#[test]
fn how_far_it_has_come_is_noted_after_a_flush_alone() {
    let pace = RepairPace { blocks: 16, floor: None, noted_every: Span(MS), ..RepairPace::default() };
    let clients = Clients { outstanding: 0, silent_from: Time::ZERO };
    let mut upkeep = upkeep(pace);
    let first = upkeep.take(Time(MS), clients).expect("a repair");
    upkeep.end(Time(2 * MS), first.number, Ending::Finished);
    assert_eq!(upkeep.next_durable(), None);
    let flush = upkeep.take(Time(4 * MS), clients).expect("a flush");
    assert_eq!((flush.op, upkeep.next_durable()), (Op::Flush, None));
    upkeep.end(Time(5 * MS), flush.number, Ending::Failed(5));
    assert_eq!(upkeep.next_durable(), None, "nothing was flushed");
    let later = Time(6 * MS) + TRIED_AGAIN;
    let flush = upkeep.take(later, clients).expect("a flush");
    assert_eq!(flush.op, Op::Flush);
    // Another disk takes the place meanwhile.
    upkeep.begin_rebuild(0, &[]);
    upkeep.end(later, flush.number, Ending::Finished);
    assert_eq!(upkeep.next_durable(), None, "it was of the one before");
    // So is what was asked for before, though it ends now.
    let old = upkeep.take(later, clients).expect("a repair");
    upkeep.begin_rebuild(0, &[]);
    upkeep.end(later, old.number, Ending::Finished);
    assert_eq!(upkeep.sweep.as_ref().map(|(_, sweep)| sweep.rows()), Some(0));
    let mut whole = Upkeep::new(upkeep.geometry, pace, pace);
    whole.begin_rebuild(0, &[]);
    whole.note_complete(DiskId(1));
    let flush = whole.take(later, clients).expect("a flush");
    assert_eq!((flush.op, whole.list_completed()), (Op::Flush, vec![DiskId(1)]));
    // Another disk is to be filled meanwhile; this one is all the same.
    whole.begin_rebuild(0, &[]);
    whole.end(later, flush.number, Ending::Finished);
    assert_eq!((whole.next_durable(), whole.list_completed()), (Some(Durable::Disk(DiskId(1))), vec![]));
}
