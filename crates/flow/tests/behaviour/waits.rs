//! Criticality: who waits for what, since when, and what that makes of a request.

use crate::bench::{MS, compute, play, play_workload, script};
use block::{Extent, Op, Span, Time};
use flow::{Criticality, ProcessStep};

fn limited(think: u64) -> Vec<ProcessStep> {
    let at = Extent::new(80, 8);
    let ask = ProcessStep::Ask { key: Some((0, 1)), op: Op::Read, at, criticality: Criticality::Limited };
    vec![ask, compute(think), ProcessStep::Await { key: 0, blocks: true }]
}

#[test]
fn a_limited_request_in_time_makes_nobody_wait() {
    let run = play("", vec![script(limited(30))], Span(20 * MS.0));
    let account = &run.account;
    assert_eq!((account.limits, account.in_time, account.limits_sum), (1, 1, Span(30 * MS.0)));
    assert_eq!((account.false_idle, run.raised.len()), (Span::ZERO, 0));
    assert_eq!(account.ended, Some(Time(30 * MS.0)));
}

#[test]
fn a_limited_request_that_is_late_becomes_critical() {
    let run = play("", vec![script(limited(5))], Span(20 * MS.0));
    let account = &run.account;
    assert_eq!((account.limits, account.in_time, account.limits_sum), (1, 0, Span(5 * MS.0)));
    assert_eq!((account.false_idle, run.raised.as_slice()), (Span(15 * MS.0), [2].as_slice()));
    assert_eq!(account.raised, 1);
}

/// 004 §3.3: requests that nobody waits for come when they come, however long they take.
#[test]
fn all_non_critical_is_an_open_load() {
    let workload = "kind = \"processes\"\nprocesses = 3\ncompute = \"8ms\"\nsize = \"4KiB\"\nrequests = 200";
    let system = "cpus = 3\nclock_interrupt = \"10us\"\nswitch = \"20us\"";
    let [fast, slow] = [1, 400].map(|ms| play_workload(system, workload, Span(ms * MS.0)));
    assert_eq!(fast.made, slow.made);
    assert_eq!(fast.account.ended, slow.account.ended);
    assert!(slow.outstanding.0 > 500, "{:?}", slow.outstanding);
}

/// 004 §3.3: with no computation between them, critical requests are a constant number outstanding.
#[test]
fn all_critical_without_computation_is_a_closed_load() {
    let workload =
        "kind = \"processes\"\nprocesses = 5\ncompute = \"0ms\"\ncritical = 1.0\nsize = \"4KiB\"\nrequests = 100";
    let run = play_workload("", workload, Span(7 * MS.0));
    assert_eq!(run.outstanding.0, 5);
    let mut times: Vec<Time> = run.made.iter().map(|(time, _)| *time).collect();
    times.dedup();
    assert_eq!(run.account.ended, Some(Time(500 * 7 * MS.0)), "the device never waits");
    assert_eq!(times.len(), 1 + 495, "each comes when another has ended");
}
