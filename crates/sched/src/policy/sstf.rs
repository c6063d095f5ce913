//! Shortest seek time first: the waiting request whose first block is nearest by block number.

use super::{Beside, Kind, Manual, Needs, Policy};
use super::greedy::{Ageing, Greedy, View};
use super::base::Base;
use crate::Job;
use crate::JobId;
use crate::predict::{Predictor, Sieve};
use block::{Direction, Time};
use block::BadInput;
use config::Section;

/// The policy has no keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings;

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "sstf",
        text: "Shortest seek time first: the waiting request whose first block is nearest by block number. What is far may wait long.",
        keys: &[],
        example: "policy = \"sstf\"",
        needs: Needs::Nothing,
    };

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, _: &Beside) -> Box<dyn Policy<P>> {
        Box::new(sstf())
    }
}

/// Seen by block number alone.
pub(super) struct Nearness;

pub(super) fn sstf<P: Predictor>() -> Greedy<P, Nearness> {
    Greedy::new(Ageing::default())
}

impl<P: Predictor> View<P> for Nearness {
    type Item = ();
    type Head = u64;
    const BY_KEY: bool = true;

    fn place(_: &P, job: &Job<P::Spot>) -> (u64, ()) {
        (job.rest().start.0, ())
    }

    fn head(belief: &P, _: Time) -> (u64, u64) {
        (belief.arm().0, belief.arm().0)
    }

    #[inline(always)]
    fn cost(_: &P, arm: &u64, start: u64, (): (), _: Direction) -> u64 {
        arm.abs_diff(start)
    }

    fn sieve(_: &P, _: &u64, _: u64, _: &[u64], _: (u64, u64)) -> Sieve {
        Sieve::OPEN
    }

    fn flat(_: &P, _: Time) -> Option<(u64, (u64, u64))> {
        None
    }

    #[inline(always)]
    fn least(_: &P, arm: &u64, from: u64, to: u64, _: Direction) -> u64 {
        arm.abs_diff((*arm).clamp(from, to))
    }

    #[inline(always)]
    fn is_told_closer(_: &P, _: u64, _: u64) -> bool {
        false
    }
}

impl<P: Predictor> Base<P> for Greedy<P, Nearness> {
    fn choice(&mut self, now: Time, belief: &P) -> Option<JobId> {
        self.least(now, belief)
    }
}
