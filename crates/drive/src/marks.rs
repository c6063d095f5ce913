//! Commands that ask to be served before others: NCQ high priority (ACS-5), and command duration limits (ACS-5, SPC-6).
//!
//! Neither standard says how a drive is to go about it. Here a command of high priority goes before all others, and a command with a
//! limit goes by angle and distance as they do until it could be late if one more were served first: an access is no longer than the
//! longest move and a turn. Of several that could be late the one that must begin first is next. What has waited longer than the
//! queue's limit of age goes before either, so that marked commands starve nobody.
//!
//! A command that has begun is never interrupted: a policy other than `late` concerns only what still waits.

use crate::account::Parts;
use crate::foresight::ArmForesight;
use crate::state::{Drive, Flying, Waiting};
use block::errno::{ENODATA, ETIME};
use block::{Mark, Outcome, Span, Time};
use disk::{DurationLimit, LimitPolicy};

impl Drive {
    /// Of these that wait, by their places, the one that goes before all others by its mark.
    pub(crate) fn most_urgent<'a>(
        &self,
        now: Time,
        waiting: impl Iterator<Item = (usize, &'a Waiting)> + Clone,
    ) -> Option<usize> {
        let high = waiting.clone().filter(|(_, it)| self.rules.high_priority && it.command.mark == Mark::High);
        let mut arm = ArmForesight::new(self);
        if let Some((i, _)) = high.min_by_key(|(_, it)| self.foresee_turn(now, it, &mut arm, u64::MAX)) {
            return Some(i);
        }
        let first = waiting.filter_map(|(i, it)| Some((self.latest_begin(it)?, i))).min();
        first.filter(|(latest, _)| now + self.longest >= *latest).map(|(_, i)| i)
    }

    /// The limit that a command has.
    fn limit(&self, waiting: &Waiting) -> Option<DurationLimit> {
        match waiting.command.mark {
            Mark::Limit(number) => self.rules.limit(number),
            Mark::Plain | Mark::High => None,
        }
    }

    /// When a command must begin so that it keeps its limit wherever the arm is.
    fn latest_begin(&self, waiting: &Waiting) -> Option<Time> {
        let DurationLimit { inactive, duration, .. } = self.limit(waiting)?;
        let duration = (duration > Span::ZERO).then(|| duration.less(self.longest));
        (inactive > Span::ZERO).then_some(inactive).into_iter().chain(duration).min().map(|span| waiting.issued + span)
    }

    /// When a command that still waits is given up, if ever, and how it comes back then.
    pub(crate) fn expiry(&self, waiting: &Waiting) -> Option<(Time, Outcome)> {
        let DurationLimit { inactive, duration, policy } = self.limit(waiting)?;
        let outcome = match policy {
            LimitPolicy::Late => return None,
            LimitPolicy::Unavailable => Outcome::Failed(ENODATA),
            LimitPolicy::Abort => Outcome::Failed(ETIME),
        };
        let span = [inactive, duration].into_iter().filter(|span| *span > Span::ZERO).min()?;
        Some((waiting.issued + span, outcome))
    }

    /// When the next of those that wait is given up.
    pub(crate) fn next_expiry(&self) -> Option<Time> {
        self.waiting.iter().filter_map(|it| self.expiry(it)).map(|(at, _)| at).min()
    }

    /// Ends what waited too long by its limit. Whether anything did.
    pub(crate) fn expire(&mut self, now: Time) -> bool {
        let before = self.waiting.len();
        let mut i = 0;
        while let Some(waiting) = self.waiting.get(i).copied() {
            match self.expiry(&waiting).filter(|(at, _)| *at <= now) {
                None => i += 1,
                Some((_, outcome)) => {
                    self.remove_waiting(i);
                    let Waiting { tag, issued, .. } = waiting;
                    let parts = Parts { queued: now.since(issued), ..Parts::default() };
                    self.flying.push(Flying { tag, issued, end: now, outcome, parts });
                }
            }
        }
        self.waiting.len() < before
    }
}
