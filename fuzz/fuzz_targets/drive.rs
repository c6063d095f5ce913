//! A drive file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = disk::parse("fuzzed", "fuzzed.toml", text) {
        assert!(!error.to_string().is_empty());
    }
});
