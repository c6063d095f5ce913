//! Whether costs order commands better than distance does, found by trying: forecasts may be right and the order worse for it, as
//! where a drive writes back from its buffer when it pleases.
//!
//! For a while costs are gone by, for a while distance; the mean times of commands are compared. What lost is tried again after a
//! pause that doubles; what won is held against distance now and then.

/// Commands that are compared on each side. Of means of so many chance is some 3 %.
const LENGTH: u32 = 400;
/// Commands after a change of order that say nothing yet.
const SETTLING: u32 = 48;
/// Costs that take so much longer are given up after so many commands already: of means of so few chance is some 6 %.
const SOON: u32 = 100;
const LONGER: f64 = 0.15;
/// Those that save so much are kept after as many.
const SHORTER: f64 = 0.2;
/// Costs must save so much of a command's time. Where they save less they are tried on, so often at most: what moves of the arm take is
/// learned best where forecasts choose.
const SAVED: f64 = 0.05;
const DRAWN: u32 = 4;
/// Once they have won, they are held against distance after so many commands, soon at first: they may have won by chance. And after
/// the first loss they are tried again.
const HELD: u32 = 1500;
const LONGEST_HELD: u32 = 12_000;
const PAUSE: u32 = 4_000;
const LONGEST_PAUSE: u32 = 64_000;

/// Forecasts are compared over about so many commands.
const LATELY: f32 = 1.0 / 256.0;

/// Costs count once they are off by less than this share of what distance alone is off by, and until more than the other.
const GAINED: f32 = 0.6;
const LOST: f32 = 0.8;

/// So many forecasts at least before any counts.
const COMPARED: u32 = 256;

/// How far off forecasts are of late, in ns: of angles, and of distance alone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forecasts {
    pub(super) angles: f32,
    pub(super) distance: f32,
    compared: u32,
    pub(super) counts: bool,
}

impl Forecasts {
    pub(super) fn compare(&mut self, took: u64, expected: u64, usual: u64) {
        self.compared = self.compared.saturating_add(1);
        let share = LATELY.max(1.0 / self.compared as f32);
        self.angles += (took.abs_diff(expected) as f32 - self.angles) * share;
        self.distance += (took.abs_diff(usual) as f32 - self.distance) * share;
        let bar = if self.counts { LOST } else { GAINED };
        self.counts = self.compared >= COMPARED && self.angles < bar * self.distance;
    }
}

/// What is gone by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrialStage {
    /// By distance, until costs may be tried.
    Waiting,
    /// By costs, to compare them with the mean of distance.
    Trying,
    /// By costs, which have won.
    Won,
    /// By distance, to hold costs against it.
    Holding,
}

/// Whether forecasts are good enough to be gone by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForecastsAre {
    /// They tell the times of commands better than distance does.
    Good,
    /// They do not, or not for certain yet.
    Bad,
}

/// The state of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct OrderTrial {
    stage: TrialStage,
    /// Commands until the stage ends, or may end.
    left: u32,
    pause: u32,
    held: u32,
    /// Mean times of commands, by distance and by costs, in ns.
    means: [f64; 2],
    /// Commands by distance before costs were first tried.
    before: u32,
    /// Trials in a row in which costs were no worse than distance, but did not win.
    drawn: u32,
}

impl Default for OrderTrial {
    fn default() -> OrderTrial {
        let (stage, left) = (TrialStage::Waiting, LENGTH + SETTLING);
        OrderTrial { stage, left, pause: PAUSE, held: HELD, means: [0.0; 2], before: 0, drawn: 0 }
    }
}

impl OrderTrial {
    /// Whether costs are gone by.
    #[inline(always)]
    pub(super) fn follows_costs(&self) -> bool {
        matches!(self.stage, TrialStage::Trying | TrialStage::Won)
    }

