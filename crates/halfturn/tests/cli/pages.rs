//! What pages draw, as snapshots: their words, and of each figure the traces and the axes.

use crate::{data, root, run_in};
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;

/// The page that a command writes, without what draws it: text, and each figure as data.
fn page(name: &str, arguments: &[&str]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("page-{name}.html"));
    let path = path.to_string_lossy().into_owned();
    let output = run_in(&root(), &[arguments, &["--report", &path]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let html = std::fs::read_to_string(&path).expect("the page");
    std::fs::remove_file(&path).expect("it is there");
    let body = html.split_once("<body").expect("a body").1;
    let mut shown = String::new();
    for (i, part) in body.split("<script").enumerate() {
        let (script, words) = if i == 0 { ("", part) } else { part.split_once("</script>").expect("its end") };
        if let Some((_, rest)) = script.split_once("data-figure=\"") {
            let (figure, json) = rest.split_once("\">").expect("its data");
            let _ = writeln!(shown, "{figure}");
            draw(&mut shown, 1, &serde_json::from_str(json).expect("JSON"));
        }
        for line in words.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            let _ = writeln!(shown, "{line}");
        }
    }
    shown
}

/// What a figure holds, a line for each key; of lists of figures one after the other.
fn draw(shown: &mut String, depth: usize, value: &Value) {
    let indent = "  ".repeat(depth);
    for (key, value) in value.as_object().into_iter().flatten() {
        let inner = value.as_array().filter(|list| list.iter().any(Value::is_object));
        if let Some(list) = inner.filter(|list| list.len() <= 40) {
            for each in list {
                let _ = writeln!(shown, "{indent}{key}");
                draw(shown, depth + 1, each);
            }
        } else if value.is_object() {
            let _ = writeln!(shown, "{indent}{key}");
            draw(shown, depth + 1, value);
        } else {
            let _ = writeln!(shown, "{indent}{key}: {}", brief(value));
        }
    }
}

/// A value; of a long list how long it is, its first and its last.
fn brief(value: &Value) -> String {
    match value {
        Value::Array(list) if list.len() > 12 => {
            let few = |part: &[Value]| part.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
            format!("{} of [{}, …, {}]", list.len(), few(&list[..6]), few(&list[list.len() - 3..]))
        }
        other => other.to_string(),
    }
}

#[test]
fn a_page_of_a_drive_shows_each_command_and_what_the_arm_did() {
    let sets = ["--set", "run.requests=6", "--set", "run.warmup=0s", "--set", "run.replications=1"];
    let small = data("small.toml");
    insta::assert_snapshot!(page("drive", &[&["simulate", &small], &sets[..]].concat()));
}

#[test]
fn a_page_of_a_machine_shows_processes_processors_and_the_disk() {
    let set =
        ["scheduler.policy=priority-2", "run.replications=1", "workload.0.input=64KiB", "workload.0.output=32KiB"];
    let mut arguments = vec!["simulate", "examples/two-compressions.toml", "--window", "20ms..90ms"];
    set.iter().for_each(|set| arguments.extend(["--set", set]));
    insta::assert_snapshot!(page("machine", &arguments));
}

#[test]
fn a_page_of_a_recorded_machine_shows_what_it_did() {
    let file = "examples/traces/sqlite-beside-writer.pflow";
    insta::assert_snapshot!(page("recorded", &["trace", "info", file, "--window", "100ms..130ms"]));
}

#[test]
fn a_page_of_more_processes_than_it_shows_says_so() {
    let set = ["run.requests=60", "run.warmup=0s", "run.replications=1", "workload.0.processes=23"];
    let file = data("processes.toml");
    let mut arguments = vec!["simulate", &file, "--window", "0s..60ms"];
    set.iter().for_each(|set| arguments.extend(["--set", set]));
    insta::assert_snapshot!(page("many", &arguments));
}

#[test]
fn a_page_of_published_scenes_shows_every_row() {
    insta::assert_snapshot!(page("scenes", &["reproduce", "vio.fig4"]));
}

#[test]
fn a_page_of_published_figures_has_points_and_curves() {
    insta::assert_snapshot!(page("points", &["reproduce", "vio.fig1"]));
}

