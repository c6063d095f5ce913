//! Extended headers, block status, trims and zeros, by a bare client, since no library of Debian's knows of them yet.

use crate::server::{Server, patient};
use crate::tool::{PYTHON, have_python, run};
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

/// Blocks of 512 bytes that the server's file has.
fn blocks(server: &Server) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(server.folder().join("disk.img")).expect("a file"))
}
