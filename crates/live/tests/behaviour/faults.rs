//! Faults that a service file has come by themselves.

use crate::clients::request;
use crate::service::Running;
use live::{EngineMessage, VolumeReport};
use nbd::{Errno, RequestType};
use std::time::Duration;

const AT: u64 = 64 << 10;

/// A service of two volumes of 1 MiB on this device, with these faults.
fn service(path: &str, faults: &str) -> Running {
    let text = format!(
        "[drive]\npath = \"{path}\"\n[scheduler]\npolicy = \"fcfs\"\n[[volume]]\nname = \"a\"\nsize = \"1MiB\"\n\
         [[volume]]\nname = \"b\"\nsize = \"1MiB\"\n{faults}"
    );
    Running::new(&text, 1.0)
}

/// Reads a block of a volume so often; whether each was read.
fn read(service: &Running, volume: &str, from: u64, times: u64) -> Vec<bool> {
    let mut remote = service.connect(volume);
    remote.patience(Some(Duration::from_secs(60))).expect("a limit");
    let mut one = |cookie| {
        remote.send(request(RequestType::Read, cookie, from, 512), &[]).expect("sent");
        match remote.answer().expect("an answer").1 {
            Ok(_) => true,
            Err(error) => {
                assert_eq!(error, Errno::Io);
                false
            }
        }
    };
    (1..=times).map(&mut one).collect()
}

fn reports(service: &Running) -> Vec<VolumeReport> {
    service.caller().ask(EngineMessage::Volumes, Duration::from_secs(20)).expect("an answer")
}

#[test]
fn what_a_file_says_is_wrong_is_wrong_there_and_nowhere_else() {
    let file = std::env::temp_dir().join(format!("halfturn-faults-{}", std::process::id()));
    std::fs::File::create(&file).and_then(|file| file.set_len(2 << 20)).expect("a file");
    let faults = "
        [[fault]]\nvolume = \"a\"\nkind = \"error\"\nat = \"0s\"\noffset = \"64KiB\"\nsize = \"4KiB\"
        [[fault]]\nvolume = \"b\"\nkind = \"cut\"\nat = \"10000s\"";
    for path in ["ram:2MiB", "emulated:st318437lw", file.to_str().expect("UTF-8")] {
        let service = service(path, faults);
        assert_eq!(read(&service, "a", AT, 3), [false; 3], "{path}");
        for (volume, from) in [("a", AT - 512), ("a", AT + 4096), ("b", AT)] {
            assert_eq!(read(&service, volume, from, 1), [true], "{path} {volume} {from}");
        }
        let told = reports(&service)[0].json();
        assert_eq!((&told["fault"], &told["faults"][0]["offset"]), (&"error 1 of 1".into(), &AT.into()), "{told}");
        assert_eq!((&told["faults"][0]["since_s"], &told["faults"][0]["table"]), (&0.0.into(), &1.into()), "{told}");
        assert_eq!(reports(&service)[1].json()["fault"], serde_json::Value::Null);
        service.stop();
    }
    std::fs::remove_file(&file).expect("the file");
}

#[test]
fn what_waits_for_a_fault_that_ends_is_done_when_it_has() {
    let stall = "[[fault]]\nvolume = \"a\"\nkind = \"stall\"\nat = \"0s\"\nfor = \"400ms\"\n";
    let service = service("ram:2MiB", stall);
    assert_eq!(read(&service, "a", AT, 1), [true]);
    let faults = reports(&service)[0].faults.clone();
    assert_eq!(faults, [], "it was read while it stalled");
    service.stop();
}

#[test]
fn the_same_seed_fails_the_same_requests() {
    let failed = |seed: u64| {
        let faults =
            format!("[run]\nseed = {seed}\n[[fault]]\nvolume = \"a\"\nkind = \"error\"\nat = \"0s\"\none_of = 3\n");
        let service = service("ram:2MiB", &faults);
        let failed = read(&service, "a", AT, 60);
        service.stop();
        failed
    };
    let first = failed(1);
    assert!(first.iter().filter(|read| !**read).count() > 5, "{first:?}");
    assert_eq!(first, failed(1));
    assert_ne!(first, failed(2));
}
