//! A trace of the format its content shows: read, surveyed and written in other formats.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::{Cursor, sink};
use trace::TraceSurvey;
use trace::write::{TraceWriter, targets};

fuzz_target!(|data: &[u8]| {
    let Ok(mut trace) = trace::from_bytes("fuzzed", Cursor::new(data.to_vec()), None) else { return };
    let mut writers: Vec<TraceWriter> =
        targets().filter_map(|target| TraceWriter::new(target, sink()).expect("a sink takes all")).collect();
    let mut survey = TraceSurvey::new();
    while let Some(Ok(record)) = trace.next() {
        survey.add(&record);
        for writer in &mut writers {
            writer.put(&record, &trace.devices()[record.device.0 as usize]).expect("a sink takes all");
        }
    }
    let _ = trace.counts().notes();
    assert_eq!(survey.finish().requests, trace.counts().requests);
    for writer in writers {
        let _ = writer.finish().expect("a sink takes all").notes();
    }
});
