//! Arrays that are served: what clients write they read again, whatever becomes of as many disks as may be lost.

use crate::clients::{ask_at_random, request};
use crate::service::Running;
use live::{EngineMessage, FaultSetting};
use nbd::RequestType;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Bytes of a disk, and of what each of two clients has of the volume.
const DISK: u64 = 1 << 20;
const PART: u64 = 600_000;

/// A folder with files for disks, which goes with them.
struct Disks {
    folder: PathBuf,
    count: u64,
}

impl Disks {
    fn new(count: u64) -> Disks {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("halfturn-disks-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder");
        for disk in 0..count {
            std::fs::File::create(folder.join(format!("{disk}"))).and_then(|file| file.set_len(DISK)).expect("a file");
        }
        Disks { folder, count }
    }

    /// A service file of them; the first lines of its array, and more lines.
    fn text(&self, array: &str, more: &str) -> String {
        let disks = (0..self.count).map(|disk| format!("[[disk]]\npath = \"{}/{disk}\"\n", self.folder.display()));
        let disks: String = disks.collect();
        format!(
            "{disks}[array]\n{array}\n[serve]\nfaults = true\ntimeout = \"2s\"\n[scheduler]\npolicy = \"look\"\n{more}\n\
             [[volume]]\nname = \"a\"\n"
        )
    }
}

impl Drop for Disks {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Something is wrong with a disk from now on.
fn fault(service: &Running, disk: u64, fault: &str) {
    let told = json!({ "disk": disk, "fault": fault });
    let setting = FaultSetting::parse(&told).expect("a fault");
    let answer = service.caller().ask(|asker| EngineMessage::Fault(setting, asker), Duration::from_secs(20));
    assert_eq!(answer, Some(Ok(())));
}

/// Reads what a part of the volume holds.
fn holds(service: &Running, from: u64) -> Vec<u8> {
    let mut remote = service.connect("a");
    remote.patience(Some(Duration::from_secs(60))).expect("a limit");
    remote.send(request(RequestType::Read, 1, from, PART as u32), &[]).expect("sent");
    remote.answer().expect("an answer").1.expect("it is read")
}

/// Two clients ask at random while disks fail in these ways at random instants; then all is read again, and once more with what
/// may still be lost gone.
fn keeps_all(text: &str, scale: f64, fails: &[(u64, &str)], then: &[u64], seed: u64) {
    println!("seed {seed}: {fails:?}, then {then:?}");
    let service = Running::new(text, scale);
    let kept = std::thread::scope(|scope| {
        let (service, mut draw) = (&service, Pcg64Mcg::seed_from_u64(seed));
        let clients: Vec<_> = [0, PART + 1]
            .into_iter()
            .map(|from| scope.spawn(move || ask_at_random(service, "a", (from, PART), seed + from, 60)))
            .collect();
        for (disk, how) in fails {
            std::thread::sleep(Duration::from_millis(draw.next_u64() % 60));
            fault(service, *disk, how);
        }
        clients.into_iter().map(|client| client.join().expect("it did not panic")).collect::<Vec<_>>()
    });
    let all_there = |when: &str| {
        for (from, kept) in [0, PART + 1].into_iter().zip(&kept) {
            assert!(holds(&service, from) == *kept, "seed {seed}: {when}, from {from} on something else is read");
        }
    };
    all_there("with what failed");
    for disk in then {
        fault(&service, *disk, "error");
    }
    all_there("with as many lost as may be");
    let ended = service.stop();
    assert_eq!(ended.reports[0].counts.failed, 0, "seed {seed}");
}

const SHORT: &str = "io = \"semi-preemptible\"\npreemption = \"priority\"\nplan = { chunk = \"16KiB\" }";

#[test]
fn of_every_level_each_reads_what_it_wrote() {
    for (array, disks) in [
        ("level = \"0\"\nstripe = \"16KiB\"", 3),
        ("level = \"0/1\"\nstripe = \"16KiB\"", 4),
        ("level = \"5\"\nstripe = \"16KiB\"", 4),
        ("level = \"6\"\nstripe = \"4KiB\"", 5),
    ] {
        for more in ["", SHORT] {
            let files = Disks::new(disks);
            keeps_all(&files.text(array, more), 1.0, &[], &[], 1);
        }
    }
}

/// Disks that fail, that tear what they write, and that hang: the array goes on without them.
#[test]
fn with_as_many_disks_lost_as_may_be_nothing_is() {
    let mirrored = ("level = \"0/1\"\nstripe = \"16KiB\"", 4);
    let parity = ("level = \"5\"\nstripe = \"16KiB\"", 4);
    let double = ("level = \"6\"\nstripe = \"4KiB\"", 5);
    let scenes: [((&str, u64), &[(u64, &str)], &[u64]); 7] = [
        (mirrored, &[(1, "error")], &[0]),
        (mirrored, &[(2, "torn"), (1, "stall")], &[]),
        (parity, &[], &[2]),
        (parity, &[(3, "error")], &[]),
        (parity, &[(0, "stall")], &[]),
        (double, &[(4, "torn"), (1, "error")], &[]),
        (double, &[(2, "stall")], &[0]),
    ];
    for (seed, ((array, disks), fails, then)) in (1..).zip(scenes) {
        for more in ["", SHORT] {
            let files = Disks::new(disks);
            keeps_all(&files.text(array, more), 1.0, fails, then, seed);
        }
    }
}
