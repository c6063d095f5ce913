//! A captured drive.

#![no_main]

use libfuzzer_sys::fuzz_target;
use load::capture::DriveCapture;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(capture) = DriveCapture::parse("fuzzed", bytes) {
        assert_eq!(DriveCapture::parse("written", capture.text().as_bytes()).as_ref(), Ok(&capture));
    }
});
