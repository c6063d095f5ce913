//! Whatever stands on the log of an array's write buffer, though its checksums agree, it is read or refused, and nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    live::read_log(bytes);
});
