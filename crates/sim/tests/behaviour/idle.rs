//! Idle time spent on probes: a device is known sooner, nothing else changes but where requests find the arm, and all of its
//! time is still accounted for.

use crate::files::{Folder, once, results};
use load::results::Run;
use std::fmt::Write as _;

/// A trace of 50 reads of 4 KiB every two seconds, somewhere in 50 MB (DiskSim's ASCII).
fn bursts(count: u64) -> String {
    let mut dice = 3u64;
    let mut text = String::new();
    for i in 0..50 * count {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let _ = writeln!(text, "{}.0 0 {} 8 1", i / 50 * 2000, 819_200 + 8 * ((dice >> 33) % 12_800));
    }
    text
}

/// 1000 requests of such bursts after `warmup` seconds of them, on a drive with a queue.
fn run(model: &str, queue: u32, mimic: &str, warmup: u64) -> Run {
    let folder = Folder::new(&format!("idle-{model}-{queue}-{warmup}-{}", mimic.len()));
    let file = folder.file("bursts.trace", &bursts(warmup / 2 + 30));
    let text = format!(
        "[drive]\nmodel = \"{model}\"\nqueue = {queue}\n[scheduler]\npolicy = \"smtf\"\nmimic = {{ grain = \"4KiB\", {mimic} }}\n\
         [[workload]]\nname = \"bursts\"\nkind = \"trace\"\nfile = \"{file}\"\n[run]\nwarmup = \"{warmup}s\"\nrequests = 1000\n"
    );
    results(&text).runs.remove(0)
}

fn mean(run: &Run) -> f64 {
    run.classes["bursts"].response_ms.mean
}

const PLAIN: &str = "learn = \"online-set\"";
const PROBING: &str = "learn = \"online-set\", probe_after = \"20ms\"";

#[test]
fn with_probes_in_idle_time_a_device_is_known_after_far_fewer_requests() {
    let fresh = mean(&run("ibm-9lzx", 1, "learn = \"off-line\", reach = \"64MiB\"", 10));
    let [soon, later] = [400, 1200].map(|warmup| mean(&run("ibm-9lzx", 1, PLAIN, warmup)) / fresh);
    let probing = mean(&run("ibm-9lzx", 1, PROBING, 400)) / fresh;
    println!(
        "after 10,000 requests {probing:.3} of a table learned before; without probes {soon:.3}, after 30,000 {later:.3}"
    );
    assert!(probing < 1.05, "{probing} of a table learned before");
    assert!(later > 1.05 && soon > 1.15, "without probes {soon}, then {later}: there is nothing to gain");
}

#[test]
fn probes_are_background_and_no_time_is_lost() {
    for (model, queue) in [("ibm-9lzx", 1), ("nl20", 8), ("mirror-atlas10k", 2), ("flash-x25m", 4)] {
        let [plain, probing] = [PLAIN, PROBING].map(|mimic| run(model, queue, mimic, 20));
        let count = |run: &Run| (run.requests, run.commands.count);
        assert_eq!(count(&plain), count(&probing), "{model}");
        assert!(plain.learned.as_ref().unwrap().idle_probes.is_none());
        assert!(probing.learned.as_ref().unwrap().idle_probes.is_some_and(|probes| probes > 2000), "{model}");
        for disk in plain.disks.iter().chain(&probing.disks) {
            let parts: f64 = disk.parts.values().sum();
            assert!((parts - disk.busy).abs() < 1e-9, "{model}: parts {parts}, busy {}", disk.busy);
            assert!((disk.busy + disk.background + disk.idle - 1.0).abs() < 1e-9, "{model}: {disk:?}");
        }
        let (plain, probing) = (&plain.disks[0], &probing.disks[0]);
        // What is read takes room in the drive's cache: requests may find less in it.
        assert!(probing.busy < 2.0 * plain.busy && probing.background > 0.5, "{model}: {plain:?}, {probing:?}");
    }
}

#[test]
fn a_run_ends_with_its_last_request() {
    let text = |mimic: &str| {
        format!(
            "[drive]\nmodel = \"atlas10k\"\n[scheduler]\npolicy = \"smtf\"\n{mimic}\n[[workload]]\nname = \"week\"\n\
             kind = \"cello-like\"\ndays = 1\ntime_scale = 200\n[run]\n"
        )
    };
    let [plain, probing] =
        ["", "mimic = { probe_after = \"1s\" }"].map(|mimic| once(&text(mimic)).meter.time_measured().as_secs());
    assert!((plain - probing).abs() < 2.0, "{plain} s, with probes {probing} s");
}
