//! Whatever a guest writes into the memory of its disk's queue, it is served or refused, and nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    live::serve_guest(bytes, |cookie| cookie % 2 == 1);
});
