//! The guide's first page, followed as a stranger does: each question from an empty folder, in at most three commands, with the files
//! that it asks about. What needs root or programs of others says SKIPPED without them; the question about Python is tried by the
//! tests of the Python package.

mod asked;

use crate::server::Folder;
use crate::tool::{have, output, run, skip};
use asked::{Loads, my_program, write};
use std::path::Path;

/// How the page marks a block that is followed here, and one that the tests of the Python package follow.
const MARK: &str = "sh cold";
const PYTHON_MARK: &str = "sh cold python";
const QUESTIONS: usize = 17;

/// A question of the page, with the commands that answer it.
struct Question {
    heading: String,
    mark: String,
    commands: String,
}

fn questions() -> Vec<Question> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/README.md");
    let text = std::fs::read_to_string(page).expect("the page");
    let sections = text.split("\n## ").skip(1);
    let question = |section: &str| {
        let heading = section.lines().next().expect("a heading").to_owned();
        let block = section.split("```").nth(1).expect("a block of commands");
        let (mark, commands) = block.split_once('\n').expect("lines");
        Question { heading, mark: mark.to_owned(), commands: commands.to_owned() }
    };
    sections.map(question).collect()
}

/// The commands of the question whose heading has these words.
fn commands(of: &str) -> String {
    let mut found: Vec<Question> = questions().into_iter().filter(|question| question.heading.contains(of)).collect();
    assert_eq!(found.len(), 1, "one question has the words {of}");
    found.remove(0).commands
}

/// The shell's words for it: the program that was built comes first on the path, and the first command that fails ends it.
fn script(commands: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_halfturn")).parent().expect("a folder");
    format!("set -e\nPATH='{}':$PATH\n{commands}", folder.display())
}

/// What the answer to a question prints, in a folder with these files alone.
fn answer(of: &str, files: &[(&str, Vec<u8>)]) -> (String, Folder) {
    let folder = Folder::new();
    files.iter().for_each(|(name, bytes)| write(&folder.0, name, bytes));
    (run(&folder.0, "sh", &["-c", &script(&commands(of))]), folder)
}

/// Lines of the text that begin with a word, as their words.
fn lines<'a>(text: &'a str, first: &str) -> Vec<Vec<&'a str>> {
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    words.filter(|words| words.first() == Some(&first)).collect()
}

/// A figure of a table, without the mark of the best.
fn figure(word: &str) -> f64 {
    word.trim_start_matches('*').replace(',', "").parse().unwrap_or_else(|_| panic!("{word} is no figure"))
}

#[test]
fn there_are_seventeen_questions_of_at_most_three_commands_each() {
    let all = questions();
    assert_eq!(all.len(), QUESTIONS);
    for Question { heading, mark, commands } in all {
        assert!([MARK, PYTHON_MARK].contains(&&*mark), "{heading}: nobody follows a block of '{mark}'");
        let joined = commands.replace("\\\n", " ");
        let lines: Vec<&str> = joined.lines().collect();
        assert!((1..=3).contains(&lines.len()), "{heading}: {} commands", lines.len());
        for line in lines {
            let outside: String = line.split('\'').step_by(2).collect();
            assert!(!outside.contains(['&', ';', '|']), "{heading}: more than one command in a line: {line}");
        }
    }
}

/// Whoever replays a trace is told that each of four schedulers has ended all its requests, on 20 TB.
#[track_caller]
fn replays(of: &str, files: &[(&str, Vec<u8>)]) {
    let (told, _folder) = answer(of, files);
    assert!(told.contains("a 20 TB nearline drive"), "{told}");
    let name = files[0].0;
    assert!(told.contains(&format!("load       {name}, in recorded order")), "{told}");
    let requests = Loads::REQUESTS.to_string();
    let mean = |policy: &str| {
        let row = lines(&told, policy).into_iter().find(|row| row.get(1) == Some(&&*requests));
        figure(row.unwrap_or_else(|| panic!("no {requests} requests under {policy}:\n{told}"))[2])
    };
    let [fcfs, _, satf, asatf] = ["fcfs", "c-look", "satf", "asatf"].map(mean);
    assert!(satf < fcfs && asatf < fcfs, "by access time is sooner than in order of arrival:\n{told}");
}

