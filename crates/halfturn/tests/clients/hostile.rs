//! Clients that break the protocol, or just go: `hostile.py` says how.

use crate::server::Server;
use crate::tool::{PYTHON, have_python, run};
use std::path::Path;
use std::time::Duration;

/// Bytes that all requests may have in flight, spare memory, and as much again for everything else.
const BOUND_MIB: u64 = 256 + 2 * 64;

/// Has the script do some of its cases.
fn hostile(server: &Server, cases: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/hostile.py");
    let (socket, size) = (server.socket(), server.bytes().to_string());
    let [script, socket] = [&script, &socket].map(|path| path.to_str().expect("UTF-8"));
    run(server.folder(), PYTHON, &[&["-B", script, socket, &size], cases].concat());
}

/// Open descriptors of the server once its clients are gone, and the most MiB of memory it ever had.
pub fn costs(server: &Server) -> (usize, u64) {
    let of = format!("/proc/{}", server.pid());
    let open = || std::fs::read_dir(format!("{of}/fd")).expect("Linux").count();
    let (mut last, mut alike) = (0, 0);
    while alike < 4 {
        alike = if open() == last { alike + 1 } else { 0 };
        last = open();
        std::thread::sleep(Duration::from_millis(150));
    }
    let status = std::fs::read_to_string(format!("{of}/status")).expect("Linux");
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    let most: u64 = most.expect("a number of KiB");
    (last, most >> 10)
}

#[test]
fn what_a_client_may_not_ask_has_its_error_and_harms_nobody() {
    if !have_python("nbd", "python3-libnbd") {
        return;
    }
    let server = Server::start(192 << 20);
    hostile(&server, &["flags", "oversize", "past_the_end", "empty", "read_only", "unknown_export"]);
    server.end();
}

#[test]
fn who_does_not_speak_nbd_is_hung_up_on() {
    if !have_python("nbd", "python3-libnbd") {
        return;
    }
    let server = Server::start(64 << 20);
    hostile(&server, &["handshakes", "magic", "commands", "cookies", "half_a_write", "disconnect_waits"]);
    server.end();
}

#[test]
fn a_thousand_clients_that_go_with_replies_pending_leave_nothing_behind() {
    if !have_python("nbd", "python3-libnbd") {
        return;
    }
    let server = Server::start(64 << 20);
    hostile(&server, &["fill", "vanish"]);
    let before = costs(&server);
    hostile(&server, &["vanish"]);
    let after = costs(&server);
    assert!(after.0 <= before.0, "open descriptors: {} before, {} after", before.0, after.0);
    assert!(after.1 <= before.1 + 128, "memory: {} MiB before, {} MiB after", before.1, after.1);
    server.end();
}

#[test]
fn clients_that_hear_nothing_cost_no_more_than_they_may() {
    if !have_python("nbd", "python3-libnbd") {
        return;
    }
    let server = Server::start(64 << 20);
    hostile(&server, &["fill"]);
    let before = costs(&server);
    hostile(&server, &["deaf", "crowd"]);
    let after = costs(&server);
    assert!(after.0 <= before.0, "open descriptors: {} before, {} after", before.0, after.0);
    assert!(after.1 <= before.1 + BOUND_MIB, "memory: {} MiB before, {} MiB after", before.1, after.1);
    server.end();
}

#[test]
fn bytes_at_odd_places_are_written_beside_one_another() {
    if !have_python("nbd", "python3-libnbd") {
        return;
    }
    let server = Server::start(64 << 20);
    hostile(&server, &["odd_places", "neighbours"]);
    server.end();
}
