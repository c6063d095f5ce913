//! What a service is told while it runs: by its file, by many at its control socket.

use crate::server::{Folder, Server, patient};
use crate::tool::{have, run};
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

/// What `halfturn volume set disk` says of these arguments; empty where it is done.
fn refusal(server: &Server, arguments: &[&str]) -> String {
    let control = server.folder().join("control.sock");
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfturn"));
    command.args(["volume", "set", "disk", "--control"]).arg(control).args(arguments);
    let output = command.output().expect("halfturn runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.success(), told.is_empty(), "{told}");
    told
}

#[test]
fn shares_of_the_arm_are_set_while_it_serves() {
    let sets =
        ["--set", "serve.control=control.sock", "--set", "volume.disk.share=2", "--set", "volume.fixed.floor=0.5"];
    let logs = Folder::new();
    let log = logs.0.join("record.log").to_string_lossy().into_owned();
    let server = Server::on(1 << 20, "disk.img", &[&sets[..], &["--record", &log]].concat());
    let claim = || ["share", "floor", "limit"].map(|key| disk(&server)[key].as_f64());
    assert_eq!(claim(), [Some(2.0), Some(0.0), Some(1.0)]);
    assert_eq!(refusal(&server, &["--share", "5", "--floor", "0.25"]), "");
    assert_eq!(claim(), [Some(5.0), Some(0.25), Some(1.0)]);
    let told = refusal(&server, &["--limit", "0.2"]);
    assert!(told.contains("a floor of 0.25 is above the limit of 0.2\n  mend: give a lower floor"), "{told}");
    let told = refusal(&server, &["--floor", "0.6"]);
    assert!(told.contains("the floors are 1.10 of the arm together"), "{told}");
    assert!(refusal(&server, &["--share", "0"]).contains("give a weight above 0"));
    for wrong in ["--share=1e300", "--floor=-1", "--limit=2", "--share=nan", "--floor=inf", "--limit=nan"] {
        assert_ne!(refusal(&server, &[wrong]), "", "{wrong}");
    }
    assert_eq!(claim(), [Some(5.0), Some(0.25), Some(1.0)], "what is refused changes nothing");
    if have(&[("nbdcopy", "libnbd-bin")]) {
        run(server.folder(), "nbdcopy", &["--", &server.uri("disk"), "null:"]);
    }
    server.end();
    run(&logs.0, env!("CARGO_BIN_EXE_halfturn"), &["replay", &log]);
}

#[test]
fn shares_are_refused_where_the_arm_is_not_shared_out() {
    let server = Server::with(1 << 20, CONTROL);
    assert_eq!(disk(&server)["share"], Value::Null);
    let told = refusal(&server, &["--share", "5"]);
    assert!(told.contains("not shared out") && told.contains("mend: give a volume or class a `share`"), "{told}");
    server.end();
}

/// What `halfturn top` tells of a service, in JSON.
fn top(server: &Server, more: &[&str]) -> Vec<Value> {
    let control = server.folder().join("control.sock");
    let control = control.to_str().expect("UTF-8");
    let arguments = [&["top", "--control", control, "--format", "json", "--interval", "500ms"], more].concat();
    let told = run(server.folder(), env!("CARGO_BIN_EXE_halfturn"), &arguments);
    told.lines().map(|line| serde_json::from_str(line).expect("JSON, an object a line")).collect()
}

#[test]
fn top_tells_what_is_done_now_and_ends_with_the_service() {
    if !have(&[("fio", "fio")]) {
        return;
    }
    let server = Server::with(16 << 20, CONTROL);
    let quiet = top(&server, &["--once"]);
    assert_eq!(quiet.len(), 1);
    let disk = &quiet[0]["volumes"][0];
    assert_eq!((&disk["name"], &disk["reads_per_s"], &disk["reading_ms"]), (&"disk".into(), &0.0.into(), &Value::Null));
    let uri = format!("--uri={}", server.uri("disk"));
    let reads = ["--name=reads", "--ioengine=nbd", &uri, "--rw=randread", "--bs=4k", "--size=16m", "--time_based"];
    let asked = Command::new("fio").args(reads).args(["--runtime=3"]).stdout(std::process::Stdio::null()).spawn();
    let mut asked = asked.expect("fio starts");
    patient("nothing is read", || top(&server, &["--once"])[0]["volumes"][0]["reads_per_s"].as_f64() > Some(1.0));
    let busy = &top(&server, &["--once"])[0]["volumes"][0];
    let told = |key: &str| busy[key].as_f64().expect("a number");
    assert!((told("read_mb_per_s") / (told("reads_per_s") * 4096e-6) - 1.0).abs() < 1e-9, "{busy}");
    assert!(busy["reading_ms"]["mean"].as_f64() > Some(0.0), "{busy}");
    asked.wait().expect("fio ends");
    let control = server.folder().join("control.sock").display().to_string();
    let mut watcher = Command::new(env!("CARGO_BIN_EXE_halfturn"));
    watcher.args(["top", "--interval", "100ms", "--control", &control]).stdout(std::process::Stdio::piped());
    let watcher = watcher.spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(1));
    server.end();
    let output = watcher.wait_with_output().expect("it ends");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && shown.matches("preemptions/s").count() > 1, "{shown}");
    assert!(!shown.contains('\x1b'), "this is no terminal");
}
