//! What a command reads, and what was there before it wrote, stays as it was.

use crate::{root, run_in};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const EXPERIMENT: &str = "
[drive]
model = \"drive.toml\"
[scheduler]
policy = \"fcfs\"
[[workload]]
name = \"t\"
kind = \"trace\"
file = \"trace.csv\"
";
const TRACE: &str = "time_ms,op,lbn,blocks\n0,r,1000,8\n20,r,90000,8\n";

/// A folder with an experiment, its trace and its drive.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("kept-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for tests");
    for (name, text) in [("a.toml", EXPERIMENT), ("trace.csv", TRACE)] {
        fs::write(folder.join(name), text).expect("a file");
    }
    fs::copy(root().join("crates/disk/catalogue/st318437lw.toml"), folder.join("drive.toml")).expect("a drive");
    folder
}

/// Names and contents of all that is in a folder.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("is there").map(|entry| entry.expect("a readable entry"));
    let mut all: Vec<_> = entries
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap_or_default()))
        .collect();
    all.sort();
    all
}

/// Runs a command that is to be refused, and holds that nothing in the folder is otherwise afterwards.
#[track_caller]
fn refused(folder: &Path, arguments: &[&str], told: &str) {
    let before = contents(folder);
    let output = run_in(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.starts_with(&format!("error: {told}")), "{arguments:?}: {said}");
    assert!(contents(folder) == before, "{arguments:?} leaves something else");
}

const READ: &str = "is read by this very command\n  mend: give the new file another name\n";

#[test]
fn no_name_of_an_input_is_written_over() {
    let folder = folder("names");
    fs::hard_link(folder.join("trace.csv"), folder.join("hard.html")).expect("a link");
    symlink("trace.csv", folder.join("soft.html")).expect("a link");
    fs::create_dir(folder.join("out")).expect("a folder");
    fs::hard_link(folder.join("trace.csv"), folder.join("out/table.txt")).expect("a link");
    for name in ["a.toml", "drive.toml", "trace.csv", "hard.html", "soft.html", "../kept-names/trace.csv"] {
        refused(&folder, &["simulate", "a.toml", "--report", name], &format!("{name}: {READ}"));
        refused(&folder, &["simulate", "a.toml", "--requests", name], &format!("{name}: {READ}"));
    }
    refused(&folder, &["simulate", "a.toml", "--output", "out"], &format!("out/table.txt: {READ}"));
    refused(
        &folder,
        &["drive", "validate", "drive.toml", "trace.csv", "--report", "drive.toml"],
        "drive.toml: is read",
    );
    refused(&folder, &["profile", "simulated:drive.toml", "-o", "drive.toml"], "drive.toml: is read");
    // A link to what is not there yet is followed.
    symlink("new.html", folder.join("new")).expect("a link");
    assert!(run_in(&folder, &["simulate", "a.toml", "--report", "new"]).status.success());
    assert!(folder.join("new.html").is_file() && folder.join("new").is_symlink());
}

#[test]
fn what_parameters_name_is_not_written_over_either() {
    let folder = folder("parameters");
    for name in ["g2.diskspecs", "g2.raw"] {
        fs::copy(root().join("crates/disk/tests/fixtures").join(name), folder.join(name)).expect("a copy");
    }
    let text = fs::read_to_string(folder.join("g2.diskspecs")).expect("parameters");
    let named = contents(&folder).into_iter().find(|(name, _)| name == "g2.raw" && text.contains(name));
    let (named, _) = named.expect("they name a file");
    refused(&folder, &["drive", "import", "g2.diskspecs", "-o", &named], &format!("{named}: {READ}"));
}

#[test]
fn what_was_there_stays_when_the_disk_is_full() {
    let folder = folder("full");
    fs::write(folder.join("old.html"), "precious").expect("a file");
    let before = contents(&folder);
    let run = |most: &str| -> Output {
        let command = format!("trap '' XFSZ; ulimit -f {most}; exec \"$0\" simulate a.toml --report old.html");
        let mut shell = Command::new("sh");
        shell.args(["-c", &command, env!("CARGO_BIN_EXE_halfturn")]).current_dir(&folder).output().expect("a shell")
    };
    let output = run("8");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("old.html: cannot be written: File too large"), "{said}");
    assert!(contents(&folder) == before, "it is as it was, and nothing else is left");
    assert!(run("unlimited").status.success());
    assert!(fs::read(folder.join("old.html")).expect("it is there").len() > 10_000);
}

