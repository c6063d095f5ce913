//! Estimates that a few wild values do not move.

use std::cmp::Ordering;

/// Nanoseconds of a millisecond.
pub const NS_PER_MS: f64 = 1e6;
/// Nanoseconds of a second.
pub const NS_PER_S: f64 = 1e9;
/// The standard deviation of a normal distribution, of its median absolute deviation: 1 / Φ⁻¹(3/4).
const SIGMA_OF_DEVIATION: f64 = 1.4826;

fn order(a: &f64, b: &f64) -> Ordering {
    a.total_cmp(b)
}

/// The value at a share of the way through, in ascending order; zero of none.
#[must_use]
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(order);
    let last = sorted.len().saturating_sub(1);
    sorted.get((share * last as f64 + 0.5) as usize).copied().unwrap_or(0.0)
}

/// The middle value; zero of none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// The standard deviation of a normal distribution with this median absolute deviation.
#[must_use]
pub fn spread(values: &[f64]) -> f64 {
    let middle = median(values);
    SIGMA_OF_DEVIATION * median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

/// The least and the greatest; of none (`f64::MAX`, `f64::MIN`).
pub(crate) fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, f64::MIN), |(least, most), value| (least.min(value), most.max(value)))
}

/// Milliseconds, to the nanosecond.
#[must_use]
pub fn round_ns(ms: f64) -> f64 {
    libm::round(ms * NS_PER_MS) / NS_PER_MS
}

/// An angle in revolutions, as a fraction in [0, 1).
#[must_use]
pub fn fraction(revolutions: f64) -> f64 {
    let fraction = revolutions - libm::floor(revolutions);
    if fraction < 1.0 { fraction } else { 0.0 }
}

/// An angle in revolutions, as a signed fraction in [-0.5, 0.5).
#[must_use]
pub fn signed_fraction(revolutions: f64) -> f64 {
    fraction(revolutions + 0.5) - 0.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wild_value_moves_neither_middle_nor_spread() {
        let values = [1.0, 2.0, 3.0, 4.0, 1e9];
        assert_eq!(median(&values), 3.0);
        assert!(spread(&values) < 2.0);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn angles_wrap_both_ways() {
        assert!((fraction(-0.25) - 0.75).abs() < 1e-12);
        assert!((signed_fraction(0.75) + 0.25).abs() < 1e-12);
        assert_eq!(fraction(-1e-20), 0.0);
    }
}
