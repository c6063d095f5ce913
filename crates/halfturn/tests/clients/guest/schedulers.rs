//! Linux's schedulers as they are simulated, beside those of a kernel that has an emulated drive as its disk, one command in it at a
//! time. What the machine and the host add to each request is measured with the random reads of the same load under no scheduler, and
//! simulated as the drive's overhead: it differs by load, and within minutes. On a host that does other things besides, it would not be
//! the same for each request either: the machine asks for real-time priority.

use super::{BootedGuest, KillableServer, archive, make_asker, prepare};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const GB: u64 = 1_000_000_000;
/// Of the drive `atlas10k`.
const BYTES: f64 = 17_938_986.0 * 512.0;
/// Seconds of each load.
const SECONDS: u32 = 40;

/// One process: where it asks, how much, how many requests it has outstanding, and in what order.
struct Process {
    way: char,
    from: u64,
    to: u64,
    bytes: u32,
    outstanding: u32,
    place: char,
}

const fn process(way: char, (from, to): (u64, u64), bytes: u32, outstanding: u32, place: char) -> Process {
    Process { way, from, to, bytes, outstanding, place }
}

const LOADS: [(&str, &[Process]); 6] = [
    ("random reads", &[process('r', (0, 8), 4096, 8, 'r')]),
    ("random reads and writes", &[process('r', (0, 4), 4096, 4, 'r'), process('w', (4, 8), 4096, 4, 'r')]),
    ("a reader beside a stream", &[process('r', (0, 4), 4096, 1, 'r'), process('r', (5, 8), 262_144, 1, 's')]),
    (
        "four readers",
        &[
            process('r', (0, 2), 4096, 1, 'r'),
            process('r', (2, 4), 4096, 1, 'r'),
            process('r', (4, 6), 4096, 1, 'r'),
            process('r', (6, 8), 4096, 1, 'r'),
        ],
    ),
    ("two streams", &[process('r', (0, 2), 65_536, 2, 's'), process('r', (6, 8), 65_536, 2, 's')]),
    (
        "random reads beside a stream of writes",
        &[process('r', (0, 4), 4096, 2, 'r'), process('w', (5, 8), 262_144, 2, 's')],
    ),
];

/// How far the mean and the 99th percentile of each process may be off.
const WITHIN: [(&str, f64, f64); 2] = [("mq-deadline", 0.10, 0.15), ("bfq", 0.15, 0.30)];

/// What a process found.
struct Found {
    per_second: f64,
    mean_ms: f64,
    p99_ms: f64,
}

/// One random read at a time.
const PLAIN: &Process = &process('r', (0, 8), 4096, 1, 'r');

/// The processes of a load that read at random, or one that does.
fn random_reads(load: &[Process]) -> Vec<&Process> {
    let of_load: Vec<&Process> = load.iter().filter(|process| process.way == 'r' && process.place == 'r').collect();
    if of_load.is_empty() { vec![PLAIN] } else { of_load }
}

/// Asks for real-time priority, which what this thread starts has, too.
fn hurry() {
    let thread = fs::read_link("/proc/thread-self").expect("a thread");
    let thread = thread.file_name().expect("a number").to_owned();
    let asked = Command::new("chrt").args(["--rr", "--pid", "5"]).arg(thread).status();
    if !asked.is_ok_and(|status| status.success()) {
        println!("without real-time priority: let the host be quiet");
    }
}

fn script() -> String {
    let mut script = String::from(
        "cd /sys/block/sda; echo 1 > device/queue_depth; echo 2 > queue/nomerges\n\
         # The firmware has left a line begun.\necho\n",
    );
    let mut add = |scheduler: &str, load: &[&Process]| {
        let _ = writeln!(script, "echo none > queue/scheduler; echo {scheduler} > queue/scheduler");
        if scheduler == "bfq" {
            script.push_str("echo 0 > queue/iosched/low_latency; echo 16384 > queue/iosched/max_budget\n");
        }
        let _ = write!(script, "/bin/asker /dev/sda {SECONDS}");
        for Process { way, from, to, bytes, outstanding, place } in load {
            let _ = write!(script, " {way}:{}:{}:{bytes}:{outstanding}:{place}", from * GB, to * GB);
        }
        script.push_str("\necho ENDED\n");
    };
    for (_, load) in LOADS {
        add("none", &random_reads(load));
        let all: Vec<&Process> = load.iter().collect();
        WITHIN.iter().for_each(|(scheduler, ..)| add(scheduler, &all));
    }
    script + "echo DONE\n"
}

/// What the machine's processes found, by load in the order of the script.
fn ask_machine(folder: &Path, parts: &[PathBuf; 3]) -> Vec<Vec<Found>> {
    let asker = make_asker(folder);
    fs::write(folder.join("initrd"), archive(parts, &script(), &[("bin/asker", &asker)])).expect("an archive");
    let served = "[drive]\npath = \"emulated:atlas10k\"\n[scheduler]\npolicy = \"fcfs\"\n[serve]\nsocket = \"nbd\"\n\
                  [[volume]]\nname = \"machine\"\n";
    fs::write(folder.join("vm.toml"), served).expect("a file");
    let _service = KillableServer::start(folder);
    let disk = "driver=nbd,node-name=disk,server.type=unix,server.path=nbd,export=machine,cache.direct=on";
    let bus = "virtio-scsi-pci,id=bus,num_queues=1";
    let disks = ["-blockdev", disk, "-device", bus, "-device", "scsi-hd,drive=disk,bus=bus.0,rotation_rate=10000"];
    let guest = BootedGuest::boot(folder, &parts[0], 256, &disks);
    let mut loads = Vec::new();
    for _ in 0..(1 + WITHIN.len()) * LOADS.len() {
        let mut found: Vec<(u32, Found)> = guest.until("ENDED").iter().filter_map(|line| parse(line)).collect();
        found.sort_by_key(|(number, _)| *number);
        loads.push(found.into_iter().map(|(_, found)| found).collect());
    }
    guest.until("DONE");
    loads
}