    /// A command took so long.
    pub(super) fn add(&mut self, took: u64, forecasts: ForecastsAre) {
        let by_costs = usize::from(self.follows_costs());
        self.left = self.left.saturating_sub(1);
        let first = match self.stage {
            TrialStage::Trying | TrialStage::Holding => LENGTH.saturating_sub(self.left),
            TrialStage::Waiting if self.before < LENGTH => {
                self.before += 1;
                self.before
            }
            TrialStage::Waiting | TrialStage::Won => LENGTH,
        };
        if first > 0 {
            self.means[by_costs] += (took as f64 - self.means[by_costs]) / f64::from(first.min(LENGTH));
        }
        let [distance, costs] = self.means;
        if self.stage == TrialStage::Trying && first >= SOON && costs > distance * (1.0 + LONGER) {
            self.lose();
            return;
        }
        if forecasts == ForecastsAre::Bad {
            if by_costs == 1 {
                self.lose();
            }
            return;
        }
        let compares = matches!(self.stage, TrialStage::Trying | TrialStage::Holding);
        if self.left > 0 && !(compares && first >= SOON && costs < distance * (1.0 - SHORTER)) {
            return;
        }
        match self.stage {
            TrialStage::Waiting => self.begin(TrialStage::Trying),
            TrialStage::Won => self.begin(TrialStage::Holding),
            TrialStage::Trying | TrialStage::Holding if costs < distance * (1.0 - SAVED) => {
                (self.stage, self.left, self.drawn) = (TrialStage::Won, self.held, 0);
                self.held = (self.held * 2).min(LONGEST_HELD);
                if self.held == LONGEST_HELD {
                    self.pause = PAUSE;
                }
            }
            TrialStage::Trying if costs < distance && self.drawn < DRAWN => {
                self.drawn += 1;
                self.begin(TrialStage::Trying);
            }
            TrialStage::Trying | TrialStage::Holding => self.lose(),
        }
    }

    fn begin(&mut self, stage: TrialStage) {
        (self.stage, self.left) = (stage, LENGTH + SETTLING);
    }

    fn lose(&mut self) {
        (self.stage, self.left, self.drawn) = (TrialStage::Waiting, self.pause, 0);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.held = HELD;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays commands that take so long by distance and by costs; the share that costs were gone by, of the second half.
    fn play(distance: u64, costs: u64, commands: u32) -> f64 {
        let (mut trial, mut followed) = (OrderTrial::default(), 0u32);
        for i in 0..commands {
            // Times differ by a half up and down.
            let share = 50 + u64::from(i.wrapping_mul(2_654_435_761) >> 8) % 101;
            let mean = if trial.follows_costs() { costs } else { distance };
            followed += u32::from(trial.follows_costs() && i > commands / 2);
            trial.add(mean * share / 100, ForecastsAre::Good);
        }
        f64::from(followed) / f64::from(commands / 2)
    }

    #[test]
    fn what_saves_time_is_followed_and_what_does_not_is_given_up() {
        assert!(play(5_000_000, 4_000_000, 60_000) > 0.95);
        assert!(play(5_000_000, 5_000_000, 60_000) < 0.05);
        assert!(play(5_000_000, 6_000_000, 60_000) < 0.05);
    }

    #[test]
    fn what_takes_clearly_longer_is_not_tried_to_the_end() {
        let followed = |costs| (play(5_000_000, costs, 20_000) * 10_000.0) as u32;
        let (clearly, hardly) = (followed(6_500_000), followed(5_300_000));
        assert!(hardly >= LENGTH && clearly > 0 && clearly < hardly / 2, "{clearly}, {hardly}");
    }

    #[test]
    fn what_clearly_saves_is_held_against_distance_for_less_long() {
        let held = |costs| ((1.0 - play(5_000_000, costs, 100_000)) * 50_000.0) as u32;
        let (clearly, hardly) = (held(3_500_000), held(4_600_000));
        assert!(clearly >= SOON && clearly < hardly / 2, "{clearly}, {hardly}");
    }

    #[test]
    fn nothing_is_followed_while_forecasts_are_bad() {
        let mut trial = OrderTrial::default();
        (0..100_000).for_each(|_| trial.add(5_000_000, ForecastsAre::Bad));
        assert!(!trial.follows_costs());
        // Once they are good, costs are tried at once, and given up with the forecasts.
        trial.add(5_000_000, ForecastsAre::Good);
        assert!(trial.follows_costs());
        trial.add(5_000_000, ForecastsAre::Bad);
        assert!(!trial.follows_costs());
    }

    #[test]
    fn what_has_won_is_given_up_once_it_no_longer_saves() {
        let mut trial = OrderTrial::default();
        let mut play = |commands: u32, costs: u64| {
            for _ in 0..commands {
                trial.add(if trial.follows_costs() { costs } else { 5_000_000 }, ForecastsAre::Good);
            }
            trial.follows_costs()
        };
        assert!(play(10_000, 4_000_000));
        assert!(!play(14_000, 5_500_000));
    }

    #[test]
    fn what_has_won_is_held_against_distance_now_and_then() {
        let mut trial = OrderTrial::default();
        let mut play = |commands: u32, distance: u64| {
            for _ in 0..commands {
                trial.add(if trial.follows_costs() { 4_000_000 } else { distance }, ForecastsAre::Good);
            }
            trial.follows_costs()
        };
        assert!(play(10_000, 5_000_000));
        assert!(!play(14_000, 3_000_000), "distance has become the better one, and nobody noticed");
    }
}
