//! Drives written for DiskSim and read back: they serve loads in the times of the drive that was written.
//!
//! What DiskSim has no words for stands at the head of the file. One such thing moves a mean by more than a few percent: in what
//! order buffered writes go to the medium. Where the file says so, random writes are compared in the order they came, which is what
//! the file has.

use disk::catalogue;
use std::path::Path;

/// So much may a mean be off.
const MOST_OFF: f64 = 0.03;

/// What is asked for, beside 4 KiB anywhere, one at a time.
const LOADS: [(&str, &str); 4] = [
    ("random reads", "size = \"4KiB\""),
    ("random writes", "size = \"4KiB\"\nread = 0.0"),
    ("sequential reads", "size = \"64KiB\"\nat = \"sequential\""),
    ("sequential writes", "size = \"64KiB\"\nat = \"sequential\"\nread = 0.0"),
];

/// The mean response times of a load on two drives, ms.
fn means(drives: [&str; 2], drive_lines: &str, load: &str) -> [f64; 2] {
    let [one, other] = drives.map(config::quote);
    let text = format!(
        "title = \"a\"\n[drive]\nmodel = [{one}, {other}]\nqueue = 1\n{drive_lines}\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\n\
         name = \"a\"\nkind = \"closed\"\ndepth = 1\n{load}\n[run]\nrequests = 1200\nwarmup = \"1s\"\n"
    );
    let cases = load::experiment::parse("a.toml", &text, &[], None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let results = sim::simulate(&cases, &sim::Unwatched).unwrap_or_else(|error| panic!("{error}"));
    let mean = |run: usize| results.runs[run].classes["a"].response_ms.mean;
    [mean(0), mean(1)]
}

/// Writes a disk of the catalogue into a folder; gives the file's path and text.
fn write(folder: &Path, name: &str) -> (String, String) {
    let seeks = format!("{name}.seek");
    let files = catalogue::for_disksim(name, &seeks).unwrap_or_else(|error| panic!("{name}: {error}"));
    std::fs::write(folder.join(seeks), files.seeks).unwrap();
    let path = folder.join(format!("{name}.parv"));
    std::fs::write(&path, &files.parameters).unwrap();
    (path.display().to_string(), files.parameters)
}

#[test]
fn every_disk_that_is_written_for_disksim_has_the_means_it_had() {
    let folder = std::env::temp_dir().join(format!("halfturn-exported-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut worst = [0.0_f64; LOADS.len()];
    for name in catalogue::names() {
        let (path, parameters) = write(&folder, name);
        for ((what, load), worst) in LOADS.into_iter().zip(&mut worst) {
            // What it cannot be told is switched off in both.
            let unsaid = [
                ("random writes", "buffered writes by where the arm is", "[drive.cache]\ndrain = \"in-order\"\n"),
                (
                    "writes",
                    "buffered writes that take longer once many came",
                    "[drive.overhead.stages]\nslow = \"0ms\"\nmid = \"0ms\"\n",
                ),
            ];
            let is_off =
                |load: &str, habit: &str| what.ends_with(load) && parameters.contains(&format!("# not said: {habit}"));
            let lines: String =
                unsaid.iter().filter(|(load, habit, _)| is_off(load, habit)).map(|(_, _, lines)| *lines).collect();
            let [was, is] = means([name, &path], &lines, load);
            let off = is / was - 1.0;
            assert!(off.abs() <= MOST_OFF, "{name}, {what}: {was:.3} ms, read back {is:.3} ms");
            *worst = worst.max(off.abs());
        }
    }
    for ((what, _), worst) in LOADS.into_iter().zip(worst) {
        println!("{what}: {:.2} % off at worst", 100.0 * worst);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_device_that_disksim_does_not_know_is_refused_by_what_it_is() {
    let refused = [
        ("archive-8tb", "a drive of shingled tracks, not a disk"),
        ("exos-2x14", "a drive with two actuators, not a disk"),
        ("flash-x25m", "flash memory, not a disk"),
        ("mirror-atlas10k", "a mirrored pair, not a disk"),
        ("store-block", "a network store, not a disk"),
        ("tape-lto5", "a tape, not a disk"),
        ("ultrastar-hc620", "a drive of shingled tracks that the host manages, not a disk"),
    ];
    assert_eq!(refused.len(), catalogue::others().count());
    for (name, what) in refused {
        let error = catalogue::for_disksim(name, "a.seek").expect_err(name).to_string();
        assert!(error.contains(name) && error.contains(what), "{error}");
    }
}
