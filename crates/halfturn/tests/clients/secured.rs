//! TLS: clients of others, with certificates and without, against a server that wants them.

use crate::certificates::Certificates;
use crate::server::patient;
use crate::tool::{have, output, run};
use std::fs::Permissions;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const HALFTURN: &str = env!("CARGO_BIN_EXE_halfturn");
const TOOLS: [(&str, &str); 2] = [("openssl", "openssl"), ("nbdinfo", "libnbd-bin")];
/// Bytes of each volume.
const BYTES: usize = 16 << 20;

/// A server of three volumes: `all` for whoever is let in, `alice` and `bob` for those who show these names.
struct Secured {
    child: Child,
    port: u16,
    folder: std::path::PathBuf,
}

impl Secured {
    fn start(certificates: &Certificates, lines: &str) -> Secured {
        let folder = certificates.folder().to_owned();
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let text = format!(
            r#"
            drive = {{ path = "ram:{}B" }}
            scheduler = {{ policy = "fcfs" }}
            volume = [
                {{ name = "all", size = "{BYTES}B" }},
                {{ name = "alice", size = "{BYTES}B", clients = ["alice"] }},
                {{ name = "bob", size = "{BYTES}B", clients = ["bob@example.com", "nobody"] }},
            ]
            [serve]
            socket = "nbd.sock"
            certificates = "."
            {lines}
            "#,
            3 * BYTES
        );
        let text = text.replace("PORT", &port.to_string());
        fs::write(folder.join("service.toml"), text).expect("a file");
        let log = File::create(folder.join("log")).expect("a file");
        let mut command = Command::new(HALFTURN);
        command.args(["serve", "service.toml"]).current_dir(&folder).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.stderr(log).spawn().expect("the server starts");
        let server = Secured { child, port, folder };
        patient("the server does not listen", || server.log().contains("serving"));
        server
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The URI of a volume by its UNIX socket, for a client with these certificates.
    fn uri(&self, volume: &str, client: &Path) -> String {
        format!("nbds+unix:///{volume}?socket={}&tls-certificates={}", self.socket(), client.display())
    }

    fn socket(&self) -> String {
        self.folder.join("nbd.sock").display().to_string()
    }

    /// Whether a client may have a volume: its size, or why not.
    fn size(&self, uri: &str) -> Result<usize, String> {
        let output = output(&self.folder, "nbdinfo", &["--size", uri]);
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim().parse().expect("a size")),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Holds that the log tells of a refusal.
    fn expect_refusal(&self, why: &str) {
        patient(&format!("the log does not say '{why}': {}", self.log()), || {
            self.log().lines().any(|line| line.contains("was refused") && line.contains(why))
        });
    }

    fn end(mut self) {
        let told = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(told.is_ok_and(|status| status.success()), "the server is still there");
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "the server ends with {status}: {}", self.log());
    }
}

