//! Shortest access time first (SPTF): the waiting request the predictor believes the head can begin soonest.

use super::{Beside, Kind, Manual, Needs, Policy};
use super::greedy::{Ageing, Greedy, View};
use crate::Job;
use crate::predict::{Predictor, Sieve};
use block::{Direction, Time};
use block::BadInput;
use config::Section;

/// The policy has no keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings;

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "satf",
        text: "Shortest access time first: the waiting request that the predictor believes the head can begin soonest, seek and rotation together. The most requests a second of all orders that look one request ahead; what is awkward to reach may wait long (see `asatf`).",
        keys: &[],
        example: "policy = \"satf\"",
        needs: Needs::Any,
    };

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(satf())
    }
}

/// Seen through the predictor.
pub(super) struct AccessTime;

pub(super) fn satf<P: Predictor>() -> Greedy<P, AccessTime> {
    Greedy::new(Ageing::default())
}

impl<P: Predictor> View<P> for AccessTime {
    type Item = P::Mark;
    type Head = P::Head;

    fn place(belief: &P, job: &Job<P::Spot>) -> (u64, P::Mark) {
        (belief.key(job.spot), belief.mark(job.spot))
    }

    fn head(belief: &P, now: Time) -> (P::Head, u64) {
        belief.head(now)
    }

    #[inline(always)]
    fn cost(belief: &P, head: &P::Head, key: u64, mark: P::Mark, direction: Direction) -> u64 {
        belief.cost(head, key, mark, direction)
    }

    #[inline(always)]
    fn sieve(belief: &P, head: &P::Head, least: u64, keys: &[u64], range: (u64, u64)) -> Sieve {
        belief.sieve(head, least, keys, range)
    }

    fn flat(belief: &P, now: Time) -> Option<(u64, (P::Head, u64))> {
        Some((belief.buffered_cost(now)?, belief.buffered_beside()))
    }

    #[inline(always)]
    fn least(belief: &P, head: &P::Head, from: u64, to: u64, direction: Direction) -> u64 {
        belief.least(head, from, to, direction)
    }

    #[inline(always)]
    fn least_above(belief: &P, head: &P::Head, from: u64, direction: Direction) -> u64 {
        belief.least_above(head, from, direction)
    }

    #[inline(always)]
    fn least_below(belief: &P, head: &P::Head, to: u64, direction: Direction) -> u64 {
        belief.least_below(head, to, direction)
    }

    fn is_told_closer(belief: &P, from: u64, to: u64) -> bool {
        belief.is_told_closer(from, to)
    }
}
