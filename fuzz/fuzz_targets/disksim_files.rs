//! The files DiskSim's parameters name: seek times and maps.

#![no_main]

use disk::disksim;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = disksim::seeks("fuzzed.seek", bytes) {
        assert!(!error.to_string().is_empty());
    }
    match disksim::runs("fuzzed.raw", bytes, 2) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(runs) => assert!(runs.len() <= bytes.len()),
    }
});
