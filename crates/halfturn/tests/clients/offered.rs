//! What the server offers, as nbdinfo sees it.

use crate::server::Server;
use crate::tool::{have, output, run};
use serde_json::Value;

const NBDINFO: [(&str, &str); 1] = [("nbdinfo", "libnbd-bin")];

#[test]
fn nbdinfo_sees_every_volume_and_what_can_be_done_with_it() {
    if !have(&NBDINFO) {
        return;
    }
    let server = Server::start(64 << 20);
    let list = run(server.folder(), "nbdinfo", &["--list", "--json", &server.uri("")]);
    let list: Value = serde_json::from_str(&list).expect("nbdinfo writes JSON");
    let names: Vec<&str> =
        list["exports"].as_array().unwrap().iter().filter_map(|one| one["export-name"].as_str()).collect();
    assert_eq!(names, ["disk", "fixed", "view"]);
    for (name, read_only) in [("disk", false), ("", false), ("fixed", true), ("view", true)] {
        let told = run(server.folder(), "nbdinfo", &["--json", &server.uri(name)]);
        let told: Value = serde_json::from_str(&told).expect("nbdinfo writes JSON");
        assert_eq!(
            (&told["protocol"], &told["TLS"], &told["structured"]),
            (&"newstyle-fixed".into(), &false.into(), &true.into())
        );
        let export = &told["exports"][0];
        assert_eq!(export["contexts"], serde_json::json!(["base:allocation", "halfturn:rate"]));
        assert_eq!(export["is_read_only"], read_only);
        for flag in ["cache", "df", "fast_zero", "flush", "fua", "multi_conn", "trim", "zero"] {
            assert_eq!(export[format!("can_{flag}")], true, "{flag} of '{name}'");
        }
        assert_eq!(export["block_size_minimum"], 1);
        assert_eq!(export["block_size_maximum"], 64 << 20);
    }
    let size = run(server.folder(), "nbdinfo", &["--size", &server.uri("disk")]);
    assert_eq!(size.trim().parse(), Ok(server.bytes()));
    server.end();
}

#[test]
fn what_is_not_offered_is_refused_and_the_rest_still_served() {
    if !have(&NBDINFO) {
        return;
    }
    let server = Server::start(64 << 20);
    let refused = output(server.folder(), "nbdinfo", &[&server.uri("none")]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("export: none"), "{refused:?}");
    run(server.folder(), "nbdinfo", &[&server.uri("disk")]);
    server.end();
}
