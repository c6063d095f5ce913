//! A slow disk for a command: `halfturn serve --emulate … --run`, and a port of loopback.

use crate::server::{Folder, patient};
use crate::tool::{have, output, run};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

const HALFTURN: &str = env!("CARGO_BIN_EXE_halfturn");

#[test]
fn a_command_has_a_slow_disk_while_it_runs_and_its_exit_code_is_taken_over() {
    if !have(&[("qemu-io", "qemu-utils")]) {
        return;
    }
    let folder = Folder::new();
    let serve = ["serve", "--emulate", "st318437lw", "--size", "64MiB", "--run"];
    let command = "qemu-io -f raw -c 'write -P 7 1M 1M' -c 'read -P 7 1M 1M' -c flush \"$uri\" && test -S \"$socket\"";
    run(&folder.0, HALFTURN, &[&serve[..], &[command]].concat());
    let failed = output(&folder.0, HALFTURN, &[&serve[..], &["exit 3"]].concat());
    assert_eq!(failed.status.code(), Some(3));
}

#[test]
fn loopback_is_served_and_nothing_else() {
    if !have(&[("nbdinfo", "libnbd-bin")]) {
        return;
    }
    let folder = Folder::new();
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
    let serve = ["serve", "--emulate", "st318437lw", "--size", "64MiB", "--socket", "nbd.sock", "--insecure-tcp"];
    let refused = output(&folder.0, HALFTURN, &[&serve[..], &[&format!("0.0.0.0:{port}")]].concat());
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let mut command = Command::new(HALFTURN);
    command.args(serve).arg(format!("127.0.0.1:{port}")).current_dir(&folder.0);
    let mut server = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the server starts");
    patient("the server does not listen", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let size = output(&folder.0, "nbdinfo", &["--size", &format!("nbd://127.0.0.1:{port}/")]);
    let _ = server.kill();
    let _ = server.wait();
    assert_eq!(String::from_utf8_lossy(&size.stdout).trim(), (64 << 20).to_string());
}

#[cfg(not(feature = "tls"))]
#[test]
fn without_tls_whoever_asks_for_it_is_told_how_to_get_it() {
    let folder = Folder::new();
    let service = "drive = { path = \"ram:1MiB\" }\nscheduler = { policy = \"fcfs\" }\nvolume = [{ name = \"a\" }]\n\
                   serve = { socket = \"nbd.sock\", certificates = \".\" }\n";
    std::fs::write(folder.0.join("service.toml"), service).expect("a file");
    let refused = output(&folder.0, HALFTURN, &["serve", "service.toml"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("built without TLS") && said.contains("--features tls"), "{said}");
}
