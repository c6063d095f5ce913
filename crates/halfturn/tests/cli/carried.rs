//! What the program carries with it: examples, completions, manual pages. None of it needs the repository.

use crate::{root, run_in, said};
use std::path::PathBuf;

/// An empty folder of this name, outside the repository's own.
fn empty(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder that can be made");
    folder
}

#[test]
fn an_example_is_written_with_its_trace_and_runs_where_it_stands() {
    let folder = empty("example");
    let wrote = run_in(&folder, &["example", "first-look"]);
    assert_eq!(String::from_utf8_lossy(&wrote.stdout), "./first-look.toml\n./traces/fio-mixed.blkparse.txt.gz\n");
    let there = run_in(&folder, &["simulate", "first-look.toml"]);
    let shown = String::from_utf8(there.stdout).expect("it writes UTF-8");
    // The names of traces stand as the file gives them, from the folder of the experiment.
    assert_eq!(shown, said(&["simulate", "examples/first-look.toml"]).replace("examples/traces/", "traces/"));
    let again = run_in(&folder, &["example", "first-look"]);
    assert!(String::from_utf8_lossy(&again.stderr).contains("there is such a file already"), "it is not overwritten");
    let unknown = run_in(&folder, &["example", "first-lock"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("did you mean 'first-look'?"));
}

#[test]
fn every_experiment_of_the_repository_is_listed() {
    let list = said(&["example"]);
    for file in std::fs::read_dir(root().join("examples")).expect("examples") {
        let name = file.expect("an entry").file_name().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".toml") else { continue };
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(name));
        assert!(line.is_some_and(|line| line.trim().len() > name.len() + 3), "{name} with its title in\n{list}");
    }
}

#[test]
fn completions_know_every_verb_and_every_verb_has_a_manual_page() {
    let folder = empty("man");
    let pages = run_in(&folder, &["man", "pages"]);
    assert!(pages.status.success(), "{}", String::from_utf8_lossy(&pages.stderr));
    let help = said(&["--help"]);
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let verbs: Vec<&str> = verbs
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.len() > 10, "{help}");
    let shells = ["bash", "fish", "zsh"].map(|shell| said(&["completions", shell]));
    for verb in verbs {
        let page = std::fs::read_to_string(folder.join(format!("pages/halfturn-{verb}.1"))).unwrap_or_default();
        assert!(page.contains(".SH SYNOPSIS"), "{verb} has no page");
        assert!(shells.iter().all(|script| script.contains(verb)), "{verb} is not completed");
    }
    if let Ok(checked) =
        std::process::Command::new("bash").arg("-n").stdin(std::process::Stdio::piped()).spawn().and_then(|mut bash| {
            use std::io::Write as _;
            bash.stdin.take().expect("it is piped").write_all(shells[0].as_bytes())?;
            bash.wait()
        })
    {
        assert!(checked.success(), "bash does not take its completions");
    }
}
