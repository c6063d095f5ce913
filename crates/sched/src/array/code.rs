//! What a row's parities are sums of, and how what is missing of a row follows from the rest.
//!
//! The *slots* of a row are its columns, then its parities. Each parity is an equation: some multiple of every slot, in sum
//! zero. P has each column once, Q the column of number c times x to the c (Anvin, The mathematics of RAID-6). A missing slot
//! follows from an equation in which no other missing one counts; with two missing, from the sum of both, weighted so that one of
//! the two cancels.

use super::field::Factor;

/// Slots of a row: bit s is slot s.
pub(super) type Slots = u64;

pub(super) fn bit(slot: u16) -> Slots {
    1 << slot
}

/// The first slots, so many.
pub(super) fn first(slots: u16) -> Slots {
    Slots::MAX.checked_shr(Slots::BITS.saturating_sub(slots.into())).unwrap_or(0)
}

pub(super) fn each(slots: Slots) -> impl Iterator<Item = u16> {
    let mut left = slots;
    std::iter::from_fn(move || {
        let slot = left.trailing_zeros();
        (left != 0).then(|| {
            left &= left - 1;
            slot as u16
        })
    })
}

/// The equations of rows of so many columns and parities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) columns: u16,
    pub(super) parities: u16,
}

/// A sum of a row's equations, weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Equation {
    code: Code,
    weights: [Factor; 2],
}

impl Code {
    pub(super) fn slots(self) -> Slots {
        first(self.columns + self.parities)
    }

    pub(super) fn columns(self) -> Slots {
        first(self.columns)
    }

    /// How often a slot counts in the equation of a parity.
    pub(super) fn factor(self, parity: u16, slot: u16) -> Factor {
        match slot.checked_sub(self.columns) {
            None if parity == 0 => Factor::ONE,
            None => Factor::power(slot),
            Some(other) if other == parity => Factor::ONE,
            Some(_) => Factor::ZERO,
        }
    }

    /// What a slot follows from, of what is not among these; nothing where too much is missing.
    pub(super) fn solve(self, slot: u16, missing: Slots) -> Option<Equation> {
        let others = missing & !bit(slot);
        let [p, q] = [0, 1].map(|parity| self.factor(parity, slot));
        let weights = match (others.count_ones(), self.parities) {
            (0, 1 | 2) if p == Factor::ONE => [Factor::ONE, Factor::ZERO],
            (0, 2) => [Factor::ZERO, Factor::ONE],
            (1, 2) => {
                let other = others.trailing_zeros() as u16;
                let [other_p, other_q] = [0, 1].map(|parity| self.factor(parity, other));
                let determinant = p * other_q + q * other_p;
                [other_q / determinant, other_p / determinant]
            }
            _ => return None,
        };
        Some(Equation { code: self, weights })
    }
}

impl Equation {
    /// How often a slot counts in it.
    pub(super) fn factor(self, slot: u16) -> Factor {
        let [p, q] = self.weights;
        p * self.code.factor(0, slot) + q * self.code.factor(1, slot)
    }

    /// The slots that count in it.
    pub(super) fn terms(self) -> Slots {
        each(self.code.slots()).filter(|slot| self.factor(*slot) != Factor::ZERO).map(bit).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_slots_as_there_may_be_disks_have_a_bit_each() {
        for slots in [1, 2, 63, 64] {
            assert_eq!(each(first(slots)).collect::<Vec<_>>(), (0..slots).collect::<Vec<_>>());
        }
    }

    /// A row of these columns, with its parities.
    fn row(code: Code, columns: &[u8]) -> Vec<u8> {
        let sum = |parity| {
            let terms = (0..).zip(columns).map(|(column, byte)| code.factor(parity, column) * Factor(*byte));
            terms.fold(Factor::ZERO, |sum, term| sum + term).0
        };
        columns.iter().copied().chain((0..code.parities).map(sum)).collect()
    }

    #[test]
    fn every_set_of_slots_that_may_be_missing_follows_from_the_rest() {
        for (columns, parities) in [(2, 1), (7, 1), (63, 1), (2, 2), (3, 2), (6, 2), (30, 2), (62, 2)] {
            let code = Code { columns, parities };
            let bytes: Vec<u8> = (0..columns).map(|column| (column * 73 + 41) as u8).collect();
            let row = row(code, &bytes);
            for a in each(code.slots()) {
                for b in each(code.slots()) {
                    let missing = bit(a) | bit(b);
                    let Some(equation) = code.solve(a, missing) else {
                        assert!(a != b && parities == 1, "{code:?}: {a} with {b}");
                        continue;
                    };
                    assert_eq!(equation.factor(a), Factor::ONE, "{code:?}: {a} with {b}");
                    assert_eq!(equation.terms() & missing, bit(a), "{code:?}: {a} with {b}");
                    let terms = each(equation.terms() & !bit(a))
                        .map(|slot| equation.factor(slot) * Factor(row[usize::from(slot)]));
                    assert_eq!(terms.fold(Factor::ZERO, |sum, term| sum + term).0, row[usize::from(a)]);
                }
            }
        }
    }

    #[test]
    fn one_missing_column_is_read_without_the_second_parity() {
        let code = Code { columns: 4, parities: 2 };
        assert_eq!(code.solve(2, bit(2)).map(Equation::terms), Some(first(5)));
        assert_eq!(code.solve(0, first(3)), None);
    }
}
