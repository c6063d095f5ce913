//! Preemption by whole schedules yields no less than by two requests at a time, whatever the load and the policy.

use load::experiment;
use rayon::prelude::*;
use sim::replicate;

/// A disk and its short commands.
const DISK: &str = "[drive]\nmodel = \"atlas10k\"\n";
/// Requests of 2 MiB, one always outstanding, and 10 a second that are worth as much, and nothing after 100 ms.
const BESIDE_BULK: &str = "[scheduler.class.bulk]\nyield = \"best-effort\"\nvalue_per = \"request\"\n\
    [scheduler.class.interactive]\nyield = \"interactive-real-time\"\nvalue_per = \"request\"\n\
    [[workload]]\nname = \"bulk\"\nkind = \"closed\"\ndepth = 1\nsize = \"2MiB\"\n\
    [[workload]]\nname = \"interactive\"\nkind = \"open\"\nrate = \"RATE\"\nsize = \"100KiB\"\ndeadline = \"100ms\"\n";
/// Four outstanding, half of them written, worth a MiB each.
const BESIDE_MANY: &str = "[scheduler.class.bulk]\npreempts = false\nyield = \"best-effort\"\n\
    [scheduler.class.interactive]\nyield = \"interactive-real-time\"\nvalue_per = \"request\"\n\
    [[workload]]\nname = \"bulk\"\nkind = \"closed\"\ndepth = 4\nsize = \"1MiB\"\nread = 0.5\n\
    [[workload]]\nname = \"interactive\"\nkind = \"open\"\nrate = \"RATE\"\nsize = \"16KiB\"\ndeadline = \"100ms\"\n";
/// All come when they come: streams, bulk of falling worth, and interactive ones.
const OPEN: &str = "[scheduler.class.stream]\nyield = \"hard-real-time\"\nvalue_per = \"request\"\nvalue = 2.0\n\
    [scheduler.class.bulk]\nyield = \"interactive-best-effort\"\nvalue_per = \"request\"\n\
    [scheduler.class.interactive]\nyield = \"interactive-real-time\"\nvalue_per = \"request\"\n\
    [[workload]]\nname = \"stream\"\nkind = \"open\"\nrate = \"4/s\"\narrivals = \"constant\"\nsize = \"1MiB\"\ndeadline = \"250ms\"\n\
    [[workload]]\nname = \"bulk\"\nkind = \"open\"\nrate = \"6/s\"\nsize = \"512KiB\"\nread = 0.5\ndeadline = \"1s\"\n\
    [[workload]]\nname = \"interactive\"\nkind = \"open\"\nrate = \"RATE\"\nsize = \"32KiB\"\ndeadline = \"80ms\"\n";
/// Nothing is worth less for coming later: the policy knows best.
const TIMELESS: &str = "[[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 16\nsize = \"4KiB\"\n\
    [[workload]]\nname = \"b\"\nkind = \"open\"\nrate = \"RATE\"\nsize = \"256KiB\"\n";

/// Runs of each, with arrivals of their own: what is bulk ends by chance too.
const RUNS: u32 = 4;

/// What all requests yield.
fn yields(preemption: &str, policy: &str, workloads: &str, rate: &str, duration: &str) -> f64 {
    let workloads = workloads.replace("RATE", rate);
    let text = format!(
        "{DISK}[scheduler]\npolicy = \"{policy}\"\nio = \"semi-preemptible\"\npreemption = \"{preemption}\"\n\
         plan = {{ chunk = \"20KiB\", split = \"never\" }}\n{workloads}[run]\nduration = \"{duration}\"\nwarmup = \"5s\"\n"
    );
    let cases = experiment::parse("schedules", &text, &[], None).unwrap_or_else(|error| panic!("{error}"));
    let run = |number| {
        let done = replicate(&cases[0].experiment, number, &|_| ()).unwrap();
        done.meter.classes().map(|(_, class)| class.yield_).sum::<f64>()
    };
    (0..RUNS).map(run).sum()
}

/// By whole schedules, over the better of the two others.
fn gain(policy: &str, workloads: &str, rate: &str, duration: &str) -> f64 {
    let yields = |preemption| yields(preemption, policy, workloads, rate, duration);
    yields("lookahead") / yields("conservative").max(yields("aggressive"))
}

#[test]
fn whole_schedules_yield_no_less_than_two_requests_by_themselves() {
    let scenes = [
        ("fcfs", BESIDE_BULK, "10/s", 1.03),
        ("yield", BESIDE_BULK, "10/s", 1.0),
        ("satf", BESIDE_MANY, "20/s", 1.1),
        ("yield", BESIDE_MANY, "5/s", 1.0),
        ("yield", BESIDE_MANY, "40/s", 1.0),
        ("look", OPEN, "30/s", 1.05),
        ("yield", OPEN, "20/s", 1.0),
        ("satf", TIMELESS, "5/s", 0.9999),
    ];
    scenes.par_iter().for_each(|(policy, workloads, rate, least)| {
        let gain = gain(policy, workloads, rate, "300s");
        println!("{policy} {rate}: {gain:.4}");
        assert!(gain >= *least, "{policy}, {rate}: {gain} of the better of the two\n{workloads}");
    });
}

#[test]
#[ignore = "every policy and load, for ten minutes of theirs each"]
fn on_every_load_under_every_policy() {
    let policies = ["fcfs", "look", "c-look", "sstf", "satf", "asatf", "lookahead", "yield", "batch-look"];
    let loads = [(BESIDE_BULK, ["2/s", "10/s", "20/s"]), (BESIDE_MANY, ["5/s", "20/s", "60/s"])];
    let loads = loads.into_iter().chain([(OPEN, ["5/s", "30/s", "60/s"]), (TIMELESS, ["2/s", "5/s", "10/s"])]);
    let all = loads.flat_map(|(workloads, rates)| rates.map(|rate| (workloads, rate)));
    let all = all.flat_map(|(workloads, rate)| policies.map(|policy| (policy, workloads, rate)));
    let gains: Vec<f64> = all
        .collect::<Vec<_>>()
        .par_iter()
        .map(|(policy, workloads, rate)| {
            let gain = gain(policy, workloads, rate, "600s");
            println!("{policy:10} {rate:5} {gain:.4} {}", workloads.len());
            gain
        })
        .collect();
    let least = gains.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(least >= 0.999, "{least}");
}
