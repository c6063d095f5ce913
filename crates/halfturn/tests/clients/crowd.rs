//! Clients who do not take their answers, and very many of them: others hardly notice.

use crate::hostile::costs;
use crate::server::{Server, patient};
use live::Remote;
use nbd::{ClientRequest, CommandFlags, RequestType, Uri};
use std::time::{Duration, Instant};

/// What all requests may have in flight, what small ones may have beyond, spare memory, and as much again, in MiB.
const BOUND_MIB: u64 = 256 + 3 * 64;

fn connect(server: &Server) -> Remote {
    let uri: Uri = server.uri("disk").parse().expect("a URI");
    Remote::connect(&uri).expect("a connection")
}

fn read(cookie: u64, length: u32) -> ClientRequest {
    ClientRequest {
        command: RequestType::Read,
        flags: CommandFlags::default(),
        cookie,
        offset: 0,
        length: length.into(),
    }
}

/// The 99th percentile of so many reads of 4 KiB, one after the other.
fn p99(remote: &mut Remote, reads: u64) -> Duration {
    let mut took: Vec<Duration> = Vec::new();
    for cookie in 0..reads {
        let from = Instant::now();
        remote.send(read(cookie, 4096), &[]).expect("sent");
        assert!(remote.answer().expect("an answer").1.is_ok());
        took.push(from.elapsed());
    }
    took.sort();
    took[took.len() * 99 / 100]
}

/// Connects clients, of which some ask for what they do not hear, and sees that those are hung up on, and the others served.
fn crowd(clients: usize, deaf: usize) {
    let server = Server::with(64 << 20, "connections = 10000\n        unheard = \"1s\"");
    let mut other = connect(&server);
    p99(&mut other, 2000);
    let (before, (descriptors, _)) = (p99(&mut other, 5000), costs(&server));
    let mut all: Vec<Remote> = (1..clients).map(|_| connect(&server)).collect();
    let among = p99(&mut other, 5000);
    for remote in &mut all[..deaf] {
        (0..4).for_each(|cookie| remote.send(read(cookie, 1 << 20), &[]).expect("sent"));
    }
    let beside = p99(&mut other, 5000);
    println!("p99 of another client: {before:?} alone, {among:?} among {clients}, {beside:?} beside {deaf} deaf ones");
    patient("clients that hear nothing are still there", || costs(&server).0 <= descriptors + clients - 1 - deaf);
    p99(&mut other, 100);
    for (cookie, remote) in all[deaf..].iter_mut().enumerate() {
        remote.send(read(cookie as u64, 512), &[]).expect("sent");
        assert!(remote.answer().expect("an answer").1.is_ok(), "who only waits stays");
    }
    drop(all);
    let mut most = 0;
    patient("descriptors are left", || {
        let (open, memory) = costs(&server);
        most = memory;
        open <= descriptors
    });
    println!("{most} MiB at most");
    // The disk, and a page or two of each client.
    let bound = BOUND_MIB + 64 + clients as u64 * 8 / 1024;
    assert!(most <= bound, "{most} MiB of {bound}");
    drop(other);
    server.end();
}

#[test]
fn who_does_not_hear_is_hung_up_on() {
    crowd(40, 20);
}

/// `cargo test -p halfturn --test clients crowd -- --ignored --nocapture`; it takes 10,000 descriptors.
#[test]
#[ignore = "half a minute, and very many descriptors"]
fn ten_thousand_clients_are_served() {
    crowd(10_000, 1000);
}
