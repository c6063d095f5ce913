//! Division by a number known beforehand, as a multiplication: the mapping of a block divides twice.

/// Divides 32-bit numbers by a fixed one (Lemire, Kaser and Kurz, "Faster remainder by direct computation").
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    value: u32,
    /// ⌈2⁶⁴ ÷ value⌉, or zero for 1.
    reciprocal: u64,
}

impl Divisor {
    /// A divisor, which is not zero.
    pub(crate) fn new(value: u32) -> Divisor {
        Divisor { value, reciprocal: (u64::MAX / u64::from(value)).wrapping_add(1) }
    }

    pub(crate) fn value(self) -> u32 {
        self.value
    }

    /// The quotient and remainder of `number` by this divisor.
    pub(crate) fn divide(self, number: u32) -> (u32, u32) {
        if self.reciprocal == 0 {
            return (number, 0);
        }
        let quotient = ((u128::from(self.reciprocal) * u128::from(number)) >> 64) as u32;
        (quotient, number - quotient * self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_divides_as_division_does(number: u32, value in 1..u32::MAX) {
            for value in [value, value % 1000 + 1, u32::MAX, 1] {
                prop_assert_eq!(Divisor::new(value).divide(number), (number / value, number % value));
            }
        }
    }
}