#[test]
fn a_log_of_fio_is_replayed() {
    replays("my fio wrote", &[("mine.iolog", Loads::new(1).iolog())]);
}

#[test]
fn a_table_with_names_of_its_own_is_replayed() {
    replays("a CSV", &[("mine.csv", Loads::new(2).csv())]);
}

#[test]
fn a_trace_of_msr_is_replayed() {
    replays("MSR Cambridge", &[("web_0.csv", Loads::new(3).msr())]);
}

#[test]
fn a_trace_of_cloudphysics_is_replayed() {
    replays("CloudPhysics", &[("w01.vscsi", Loads::new(4).vscsi())]);
}

#[test]
fn what_blktrace_recorded_is_replayed() {
    let [first, second] = Loads::new(5).blktrace();
    replays("what blktrace recorded", &[("sdb.blktrace.0", first), ("sdb.blktrace.1", second)]);
}

#[test]
fn depths_are_swept_and_drawn() {
    let (told, folder) = answer("depths of 1 to 64", &[]);
    let depths = ["1", "2", "4", "8", "16", "32", "64"];
    let rows: Vec<_> = depths.iter().map(|depth| lines(&told, depth).pop().expect("a row")).collect();
    let rates: Vec<f64> = rows.iter().map(|row| figure(row[7])).collect();
    assert!(rates.is_sorted() && rates[6] > 2.0 * rates[0], "deeper is faster: {rates:?}\n{told}");
    let page = std::fs::read_to_string(folder.0.join("depths.html")).expect("the picture");
    assert!(page.contains("<section class=\"answer\"") && page.contains("7 runs were compared"), "it says first");
}

#[test]
fn the_chunk_for_a_wait_is_told() {
    let (told, _folder) = answer("a wait of 10 ms", &[]);
    let (_, table) = told.split_once("expected   command").expect("the table of waits");
    let waits = ["32KiB", "64KiB", "128KiB", "256KiB", "512KiB", "2MiB"].map(|chunk| figure(lines(table, chunk)[0][1]));
    assert!(waits.is_sorted() && waits[3] < 10.0 && waits[4] > 10.0, "256 KiB is the answer: {waits:?}");
}

#[test]
fn a_rebuild_tells_what_it_costs_and_how_long_it_takes() {
    let (told, _folder) = answer("a RAID 5 rebuild", &[]);
    let paces =
        told.lines().filter(|line| line.contains(" MB/s: at this load all of it takes ") && line.ends_with(" min"));
    assert_eq!(paces.count(), 1, "of the run with a rebuild alone:\n{told}");
    assert_eq!(told.matches("nothing of it was repaired").count(), 1, "{told}");
    let rows: Vec<_> = told.lines().filter(|line| line.contains(" users ") && line.contains('±')).collect();
    let [beside, without] = rows[..] else { panic!("two runs: {rows:?}") };
    let mean = |row: &str| figure(row.split_whitespace().skip_while(|word| *word != "users").nth(2).expect("a mean"));
    assert!(mean(beside) > mean(without), "the rebuild costs users something:\n{told}");
}

#[test]
fn a_drive_of_disksim_is_imported_and_validated() {
    let folder = Folder::new();
    let halfturn = env!("CARGO_BIN_EXE_halfturn");
    run(&folder.0, halfturn, &["drive", "show", "st318437lw", "--for", "disksim", "-o", "mydisk.parv"]);
    write(&folder.0, "measured.csv", include_bytes!("../cli/data/measured.csv"));
    let told = run(&folder.0, "sh", &["-c", &script(&commands("my DiskSim drive"))]);
    assert!(told.contains("18.4 GB") && told.contains("Not modelled"), "{told}");
    assert!(told.contains("demerit") && !lines(&told, "all").is_empty(), "{told}");
    assert!(folder.0.join("mydisk.html").is_file());
}

#[test]
fn a_drive_is_learned() {
    let (told, folder) = answer("my drive like", &[]);
    assert!(told.contains("Good: it predicts what the drive does") && told.contains("seek"), "{told}");
    assert!(folder.0.join("learned.html").is_file());
}

