//! `--requests` and `--series`: the files as users meet them, their descriptions, and what is refused.

use crate::{data, root, run_in};
use load::requests::COLUMNS;
use load::series::SERIES_COLUMNS;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("requests-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for tests");
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("is there").map(|entry| entry.expect("a readable entry"));
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The records of a run of an experiment beside these tests.
fn records(file: &str, more: &[&str]) -> String {
    let folder = folder(&format!("of-{file}-{}", more.join("-").replace(['/', '=', '.'], "")));
    let out = folder.join("requests.csv");
    let out = out.to_str().expect("UTF-8");
    let file = data(file);
    let arguments = [&["simulate", &file, "--requests", out], more].concat();
    let output = run_in(&root(), &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(names(&folder), ["requests.csv"], "nothing else is left");
    fs::read_to_string(out).expect("records")
}

#[test]
fn the_first_lines_are_as_they_were() {
    let text = records("small.toml", &[]);
    let first: Vec<&str> = text.lines().take(6).collect();
    insta::assert_snapshot!(first.join("\n"));
}

#[test]
fn runs_follow_one_another_in_the_order_of_the_sweep_on_any_number_of_threads() {
    let text = records("small.toml", &["--threads", "3"]);
    assert!(text == records("small.toml", &["--threads", "1"]), "threads change the records");
    let run = |line: &str| line.split(',').take(2).collect::<Vec<_>>().join(",");
    let mut runs: Vec<String> = text.lines().skip(1).map(run).collect();
    runs.dedup();
    let wanted = ["policy=fcfs,1", "policy=fcfs,2", "policy=fcfs,3", "policy=satf,1", "policy=satf,2", "policy=satf,3"];
    assert_eq!(runs, wanted);
    let counted = text.lines().skip(1).filter(|line| line.split(',').nth(9) == Some("1")).count();
    assert_eq!(counted, 6 * 3000);
}

/// The table of columns is the last thing on its page.
fn describe(page: &str, columns: &[(&str, &str)]) {
    let mut table = String::from("| column | meaning |\n|---|---|\n");
    columns.iter().for_each(|(name, about)| table += &format!("| `{name}` | {about} |\n"));
    let path = root().join(page);
    let text = fs::read_to_string(&path).expect(page);
    let (before, _) = text.split_once("| column |").expect("a table of columns");
    let whole = format!("{before}{table}");
    if std::env::var_os("HALFTURN_BLESS").is_some() {
        fs::write(&path, &whole).expect("the page is written");
    }
    assert!(text == whole, "{page} is stale; HALFTURN_BLESS=1 writes its table anew");
}

#[test]
fn every_column_is_described_as_it_is_declared() {
    describe("docs/reference/requests.md", &COLUMNS.each_ref().map(|column| (column.name, column.about)));
    describe("docs/reference/series.md", &SERIES_COLUMNS.each_ref().map(|column| (column.name, column.about)));
}

#[test]
fn a_series_has_a_row_for_each_interval_of_each_run_and_changes_nothing_else() {
    let folder = folder("series");
    let file = data("small.toml");
    let simulate = |name: &str, more: &[&str]| {
        let out = folder.join(name);
        let out = out.to_str().expect("UTF-8");
        let output = run_in(&root(), &[&["simulate", &file, "--series", out], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (output.stdout, fs::read(out).expect("a series"))
    };
    let (told, one) = simulate("one.csv", &["--series-every", "1s", "--threads", "1"]);
    assert!(told == run_in(&root(), &["simulate", &file]).stdout, "results differ");
    assert!(simulate("three.csv", &["--series-every", "1s", "--threads", "3"]).1 == one, "threads change the series");
    let text = String::from_utf8(one).expect("UTF-8");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], SERIES_COLUMNS.map(|column| column.name));
    let mut runs: Vec<[&str; 2]> = rows[1..].iter().map(|row| [row[0], row[1]]).collect();
    runs.dedup();
    assert_eq!(runs.len(), 6, "{runs:?}");
    assert!(rows[1..].iter().all(|row| row.len() == SERIES_COLUMNS.len()));
    let counted = rows[1..].iter().filter(|row| row[2].is_empty()).map(|row| row[6].parse::<u64>().expect("a number"));
    assert_eq!(counted.sum::<u64>(), 6 * 3000);
    if cfg!(feature = "parquet") {
        for (name, begins) in [("fitted.parquet", "PAR1"), ("fitted.arrow", "ARROW1")] {
            let (_, bytes) = simulate(name, &[]);
            assert!(bytes.starts_with(begins.as_bytes()) && bytes.ends_with(begins.as_bytes()), "{name}");
        }
    }
}

#[test]
fn what_is_wrong_with_a_series_is_said() {
    let folder = folder("no-series");
    let file = root().join(data("small.toml"));
    let simulate = |more: &[&str]| run_in(&folder, &[&["simulate", file.to_str().expect("UTF-8")], more].concat());
    let short = "--series-every: more than 250000 rows of one run, at 0.001 ms each\n  mend: give a longer time";
    refused(&simulate(&["--series", "s.csv", "--series-every", "1us"]), short);
    refused(
        &simulate(&["--series", "s.csv", "--series-every", "0s"]),
        "--series-every: '0s' is no time\n  mend: write",
    );
    refused(&simulate(&["--series", "s.csv", "--series-every", "soon"]), "--series-every: 'soon'");
    refused(&simulate(&["--series", "s.csv", "--requests", "s.csv"]), "s.csv: is to be written twice");
    refused(&simulate(&["--series", "none/s.csv"]), "none/s.csv: cannot be written: No such file");
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
}

#[track_caller]
fn refused(output: &Output, told: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.starts_with(&format!("error: {told}")), "{said}");
}

