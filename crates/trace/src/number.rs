//! Numbers as traces write them: whole numbers, and times as decimals that become whole nanoseconds without
//! passing through a float; and extents of any unit, widened to whole blocks.

use block::{BLOCK_BYTES, Extent};

use crate::reader::Fault;

/// A unit of time, as the power of ten of nanoseconds it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum TimeUnit {
    Ns = 0,
    /// Windows FILETIME ticks of 100 ns.
    Ticks = 2,
    Us = 3,
    Ms = 6,
    S = 9,
}

/// Nanoseconds of the decimal `text` in `unit`, to the nearest; an exponent (`1.5e-05`) may follow.
#[inline(always)]
pub(crate) fn time(name: &str, text: &[u8], unit: TimeUnit) -> Result<u64, Fault> {
    if let Some(ns) = ordinary(text, unit) {
        return Ok(ns);
    }
    let (digits, power) = match memchr::memchr2(b'e', b'E', text) {
        None => (text, unit as i32),
        Some(e) => (&text[..e], unit as i32 + exponent(&text[e + 1..]).ok_or_else(|| not_a_number(name, text))?),
    };
    let ns = scale(digits, power).ok_or_else(|| not_a_number(name, text))?;
    ns.ok_or_else(|| {
        Fault::with_mend(
            format!("{name} '{}' is more nanoseconds than 64 bits hold", quote(text)),
            "times end 584 years after the origin; shift them all to a nearer one",
        )
    })
}

/// The same for a decimal that needs no care: no exponent, no rounding, no overflow. Nearly all are such.
#[inline(always)]
fn ordinary(text: &[u8], unit: TimeUnit) -> Option<u64> {
    if text.is_empty() || text.len() > SAFE_DIGITS {
        return None;
    }
    let scaled = |value: u64, power: u32| value.checked_mul(*POWERS.get(power as usize)?);
    if let Some(value) = plain(text) {
        return scaled(value, unit as u32);
    }
    let (mut value, mut point) = (0u64, None);
    for (at, byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value * 10 + u64::from(digit);
        } else if *byte == b'.' && point.is_none() && text.len() > 1 {
            point = Some(at);
        } else {
            return None;
        }
    }
    let fraction = point.map_or(0, |point| text.len() - point - 1);
    scaled(value, (unit as u32).checked_sub(fraction as u32)?)
}

/// Powers of ten, as far as units of time go.
const POWERS: [u64; 10] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// So many digits cannot overflow 64 bits.
const SAFE_DIGITS: usize = 19;

/// `digits` with an optional fraction times 10^`power`, rounded; outer `None` if it is no such number, inner if
/// it is too large.
fn scale(digits: &[u8], power: i32) -> Option<Option<u64>> {
    let (whole, fraction) = match digits.iter().position(|byte| *byte == b'.') {
        None => (digits, &[][..]),
        Some(dot) => (&digits[..dot], &digits[dot + 1..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // Digits before `point` count whole; the one at it rounds; those after it only have to be digits.
    let point = whole.len() as i64 + i64::from(power);
    let mut value = Some(0u64);
    let mut place = 0i64;
    for byte in whole.iter().chain(fraction) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        if place < point {
            value = value.and_then(|value| value.checked_mul(10)?.checked_add(u64::from(digit)));
        } else if place == point && digit >= 5 {
            value = value.and_then(|value| value.checked_add(1));
        }
        place += 1;
    }
    while place < point && value != Some(0) && value.is_some() {
        value = value.and_then(|value| value.checked_mul(10));
        place += 1;
    }
    Some(value)
}

fn exponent(text: &[u8]) -> Option<i32> {
    let (sign, digits) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        rest => (1, rest),
    };
    (digits.len() <= 3).then(|| plain(digits))?.map(|value| sign * value as i32)
}

/// Parses a whole number; `name` is the column's, for the message.
#[inline(always)]
pub(crate) fn whole(name: &str, text: &[u8]) -> Result<u64, Fault> {
    plain(text).ok_or_else(|| not_a_number(name, text))
}

/// A hexadecimal number, with or without `0x`.
pub(crate) fn hexadecimal(name: &str, text: &[u8]) -> Result<u32, Fault> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    let value = (!digits.is_empty() && digits.len() <= 8)
        .then(|| digits.iter().try_fold(0, |value, byte| Some(value << 4 | (*byte as char).to_digit(16)?)))
        .flatten();
    value.ok_or_else(|| not_a_number(name, text))
}

#[inline(always)]
fn plain(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    if text.len() <= SAFE_DIGITS {
        let (eights, rest) = text.as_chunks();
        let (mut value, mut worst) = (0u64, 0);
        for digits in eights {
            value = value * 100_000_000 + eight(*digits)?;
        }
        for byte in rest {
            let digit = byte.wrapping_sub(b'0');
            worst = worst.max(digit);
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        }
        return (worst <= 9).then_some(value);
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 { None } else { value.checked_mul(10)?.checked_add(u64::from(digit)) }
    })
}

