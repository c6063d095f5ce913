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

#[test]
fn the_first_look_shows_what_the_readme_says_of_it() {
    let text = said(&["simulate", "examples/first-look.toml", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let runs = json["runs"].as_array().expect("runs");
    let run = |policy: &str| runs.iter().find(|run| run["labels"]["policy"] == policy).expect("a run of each policy");
    let figure =
        |policy, name: &str| run(policy)["classes"]["recorded"]["response_ms"][name].as_f64().expect("a number");
    let rate = |policy| run(policy)["throughput_mb_s"].as_f64().expect("a number");
    for other in ["fcfs", "look", "c-look", "sstf"] {
        assert!(figure("satf", "mean") + figure("satf", "ci95") < figure(other, "mean") - figure(other, "ci95"));
        assert!(rate("satf") > 1.5 * rate(other), "{other}");
    }
    assert!(figure("satf", "max") > 1.5 * figure("fcfs", "max"));
    assert!(figure("asatf", "max") < 0.8 * figure("satf", "max") && rate("asatf") > 0.9 * rate("satf"));
}

#[test]
fn every_key_policy_and_format_is_in_the_readme() {
    let page = std::fs::read_to_string(root().join("README.md")).expect("the page");
    let keys = [
        "title",
        "model",
        "noise",
        "read_cache",
        "write_buffer",
        "policy",
        "predictor",
        "age_weight",
        "age_limit",
        "batch",
        "queue",
        "preemption",
        "io",
        "name",
        "class",
        "priority",
        "deadline",
        "kind",
        "rate",
        "arrivals",
        "depth",
        "think",
        "size",
        "read",
        "at",
        "region",
        "align",
        "file",
        "format",
        "device",
        "replay",
        "time_scale",
        "fit",
        "duration",
        "requests",
        "warmup",
        "replications",
        "seed",
    ];
    let policies = ["fcfs", "look", "c-look", "batch-look", "sstf", "satf", "asatf"];
    let formats = trace::Format::ALL.map(trace::Format::word);
    let drives = disk::catalogue::names();
    for word in keys.into_iter().chain(policies).chain(formats).chain(drives) {
        assert!(page.contains(&format!("`{word}`")), "`{word}` is not in README.md");
    }
}
