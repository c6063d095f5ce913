//! A rebuild beside a reader, as the kernel's RAID 5 (md) does it and as ours does: eight emulated drives each, of the same kind, in real
//! time. A virtual machine has md's drives as disks of its own, and our array as one. The same program reads 20 blocks a second of either,
//! while the rebuild is capped at five paces; what it waits where a disk is only lacking is the measure.
//!
//! Each reading has a seed of its own, since a drive may still hold what was read before; md and ours have the same ones. The machine is emulated, and adds to each request; it does so to both.

use super::{BootedGuest, KillableServer, archive, link_programs, make_program, prepare};
use crate::served_array::{ArrayPlan, DEEP_REBUILD, INTERRUPTED_REBUILD, ServedArray, write_small_drive};
use crate::tool::skip;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Seconds of each reading, and how long a rebuild goes on before.
const SECONDS: u32 = 15;
const BEFORE: u32 = 3;
const CYLINDERS: u32 = 1600;
/// MB/s that are written to the disk that took a place, at most.
const CAPS: [f64; 5] = [0.5, 1.0, 2.0, 4.0, 8.0];
/// Bytes of a request of ours, of which a seventh is of each disk.
const REQUEST: f64 = 524_288.0;
const LOST: u16 = 3;

const BEGIN: &str = r#"
mount -t tmpfs -o size=64m tmp /tmp
cd /tmp
# The firmware has left a line begun.
echo
for disk in a b c d e f g h i; do echo none > /sys/block/vd$disk/queue/scheduler; done
disks="/dev/vda /dev/vdb /dev/vdc /dev/vdd /dev/vde /dev/vdf /dev/vdg /dev/vdh"
mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --bitmap=none --level=5 --chunk=64 --raid-devices=8 $disks > log 2>&1 || cat log
echo 1 > /sys/block/md0/md/sync_speed_min
done_kib() { sed -n 's/.*(\([0-9]*\)\/[0-9]*).*/\1/p' /proc/mdstat | tail -1; }
# A rebuild that is under way ends first.
insist() { until $* > log 2>&1; do cat log; sleep 1; done; }
leave() { mdadm /dev/md0 --fail /dev/vdd > log 2>&1 || cat log; insist mdadm /dev/md0 --remove /dev/vdd; }
"#;

/// How a point was found: what the rebuild wrote a second, and what the reader waited, mean and 99th percentile.
struct PacedPoint {
    mb_s: f64,
    waits: [f64; 2],
}

fn script() -> String {
    let mut script = String::from(BEGIN);
    let _ = writeln!(script, "leave; sleep 1; echo MISSING md; reader /dev/md0 {SECONDS} 20 1");
    for (number, cap) in CAPS.iter().enumerate() {
        let kib = (cap * 1e6 / 1024.0) as u32;
        let _ = writeln!(
            script,
            "echo {kib} > /sys/block/md0/md/sync_speed_max; mdadm --zero-superblock /dev/vdd > log 2>&1 || cat log\n\
             insist mdadm /dev/md0 --add /dev/vdd; sleep {BEFORE}\n\
             from=$(done_kib); began=$(cut -d' ' -f1 /proc/uptime); reader /dev/md0 {SECONDS} 20 1{number}\n\
             echo PACE {number} $from $(done_kib) $began $(cut -d' ' -f1 /proc/uptime); leave"
        );
    }
    script.push_str("mdadm --stop /dev/md0 > log 2>&1 || cat log\n");
    let _ = writeln!(script, "echo BEGIN missing; sleep {BEFORE}; reader /dev/vdi {SECONDS} 20 1; echo END");
    for number in 0..CAPS.len() {
        let _ =
            writeln!(script, "echo BEGIN {number}; sleep {BEFORE}; reader /dev/vdi {SECONDS} 20 1{number}; echo END");
    }
    script + "echo DONE\n"
}

fn read_waits(line: &str) -> [f64; 2] {
    let words: Vec<f64> = line.split(' ').skip(2).map(|word| word.parse().unwrap_or(f64::NAN)).collect();
    [words[0], words[1]]
}

/// The kernel's array, at each cap.
fn measure_md(guest: &BootedGuest) -> (Vec<PacedPoint>, [f64; 2]) {
    guest.until("MISSING md");
    let missing = read_waits(&guest.begins("READER"));
    let mut points = Vec::new();
    for _ in CAPS {
        let waits = read_waits(&guest.begins("READER"));
        let line = guest.begins("PACE");
        let numbers: Vec<f64> = line.split(' ').skip(1).map(|word| word.parse().unwrap_or(f64::NAN)).collect();
        // A rebuild that is not under way is no point.
        let mb_s = match numbers[..] {
            [_, from, to, began, ended] => (to - from) * 1024.0 / 1e6 / (ended - began),
            _ => f64::NAN,
        };
        points.push(PacedPoint { mb_s, waits });
    }
    (points, missing)
}

