//! The buffer cache: read-ahead, delayed writes, and what happens when there is no clean page left.

use crate::bench::{MS, compute, play, play_workload, script};
use block::Span;
use flow::ProcessStep;

#[test]
fn a_page_read_ahead_in_time_is_there() {
    let steps = [
        ProcessStep::Read { page: 1, ahead: Some(2) },
        compute(50),
        ProcessStep::Read { page: 2, ahead: Some(3) },
        compute(50),
        ProcessStep::Read { page: 1, ahead: None },
    ];
    let run = play("", vec![script(steps)], Span(10 * MS.0));
    let account = &run.account;
    assert_eq!((account.critical, account.limited, account.cache_hits), (1, 2, 2));
    assert_eq!((account.limits, account.in_time), (1, 1), "page 3 was never needed");
    assert_eq!(account.false_idle, Span(10 * MS.0));
}

#[test]
fn read_ahead_that_nobody_uses_is_counted_when_it_is_given_up() {
    let reads = (0..40).map(|i| ProcessStep::Read { page: 10 * i, ahead: Some(10 * i + 5) });
    let run = play("cache = \"64KiB\"\nio_interrupt = \"1ms\"", vec![script(reads)], MS);
    assert_eq!((run.account.critical, run.account.limited), (40, 40));
    // What is left in the sixteen pages at the end was not given up.
    assert_eq!(run.account.useless, 40 - 8);
    assert!(run.account.false_computation >= Span(32 * MS.0));
}

#[test]
fn without_a_clean_page_a_process_waits_for_a_write_which_becomes_critical() {
    let writes = (0..40).map(|page| ProcessStep::Write { page });
    let run = play("cache = \"64KiB\"", vec![script(writes)], Span(10 * MS.0));
    assert_eq!(run.account.critical, 40 - 16);
    assert!(run.made.iter().all(|(_, writes)| *writes));
    assert_eq!(run.account.false_idle, Span(240 * MS.0));
}

#[test]
fn a_write_under_way_is_raised_when_somebody_needs_its_page() {
    let mut steps: Vec<ProcessStep> = (0..16).map(|page| ProcessStep::Write { page }).collect();
    steps.extend([ProcessStep::Flush { parts: 1 }, ProcessStep::Write { page: 16 }]);
    let run = play("cache = \"64KiB\"", vec![script(steps)], Span(10 * MS.0));
    assert_eq!((run.account.noncritical, run.account.critical), (16, 0));
    assert_eq!(run.raised, [2]);
    assert!(run.account.false_idle >= Span(10 * MS.0), "{:?}", run.account.false_idle);
}

/// 004 §5.2 in small: one critical read and one critical write a process, a limited read for each further page, every
/// page of output written once.
#[test]
fn compression_asks_for_what_the_paper_counts() {
    let workload = "kind = \"compression\"\nprocesses = 2\ninput = \"400KiB\"\noutput = \"188KiB\"\ncompute = \"24ms\"\n\
                    output_region = \"50%..\"";
    let run = play_workload("preset = \"ncr-3433\"", workload, Span(15 * MS.0));
    let account = &run.account;
    assert_eq!((account.critical, account.limited, account.noncritical), (4, 198, 94));
    assert_eq!((account.limits, account.useless), (198, 0));
    assert!(account.last_io > account.ended.unwrap(), "what is dirty is written later");
}
