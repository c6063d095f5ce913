//! An experiment file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = load::experiment::parse("fuzzed.toml", text, &[], None) {
        assert!(!error.to_string().is_empty());
    }
});
