//! fio's own verification, of mixed sizes with many requests at once.

use crate::server::Server;
use crate::tool::{have, run};

/// Runs one job of fio and holds that nothing was lost or torn.
fn verified(server: &Server, name: &str, arguments: &[&str]) {
    let job = [
        &format!("--name={name}"),
        "--ioengine=nbd",
        &format!("--uri={}", server.uri("disk")),
        "--iodepth=32",
        "--verify=crc32c",
        "--verify_fatal=1",
        "--randseed=1",
        "--output-format=terse",
    ];
    let said = run(server.folder(), "fio", &[&job[..], arguments].concat());
    let error = said.lines().find_map(|line| line.split(';').nth(4).and_then(|error| error.parse().ok()));
    assert_eq!(error, Some(0), "{said}");
}

#[test]
fn fio_reads_what_it_wrote_in_mixed_sizes_with_many_requests_at_once() {
    if !have(&[("fio", "fio")]) {
        return;
    }
    let server = Server::start(128 << 20);
    let mixed = "--bssplit=512/10:4k/40:12k/20:64k/20:512k/10";
    verified(&server, "random", &["--rw=randwrite", mixed, "--size=32m"]);
    verified(&server, "both", &["--rw=randrw", "--bs=4k", "--size=16m", "--offset=32m"]);
    verified(&server, "run", &["--rw=write", "--bs=1m", "--size=64m", "--offset=48m", "--fsync=16"]);
    let clients = ["--numjobs=4", "--size=8m", "--offset_increment=8m", "--group_reporting"];
    verified(&server, "four", &[&["--rw=randwrite", "--bs=8k"], &clients[..]].concat());
    server.end();
}
