//! Time limits that the system estimates, as requests carry them.

use crate::bench::{MS, compute, play, play_workload, script};
use block::{Extent, Op, Span, Time};
use flow::{Criticality, ProcessStep};

fn ask(criticality: Criticality, awaited: u32) -> ProcessStep {
    let key = (awaited > 0).then_some((0, awaited));
    ProcessStep::Ask { key, op: Op::Read, at: Extent::new(80, 8), criticality }
}

#[test]
fn a_limit_is_what_limits_were_so_far_of_who_waits_at_once_none_and_of_who_never_does_no_end() {
    let think = || [ask(Criticality::Limited, 1), compute(30), ProcessStep::Await { key: 0, blocks: true }];
    let critical = [ask(Criticality::Critical, 1), ProcessStep::Await { key: 0, blocks: true }];
    let steps = || std::iter::repeat_with(think).take(40).flatten();
    let all = |extra: [ProcessStep; 2]| {
        script(steps().chain(extra).chain([ask(Criticality::Noncritical, 0)]).collect::<Vec<_>>())
    };
    let run = play("limits = true", vec![all(critical)], Span(20 * MS.0));
    let due: Vec<Option<Span>> =
        run.made.iter().zip(&run.due).map(|((made, _), due)| due.map(|due| due.since(*made))).collect();
    assert_eq!(
        (due.len(), due[0], due[1]),
        (42, Some(Span::ZERO), Some(Span(15 * MS.0))),
        "nothing known; half of the first"
    );
    let late = due[39].expect("it is limited");
    assert!(late > Span(29 * MS.0) && late <= Span(30 * MS.0), "{late:?}");
    assert_eq!(due[40..], [Some(Span::ZERO), None]);
    let [first, second] = ["", "limits = false"].map(|system| play(system, vec![script(steps())], Span(20 * MS.0)));
    assert!(first.due.iter().chain(&second.due).all(Option::is_none));
}

/// What is needed after all is due then.
#[test]
fn what_is_raised_is_due_at_once() {
    let late = [ask(Criticality::Limited, 1), compute(5), ProcessStep::Await { key: 0, blocks: true }];
    let run = play("limits = true", vec![script(late)], Span(20 * MS.0));
    assert_eq!((run.raised.as_slice(), run.raised_due.as_slice()), ([2].as_slice(), [Some(Time(5 * MS.0))].as_slice()));
}

/// Most limits of a mix are longer than was told beforehand, but by less than they are long.
#[test]
fn most_that_are_waited_for_were_due_before_that() {
    let workload = "kind = \"processes\"\nprocesses = 3\ncompute = \"3ms\"\nlimited = 1.0\nlimit = \"40ms\"\nspread = 0.5\nsize = \"4KiB\"\nrequests = 400";
    let run = play_workload("cpus = 3\nlimits = true", workload, MS);
    let told: Vec<Span> =
        run.made.iter().zip(&run.due).map(|((made, _), due)| due.expect("limited").since(*made)).collect();
    let mean = run.account.limits_sum.as_ms() / run.account.limits as f64;
    let estimated = told.iter().map(|span| span.as_ms()).sum::<f64>() / told.len() as f64;
    assert_eq!(run.account.limits, 1200);
    assert!(estimated > mean / 2.0 && estimated < 0.85 * mean, "{estimated} ms of {mean} ms");
}
