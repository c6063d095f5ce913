//! What README.md shows is what the program prints.

use crate::{root, said};

const COMMAND: &str = "cargo run --release -p halfturn -- ";

/// The fenced blocks of a page.
fn fences(page: &str) -> Vec<&str> {
    page.split("```").skip(1).step_by(2).map(|block| block.split_once('\n').map_or("", |(_, text)| text)).collect()
}

#[test]
fn the_output_in_the_readme_is_the_output() {
    let page = std::fs::read_to_string(root().join("README.md")).expect("the page");
    let blocks = fences(&page);
    let at = blocks.iter().position(|block| block.starts_with(COMMAND)).expect("a block with the first command");
    let arguments: Vec<&str> = blocks[at].trim().trim_start_matches(COMMAND).split_whitespace().collect();
    assert_eq!(said(&arguments), blocks[at + 1], "paste the new output into README.md, and read what it says of it");
}

/// A run's mean, p99 and longest response, and its MB/s.
fn figures(run: &serde_json::Value) -> [f64; 4] {
    let response = &run["classes"]["recorded"]["response_ms"];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    [&response["mean"], &response["p99"], &response["max"], &run["throughput_mb_s"]].map(number)
}

/// The figures of each policy in the first look with so many commands in the drive, with further arguments.
fn first_look(arguments: &[&str]) -> impl Fn(&str, u64) -> [f64; 4] {
    let text = said(&[&["simulate", "examples/first-look.toml", "--format", "json"], arguments].concat());
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let runs = json["runs"].as_array().expect("runs").clone();
    move |policy, queue| {
        let label = queue as f64;
        let wanted = |run: &&serde_json::Value| run["labels"]["policy"] == policy && run["labels"]["queue"] == label;
        figures(runs.iter().find(wanted).expect("a run of each policy and queue"))
    }
}

#[test]
fn the_first_look_shows_what_the_readme_says_of_it() {
    let run = first_look(&[]);
    let ([mean, p99, _, rate], [aged_mean, aged_p99, _, aged_rate]) = (run("satf", 1), run("asatf", 1));
    for other in ["fcfs", "c-look"] {
        assert!(mean.max(aged_mean) < run(other, 1)[0] && rate.min(aged_rate) > run(other, 1)[3], "{other}");
    }
    assert!(p99 > run("c-look", 1)[1] && aged_p99 < p99);
    for policy in ["fcfs", "c-look", "satf", "asatf"] {
        assert_eq!(run(policy, 32), run("fcfs", 32), "the drive orders, not {policy}");
    }
    assert!(run("fcfs", 32)[0] < mean.min(aged_mean) && run("fcfs", 32)[3] > rate.max(aged_rate));
    let unbuffered = first_look(&["--set", "drive.write_buffer=false"]);
    for (policy, expected) in [("satf", 50.0..=51.0), ("asatf", 49.5..=50.5), ("fcfs", 110.0..=119.0)] {
        let mean = unbuffered(policy, 1)[0];
        assert!(expected.contains(&mean), "{policy} came to {mean}");
    }
}

/// Keys of experiments.
const KEYS: &str = "title model noise read_cache write_buffer policy predictor age_weight age_limit timeout batch queue \
    preemption preempt_at preset chunk jit target_wait max_wait offset short_slack split split_beyond \
    split_parts prefetch prefetch_most prefetch_margin last_chunk_fua preempts preemptible io name class \
    priority deadline kind rate arrivals depth think size read at region align file format device replay \
    time_scale fit days processes compute spread critical limited limit input output output_region interleave \
    pause_every pause cpus speed slice clock clock_interrupt io_interrupt switch wakeup preempt_on_wake cache \
    flush_every flush_parts duration requests warmup replications seed";

#[test]
fn every_key_and_policy_is_in_the_readme() {
    let page = std::fs::read_to_string(root().join("README.md")).expect("the page");
    for word in KEYS.split_whitespace().chain(sched::policy::names()) {
        assert!(page.contains(&format!("`{word}`")), "`{word}` is not in README.md");
    }
}
