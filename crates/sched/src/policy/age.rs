//! What waiting is worth: what it takes off the cost of a request, and a limit after which nothing else counts.
//!
//! Ageing is a part of the score that is settled when a request comes: cost + weight · arrival orders as cost − weight · waited does,
//! since weight · now is the same for all. Where the weight follows how long requests wait, that part grows with time at a pace that
//! changes now and then ([`AgePace`]): of two that wait, the older always has less.

use crate::predict::Predictor;
use block::{BadInput, Span, Time};
use config::{Key, Section};
use std::collections::VecDeque;

/// What has waited too long goes first, in every policy that has the key.
pub(super) const AGE_LIMIT: Key<Span> = Key::<Span>::span("age_limit")
    .else_told("none")
    .about("What has waited longer than this goes first, oldest first.");

/// What waiting is worth.
const fn weight_key() -> Key<f64> {
    Key::<f64>::number("age_weight", 0.0, f64::MAX).about(
        "Positioning time taken off for each unit of time waited. The more, the fairer; from 100 on it is the order of arrival.",
    )
}

/// The same, with the value it usually has.
pub(super) const fn age_weight(usually: &'static str) -> Key<f64> {
    weight_key().usually(usually)
}

/// The same, which follows how long requests wait.
pub(super) const AGE_BY_WAIT: Key<f64> =
    weight_key().else_told("such that the mean wait takes off a sixth of a revolution; at most 0.01");

/// How much a request gains by waiting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ageing {
    /// Share of the time waited that is taken off the cost; nothing where it follows how long requests wait.
    weight: Option<f64>,
    /// Whatever has waited longer goes first.
    pub(super) limit: Option<Span>,
}

/// Some eighteen minutes, of which ticks are rounded to nothing that matters.
const LONG: Span = Span(1 << 40);

/// With so much taken off for each unit of time waited, a wait 0.3 ms longer outweighs the longest way of an arm: the order is
/// that of arrival. Asked for as that, it has no number that could grow out of its bounds however great the weight; scores of
/// lesser weights keep within theirs for weeks.
const OUTWEIGHS: f64 = 100.0;

impl Ageing {
    /// Waiting is worth nothing.
    pub(super) const NONE: Ageing = Ageing { weight: Some(0.0), limit: None };

    /// So much is taken off for each unit of time waited.
    #[cfg(test)]
    pub(super) fn by_weight(weight: f64) -> Ageing {
        Ageing { weight: Some(weight), limit: None }
    }

    /// Reads `weight`, as [`age_weight`] makes it for a policy, and [`AGE_LIMIT`].
    pub(super) fn read(scheduler: &Section, weight: &Key<f64>) -> Result<Ageing, BadInput> {
        Ok(Ageing { weight: Some(scheduler.value(weight)?), limit: scheduler.get(&AGE_LIMIT)? })
    }

    /// Reads [`AGE_BY_WAIT`] and [`AGE_LIMIT`].
    pub(super) fn read_by_wait(scheduler: &Section) -> Result<Ageing, BadInput> {
        Ok(Ageing { weight: scheduler.get(&AGE_BY_WAIT)?, limit: scheduler.get(&AGE_LIMIT)? })
    }

    /// The same with a limit.
    pub(super) fn within(self, limit: Span) -> Ageing {
        Ageing { limit: Some(limit), ..self }
    }

    /// The same, in order of arrival where age outweighs all else.
    fn bound(self) -> Ageing {
        match self.weight {
            Some(weight) if weight >= OUTWEIGHS => Ageing { weight: Some(0.0), limit: Some(Span::ZERO) },
            _ => self,
        }
    }

    /// Whether it has a part in scores.
    pub(super) fn weighs(self) -> bool {
        self.weight.is_none_or(|weight| weight > 0.0)
    }

    /// Whether its weight follows how long requests wait.
    pub(super) fn follows_waits(self) -> bool {
        self.weight.is_none()
    }

    /// Whether waiting counts at all.
    pub(super) fn is_some(self) -> bool {
        self.weighs() || self.limit.is_some()
    }
}

/// The mean wait takes off this share of a revolution, unless that were more than so much for each unit of time waited: the few that wait
/// for a short time would be served in order of arrival when many come.
const SHARE: f64 = 1.0 / 6.0;
const MOST: f64 = 0.01;
/// The mean is taken over about so many, and the pace is looked at as often.
const LATELY: u32 = 256;
/// A pace that is off by less than this share stays.
const NEAR: f64 = 0.125;

/// Times from which on the score of an arrival grows at one pace.
#[derive(Clone, Copy, Debug)]
struct AgePace {
    from: Time,
    /// The score of who comes then, in ticks, and by how much it grows, in ticks a nanosecond.
    score: f64,
    pace: f64,
}

