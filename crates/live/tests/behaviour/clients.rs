//! What clients write they read again, whatever they do to one another.

use crate::service::Running;
use block::{SeekBy, Verb};
use live::Remote;
use live::log::{LogReader, LogRecord};
use nbd::{Address, ClientRequest, CommandFlags, Errno, RequestType, Uri};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sched::Action;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const RAM: &str = r#"
[drive]
path = "ram:64MiB"
[scheduler]
policy = "fcfs"
[[volume]]
name = "a"
size = "1MiB"
[[volume]]
name = "b"
"#;

const EMULATED: &str = r#"
[drive]
path = "emulated:st318437lw"
[scheduler]
policy = "satf"
io = "semi-preemptible"
preemption = "priority"
[[volume]]
name = "a"
size = "1MiB"
[[volume]]
name = "b"
size = "1MiB"
priority = 1
"#;

pub fn request(command: RequestType, cookie: u64, offset: u64, length: u32) -> ClientRequest {
    ClientRequest { command, flags: CommandFlags::default(), cookie, offset, length: length.into() }
}

/// One client asks at random for bytes of its own part of a volume, several requests at once, none of which overlap. What the part
/// holds then.
pub fn ask_at_random(service: &Running, export: &str, part: (u64, u64), seed: u64, rounds: u64) -> Vec<u8> {
    let mut remote = service.connect(export);
    remote.patience(Some(Duration::from_secs(60))).expect("a limit");
    let (from, bytes) = part;
    let mut kept = vec![0_u8; bytes as usize];
    let mut draw = Pcg64Mcg::seed_from_u64(seed);
    for round in 0..rounds {
        let depth = 1 + draw.next_u64() % 8;
        let stripe = bytes / depth;
        for cookie in 0..depth {
            let unit = [1, 512, 4096][draw.next_u64() as usize % 3];
            let begin = (cookie * stripe).next_multiple_of(unit);
            let offset = begin + draw.next_u64() % (stripe / 4) / unit * unit;
            let most = ((cookie + 1) * stripe - offset) / unit;
            let length = (1 + draw.next_u64() % most.min(1 + (100_000 / unit))) * unit;
            let length = length.min((cookie + 1) * stripe - offset) as u32;
            let command = [
                RequestType::Read,
                RequestType::Write,
                RequestType::Write,
                RequestType::WriteZeroes,
                RequestType::Flush,
            ];
            let command = command[draw.next_u64() as usize % command.len()];
            let at = offset as usize..offset as usize + length as usize;
            let mut payload = Vec::new();
            match command {
                RequestType::Write => {
                    payload.resize(length as usize, 0);
                    draw.fill_bytes(&mut payload);
                    kept[at].copy_from_slice(&payload);
                }
                RequestType::WriteZeroes => kept[at].fill(0),
                _ => {}
            }
            let (offset, length) = if command == RequestType::Flush { (0, 0) } else { (from + offset, length) };
            let mut request = request(command, cookie, offset, length);
            if command.writes() && draw.next_u64().is_multiple_of(4) {
                request.flags = CommandFlags::FUA;
            }
            remote.send(request, &payload).expect("sent");
        }
        for _ in 0..depth {
            let (request, answer) = remote.answer().expect("an answer");
            let read = answer.unwrap_or_else(|error| panic!("seed {seed}, round {round}: {request:?}: {error:?}"));
            let at = (request.offset.saturating_sub(from)) as usize;
            if request.command == RequestType::Read {
                let wanted = &kept[at..at + request.length as usize];
                assert!(read == wanted, "seed {seed}, round {round}: {request:?} reads something else");
            }
        }
    }
    kept
}

/// Has four clients ask at random; what was logged.
fn all_at_random(text: &str, scale: f64, rounds: u64) -> Vec<u8> {
    let service = Running::new(text, scale);
    std::thread::scope(|scope| {
        for (seed, (export, from)) in [("a", 0), ("a", 500_001), ("b", 0), ("b", 500_001)].into_iter().enumerate() {
            let service = &service;
            scope.spawn(move || ask_at_random(service, export, (from, 500_000), seed as u64 + 1, rounds));
        }
    });
    let (ended, log) = service.stop_with_log();
    let of = |name: &str| ended.reports.iter().find(|report| report.name == name).expect("a volume");
    let (a, b) = (of("a"), of("b"));
    assert!(a.counts.reads > 0 && b.counts.writes > 0 && a.counts.failed == 0, "{a:?} {b:?}");
    assert_eq!((a.clients, b.clients), (0, 0));
    log
}

#[test]
fn of_memory_each_reads_what_it_wrote() {
    all_at_random(RAM, 1.0, 300);
}

#[test]
fn of_an_emulated_drive_each_reads_what_it_wrote() {
    all_at_random(EMULATED, 200.0, 100);
}

/// How many parts of seeks were asked of the device, by what it does for one.
fn count_parts(log: &[u8]) -> (SeekBy, usize) {
    let (head, mut reader) = LogReader::new(Path::new("log"), log).expect("a log");
    let next = || reader.read().expect("a record");
    let parts = std::iter::from_fn(next)
        .filter(|record| matches!(record, LogRecord::Action(Action::Issue(_, _, it)) if it.verb == Verb::Seek));
    let parts = parts.count();
    (head.caps[0].seek, parts)
}

