//! The one parser of quantities written with their unit.
//!
//! Sizes: `B`, `kB MB GB TB` (powers of 10^3), `KiB MiB GiB TiB` (powers of 2^10), `blocks` (512 B);
//! a size is a whole number of blocks. Times: `ns us ms s min h d`. Rates: a number over a time unit (`10/s`).
//! Each function returns what is wrong, with the mend in the same sentence; the caller names the place.

use crate::{BLOCK_BYTES, Span};

const SIZES: [(&str, u64); 10] = [
    ("blocks", BLOCK_BYTES),
    ("B", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

const TIMES: [(&str, f64); 8] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9), ("d", 86400e9)];

/// Splits `12.5 MiB` into 12.5 and `MiB`.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | '_'))).unwrap_or(text.len());
    let number: f64 = text[..split].replace('_', "").parse().ok()?;
    number.is_finite().then_some((number, text[split..].trim()))
}

/// A size in blocks of 512 bytes, e.g. `4KiB`, `2 MB`, `100 blocks`.
///
/// # Errors
/// When there is no number or no known unit, it is negative, or it is not a whole number of blocks.
pub fn blocks(text: &str) -> Result<u64, String> {
    let blocks = parts_of_blocks(text)?;
    if blocks.fract() != 0.0 {
        return Err(format!(
            "'{text}' is {} bytes, not a whole number of 512-byte sectors; KiB is 2^10 bytes, kB is 10^3",
            blocks * BLOCK_BYTES as f64
        ));
    }
    Ok(blocks as u64)
}

/// The same of a size that people round, such as the capacity of a drive: as many whole blocks as it holds.
///
/// # Errors
/// When there is no number or no known unit, or it is negative.
pub fn blocks_in(text: &str) -> Result<u64, String> {
    Ok(parts_of_blocks(text)? as u64)
}

fn parts_of_blocks(text: &str) -> Result<f64, String> {
    let (number, unit) =
        number_and_unit(text).ok_or_else(|| format!("'{text}' is not a size; write one like 4KiB or 100 blocks"))?;
    if number < 0.0 {
        return Err(format!("'{text}' is negative; a size is zero or more"));
    }
    if unit.is_empty() {
        return Err(format!("'{text}' has no unit; write {text}KiB, {text}B or {text} blocks"));
    }
    let Some(scale) = SIZES.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale) else {
        return Err(format!("'{unit}' is not a unit of size; use B, kB, MB, GB, TB, KiB, MiB, GiB, TiB or blocks"));
    };
    let blocks = number * scale as f64 / BLOCK_BYTES as f64;
    if blocks > 2f64.powi(53) { Err(format!("'{text}' is larger than any drive")) } else { Ok(blocks) }
}

/// A duration, e.g. `1.5ms`, `600s`.
///
/// # Errors
/// When there is no number or no known unit, it is negative, or it is longer than 500 years.
pub fn span(text: &str) -> Result<Span, String> {
    let (number, unit) =
        number_and_unit(text).ok_or_else(|| format!("'{text}' is not a time; write one like 1.5ms or 600s"))?;
    if number < 0.0 {
        return Err(format!("'{text}' is negative; a time is zero or more"));
    }
    if unit.is_empty() {
        return Err(format!("'{text}' has no unit; write {text}s or {text}ms"));
    }
    let ns = number * time_unit(unit)?;
    if ns > 1.5e19 { Err(format!("'{text}' is too long")) } else { Ok(Span((ns + 0.5) as u64)) }
}

/// A rate per second, e.g. `10/s`, `6/min`.
///
/// # Errors
/// When it is not a positive number over a unit of time.
pub fn rate(text: &str) -> Result<f64, String> {
    let bad = || format!("'{text}' is not a rate; write one like 10/s");
    let (number, unit) = text.split_once('/').ok_or_else(bad)?;
    let number: f64 = number.trim().parse().map_err(|_| bad())?;
    if !(number.is_finite() && number > 0.0) {
        return Err(format!("'{text}' is not a positive rate; write one like 10/s"));
    }
    Ok(number * 1e9 / time_unit(unit.trim())?)
}

fn time_unit(unit: &str) -> Result<f64, String> {
    TIMES
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, scale)| *scale)
        .ok_or_else(|| format!("'{unit}' is not a unit of time; use ns, us, ms, s, min, h or d"))
}

/// A number of blocks as people read it: `4 KiB`, `18.4 GB`.
#[must_use]
pub fn show_blocks(blocks: u64) -> String {
    let bytes = blocks * BLOCK_BYTES;
    if bytes < 100 << 20 {
        for (name, scale) in [("MiB", 1u64 << 20), ("KiB", 1 << 10)] {
            if bytes >= scale && bytes.is_multiple_of(scale) {
                return format!("{} {name}", bytes / scale);
            }
        }
    }
    show_bytes(bytes as f64)
}

/// A time as people plan by it: `42.0 s`, `21.4 min`, `30.5 h`, `4.2 days`.
#[must_use]
pub fn show_long(span: Span) -> String {
    let seconds = span.as_secs();
    for (name, scale) in [("days", 86_400.0), ("h", 3600.0), ("min", 60.0)] {
        // Two of a unit at least: 90 minutes, not 1.5 h.
        if seconds >= 2.0 * scale {
            return format!("{:.1} {name}", seconds / scale);
        }
    }
    format!("{seconds:.1} s")
}