#[test]
fn what_was_there_stays_when_the_user_has_had_enough() {
    let folder = folder("interrupted");
    let endless = EXPERIMENT.replace("\"trace\"\nfile = \"trace.csv\"", "\"closed\"\ndepth = 4\nsize = \"4KiB\"");
    fs::write(folder.join("long.toml"), format!("{endless}\n[run]\nrequests = 4000000000\n")).expect("a file");
    fs::write(folder.join("old.csv"), "precious").expect("a file");
    let before = contents(&folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfturn"));
    command.args(["simulate", "long.toml", "--output", "out", "--requests", "old.csv", "--set", "run.replications=2"]);
    let mut running = command.current_dir(&folder).spawn().expect("it starts");
    let draft = folder.join(format!("old.csv.part{}", running.id()));
    let began = std::time::Instant::now();
    while !draft.metadata().is_ok_and(|about| about.len() > 10_000) {
        assert!(began.elapsed().as_secs() < 60, "it never began to write");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let kill = Command::new("kill").args(["-INT", &running.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    let ended = running.wait().expect("it ends");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended), Some(2), "as it ends otherwise: {ended}");
    assert!(contents(&folder) == before, "{:?}", contents(&folder).iter().map(|(name, _)| name).collect::<Vec<_>>());
}

/// The experiment of a folder of results names what it reads by whole paths.
#[test]
fn a_folder_of_results_is_run_again_wherever_it_is_moved() {
    let folder = folder("moved");
    let elsewhere = folder.join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    fs::create_dir(folder.join("run-here")).expect("a folder");
    let run = |at: &Path, arguments: &[&str]| {
        let output = run_in(at, &[&["simulate"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let sets = ["--set", "scheduler.policy=[satf,c-look]", "--set", "drive.noise=false", "--seed", "5"];
    run(&folder.join("run-here"), &[&["../a.toml", "--output", "../out"], &sets[..]].concat());
    fs::rename(folder.join("out"), elsewhere.join("moved")).expect("it is there");
    run(&elsewhere, &["moved/experiment.toml", "--output", "again"]);
    let results = |name: &str| -> serde_json::Value {
        let text = fs::read_to_string(elsewhere.join(name).join("results.json")).expect("results");
        // Notes name the trace by its path.
        let lines = text.lines().filter(|line| !line.contains("trace.csv") || line.contains("\"name\""));
        serde_json::from_str(&lines.collect::<Vec<_>>().join("\n")).expect("JSON")
    };
    let (first, again) = (results("moved"), results("again"));
    assert_eq!(first, again);
    assert_eq!(first["runs"].as_array().map(Vec::len), Some(2));
    let names: Vec<_> = first["inputs"].as_array().expect("inputs").iter().map(|input| &input["name"]).collect();
    assert_eq!(names, ["drive.toml", "trace.csv"]);
    let text = fs::read_to_string(elsewhere.join("moved/again.txt")).expect("how it was run");
    let sum = Command::new("sha256sum").arg("trace.csv").current_dir(&folder).output().expect("sha256sum").stdout;
    let sum = String::from_utf8(sum).expect("ASCII");
    let (sum, whole) = (&sum[..64], folder.join("trace.csv").canonicalize().expect("is there"));
    assert!(text.contains(&format!("- {sum} trace.csv, {} bytes, {}\n", TRACE.len(), whole.display())), "{text}");
    assert!(text.contains(&format!("The folder it was run in: {}", folder.join("run-here").display())), "{text}");
    assert_eq!(first["inputs"][1]["sha256"], sum);
}

fn service(folder: &Path, drive: &str) {
    let text = format!("[drive]\n{drive}\n[scheduler]\npolicy = \"fcfs\"\n[[volume]]\nname = \"a\"\n");
    fs::write(folder.join("service.toml"), text).expect("a file");
}

const SERVE: [&str; 4] = ["serve", "service.toml", "--socket", "nbd.sock"];

#[test]
fn contents_of_something_else_are_not_taken_over() {
    let folder = folder("contents");
    service(&folder, "path = \"emulated:st318437lw\"\ncontents = \"sparse\"\nfile = \"trace.csv\"");
    let told = format!(
        "trace.csv: cannot hold the drive's contents: it holds something else, of {} bytes where the drive has",
        TRACE.len()
    );
    refused(&folder, &[&SERVE[..], &["--run", "true"]].concat(), &told);
    service(&folder, "path = \"emulated:st318437lw\"\ncontents = \"sparse\"\nfile = \"new.img\"");
    for _ in 0..2 {
        assert!(run_in(&folder, &[&SERVE[..], &["--run", "true"]].concat()).status.success(), "its own it takes again");
    }
}

#[test]
fn a_log_has_its_name_once_it_is_whole() {
    let folder = folder("log");
    service(&folder, "path = \"ram:16MiB\"");
    fs::write(folder.join("run.log"), "an older one").expect("a file");
    let looks = "test \"$(cat run.log)\" = 'an older one'";
    let output = run_in(&folder, &[&SERVE[..], &["--record", "run.log", "--run", looks]].concat());
    assert!(output.status.success(), "while it is recorded the older one is there: {output:?}");
    assert!(run_in(&folder, &["replay", "run.log"]).status.success());
    let names: Vec<String> = contents(&folder).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a.toml", "drive.toml", "run.log", "service.toml", "trace.csv"]);
}

#[test]
fn a_file_is_served_by_one_and_read_by_many() {
    let folder = folder("locks");
    fs::write(folder.join("disk.img"), vec![0; 1 << 20]).expect("a disk");
    service(&folder, "path = \"disk.img\"");
    let halfturn = env!("CARGO_BIN_EXE_halfturn");
    let serve = |more: &str| format!("{halfturn} serve service.toml --socket second.sock {more} --run true");
    let both = |first: &str, second: &str| {
        let more = ["--set", first, "--run", &serve(&format!("--set {second}"))].map(str::to_owned);
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        run_in(&folder, &[&SERVE[..], &more[..]].concat())
    };
    let (alone, shared) = ("volume.0.read_only=false", "volume.0.read_only=true");
    for (first, second) in [(alone, alone), (alone, shared), (shared, alone)] {
        let output = both(first, second);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains("disk.img: is in use"), "{first}, {second}: {said}");
    }
    let output = both(shared, shared);
    assert!(output.status.success(), "{output:?}");
}
