//! A table of the Disk Mimic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match load::learned::parse("fuzzed.toml", text) {
        Err(error) => assert!(!error.to_string().is_empty()),
        Ok(learned) => {
            let _ = load::learned::write(&learned, "fuzzed");
            for distance in [i64::MIN, -1, 0, 1, i64::MAX] {
                let _ = learned.time(distance);
            }
        }
    }
});
