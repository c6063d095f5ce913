//! DiskSim's parameter files.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    match disk::disksim::read("fuzzed.parv", bytes, Path::new("nowhere"), None) {
        Err(error) => assert!(!error.to_string().is_empty()),
        // Its blocks lie on it. What was read and is written is a drive again, unless it is longer than a drive file may be.
        Ok(import) => {
            let layout = &import.drive.sheet.mechanics.layout;
            for k in 0..=16 {
                let lbn = block::Lbn((u128::from(layout.blocks()) * k / 16) as u64);
                let spot = layout.locate(lbn);
                assert!(spot.left > 0 && spot.track.cylinder < layout.cylinders(), "{lbn:?}: {spot:?}");
                assert!(spot.track.head < layout.heads(), "{lbn:?}: {spot:?}");
            }
            let text = disk::write(&import.plan);
            if text.len() < 1 << 20 {
                disk::parse("fuzzed", "fuzzed.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            }
        }
    }
});