/// Ours, at each cap.
fn measure_ours(guest: &BootedGuest, array: &mut ServedArray) -> (Vec<PacedPoint>, [f64; 2]) {
    guest.until("BEGIN missing");
    array.ask(&json!({ "verb": "array", "fail": LOST }));
    let missing = read_waits(&guest.begins("READER"));
    let bytes = array.status()["bytes"].as_f64().expect("a number") / 7.0;
    let mut points = Vec::new();
    for (number, cap) in CAPS.iter().enumerate() {
        guest.until(&format!("BEGIN {number}"));
        if number > 0 {
            array.ask(&json!({ "verb": "array", "fail": LOST }));
            std::thread::sleep(Duration::from_millis(300));
        }
        array.ask(&json!({ "verb": "array", "rate": cap * 1e6 / (REQUEST / 7.0) }));
        array.replace(LOST);
        std::thread::sleep(Duration::from_secs(1));
        let done = |array: &ServedArray| array.status()["rebuild"]["done"].as_f64().unwrap_or(1.0);
        let (from, began) = (done(array), Instant::now());
        let waits = read_waits(&guest.begins("READER"));
        points.push(PacedPoint { mb_s: (done(array) - from) * bytes / 1e6 / began.elapsed().as_secs_f64(), waits });
    }
    (points, missing)
}

fn tell(who: &str, points: &[PacedPoint], missing: [f64; 2]) {
    println!("{who}, a disk lacking: {:.2} and {:.1} ms", missing[0], missing[1]);
    for (cap, PacedPoint { mb_s, waits: [mean, p99] }) in CAPS.iter().zip(points) {
        let more = [mean - missing[0], p99 - missing[1]];
        println!("{who}, cap {cap}: {mb_s:.2} MB/s, {mean:.2} and {p99:.1} ms; {:.2} and {:.1} more", more[0], more[1]);
    }
}

/// Eight drives, each a volume of its own.
fn serve_drives(folder: &Path) -> KillableServer {
    write_small_drive(&folder.join("drive.toml"), CYLINDERS);
    let devices = (0..8).fold(String::new(), |mut text, disk| {
        let _ = write!(
            text,
            "[[device]]\nname = \"d{disk}\"\npath = \"emulated:drive.toml\"\ncontents = \"sparse\"\nfile = \"c{disk}\"\n\
             [[volume]]\nname = \"v{disk}\"\ndevice = \"d{disk}\"\nvhost_user = \"v{disk}.sock\"\n"
        );
        text
    });
    let text = format!("{devices}[scheduler]\npolicy = \"fcfs\"\n[serve]\nsocket = \"nbd\"\n");
    fs::write(folder.join("vm.toml"), text).expect("a file");
    KillableServer::start(folder)
}

#[test]
#[ignore = "six minutes, on a quiet machine; prints a table"]
fn a_rebuild_beside_a_reader_is_held_beside_the_kernel_s_own() {
    let Some((parts, folder)) = prepare() else { return };
    let Some((mdadm, more)) = super::arrays::more_parts() else {
        return skip("the machine's kernel was fetched without its arrays: .ci/guest");
    };
    let path = &folder.0;
    let mut array = ServedArray::new(ArrayPlan {
        array: "level = \"5\"\nstripe = \"64KiB\"".into(),
        scheduler: INTERRUPTED_REBUILD,
        serve: "",
        tables: format!("vhost_user = \"array.sock\"\n{DEEP_REBUILD}"),
        cylinders: CYLINDERS,
        time_scale: 1.0,
    });
    array.fill();
    let _drives = serve_drives(path);
    let mut others: BTreeMap<String, std::path::PathBuf> = link_programs(path, Some(&mdadm));
    others.retain(|name, _| name != "bin/halfturn");
    others.extend(more);
    others.insert("bin/reader".into(), make_program(path, "reader"));
    let others: Vec<(&str, &Path)> = others.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    fs::write(path.join("initrd"), archive(&parts, &script(), &others)).expect("an archive");
    let sockets = (0..8).map(|disk| path.join(format!("v{disk}.sock"))).chain([array.path().join("array.sock")]);
    let disks: Vec<String> = sockets
        .enumerate()
        .flat_map(|(number, socket)| {
            let chardev = format!("socket,id=c{number},path={}", socket.display());
            let device = format!("vhost-user-blk-pci,chardev=c{number},num-queues=1");
            ["-chardev".to_owned(), chardev, "-device".to_owned(), device]
        })
        .collect();
    let disks: Vec<&str> = disks.iter().map(String::as_str).collect();
    let guest = BootedGuest::boot(path, &parts[0], 512, &disks);
    let (md, missing_md) = measure_md(&guest);
    tell("md", &md, missing_md);
    let (ours, missing_ours) = measure_ours(&guest, &mut array);
    guest.until("DONE");
    tell("Halfturn", &ours, missing_ours);
}
