//! The sums of double parity once more, as their definition has them: without tables, and case by case (H. P. Anvin, The
//! mathematics of RAID-6).

/// The sum of all columns, or that of each times a power of x, byte by byte.
pub fn parity(columns: &[u64], parity: u16) -> u64 {
    // From the last column on: the sum so far times x, and the next.
    columns.iter().rev().fold(0, |sum, column| column ^ if parity == 0 { sum } else { double(sum) })
}

/// A column of a row from the rest of its slots, columns first; nothing where too much is missing.
pub fn recover(slots: &[Option<u64>], columns: usize, wanted: usize) -> Option<u64> {
    let known: Vec<u64> = slots[..columns].iter().map(|slot| slot.unwrap_or(0)).collect();
    let missing: Vec<usize> = (0..columns).filter(|column| slots[*column].is_none()).collect();
    let (p, q) = (slots[columns], slots.get(columns + 1).copied().flatten());
    // What of each parity the missing columns are.
    let (p, q) = (p.map(|p| p ^ parity(&known, 0)), q.map(|q| q ^ parity(&known, 1)));
    match (missing.as_slice(), p, q) {
        ([_], Some(p), _) => Some(p),
        ([_], None, Some(q)) => Some(times(q, inverse(power(wanted)))),
        ([x, y], Some(p), Some(q)) => {
            let other = power(if *x == wanted { *y } else { *x });
            // P is a + b, Q is x to the i times a and to the j times b.
            Some(times(q ^ times(p, other), inverse(power(wanted) ^ other)))
        }
        _ => None,
    }
}

/// Each byte times x.
fn double(bytes: u64) -> u64 {
    let carried = (bytes >> 7) & 0x0101_0101_0101_0101;
    ((bytes & 0x7f7f_7f7f_7f7f_7f7f) << 1) ^ (carried * 0x1d)
}

/// Each byte times a factor.
fn times(bytes: u64, factor: u8) -> u64 {
    (0..8).rev().fold(0, |sum, bit| double(sum) ^ if (factor >> bit) & 1 == 1 { bytes } else { 0 })
}

fn power(exponent: usize) -> u8 {
    (0..exponent).fold(1, |power, _| double(power)) as u8
}

fn inverse(factor: u8) -> u8 {
    (1..=255).find(|other| times(u64::from(factor), *other) == 1).expect("not zero")
}
