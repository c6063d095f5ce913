//! Damaged files of every format: whatever the damage, a reader gives requests or an error, and never panics.
//!
//! A failure prints its seed; `HALFTURN_SEED` runs that one again.

use std::panic::{AssertUnwindSafe, catch_unwind};

use block::At;

use crate::fixtures::{examples, try_feed};
use crate::{Format, TraceSurvey, formats, open};

const ROUNDS: u64 = 300;

/// SplitMix64: enough for choosing where to damage.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit as u64) as usize
    }
}

/// Cuts, flips, overwrites, doubles or drops some bytes.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = dice.below(bytes.len());
        let until = at + dice.below(bytes.len() - at + 1);
        match dice.below(6) {
            0 => bytes.truncate(at),
            1 | 2 => bytes[at] ^= 1 << dice.below(8),
            3 => bytes[at] = *[0, 0xff, b'9', b'-', b'\n', b','].get(dice.below(6)).unwrap_or(&0),
            4 => drop(bytes.splice(at..at, bytes[at..until].to_vec()).collect::<Vec<_>>()),
            _ => drop(bytes.drain(at..until)),
        }
    }
}

/// Reads everything; gives the number of requests, or where the error is.
fn run(bytes: &[u8], format: Option<Format>) -> Result<usize, At> {
    let feed = try_feed(bytes).map_err(|_| At::File)?;
    let trace = open::read(feed, format, |feed| Ok(vec![feed])).map_err(|error| error.at)?;
    let mut survey = TraceSurvey::new();
    let mut count = 0;
    for record in trace {
        survey.add(&record.map_err(|error| error.at)?);
        count += 1;
    }
    let summary = survey.finish();
    assert_eq!(summary.requests, count as u64);
    Ok(count)
}

/// The file plain and in every packing.
fn packings(bytes: &[u8]) -> Vec<Vec<u8>> {
    use std::io::Read;
    let mut gz = Vec::new();
    let mut bz = Vec::new();
    let mut xz = Vec::new();
    flate2::read::GzEncoder::new(bytes, flate2::Compression::fast()).read_to_end(&mut gz).unwrap();
    bzip2::read::BzEncoder::new(bytes, bzip2::Compression::fast()).read_to_end(&mut bz).unwrap();
    liblzma::read::XzEncoder::new(bytes, 0).read_to_end(&mut xz).unwrap();
    vec![bytes.to_vec(), gz, bz, xz, zstd::stream::encode_all(bytes, 1).unwrap()]
}

#[test]
fn whole_files_read_in_every_packing_told_or_not() {
    for (format, example) in examples() {
        let expected = Ok(example.requests as usize);
        for packed in packings(example.bytes) {
            assert_eq!((run(&packed, None), run(&packed, Some(format))), (expected, expected), "{format}");
        }
    }
}

#[test]
fn forcing_another_format_is_an_error_or_harmless() {
    for (_, example) in examples() {
        for format in formats() {
            let _ = run(example.bytes, Some(format));
        }
    }
}

#[test]
fn damage_never_panics() {
    let given = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = given.map_or(1..ROUNDS, |seed: u64| seed..seed + 1);
    let files: Vec<(Format, Vec<u8>)> = examples()
        .flat_map(|(format, example)| packings(example.bytes).into_iter().map(move |packed| (format, packed)))
        .collect();
    for seed in seeds {
        for (index, (format, bytes)) in files.iter().enumerate() {
            let mut dice = Dice(seed.wrapping_mul(1 << 20).wrapping_add(index as u64));
            let mut damaged = bytes.clone();
            damage(&mut damaged, &mut dice);
            for told in [None, Some(*format)] {
                let result = catch_unwind(AssertUnwindSafe(|| run(&damaged, told)));
                assert!(result.is_ok(), "{format} panics when damaged: HALFTURN_SEED={seed}, file {index}, {told:?}");
            }
        }
    }
}
