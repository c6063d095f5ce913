//! An array that is served, beside the kernel's own (md) of the same four disks in memory (brd), in a virtual machine: requests a second,
//! and what each costs the machine's processors. Both are block devices there, ours by ublk; the same program asks both.
//!
//! The machine is emulated, so that figures tell of the two beside one another, and of nothing else. One disk alone is asked, too: what a
//! request costs there, the program that asks has a part in.

use super::{BootedGuest, archive, link_programs, make_asker, prepare};
use crate::tool::skip;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// MiB of each disk.
const DISK: u64 = 96;
/// MiB of an array of two columns that are asked for, and MiB behind these that nobody asks for.
const ASKED: u64 = 144;
const KEPT: u64 = 4;
/// Seconds of each load.
const SECONDS: u32 = 6;

/// A load: what users call it, and what is asked of the device, but for where it ends.
const LOADS: [(&str, char, u32, u32, char); 4] = [
    ("4 KiB random reads, 32 at once", 'r', 4096, 32, 'r'),
    ("4 KiB random writes, 32 at once", 'w', 4096, 32, 'r'),
    ("1 MiB sequential reads, 4 at once", 'r', 1 << 20, 4, 's'),
    ("1 MiB sequential writes, 4 at once", 'w', 1 << 20, 4, 's'),
];

/// A level, as a service file and as `mdadm` has it.
const LEVELS: [(&str, &str); 3] = [("0/1", "10"), ("5", "5"), ("6", "6")];

