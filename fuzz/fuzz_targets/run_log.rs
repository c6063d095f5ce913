//! A log of a live run.

#![no_main]

use libfuzzer_sys::fuzz_target;
use live::log::{MAGIC, Reader, Record, Writer};
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let bytes = [&MAGIC[..], bytes].concat();
    let Ok((head, mut log)) = Reader::new(Path::new("fuzzed"), &bytes) else { return };
    let mut writer = Writer::new(&head);
    while let Ok(Some(record)) = log.read() {
        match record {
            Record::Input(now, input) => writer.input(now, &input),
            Record::Action(action) => writer.action(&action),
        }
    }
    assert!(Reader::new(Path::new("written"), &writer.take()).is_ok());
});
