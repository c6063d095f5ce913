//! Devices that are not a disk, behind the same core: every policy that needs no sheet serves them, in short commands too;
//! what needs one is refused.

use crate::files::{cases, once, per_second};

fn experiment(model: &str, policy: &str, more: &str) -> String {
    format!(
        r#"
        [drive]
        model = "{model}"
        [scheduler]
        policy = "{policy}"
        {more}
        [[workload]]
        name = "bulk"
        kind = "closed"
        depth = 8
        size = "256KiB"
        read = 0.7
        [[workload]]
        name = "reader"
        priority = 1
        kind = "open"
        rate = "0.5/s"
        size = "8KiB"
        [run]
        requests = 300
        "#
    )
}

#[test]
fn every_policy_serves_every_device_whole_and_in_short_commands() {
    let short = "io = \"semi-preemptible\"\npreemption = \"priority\"\nplan = { chunk = \"64KiB\" }";
    for model in disk::catalogue::others() {
        for policy in ["fcfs", "look", "c-look", "sstf", "satf", "asatf", "lookahead", "batch-look"] {
            for more in ["", "predictor = \"distance\"", short] {
                let run = once(&experiment(model, policy, more));
                let account = run.accounts[0];
                assert!(account.busy + account.background <= account.elapsed(), "{model}, {policy}: {account:?}");
                assert_eq!(account.parts.total(), account.busy, "{model}, {policy}");
                assert!(run.meter.requests() >= 300, "{model}, {policy}");
            }
        }
    }
}

#[test]
fn what_needs_a_sheet_is_refused_with_a_mend() {
    for (more, what) in [
        ("predictor = \"profile\"", "no sheet to believe"),
        ("predictor = \"oracle\"", "nobody knows it"),
        ("io = \"semi-preemptible\"", "no sheet to take `chunk` from"),
        ("io = \"semi-preemptible\"\nplan = { target_wait = \"2ms\" }", "no plan can be picked"),
    ] {
        let cases = cases(&experiment("tape-lto5", "sstf", more));
        let error = sim::replicate(&cases[0].experiment, 0, &|_| ()).unwrap_err().to_string();
        assert!(error.contains("tape-lto5 is not a disk") && error.contains(what) && error.contains("mend"), "{error}");
    }
}

#[test]
fn a_pair_with_a_queue_of_two_reads_with_both_arms() {
    let text = |queue: u32| {
        let pair = format!("model = \"mirror-atlas10k\"\nqueue = {queue}");
        let text = experiment("mirror-atlas10k", "fcfs", "").replace("model = \"mirror-atlas10k\"", &pair);
        text.replace("0.7", "1.0").replace("256KiB", "4KiB")
    };
    let rate = |queue| per_second(&once(&text(queue)));
    let (one, two) = (rate(1), rate(2));
    println!("reads a second of a mirrored pair: {one:.1} one at a time, {two:.1} two at a time");
    assert!(two > 1.6 * one, "{one} and {two} a second");
    let cases = cases(&text(3));
    let error = sim::replicate(&cases[0].experiment, 0, &|_| ()).unwrap_err();
    assert!(error.what.contains("takes 2 commands at once, not 3"), "{error}");
}

#[test]
fn a_tape_is_served_faster_in_the_order_of_its_blocks_and_flash_in_any() {
    let rate = |model: &str, policy: &str| {
        let text = experiment(model, policy, "").replace("depth = 8", "depth = 64").replace("256KiB", "4MiB");
        let text = text.replace("[scheduler]", "queue = 1\n        [scheduler]");
        per_second(&once(&text))
    };
    let gain = |model: &str| rate(model, "c-look") / rate(model, "fcfs");
    let (tape, flash) = (gain("tape-lto5"), gain("flash-x25m"));
    println!("c-look over fcfs: tape {tape:.2}, flash {flash:.3}");
    assert!(tape > 1.02 && (flash - 1.0).abs() < 0.01, "tape {tape}, flash {flash}");
}