#[test]
fn what_cannot_be_written_is_said_before_anything_runs() {
    let folder = folder("unwritable");
    let file = root().join(data("small.toml"));
    let simulate = |out: &str, more: &[&str]| {
        let file = file.to_str().expect("UTF-8");
        run_in(&folder, &[&["simulate", file, "--requests", out], more].concat())
    };
    refused(&simulate("none/r.csv", &[]), "none/r.csv: cannot be written: No such file");
    refused(&simulate("/dev/full", &[]), "/dev/full: it is there, and no ordinary file");
    if !cfg!(feature = "parquet") {
        let told = "r.arrow: this halfturn was built without files that end in .arrow\n  mend: name FILE.csv, or build";
        refused(&simulate("r.arrow", &[]), told);
    }
    refused(&simulate("r.html", &["--report", "r.html"]), "r.html: is to be written twice");
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
}

#[test]
fn what_was_there_stays_when_the_disk_is_full() {
    let folder = folder("full");
    let file = root().join(data("small.toml"));
    // The first run's file is too long, or one of a run beside it.
    let csv = [("old.csv", "100"), ("old.csv", "600")];
    let packed = [("old.parquet", "50"), ("old.arrow", "50"), ("old.arrow", "300")];
    for (name, most) in csv.into_iter().chain(packed.into_iter().filter(|_| cfg!(feature = "parquet"))) {
        fs::write(folder.join(name), "precious").expect("a file");
        let command = format!("trap '' XFSZ; ulimit -f {most}; exec \"$0\" simulate \"$1\" --requests {name}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &command, env!("CARGO_BIN_EXE_halfturn"), file.to_str().expect("UTF-8")]);
        let output = shell.current_dir(&folder).output().expect("a shell");
        refused(&output, &format!("{name}: cannot be written: File too large"));
        assert_eq!(names(&folder), [name]);
        assert_eq!(fs::read_to_string(folder.join(name)).expect("it is there"), "precious");
        fs::remove_file(folder.join(name)).expect("it is there");
    }
}

/// The files' contents are compared with the lines in `python/tests`, by another reader.
#[cfg(feature = "parquet")]
#[test]
fn parquet_and_arrow_are_the_same_bytes_on_any_number_of_threads() {
    let folder = folder("packed");
    let file = data("small.toml");
    for (ending, begins) in [("parquet", "PAR1"), ("arrow", "ARROW1")] {
        let write = |threads: &str| {
            let out = folder.join(format!("{threads}.{ending}"));
            let arguments = ["simulate", &file, "--threads", threads, "--requests", out.to_str().expect("UTF-8")];
            let output = run_in(&root(), &arguments);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            fs::read(&out).expect("records")
        };
        let bytes = write("1");
        assert!(bytes.starts_with(begins.as_bytes()) && bytes.ends_with(begins.as_bytes()), "{ending}");
        assert!(bytes == write("3"), "threads change {ending}");
    }
    assert_eq!(names(&folder), ["1.arrow", "1.parquet", "3.arrow", "3.parquet"]);
}