/// A number of bytes in powers of 10^3: `18.4 GB`.
#[must_use]
pub fn show_bytes(bytes: f64) -> String {
    for (name, scale) in [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] {
        if bytes >= scale {
            return format!("{:.1} {name}", bytes / scale);
        }
    }
    format!("{bytes} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_blocks_with_a_unit() {
        assert_eq!(blocks("4KiB"), Ok(8));
        assert_eq!(blocks("2 MiB"), Ok(4096));
        assert_eq!(blocks("100 blocks"), Ok(100));
        assert_eq!(blocks("0.5KiB"), Ok(1));
        assert_eq!(blocks("64kB"), Ok(125));
        assert_eq!(blocks_in("535MB"), Ok(1_044_921));
        for bad in ["4096", "50kB", "-4KiB", "4 KB", "KiB", "1e400 TB", ""] {
            assert!(blocks(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_quantity_is_said() {
        let says = |result: Result<u64, String>, what: &str| {
            let error = result.expect_err(what);
            assert!(error.contains(what), "{error} / {what}");
        };
        let ns = |text| span(text).map(|span| span.0);
        says(blocks("x"), "is not a size");
        says(blocks("-4KiB"), "is negative");
        says(blocks("4096"), "'4096' has no unit; write 4096KiB, 4096B or 4096 blocks");
        says(blocks("4 KB"), "'KB' is not a unit of size");
        says(blocks("9007199254740994 blocks"), "is larger than any drive");
        says(blocks("50kB"), "is 50000 bytes, not a whole number of 512-byte sectors");
        says(ns("s"), "is not a time");
        says(ns("-1s"), "is negative");
        says(ns("10"), "'10' has no unit; write 10s or 10ms");
        says(ns("3 weeks"), "'weeks' is not a unit of time");
        says(ns("9999999999999d"), "is too long");
        says(rate("10").map(|_| 0), "is not a rate");
        says(rate("x/s").map(|_| 0), "is not a rate");
        says(rate("0/s").map(|_| 0), "is not a positive rate");
        says(rate("10/kg").map(|_| 0), "'kg' is not a unit of time");
    }

    #[test]
    fn nothing_is_a_quantity_and_the_largest_drive_is_one() {
        assert_eq!((blocks("0 blocks"), span("0s")), (Ok(0), Ok(Span::ZERO)));
        assert_eq!(blocks("9007199254740992 blocks"), Ok(1 << 53));
    }

    #[test]
    fn every_unit_has_its_scale() {
        let sizes = ["512B", "64kB", "8MB", "8GB", "8TB", "1KiB", "1MiB", "1GiB", "1TiB", "7 blocks"].map(blocks);
        assert_eq!(sizes, [1, 125, 15_625, 15_625_000, 15_625_000_000, 2, 2048, 2 << 20, 2 << 30, 7].map(Ok));
        let times = ["1ns", "1us", "1ms", "1s", "1min", "1h", "1d"].map(|text| span(text).map(|span| span.0));
        assert_eq!(
            times,
            [1, 1000, 1_000_000, 1_000_000_000, 60_000_000_000, 3_600_000_000_000, 86_400_000_000_000].map(Ok)
        );
        assert_eq!(span("1.6ns"), Ok(Span(2)), "the nearest nanosecond");
    }

    #[test]
    fn times_have_a_unit_and_no_sign() {
        assert_eq!(span("1.5ms"), Ok(Span(1_500_000)));
        assert_eq!(span("10 min"), Ok(Span(600_000_000_000)));
        for bad in ["10", "-1s", "3 weeks", "s", "9999999999999d"] {
            assert!(span(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_are_positive_and_per_time() {
        assert_eq!(rate("10/s"), Ok(10.0));
        assert_eq!(rate("6/min"), Ok(0.1));
        for bad in ["10", "0/s", "-1/s", "10/kg", "x/s"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn shows_round_sizes_in_binary_and_large_ones_in_decimal() {
        assert_eq!(show_blocks(8), "4 KiB");
        assert_eq!(show_blocks(35_842_652), "18.4 GB");
        assert_eq!([2047, 2048, 3, 1].map(show_blocks), ["1.0 MB", "1 MiB", "1.5 kB", "512 B"]);
        assert_eq!([204_799 - 1, 204_800].map(show_blocks), ["102399 KiB", "104.9 MB"], "binary up to 100 MiB");
        assert_eq!([999.0, 1e3, 1e6, 1e9, 1e12].map(show_bytes), ["999 B", "1.0 kB", "1.0 MB", "1.0 GB", "1.0 TB"]);
    }

    #[test]
    fn long_times_are_told_in_the_largest_unit_of_which_there_are_two() {
        let told = |seconds: u64| show_long(Span(seconds * 1_000_000_000));
        assert_eq!([42, 119, 120, 7199, 7200].map(told), ["42.0 s", "119.0 s", "2.0 min", "120.0 min", "2.0 h"]);
        assert_eq!([172_799, 172_800, 864_000].map(told), ["48.0 h", "2.0 days", "10.0 days"]);
    }
}
