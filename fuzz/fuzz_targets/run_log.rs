//! A log of a live run.

#![no_main]

use libfuzzer_sys::fuzz_target;
use live::log::{MAGIC, LogReader, LogRecord, LogWriter};
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let bytes = [&MAGIC[..], bytes].concat();
    let Ok((head, mut log)) = LogReader::new(Path::new("fuzzed"), &bytes) else { return };
    let mut writer = LogWriter::new(&head);
    while let Ok(Some(record)) = log.read() {
        match record {
            LogRecord::Input(now, input) => writer.input(now, &input),
            LogRecord::Action(action) => writer.action(&action),
        }
    }
    assert!(LogReader::new(Path::new("written"), &writer.take()).is_ok());
});
