//! Processors, slices, switches and interrupts.

use crate::bench::{MS, compute, play, play_workload, script};
use block::{Span, Time};
use flow::{ModelEventKind, Pid, ProcessStep};

fn ended(system: &str, processes: u64, ms: u64) -> Time {
    play(system, (0..processes).map(|_| script([compute(ms)])).collect(), MS).account.ended.unwrap()
}

#[test]
fn processes_that_compute_share_the_processors() {
    assert_eq!(ended("", 4, 100), Time(400_000_000));
    assert_eq!(ended("cpus = 2", 4, 100), Time(200_000_000));
    assert_eq!(ended("cpus = 8", 4, 100), Time(100_000_000));
    assert_eq!(ended("cpus = 2\nspeed = 4.0", 4, 100), Time(50_000_000));
}

#[test]
fn slices_take_turns_and_each_switch_has_its_price() {
    let run = play("slice = \"50ms\"\nswitch = \"1ms\"", vec![script([compute(90)]), script([compute(90)])], MS);
    let switches = run.events.iter().filter_map(|event| match event.kind {
        ModelEventKind::Switch(pid) => Some(pid),
        _ => None,
    });
    assert_eq!(switches.collect::<Vec<_>>(), [Pid(0), Pid(1), Pid(0), Pid(1)]);
    assert_eq!((run.account.switches, run.account.switching), (4, Span(4 * MS.0)));
    assert_eq!(run.account.ended, Some(Time(184_000_000)));
    assert_eq!(run.account.false_computation, Span::ZERO, "nobody was blocked");
}

#[test]
fn the_clock_takes_its_share() {
    let run = play("clock = \"10ms\"\nclock_interrupt = \"1ms\"", vec![script([compute(99)])], MS);
    // Ten ticks come before 99 ms are computed in what they leave.
    assert_eq!(run.account.interrupts, Span(10 * MS.0));
    assert_eq!(run.account.ended, Some(Time(109_000_000)));
}

#[test]
fn the_end_of_a_request_is_seen_after_its_interrupt_and_the_switch_back() {
    let system = "switch = \"1ms\"\nio_interrupt = \"2ms\"\nwakeup = \"3ms\"";
    let steps = [compute(10), ProcessStep::Read { page: 7, ahead: None }, compute(10)];
    let run = play(system, vec![script(steps)], Span(20 * MS.0));
    // Switch, compute, the request, its interrupt, wake-up and switch, compute.
    assert_eq!(run.account.ended, Some(Time((1 + 10 + 20 + 2 + 1 + 3 + 10) * MS.0)));
    assert_eq!(run.account.false_idle, Span(20 * MS.0));
    assert_eq!(run.account.false_computation, Span(4 * MS.0));
    assert_eq!(run.account.idle, Span::ZERO);
}

#[test]
fn sleep_without_io_is_no_false_idle() {
    let run = play("", vec![script([ProcessStep::Pause { span: Span(95 * MS.0) }, compute(1)])], MS);
    assert_eq!((run.account.false_idle, run.account.idle), (Span::ZERO, Span(95 * MS.0)));
}

#[test]
fn a_processor_idle_beside_a_busy_one_is_false_idle_while_a_process_is_blocked() {
    let reader = || script([ProcessStep::Read { page: 7, ahead: None }]);
    let run = play("cpus = 2", vec![script([compute(50)]), reader()], Span(30 * MS.0));
    assert_eq!((run.account.false_idle, run.account.idle), (Span(30 * MS.0), Span(20 * MS.0)));
}

/// Who is woken goes at once, or when the other's slice is over.
#[test]
fn waking_preempts_only_where_it_is_to() {
    let programs = || vec![script([ProcessStep::Read { page: 7, ahead: None }, compute(10)]), script([compute(100)])];
    let first = |system: &str| {
        let run = play(system, programs(), Span(20 * MS.0));
        run.events.iter().find_map(|event| match event.kind {
            ModelEventKind::Exit(pid) => Some((pid, event.at)),
            _ => None,
        })
    };
    assert_eq!(first("preempt_on_wake = true"), Some((Pid(0), Time(30 * MS.0))));
    assert_eq!(first("preempt_on_wake = false"), Some((Pid(1), Time(100 * MS.0))));
}

#[test]
fn forks_sleeps_and_wake_ups_by_channel() {
    let child = script([compute(5), ProcessStep::Wakeup { channel: 3 }]);
    let run = play(
        "",
        vec![script([ProcessStep::Fork(child), ProcessStep::Sleep { channel: 3, blocks: false }, compute(1)])],
        MS,
    );
    assert_eq!(run.account.ended, Some(Time(6 * MS.0)));
    let child = script([ProcessStep::Wakeup { channel: 3 }]);
    let run = play(
        "",
        vec![script([ProcessStep::Fork(child), compute(300), ProcessStep::Sleep { channel: 3, blocks: false }])],
        MS,
    );
    assert_eq!(run.account.ended, Some(Time(300 * MS.0)), "a wake-up that came before is not lost");
}

#[test]
fn who_sleeps_for_ever_does_not_keep_the_clock_going() {
    let run = play("", vec![script([ProcessStep::Sleep { channel: 3, blocks: false }])], MS);
    assert_eq!(run.account.ended, None);
}

/// Whatever runs on whatever: the bench holds the account against the clock.
#[test]
fn the_account_adds_up() {
    for cpus in [1, 2, 5] {
        for preempt in [true, false] {
            for (critical, limited) in [(0.0, 0.0), (1.0, 0.0), (0.3, 0.5)] {
                let system = format!(
                    "cpus = {cpus}\npreempt_on_wake = {preempt}\nswitch = \"62us\"\nio_interrupt = \"380us\"\n\
                     clock_interrupt = \"92us\"\nwakeup = \"200us\"\nslice = \"20ms\""
                );
                let workload = format!(
                    "kind = \"processes\"\nprocesses = 7\ncompute = \"9ms\"\nlimit = \"5ms\"\ncritical = {critical}\n\
                     limited = {limited}\nsize = \"4KiB\"\nrequests = 60"
                );
                let workload = if limited > 0.0 { workload } else { workload.replace("limit = \"5ms\"\n", "") };
                let run = play_workload(&system, &workload, Span(3 * MS.0));
                assert_eq!(run.made.len(), 7 * 60);
            }
        }
    }
}

/// Seconds this thread has had on a processor, where Linux tells; other load does not count.
fn spent() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// A clock interrupt is as much work whether there are few processors or many: with sixteen times as many there are as many interrupts
/// in a sixteenth of the time, and they cost little more.
#[test]
fn an_interrupt_costs_as_much_with_many_processors_as_with_few() {
    let cost = |cpus: u64| {
        let once = |_| {
            let before = spent()?;
            ended(&format!("cpus = {cpus}\nclock = \"1ms\""), 1, (1 << 19) / cpus);
            Some(spent()? - before)
        };
        (0..4).filter_map(once).min_by(f64::total_cmp)
    };
    if let (Some(few), Some(many)) = (cost(64), cost(1024)) {
        println!("of 64 processors {few:.3} s, of 1024 {many:.3} s: {:.1} times as much", many / few);
        assert!(many < 5.0 * few);
    }
}
