//! Job files of fio: experiments, or refused with a mend.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(error) = load::experiment::parse_jobs("fuzzed.fio", text) {
        assert!(error.to_string().contains("mend: "));
    }
});