impl Drop for Secured {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_client_has_what_a_name_in_its_certificate_opens() {
    if !have(&TOOLS) {
        return;
    }
    let certificates = Certificates::make();
    let alice = certificates.known("alice", "/CN=alice", "");
    let bob = certificates.known("bob", "/O=x/CN=bob", "subjectAltName=DNS:b.example.com,email:bob@example.com");
    let server = Secured::start(&certificates, "tcp = \"0.0.0.0:PORT\"");
    for (client, volume, opens) in [
        (&alice, "all", true),
        (&alice, "", true),
        (&alice, "alice", true),
        (&alice, "bob", false),
        (&bob, "all", true),
        (&bob, "alice", false),
        (&bob, "bob", true),
    ] {
        let tcp = format!("nbds://localhost:{}/{volume}?tls-certificates={}", server.port, client.display());
        for uri in [server.uri(volume, client), tcp] {
            match server.size(&uri) {
                Ok(size) => assert!(opens && size == BYTES, "{uri}: {size}"),
                Err(why) => assert!(!opens && why.contains("policy"), "{uri}: {why}"),
            }
        }
    }
    let listed = run(&server.folder, "nbdinfo", &["--list", "--json", &server.uri("", &alice)]);
    assert!(listed.contains("\"alice\"") && !listed.contains("\"bob\""), "{listed}");
    server.expect_refusal("no name in the client's certificate opens this export");
    server.end();
}

#[test]
fn what_is_copied_and_verified_in_tls_is_whole() {
    if !have(&[&TOOLS[..], &[("nbdcopy", "libnbd-bin"), ("qemu-img", "qemu-utils"), ("fio", "fio")]].concat()) {
        return;
    }
    let certificates = Certificates::make();
    let alice = certificates.known("alice", "/CN=alice", "");
    let server = Secured::start(&certificates, "tcp = \"127.0.0.1:PORT\"");
    let bytes: Vec<u8> = (0..BYTES as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(server.folder.join("in"), &bytes).expect("a file");
    let uri = server.uri("alice", &alice);
    run(&server.folder, "nbdcopy", &["--flush", "in", &uri]);
    run(&server.folder, "nbdcopy", &[&uri, "out"]);
    assert!(fs::read(server.folder.join("out")).expect("a file") == bytes, "nbdcopy");
    let credentials = format!("tls-creds-x509,id=tls,endpoint=client,dir={}", alice.display());
    let image = format!(
        "driver=nbd,server.type=inet,server.host=localhost,server.port={},export=alice,tls-creds=tls",
        server.port
    );
    run(
        &server.folder,
        "qemu-img",
        &["convert", "--object", &credentials, "--image-opts", &image, "-O", "raw", "converted"],
    );
    assert!(fs::read(server.folder.join("converted")).expect("a file") == bytes, "qemu-img");
    // fio names no folder: libnbd looks in the one of the user, and does not where that is root.
    let home = server.folder.join("home/.pki");
    fs::create_dir_all(&home).expect("a folder");
    std::os::unix::fs::symlink(&alice, home.join("libnbd")).expect("a link");
    fs::set_permissions(alice.join("client-key.pem"), Permissions::from_mode(0o644)).expect("ours");
    let home = format!("HOME={}", server.folder.join("home").display());
    let uri = format!("--uri=nbds://localhost:{}/alice", server.port);
    let mut job = vec!["--reuid=65534", "--regid=65534", "--clear-groups", "env", &home, "fio", "--name=tls"];
    job.extend(["--ioengine=nbd", &uri, "--rw=randwrite", "--bssplit=512/20:4k/40:64k/20:1m/20", "--iodepth=32"]);
    job.extend(["--size=16m", "--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0", "--randseed=1"]);
    let is_root = fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0);
    let said = if is_root { run(&server.folder, "setpriv", &job) } else { run(&server.folder, "env", &job[4..]) };
    assert!(said.contains("err= 0"), "{said}");
    server.end();
}

#[test]
fn whoever_is_not_who_they_must_be_is_refused_and_the_log_says_why() {
    if !have(&TOOLS) {
        return;
    }
    let certificates = Certificates::make();
    let alice = certificates.known("alice", "/CN=alice", "");
    certificates.known("gone", "/CN=alice", "");
    let (expired, unknown) = (certificates.expired("expired"), certificates.unknown("unknown"));
    let (nameless, distrustful) = (certificates.nameless(), certificates.distrustful());
    certificates.revoke("gone");
    let server = Secured::start(&certificates, "handshake = \"1s\"\ntcp = \"127.0.0.1:PORT\"");
    let revoked = certificates.folder().join("client-gone");
    for (client, why) in
        [(&expired, "Expired"), (&nameless, "no certificates"), (&revoked, "Revoked"), (&distrustful, "TLS")]
    {
        let refused = server.size(&server.uri("all", client)).expect_err("it is refused");
        assert!(!refused.is_empty());
        server.expect_refusal(why);
    }
    // libnbd shows no certificate of an authority that the server does not name; ours shows what it has.
    output(&server.folder, HALFTURN, &["bench", &server.uri("all", &unknown)]);
    server.expect_refusal("UnknownIssuer");
    let plain = server.size(&format!("nbd+unix:///all?socket={}", server.socket())).expect_err("it is refused");
    assert!(plain.contains("TLS") || plain.contains("policy"), "{plain}");
    server.expect_refusal("this needs TLS");
    for (what, why) in [(&b"not a record of TLS, however long it is"[..], "TLS"), (&b""[..], "in the middle")] {
        let mut client = in_the_middle(server.port);
        client.write_all(what).expect("sent");
        if what.is_empty() {
            client.shutdown(std::net::Shutdown::Both).expect("shut");
        } else {
            let mut rest = Vec::new();
            let _ = client.read_to_end(&mut rest);
            assert_eq!(rest.first(), Some(&21), "an alert of TLS");
        }
        server.expect_refusal(why);
    }
    // One who says a byte a while is not waited for, and nobody waits for one.
    let mut slow = in_the_middle(server.port);
    let since = std::time::Instant::now();
    while since.elapsed().as_secs() < 10 && slow.write_all(&[22]).is_ok() {
        assert_eq!(server.size(&server.uri("all", &alice)), Ok(BYTES));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(since.elapsed().as_secs() < 5, "it was heard for {:?}", since.elapsed());
    server.end();
}

/// A client to whom the server has just agreed to speak TLS.
fn in_the_middle(port: u16) -> TcpStream {
    let mut client = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    client.write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0").expect("sent");
    let mut said = [0; 18 + 20];
    client.read_exact(&mut said).expect("a greeting and an answer");
    client
}

#[test]
fn where_tls_is_offered_only_what_names_its_clients_needs_it() {
    if !have(&TOOLS) {
        return;
    }
    let certificates = Certificates::make();
    let (alice, nameless) = (certificates.known("alice", "/CN=alice", ""), certificates.nameless());
    let server = Secured::start(&certificates, "tls = \"offered\"\nverify_clients = false");
    let plain = |volume: &str| server.size(&format!("nbd+unix:///{volume}?socket={}", server.socket()));
    assert_eq!(plain("all"), Ok(BYTES));
    assert!(plain("alice").is_err());
    assert_eq!(server.size(&server.uri("alice", &alice)), Ok(BYTES));
    assert_eq!(server.size(&server.uri("all", &nameless)), Ok(BYTES));
    assert!(server.size(&server.uri("alice", &nameless)).is_err());
    server.end();
}

#[test]
fn bench_asks_in_tls_and_says_why_it_cannot() {
    if !have(&TOOLS) {
        return;
    }
    let certificates = Certificates::make();
    let alice = certificates.known("alice", "/CN=alice", "");
    let (distrustful, expired) = (certificates.distrustful(), certificates.expired("expired"));
    let server = Secured::start(&certificates, "tcp = \"0.0.0.0:PORT\"");
    let tcp = format!("nbds://localhost:{}/alice?tls-certificates={}", server.port, alice.display());
    for uri in [server.uri("alice", &alice), tcp.clone()] {
        fs::write(server.folder.join("asked.toml"), ASKED).expect("a file");
        let said = run(&server.folder, HALFTURN, &["bench", &uri, "asked.toml"]);
        assert!(said.contains("fcfs        2,000"), "{said}");
        assert!(!said.contains("busy"), "nobody knows that of a server: {said}");
    }
    // By its address the server is not known, nor by an authority that is none.
    let unnamed = tcp.replace("localhost", "127.0.0.2");
    for (uri, why) in [
        (server.uri("alice", &distrustful), "UnknownIssuer"),
        (server.uri("all", &expired), "CertificateExpired"),
        (unnamed, "not valid for name"),
        (server.uri("bob", &alice), "no name in the client's certificate"),
        (format!("nbd+unix:///alice?socket={}", server.socket()), "this needs TLS"),
        (server.uri("alice", Path::new("nowhere")), "no ca-cert.pem"),
    ] {
        let refused = output(&server.folder, HALFTURN, &["bench", &uri]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains(why) && said.contains("mend"), "{uri}: {said}");
    }
    server.end();
}

#[test]
fn certificates_are_read_again_on_sighup() {
    if !have(&TOOLS) {
        return;
    }
    let certificates = Certificates::make();
    let (alice, gone) = (certificates.known("alice", "/CN=alice", ""), certificates.known("gone", "/CN=alice", ""));
    let server = Secured::start(&certificates, "");
    let size = |client: &Path| server.size(&server.uri("all", client));
    let hang_up = |told: &str| {
        let before = server.log().len();
        let signalled = Command::new("kill").args(["-HUP", &server.child.id().to_string()]).status();
        assert!(signalled.is_ok_and(|status| status.success()), "the server is there");
        patient(&format!("it does not say '{told}'"), || server.log()[before..].contains(told));
    };
    assert_eq!(size(&gone), Ok(BYTES));
    hang_up("nothing has changed");
    certificates.revoke("gone");
    assert_eq!(size(&gone), Ok(BYTES), "nobody has looked yet");
    hang_up("certificates were read again");
    assert!(size(&gone).is_err() && size(&alice) == Ok(BYTES));
    server.expect_refusal("Revoked");
    let shown = certificates.folder().join("server-cert.pem");
    let good = fs::read(&shown).expect("a certificate");
    fs::write(&shown, &good[..good.len() / 2]).expect("a file");
    hang_up("certificates are as before");
    assert_eq!(size(&alice), Ok(BYTES));
    fs::write(&shown, good).expect("a file");
    hang_up("nothing has changed");
    assert!(!server.log().contains("clients refuse it"), "{}", server.log());
    certificates.expired("expired");
    certificates.show("expired");
    hang_up("server-cert.pem: clients refuse it: it has expired\n  mend: ");
    hang_up("clients refuse it: it has expired");
    server.end();
}

#[test]
fn a_certificate_that_clients_refuse_is_told_from_the_start() {
    if !have(&TOOLS) {
        return;
    }
    let certificates = Certificates::make();
    certificates.known("asker", "/CN=localhost", "extendedKeyUsage=clientAuth");
    certificates.show("asker");
    let server = Secured::start(&certificates, "");
    let log = server.log();
    assert!(log.contains("server-cert.pem: clients refuse it: it is not for a server\n  mend: "), "{log}");
    server.end();
}

const ASKED: &str = r#"
drive = { path = "ram:16MiB" }
scheduler = { policy = "fcfs" }
run = { requests = 2000 }
[[workload]]
name = "mixed"
kind = "closed"
depth = 16
size = "64KiB"
read = 0.5
"#;

/// How the last client of the volume `all` is served, as the control socket lists it.
fn connected(server: &Secured) -> serde_json::Value {
    let listed = run(&server.folder, HALFTURN, &["volume", "list", "--control", "control.sock", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    listed["volumes"][0]["connected"].as_array().and_then(|all| all.last()).expect("a client").clone()
}

#[test]
fn a_client_is_served_by_the_name_in_its_certificate() {
    if !have(&TOOLS[..1]) {
        return;
    }
    let certificates = Certificates::make();
    let alice = certificates.known("alice", "/CN=alice", "");
    let bob = certificates.known("bob", "/O=x/CN=bob", "subjectAltName=DNS:b.example.com,email:bob@example.com");
    let rules = "control = \"control.sock\"
        [[client]]\ncertificate = \"bob@example.com\"\npriority = 3
        [[client]]\nvolume = \"all\"\ncertificate = \"alice\"\npriority = 9\ndeadline = \"30s\"";
    let server = Secured::start(&certificates, rules);
    patient("there is no control socket", || server.folder.join("control.sock").exists());
    for (client, names, priority, deadline) in [
        (&alice, vec!["alice"], 9, serde_json::json!(30_000.0)),
        (&bob, vec!["bob", "b.example.com", "bob@example.com"], 3, serde_json::Value::Null),
    ] {
        let uri = server.uri("all", client).parse::<nbd::Uri>().expect("a URI");
        let _stays = live::Remote::connect(&uri).expect("it is let in");
        patient("it is not listed", || connected(&server)["certificate"] == serde_json::json!(names));
        let told = connected(&server);
        assert_eq!((&told["priority"], &told["deadline_ms"]), (&priority.into(), &deadline), "{told}");
    }
    server.end();
}
