//! Scenes of two mirrored disks without noise: what preemption with migration and JIT-migration do to the one that is interrupted
//! and to the one that comes (Preemptive RAID scheduling, Figures 5 and 6).

use crate::script::{Script, When};
use block::{Caps, Extent, Op, Qos, Request, RequestId, Span, Time};
use disk::{Sheet, catalogue};
use sched::Core;
use sched::array::{Array, ArrayPlan, Geometry, Level, Migration, Placement};
use sched::plan::{ClassRule, Plan, PreemptAt, Preemption, Rules, chunk_for};
use sched::policy::{self, Beside};
use sched::predict::Profile;

/// Blocks of 2 MiB, and of 100 KiB.
const LONG: u32 = 4096;
const SHORT: u32 = 200;

/// What came of a scene.
struct Played {
    ended: Vec<Time>,
    asked: Vec<u64>,
    moved: u64,
}

fn sheet() -> Sheet {
    catalogue::find("atlas10k").unwrap().sheet
}

/// Requests to two mirrored disks, of which each copy is read in turn.
fn play(migration: Migration, preemption: Preemption, delay: Span, requests: Vec<(When, Request)>) -> Played {
    let sheet = sheet();
    let caps = Caps { blocks: sheet.mechanics.layout.blocks(), depth: 1, seek: block::SeekBy::Command, arms: 1 };
    let class = |preempts| ClassRule { preempts, ..ClassRule::USUAL };
    let rules = Rules {
        plan: Some(Plan::of_chunk(chunk_for(&sheet))),
        preemption,
        preempt_at: PreemptAt::Jit,
        classes: vec![class(false), class(true)],
        ..Rules::default()
    };
    let core = || {
        let make = || policy::usual("fcfs").make(&Beside::default());
        Core::new(caps, u32::MAX, Profile::new(&sheet), rules.clone(), Box::new(make))
    };
    let geometry = Geometry::new(Level::Mirrored { copies: 2 }, 2, 1 << 20, caps.blocks).unwrap();
    let plan = ArrayPlan { migration, delay, placement: Placement::RoundRobin, ..ArrayPlan::default() };
    let mut array = Array::new(geometry, plan, rules.clone(), 16, vec![core(), core()]);
    let script = Script::play(&mut array, &sheet, 2, requests);
    Played { ended: script.ended(), asked: script.asked, moved: array.reads_moved() }
}

fn read(id: u32, at_ms: u64, start: u64, blocks: u32, class: u8) -> (When, Request) {
    let qos = Qos { class, ..Qos::default() };
    (
        When::At(Time(at_ms * 1_000_000)),
        Request { id: RequestId(id), op: Op::Read, at: Extent::new(start, blocks), qos },
    )
}

/// A long read, on the second disk as it is its turn, and a short one of the other class in its midst, when it is that disk's
/// turn again. What the first disk reads has ended by then.
fn scene(at_ms: u64, n: u64, class: u8) -> Vec<(When, Request)> {
    vec![
        read(0, 0, 1_000_000 + 100_000 * n, LONG, 0),
        read(1, 0, 9_000_000, SHORT, 0),
        read(2, at_ms, 500_000 + 700_000 * n, SHORT, class),
    ]
}

fn asked(played: &Played) -> u64 {
    played.asked.iter().sum()
}

#[test]
fn the_rest_of_an_interrupted_read_joins_the_queue_of_the_mirror() {
    for n in 0..8 {
        let stays = play(Migration::Never, Preemption::Always, Span::ZERO, scene(60, n, 1));
        let moves = play(Migration::Remainder, Preemption::Always, Span::ZERO, scene(60, n, 1));
        assert_eq!((stays.moved, moves.moved), (0, 1), "{n}");
        assert_eq!(asked(&stays), asked(&moves), "{n}: nothing is read twice");
        assert_eq!(moves.ended[2], stays.ended[2], "{n}: the one that came is served as soon");
        assert!(moves.ended[0] < stays.ended[0], "{n}: and the other goes on meanwhile");
    }
}

#[test]
fn jit_migration_delays_the_ongoing_read_by_a_revolution_at_most_and_lets_the_other_in() {
    let turn = sheet().mechanics.rotation.period();
    for n in 0..12 {
        let alone = play(Migration::Never, Preemption::Never, Span::ZERO, scene(40, n, 0)[..2].to_vec());
        let stays = play(Migration::Never, Preemption::Never, Span::ZERO, scene(40, n, 0));
        let moves = play(Migration::Jit, Preemption::Never, Span::ZERO, scene(40, n, 0));
        assert_eq!(moves.moved, 1, "{n}");
        assert_eq!(asked(&stays), asked(&moves), "{n}: nothing is read twice");
        let late = moves.ended[0].since(alone.ended[0]);
        assert!(late <= turn, "{n}: the ongoing read is {late:?} later");
        // An access to the mirror, a revolution, and its own access.
        let wait = moves.ended[2].since(Time(40_000_000));
        assert!(wait < stays.ended[2].since(Time(40_000_000)) && wait < Span::from_ms(45.0), "{n}: {wait:?}");
    }
}

#[test]
fn a_message_that_takes_longer_moves_less_and_later() {
    let moved =
        |delay| (0..12).map(|n| play(Migration::Jit, Preemption::Never, delay, scene(40, n, 0)).moved).sum::<u64>();
    let [none, some, more] = [Span::ZERO, Span::from_ms(5.0), Span::from_ms(200.0)].map(moved);
    assert!(none >= some && some > 0 && more == 0, "{none} {some} {more}");
}

/// The same long read, of the highest priority, while the first disk is at work on one of the lowest; and a short one between them.
fn scene_of_three(n: u64, priorities: [u8; 3]) -> Vec<(When, Request)> {
    let mut scene = scene(40, n, 1);
    scene[1] = read(1, 0, 9_000_000, LONG, 1);
    for ((_, request), priority) in scene.iter_mut().zip(priorities) {
        request.qos = Qos { class: 1, priority, deadline: None };
    }
    scene
}

#[test]
fn a_read_makes_way_at_a_mirror_that_does_what_is_worth_less() {
    let turn = sheet().mechanics.rotation.period();
    for n in 0..12 {
        let [stays, moves] = [Migration::Never, Migration::Jit]
            .map(|migration| play(migration, Preemption::Priority, Span::ZERO, scene_of_three(n, [2, 0, 1])));
        assert!(moves.moved >= 1, "{n}: it moved");
        assert_eq!(asked(&stays), asked(&moves), "{n}: nothing is read twice");
        let late = moves.ended[0].since(stays.ended[0]);
        assert!(late <= turn, "{n}: the ongoing read is {late:?} later");
        assert!(moves.ended[2] < stays.ended[2], "{n}: and the one that came is served sooner");
    }
}

#[test]
fn no_read_makes_way_where_that_delays_what_is_worth_as_much() {
    for priorities in [[2, 1, 1], [2, 2, 1], [1, 1, 0], [2, 1, 0]] {
        for n in 0..4 {
            let moves = play(Migration::Jit, Preemption::Priority, Span::ZERO, scene_of_three(n, priorities));
            assert_eq!(moves.moved, 0, "{n}: {priorities:?}");
        }
    }
}
