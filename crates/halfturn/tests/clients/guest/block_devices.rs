//! Volumes as block devices (ublk), in a virtual machine: its own kernel has the driver, and the server runs inside.

use super::{BootedGuest, archive, link_programs, prepare};
use crate::tool::skip;
use std::fs;
use std::path::Path;

/// What the machine does. Each step that is done is a line.
const INIT: &str = r#"
mount -t tmpfs -o size=96m tmp /tmp
cd /tmp
truncate -s 50331648 device
cat > first.toml <<END
[drive]
path = "/tmp/device"
[scheduler]
policy = "look"
[serve]
socket = "/tmp/nbd"
control = "/tmp/control"
faults = true
[[volume]]
name = "first"
size = "32MiB"
class = "mine"
ublk = 0
[[volume]]
name = "copy"
of = "first"
ublk = 7
END
sed 's/"first"/"other"/; s/device/device2/; s/nbd"/nbd2"/; s/control"/control2"/; /faults/q' first.toml > other.toml
printf '[[volume]]\nname = "other"\nublk = 0\n' >> other.toml
truncate -s 33554432 device2
serve() {
    >log
    halfturn serve first.toml 2>log >report &
    server=$!
    until [ "$(grep -c 'is /dev/ublkb' log)" = 2 ]; do
        kill -0 $server || { cat log; exit; }
        usleep 50000
    done
}
# The firmware has left a line begun.
echo
serve
cd /sys/block/ublkb0
echo "DISK $(cat size) $(cat queue/write_cache) fua $(cat queue/fua) rotational $(cat queue/rotational) queues $(ls mq | wc -l)"
cat ../ublkb7/ro
cd /tmp
dd if=/dev/urandom of=part bs=64k count=64 2>/dev/null
for part in 0 1 2 3 4 5 6 7; do
    dd if=part of=/dev/ublkb0 bs=64k seek=$((part * 64)) oflag=direct 2>/dev/null && echo "WROTE $part"
done
for part in 0 1 2 3 4 5 6 7; do
    dd if=/dev/ublkb7 bs=64k skip=$((part * 64)) count=64 iflag=direct 2>/dev/null | cmp - part && echo "READ $part"
    dd if=device bs=64k skip=$((part * 64)) count=64 2>/dev/null | cmp - part && echo "STORED $part"
done
dd if=part of=/dev/ublkb7 bs=64k count=1 2>/dev/null || echo REFUSED
halfturn serve other.toml 2>&1 | grep -o 'of another volume'
# As many as a queue has, though nothing is answered.
echo 4 > /sys/block/ublkb0/queue/max_sectors_kb
echo none > /sys/block/ublkb0/queue/scheduler
echo 0 > /sys/block/ublkb0/queue/wbt_lat_usec
halfturn volume fault first stall --control control >/dev/null
dd if=/dev/zero of=/dev/ublkb0 bs=1M count=4 conv=fsync 2>/dev/null &
writer=$!
until [ "$(awk '{ print $2 }' /sys/block/ublkb0/inflight)" -ge 128 ]; do usleep 50000 && kill -0 $writer || exit; done
echo 'MANY IN FLIGHT'
halfturn volume fault first back --control control >/dev/null
wait $writer && echo WRITTEN
echo 1280 > /sys/block/ublkb0/queue/max_sectors_kb
dd if=/dev/ublkb0 bs=1M count=4 iflag=direct 2>/dev/null | tr -d '\0' | wc -c
halfturn volume list --control control --format json | tr -d ' \n' | grep -o '"flushes":[1-9]' | head -1
# Killed while it is written, and while all that was asked waits in it.
touch writes
( for part in 0 1 2 3 4 5 6 7; do dd if=part of=/dev/ublkb0 bs=16k seek=$((part * 256)) oflag=direct 2>/dev/null && echo "AGAIN $part"; done ) > writes &
writer=$!
until grep -q 'AGAIN 0' writes; do usleep 10000 && kill -0 $writer || exit; done
kill -9 $server
{ wait $server; } 2>/dev/null
dd if=/dev/zero of=/dev/ublkb0 bs=1M seek=31 count=1 oflag=direct 2>/dev/null &
late=$!
sleep 1
kill -0 $writer $late && echo WAIT
serve
wait $writer && wait $late && grep -c AGAIN writes
grep -c 'taken over from a service that was killed' log
for part in 0 1 2 3 4 5 6 7; do
    count=64
    [ $part = 7 ] && count=48
    dd if=/dev/ublkb0 bs=64k skip=$((part * 64)) count=$count iflag=direct 2>/dev/null >was
    dd if=part bs=64k count=$count 2>/dev/null | cmp - was && echo "KEPT $part"
done
blkdiscard -o 4194304 -l 4194304 /dev/ublkb0 && echo DISCARDED
dd if=/dev/ublkb0 bs=64k skip=64 count=64 iflag=direct 2>/dev/null | tr -d '\0' | wc -c
mke2fs /dev/ublkb0 >/dev/null && mount -t ext4 /dev/ublkb0 /mnt && cp part /mnt/file && umount /mnt && echo MADE
mount -t ext4 /dev/ublkb0 /mnt && cmp /mnt/file part && umount /mnt && echo MOUNTED
kill $server
wait $server && echo ENDED
ls /dev | grep -c ublkb
serve
dd if=/dev/ublkb0 bs=1M count=32 2>/dev/null | cmp - device -n 33554432 && echo SAME
mount -t ext4 /dev/ublkb0 /mnt && cmp /mnt/file part && umount /mnt && echo MOUNTED
kill $server
wait $server && echo ENDED
ls /dev | grep -c ublkb
echo DONE
"#;

/// What it says of that, in this order.
fn expected() -> Vec<String> {
    let parts = |what: &'static str| (0..8).map(move |part| format!("{what} {part}"));
    let stored = (0..8).flat_map(|part| [format!("READ {part}"), format!("STORED {part}")]);
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let begin = lines(&["DISK 65536 write back fua 1 rotational 0 queues 2", "1"]);
    let after =
        lines(&["REFUSED", "of another volume", "MANY IN FLIGHT", "WRITTEN", "0", "\"flushes\":1", "WAIT", "8", "2"]);
    let end = ["DISCARDED", "0", "MADE", "MOUNTED", "ENDED", "0", "SAME", "MOUNTED", "ENDED", "0", "DONE"];
    begin.into_iter().chain(parts("WROTE")).chain(stored).chain(after).chain(parts("KEPT")).chain(lines(&end)).collect()
}

#[test]
fn a_block_device_keeps_what_was_written_though_its_server_is_killed() {
    let Some((parts, folder)) = prepare() else { return };
    let modules = fs::read_dir(&parts[1]).expect("modules").filter_map(Result::ok);
    if !modules.map(|module| module.file_name()).any(|name| name.to_string_lossy().ends_with("ublk_drv.ko")) {
        return skip("the machine's kernel was fetched without ublk_drv: .ci/guest");
    }
    let path = &folder.0;
    let server = link_programs(path, None);
    let others: Vec<(&str, &Path)> = server.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    fs::write(path.join("initrd"), archive(&parts, INIT, &others)).expect("an archive");
    let guest = BootedGuest::boot(path, &parts[0], 256, &[]);
    let said = guest.until("DONE");
    let wanted = expected();
    // The kernel has its say, too.
    let steps: Vec<&String> = said.iter().filter(|line| wanted.contains(line)).collect();
    assert_eq!(steps, wanted.iter().collect::<Vec<_>>(), "{said:#?}");
}
