//! Seeks on a disk of a virtual machine, under which there is an emulated drive: what becomes of SEEK(10), and of the parts of seeks that
//! are reads of one block.

use super::{BootedGuest, KillableServer, archive, link_programs, make_program, prepare};
use std::fs;
use std::path::{Path, PathBuf};

/// What the machine does. Each step that is done is a line.
const INIT: &str = r#"
mount -t tmpfs -o size=64m tmp /tmp
cd /tmp
# The firmware has left a line begun.
echo
seeker /dev/sda
insmod /debug/scsi_debug.ko dev_size_mb=16 ndelay=5000000 2>/dev/null && until [ -b /dev/sdb ]; do usleep 50000; done && seeker /dev/sdb
cat > file.toml <<END
[drive]
model = "st318437lw"
path = "/dev/sda"
[scheduler]
policy = "fcfs"
io = "semi-preemptible"
preemption = "priority"
plan = { split = "always", split_beyond = 0.2 }
END
cat > asked.toml <<END
[[workload]]
name = "random"
kind = "closed"
depth = 1
size = "4KiB"
[[workload]]
name = "reader"
kind = "open"
rate = "4/s"
size = "4KiB"
priority = 1
[run]
duration = "20s"
warmup = "2s"
END
for by in nothing read; do
    sed "s/^path/seek_by = \"$by\"\npath/" file.toml | cat - asked.toml > bench.toml
    halfturn bench bench.toml --format json 2>log >out || { cat log; exit; }
    figure() { tr -d ' \n' < out | grep -oE "\"$1\":[0-9.]+" | head -1 | cut -d: -f2; }
    failed=$(tr -d ' \n' < out | grep -oE '"failed":[1-9]' | wc -l)
    echo "BENCH $by $(figure sub_seeks) $(figure expected_wait_ms) $failed"
done
# Without `seek_by` a disk that turns is read for a seek.
cat file.toml - > serve.toml <<END
[serve]
socket = "/tmp/nbd"
[[volume]]
name = "low"
size = "16GiB"
ublk = 0
[[volume]]
name = "high"
priority = 1
END
halfturn serve serve.toml 2>log >report &
server=$!
until grep -q 'is /dev/ublkb' log; do kill -0 $server || { cat log; exit; }; usleep 50000; done
same=0
for place in 0 3900000 11 3600000 1900000 7 4000000 2000000 5 3800000; do
    dd if=/dev/sda bs=4k skip=$place count=2 iflag=direct 2>/dev/null >true
    dd if=/dev/ublkb0 bs=4k skip=$place count=2 iflag=direct 2>/dev/null | cmp - true && same=$((same + 1))
done
kill $server
wait $server && echo "SAME $same"
echo DONE
"#;

/// The words of a line that begins like this, as numbers.
fn numbers(said: &[String], begin: &str) -> Vec<Vec<f64>> {
    let lines = said.iter().filter_map(|line| line.strip_prefix(begin));
    lines.map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect()).collect()
}

#[test]
#[ignore = "two minutes"]
fn parts_of_seeks_are_made_on_a_disk_by_reads_and_not_by_a_command() {
    let Some((parts, folder)) = prepare() else { return };
    let path = &folder.0;
    let mut files = link_programs(path, None);
    files.insert("bin/seeker".into(), make_program(path, "seeker"));
    let debug = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guest/debug/scsi_debug.ko");
    files.extend(debug.exists().then(|| ("debug/scsi_debug.ko".to_owned(), PathBuf::from(&debug))));
    let files: Vec<(&str, &Path)> = files.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    fs::write(path.join("initrd"), archive(&parts, INIT, &files)).expect("an archive");
    let served = "[drive]\npath = \"emulated:st318437lw\"\ncontents = \"pattern\"\n[scheduler]\npolicy = \"fcfs\"\n\
                  [serve]\nsocket = \"nbd\"\n[[volume]]\nname = \"machine\"\n";
    fs::write(path.join("vm.toml"), served).expect("a file");
    let _service = KillableServer::start(path);
    let disk = "driver=nbd,node-name=disk,server.type=unix,server.path=nbd,export=machine,cache.direct=on";
    let bus = "virtio-scsi-pci,id=bus,num_queues=1";
    let disks = ["-blockdev", disk, "-device", bus, "-device", "scsi-hd,drive=disk,bus=bus.0,rotation_rate=7200"];
    let said = BootedGuest::boot(path, &parts[0], 512, &disks).until("DONE");
    println!("{said:#?}");
    let seeks = numbers(&said, "SEEKS ");
    // QEMU takes the command, and no arm moves for it; `scsi_debug` does not take it. Either is why it is not used.
    assert!(seeks[0][0] == 0.0 || seeks[0][1] < 0.5 * seeks[0][2], "{seeks:?}");
    let benched = numbers(&said, "BENCH ");
    let [nothing, read] = &benched[..] else { panic!("two ways: {said:#?}") };
    assert_eq!((nothing[0], nothing[2], read[2]), (0.0, 0.0, 0.0), "no parts, and nothing failed");
    assert!(read[0] > 50.0, "{} parts", read[0]);
    assert_eq!(numbers(&said, "SAME "), [[10.0]]);
}