/// What the machine begins with: four disks, and how one array is tried. What is written there first is asked for by all loads, and
/// written by them again; behind it lies what is written in small pieces. At the end one disk is missing, and all is there.
const BEGIN: &str = r#"
mount -t tmpfs -o size=64m tmp /tmp
cd /tmp
# The firmware has left a line begun.
echo
make_disks() {
    rmmod brd
    insmod /modules/*-brd.ko rd_nr=4 rd_size=$((DISK * 1024))
}
sevens() {
    tr '\0' '\007' < /dev/zero 2>/dev/null | dd bs=1M count=ASKED iflag=fullblock $* 2>/dev/null
}
dd if=/dev/urandom of=part bs=1M count=KEPT 2>/dev/null
fill() {
    echo none > /sys/block/${1#/dev/}/queue/scheduler
    sevens of=$1 oflag=direct && dd if=part of=$1 bs=4k seek=$((ASKED * 256)) oflag=direct 2>/dev/null && echo FILLED
}
check() {
    echo 3 > /proc/sys/vm/drop_caches
    { sevens; cat part; } | cmp -n $(((ASKED + KEPT) << 20)) - $1 && echo "$2"
}
serve() {
    cat > array.toml <<END
[array]
level = "$1"
stripe = "64KiB"
[scheduler]
policy = "fcfs"
[serve]
socket = "/tmp/nbd"
control = "/tmp/control"
[[volume]]
name = "array"
ublk = 0
END
    for disk in 0 1 2 3; do printf '[[disk]]\npath = "/dev/ram%s"\n' $disk >> array.toml; done
    halfturn array create array.toml > log 2>&1 || { cat log; exit; }
    halfturn serve array.toml 2> log > report &
    server=$!
    until grep -q 'is /dev/ublkb' log; do
        kill -0 $server || { cat log; exit; }
        usleep 50000
    done
}
"#;

/// What of the machine is there only for this, if it was fetched: what makes the kernel's arrays, and modules.
pub(super) fn more_parts() -> Option<(PathBuf, Vec<(String, PathBuf)>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guest/arrays");
    let files = fs::read_dir(&folder).ok()?.filter_map(|file| Some(file.ok()?.path()));
    let modules = files.filter(|path| path.extension().is_some_and(|extension| extension == "ko"));
    let named = |path: PathBuf| Some((format!("modules/{}", path.file_name()?.to_str()?), path));
    let (mdadm, modules) = (folder.join("mdadm"), modules.filter_map(named).collect::<Vec<_>>());
    (mdadm.exists() && modules.iter().any(|(name, _)| name.ends_with("-brd.ko"))).then_some((mdadm, modules))
}

/// Has all loads asked of a device.
fn ask(script: &mut String, device: &str, bytes: u64) {
    for (_, way, size, outstanding, place) in LOADS {
        let _ = writeln!(script, "asker {device} {SECONDS} {way}:0:{bytes}:{size}:{outstanding}:{place}");
    }
}

fn script() -> String {
    let begin = BEGIN.replace("DISK", &DISK.to_string()).replace("ASKED", &ASKED.to_string());
    let mut script = begin.replace("KEPT", &KEPT.to_string());
    script.push_str("make_disks; tr '\\0' '\\007' < /dev/zero 2>/dev/null | dd of=/dev/ram0 bs=1M 2>/dev/null\n");
    script.push_str("echo TRIED one disk\n");
    ask(&mut script, "/dev/ram0", (DISK - 1) << 20);
    for (level, theirs) in LEVELS {
        let _ = writeln!(
            script,
            "make_disks; mdadm --create /dev/md0 --run --assume-clean --metadata=1.2 --bitmap=none --level={theirs} --chunk=64 \
             --raid-devices=4 /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 > log 2>&1 || cat log\n\
             fill /dev/md0; echo TRIED md {level}"
        );
        ask(&mut script, "/dev/md0", ASKED << 20);
        script.push_str("mdadm /dev/md0 --fail /dev/ram1 > log 2>&1 || cat log; check /dev/md0 INTACT\n");
        script.push_str("mdadm --stop /dev/md0 > log 2>&1 || cat log\n");
        let _ = writeln!(script, "make_disks; serve {level}; fill /dev/ublkb0; echo TRIED ours {level}");
        ask(&mut script, "/dev/ublkb0", ASKED << 20);
        script.push_str(
            "halfturn array fail 1 --control control > report 2>&1 || cat report\ncheck /dev/ublkb0 INTACT\n",
        );
        script.push_str("kill $server; wait $server && echo ENDED\n");
    }
    script + "echo DONE\n"
}

/// Of each device that was tried, in the order of loads: requests a second, and microseconds of the machine's processors for each.
fn read_found(said: &[String]) -> BTreeMap<&str, Vec<(f64, f64)>> {
    let (mut found, mut tried, mut ended) = (BTreeMap::<&str, Vec<(f64, f64)>>::new(), "", 0.0);
    for line in said {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok()).unwrap_or(f64::NAN);
        match words[0] {
            "TRIED" => tried = &line["TRIED ".len()..],
            "CLASS" => ended = number(2),
            "BUSY" => found.entry(tried).or_default().push((ended / f64::from(SECONDS), number(1) * 1e3 / ended)),
            _ => {}
        }
    }
    found
}

fn print_table(found: &BTreeMap<&str, Vec<(f64, f64)>>) {
    println!("| level | load | one disk | md | Halfturn | one disk, CPU | md, CPU | Halfturn, CPU |");
    println!("|---|---|--:|--:|--:|--:|--:|--:|");
    for (level, _) in LEVELS {
        let [md, ours] = ["md", "ours"].map(|who| &found[format!("{who} {level}").as_str()]);
        for (number, (name, _, bytes, ..)) in LOADS.into_iter().enumerate() {
            let all = [&found["one disk"], md, ours].map(|of| of[number]);
            let pace = |(per_second, _): (f64, f64)| match bytes {
                4096 => format!("{per_second:.0}/s"),
                _ => format!("{:.0} MB/s", per_second * f64::from(bytes) / 1e6),
            };
            let [paces, costs] = [all.map(pace), all.map(|(_, cost)| format!("{cost:.0} µs"))];
            println!("| {level} | {name} | {} | {} |", paces.join(" | "), costs.join(" | "));
        }
    }
}

#[test]
#[ignore = "nine minutes"]
fn an_array_is_served_beside_the_kernel_s_own() {
    let Some((parts, folder)) = prepare() else { return };
    let Some((mdadm, more)) = more_parts() else {
        return skip("the machine's kernel was fetched without its arrays: .ci/guest");
    };
    let path = &folder.0;
    let mut others = link_programs(path, Some(&mdadm));
    others.extend(more);
    others.insert("bin/asker".into(), make_asker(path));
    let others: Vec<(&str, &Path)> = others.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    fs::write(path.join("initrd"), archive(&parts, &script(), &others)).expect("an archive");
    let guest = BootedGuest::boot(path, &parts[0], 1024, &[]);
    let said = guest.until("DONE");
    let found = read_found(&said);
    let count = |wanted: &str| said.iter().filter(|line| *line == wanted).count();
    let [levels, tried] = [LEVELS.len(), 2 * LEVELS.len()];
    assert_eq!(["FILLED", "INTACT", "ENDED"].map(count), [tried, tried, levels], "{said:#?}");
    assert_eq!(found.len(), 1 + tried, "{said:#?}");
    assert!(found.values().all(|found| found.len() == LOADS.len()), "{said:#?}");
    assert!(found.values().flatten().all(|(per_second, cost)| *per_second > 0.0 && *cost > 0.0), "{said:#?}");
    if cfg!(debug_assertions) {
        println!("of a build that is not optimised: --release");
    }
    print_table(&found);
}
