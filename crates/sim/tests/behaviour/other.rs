//! Devices that are not a disk, behind the same core: every policy that needs no sheet serves them, in short commands too;
//! what needs one is refused.

use crate::files::{cases, once, per_second};
use sched::policy::{self, Needs};
use sched::predict::{self, Tells};

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
        rate = "0.05/s"
        size = "8KiB"
        [run]
        requests = 300
        "#
    )
}

#[test]
fn every_policy_serves_every_device_whole_and_in_short_commands_or_lacks_what_it_needs() {
    let short = "io = \"semi-preemptible\"\npreemption = \"priority\"";
    let predictors = predict::ALL.iter().filter(|manual| manual.tells < Tells::Way).map(|manual| Some(*manual));
    let predictors: Vec<_> = predictors.chain([None]).collect();
    let (mut ran, mut refused) = (0, 0);
    for model in disk::catalogue::others() {
        for policy in policy::ALL {
            for predictor in &predictors {
                let believes = predictor.map(|manual| format!("predictor = \"{}\"", manual.name)).unwrap_or_default();
                let tells = predictor.map_or(Tells::Order, |manual| manual.tells);
                let has_what_it_needs = match policy.needs {
                    Needs::Nothing | Needs::Any | Needs::Learning => true,
                    Needs::Times => tells >= Tells::Times,
                    Needs::Mimic => predictor.is_none_or(|manual| manual.name == "mimic"),
                };
                for more in ["", short] {
                    let text = experiment(model, policy.name, &format!("{believes}\n{more}"));
                    let run = load::experiment::parse("other", &text, &[], None)
                        .and_then(|cases| sim::replicate(&cases[0].experiment, 0, &|_| ()));
                    let what = format!("{model}, {}, {believes}", policy.name);
                    assert_eq!(run.is_ok(), has_what_it_needs, "{what}: {:?}", run.err());
                    let Ok(run) = run else {
                        refused += 1;
                        continue;
                    };
                    ran += 1;
                    let account = run.accounts[0];
                    assert!(account.busy + account.background <= account.span(), "{what}: {account:?}");
                    assert_eq!(account.parts.total(), account.busy, "{what}");
                    assert!(run.meter.requests() >= 300, "{what}");
                }
            }
        }
    }
    println!("{ran} ran, {refused} were refused");
    assert!(ran > 5 * refused && refused > 0, "{ran} ran, {refused} were refused");
}

#[test]
fn short_commands_are_of_a_usual_length_where_nothing_is_known() {
    let run = once(&experiment("tape-lto5", "sstf", "io = \"semi-preemptible\""));
    assert_eq!(run.notes[0], "commands of at most 256 KiB, as nothing is known of the device");
    assert_eq!(run.notes[1], "no seek is timed: nothing is known of the device but how far apart blocks are");
}

#[test]
fn what_needs_a_sheet_is_refused_with_a_mend() {
    for (more, what) in [
        ("predictor = \"profile\"", "no sheet to believe"),
        ("profile = \"learned\"", "no profile to learn"),
        ("predictor = \"oracle\"", "nobody knows it"),
        ("preemption = \"lookahead\"\nio = \"semi-preemptible\"", "preemption by whole schedules weighs times"),
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
    let error = load::experiment::parse("test.toml", &text(3), &[], None).unwrap_err();
    assert!(error.what.contains("takes 2 commands at once, not 3"), "{error}");
}

/// Requests a second of 4 KiB anywhere, so many waiting and so many of them in the drive, of which this share is reads.
fn random((model, policy): (&str, &str), waiting: u32, queue: u32, read: f64, requests: u32) -> f64 {
    let text = format!(
        "drive = {{ model = \"{model}\", queue = {queue} }}\nscheduler.policy = \"{policy}\"\n[[workload]]\nname = \"all\"\n\
         kind = \"closed\"\ndepth = {waiting}\nsize = \"4KiB\"\nread = {read:?}\n[run]\nrequests = {requests}\n"
    );
    per_second(&once(&text))
}

/// Twice as many requests take as long as of a half by itself, with half of them waiting. What goes to the nearest of all kept one arm at
/// work and the other idle: 276 reads a second with 500 waiting, where two halves have 498.
#[test]
fn both_arms_of_a_drive_are_kept_at_work() {
    for policy in ["sstf", "c-look", "look", "satf", "asatf", "smtf", "auto"] {
        for (waiting, read) in [(50, 1.0), (500, 1.0), (500, 0.5)] {
            let half = random(("exos-2x14-half", policy), waiting / 2, 16, read, 6000);
            let both = random(("exos-2x14", policy), waiting, 32, read, 12_000);
            println!("{policy}, {waiting} waiting, {read} reads: {both:.1}, a half {half:.1}");
            assert!(both >= 1.9 * half, "{policy}, {waiting}: {both:.1}, a half {half:.1}");
        }
    }
}

/// With few commands in the drive, of which half are writes, a sweep over all, as `edf` makes where nothing has a deadline, has one arm read
/// while the other writes back. To keep both reading was a quarter slower once both buffers were full.
#[test]
fn arms_whose_buffers_are_full_are_left_to_write_back() {
    for (queue, least) in [(2, 0.95), (4, 0.85)] {
        let [own, swept] = ["sstf", "edf"].map(|policy| random(("exos-2x14", policy), 500, queue, 0.5, 8000));
        println!("{queue} in the drive, half writes: {own:.1} a second, in one sweep {swept:.1}");
        assert!(own > least * swept, "{queue} in the drive: {own:.1}, in one sweep {swept:.1}");
    }
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
