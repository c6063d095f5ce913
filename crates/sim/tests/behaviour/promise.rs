//! A class is promised that 99 of 100 of its requests are done in a time, and gets that, for no more than it takes; and nobody
//! interrupts where there is no room for it.

use load::experiment;
use sim::replicate;

/// Response of the 99th percentile of the interactive requests in ms, how often one interrupted, and what the bulk got in MB/s.
fn run(preemption: &str, p99: &str, workloads: &str, more: &str) -> (f64, u64, f64) {
    let promise = if preemption == "slo" { format!("p99 = \"{p99}\"") } else { String::new() };
    let text = format!(
        "[drive]\nmodel = \"st318437lw\"\n[scheduler]\npolicy = \"satf\"\nio = \"semi-preemptible\"\npreemption = \"{preemption}\"\n\
         {more}\n[scheduler.class.interactive]\npreempts = true\n{promise}\n[scheduler.class.bulk]\npreempts = false\n{workloads}\n\
         [run]\nduration = \"2000s\"\nwarmup = \"400s\"\n"
    );
    let cases = experiment::parse("promise", &text, &[], None).unwrap_or_else(|error| panic!("{error}"));
    let done = replicate(&cases[0].experiment, 0, &|_| ()).unwrap();
    let classes: std::collections::BTreeMap<_, _> = done.meter.classes().collect();
    let interrupted = done.meter.service().map_or(0, |service| service.preemptions);
    (classes["interactive"].response_ms.p99, interrupted, classes["bulk"].throughput_mb_s)
}

fn workloads(interactive: &str, bulk: &str) -> String {
    format!(
        "[[workload]]\nname = \"interactive\"\nkind = \"open\"\n{interactive}\n[[workload]]\nname = \"bulk\"\nkind = \"closed\"\n{bulk}\n"
    )
}

/// Whether 99 of 100 interactive requests take so many ms where that is promised, and more of the bulk is done than where each
/// interrupts.
#[track_caller]
fn hold_promise(interactive: &str, bulk: &str, target: f64) {
    let (workloads, p99) = (workloads(interactive, bulk), format!("{target}ms"));
    let (late, often, most) = run("always", &p99, &workloads, "");
    let (kept, seldom, more) = run("slo", &p99, &workloads, "");
    let (never, ..) = run("never", &p99, &workloads, "");
    println!("{target} ms: always {late} {often} {most}, slo {kept} {seldom} {more}, never {never}");
    assert!(late < target && target < never, "{target} is neither too much nor too little: {late} {never}");
    assert!((0.95 * target..=1.05 * target).contains(&kept), "{kept} ms where {target} were promised");
    assert!(seldom < often && more >= most, "{seldom} of {often}, {more} MB/s and {most}");
}

#[test]
fn a_promise_is_kept_beside_large_random_reads() {
    hold_promise("rate = \"10/s\"\nsize = \"4KiB\"", "depth = 1\nsize = \"2MiB\"", 60.0);
}

#[test]
fn a_promise_is_kept_beside_several_reads_and_writes() {
    hold_promise("rate = \"15/s\"\nsize = \"16KiB\"", "depth = 4\nsize = \"1MiB\"\nread = 0.5", 70.0);
}

#[test]
fn a_promise_is_kept_beside_a_stream() {
    hold_promise("rate = \"5/s\"\nsize = \"64KiB\"", "depth = 2\nsize = \"4MiB\"\nat = \"sequential\"", 80.0);
}

#[test]
fn where_the_disk_is_never_idle_a_budget_lets_nobody_interrupt() {
    let workloads = workloads("rate = \"10/s\"\nsize = \"4KiB\"", "depth = 1\nsize = \"2MiB\"");
    let (_, often, _) = run("always", "", &workloads, "");
    let (_, none, _) = run("always", "", &workloads, "budget = { idle = 0.05 }");
    let (_, seldom, _) =
        run("always", "", &workloads.replace("depth = 1", "depth = 1\nthink = \"2s\""), "budget = { idle = 0.05 }");
    assert!(often > 5000 && none < 20 && seldom > 100, "{often} {none} {seldom}");
}
