//! A drive file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = disk::Model::parse("fuzzed", "fuzzed.toml", text) {
        assert!(!error.to_string().is_empty());
    }
});
