//! A volume beside the same file as `qemu-storage-daemon` exports it, by a virtual machine's requests: as the machine's disk
//! (vhost-user), and as a block device that a program inside it serves (ours by ublk, theirs by vduse). Requests a second, and what
//! each costs the server's processor.
//!
//! The machine is emulated, so that figures tell of these beside one another, and of nothing else.

use super::{BootedGuest, archive, link_programs, make_asker, prepare};
use crate::server::patient;
use crate::tool::{run, skip};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// MiB of the file, which is in memory.
const FILE: u64 = 64;
/// Seconds that are counted of each load, and those before.
const SECONDS: u32 = 4;
const BEFORE: u32 = 3;
const ROUNDS: u32 = 3;
/// Ticks of a processor's time in a second, as the kernel tells it.
const TICKS: f64 = 100.0;

/// Who serves, and how the other does.
const SERVERS: [&str; 3] = ["ours", "threads", "io_uring"];

/// A load: what users call it, which way its 4 KiB at random places go, and how many are asked at once.
type Load = (&'static str, char, u32);
const LOADS: [Load; 4] = [
    ("reads, 32 at once", 'r', 32),
    ("writes, 32 at once", 'w', 32),
    ("reads, four at once", 'r', 4),
    ("reads, one at a time", 'r', 1),
];

/// What was seen of a server under a load: requests a second, and microseconds of its processor for each.
type Seen = BTreeMap<(&'static str, Load), Vec<(f64, f64)>>;

/// A program that runs until it goes.
struct HostServer(Child);

impl HostServer {
    fn start(program: &Path, arguments: &[String], folder: &Path, socket: &str) -> HostServer {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
        let server = HostServer(command.spawn().expect("it starts"));
        patient("it does not listen", || folder.join(socket).exists());
        server
    }

    /// The line of the kernel's that tells of its processor's time.
    fn stat(&self) -> String {
        fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("it runs")
    }
}

impl Drop for HostServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Seconds of a processor that a process has had, by the kernel's line on it.
fn read_time(stat: &str) -> f64 {
    let behind = &stat[stat.rfind(')').expect("a name") + 2..];
    let ticks = |at: usize| behind.split(' ').nth(at).and_then(|it| it.parse::<f64>().ok()).expect("a number");
    (ticks(11) + ticks(12)) / TICKS
}

/// How `qemu-storage-daemon` opens the file and exports it.
fn export(how: &str, file: &str, export: &str) -> Vec<String> {
    let device = format!("driver=file,node-name=file,filename={file},aio={how},cache.direct=off");
    ["--blockdev", &device, "--export", export].map(str::to_owned).to_vec()
}

/// Adds what was seen of one load: so many ended in what was counted of it, and all took so many seconds of a processor.
fn add(seen: &mut Seen, server: &'static str, load: Load, ended: f64, spent: f64) {
    let per_second = ended / f64::from(SECONDS);
    let all = per_second * f64::from(SECONDS + BEFORE);
    seen.entry((server, load)).or_default().push((per_second, spent * 1e6 / all));
}

/// The number at a place of a line.
fn number(line: &str, at: usize) -> f64 {
    line.split(' ').nth(at).and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}

/// Ours beside the others: the medians of what each of ours is of the one in its turn.
fn print_table(seen: &Seen) {
    if cfg!(debug_assertions) {
        println!("of a build that is not optimised: --release");
    }
    for load in LOADS {
        for other in &SERVERS[1..] {
            let (own, theirs) = (&seen[&(SERVERS[0], load)], &seen[&(*other, load)]);
            assert!(
                own.len() == theirs.len() && own.iter().chain(theirs).all(|(rate, cost)| *rate > 0.0 && *cost > 0.0)
            );
            let ratios = |of: fn(&(f64, f64)) -> f64| {
                let mut ratios: Vec<f64> = own.iter().zip(theirs).map(|(own, their)| of(own) / of(their)).collect();
                ratios.sort_by(f64::total_cmp);
                format!("{:.2} [{:.2}, {:.2}]", ratios[ratios.len() / 2], ratios[0], ratios[ratios.len() - 1])
            };
            let (rate, cost) = own[own.len() / 2];
            println!(
                "{}, beside aio={other}: {rate:.0}/s, {} of its; {cost:.1} us of a processor each, {} of its",
                load.0,
                ratios(|it| it.0),
                ratios(|it| it.1)
            );
        }
    }
}

/// Whether there is the other program.
fn find_other() -> Option<PathBuf> {
    let path = PathBuf::from("/usr/bin/qemu-storage-daemon");
    if !path.exists() {
        skip("qemu-storage-daemon is not there: apt-get install qemu-system-common");
        return None;
    }
    Some(path)
}

#[test]
#[ignore = "five minutes; prints a table"]
fn a_machine_s_disk_beside_that_of_qemu() {
    let (Some((parts, folder)), Some(other)) = (prepare(), find_other()) else { return };
    let path = &folder.0;
    let memory = Path::new("/dev/shm").join(format!("halfturn-beside-{}", std::process::id()));
    fs::create_dir(&memory).expect("a folder");
    let file = |server: &str| memory.join(server).display().to_string();
    SERVERS.iter().for_each(|server| fs::write(file(server), vec![7; (FILE << 20) as usize]).expect("a file"));
    let text = format!(
        "[drive]\npath = {:?}\n[serve]\nsocket = \"nbd\"\nrequests = 256\n[[volume]]\nname = \"disk\"\nvhost_user = \"ours\"\n",
        file("ours")
    );
    fs::write(path.join("service.toml"), text).expect("a file");
    let mut servers = BTreeMap::new();
    for server in SERVERS {
        let started = match server {
            "ours" => {
                let arguments = ["serve", "service.toml"].map(str::to_owned);
                HostServer::start(Path::new(env!("CARGO_BIN_EXE_halfturn")), &arguments, path, server)
            }
            _ => {
                let how = format!(
                    "type=vhost-user-blk,id=export,node-name=file,addr.type=unix,addr.path={server},writable=on,num-queues=2"
                );
                HostServer::start(&other, &export(server, &file(server), &how), path, server)
            }
        };
        servers.insert(server, started);
    }
    let mut script = String::from("echo\n");
    for _ in 0..ROUNDS {
        for (_, way, depth) in LOADS {
            for (server, disk) in SERVERS.into_iter().zip(["vda", "vdb", "vdc"]) {
                let _ = writeln!(script, "echo none > /sys/block/{disk}/queue/scheduler; echo TRY {server}");
                let _ = writeln!(script, "asker /dev/{disk} {SECONDS} {way}:0:{}:4096:{depth}:r", FILE << 20);
            }
        }
    }
    let asker = make_asker(path);
    let bytes = archive(&parts, &(script + "echo DONE\n"), &[("bin/asker", asker.as_path())]);
    fs::write(path.join("initrd"), bytes).expect("an archive");
    let disks: Vec<String> = SERVERS
        .iter()
        .flat_map(|server| {
            let device = format!("vhost-user-blk-pci,chardev={server},num-queues=2");
            ["-chardev".into(), format!("socket,id={server},path={server}"), "-device".into(), device]
        })
        .collect();
    let guest = BootedGuest::boot(path, &parts[0], 256, &disks.iter().map(String::as_str).collect::<Vec<_>>());
    let mut seen = Seen::new();
    for _ in 0..ROUNDS {
        for load in LOADS {
            for server in SERVERS {
                guest.until(&format!("TRY {server}"));
                let before = read_time(&servers[server].stat());
                let ended = number(&guest.begins("CLASS "), 2);
                add(&mut seen, server, load, ended, read_time(&servers[server].stat()) - before);
            }
        }
    }
    guest.until("DONE");
    fs::remove_dir_all(&memory).expect("its folder");
    print_table(&seen);
}

/// What the machine does where the servers are inside: each has a file in memory.
fn inner_script() -> String {
    let mut script = String::from(
        r#"
mount -t tmpfs -o size=300m tmp /tmp
cd /tmp
echo
for server in ours threads io_uring; do tr '\0' '\007' < /dev/zero 2>/dev/null | dd of=$server bs=1M count=FILE iflag=fullblock 2>/dev/null; done
printf '[drive]\npath = "/tmp/ours"\n[serve]\nsocket = "/tmp/nbd"\nrequests = 256\n[[volume]]\nname = "disk"\nublk = 0\n' > service.toml
halfturn serve service.toml 2>log >report &
ours=$!
until grep -q 'is /dev/ublkb0' log; do kill -0 $ours || { cat log; exit; }; usleep 50000; done
"#,
    )
    .replace("FILE", &FILE.to_string());
    for server in &SERVERS[1..] {
        let how = format!("type=vduse-blk,id=export,name={server},node-name=file,writable=on,num-queues=2");
        let words = export(server, &format!("/tmp/{server}"), &how).join(" ");
        let _ = writeln!(
            script,
            "qemu-storage-daemon {words} &\n{server}=$!\nuntil [ -e /dev/vduse/{server} ]; do kill -0 ${server} || exit; usleep 50000; done\n\
             vdpa dev add name {server} mgmtdev vduse || exit"
        );
    }
    script.push_str("until [ -e /dev/vdb ]; do usleep 50000; done\n");
    for _ in 0..ROUNDS {
        for (_, way, depth) in LOADS {
            for (server, disk) in SERVERS.into_iter().zip(["ublkb0", "vda", "vdb"]) {
                let _ = writeln!(
                    script,
                    "echo none > /sys/block/{disk}/queue/scheduler\necho \"STAT $(cat /proc/${server}/stat)\"\n\
                     asker /dev/{disk} {SECONDS} {way}:0:{}:4096:{depth}:r\necho \"STAT $(cat /proc/${server}/stat)\"",
                    FILE << 20
                );
            }
        }
    }
    script + "kill $ours; wait $ours; echo DONE\n"
}

/// The modules that devices of other programs need, if they were fetched.
fn find_modules() -> Option<Vec<(String, PathBuf)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/guest/vduse");
    let files = fs::read_dir(&folder).ok()?.filter_map(|file| Some(file.ok()?.path()));
    let modules: Vec<_> =
        files.filter_map(|path| Some((format!("modules/{}", path.file_name()?.to_str()?), path))).collect();
    (!modules.is_empty()).then_some(modules)
}

#[test]
#[ignore = "five minutes; prints a table"]
fn a_block_device_beside_that_of_qemu() {
    let (Some((parts, folder)), Some(other)) = (prepare(), find_other()) else { return };
    let (Some(modules), vdpa) = (find_modules(), Path::new("/usr/sbin/vdpa")) else {
        return skip("the machine's kernel was fetched without vduse: .ci/guest");
    };
    if !vdpa.exists() {
        return skip("vdpa is not there: apt-get install iproute2");
    }
    let path = &folder.0;
    let mut others = link_programs(path, Some(&other));
    let linked = run(path, "ldd", &["/usr/sbin/vdpa"]);
    let libraries = linked.split_whitespace().filter(|word| word.starts_with('/'));
    others.extend(libraries.map(|path| (path.trim_start_matches('/').to_owned(), PathBuf::from(path))));
    others.insert("bin/vdpa".into(), vdpa.to_path_buf());
    others.insert("bin/asker".into(), make_asker(path));
    others.extend(modules);
    let others: Vec<(&str, &Path)> = others.iter().map(|(name, path)| (name.as_str(), path.as_path())).collect();
    fs::write(path.join("initrd"), archive(&parts, &inner_script(), &others)).expect("an archive");
    let guest = BootedGuest::boot(path, &parts[0], 1024, &[]);
    let mut seen = Seen::new();
    for _ in 0..ROUNDS {
        for load in LOADS {
            for server in SERVERS {
                let before = read_time(&guest.begins("STAT "));
                let ended = number(&guest.begins("CLASS "), 2);
                add(&mut seen, server, load, ended, read_time(&guest.begins("STAT ")) - before);
            }
        }
    }
    guest.until("DONE");
    print_table(&seen);
}
