//! The machine around a disk, as a run's results tell of it: laws over random machines that end by themselves, at a time or after so
//! many requests; and that it goes on where the scheduler has no room.
//!
//! `HALFTURN_SEED=N` runs the machine of one seed, `HALFTURN_SEEDS=N` so many.

use crate::files::{cases, results};
use load::Draw;
use load::results::{Run, SystemCounts};

/// Random machines, where no number is given.
const MACHINES: u64 = 40;

/// A machine by chance, on a small load.
fn machine(seed: u64) -> String {
    let mut draw = Draw::new(seed, 0);
    let mut pick = |all: &[&str]| all[draw.below(all.len() as u64) as usize].to_owned();
    let (seen, preset) = (pick(&["1", "4", "10000"]), pick(&["plain", "linux", "ncr-3433"]));
    let (policy, cpus) = (pick(&["fcfs", "satf", "look", "edf", "priority-1"]), pick(&["1", "2", "5"]));
    let (processes, requests) = (pick(&["1", "3", "12"]), pick(&["5", "40"]));
    let (compute, read) = (pick(&["1ms", "9ms"]), pick(&["0.5", "1.0"]));
    let (critical, limited) = (pick(&["0.0", "0.3", "0.6"]), pick(&["0.0", "0.4"]));
    let end = pick(&["", "duration = \"100ms\"", "duration = \"400ms\"", "requests = 10", "requests = 30"]);
    format!(
        "[drive]\nmodel = \"atlas10k\"\n[scheduler]\npolicy = \"{policy}\"\nqueue = {seen}\n\
         [system]\npreset = \"{preset}\"\ncpus = {cpus}\n\
         [[workload]]\nname = \"p\"\nkind = \"processes\"\nprocesses = {processes}\nrequests = {requests}\n\
         compute = \"{compute}\"\nread = {read}\ncritical = {critical}\nlimited = {limited}\nlimit = \"2ms\"\nsize = \"8KiB\"\n\
         [run]\nseed = {seed}\n{end}\n# HALFTURN_SEED={seed}\n"
    )
}

fn close(found: f64, wanted: f64, what: &str, text: &str) {
    assert!((found - wanted).abs() <= wanted.abs() * 1e-9 + 1e-6, "{what}: {found}, not {wanted}\n{text}");
}

fn count_issued(system: &SystemCounts) -> f64 {
    system.critical + system.limited + system.noncritical
}

/// Each processor's time and each process's is told apart, up to the end and no further.
fn tell_apart(run: &Run, cpus: f64, text: &str) {
    let system = run.system.as_ref().expect("a system");
    let parts = [system.computing_ms, system.switching_ms, system.interrupts_ms, system.false_idle_ms, system.idle_ms];
    close(parts.iter().sum(), cpus * system.execution_ms, "time of the processors", text);
    let end = run.simulated_seconds * 1e3;
    for process in system.processes.iter().filter(|process| process.name != "flush daemon") {
        let lived = process.running_ms + process.ready_ms + process.blocked_ms;
        close(lived, process.ended_ms.unwrap_or(end), &process.name, text);
        assert!(lived <= end + 1e-6, "{} ended after the run\n{text}", process.name);
    }
    assert!(system.last_io_ms <= end + 1e-6, "a request ended after the run\n{text}");
}

#[test]
fn a_machine_is_accounted_up_to_the_end_and_each_of_its_requests_counts() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seeds = number("HALFTURN_SEED").map_or(0..number("HALFTURN_SEEDS").unwrap_or(MACHINES), |seed| seed..seed + 1);
    for seed in seeds {
        let text = machine(seed);
        let cpus = cases(&text)[0].experiment.system.cpus.expect("given");
        let run = results(&text).runs.remove(0);
        tell_apart(&run, f64::from(cpus), &text);
        let issued = count_issued(run.system.as_ref().unwrap());
        match cases(&text)[0].experiment.run.requests {
            Some(most) => assert_eq!(run.requests as f64, issued.min(most as f64), "{text}"),
            None => assert_eq!(run.requests as f64, issued, "{text}"),
        }
    }
}

#[test]
fn processors_go_on_where_the_scheduler_has_no_room() {
    let execution = |seen: u32| {
        let text = format!(
            "[drive]\nmodel = \"atlas10k\"\n[scheduler]\npolicy = \"fcfs\"\nqueue = {seen}\n[[workload]]\nname = \"p\"\n\
             kind = \"processes\"\nprocesses = 1\ncompute = \"1ms\"\nspread = 0.0\nrequests = 100\nsize = \"8KiB\"\n[run]\n"
        );
        let run = results(&text).runs.remove(0);
        let crowded = run.notes.iter().any(|note| note.contains("were outstanding"));
        let system = run.system.expect("a system");
        (system.execution_ms, system.last_io_ms, crowded)
    };
    let (free, last, crowded) = execution(10_000);
    assert!((free - 100.0).abs() < 1.0 && last > 500.0 && !crowded, "{free} {last}");
    for seen in [1, 7] {
        assert_eq!(execution(seen), (free, last, true), "a queue of {seen}");
    }
}

#[test]
fn a_request_whose_class_changes_while_it_is_served_ends_its_turn_as_it_began() {
    let raid = "[array]\nlevel = \"0\"\ndisks = 4\n";
    for (array, rule, policy) in [
        (raid, "[scheduler.class.critical]\nfloor = 0.5\n", "satf"),
        (raid, "[scheduler.class.critical]\nshare = 5\n", "fcfs"),
        (raid, "[scheduler.class.noncritical]\nlimit = 0.3\n", "look"),
        ("", "[scheduler.class.critical]\nfloor = 0.5\n", "satf"),
        ("", "[scheduler.class.critical]\norder = \"fcfs\"\n", "bfq"),
        ("", "preemption = \"priority\"\n", "bfq"),
        ("", "preemption = \"priority\"\n", "mq-deadline"),
    ] {
        let text = format!(
            "[drive]\nmodel = \"atlas10k\"\n{array}[scheduler]\npolicy = \"{policy}\"\n{rule}[[workload]]\nname = \"p\"\n\
             kind = \"processes\"\nprocesses = 6\ncompute = \"2ms\"\ncritical = 0.4\nlimited = 0.4\nlimit = \"5ms\"\n\
             requests = 40\nread = 0.5\nsize = \"8KiB\"\n[run]\nduration = \"60s\"\n"
        );
        let run = results(&text).runs.remove(0);
        let system = run.system.expect("a system");
        let left: Vec<_> = system.processes.iter().filter(|process| process.ended_ms.is_none()).collect();
        assert!(left.is_empty() && run.requests == 240, "{} requests, {left:?}\n{text}", run.requests);
    }
}
