//! A service beside nbdkit: the same file and the same memory, asked by fio in turn. Each server has a processor of its own, and the
//! client another. `cargo test --release -p halfturn --test clients -- --ignored beside_nbdkit --nocapture` prints the table.

use crate::server::{Folder, patient};
use crate::tool::{have, run};
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const ROUNDS: usize = 5;
const MIB: usize = 256;
/// Ticks of a processor's time in a second, as the kernel tells it.
const TICKS: f64 = 100.0;

/// The loads by which fio tries each server, and what they are called.
const JOBS: [(&str, &[&str]); 5] = [
    ("4 KiB reads, one at a time", &["--rw=randread", "--bs=4k", "--iodepth=1"]),
    ("4 KiB reads, 32 at once", &["--rw=randread", "--bs=4k", "--iodepth=32"]),
    ("4 KiB writes, 32 at once", &["--rw=randwrite", "--bs=4k", "--iodepth=32"]),
    ("64 KiB reads, 8 at once", &["--rw=randread", "--bs=64k", "--iodepth=8"]),
    ("1 MiB reads, 4 at once", &["--rw=randread", "--bs=1m", "--iodepth=4"]),
];

/// A server that runs until it goes.
struct OtherServer(Child);

impl Drop for OtherServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Microseconds of a processor that a process has had.
fn processor_time(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let fields: Vec<&str> = stat[stat.rfind(')').expect("a name") + 2..].split(' ').collect();
    [11, 12].map(|at| fields[at].parse::<f64>().expect("ticks")).iter().sum::<f64>() / TICKS * 1e6
}

/// Has a server asked so: requests a second, and microseconds of its processor each.
fn measure(folder: &Path, command: &[&str], job: &[&str]) -> (f64, f64) {
    let socket = folder.join("socket");
    let _ = std::fs::remove_file(&socket);
    let mut server = Command::new("taskset");
    server.args(["-c", "0"]).args(command).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
    let server = OtherServer(server.spawn().expect("it starts"));
    patient(&format!("{command:?} does not listen"), || socket.exists());
    let uri = format!("--uri=nbd+unix:///?socket={}", socket.display());
    let size = format!("--size={MIB}m");
    let usual = ["-c", "1", "fio", "--name=job", "--ioengine=nbd", &uri, &size, "--time_based", "--runtime=1.5"];
    let before = processor_time(server.0.id());
    let said = run(folder, "taskset", &[&usual[..], &["--output-format=json"], job].concat());
    let taken = processor_time(server.0.id()) - before;
    let told: Value = serde_json::from_str(&said[said.find('{').expect("JSON")..]).expect("JSON");
    let sum = |what: &str| ["read", "write"].iter().filter_map(|way| told["jobs"][0][way][what].as_f64()).sum::<f64>();
    (sum("iops"), taken / sum("total_ios"))
}

#[test]
#[ignore = "two minutes; prints a table"]
fn a_service_beside_nbdkit() {
    if !have(&[("nbdkit", "nbdkit"), ("fio", "fio")]) {
        return;
    }
    let folder = Folder::new();
    let folder = &folder.0;
    std::fs::write(folder.join("file"), vec![7; MIB << 20]).expect("a file");
    let service = |drive: &str| format!("[drive]\n{drive}\n[serve]\nsocket = \"socket\"\n[[volume]]\nname = \"\"\n");
    std::fs::write(folder.join("file.toml"), service("path = \"file\"\ndirect = false")).expect("a file");
    std::fs::write(folder.join("memory.toml"), service(&format!("path = \"ram:{MIB}MiB\""))).expect("a file");
    let (halfturn, memory) = (env!("CARGO_BIN_EXE_halfturn"), format!("{MIB}M"));
    let pairs: [(&str, &[&str], &[&str]); 2] = [
        ("file", &[halfturn, "serve", "file.toml"], &["nbdkit", "-f", "-U", "socket", "file", "file"]),
        ("memory", &[halfturn, "serve", "memory.toml"], &["nbdkit", "-f", "-U", "socket", "memory", &memory]),
    ];
    for (what, ours, theirs) in pairs {
        for (told, job) in JOBS {
            let mut rounds: Vec<_> =
                (0..ROUNDS).map(|_| (measure(folder, ours, job), measure(folder, theirs, job))).collect();
            rounds.sort_by(|a, b| (a.0.0 / a.1.0).total_cmp(&(b.0.0 / b.1.0)));
            let ratio = |round: usize| rounds[round].0.0 / rounds[round].1.0;
            let ((rate, cost), (_, other)) = rounds[ROUNDS / 2];
            println!(
                "{what}, {told}: {rate:.0}/s, {:.2} [{:.2}, {:.2}] of nbdkit's; {cost:.1} us of a processor each, nbdkit {other:.1}",
                ratio(ROUNDS / 2),
                ratio(0),
                ratio(ROUNDS - 1)
            );
        }
    }
}
