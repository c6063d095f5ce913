//! Images to the server and back, by libnbd's tools and QEMU's.

use crate::dice::image;
use crate::server::Server;
use crate::tool::{have, output, run};
use std::path::Path;

const NBDCOPY: (&str, &str) = ("nbdcopy", "libnbd-bin");
const QEMU: [(&str, &str); 2] = [("qemu-img", "qemu-utils"), ("qemu-io", "qemu-utils")];

/// Holds that two files are the same, without printing them.
#[track_caller]
fn same(folder: &Path, one: &str, other: &str) {
    let [one, other] = [one, other].map(|name| std::fs::read(folder.join(name)).expect("a file"));
    let differs = one.iter().zip(&other).position(|(a, b)| a != b);
    assert_eq!((one.len(), differs), (other.len(), None));
}

#[test]
fn nbdcopy_brings_an_image_there_and_back() {
    if !have(&[NBDCOPY]) {
        return;
    }
    let server = Server::start(64 << 20);
    let (folder, uri) = (server.folder(), server.uri("disk"));
    for (seed, flags) in [(1, &["--flush"][..]), (2, &["--synchronous"]), (3, &["--connections=4", "--requests=64"])] {
        std::fs::write(folder.join("in"), image(server.bytes(), seed)).unwrap();
        run(folder, "nbdcopy", &[flags, &["in", &uri]].concat());
        run(folder, "nbdcopy", &[flags, &[&uri, "out"]].concat());
        same(folder, "in", "out");
    }
    server.end();
}

#[test]
fn a_volume_that_shows_another_holds_what_was_written_there_and_cannot_be_written() {
    if !have(&[NBDCOPY]) || !have(&QEMU) {
        return;
    }
    let server = Server::start(16 << 20);
    let (folder, uri, view) = (server.folder(), server.uri("disk"), server.uri("view"));
    for seed in [6, 7] {
        std::fs::write(folder.join("in"), image(server.bytes(), seed)).unwrap();
        run(folder, "nbdcopy", &["in", &uri]);
        run(folder, "nbdcopy", &[&view, "out"]);
        same(folder, "in", "out");
    }
    let refused =
        std::process::Command::new("nbdcopy").args(["in", &view]).current_dir(folder).output().expect("it runs");
    assert!(!refused.status.success(), "what is shown was written");
    server.end();
}

#[test]
fn long_reads_that_are_answered_in_parts_are_whole() {
    if !have(&[NBDCOPY]) || !have(&QEMU) {
        return;
    }
    let server = Server::in_short_commands(64 << 20);
    let (folder, uri) = (server.folder(), server.uri("disk"));
    std::fs::write(folder.join("in"), image(server.bytes(), 5)).unwrap();
    run(folder, "nbdcopy", &["in", &uri]);
    run(folder, "nbdcopy", &["--request-size=8388608", "--requests=4", &uri, "out"]);
    same(folder, "in", "out");
    patterns(&server, &[&["write -P 0x66 1M 31M", "read -P 0x66 1M 31M", "read -P 0x66 1049000 2000001"]]);
    server.end();
}

#[test]
fn qemu_img_converts_in_and_out_and_finds_no_difference() {
    if !have(&QEMU) {
        return;
    }
    let server = Server::start(64 << 20);
    let (folder, uri) = (server.folder(), server.uri("disk"));
    std::fs::write(folder.join("in"), image(server.bytes(), 4)).unwrap();
    run(folder, "qemu-img", &["convert", "-n", "-p", "-W", "-m", "16", "-f", "raw", "-O", "raw", "in", &uri]);
    run(folder, "qemu-img", &["compare", "-f", "raw", "-F", "raw", "in", &uri]);
    run(folder, "qemu-img", &["convert", "-f", "raw", "-O", "qcow2", &uri, "out.qcow2"]);
    run(folder, "qemu-img", &["compare", "-f", "raw", "-F", "qcow2", "in", "out.qcow2"]);
    run(folder, "qemu-img", &["convert", "-f", "raw", "-O", "raw", &uri, "out"]);
    same(folder, "in", "out");
    run(folder, "qemu-io", &["-f", "raw", "-c", "write -P 99 1M 64k", &uri]);
    let differs = output(folder, "qemu-img", &["compare", "-f", "raw", "-F", "raw", "in", &uri]);
    assert_eq!(differs.status.code(), Some(1), "the comparison can tell");
    server.end();
}

/// Does these commands of qemu-io one after the other, in as many connections as there are lists.
fn patterns(server: &Server, lists: &[&[&str]]) {
    for list in lists {
        let commands: Vec<&str> = list.iter().flat_map(|command| ["-c", command]).collect();
        let uri = server.uri("disk");
        let said = run(server.folder(), "qemu-io", &[&["-f", "raw", "-d", "unmap"], &commands[..], &[&uri]].concat());
        assert!(!said.contains("failed"), "{said}");
    }
}

#[test]
fn qemu_io_reads_the_patterns_it_wrote() {
    if !have(&QEMU) {
        return;
    }
    let server = Server::start(128 << 20);
    patterns(
        &server,
        &[
            &["read -P 0 0 1M", "write -P 0xa5 0 1M", "read -P 0xa5 0 1M", "flush"],
            &["read -P 0xa5 0 1M", "write -f -P 0x5a 512k 64k", "read -P 0x5a 512k 64k", "read -P 0xa5 576k 448k"],
            // Less than a sector, at odd places: the client reads, changes and writes.
            &["write -P 0x11 1000 3000", "read -P 0x11 1000 3000", "read -P 0xa5 0 1000", "read -P 0xa5 4000 96"],
            &["write -z 256k 128k", "read -P 0 256k 128k", "read -P 0xa5 384k 128k"],
            &["write -z -u 512k 128k", "read -P 0 512k 128k", "write -z -f 640k 4k", "read -P 0 640k 4k", "flush"],
            &["discard 768k 128k", "read 768k 128k", "write -P 0x22 768k 128k", "read -P 0x22 768k 128k"],
            // The longest request, the end of the volume, and what is longer than one request may be.
            &["write -P 0x33 32M 32M", "read -P 0x33 32M 32M", "write -P 0x44 127M 1M", "read -P 0x44 127M 1M"],
            &["write -P 0x55 60M 60M", "read -P 0x55 60M 60M", "write -z 60M 60M", "read -P 0 60M 60M", "flush"],
            // Many at once.
            &[
                "aio_write -P 1 8M 64k",
                "aio_write -P 2 9M 64k",
                "aio_write -z 10M 64k",
                "aio_flush",
                "read -P 1 8M 64k",
            ],
            &["read -P 2 9M 64k", "read -P 0 10M 64k"],
        ],
    );
    let wrong = output(server.folder(), "qemu-io", &["-f", "raw", "-c", "read -P 7 0 4k", &server.uri("disk")]);
    let said = String::from_utf8_lossy(&wrong.stdout);
    assert!(!wrong.status.success() || said.contains("verification failed"), "a wrong pattern is seen: {said}");
    server.end();
}
