//! Real traces, which lie beside the repository and are no part of it: checked when they are there.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use block::{Lbn, Time};
use trace::{TraceReader, TraceRecord, TraceSummary, TraceSurvey, open};

/// The folder of traces beside the repository.
fn shared() -> Option<PathBuf> {
    beside("traces")
}

/// A folder of what lies beside the repository.
fn beside(name: &str) -> Option<PathBuf> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    // Past the capture of the test harness, which would hide it.
    let _ = writeln!(std::io::stderr(), "SKIPPED: ../shared is absent");
    None
}

fn read(path: &Path) -> (Vec<TraceRecord>, TraceReader, TraceSummary) {
    let mut trace = open(path, None).unwrap_or_else(|error| panic!("{error}"));
    let mut survey = TraceSurvey::new();
    let mut records = Vec::new();
    for record in trace.by_ref() {
        let record = record.unwrap_or_else(|error| panic!("{error}"));
        survey.add(&record);
        records.push(record);
    }
    (records, trace, survey.finish())
}

#[test]
fn public_samples_have_the_requests_they_should() {
    let Some(shared) = shared() else { return };
    let samples = [
        ("ajw.1week.srt", "srt", 44_519, 2),
        ("cloudPhysicsIO.vscsi", "vscsi", 113_872, 1),
        ("disksim-ascii.trace", "disksim", 100_000, 14),
        ("tpcc-small.trace", "disksim", 6_999, 16),
        ("wsrch-small.trace", "disksim", 24_783, 6),
        ("msr-cambridge1-sample.csv", "msr", 1_000, 0),
        ("systor17-additional-sample.csv.gz", "systor", 999, 0),
        ("systor17-traces-sample.csv.gz", "systor", 999, 0),
        ("tencent-cbs-sample.bz2", "tencent", 50_000, 0),
    ];
    for (name, format, requests, devices) in samples {
        let (records, trace, summary) = read(&shared.join("public").join(name));
        let counts = trace.counts();
        assert_eq!(trace.format().name(), format, "{name}");
        assert_eq!((counts.records, counts.requests), (requests, records.len() as u64), "{name}");
        assert_eq!(summary.requests, counts.requests, "{name}");
        assert_eq!(summary.devices.len(), trace.devices().len(), "{name}");
        assert!(devices == 0 || devices == trace.devices().len(), "{name}");
    }
}

#[test]
fn what_drives_did_reads_as_a_trace_and_as_rows() {
    let Some(folder) = beside("drives/disksim") else { return };
    for (name, rows, reads) in [
        ("atlas10k", 10_000, 6569),
        ("cheetah9LP", 10_000, 6594),
        ("hp_c3323a", 9_074, 6113),
        ("ibm18es", 10_000, 6582),
    ] {
        let path = folder.join(format!("{name}.trace"));
        let (records, trace, summary) = read(&path);
        let exchanges = trace::validate::load(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((trace.format().name(), records.len(), summary.reads), ("validate", rows, reads), "{name}");
        assert_eq!((exchanges.len(), trace.counts().requests), (rows, rows as u64), "{name}");
        for (record, exchange) in records.iter().zip(&exchanges) {
            assert_eq!((record.op, record.at, record.response), (exchange.op, exchange.at, Some(exchange.service)));
        }
    }
}

#[test]
fn the_hp_week_has_its_published_counts() {
    let Some(shared) = shared() else { return };
    let (records, trace, summary) = read(&shared.join("public/ajw.1week.srt"));
    assert_eq!(trace.devices(), ["1", "0"]);
    assert_eq!((summary.devices[1].requests, summary.devices[0].requests), (42_252, 2_267));
    assert_eq!((summary.reads, summary.writes), (13_040, 31_479));
    assert_eq!(summary.common_sizes[..3], [(16, 26_790), (4, 9_191), (2, 5_071)]);
    assert_eq!(trace.counts().unaligned, 0);
    assert_eq!(summary.responses.map(|responses| responses.count), Some(44_519));
    // The first record: sector 0x420 of 256 bytes, 4,096 bytes.
    assert_eq!((records[0].at.start, records[0].at.blocks), (Lbn(528), 8));
}

#[test]
fn cloud_physics_reaches_its_last_block() {
    let Some(shared) = shared() else { return };
    let (_, _, summary) = read(&shared.join("public/cloudPhysicsIO.vscsi"));
    assert!(summary.end.0.abs_diff(65_595_583) < 4096, "{}", summary.end.0);
}

#[test]
fn recorded_traces_read_alike_in_binary_and_text() {
    let Some(shared) = shared() else { return };
    for (name, records, orphans) in [("fio-mixed", 12_712, 1), ("git", 7_626, 4), ("sqlite", 13_204, 455)] {
        let folder = shared.join("recorded/blktrace");
        let stem = read(&folder.join(name));
        let one = read(&folder.join(format!("{name}.blktrace.1")));
        let text = read(&folder.join(format!("{name}.blkparse.txt.gz")));
        assert_eq!((stem.1.format().name(), text.1.format().name()), ("blktrace", "blkparse"));
        for trace in [&stem.1, &one.1, &text.1] {
            let counts = trace.counts();
            assert_eq!((counts.records, counts.orphan_completions), (records, orphans), "{name}");
            assert_eq!(trace.devices(), ["7,3"], "{name}");
        }
        assert_eq!(stem.0, one.0, "{name}");
        // blkparse counts time from the first event.
        let origin = stem.0[0].time;
        let shifted: Vec<TraceRecord> =
            stem.0.iter().map(|record| TraceRecord { time: Time(record.time.since(origin).0), ..*record }).collect();
        assert!(shifted == text.0, "{name}: binary and text differ");
    }
}
