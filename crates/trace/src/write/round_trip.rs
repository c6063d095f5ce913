//! What is written reads back: the same requests, but for what the format is known not to hold.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use block::{Extent, Op, Span, Time};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::fixtures::{examples, feed};
use crate::open;
use crate::reader::{TraceDevice, TraceRecord};
use crate::write::{Lost, TraceWriter, WritableFormat, Writing, targets};

/// Bytes that can still be reached once they were given away.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

type Named = (TraceRecord, String);

pub(crate) fn written(name: &str, records: &[Named]) -> (Vec<u8>, Lost) {
    let out = Shared::default();
    let mut writer = TraceWriter::new(name.parse().unwrap(), out.clone()).unwrap().expect("it is built in");
    for (record, device) in records {
        writer.put(record, device).unwrap();
    }
    let lost = writer.finish().unwrap();
    let bytes = out.0.lock().unwrap().clone();
    (bytes, lost)
}

fn read_back(bytes: &[u8]) -> Vec<Named> {
    let mut trace = open::read(feed(bytes), None, |feed| Ok(vec![feed])).unwrap_or_else(|error| panic!("{error}"));
    let mut records = Vec::new();
    while let Some(record) = trace.next() {
        let record = record.unwrap_or_else(|error| panic!("{error}"));
        records.push((record, trace.devices()[record.device.0 as usize].clone()));
    }
    assert!(trace.counts().notes().is_empty(), "{:?}", trace.counts());
    records
}

/// What is compared: the devices are the same, but need not have the same numbers.
fn seen(records: &[Named]) -> Vec<(Time, &str, Op, Extent)> {
    records.iter().map(|(record, device)| (record.time, device.as_str(), record.op, record.at)).collect()
}

/// A request as a format holds it.
fn held(target: WritableFormat, (record, device): &Named) -> Option<Named> {
    let Writing { flushes, whole, resolution_ns, .. } = *target.writing;
    if record.op == Op::Flush && !flushes {
        return None;
    }
    let mut held = *record;
    if !whole {
        (held.op, held.response) = (if held.op.writes() { Op::Write { fua: false } } else { held.op }, None);
    }
    let step = u128::from(resolution_ns);
    held.time = Time(((u128::from(held.time.0) + step / 2) / step * step) as u64);
    Some((held, device.clone()))
}

/// The formats that this build writes, and reads.
fn both_ways() -> impl Iterator<Item = WritableFormat> {
    targets().filter(|target| target.writing.open.is_some())
}

fn check(records: &[Named]) {
    for target in both_ways() {
        let wanted: Vec<Named> = records.iter().filter_map(|record| held(target, record)).collect();
        let (bytes, lost) = written(target.name(), records);
        assert_eq!((lost.written, lost.flushes), (wanted.len() as u64, (records.len() - wanted.len()) as u64));
        if !wanted.is_empty() {
            assert_eq!(seen(&read_back(&bytes)), seen(&wanted), "{target:?}");
            assert!(lost.renamed.is_empty());
        }
        let rounded = wanted.iter().zip(records.iter().filter(|record| held(target, record).is_some()));
        assert_eq!(lost.rounded, rounded.filter(|(held, record)| held.0.time != record.0.time).count() as u64);
    }
}

/// Times stay this far below the end of 64 bits, so that none is rounded past it.
const LAST: u64 = u64::MAX - 1000;

prop_compose! {
    fn record()(
        time in prop_oneof![0..LAST, 0..1_000_000u64, Just(LAST)],
        device in 0u32..4,
        op in prop_oneof![
            Just(Op::Read), Just(Op::Write { fua: false }), Just(Op::Write { fua: true }), Just(Op::Flush)
        ],
        start in prop_oneof![0..1u64 << 53, 0..1000u64],
        blocks in prop_oneof![1..=u32::MAX, 1..100u32],
        response in proptest::option::of(0..u64::MAX),
    ) -> Named {
        let at = if op == Op::Flush { Extent::default() } else { Extent::new(start, blocks) };
        let record = TraceRecord { time: Time(time), device: TraceDevice(device), op, at, response: response.map(Span) };
        (record, (7 * device).to_string())
    }
}

/// `HALFTURN_SEED` chooses other requests.
#[test]
fn any_requests_read_back() {
    let seed = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let config = Config { cases: 200, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    let result = TestRunner::new(config).run(&proptest::collection::vec(record(), 1..40), |records| {
        check(&records);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}\nHALFTURN_SEED={seed}");
    }
}

#[test]
fn a_trace_of_every_format_reads_back() {
    for (format, example) in examples() {
        let trace = open::read(feed(example.bytes), Some(format), |feed| Ok(vec![feed])).unwrap();
        let mut records = Vec::new();
        for record in trace {
            // By number, so that no device needs another name.
            let record = record.unwrap();
            records.push((record, record.device.0.to_string()));
        }
        assert!(!records.is_empty(), "{format}");
        check(&records);
    }
}

#[test]
fn what_is_lost_is_counted() {
    let at = Extent::new(8, 8);
    let record =
        |time, op, at| TraceRecord { time: Time(time), device: TraceDevice(0), op, at, response: Some(Span(5)) };
    let records = [
        (record(1_500, Op::Write { fua: true }, at), "8,0".to_owned()),
        (record(2_000, Op::Flush, Extent::default()), "8,0".into()),
        (record(2_000, Op::Read, Extent::new(8, 1 << 23)), "8,0".into()),
    ];
    let (bytes, lost) = written("disksim", &records);
    assert_eq!(String::from_utf8(bytes).unwrap(), "0.001500 0 8 8 0\n0.002000 0 8 8388608 1\n");
    let renamed = vec![("8,0".to_owned(), "0".to_owned())];
    assert_eq!(lost, Lost { written: 2, flushes: 1, fua: 1, responses: 2, renamed, ..Lost::default() });
    let (bytes, lost) = written("iolog", &records);
    let expected = "fio version 3 iolog\n2 8,0 add\n2 8,0 open\n2 8,0 write 4096 4096\n2 8,0 sync 0 0\n\
                    2 8,0 read 4096 4294967296\n2 8,0 close\n";
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    assert_eq!(lost, Lost { written: 3, fua: 1, responses: 3, rounded: 1, long: 1, ..Lost::default() });
}
