//! The field of 256 elements that double parity is summed in: bytes as polynomials over two elements, modulo
//! x⁸ + x⁴ + x³ + x² + 1, in which x generates all but zero. The same as of Linux' md (H. P. Anvin, The mathematics of RAID-6).

use std::ops::{Add, Div, Mul};

/// What x⁸ is, less x⁸ itself.
const REDUCTION: u8 = 0x1d;
/// How many elements there are beside zero.
const ORDER: usize = 255;

/// The powers of x, and the exponent of each element but zero.
const TABLES: ([Factor; ORDER], [u8; ORDER + 1]) = {
    let (mut powers, mut exponents) = ([Factor::ONE; ORDER], [0; ORDER + 1]);
    let (mut element, mut exponent) = (1u8, 0);
    while exponent < ORDER {
        powers[exponent] = Factor(element);
        exponents[element as usize] = exponent as u8;
        element = (element << 1) ^ if element >> 7 == 1 { REDUCTION } else { 0 };
        exponent += 1;
    }
    (powers, exponents)
};

/// An element of the field: what a term of a parity is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor(pub u8);

impl Factor {
    /// What leaves nothing of a term.
    pub const ZERO: Factor = Factor(0);
    /// What leaves a term as it is.
    pub const ONE: Factor = Factor(1);

    /// A power of x: what a column of that number is multiplied by in the second parity.
    #[must_use]
    pub fn power(exponent: u16) -> Factor {
        TABLES.0[usize::from(exponent) % ORDER]
    }

    fn exponent(self) -> usize {
        TABLES.1[usize::from(self.0)].into()
    }

    /// Adds these bytes, each multiplied by the factor, to others; of two lengths, as many as the shorter has.
    pub fn add_multiple(self, from: &[u8], into: &mut [u8]) {
        let pairs = into.iter_mut().zip(from);
        match self {
            Factor::ZERO => {}
            Factor::ONE => pairs.for_each(|(sum, byte)| *sum ^= byte),
            _ => {
                let mut products = [0; ORDER + 1];
                products.iter_mut().zip(0..=u8::MAX).for_each(|(product, byte)| *product = (self * Factor(byte)).0);
                pairs.for_each(|(sum, byte)| *sum ^= products[usize::from(*byte)]);
            }
        }
    }
}

impl Add for Factor {
    type Output = Factor;

    #[expect(clippy::suspicious_arithmetic_impl, reason = "a sum of polynomials over two elements carries nothing")]
    fn add(self, other: Factor) -> Factor {
        Factor(self.0 ^ other.0)
    }
}

impl Mul for Factor {
    type Output = Factor;

    fn mul(self, other: Factor) -> Factor {
        match (self, other) {
            (Factor::ZERO, _) | (_, Factor::ZERO) => Factor::ZERO,
            _ => TABLES.0[(self.exponent() + other.exponent()) % ORDER],
        }
    }
}

impl Div for Factor {
    type Output = Factor;

    /// By zero it is zero: nobody divides by that.
    fn div(self, other: Factor) -> Factor {
        debug_assert!(other != Factor::ZERO, "division by zero");
        match (self, other) {
            (Factor::ZERO, _) | (_, Factor::ZERO) => Factor::ZERO,
            _ => TABLES.0[(ORDER + self.exponent() - other.exponent()) % ORDER],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product as it is defined: a polynomial's, then what is left of it.
    fn defined(a: u8, b: u8) -> u8 {
        let product = (0..8).filter(|bit| b >> bit & 1 == 1).fold(0u16, |sum, bit| sum ^ (u16::from(a) << bit));
        let modulus = 0x100 | u16::from(REDUCTION);
        (8..16).rev().fold(product, |left, bit| if left >> bit & 1 == 1 { left ^ modulus << (bit - 8) } else { left })
            as u8
    }

    #[test]
    fn products_are_those_of_the_definition_and_quotients_undo_them() {
        for a in 0..=u8::MAX {
            for b in 0..=u8::MAX {
                let product = Factor(a) * Factor(b);
                assert_eq!(product, Factor(defined(a, b)), "{a} times {b}");
                assert_eq!(product, Factor(b) * Factor(a));
                if b != 0 {
                    assert_eq!(product / Factor(b), Factor(a), "{a} times {b} by {b}");
                }
            }
        }
    }

    #[test]
    fn products_distribute_over_sums_and_associate() {
        for a in (0..=u8::MAX).map(Factor) {
            for b in (0..=u8::MAX).step_by(7).map(Factor) {
                for c in (0..=u8::MAX).step_by(11).map(Factor) {
                    assert_eq!(a * (b + c), a * b + a * c);
                    assert_eq!(a * (b * c), (a * b) * c);
                }
            }
        }
    }

    #[test]
    fn the_powers_of_x_are_all_but_zero() {
        let mut powers: Vec<u8> = (0..255).map(|exponent| Factor::power(exponent).0).collect();
        assert_eq!(powers[..9], [1, 2, 4, 8, 16, 32, 64, 128, 0x1d]);
        powers.sort_unstable();
        assert_eq!(powers, (1..=255).collect::<Vec<u8>>());
    }

    #[test]
    fn bytes_are_added_as_their_elements_are() {
        let from: Vec<u8> = (0..=255).collect();
        for factor in [0, 1, 2, 0x8e, 255].map(Factor) {
            let mut into: Vec<u8> = from.iter().map(|byte| byte.wrapping_mul(37)).collect();
            let sums: Vec<u8> =
                from.iter().zip(&into).map(|(byte, into)| (factor * Factor(*byte) + Factor(*into)).0).collect();
            factor.add_multiple(&from, &mut into);
            assert_eq!(into, sums, "{factor:?}");
        }
    }
}
