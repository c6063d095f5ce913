//! A virtual machine with a volume as its disk: QEMU without any help of the processor, Debian's kernel, and a shell. `.ci/guest`
//! fetches the kernel; `qemu-system-x86` and `busybox-static` are Debian's.

mod arrays;
mod beside;
mod block_devices;
mod rebuilding;
mod schedulers;
mod seeking;

use crate::server::{Folder, patient};
use crate::tool::{run, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// How long the machine may say nothing.
const PATIENCE: Duration = Duration::from_secs(120);

/// What every machine does first.
const BEGIN: &str = r#"#!/bin/busybox sh
export PATH=/bin
busybox mkdir -p /proc /sys /dev /tmp /mnt
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t devtmpfs dev /dev
busybox --install -s /bin
for module in /modules/*; do insmod $module || exit; done
"#;

/// What the machine does whose server is killed. Each step that is done is a line.
const INIT: &str = r#"
cd /sys/block/vda
# The firmware has left a line begun.
echo
echo "DISK $(cat serial) $(cat size) $(cat queue/write_cache) $(ls mq | wc -l)"
dd if=/dev/urandom of=/tmp/part bs=64k count=64 2>/dev/null
for part in 0 1 2 3 4 5 6 7; do
    dd if=/tmp/part of=/dev/vda bs=64k seek=$((part * 64)) oflag=direct 2>/dev/null && echo "WROTE $part"
done
for part in 0 1 2 3 4 5 6 7; do
    dd if=/dev/vda bs=64k skip=$((part * 64)) count=64 iflag=direct 2>/dev/null | cmp - /tmp/part && echo "READ $part"
done
blkdiscard -o 4194304 -l 4194304 /dev/vda && echo DISCARDED
dd if=/dev/vda bs=64k skip=64 count=64 iflag=direct 2>/dev/null | tr -d '\0' | wc -c
mke2fs /dev/vda >/dev/null && mount -t ext4 /dev/vda /mnt && cp /tmp/part /mnt/file && umount /mnt && echo MADE
mount -t ext4 /dev/vda /mnt && cmp /mnt/file /tmp/part && umount /mnt && echo KEPT
echo DONE
"#;

/// What is booted, if it is there.
fn parts() -> Option<[PathBuf; 3]> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guest");
    let parts = [root.join("vmlinuz"), root.join("modules"), PathBuf::from("/usr/bin/busybox")];
    let qemu = Command::new("qemu-system-x86_64").arg("--version").stdout(Stdio::null()).status();
    let there = qemu.is_ok_and(|status| status.success()) && parts.iter().all(|part| part.exists());
    there.then_some(parts)
}

/// A file of a `cpio` archive (newc), as the kernel unpacks it.
fn pack(archive: &mut Vec<u8>, name: &str, mode: u32, bytes: &[u8]) {
    let fields = [0, mode, 0, 0, 1, 0, bytes.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
    archive.extend(b"070701");
    fields.iter().for_each(|field| archive.extend(format!("{field:08X}").bytes()));
    archive.extend(name.bytes().chain([0]));
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend(bytes);
    archive.resize(archive.len().next_multiple_of(4), 0);
}

/// What is booted, and a folder that QEMU may share; nothing, which is said, where there is no machine.
fn prepare() -> Option<([PathBuf; 3], Folder)> {
    let Some(parts) = parts() else {
        skip("a machine is not there: .ci/guest, and apt-get install qemu-system-x86 busybox-static");
        return None;
    };
    let folder = Folder::new();
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).expect("a folder of ours");
    Some((parts, folder))
}

/// What the machine begins with: a script, and other files by name.
fn archive([_, modules, shell]: &[PathBuf; 3], init: &str, others: &[(&str, &Path)]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut folders = BTreeSet::from(["bin", "dev", "modules"].map(Path::new));
    folders.extend(others.iter().flat_map(|(name, _)| Path::new(name).ancestors().skip(1)));
    // A folder comes before what is in it; that of all is there.
    for folder in folders.into_iter().filter_map(Path::to_str).filter(|folder| !folder.is_empty()) {
        pack(&mut archive, folder, 0o040_755, &[]);
    }
    pack(&mut archive, "init", 0o100_755, format!("{BEGIN}{init}poweroff -f\n").as_bytes());
    for (name, path) in [("bin/busybox", shell.as_path())].iter().chain(others) {
        pack(&mut archive, name, 0o100_755, &fs::read(path).expect("a program"));
    }
    for module in fs::read_dir(modules).expect("modules") {
        let module = module.expect("a module");
        let name = format!("modules/{}", module.file_name().to_string_lossy());
        pack(&mut archive, &name, 0o100_644, &fs::read(module.path()).expect("a module"));
    }
    pack(&mut archive, "TRAILER!!!", 0, &[]);
    archive
}

/// Our program without what tells of its lines, another as it is, and what they are linked with: where each lies in the machine, and here.
fn link_programs(folder: &Path, others: Option<&Path>) -> BTreeMap<String, PathBuf> {
    let ours = Path::new(env!("CARGO_BIN_EXE_halfturn"));
    let small = folder.join("halfturn");
    run(folder, "strip", &["-o", &small.display().to_string(), &ours.display().to_string()]);
    let mut all = BTreeMap::from([("bin/halfturn".to_owned(), small)]);
    for program in others.into_iter().chain([ours]) {
        let linked = run(folder, "ldd", &[&program.display().to_string()]);
        let libraries = linked.split_whitespace().filter(|word| word.starts_with('/'));
        all.extend(libraries.map(|path| (path.trim_start_matches('/').to_owned(), PathBuf::from(path))));
    }
    let others = others.into_iter().filter_map(|path| Some((path.file_name()?.to_str()?, path)));
    all.extend(others.map(|(name, path)| (format!("bin/{name}"), path.to_path_buf())));
    all
}

/// The program that asks a disk for blocks.
fn make_asker(folder: &Path) -> PathBuf {
    make_program(folder, "asker")
}

/// A program of ours for the machine, of the C file of this name.
fn make_program(folder: &Path, name: &str) -> PathBuf {
    let program = folder.join(name);
    let source = format!("{}/tests/clients/guest/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let made = Command::new("cc").args(["-O2", "-static", "-o"]).arg(&program).args([&source, "-lm"]).status();
    assert!(made.is_ok_and(|status| status.success()), "a C compiler makes {source}");
    program
}

/// A server that can be killed, and started anew.
struct KillableServer {
    folder: PathBuf,
    child: Child,
}

impl KillableServer {
    fn start(folder: &Path) -> KillableServer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_halfturn"));
        command.arg("serve").arg("vm.toml").current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("it starts");
        patient("it does not listen", || std::os::unix::net::UnixStream::connect(folder.join("nbd")).is_ok());
        KillableServer { folder: folder.to_path_buf(), child }
    }

    fn kill(mut self) -> PathBuf {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it is gone");
        std::mem::take(&mut self.folder)
    }
}

impl Drop for KillableServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A machine, and the lines that it says.
struct BootedGuest {
    child: Child,
    lines: Receiver<String>,
}

impl BootedGuest {
    /// Boots a machine with so many MiB of memory and these disks.
    fn boot(folder: &Path, kernel: &Path, memory: u32, disks: &[&str]) -> BootedGuest {
        let mut command = Command::new("qemu-system-x86_64");
        command.args(["-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-nographic", "-no-reboot"]);
        command.arg("-m").arg(memory.to_string());
        command.arg("-object").arg(format!("memory-backend-memfd,id=mem,size={memory}M,share=on"));
        command.args(["-nodefaults", "-serial", "stdio", "-machine", "q35,memory-backend=mem"]);
        command.arg("-kernel").arg(kernel);
        // An emulated timer that is late because the host is busy is no fault of the kernel's.
        command.args(["-initrd", "initrd", "-append", "console=ttyS0 quiet panic=-1 no_timer_check"]);
        command.args(disks);
        let child =
            command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.expect("it boots");
        let said = BufReader::new(child.stdout.take().expect("it speaks"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = said.lines().map_while(Result::ok);
            lines.take_while(|line| sender.send(line.trim().to_owned()).is_ok()).for_each(drop);
        });
        BootedGuest { child, lines }
    }

    /// Waits for a line; what was said until then.
    fn until(&self, wanted: &str) -> Vec<String> {
        let mut said = Vec::new();
        while said.last().is_none_or(|line| line != wanted) {
            let line = self.lines.recv_timeout(PATIENCE);
            said.push(line.unwrap_or_else(|_| panic!("it does not say {wanted}, but {said:#?}")));
        }
        said
    }

    /// Waits for a line that begins like this.
    fn begins(&self, wanted: &str) -> String {
        let mut said = Vec::new();
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            said.push(line.unwrap_or_else(|_| panic!("no line begins with {wanted}: {said:#?}")));
            if let Some(line) = said.last().filter(|line| line.starts_with(wanted)) {
                return line.clone();
            }
        }
    }
}

impl Drop for BootedGuest {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_virtual_machine_keeps_its_disk_though_the_server_is_killed() {
    let Some((parts, folder)) = prepare() else { return };
    let path = &folder.0;
    fs::File::create(path.join("device")).and_then(|file| file.set_len(64 << 20)).expect("a device");
    fs::write(path.join("initrd"), archive(&parts, INIT, &[])).expect("an archive");
    let text = "[drive]\npath = \"device\"\n[scheduler]\npolicy = \"look\"\n[serve]\nsocket = \"nbd\"\n\
                [[volume]]\nname = \"machine\"\nvhost_user = \"disk\"\n";
    fs::write(path.join("vm.toml"), text).expect("a file");
    let service = KillableServer::start(path);
    let disk =
        ["-chardev", "socket,id=disk,path=disk,reconnect=1", "-device", "vhost-user-blk-pci,chardev=disk,num-queues=2"];
    let guest = BootedGuest::boot(path, &parts[0], 256, &disk);
    let begun = guest.until("WROTE 1");
    assert!(begun.iter().any(|line| line == "DISK machine 131072 write back 2"), "{begun:#?}");
    let folder = service.kill();
    let _service = KillableServer::start(&folder);
    let said = guest.until("DONE");
    let wanted = (2..8).map(|part| format!("WROTE {part}")).chain((0..8).map(|part| format!("READ {part}")));
    let wanted = wanted.chain(["DISCARDED", "0", "MADE", "KEPT", "DONE"].map(Into::into)).collect::<Vec<String>>();
    let steps: Vec<&String> = said.iter().filter(|line| wanted.contains(line)).collect();
    assert_eq!(steps, wanted.iter().collect::<Vec<_>>(), "{said:#?}");
}
