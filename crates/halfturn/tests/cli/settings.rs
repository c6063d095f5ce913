//! What a run says it is about: the lines above its table and those below, for every word that an experiment may hold.

use crate::{root, run_in};
use std::fmt::Write;
use std::path::PathBuf;

const DRIVE: &str = "[drive]\nmodel = \"atlas10k\"\n";
const SCHEDULER: &str = "[scheduler]\npolicy = \"fcfs\"\n";
const READER: &str = "[[workload]]\nname = \"r\"\nkind = \"open\"\nrate = \"20/s\"\nsize = \"4KiB\"\n";
const RUN: &str = "[run]\nduration = \"500ms\"\n";

/// Files that an experiment may name.
const TRACE: &str = "examples/traces/fio-mixed.blkparse.txt.gz";
const MACHINE: &str = "examples/traces/sqlite-beside-writer.pflow";

/// What is printed of an experiment; `name` tells its file from others.
fn printed(name: &str, experiment: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("setting-{name}.toml"));
    let real = |path: &str| root().join(path).display().to_string();
    let text = experiment.replace("web.csv.gz", &real(TRACE)).replace("build.ftrace.gz", &real(MACHINE));
    std::fs::write(&file, text).expect("a file");
    let output = run_in(&root(), &["simulate", &file.to_string_lossy()]);
    assert!(output.status.success(), "{experiment}\n{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("it writes UTF-8");
    text.replace(&format!("{}/", root().display()), "")
}

