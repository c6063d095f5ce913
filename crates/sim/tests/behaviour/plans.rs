//! What plans find out by themselves: the offset, and chunk and split for a wait that is wanted.

use crate::files::once;
use sim::Replication;
use std::path::Path;

const DRIVES: [&str; 4] = ["st318437lw", "nl20", "atlas10k", "mimic-base"];

fn stream(model: &str, plan: &str, size: &str, requests: u32) -> Replication {
    once(&format!(
        r#"
        [drive]
        model = "{model}"
        [scheduler]
        policy = "fcfs"
        io = "semi-preemptible"
        [scheduler.plan]
        {plan}
        [[workload]]
        name = "stream"
        kind = "closed"
        depth = 1
        size = "{size}"
        [run]
        requests = {requests}
        warmup = "60s"
        "#
    ))
}

fn figures(run: &Replication) -> (f64, f64) {
    (run.meter.throughput_mb_s(), run.meter.expected_wait_ms())
}

#[test]
fn the_offset_found_loses_less_than_one_percent_against_the_best_fixed_one_and_waits_no_longer() {
    for model in DRIVES {
        let fixed = (1..=10).map(|step| {
            figures(&stream(model, &format!("offset = \"{}ms\"", 0.5 * f64::from(step)), "256KiB", 12_000))
        });
        let best = fixed.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        let found = figures(&stream(model, "offset = \"auto\"", "256KiB", 12_000));
        println!(
            "{model}: best fixed offset {:.3} MB/s, {:.2} ms; found {:.3} MB/s, {:.2} ms",
            best.0, best.1, found.0, found.1
        );
        assert!(found.0 >= 0.99 * best.0 && found.1 <= best.1, "{model}: {found:?}, best fixed {best:?}");
    }
}

#[test]
fn a_plan_picked_for_the_wait_of_the_papers_waits_no_longer_and_does_more() {
    for model in DRIVES {
        let preset = figures(&stream(model, "preset = \"virtual-io-2002\"", "256KiB", 12_000));
        let picked = figures(&stream(model, &format!("target_wait = \"{:.3}ms\"", preset.1), "256KiB", 12_000));
        println!(
            "{model}: preset {:.3} MB/s, {:.2} ms; picked {:.3} MB/s, {:.2} ms",
            preset.0, preset.1, picked.0, picked.1
        );
        assert!(picked.0 > preset.0 && picked.1 <= preset.1 * 1.02, "{model}: {picked:?}, the preset {preset:?}");
    }
}

#[test]
fn a_wait_that_is_wanted_is_kept_or_said_to_be_out_of_reach() {
    for model in DRIVES {
        for wanted in [1.0, 2.0, 4.0] {
            let run = stream(model, &format!("target_wait = \"{wanted}ms\""), "2MiB", 3000);
            let out_of_reach = run.notes[0].contains("cannot");
            let wait = run.meter.expected_wait_ms();
            println!("{model}: {wait:.2} ms: {}", run.notes[0]);
            assert!(out_of_reach == (wait > wanted * 1.02), "{model}, {wanted} ms: {wait} ms; {}", run.notes[0]);
        }
    }
}

#[test]
fn every_belief_serves_every_drive_in_short_commands() {
    let given = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/drives");
    let mut models: Vec<String> = disk::catalogue::names().map(Into::into).collect();
    for file in ["disksim/hp_c3323a.parv", "disksim-g4/maxtor300g.parv", "disksim-g4/G4_LBA_64bit_4T.parv"] {
        let path = given.join(file);
        if path.is_file() {
            models.push(path.display().to_string());
        } else {
            println!("SKIPPED: {} is not there; that drive was NOT served", path.display());
        }
    }
    for model in models {
        for predictor in ["profile", "distance", "oracle"] {
            let run = once(&format!(
                r#"
                [drive]
                model = "{model}"
                [scheduler]
                policy = "satf"
                predictor = "{predictor}"
                io = "semi-preemptible"
                preemption = "priority"
                [scheduler.plan]
                split = "always"
                prefetch = "always"
                [[workload]]
                name = "bulk"
                kind = "closed"
                depth = 2
                size = "300KiB"
                read = 0.7
                [[workload]]
                name = "reader"
                priority = 1
                kind = "open"
                rate = "9/s"
                size = "8KiB"
                [run]
                requests = 300
                "#
            ));
            let account = run.accounts[0];
            assert!(account.busy + account.background <= account.span(), "{model}, {predictor}: {account:?}");
            assert!(run.meter.requests() >= 300, "{model}, {predictor}");
        }
    }
}
