//! A trace read as the format its first byte chooses.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let format = trace::formats().cycle().nth(usize::from(*choice)).expect("there are formats");
    let Ok(trace) = trace::from_bytes("fuzzed", Cursor::new(data.to_vec()), Some(format)) else { return };
    for record in trace {
        if let Err(error) = record {
            assert!(!error.to_string().is_empty());
        }
    }
});
