//! What of the arm's time each class caused, by what it went to.

use crate::meter::Meter;
use crate::results::ArmSeconds;
use block::Span;
use sched::plan::Rules;
use sched::{Bill, Cause, Claim, ShareRules};

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
    /// By class: how long it kept the device without a command.
    kept: Vec<Span>,
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

    /// Those of a class that is alone: it caused all that the arm did. `moves` is the time until the head was on the track.
    #[must_use]
    pub fn of_one([moves, rotation, transfer, write_back]: [Span; 4]) -> Bills {
        let all = [moves, rotation, transfer, write_back, Span::ZERO, Span::ZERO];
        Bills { classes: vec![all], kept: Vec::new() }
    }

    /// What a class caused, by part.
    #[must_use]
    pub fn of(&self, class: usize) -> [Span; ARM_PARTS] {
        self.classes.get(class).copied().unwrap_or([Span::ZERO; ARM_PARTS])
    }

    /// How long each class kept the device without a command until its seek was due: no part of what it is billed here, as nothing
    /// was done, and of its share.
    pub fn keep(&mut self, kept: &[Span]) {
        self.kept.resize(self.kept.len().max(kept.len()), Span::ZERO);
        self.kept.iter_mut().zip(kept).for_each(|(all, more)| *all += *more);
    }

    /// How long a class did so.
    #[must_use]
    pub fn time_kept(&self, class: usize) -> Span {
        self.kept.get(class).copied().unwrap_or_default()
    }

    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> Span {
        self.classes.iter().flatten().copied().sum()
    }

    /// Adds those of another run.
    pub fn merge(&mut self, other: &Bills) {
        self.keep(&other.kept);
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
        ArmSeconds { seek, rotation, transfer, write_back, detour, slack, kept: self.time_kept(class).as_secs() }
    }
}

/// What the time of a command is billed for, as far as it is believed: who pays, for which part, how much.
#[must_use]
pub fn divide_believed(bill: &Bill, took: Span) -> [(u8, ArmPart, Span); 3] {
    let (travel, wait) = bill.believed.unwrap_or_default();
    let travel = travel.min(took);
    let wait = wait.min(took - travel);
    let rest = took - travel - wait;
    let class = bill.class;
    match bill.cause {
        Cause::Slack => [(class, ArmPart::Slack, travel), (class, ArmPart::Slack, wait), (class, ArmPart::Slack, rest)],
        Cause::Resumed(by) => {
            [(by, ArmPart::Detour, travel), (by, ArmPart::Detour, wait), (class, ArmPart::Transfer, rest)]
        }
        Cause::Request => {
            [(class, ArmPart::Seek, travel), (class, ArmPart::Rotation, wait), (class, ArmPart::Transfer, rest)]
        }
    }
}

/// By how much of the arm's time each class may be off its share at most, over any time in which all have something waiting
/// and none is kept to its floor or limit, with commands no longer than this: where each has the arm for a quantum at once, a
/// slice and the command that ends it (a longer one where it writes into a buffer), two differ by a quantum each (Goyal, Vin, Cheng, *Start-time Fair Queuing*, theorem 1).
#[must_use]
pub fn share_bound(rules: &ShareRules, longest: Span, writes: impl Fn(u8) -> bool) -> Span {
    let claims: Vec<Claim> = rules.claims().collect();
    let sum: f64 = claims.iter().map(|claim| claim.share).sum();
    let slice = |class| if writes(class) { rules.slice_of_writer(class) } else { rules.slice(class) };
    let quantum = |class: usize| (slice(class as u8) + longest).0 as f64;
    let all: f64 = (0..claims.len()).map(quantum).sum();
    let of = |(class, claim): (usize, &Claim)| {
        let (own, share) = (quantum(class), claim.share / sum);
        (1.0 - share) * own + share * (all - own)
    };
    Span(claims.iter().enumerate().map(of).fold(0.0, f64::max) as u64)
}

/// What a reader of the results is told of it.
#[must_use]
pub fn share_note(rules: &Rules, meter: &Meter) -> Option<String> {
    let shares = rules.shares.as_ref().filter(|_| !meter.has_one_class())?;
    let writes =
        |class: u8| meter.bills().is_some_and(|bills| bills.of(class.into())[ArmPart::WriteBack as usize] > Span::ZERO);
    let bound = share_bound(shares, Span::from_ms(meter.commands().max_ms), writes).as_secs();
    Some(format!(
        "shares: who always has something waiting is off its share of the arm by {bound:.2} s at most, however long the run"
    ))
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
    fn what_is_believed_of_a_command_is_never_more_than_it_took() {
        let ms = |ms: u64| Span(ms * 1_000_000);
        let bill = |cause| Bill { class: 1, cause, believed: Some((ms(4), ms(3))) };
        let parts = |cause, took| divide_believed(&bill(cause), ms(took));
        let usual = [(1, ArmPart::Seek, ms(4)), (1, ArmPart::Rotation, ms(3)), (1, ArmPart::Transfer, ms(2))];
        assert_eq!(parts(Cause::Request, 9), usual);
        assert_eq!(parts(Cause::Request, 5).map(|(.., span)| span), [ms(4), ms(1), ms(0)]);
        assert_eq!(parts(Cause::Request, 2).map(|(.., span)| span), [ms(2), ms(0), ms(0)]);
        assert_eq!(parts(Cause::Resumed(0), 9).map(|(class, ..)| class), [0, 0, 1]);
        assert!(parts(Cause::Slack, 9).iter().all(|(class, part, _)| (*class, *part) == (1, ArmPart::Slack)));
        let unknown = Bill { believed: None, ..bill(Cause::Request) };
        assert_eq!(divide_believed(&unknown, ms(9))[2], (1, ArmPart::Transfer, ms(9)));
    }

    #[test]
    fn what_is_divided_adds_up_and_goes_by_weight() {
        let mut shares = [0; 4];
        divide(Span(1_000_003), &[1, 0, 2, 4], |place, span| shares[place] = span.0);
        assert_eq!(shares.iter().sum::<u64>(), 1_000_003);
        assert!(shares[1] == 0 && shares[2].abs_diff(2 * shares[0]) <= 2 && shares[3].abs_diff(4 * shares[0]) <= 4);
    }
}