/// `CLASS NUMBER COUNT MEAN P99`.
fn parse(line: &str) -> Option<(u32, Found)> {
    let mut words = line.strip_prefix("CLASS ")?.split(' ');
    let number = words.next()?.parse().ok()?;
    let count: f64 = words.next()?.parse().ok()?;
    let per_second = count / f64::from(SECONDS);
    Some((number, Found { per_second, mean_ms: words.next()?.parse().ok()?, p99_ms: words.next()?.parse().ok()? }))
}

/// The same load as it is simulated, with so much more overhead a command.
fn simulate(folder: &Path, scheduler: &str, load: &[&Process], overhead: f64) -> Vec<Found> {
    let [read, write, hit] = [0.0, 0.345, 0.184].map(|own| own + overhead);
    let mut text = format!(
        "[drive]\nmodel = \"atlas10k\"\n[drive.overhead]\nread = \"{read}ms\"\nwrite = \"{write}ms\"\nhit = \"{hit}ms\"\n\
         [scheduler]\npolicy = \"{scheduler}\"\n[run]\nduration = \"60s\"\nwarmup = \"5s\"\nreplications = 5\n"
    );
    for (number, process) in load.iter().enumerate() {
        let [from, to] = [process.from, process.to].map(|at| (at * GB) as f64 / BYTES * 100.0);
        let (read, at) = (u8::from(process.way == 'r'), if process.place == 's' { "sequential" } else { "random" });
        let _ = write!(
            text,
            "[[workload]]\nname = \"w{number}\"\nkind = \"closed\"\ndepth = {}\nsize = \"{}B\"\nread = {read}\nat = \"{at}\"\n\
             region = \"{from:.4}%..{to:.4}%\"\n",
            process.outstanding, process.bytes
        );
    }
    fs::write(folder.join("as-simulated.toml"), text).expect("a file");
    let command = Command::new(env!("CARGO_BIN_EXE_halfturn"))
        .args(["simulate", "as-simulated.toml", "--format", "json"])
        .current_dir(folder)
        .output()
        .expect("it runs");
    assert!(command.status.success(), "{}", String::from_utf8_lossy(&command.stderr));
    let results: Value = serde_json::from_slice(&command.stdout).expect("results");
    let of = |at: String| results["runs"][0].pointer(&at).and_then(Value::as_f64).expect("a figure");
    let found = |number| Found {
        per_second: of(format!("/classes/w{number}/requests")) / of("/simulated_seconds".into()),
        mean_ms: of(format!("/classes/w{number}/response_ms/mean")),
        p99_ms: of(format!("/classes/w{number}/response_ms/p99")),
    };
    (0..load.len()).map(found).collect()
}

/// Time between the ends of two requests, ms.
fn pace(found: &[Found]) -> f64 {
    1e3 / found.iter().map(|found| found.per_second).sum::<f64>()
}

/// What must be added to each command of a load without a scheduler, ms, for it to go at the pace that was found.
fn overhead(folder: &Path, load: &[&Process], found: &[Found]) -> f64 {
    let mut overhead = 0.0;
    for _ in 0..4 {
        overhead += pace(found) - pace(&simulate(folder, "fcfs", load, overhead));
        overhead = f64::max(overhead, 0.0);
    }
    overhead
}

#[test]
#[ignore = "fifteen minutes"]
fn linux_schedulers_do_as_they_are_simulated() {
    let Some((parts, folder)) = prepare() else { return };
    hurry();
    let path = &folder.0;
    let mut asked = ask_machine(path, &parts).into_iter();
    let mut far = 0;
    for (name, load) in LOADS {
        let overhead = overhead(path, &random_reads(load), &asked.next().expect("it was asked"));
        println!("{name}: a request takes {overhead:.2} ms more than the drive");
        for (scheduler, mean, p99) in WITHIN {
            let simulated = simulate(path, scheduler, &load.iter().collect::<Vec<_>>(), overhead);
            let found = asked.next().expect("it was asked");
            assert_eq!(found.len(), simulated.len(), "{scheduler}, {name}: a process failed");
            for (number, (real, ours)) in found.iter().zip(&simulated).enumerate() {
                let off = [(ours.mean_ms / real.mean_ms - 1.0, mean), (ours.p99_ms / real.p99_ms - 1.0, p99)];
                let is_far = off.iter().any(|(off, within)| off.abs() > *within);
                far += u32::from(is_far);
                println!(
                    "{scheduler}, {name}, {number}: mean {:.2} ms, the kernel's {:.2} ({:+.1} %); p99 {:.1}, {:.1} ({:+.1} %){}",
                    ours.mean_ms,
                    real.mean_ms,
                    off[0].0 * 100.0,
                    ours.p99_ms,
                    real.p99_ms,
                    off[1].0 * 100.0,
                    if is_far { "  FAR" } else { "" }
                );
            }
        }
    }
    assert_eq!(far, 0, "of 26 processes so many were far");
}