/// The value of eight digits: of all pairs at once, then of pairs of those, then of both halves.
fn eight(text: [u8; 8]) -> Option<u64> {
    const ONES: u64 = u64::MAX / 0xFF;
    let digits = u64::from_le_bytes(text) ^ (ONES * u64::from(b'0'));
    // What is more than 9 reaches the highest bit of its byte, or has it.
    if (digits | digits.wrapping_add(ONES * 0x76)) & (ONES * 0x80) != 0 {
        return None;
    }
    let pairs = (digits * 10 + (digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some((fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF)
}

/// Says which kind of no number it is.
#[cold]
fn not_a_number(name: &str, text: &[u8]) -> Fault {
    let shown = quote(text);
    match text {
        [] => Fault::new(format!("{name} is missing")),
        [b'-', rest @ ..] if scale(rest, 0).is_some() => {
            let what = format!("{name} '{shown}' is negative");
            match name {
                "time" => {
                    Fault::with_mend(what, "correct the line; if the times start before their origin, shift them all")
                }
                _ => Fault::new(what),
            }
        }
        _ if !text.is_empty() && text.iter().all(u8::is_ascii_digit) => {
            Fault::new(format!("{name} '{shown}' does not fit 64 bits"))
        }
        _ => Fault::new(format!("{name} '{shown}' is not a number")),
    }
}

/// Text from a file, safe and short enough to show.
pub(crate) fn quote(text: &[u8]) -> String {
    const SHOWN: usize = 40;
    let cut = if text.len() > SHOWN { "..." } else { "" };
    format!("{}{cut}", text[..text.len().min(SHOWN)].escape_ascii())
}

/// The largest block number plus one that a trace may speak of: byte addresses fit a signed 64-bit number
/// (Linux's `loff_t`), so that whoever converts blocks to bytes cannot overflow.
const MAX_END: u128 = (1 << 63) / BLOCK_BYTES as u128;

/// Whole blocks covering `length` times `length_unit` bytes from `start` times `start_unit` bytes; the flag
/// says that they cover more. No bytes are no blocks, wherever they stand.
#[inline]
pub(crate) fn extent(start: u64, start_unit: u32, length: u64, length_unit: u32) -> Result<(Extent, bool), Fault> {
    const BLOCK: u128 = BLOCK_BYTES as u128;
    let from = u128::from(start) * u128::from(start_unit);
    let to = from + u128::from(length) * u128::from(length_unit);
    let (first, end) = (from / BLOCK, to.div_ceil(BLOCK));
    if end > MAX_END {
        return Err(Fault::new(format!("the request ends at block {end}, beyond any device")));
    }
    let blocks = u32::try_from(end - first)
        .map_err(|_| Fault::new(format!("the request is {} blocks long, more than 32 bits hold", end - first)))?;
    if length == 0 {
        return Ok((Extent::new(first as u64, 0), false));
    }
    Ok((Extent::new(first as u64, blocks), from % BLOCK != 0 || to % BLOCK != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        let ns = |text: &str, unit| time("time", text.as_bytes(), unit);
        assert_eq!(ns("13.191135", TimeUnit::Ms), Ok(13_191_135));
        assert_eq!(ns("128166385295514663", TimeUnit::Ticks), Ok(12_816_638_529_551_466_300));
        assert_eq!(ns("1455591804.310701000", TimeUnit::S), Ok(1_455_591_804_310_701_000));
        assert_eq!(ns("0.0000000005", TimeUnit::S), Ok(1));
        assert_eq!(ns("0.00000000049999", TimeUnit::S), Ok(0));
        assert_eq!(ns("1e-05", TimeUnit::S), Ok(10_000));
        assert_eq!(ns("1.25E+2", TimeUnit::Us), Ok(125_000));
        assert_eq!(ns(".5", TimeUnit::Ms), Ok(500_000));
        assert_eq!(ns("7.", TimeUnit::Ns), Ok(7));
        assert_eq!(ns("0", TimeUnit::S), Ok(0));
        assert_eq!(ns("4e-999", TimeUnit::S), Ok(0));
        for bad in ["", "-1", "NaN", "inf", "1.2.3", ".", "1e", "1e9999", "0x10", "18446744074", "9e300", "1 "] {
            assert!(ns(bad, TimeUnit::S).is_err(), "{bad}");
        }
    }

    #[test]
    fn digits_of_any_length_are_a_number_and_no_other_byte_among_them() {
        for length in 1..=19 {
            let digits: Vec<u8> = (0..length).map(|i| b'0' + ((i * 7 + length + 2) % 10) as u8).collect();
            let text = std::str::from_utf8(&digits).unwrap();
            assert_eq!(plain(&digits), text.parse().ok(), "{text}");
            for (at, byte) in (0..length).flat_map(|at| (0..=u8::MAX).map(move |byte| (at, byte))) {
                let mut other = digits.clone();
                other[at] = byte;
                assert_eq!(plain(&other).is_some(), byte.is_ascii_digit(), "{byte} at {at} of {text}");
            }
        }
    }

    #[test]
    fn numbers_say_what_is_wrong_with_them() {
        let what = |text: &str| whole("size", text.as_bytes()).unwrap_err().what;
        assert_eq!(what("-8"), "size '-8' is negative");
        assert_eq!(what(""), "size is missing");
        assert_eq!(what("8x"), "size '8x' is not a number");
        assert_eq!(what("99999999999999999999"), "size '99999999999999999999' does not fit 64 bits");
        assert_eq!(hexadecimal("flags", b"0x1B"), Ok(27));
        assert!(hexadecimal("flags", b"g").is_err() && hexadecimal("flags", b"123456789").is_err());
    }

    #[test]
    fn odd_ranges_widen_outward() {
        assert_eq!(extent(3, 256, 512, 1), Ok((Extent::new(1, 2), true)));
        assert_eq!(extent(4, 256, 2048, 1), Ok((Extent::new(2, 4), false)));
        assert_eq!(extent(100, 1, 1, 1), Ok((Extent::new(0, 1), true)));
        assert_eq!(extent(3, 256, 0, 1), Ok((Extent::new(1, 0), false)));
        assert!(extent(u64::MAX, 512, u64::MAX, 512).is_err());
        assert!(extent(0, 512, 1 << 32, 512).is_err());
    }
}