#[test]
fn a_page_of_a_validation_has_both_distributions() {
    let trace = data("measured.csv");
    insta::assert_snapshot!(page("validation", &["drive", "validate", "st318437lw", &trace]));
}

#[test]
fn a_page_of_a_trace_says_what_it_asks_for_and_draws_where_and_when() {
    let file = "examples/traces/fio-mixed.blkparse.txt.gz";
    insta::assert_snapshot!(page("trace", &["trace", "info", file]));
}

#[test]
fn pages_of_what_is_learned_validated_and_reproduced_say_first_what_came_out() {
    let trace = data("measured.csv");
    let of = |name, arguments: &[&str]| first_words(&page(name, arguments));
    let learned = of("first-learned", &["profile", "simulated:mimic-base", "--quick"]);
    let still = of("first-still", &["profile", "simulated:flash-x25m", "--quick"]);
    let validated = of("first-validated", &["drive", "validate", "st318437lw", &trace]);
    let reproduced = of("first-reproduced", &["reproduce", "vio.fig1", "vio.fig11.tail.50"]);
    let seeds = of("first-seeds", &["reproduce", "vio.fig1", "--seeds", "3"]);
    insta::assert_snapshot!([learned, still, validated, reproduced, seeds].join("\n"));
}

/// The answer of a comparison.
fn answer(name: &str, file: &str, sets: &[&str]) -> String {
    let mut arguments = vec!["simulate", file];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    first_words(&page(name, &arguments))
}

/// The answer of a page: what comes first, in words.
fn first_words(page: &str) -> String {
    let (_, rest) = page.split_once("aria-label=\"Answer\">\n").expect("an answer");
    rest.split_once("</section>").expect("its end").0.replace("<p>", "").replace("</p>", "")
}

#[test]
fn a_page_says_first_which_run_won_by_how_much_and_how_sure() {
    let rivals = ["scheduler.policy=[fcfs,satf,sstf]", "run.requests=400", "run.warmup=0s"];
    insta::assert_snapshot!("answer_paired", answer("paired", &data("small.toml"), &rivals));
    let single = ["scheduler.policy=[fcfs,satf]", "run.requests=400", "run.warmup=0s", "run.replications=1"];
    insta::assert_snapshot!("answer_single", answer("single", &data("small.toml"), &single));
    let loads = ["workload.0.depth=[1,4]", "scheduler.policy=satf", "run.requests=400", "run.warmup=0s"];
    insta::assert_snapshot!("answer_loads", answer("loads", &data("small.toml"), &loads));
    let many = ["workload.0.depth=[2,4,8,16,32]", "run.requests=300", "run.warmup=0s"];
    insta::assert_snapshot!("answer_many", answer("many-loads", &data("small.toml"), &many));
    insta::assert_snapshot!("answer_overload", answer("overload", &data("overload.toml"), &[]));
}

#[test]
fn a_page_names_the_unit_of_every_axis_describes_every_figure_and_opens_at_once() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page-whole.html");
    let name = path.to_string_lossy().into_owned();
    let output = run_in(&root(), &["simulate", "examples/first-look.toml", "--report", &name]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let html = std::fs::read_to_string(&path).expect("the page");
    std::fs::remove_file(&path).expect("it is there");
    assert!(html.len() <= 1_500_000, "{} bytes", html.len());
    let figures: Vec<Value> = html
        .split("data-figure=\"")
        .skip(1)
        .map(|part| part.split_once("\">").expect("its data").1.split_once("</script>").expect("its end").0)
        .map(|json| serde_json::from_str(json).expect("JSON"))
        .collect();
    assert_eq!(html.matches("role=\"group\" aria-label=\"").count(), figures.len());
    for axis in figures.iter().flat_map(|figure| [&figure["x"], &figure["y"]]) {
        let title = axis["title"].as_str().expect("a title");
        let unit = ["ms", "s", "%", "MB/s", "requests"]
            .iter()
            .any(|unit| title == *unit || title.ends_with(&format!(", {unit}")));
        assert!(unit || axis["ticks"].is_array(), "an axis without a unit: {title:?}");
    }
}