/// One volume lies at the beginning of the drive, the other at its end.
#[test]
fn what_is_read_for_parts_of_a_seek_reaches_no_client() {
    for (seek_by, by, some) in [("nothing", SeekBy::Nothing, false), ("read", SeekBy::Read, true)] {
        let text = EMULATED
            .replace("satf", "fcfs")
            .replace("st318437lw\"", &format!("st318437lw\"\nwrite_buffer = false\nseek_by = \"{seek_by}\""))
            .replace("preemption", "plan = { split = \"always\", jit = false }\npreemption")
            .replace(
                "[[volume]]\nname = \"b\"",
                "[[volume]]\nname = \"between\"\nsize = \"16GiB\"\n[[volume]]\nname = \"b\"",
            );
        let (found, parts) = count_parts(&all_at_random(&text, 20.0, 60));
        println!("{seek_by}: {parts} parts of seeks");
        assert_eq!((found, parts > 0), (by, some), "{parts} parts");
    }
}

#[test]
fn a_client_that_vanishes_leaves_the_others_alone() {
    let service = Running::new(EMULATED, 100.0);
    let mut other = service.connect("b");
    for seed in 0..200_u64 {
        let mut remote = service.connect("a");
        for cookie in 0..seed % 9 {
            remote.send(request(RequestType::Read, cookie, cookie * 4096, 65536), &[]).expect("sent");
        }
        if seed % 3 == 0 {
            // Half a write.
            remote.send(request(RequestType::Write, 99, 0, 65536), &[7; 1000]).expect("sent");
        }
        drop(remote);
        other.send(request(RequestType::Read, 5, 4096, 512), &[]).expect("sent");
        assert!(other.answer().expect("an answer").1.is_ok());
    }
    let mut again = service.connect("a");
    again.send(request(RequestType::Read, 1, 0, 65536), &[]).expect("sent");
    let bytes = again.answer().expect("an answer").1.expect("it is read");
    assert!(bytes.iter().all(|byte| *byte == 0), "half a write is none");
    drop((again, other));
    service.stop();
}

#[test]
fn what_may_not_be_asked_is_answered() {
    let service =
        Running::new(&RAM.replace("[[volume]]\nname = \"b\"", "[[volume]]\nname = \"b\"\nread_only = true"), 1.0);
    let mut remote = service.connect("b");
    let write = request(RequestType::Write, 1, 0, 4);
    remote.send(write, b"byte").expect("sent");
    assert_eq!(remote.answer().expect("an answer").1, Err(Errno::Perm));
    remote.send(request(RequestType::Read, 2, remote.session.size - 1, 2), &[]).expect("sent");
    assert_eq!(remote.answer().expect("an answer").1, Err(Errno::Inval));
    remote.send(request(RequestType::Read, 3, remote.session.size - 1, 1), &[]).expect("sent");
    assert_eq!(remote.answer().expect("an answer").1, Ok(vec![0]));
    service.stop();
}

#[test]
fn whoever_knocks_and_says_nothing_keeps_no_one_out() {
    let patient = format!("{RAM}\n[serve]\nhandshake = \"200ms\"\nconnections = 4\n");
    let service = Running::new(&patient, 1.0);
    let silent: Vec<UnixStream> = (0..300).filter_map(|_| UnixStream::connect(service.socket()).ok()).collect();
    assert_eq!(silent.len(), 300);
    let mut noisy = UnixStream::connect(service.socket()).expect("a knock");
    noisy.write_all(&[0xFF; 4096]).expect("noise");
    let mut remote = service.connect("a");
    remote.send(request(RequestType::Write, 1, 0, 4), b"byte").expect("sent");
    assert_eq!(remote.answer().expect("an answer").1, Ok(vec![]));
    drop((silent, noisy, remote));
    service.stop();
}

#[test]
fn one_client_too_many_is_told_so() {
    let service = Running::new(&format!("{RAM}\n[serve]\nconnections = 2\n"), 1.0);
    let first = [service.connect("a"), service.connect("b")];
    let uri = Uri { address: Address::Unix(service.socket().display().to_string()), export: "a".into(), tls: None };
    let told = Remote::connect(&uri).err().map(|error| error.to_string());
    assert!(told.as_deref().is_some_and(|told| told.contains("as many clients are connected")), "{told:?}");
    drop(first);
    let since = std::time::Instant::now();
    while Remote::connect(&uri).is_err() {
        assert!(since.elapsed().as_secs() < 10, "they are gone, and nobody is let in");
    }
    service.stop();
}

#[test]
fn a_name_that_the_protocol_cannot_say_is_refused() {
    let text = RAM.replace("\"a\"", r#""a\u0000""#);
    let experiment = load::experiment::parse_service("test.toml", &text, &[]).expect("a service file");
    let refused = live::NbdService::new(&experiment, Vec::new(), 1.0).err().map(|bad| bad.what);
    assert_eq!(refused.as_deref(), Some(r#"volume "a\0" cannot be offered: a name has at most 4096 bytes and no NUL"#));
}
