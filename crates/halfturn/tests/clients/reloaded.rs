//! What a service is told while it runs: by its file, by many at its control socket.

use crate::server::{Server, patient};
use crate::tool::run;
use serde_json::Value;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

const CONTROL: &str = "control = \"control.sock\"";

/// The volume `disk`, as the service says it is.
fn disk(server: &Server) -> Value {
    let control = server.folder().join("control.sock");
    let control = control.to_str().expect("UTF-8");
    let list = run(
        server.folder(),
        env!("CARGO_BIN_EXE_halfturn"),
        &["volume", "list", "--control", control, "--format", "json"],
    );
    serde_json::from_str::<Value>(&list).expect("JSON")["volumes"][0].clone()
}

#[test]
fn a_file_that_has_changed_is_followed_on_sighup() {
    let server = Server::with(1 << 20, CONTROL);
    let file = server.folder().join("service.toml");
    let text = std::fs::read_to_string(&file).expect("its file");
    let hang_up = |text: &str| {
        std::fs::write(&file, text).expect("its file");
        let told = Command::new("kill").args(["-HUP", &server.pid().to_string()]).status();
        assert!(told.is_ok_and(|status| status.success()), "the server is there");
    };
    assert_eq!(disk(&server)["priority"], 0);
    let changed = text.replace("name = \"disk\"", "name = \"disk\"\npriority = 9\ndeadline = \"2s\"");
    hang_up(&changed);
    patient("the new priority is not there", || disk(&server)["priority"] == 9);
    assert_eq!(disk(&server)["deadline_ms"], 2000.0);
    hang_up("this is no service file");
    hang_up(&text);
    patient("the old priority is not back", || disk(&server)["priority"] == 0);
    assert_eq!(disk(&server)["deadline_ms"], Value::Null);
    server.end();
}

#[test]
fn who_says_nothing_at_the_control_socket_keeps_nobody_waiting() {
    let server = Server::with(1 << 20, CONTROL);
    let control = server.folder().join("control.sock");
    let silent: Vec<UnixStream> = (0..20).filter_map(|_| UnixStream::connect(&control).ok()).collect();
    assert_eq!(silent.len(), 20);
    let since = Instant::now();
    disk(&server);
    assert!(since.elapsed() < Duration::from_secs(5), "it took {:?}", since.elapsed());
    drop(silent);
    server.end();
}
