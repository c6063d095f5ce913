//! `advise`: what programs read of it, its page, and advice for what others run.

use crate::{root, run_in};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Reads beside a stream, soon simulated.
const SMALL: &str = "title = \"Reads beside a stream\"\n[drive]\nmodel = \"st318437lw\"\n[scheduler]\npolicy = \"fcfs\"\n\
    [[workload]]\nname = \"reads\"\nkind = \"open\"\nrate = \"20/s\"\nsize = \"4KiB\"\npriority = 1\n\
    [[workload]]\nname = \"stream\"\nkind = \"closed\"\ndepth = 2\nsize = \"256KiB\"\nat = \"sequential\"\n\
    [run]\nduration = \"6s\"\nwarmup = \"1s\"\nseed = 3\n";

struct Asked {
    folder: PathBuf,
    file: String,
}

fn ask(test: &str) -> Asked {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("advise-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for tests");
    let file = folder.join("small.toml");
    fs::write(&file, SMALL).expect("an experiment");
    Asked { file: file.display().to_string(), folder }
}

impl Asked {
    fn json(&self, more: &[&str]) -> Value {
        let arguments =
            [&["advise", &self.file, "--goal", "mean(reads) <= 500ms, then throughput", "--format", "json"], more];
        let output = run_in(&root(), &arguments.concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

#[test]
fn programs_read_what_people_do() {
    let asked = ask("json");
    let advice = asked.json(&[]);
    assert_eq!((&advice["schema"], &advice["goal"]), (&1.into(), &"mean(reads) <= 500ms, then throughput".into()));
    assert!(advice.get("stack").is_none() && advice.get("halfturn").is_none());
    let measures = advice["unseen"].as_array().expect("measures");
    assert_eq!(measures.len(), 2);
    for measure in measures {
        let of = |key: &str| measure[key].as_f64().unwrap_or(f64::NAN);
        assert!((of("advised") - of("today") - of("difference")).abs() < 1e-9, "{measure}");
        assert_eq!(measure["parts"], 8);
    }
    assert_eq!((&measures[0]["bound"], &measures[1]["bound"]), (&500.0.into(), &Value::Null));
    let printed = run_in(&root(), &["advise", &asked.file, "--goal", "mean(reads) <= 500ms, then throughput"]);
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    for set in advice["set"].as_array().expect("sets") {
        assert!(printed.contains(set.as_str().expect("a text")), "{set} is not in {printed}");
    }
}

#[test]
fn what_is_advised_for_a_stack_is_of_that_stack_and_halfturn_stands_beside_it() {
    let asked = ask("stack");
    let page = asked.folder.join("advice.html");
    let page = page.to_str().expect("UTF-8");
    let advice = asked.json(&["--stack", "linux", "--report", page, "-o", asked.folder.to_str().expect("UTF-8")]);
    assert_eq!(advice["stack"], "linux");
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(|text| text.as_str().expect("a text").to_owned()).collect()
    };
    let sets = texts(&advice["set"]);
    let foreign = ["satf", "preempt", "chunk", "share", "floor", "semi"];
    assert!(!sets.iter().any(|set| foreign.iter().any(|word| set.contains(word))), "{sets:?}");
    assert!(sets.is_empty() || !texts(&advice["words"]).is_empty(), "each is told as Linux is");
    // What Halfturn adds is to the best of the stack, on the same parts of the load.
    let own = advice["halfturn"]["unseen"].as_array().expect("measures");
    for (stack, own) in advice["unseen"].as_array().expect("measures").iter().zip(own) {
        assert_eq!(stack["advised"], own["today"]);
    }
    let html = fs::read_to_string(page).expect("a page");
    assert!(html.contains("<section class=\"answer\"") && html.contains("Halfturn"));
    let advised = fs::read_to_string(asked.folder.join("advised.toml")).expect("an experiment");
    assert!(advised.contains("mq-deadline") || advised.contains("fcfs"), "{advised}");
}

#[test]
fn an_unknown_stack_is_refused_with_those_there_are() {
    let asked = ask("unknown");
    let output = run_in(&root(), &["advise", &asked.file, "--goal", "mean", "--stack", "zsf"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains("did you mean zfs"), "{told}");
}
