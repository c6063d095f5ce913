//! What commands ask for by their marks, as the keys of a drive file tell it: high priority first; a limit once it could be missed; and
//! what is given up.

use crate::compare::ROUNDING;
use crate::machine::{Answer, Machine, Ties};
use crate::queue::Waiting;
use block::Mark;
use disk::{DurationLimit, LimitPolicy, Queue, Turn};

/// The limit of a command that the drive keeps.
fn limit(rules: &Queue, it: &Waiting) -> Option<DurationLimit> {
    let Mark::Limit(number) = it.mark else { return None };
    rules.limits[usize::from(number) - 1]
}

/// When a command that still waits is given up.
pub fn given_up(rules: &Queue, it: &Waiting) -> Option<u64> {
    let limit = limit(rules, it).filter(|limit| limit.policy != LimitPolicy::Late)?;
    let times = [limit.inactive.0, limit.duration.0];
    let least = times.into_iter().filter(|ns| *ns != 0).min();
    least.map(|ns| it.issued + ns)
}

impl Machine {
    /// Whether anything that waits is given up now; all that is ends with that.
    pub fn give_up_late(&mut self, now: u64) -> bool {
        let rules = self.rules;
        let is_late = |it: &Waiting| given_up(&rules, it).is_some_and(|at| at <= now);
        let (late, others): (Vec<Waiting>, Vec<Waiting>) = self.waiting.drain(..).partition(is_late);
        self.waiting = others;
        self.given_up.extend(late.iter().map(|it| it.tag));
        self.flying.extend(late.iter().map(|it| (it.tag, Answer { end: now, from_memory: true })));
        !late.is_empty()
    }

    /// The place of the command that a mark puts before all others.
    pub fn marked_first(&self, now: u64, waiting: &[Waiting]) -> Option<usize> {
        let for_arm: Vec<usize> = (0..waiting.len()).filter(|i| !self.is_buffered(&waiting[*i])).collect();
        let high = for_arm.iter().filter(|i| self.rules.high_priority && waiting[**i].mark == Mark::High);
        let mut costs: Vec<(u64, usize)> = high
            .map(|i| match self.rules.order {
                Turn::Soonest => (self.cost(now, &waiting[*i]), *i),
                order => (self.distance(order, waiting[*i].at.start.0), *i),
            })
            .collect();
        costs.sort_unstable();
        if let [(first, _), (second, _), ..] = costs[..]
            && self.rules.order == Turn::Soonest
            && first.abs_diff(second) <= 2 * ROUNDING
        {
            self.ties.set(Ties { commands: true, ..self.ties.get() });
        }
        if let Some((_, i)) = costs.first() {
            return Some(*i);
        }
        // One more access before it, and it could miss its limit.
        let slack = |i: &usize| -> Option<(i128, usize)> {
            let limit = limit(&self.rules, &waiting[*i])?;
            let waited = i128::from(now - waiting[*i].issued);
            let begin = i128::from(limit.inactive.0) - waited;
            let end = (i128::from(limit.duration.0) - i128::from(self.longest)).max(0) - waited;
            match (limit.inactive.0, limit.duration.0) {
                (0, 0) => None,
                (0, _) => Some((end, *i)),
                (_, 0) => Some((begin, *i)),
                _ => Some((begin.min(end), *i)),
            }
        };
        let (least, i) = for_arm.iter().filter_map(slack).min()?;
        (least <= i128::from(self.longest)).then_some(i)
    }
}