impl AgePace {
    fn score(&self, arrived: Time) -> f64 {
        self.score + arrived.since(self.from).0 as f64 * self.pace
    }
}

/// What an arrival adds to its score.
#[derive(Clone, Debug)]
pub(super) struct AgeScore {
    ageing: Ageing,
    /// Ticks in a nanosecond, as the first request found them. A belief that learns the period of its drive anew would score those that
    /// wait by other ticks than those that come.
    ticks: Option<f64>,
    /// Where the weight follows waits: in order, back to the oldest request that waits.
    stretches: VecDeque<AgePace>,
    /// The mean wait of late, in ns, and how many were taken.
    wait: f64,
    taken: u32,
}

impl AgeScore {
    pub(super) fn new(ageing: Ageing) -> AgeScore {
        let begin = AgePace { from: Time::ZERO, score: 0.0, pace: 0.0 };
        AgeScore { ageing: ageing.bound(), ticks: None, stretches: VecDeque::from([begin]), wait: 0.0, taken: 0 }
    }

    /// How much waiting counts.
    pub(super) fn ageing(&self) -> Ageing {
        self.ageing
    }

    /// Ticks in a nanosecond.
    fn ticks<P: Predictor>(&mut self, belief: &P) -> f64 {
        *self.ticks.get_or_insert_with(|| belief.ticks(LONG) as f64 / LONG.0 as f64)
    }

    /// What a job's arrival adds to its score: waiting since earlier weighs less.
    #[inline]
    pub(super) fn of<P: Predictor>(&mut self, belief: &P, arrived: Time) -> u64 {
        let score = match self.ageing.weight {
            Some(0.0) => return 0,
            Some(weight) => weight * arrived.0 as f64 * self.ticks(belief),
            None => {
                let at = self.stretches.iter().rposition(|stretch| stretch.from <= arrived).unwrap_or(0);
                self.stretches[at].score(arrived)
            }
        };
        // Half of what there is leaves room for the cost.
        (score as u64).min(u64::MAX / 2)
    }

    /// A job was taken that had waited so long. None waits that came before `oldest`.
    pub(super) fn note_wait<P: Predictor>(&mut self, belief: &P, now: Time, waited: Span, oldest: Time) {
        self.taken = self.taken.saturating_add(1);
        self.wait += (waited.0 as f64 - self.wait) / f64::from(self.taken.min(LATELY));
        while self.stretches.get(1).is_some_and(|next| next.from <= oldest) {
            self.stretches.pop_front();
        }
        if !self.taken.is_multiple_of(LATELY) {
            return;
        }
        let (turn, ticks, last) = (belief.turn(), self.ticks(belief), self.stretches[self.stretches.len() - 1]);
        let weight = if turn == Span(u64::MAX) { 0.0 } else { (turn.0 as f64 * SHARE / self.wait.max(1.0)).min(MOST) };
        let pace = weight * ticks;
        if (pace - last.pace).abs() > NEAR * last.pace {
            self.stretches.push_back(AgePace { from: now, score: last.score(now), pace });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::InUse;

    /// Whatever the waits were, who comes later has no less, and what is asked anew of who waits is as it was.
    #[test]
    fn a_score_never_falls_with_the_time_of_arrival_and_stays_as_it_was() {
        let belief = InUse::new(1 << 20);
        let mut score = AgeScore::new(Ageing { weight: None, limit: None });
        let mut dice = 3_u64;
        let mut waiting: VecDeque<(Time, u64)> = VecDeque::new();
        let mut now = Time::ZERO;
        for _ in 0..100_000 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            now += Span(dice >> 40);
            // As if each pace were another drive's.
            if (dice >> 20).is_multiple_of(1000) {
                let last = score.stretches[score.stretches.len() - 1];
                let pace = (dice >> 44) as f64 / 1e8;
                score.stretches.push_back(AgePace { from: now, score: last.score(now), pace });
            }
            let its = score.of(&belief, now);
            assert!(waiting.back().is_none_or(|(_, before)| *before <= its));
            waiting.push_back((now, its));
            if waiting.len() > 50 {
                let (arrived, _) = waiting.pop_front().expect("some wait");
                score.note_wait(&belief, now, now.since(arrived), waiting[0].0);
            }
            let (arrived, its) = waiting[(dice >> 33) as usize % waiting.len()];
            assert_eq!(score.of(&belief, arrived), its);
        }
        assert!(score.stretches.len() < 50, "{} are kept for 50 that wait", score.stretches.len());
    }
}
