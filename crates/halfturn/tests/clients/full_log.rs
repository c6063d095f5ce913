//! The log of an array's write buffer is full, since the drives are slower than who writes: who writes waits, and what was answered is
//! there after a kill.

use crate::served_array::{ArrayPlan, ServedArray};
use live::Remote;
use nbd::{ClientRequest, CommandFlags, RequestType, Uri};
use serde_json::json;
use std::time::{Duration, Instant};

/// Bytes of a write, how many of them are under way at once, and how many there are at most.
const WRITE: u32 = 128 << 10;
const AT_ONCE: u64 = 16;
const MOST: u64 = 2000;

fn connect(array: &ServedArray) -> Remote {
    let uri: Uri = array.uri().parse().unwrap_or_else(|error| panic!("{error}"));
    let mut remote = Remote::connect(&uri).expect("it listens");
    remote.patience(Some(Duration::from_secs(60))).expect("a limit");
    remote
}

fn request(command: RequestType, number: u64) -> ClientRequest {
    let offset = place(number) * u64::from(WRITE);
    ClientRequest { flags: CommandFlags::default(), command, cookie: number, offset, length: WRITE.into() }
}

/// Writes lie apart, so that the drives have to seek.
fn place(number: u64) -> u64 {
    number * 769 % MOST
}

fn bytes(number: u64) -> Vec<u8> {
    number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes().repeat(WRITE as usize / 8)
}

/// What part of the log is in use.
fn find_fill(array: &ServedArray) -> f64 {
    let status = array.status();
    let number = |key: &str| status["log"][key].as_f64().unwrap_or_else(|| panic!("{status:#}"));
    number("used_bytes") / number("bytes")
}

#[test]
fn a_full_log_makes_who_writes_wait_and_what_was_answered_survives_a_kill() {
    let plan = ArrayPlan {
        array: "level = \"0/1\"\nstripe = \"64KiB\"\nbuffer = \"65MiB\"\nlog = \"log\"".into(),
        scheduler: "policy = \"satf\"",
        serve: "",
        tables: String::new(),
        cylinders: 1800,
        time_scale: 0.1,
    };
    let mut array = ServedArray::with_files(plan, &[("log", (65 << 20) + (36 << 10))]);
    let (mut remote, mut answered) = (connect(&array), Vec::new());
    let (mut sent, mut fullest, mut full_from) = (0, 0.0_f64, None::<Instant>);
    while full_from.is_none_or(|from| from.elapsed() < Duration::from_secs(1)) {
        assert!(sent < MOST, "the log is never full: {fullest}");
        while sent - (answered.len() as u64) < AT_ONCE {
            remote.send(request(RequestType::Write, sent), &bytes(sent)).expect("sent");
            sent += 1;
        }
        let (request, answer) = remote.answer().expect("an answer");
        answer.expect("it is written");
        answered.push(request.cookie);
        if sent % 8 == 0 {
            fullest = fullest.max(find_fill(&array));
            full_from = full_from.or_else(|| (fullest > 0.97).then(Instant::now));
        }
    }
    array.kill();
    array.serve_at(20.0);
    let mut remote = connect(&array);
    for number in &answered {
        remote.send(request(RequestType::Read, *number), &[]).expect("sent");
        let (_, read) = remote.answer().expect("an answer");
        assert!(read.expect("it is read") == bytes(*number), "write {number} of {sent} is not there");
    }
    let status = array.ask(&json!({ "verb": "array" }));
    println!(
        "{} of {sent} writes were answered, at most {fullest:.3} of the log in use; {}",
        answered.len(),
        status["array"]["log"]
    );
}
