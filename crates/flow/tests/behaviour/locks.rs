//! Locks: who has one, who waits for it, and what that makes of a request.

use crate::bench::{MS, Run, compute, play, play_workload, script};
use block::{Extent, Op, Span, Time};
use flow::{Criticality, ModelEventKind, Pid, ProcessStep};
use load::Draw;

const LOCK: ProcessStep = ProcessStep::Lock { lock: 7 };
const UNLOCK: ProcessStep = ProcessStep::Unlock { lock: 7 };

fn ms(ms: u64) -> Span {
    Span(ms * MS.0)
}

/// Asks for what it does not need, and sees it end.
fn watch(key: u32, criticality: Criticality) -> [ProcessStep; 2] {
    let at = Extent::new(80 + 80 * u64::from(key), 8);
    [ProcessStep::Ask { key: Some((key, 1)), op: Op::Read, at, criticality }, ProcessStep::Await { key, blocks: false }]
}

fn ends(run: &Run) -> Vec<(u32, Time)> {
    let exit = |event: &flow::ModelEvent| match event.kind {
        ModelEventKind::Exit(Pid(pid)) => Some((pid, event.at)),
        _ => None,
    };
    run.events.iter().filter_map(exit).collect()
}

/// One after the other in the order in which they came, each as long as it has it: as a counter with one clerk.
#[test]
fn one_has_the_lock_at_a_time_and_those_who_wait_have_it_in_turn() {
    for seed in 0..60 {
        println!("HALFTURN_SEED={seed}");
        let mut draw = Draw::new(seed, 5);
        let many = 2 + draw.below(6);
        // No two come at one instant.
        let visits: Vec<(u64, u64)> = (0..many).map(|i| (draw.below(20) * 10 + i, 1 + draw.below(40))).collect();
        let program =
            |(comes, stays): &(u64, u64)| script([compute(*comes), LOCK, compute(*stays), UNLOCK, compute(3)]);
        let run = play(&format!("cpus = {many}"), visits.iter().map(program).collect(), MS);
        let mut expected: Vec<(u32, Time)> = Vec::new();
        let mut order: Vec<usize> = (0..visits.len()).collect();
        order.sort_by_key(|i| visits[*i].0);
        let mut free = 0;
        for i in order {
            let (comes, stays) = visits[i];
            free = comes.max(free) + stays;
            expected.push((i as u32, Time::ZERO + ms(free + 3)));
        }
        let mut ended = ends(&run);
        ended.sort_unstable();
        expected.sort_unstable();
        assert_eq!(ended, expected);
    }
}

/// The holder sleeps until a request has ended that nobody needs; from when another waits for the lock, somebody does.
#[test]
fn what_the_holder_of_a_lock_watches_is_critical_once_another_waits_for_the_lock() {
    for (inherits, criticality) in
        [(true, Criticality::Noncritical), (true, Criticality::Limited), (false, Criticality::Noncritical)]
    {
        let [ask, await_it] = watch(0, criticality);
        let holder = script([LOCK, ask, await_it, UNLOCK]);
        let other = script([compute(5), LOCK, compute(2), UNLOCK]);
        let run = play(&format!("inherit = {inherits}"), vec![holder, other], ms(20));
        let account = &run.account;
        assert_eq!(account.ended, Some(Time::ZERO + ms(22)), "whoever inherits, the device was at it");
        let raised: &[u8] = if inherits { &[2] } else { &[] };
        assert_eq!((run.raised.as_slice(), account.raised), (raised, raised.len() as u64));
        let (idle, false_idle) = if inherits { (ms(0), ms(15)) } else { (ms(15), ms(0)) };
        assert_eq!((account.idle, account.false_idle), (idle, false_idle));
        let limits = if criticality == Criticality::Limited { (1, ms(5)) } else { (0, ms(0)) };
        assert_eq!((account.limits, account.limits_sum), limits);
    }
}

/// The other was there first: the request is critical as soon as its asker sleeps on it.
#[test]
fn it_is_critical_at_once_where_somebody_waits_for_the_lock_already() {
    let [ask, await_it] = watch(0, Criticality::Noncritical);
    let holder = script([LOCK, compute(10), ask, await_it, UNLOCK]);
    let other = script([compute(5), LOCK, UNLOCK]);
    let run = play("cpus = 2", vec![holder, other], ms(20));
    assert_eq!((run.raised.as_slice(), run.account.ended), ([2].as_slice(), Some(Time::ZERO + ms(30))));
}

/// The third waits for the second, who waits for the first; a circle of two waits for ever, and is no endless search.
#[test]
fn it_is_inherited_through_as_many_locks_as_lie_between() {
    let (lock, unlock) = (|lock| ProcessStep::Lock { lock }, |lock| ProcessStep::Unlock { lock });
    let [ask, await_it] = watch(0, Criticality::Noncritical);
    let first = script([lock(1), ask, compute(20), await_it, unlock(1)]);
    let second = script([lock(2), compute(5), lock(1), unlock(1), unlock(2)]);
    let third = script([compute(30), lock(2), unlock(2)]);
    let run = play("cpus = 3", vec![first, second, third], ms(50));
    assert_eq!((run.raised.as_slice(), run.account.ended), ([2].as_slice(), Some(Time::ZERO + ms(50))));
    let crossed = |a, b| script([lock(a), compute(5), lock(b), unlock(b), unlock(a)]);
    let late = script([compute(9), lock(1)]);
    assert_eq!(play("cpus = 3", vec![crossed(1, 2), crossed(2, 1), late], MS).account.ended, None);
}

#[test]
fn who_ends_with_a_lock_gives_it_up() {
    let run = play("", vec![script([LOCK, compute(4)]), script([LOCK, compute(1)])], MS);
    assert_eq!(run.account.ended, Some(Time::ZERO + ms(5)));
}

/// Of processes made up of chances: with the lock always, one request is outstanding at a time, however many processes.
#[test]
fn requests_made_with_the_lock_are_one_at_a_time() {
    let workload = |locked: f64| {
        format!(
            "kind = \"processes\"\nprocesses = 4\ncompute = \"2ms\"\ncritical = 0.5\nlocked = {locked}\nsize = \"4KiB\"\nrequests = 50"
        )
    };
    let alone = play_workload("cpus = 4", &workload(1.0), ms(7));
    assert_eq!((alone.outstanding.0, alone.made.len()), (1, 200));
    assert!(alone.account.raised > 50, "{} raised", alone.account.raised);
    let none = play_workload("cpus = 4", &workload(0.0), ms(7));
    assert!(none.outstanding.0 > 4 && none.account.raised == 0);
}
