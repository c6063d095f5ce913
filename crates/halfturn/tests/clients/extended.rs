//! Extended headers, block status, trims and zeros, by a bare client, since no library of Debian's knows of them yet.

use crate::server::{Server, patient};
use crate::tool::{PYTHON, have, have_python, output, run, skip};
use std::path::Path;

/// Has the bare client say all it knows to a volume.
fn bare(server: &Server, lies_on: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/extended.py");
    let (socket, size) = (server.socket(), server.bytes().to_string());
    let [script, socket] = [&script, &socket].map(|path| path.to_str().expect("UTF-8"));
    run(server.folder(), PYTHON, &["-B", script, socket, &size, lies_on]);
}

#[test]
fn what_is_longer_than_32_bits_can_say_is_given_up_and_told_of() {
    if !have_python("socket", "python3") {
        return;
    }
    let server = Server::start(6 << 30);
    bare(&server, "ram");
    server.end();
    let server = Server::on(6 << 30, "disk.img", &[]);
    let before = blocks(&server);
    bare(&server, "file");
    patient("what was given up is still there", || blocks(&server) <= before + (8 << 11));
    server.end();
    let server = Server::on(64 << 20, "emulated:st318437lw", &[]);
    bare(&server, "disk");
    server.end();
}

#[test]
fn threads_serve_what_io_uring_does() {
    if !have_python("socket", "python3") {
        return;
    }
    for (path, lies_on) in [("disk.img", "file"), ("ram:65MiB", "ram")] {
        let server = Server::on(64 << 20, path, &["--set", "serve.io=threads"]);
        bare(&server, lies_on);
        server.end();
    }
}

#[test]
fn an_emulated_drive_is_served_where_io_uring_is_forbidden() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/forbidden.py");
    let script = script.to_str().expect("UTF-8");
    let folder = crate::server::Folder::new();
    let serve = |io: &str| {
        let arguments = [
            "-B",
            script,
            env!("CARGO_BIN_EXE_halfturn"),
            "serve",
            "--emulate",
            "st318437lw",
            "--size",
            "64MiB",
            "--run",
            "nbdinfo --size $uri",
            "--set",
            io,
        ];
        output(&folder.0, PYTHON, &arguments)
    };
    if !have(&[("nbdinfo", "libnbd-bin")]) {
        return;
    }
    let served = serve("serve.io=auto");
    if served.status.code() == Some(99) {
        return skip("no seccomp here");
    }
    assert_eq!(String::from_utf8_lossy(&served.stdout).trim(), (64 << 20).to_string(), "{served:?}");
    assert!(String::from_utf8_lossy(&served.stderr).contains("read and written by threads"), "{served:?}");
    let refused = serve("serve.io=uring");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("serve.io=threads"), "{refused:?}");
}

/// Blocks of 512 bytes that the server's file has.
fn blocks(server: &Server) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(server.folder().join("disk.img")).expect("a file"))
}
