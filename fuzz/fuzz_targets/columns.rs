//! What a user says of the columns of a table.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(what) = text.parse::<trace::ColumnMap>() {
        assert!(!what.is_empty());
    }
});
