//! What of the arm's time each class caused, by what it went to.

use crate::results::ArmSeconds;
use block::Span;

/// What the arm's time went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmPart {
    /// Until the head is on the track: command overhead, seek, settling, switches of heads.
    Seek,
    /// Until the blocks come round.
    Rotation,
    /// Until they have passed, and the bus has them.
    Transfer,
    /// Writing back what the drive had buffered, while a command waited for that or while there was none.
    WriteBack,
    /// The way back to a request that this class interrupted.
    Detour,
    /// Commands in the slack before another's seek: time that nobody lost.
    Slack,
}

/// How many parts there are.
pub const ARM_PARTS: usize = ArmPart::Slack as usize + 1;

/// The names of the parts, in their order.
pub const PART_NAMES: [&str; ARM_PARTS] = ["seek", "rotation", "transfer", "write_back", "detour", "slack"];

/// The arm's time by class and part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bills {
    classes: Vec<[Span; ARM_PARTS]>,
}

impl Bills {
    /// Bills a class for a part.
    pub fn add(&mut self, class: u8, part: ArmPart, span: Span) {
        let class = usize::from(class);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, [Span::ZERO; ARM_PARTS]);
        }
        self.classes[class][part as usize] += span;
    }

    /// What a class caused, by part.
    #[must_use]
    pub fn of(&self, class: usize) -> [Span; ARM_PARTS] {
        self.classes.get(class).copied().unwrap_or([Span::ZERO; ARM_PARTS])
    }

    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> Span {
        self.classes.iter().flatten().copied().sum()
    }

    /// Adds those of another run.
    pub fn merge(&mut self, other: &Bills) {
        if self.classes.len() < other.classes.len() {
            self.classes.resize(other.classes.len(), [Span::ZERO; ARM_PARTS]);
        }
        for (class, other) in self.classes.iter_mut().zip(&other.classes) {
            class.iter_mut().zip(other).for_each(|(part, other)| *part += *other);
        }
    }

    /// What a class caused, as results have it.
    pub(crate) fn seconds(&self, class: usize) -> ArmSeconds {
        let [seek, rotation, transfer, write_back, detour, slack] = self.of(class).map(Span::as_secs);
        ArmSeconds { seek, rotation, transfer, write_back, detour, slack }
    }
}

/// Divides a span by weights, without a remainder.
pub fn divide(span: Span, weights: &[u64], mut each: impl FnMut(usize, Span)) {
    let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let (mut sum, mut given) = (0, 0);
    for (place, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0) {
        sum += u128::from(*weight);
        let until = (u128::from(span.0) * sum / total) as u64;
        each(place, Span(until - given));
        given = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_divided_adds_up_and_goes_by_weight() {
        let mut shares = [0; 4];
        divide(Span(1_000_003), &[1, 0, 2, 4], |place, span| shares[place] = span.0);
        assert_eq!(shares.iter().sum::<u64>(), 1_000_003);
        assert!(shares[1] == 0 && shares[2].abs_diff(2 * shares[0]) <= 2 && shares[3].abs_diff(4 * shares[0]) <= 4);
    }
}
