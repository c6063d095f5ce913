//! Who interrupts is whoever is of a higher rank: the queue knows whether such a one waits.

use super::{Arbiter, Arbitration, Ongoing};
use crate::Job;
use crate::board::Board;
use crate::predict::Predictor;
use block::Time;

pub(super) struct Rank;

impl<P: Predictor> Arbiter<P> for Rank {
    fn judge(&mut self, board: &mut Board<P>, _: Time, ongoing: &Ongoing<P::Spot>) -> Arbitration {
        match board.queue.interrupts(&board.rules, &ongoing.job) {
            true => Arbitration::Interrupts(None),
            false => Arbitration::GoesOn,
        }
    }

    fn lets_in(&self, board: &Board<P>, _: Time, ongoing: &Ongoing<P::Spot>, job: &Job<P::Spot>) -> bool {
        board.queue.would_interrupt(&board.rules, job, &ongoing.job)
    }
}
