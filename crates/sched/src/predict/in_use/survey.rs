//! Which blocks an idle device has read to be learned.
//!
//! At first it is asked whether anything turns and how fast: places all over the device are read in turn, each time a little before or
//! behind where they were read last; what was read ahead there has left the drive's memory by then. So near reads come back some seconds
//! apart. Then reads are spread over the device, to draw its chart; and then, as a scheduler would, the one of many that is believed to
//! begin soonest is read, to learn what moves of the arm take.

use crate::predict::{GOLDEN, stir};
use block::{Extent, Lbn, Span};

/// Blocks of a read, of which it begins at a multiple.
const LENGTH: u64 = 8;

/// Places that are read in turn, and how far before each in each round, in blocks; after the last nothing is believed to turn. Up and
/// down, so that what tracks turn blocks by evens out.
const PLACES: u64 = 512;
const BEFORE: [u64; 6] = [24, 32, 8, 40, 0, 16];
/// An even number: each round goes through the places by steps of so many more.
const ORDER: u64 = 74;
/// Reads for the chart, and then for the arm.
const SPREAD: u64 = 12_000;
const CHOSEN: u64 = 8_000;

/// What is to be read next of a device that turns at a known rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SurveyStep {
    /// Whatever lies there, for the chart.
    Spread(Extent),
    /// Of some anywhere the one that is believed to begin soonest.
    Soonest,
    /// Nothing: enough is known.
    Done,
}

/// A number of its own for each, any of 2⁶⁴.
fn mix(number: u64) -> u64 {
    let mixed = stir(number.wrapping_mul(GOLDEN));
    mixed ^ (mixed >> 31)
}

/// How far a survey of the device has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Survey {
    /// For how long the device is left alone before it is read.
    pub(super) after: Span,
    blocks: u64,
    /// Reads for the rate, for the chart and for the arm.
    turned: u64,
    spread: u64,
    chosen: u64,
    draws: u64,
}

impl Survey {
    pub(super) fn new(after: Span, blocks: u64) -> Survey {
        Survey { after, blocks, turned: 0, spread: 0, chosen: 0, draws: PLACES }
    }

    /// It is another device than before.
    pub(super) fn forget(&mut self) {
        *self = Survey { draws: self.draws, ..Survey::new(self.after, self.blocks) };
    }

    /// The read at this share of the device, of 2⁶⁴, less so many blocks.
    fn at(&self, share: u64, before: u64) -> Extent {
        let last = self.blocks.saturating_sub(LENGTH);
        let block = ((u128::from(share) * u128::from(last)) >> 64) as u64;
        Extent { start: Lbn((block.max(before) - before) / LENGTH * LENGTH), blocks: LENGTH.min(self.blocks) as u32 }
    }

    /// A read anywhere. Places that were equally far apart would fit many charts.
    pub(super) fn anywhere(&mut self) -> Extent {
        self.draws += 1;
        self.at(mix(self.draws), 0)
    }

    /// What to read while it is not known whether anything turns; nothing once it is believed that nothing does.
    pub(super) fn seek_rate(&mut self) -> Option<Extent> {
        let (place, round) = (self.turned % PLACES, self.turned / PLACES);
        let before = *BEFORE.get(round as usize)?;
        self.turned += 1;
        // In another order each round, so that near reads are not all the same time apart: of many rates that would do, none is the best.
        Some(self.at(mix(place.wrapping_mul(ORDER * round + 1) % PLACES), before))
    }

    /// What to read of what turns.
    pub(super) fn go_on(&mut self) -> SurveyStep {
        if self.spread < SPREAD {
            self.spread += 1;
            return SurveyStep::Spread(self.anywhere());
        }
        if self.chosen == CHOSEN {
            return SurveyStep::Done;
        }
        self.chosen += 1;
        SurveyStep::Soonest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survey_reads_near_places_then_all_over_then_by_choice_and_ends() {
        for blocks in [1, 8, 1000, 18_000_000, 40_000_000_000] {
            let mut survey = Survey::new(Span(1), blocks);
            let mut starts = Vec::new();
            while let Some(at) = survey.seek_rate() {
                assert!(at.end().0 <= blocks, "{at:?} of {blocks}");
                starts.push(at.start.0);
            }
            assert_eq!(starts.len() as u64, PLACES * BEFORE.len() as u64);
            let mut rounds: Vec<Vec<u64>> = starts.chunks(PLACES as usize).map(<[u64]>::to_vec).collect();
            rounds.iter_mut().for_each(|round| round.sort_unstable());
            for (one, next) in rounds.iter().zip(&rounds[1..]) {
                let all_near = one.iter().zip(next).all(|(one, next)| one.abs_diff(*next) <= 40);
                assert!(all_near, "each is near one of the round before");
            }
            let mut starts = Vec::new();
            let mut chosen = 0;
            loop {
                match survey.go_on() {
                    SurveyStep::Spread(at) => starts.push(at.start.0),
                    SurveyStep::Soonest => {
                        assert!(survey.anywhere().end().0 <= blocks);
                        chosen += 1;
                    }
                    SurveyStep::Done => break,
                }
            }
            starts.sort_unstable();
            let widest = starts.windows(2).map(|pair| pair[1] - pair[0]).max();
            assert!(widest <= Some(blocks / (SPREAD / 30) + LENGTH), "{widest:?} of {blocks} blocks are left out");
            assert_eq!(chosen, CHOSEN);
        }
    }
}
