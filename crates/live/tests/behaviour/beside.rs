//! A disk of a virtual machine beside that of `qemu-storage-daemon`: the same file in memory, the same requests, in turn. Each
//! server has a processor of its own. `HALFTURN=target/release/halfturn cargo test --release -p halfturn-live --features vhost-user
//! --test behaviour beside -- --ignored --nocapture` prints the table.

use crate::machine::{IN, OUT, VirtualMachine};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The file has so many bytes, each measurement takes so long, and there are so many of each.
const BYTES: u64 = 256 << 20;
const LENGTH: Duration = Duration::from_millis(1500);
const ROUNDS: usize = 5;
/// Ticks of a processor's time in a second, as the kernel tells it.
const TICKS: f64 = 100.0;

/// A server that runs until it goes.
struct OtherServer(Child);

impl Drop for OtherServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl OtherServer {
    /// Starts one, on the first processor; it is there when its socket is.
    fn start(program: &str, arguments: &[String], socket: &Path) -> OtherServer {
        let mut command = Command::new("taskset");
        command.args(["-c", "0", program]).args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        let server = OtherServer(command.spawn().expect("it starts"));
        let since = Instant::now();
        while !socket.exists() {
            assert!(since.elapsed() < Duration::from_secs(10), "{program} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }

    /// How much of a processor's time it has had, in seconds.
    fn processor_time(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("it runs");
        let behind = &stat[stat.rfind(')').expect("a name") + 2..];
        let ticks = |at: usize| behind.split(' ').nth(at).and_then(|it| it.parse::<f64>().ok()).expect("a number");
        (ticks(11) + ticks(12)) / TICKS
    }
}

/// So many requests at once, for as long as a measurement takes: requests a second, and microseconds of the server's processor each.
fn measure(server: &OtherServer, socket: &Path, (kind, bytes, depth): (u32, u32, u16)) -> (f64, f64) {
    let mut machine = VirtualMachine::up(socket, 1, 256, u64::MAX);
    let mut draw = Pcg64Mcg::seed_from_u64(1);
    let mut sector = || draw.next_u64() % (BYTES / u64::from(bytes)) * (u64::from(bytes) / 512);
    let (begun, before) = (Instant::now(), server.processor_time());
    (0..depth).for_each(|slot| machine.ask(0, slot, kind, sector(), bytes));
    machine.kick(0);
    let mut done = 0_u64;
    while begun.elapsed() < LENGTH {
        let answers = machine.take_answers(0);
        for (slot, status) in &answers {
            assert_eq!(*status, 0);
            machine.ask(0, *slot, kind, sector(), bytes);
        }
        done += answers.len() as u64;
        match answers.is_empty() {
            true => std::hint::spin_loop(),
            false => machine.kick(0),
        }
    }
    let taken = begun.elapsed().as_secs_f64();
    (done as f64 / taken, (server.processor_time() - before) * 1e6 / done as f64)
}

#[test]
#[ignore = "two minutes; prints a table"]
fn a_disk_beside_that_of_qemu() {
    let Ok(halfturn) = std::env::var("HALFTURN") else {
        println!("SKIPPED: HALFTURN names no program");
        return;
    };
    let folder = Path::new("/dev/shm").join(format!("halfturn-beside-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    let (file, socket, config) = (folder.join("file"), folder.join("socket"), folder.join("service.toml"));
    std::fs::write(&file, vec![7; BYTES as usize]).expect("a file");
    let text = format!(
        "[drive]\npath = {file:?}\n[serve]\nsocket = {:?}\nrequests = 256\n[[volume]]\nname = \"disk\"\nvhost_user = {socket:?}\n",
        folder.join("nbd")
    );
    std::fs::write(&config, text).expect("a file");
    let ours = ["serve".to_owned(), config.display().to_string()];
    let theirs = |how: &str| {
        let device = format!("driver=file,node-name=file,filename={},aio={how},cache.direct=off", file.display());
        let export = format!(
            "type=vhost-user-blk,id=export,node-name=file,addr.type=unix,addr.path={},writable=on",
            socket.display()
        );
        ["--blockdev".to_owned(), device, "--export".to_owned(), export]
    };
    let jobs = [
        ("4 KiB reads, 32 at once", (IN, 4096, 32)),
        ("4 KiB writes, 32 at once", (OUT, 4096, 32)),
        ("64 KiB reads, 8 at once", (IN, 65_536, 8)),
        ("4 KiB reads, one at a time", (IN, 4096, 1)),
    ];
    for (told, job) in jobs {
        for how in ["threads", "io_uring"] {
            let (mut ratios, mut costs) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let run = |program: &str, arguments: &[String]| {
                    let _ = std::fs::remove_file(&socket);
                    let server = OtherServer::start(program, arguments, &socket);
                    measure(&server, &socket, job)
                };
                let [own, other] = [run(&halfturn, &ours), run("qemu-storage-daemon", &theirs(how))];
                ratios.push(own.0 / other.0);
                costs.push((own.1, other.1, own.0));
            }
            ratios.sort_by(f64::total_cmp);
            costs.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
            let (own, other, rate) = costs[ROUNDS / 2];
            println!(
                "{told}, beside aio={how}: {rate:.0}/s, {:.2} [{:.2}, {:.2}] of its; {own:.1} us of a processor each, {:.2} of its {other:.1}",
                ratios[ROUNDS / 2],
                ratios[0],
                ratios[ROUNDS - 1],
                own / other
            );
        }
    }
    std::fs::remove_dir_all(&folder).expect("its folder");
}
