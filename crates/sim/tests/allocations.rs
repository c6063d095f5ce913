//! In steady state nothing is allocated per request: twice the requests cost no more allocations.

use allocation_counter::measure;
use load::experiment::parse;

/// Allocations that do not end with the beginning: buffers that still grow, halves of them each time.
const AMORTISED: u64 = 12;

fn allocations(text: &str, requests: u64) -> (u64, u64) {
    let text = text.replace("REQUESTS", &requests.to_string());
    let cases = parse("test.toml", &text, &[], None).unwrap();
    let mut done = 0;
    let info = measure(|| done = sim::replicate(&cases[0].experiment, 0, &|_| ()).unwrap().meter.requests());
    assert_eq!(done, requests);
    (info.count_total, info.bytes_total)
}

/// Runs an experiment of so many requests and of twice as many.
fn holds(what: &str, text: &str) -> Result<(), String> {
    let (once, twice) = (allocations(text, 20_000), allocations(text, 40_000));
    println!("{what}: {} allocations, {} for twice the requests; {} and {} bytes", once.0, twice.0, once.1, twice.1);
    let (more, bytes) = (twice.0.saturating_sub(once.0), twice.1.saturating_sub(once.1));
    if more <= AMORTISED && bytes <= 64 << 10 { Ok(()) } else { Err(format!("{what}: {more} more, {bytes} bytes")) }
}

fn experiment(policy: &str, drive: &str, workload: &str) -> String {
    format!(
        r#"
        [drive]
        model = "{drive}"
        [scheduler]
        policy = "{policy}"
        [[workload]]
        name = "load"
        size = "4KiB"
        {workload}
        [run]
        requests = REQUESTS
        "#
    )
}

#[test]
fn no_policy_allocates_per_request() {
    let mut failed = Vec::new();
    // What a Mimic remembers grows with the distances that it has met.
    let learns = |manual: &&sched::policy::Manual| manual.needs == sched::policy::Needs::Mimic;
    for policy in sched::policy::ALL.iter().filter(|manual| !learns(manual)).map(|manual| manual.name) {
        for (depth, read) in [(1, "1.0"), (64, "1.0"), (64, "0.5")] {
            let text = experiment(policy, "atlas10k", &format!("kind = \"closed\"\ndepth = {depth}\nread = {read}"));
            failed.extend(holds(&format!("{policy}, depth {depth}, {read} reads"), &text).err());
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn neither_deep_queues_nor_buffers_nor_overlaps_nor_deadlines_allocate_per_request() {
    let mut failed = Vec::new();
    for (what, policy, drive, workload) in [
        ("deep", "satf", "atlas10k", "kind = \"closed\"\ndepth = 2000"),
        ("aged, with a limit", "asatf", "atlas10k", "kind = \"closed\"\ndepth = 300"),
        ("buffered writes", "satf", "nl20", "kind = \"closed\"\ndepth = 16\nread = 0.3"),
        ("sequential writes", "c-look", "nl20", "kind = \"closed\"\ndepth = 2\nread = 0.0\nat = \"sequential\""),
        ("overlaps", "satf", "st318437lw", "kind = \"closed\"\ndepth = 32\nread = 0.5\nregion = \"0B..2000 blocks\""),
        ("open", "satf", "st318437lw", "kind = \"open\"\nrate = \"60/s\""),
        ("met deadlines", "fcfs", "st318437lw", "kind = \"closed\"\ndepth = 2\ndeadline = \"10s\""),
        ("missed deadlines", "satf", "st318437lw", "kind = \"open\"\nrate = \"300/s\"\ndeadline = \"100ms\""),
    ] {
        failed.extend(holds(what, &experiment(policy, drive, workload)).err());
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn deadlines_that_were_met_long_before_are_not_kept() {
    let text = r#"
        [drive]
        model = "st318437lw"
        [scheduler]
        policy = "fcfs"
        [[workload]]
        name = "far"
        kind = "closed"
        depth = 2
        size = "4KiB"
        deadline = "100h"
        [[workload]]
        name = "near"
        kind = "closed"
        depth = 8
        size = "4KiB"
        deadline = "10s"
        [run]
        requests = REQUESTS
        "#;
    holds("near and far deadlines", text).unwrap();
}