/// Whether a file system can be mounted here.
fn can_mount() -> bool {
    let programs = [("nbdfuse", "libnbd-bin"), ("fusermount3", "fuse3"), ("mkfs.ext4", "e2fsprogs")];
    let root = std::fs::metadata("/proc/self").is_ok_and(|of| std::os::unix::fs::MetadataExt::uid(&of) == 0);
    let lacking = ["/dev/fuse", "/dev/loop-control"].into_iter().find(|device| !Path::new(device).exists());
    match (root, lacking) {
        (false, _) => skip("only root can mount a file system"),
        (_, Some(device)) => skip(&format!("{device} is not there")),
        _ => return have(&programs),
    }
    false
}

#[test]
fn a_test_runs_on_a_slow_disk_that_is_mounted() {
    if !can_mount() {
        return;
    }
    let folder = Folder::new();
    my_program(
        &folder.0,
        "my-test",
        "stat -f -c %T \"$1\"; dd if=/dev/zero of=\"$1/file\" bs=1M count=8 conv=fsync; exit 3",
    );
    let done = output(&folder.0, "sh", &["-c", &script(&commands("a slow disk, mounted"))]);
    let [told, complained] = [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert!(told.contains("ext2/ext3") && done.status.code() == Some(3), "{told}{complained}");
    // 8 MiB and a journal, at some 40 MB/s.
    let seconds = complained.lines().find_map(|line| line.split(", ").nth(2)?.strip_suffix(" s")?.parse::<f64>().ok());
    assert!(seconds.is_some_and(|seconds| seconds > 0.1), "as slow as a disk: {complained}");
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("it is Linux");
    assert!(!mounts.contains(&folder.0.display().to_string()), "nothing stays mounted: {mounts}");
}

#[test]
fn a_run_is_recorded_and_would_happen_again() {
    let (told, _folder) = answer("would it happen again", &[]);
    assert!(told.contains("interactive") && told.contains(" decisions: all the same as then"), "{told}");
}

#[test]
fn a_program_is_recorded_and_run_again_over_other_drives() {
    if !have(&[("unshare", "util-linux"), ("mount", "mount")]) {
        return;
    }
    // A folder on a disk, which the one for temporary files need not be.
    let folder = Folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cold-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a folder");
    if ["tmpfs", "ramfs"].contains(&run(&folder.0, "stat", &["-f", "-c", "%T", "."]).trim()) {
        return skip("the folder of the tests is on no disk");
    }
    my_program(&folder.0, "my-program", "dd if=/dev/zero of=file bs=64k count=64 conv=fsync");
    let alone =
        |script: &str| output(&folder.0, "unshare", &["--mount", "--propagation", "private", "sh", "-c", script]);
    let mount = "mount -t tracefs tracefs /sys/kernel/tracing";
    let probe = "cd /sys/kernel/tracing/instances && mkdir halfturn-cold-$$ && rmdir halfturn-cold-$$";
    if !alone(&format!("{mount} && {probe}")).status.success() {
        return skip("needs root and a kernel that lets it mount tracefs and make a trace instance");
    }
    let done = alone(&format!("{mount}\n{}", script(&commands("another drive make of my program"))));
    let told = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{told}{}", String::from_utf8_lossy(&done.stderr));
    assert!(told.contains("execution s") && told.contains("nl20") && told.contains("priority-2"), "{told}");
}

#[test]
fn a_drive_of_a_data_sheet_serves_four_schedulers() {
    let (told, _folder) = answer("I have the data sheet", &[]);
    assert!(told.contains("innermost rate") && told.contains("6.0 TB at 7200 rpm, by its data sheet"), "{told}");
    assert_eq!(lines(&told, "asatf").len(), 4, "a bar and a row of either queue:\n{told}");
}

#[test]
fn classes_change_while_they_are_served() {
    let (told, _folder) = answer("classes of clients change", &[]);
    assert!(!lines(&told, "backup").is_empty() && told.contains("background"), "{told}");
}

#[test]
fn a_published_table_comes_out_again() {
    let (told, folder) = answer("a published table", &[]);
    assert!(told.contains("praid.fig20") && told.contains("published numbers: "), "{told}");
    assert!(folder.0.join("table1.html").is_file());
}
