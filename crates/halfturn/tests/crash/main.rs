//! What was acknowledged is there after the server was killed: every flushed or FUA write; of anything else, each block is as it was
//! before or after.
//!
//! `HALFTURN_KILLS=N` kills it so often, instead of 20 times.

use live::Remote;
use nbd::{Address, ClientRequest, CommandFlags, RequestType, Uri};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BLOCK: usize = 512;
/// Blocks that are written at once.
const BLOCKS: usize = 8;
const SLOTS: usize = 64;
const DEPTH: u64 = 6;

const SERVICE: &str = r#"
[drive]
path = "disk.img"
[scheduler]
policy = "sstf"
io = "semi-preemptible"
preemption = "priority"
[scheduler.plan]
chunk = "1KiB"
[[volume]]
name = "a"
"#;

/// Writes are in the log long before the drives have them.
const LOGGED: &str = r#"
[[disk]]
path = "emulated:st318437lw"
contents = "sparse"
file = "disk.0"
[[disk]]
path = "emulated:st318437lw"
contents = "sparse"
file = "disk.1"
[array]
level = "1"
buffer = "65MiB"
log = "log.img"
[scheduler]
policy = "sstf"
[[volume]]
name = "a"
"#;

/// An array that is told to grow, without its disks.
const GROWING: &str = r#"
[array]
level = "LEVEL"
stripe = "4KiB"
[scheduler]
policy = "sstf"
[serve]
control = "control"
[[volume]]
name = "a"
"#;

struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    fn start(folder: &Path) -> Server {
        let socket = folder.join("nbd");
        let child = Command::new(env!("CARGO_BIN_EXE_halfturn"))
            .args(["serve", "service.toml", "--socket", "nbd"])
            .current_dir(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        Server { child, socket }
    }

    fn connect(&self) -> Remote {
        let uri = Uri { address: Address::Unix(self.socket.display().to_string()), export: "a".into(), tls: None };
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            match Remote::connect(&uri) {
                Ok(remote) => return remote,
                Err(error) if Instant::now() > patience => panic!("nobody serves: {error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Ends it as it is meant to be ended.
    fn end(mut self) {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(told.is_ok_and(|status| status.success()), "it is still there");
        assert!(self.child.wait().expect("it is gone").success());
    }

    fn kill(mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it is gone");
    }
}

/// What is known of the blocks of a slot: the generation that must be there at least, and the last that was sent.
#[derive(Clone, Copy, Default)]
struct Known {
    safe: u64,
    /// The last that was answered.
    answered: u64,
    sent: u64,
    /// Whether a write of it is under way.
    busy: bool,
}

/// Writes until the server is gone.
fn write_on(remote: &mut Remote, known: &mut [Known], draw: &mut Pcg64Mcg) {
    let mut cookie = 0;
    // By cookie: what was answered when a flush was sent.
    let mut flushes: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut under_way = 0;
    loop {
        while under_way < DEPTH {
            cookie += 1;
            let slot = draw.next_u64() as usize % SLOTS;
            let flush = draw.next_u64().is_multiple_of(10);
            let mut request = ClientRequest {
                command: RequestType::Flush,
                flags: CommandFlags::default(),
                cookie,
                offset: 0,
                length: 0,
            };
            let mut payload = Vec::new();
            if flush {
                flushes.push((cookie, known.iter().map(|slot| slot.answered).collect()));
            } else if known[slot].busy {
                continue;
            } else {
                let it = &mut known[slot];
                (it.sent, it.busy) = (it.sent + 1, true);
                let fua = draw.next_u64().is_multiple_of(4);
                let flags = if fua { CommandFlags::FUA } else { CommandFlags::default() };
                let length = (BLOCK * BLOCKS) as u32;
                request = ClientRequest {
                    command: RequestType::Write,
                    flags,
                    cookie,
                    offset: (slot * BLOCK * BLOCKS) as u64,
                    length: length.into(),
                };
                payload = (0..length as usize / 8).flat_map(|_| it.sent.to_le_bytes()).collect();
            }
            if remote.send(request, &payload).is_err() {
                return;
            }
            under_way += 1;
        }
        let Ok((request, answer)) = remote.answer() else { return };
        under_way -= 1;
        assert!(answer.is_ok(), "{request:?}: {answer:?}");
        if request.command == RequestType::Flush {
            let at = flushes.iter().position(|(cookie, _)| *cookie == request.cookie).expect("it was asked");
            let (_, answered) = flushes.swap_remove(at);
            known.iter_mut().zip(answered).for_each(|(slot, answered)| slot.safe = slot.safe.max(answered));
        } else {
            let slot = &mut known[request.offset as usize / (BLOCK * BLOCKS)];
            (slot.answered, slot.busy) = (slot.sent, false);
            if request.fua() {
                slot.safe = slot.sent;
            }
        }
    }
}

/// From when on a write is safe.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Safe {
    WhenFlushed,
    WhenAnswered,
}

fn check(remote: &mut Remote, known: &mut [Known], seed: u64) {
    for (number, slot) in known.iter_mut().enumerate() {
        let (offset, length) = ((number * BLOCK * BLOCKS) as u64, (BLOCK * BLOCKS) as u64);
        let read =
            ClientRequest { command: RequestType::Read, flags: CommandFlags::default(), cookie: 1, offset, length };
        remote.send(read, &[]).expect("sent");
        let bytes = remote.answer().expect("an answer").1.expect("it is read");
        let mut least = u64::MAX;
        for block in bytes.chunks(BLOCK) {
            let word = |at: usize| u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"));
            let generation = word(0);
            assert!((0..BLOCK / 8).all(|at| word(8 * at) == generation), "seed {seed}, slot {number}: a torn block");
            let may = slot.safe..=slot.sent;
            assert!(may.contains(&generation), "seed {seed}, slot {number}: {generation} is there, not one of {may:?}");
            least = least.min(generation);
        }
        *slot = Known { safe: least, answered: least, sent: slot.sent, busy: false };
    }
}

/// A folder with a service file, and files of so many bytes.
fn make_folder(name: &str, service: &str, files: &[(&str, u64)]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("halfturn-{name}-{}", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("service.toml"), service).expect("a service file");
    for (file, bytes) in files {
        fs::File::create(folder.join(file)).and_then(|file| file.set_len(*bytes)).expect("a file");
    }
    folder
}

fn count_kills(usual: u64) -> u64 {
    std::env::var("HALFTURN_KILLS").map_or(usual, |number| number.parse().expect("a number"))
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let kills = count_kills(20);
    let folder = make_folder("kills", SERVICE, &[("disk.img", (SLOTS * BLOCK * BLOCKS) as u64)]);
    kill_often(&folder, kills, Safe::WhenFlushed).kill();
    fs::remove_dir_all(&folder).expect("its folder");
}

/// In the end nothing is needed of it.
#[test]
fn what_was_answered_survives_a_kill_where_there_is_a_log() {
    let folder = make_folder("logged-kills", LOGGED, &[("log.img", 70 << 20)]);
    let without = LOGGED.replace("buffer = \"65MiB\"\nlog = \"log.img\"\n", "");
    fs::write(folder.join("without.toml"), without).expect("a service file");
    let array = |verb: &str, file: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_halfturn"));
        let told = command.args(["array", verb, file]).current_dir(&folder).output();
        told.map(|told| (told.status.success(), String::from_utf8_lossy(&told.stderr).into_owned())).expect("it runs")
    };
    assert_eq!(array("create", "service.toml"), (true, String::new()));
    let server = kill_often(&folder, count_kills(8), Safe::WhenAnswered);
    server.kill();
    let (served, why) = array("assemble", "without.toml");
    assert!(!served && why.contains("last served with a log"), "{why}");
    let server = Server::start(&folder);
    drop(server.connect());
    server.end();
    assert_eq!(array("assemble", "without.toml"), (true, String::new()));
    fs::remove_dir_all(&folder).expect("its folder");
}

#[test]
fn what_was_flushed_survives_kills_while_an_array_grows() {
    kill_growing("growing-kills", "5", &["disk.0", "disk.1", "disk.2"], &["disk.3"]);
}

#[test]
fn what_was_flushed_survives_kills_while_mirrored_stripes_grow_by_a_pair() {
    let disks = ["disk.0", "disk.1", "disk.2", "disk.3"];
    kill_growing("pair-kills", "0/1", &disks, &["disk.4", "disk.5"]);
}

#[test]
fn what_was_flushed_survives_kills_while_a_raid_5_becomes_a_raid_6_and_a_raid_5_again() {
    let files: Vec<(&str, u64)> = ["disk.0", "disk.1", "disk.2", "disk.3"].map(|file| (file, 6 << 20)).to_vec();
    let named: String = (0..3).map(|disk| format!("[[disk]]\npath = \"disk.{disk}\"\n")).collect();
    let six = named.clone() + "[[disk]]\npath = \"disk.3\"\n" + &GROWING.replace("LEVEL", "6");
    let folder = make_folder("level-kills", &(named + &GROWING.replace("LEVEL", "5")), &files);
    fs::write(folder.join("six.toml"), six).expect("a file");
    let array = |words: &[&str]| tell_array(&folder, words).1;
    let tells = |words: &[&str], what: &str| {
        let said = array(words);
        assert!(said.contains(what), "{words:?}: {said}");
    };
    let status = ["status", "--control", "control", "--format", "json"];
    let await_status = |what: &str| {
        let patience = Instant::now() + Duration::from_secs(60);
        while !array(&status).contains(what) || array(&status).contains("\"state\": \"re") {
            assert!(Instant::now() < patience, "{}", array(&status));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    tells(&["create", "service.toml"], "is made");
    let server = Server::start(&folder);
    drop(server.connect());
    tells(&["level", "5", "--control", "control"], "is of level 5 already");
    tells(&["level", "6", "disk.0", "--control", "control"], "is in use");
    tells(&["level", "6", "disk.3", "--control", "control"], "becomes a RAID 6");
    await_status("\"second_parity\": \"last disk\"");
    server.kill();
    tells(&["assemble", "service.toml"], "give it `level = \"6\"` in the service file");
    assert!(!array(&["assemble", "six.toml"]).contains("service file"));
    // The service file names the disks that there were: the one that joined is found where it was.
    let mut known = vec![Known::default(); SLOTS];
    let server = kill_on(&folder, &mut known, count_kills(10), Safe::WhenFlushed);
    await_status("\"second_parity\": \"last disk\"");
    tells(&["level", "6", "disk.3", "--control", "control"], "is of level 6 already");
    tells(&["status", "--control", "control"], "its second parity on disk 3 alone");
    tells(&["level", "5", "--control", "control"], "becomes a RAID 5");
    await_status("\"level\": \"5\"");
    tells(&["level", "6", "disk.3", "--control", "control"], "start the service anew");
    server.kill();
    let server = kill_on(&folder, &mut known, count_kills(10), Safe::WhenFlushed);
    server.end();
    tells(&["status", "service.toml", "--format", "json"], "\"second_parity\": null");
    tells(&["assemble", "six.toml"], "take disk 3 out of the service file");
    fs::remove_dir_all(&folder).expect("its folder");
}

#[test]
fn what_was_flushed_survives_kills_while_a_raid_0_1_becomes_a_raid_5() {
    let disks = ["disk.0", "disk.1", "disk.2", "disk.3"];
    let named: String = disks.iter().map(|disk| format!("[[disk]]\npath = \"{disk}\"\n")).collect();
    let five = named.clone() + &GROWING.replace("LEVEL", "5");
    let service = named + &GROWING.replace("LEVEL", "0/1");
    let folder = make_folder("trade-kills", &service, &disks.map(|disk| (disk, 6 << 20)));
    fs::write(folder.join("five.toml"), five).expect("a file");
    let array = |words: &[&str]| tell_array(&folder, words).1;
    let tells = |words: &[&str], what: &str| {
        let said = array(words);
        assert!(said.contains(what), "{words:?}: {said}");
    };
    tells(&["create", "service.toml"], "is made");
    let before = array(&["status", "service.toml", "--format", "json"]);
    let server = Server::start(&folder);
    drop(server.connect());
    tells(&["level", "5", "disk.3", "--control", "control"], "takes no disk");
    // Slowly, so that it is seen.
    tells(&["pace", "--rate", "4", "--control", "control"], "");
    tells(&["level", "5", "--control", "control"], "becomes a RAID 5 on the disks that it has");
    await_growth(&folder, true);
    tells(&["level", "5", "--control", "control"], "is changing its level already");
    tells(&["scrub", "--control", "control"], "is changing its level");
    tells(&["status", "--control", "control"], "becoming a RAID 5 of a RAID 0/1: ");
    tells(&["status", "--control", "control", "--format", "json"], "\"former_level\": \"0/1\"");
    server.kill();
    tells(&["status", "service.toml"], "becoming a RAID 5 of a RAID 0/1: ");
    tells(&["assemble", "service.toml"], "give it `level = \"5\"` in the service file");
    assert!(!array(&["assemble", "five.toml"]).contains("service file"));
    let server = kill_often(&folder, count_kills(20), Safe::WhenFlushed);
    await_growth(&folder, false);
    server.end();
    let after = array(&["status", "five.toml", "--format", "json"]);
    assert_eq!(read_bytes(&after) * 2, read_bytes(&before) * 3, "{after}");
    tells(&["assemble", "service.toml"], "give it `level = \"5\"` in the service file");
    fs::remove_dir_all(&folder).expect("its folder");
}

/// Tells an array something, or asks of it: whether that succeeds, and what is said.
fn tell_array(folder: &Path, words: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfturn"));
    let told = command.arg("array").args(words).current_dir(folder).output().expect("it runs");
    let said = String::from_utf8_lossy(&told.stdout).into_owned() + &String::from_utf8_lossy(&told.stderr);
    (told.status.success(), said)
}

/// Waits until the rows of an array that is served move, or do not any more.
fn await_growth(folder: &Path, grows: bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    let status = ["status", "--control", "control", "--format", "json"];
    while tell_array(folder, &status).1.contains("\"grow\": null") == grows {
        assert!(Instant::now() < patience, "it grows too long, or not at all");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The size of an array, of what is said of it.
fn read_bytes(told: &str) -> u64 {
    let line = told.lines().find_map(|line| line.trim().strip_prefix("\"bytes\": ")).expect("its bytes");
    line.trim_end_matches(',').parse().expect("a number")
}

/// Kills a service whose array grows by half as much again. The service file names the disks that there were: those by which it grows
/// are found where they were.
fn kill_growing(name: &str, level: &str, disks: &[&str], joined: &[&str]) {
    let files: Vec<(&str, u64)> = disks.iter().chain(joined).map(|file| (*file, 6 << 20)).collect();
    let named: String = disks.iter().map(|disk| format!("[[disk]]\npath = \"{disk}\"\n")).collect();
    let folder = make_folder(name, &(named + &GROWING.replace("LEVEL", level)), &files);
    let array = |words: &[&str]| {
        let (succeeds, said) = tell_array(&folder, words);
        assert!(succeeds, "{words:?}: {said}");
        said
    };
    array(&["create", "service.toml"]);
    let before = array(&["status", "service.toml", "--format", "json"]);
    let server = Server::start(&folder);
    drop(server.connect());
    // By as many at once as there are copies, and each of them once.
    let (grows, why) = tell_array(&folder, &["grow", joined[0], joined[0], "--control", "control"]);
    assert!(!grows && (why.contains("at once, and 2 were named") || why.contains("is in use")), "{why}");
    let said = array(&[&["grow"], joined, &["--control", "control"]].concat());
    assert!(said.contains("in the service file, as the last"), "{said}");
    await_growth(&folder, true);
    server.kill();
    let server = kill_often(&folder, count_kills(20), Safe::WhenFlushed);
    await_growth(&folder, false);
    server.end();
    let after = array(&["status", "service.toml", "--format", "json"]);
    assert_eq!(read_bytes(&after) * 2, read_bytes(&before) * 3, "{after}");
    assert!(after.contains("as the last of its disks"), "{after}");
    fs::remove_dir_all(&folder).expect("its folder");
}

/// Kills a server so often while it is written to: one that has what it must.
fn kill_often(folder: &Path, kills: u64, safe: Safe) -> Server {
    kill_on(folder, &mut vec![Known::default(); SLOTS], kills, safe)
}

/// The same of one of which this is known.
fn kill_on(folder: &Path, known: &mut [Known], kills: u64, safe: Safe) -> Server {
    let mut written = 0;
    for seed in 0..kills {
        let mut draw = Pcg64Mcg::seed_from_u64(seed);
        let server = Server::start(folder);
        let mut remote = server.connect();
        check(&mut remote, known, seed);
        let until = Duration::from_micros(draw.next_u64() % 30_000);
        let killer = std::thread::spawn(move || {
            std::thread::sleep(until);
            server.kill();
        });
        write_on(&mut remote, known, &mut draw);
        killer.join().expect("it killed");
        if safe == Safe::WhenAnswered {
            known.iter_mut().for_each(|slot| slot.safe = slot.answered);
        }
        written += known.iter().map(|slot| slot.sent).sum::<u64>();
    }
    assert!(written > kills, "hardly anything was written");
    let server = Server::start(folder);
    check(&mut server.connect(), known, kills);
    server
}