/// The lines before the first picture or table.
fn head(text: &str) -> String {
    let all = text.split("\n\n").take(2).collect::<Vec<_>>().join("\n");
    all.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The lines behind the last table, and the heads of the columns of all: the words without the figures.
fn foot(text: &str) -> String {
    let last = text.rsplit("\n\n").next().unwrap_or_default();
    let words = last.split_whitespace().filter(|word| !word.chars().any(|letter| letter.is_ascii_digit()));
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn every_kind_of_workload_is_said_in_words() {
    let mut shown = String::new();
    for named in load::manual::list_all().into_iter().filter(|named| named.what == "kind of workload") {
        // What rebuilds needs an array that lost a disk, what grows one that did not.
        let array = "[[disk]]\nmodel = \"atlas10k\"\ncount = 4\n[array]\nlevel = \"5\"\n";
        let fails = "[[array.fails]]\ndisk = 1\nat = \"100ms\"\nreplaced = true\n";
        let drive = match named.name {
            "rebuild" | "scrub" => format!("{array}{fails}"),
            "grow" => array.into(),
            _ => DRIVE.into(),
        };
        // Processes are by themselves.
        let other = if ["compression", "processes", "process-flow"].contains(&named.name) { "" } else { READER };
        let title = format!("title = \"{}\"\n", named.name);
        let text = format!("{title}{drive}{SCHEDULER}[[workload]]\nname = \"w\"\n{}\n{other}{RUN}", named.example);
        let _ = writeln!(shown, "{}", head(&printed(&format!("kind-{}", named.name), &text)));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn every_policy_runs_its_own_example() {
    for named in load::manual::list_all().into_iter().filter(|named| named.what == "policy") {
        let table = if named.example.contains("policy =") {
            format!("[scheduler]\n{}\n", named.example)
        } else {
            format!("[scheduler]\npolicy = \"{}\"\n{}\n", named.name, named.example)
        };
        let text = printed(&format!("policy-{}", named.name), &format!("{DRIVE}{table}{READER}{RUN}"));
        let line = text.lines().find(|line| line.starts_with(" scheduler")).expect("a line about it");
        assert!(line.contains(named.name), "{line}");
    }
}

/// Of a whole experiment in pieces: which piece stands in place of another.
fn changed(from: &str, to: &str) -> String {
    format!("{DRIVE}{SCHEDULER}{READER}{RUN}").replace(from, to)
}

#[test]
fn whatever_is_unusual_is_said_above_the_table_or_below() {
    let trace = |more: &str| {
        let file = "kind = \"trace\"\nfile = \"web.csv.gz\"\n";
        changed(READER, &format!("[[workload]]\nname = \"t\"\n{file}{more}\n"))
    };
    let cases = [
        (
            "noise",
            changed(DRIVE, "[drive]\nmodel = \"atlas10k\"\nnoise = false\nread_cache = false\nwrite_buffer = false\n"),
        ),
        ("seek-noise", changed(DRIVE, "[drive]\nmodel = \"atlas10k\"\nseek_noise = \"0.4ms\"\n")),
        ("oracle", changed("policy = \"fcfs\"", "policy = \"satf\"\npredictor = \"oracle\"")),
        ("mimic", changed("policy = \"fcfs\"", "policy = \"smtf\"\npredictor = \"mimic\"")),
        ("several", changed("policy = \"fcfs\"", "policy = [\"fcfs\", \"satf\"]\npredictor = \"profile\"")),
        ("bound", changed("policy = \"fcfs\"", "policy = \"satf\"\npredictor = [\"profile\", \"oracle\"]")),
        ("scale", trace("fit = \"scale\"\ndevice = \"7,3\"\ntime_scale = 2.0")),
        ("wrap", trace("fit = \"wrap\"\nreplay = \"closed\"\ndepth = 4")),
        ("compact", trace("fit = \"compact\"\nreplay = \"hold\"")),
        (
            "sequential",
            changed("rate = \"20/s\"", "rate = \"20/s\"\narrivals = \"constant\"\nat = \"sequential\"\nread = 0.0"),
        ),
        (
            "region",
            changed("rate = \"20/s\"", "rate = \"20/s\"\nregion = \"10%..1GiB\"\nread = 0.255\ndeadline = \"80ms\""),
        ),
        ("run", changed(RUN, "[run]\nrequests = 1300\nwarmup = \"100ms\"\nreplications = 3\nseed = 9\n")),
        ("overload", changed("rate = \"20/s\"", "rate = \"2000/s\"")),
        ("loads", changed("rate = \"20/s\"", "rate = [\"20/s\", \"2000/s\"]")),
        (
            "array",
            changed(DRIVE, "[[disk]]\nmodel = \"atlas10k\"\ncount = 4\n[array]\nlevel = \"0/1\"\nbuffer = \"1MiB\"\n"),
        ),
        (
            "cache",
            changed(
                DRIVE,
                "[[disk]]\nmodel = \"atlas10k\"\ncount = 4\n[array]\nlevel = \"5\"\nread_cache = \"1MiB\"\n",
            )
            .replace("rate = \"20/s\"", "rate = \"20/s\"\nat = \"sequential\"\ncascade = 2"),
        ),
        (
            "writes",
            changed(DRIVE, "[[disk]]\nmodel = \"atlas10k\"\ncount = 4\n[array]\nlevel = \"5\"\nbuffer = \"64KiB\"\n")
                .replace("rate = \"20/s\"", "rate = \"300/s\"\nread = 0.0"),
        ),
    ];
    let mut shown = String::new();
    for (name, experiment) in cases {
        let text = printed(name, &format!("title = \"{name}\"\n{experiment}"));
        let _ = writeln!(shown, "{}{}\n", head(&text), foot(&text));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn keys_are_listed_in_three_forms() {
    let listed = |form: &str| {
        let output = run_in(&root(), &["keys", "--format", form]);
        assert!(output.status.success());
        String::from_utf8(output.stdout).expect("it writes UTF-8")
    };
    let page = std::fs::read_to_string(root().join("docs/reference/keys.md")).expect("the reference page");
    assert_eq!(listed("markdown").trim(), page.trim());
    let json: serde_json::Value = serde_json::from_str(&listed("json")).expect("it is JSON");
    let names = |value: &serde_json::Value| value.to_string();
    let (table, json) = (listed("table"), names(&json));
    assert!(!table.contains('|') && !table.starts_with('{'), "the table is for people");
    for declared in load::manual::keys() {
        let name = declared.about.name;
        assert!(table.contains(name) && json.contains(name), "{name}");
        // `help` tells of each; where a word stands for several, of one of them.
        let output = run_in(&root(), &["help", name]);
        assert!(output.status.success(), "help {name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
