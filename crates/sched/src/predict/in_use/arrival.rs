//! Whether anything is gained by what is near going first. Where nothing turns and commands take no longer the farther they lie
//! apart, all of them may go in the order in which they came: nobody waits for longer then, and nothing is lost.
//!
//! That is believed once the rise of times with distance is known to be next to none, and then tried: by arrival, distances are as
//! long as they come, and what matters over long ways only is seen. It is given up as soon as times do rise with distance,
//! something is known to turn, or commands take longer than they did by distance, and found out anew from time to time.
//!
//! A device that has several at once goes by what is near itself, if that gains anything: how long one takes after the other tells
//! little of the way between them. There arrival is tried now and then unless they seem to rise or surely fall, and must cost nothing.
//! Nor is it tried while writes come back from a buffer that has room, nor where hardly anything came but writes that may be buffered:
//! whatever is gone by costs nothing then, and what it costs to write them back is seen thousands of commands later.

use super::slope::{DistanceSlope, Rise, Stride};

/// The least rise with an octave that counts, as a share of a command's time. By arrival commands lie some eight octaves farther
/// apart than by distance where hundreds wait.
const RISE: f64 = 0.005;

/// How sure one must be, in standard errors: that times do not rise, and that they do, not to try and to give up.
const SURE_OF_NONE: f64 = 2.0;
const LIKELY_TO_RISE: f64 = 2.0;
const SURE_OF_RISE: f64 = 4.0;

/// It is asked for each time so many commands came back, if so many at least told anything.
const ASKED: u32 = 64;
const FEWEST: u32 = 256;
/// Commands after which those before are forgotten: by distance, and by arrival, where a change is to be noticed soon.
const KEPT: u32 = 1 << 17;
const LATELY: u32 = 1024;

/// Where commands come to take so many times as long, or so much less, it is another device.
const OTHER: f64 = 2.0;

/// Commands of the trial, and how much longer than by distance they may take: where they take no longer the farther they lie apart,
/// and where nobody knows.
const TRIED: (u32, f64) = (400, 0.05);
const TRIED_AMONG_SEVERAL: (u32, f64) = (1600, 0.01);
/// What costs so much more of late than it did by distance was gained by chance, or by what had been left behind until then.
const LONGER_LATELY: f64 = 0.03;
/// A trial of so many at least is ended before by what is longer than chance, which is so much over the root of their number.
const SOON: u32 = 32;
const CHANCE: f64 = 1.0;

/// After so many commands by arrival it is found out anew what they take by distance; and where writes came back from a buffer, after so
/// many by distance, whether they still do.
const HELD: u32 = 1 << 16;
/// Commands before it is tried again, at first and at most.
const PAUSE: u32 = 4_000;
const LONGEST_PAUSE: u32 = 1 << 18;

/// What is gone by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ArrivalStage {
    /// By distance, as long as that may gain anything.
    Near,
    /// By arrival, to compare it with distance.
    Trying,
    /// By arrival, which costs nothing.
    Held,
}

/// The state of that question.
#[derive(Clone, Debug)]
pub(super) struct ArrivalTrial {
    stage: ArrivalStage,
    /// Whether commands were known to take no longer the farther they lie apart when the trial began.
    is_flat: bool,
    slope: DistanceSlope,
    /// What commands took by distance before arrival was tried.
    near: DistanceSlope,
    /// Commands since the stage began.
    since: u32,
    /// What commands took, and what they would have taken by what is known of distance, in ns: those of the trial, or since it was asked last.
    took: f64,
    usual: f64,
    /// Commands until arrival may be tried, and how many it will be after the next loss.
    left: u32,
    pause: u32,
}

impl Default for ArrivalTrial {
    fn default() -> ArrivalTrial {
        ArrivalTrial {
            stage: ArrivalStage::Near,
            is_flat: false,
            slope: DistanceSlope::default(),
            near: DistanceSlope::default(),
            since: 0,
            took: 0.0,
            usual: 0.0,
            left: 0,
            pause: PAUSE,
        }
    }
}

impl ArrivalTrial {
    /// Whether requests go in the order in which they came.
    #[inline(always)]
    pub(super) fn follows_arrival(&self) -> bool {
        self.stage != ArrivalStage::Near
    }

    /// Something turns: distance counts, or more than that is known.
    pub(super) fn rule_out(&mut self) {
        if self.follows_arrival() {
            self.begin(ArrivalStage::Near);
        }
    }

    /// A command came back, and nothing is known to turn.
    pub(super) fn add(&mut self, stride: Stride) {
        let known = if self.follows_arrival() { &self.near } else { &self.slope };
        if let Some((usual, took)) = known.usual(stride) {
            self.usual += usual;
            self.took += took;
        }
        self.slope.add(stride);
        self.since = self.since.saturating_add(1);
        self.left = self.left.saturating_sub(1);
        let asked = self.slope.seen.is_multiple_of(ASKED);
        let rise = if asked { self.slope.rise() } else { None };
        let rises = stride.alone && rise.is_some_and(|Rise { share, error }| share.abs() - SURE_OF_RISE * error > RISE);
        match self.stage {
            ArrivalStage::Near => {
                let none = |Rise { share, error }: Rise| share.abs() + SURE_OF_NONE * error < RISE;
                // What takes less the farther it lies, as where another arm is there, tells of distance, too.
                let counts = |Rise { share, error }: Rise| {
                    share - LIKELY_TO_RISE * error > RISE || share + SURE_OF_RISE * error < -RISE
                };
                // What is known of a rise by now would only hide that it ends.
                if rises || self.slope.seen >= KEPT || (asked && self.is_other()) {
                    self.slope.clear();
                } else if asked && self.left == 0 && self.slope.count_telling() >= FEWEST {
                    let is_flat = rise.is_some_and(none);
                    let may_gain = !stride.alone && self.since >= LATELY && !rise.is_some_and(counts);
                    if !stride.alone && (is_flat || may_gain) && self.slope.are_writes_buffered() {
                        self.left = HELD;
                    } else if is_flat || may_gain {
                        std::mem::swap(&mut self.near, &mut self.slope);
                        self.begin(ArrivalStage::Trying);
                        self.is_flat = is_flat;
                    }
                }
            }
            ArrivalStage::Trying | ArrivalStage::Held if rises => self.lose(),
            ArrivalStage::Trying => self.compare(),
            ArrivalStage::Held if self.since >= HELD => self.begin(ArrivalStage::Near),
            ArrivalStage::Held if self.slope.seen >= LATELY => {
                if !self.is_flat && self.took > self.usual * (1.0 + LONGER_LATELY) {
                    self.lose();
                } else {
                    self.slope.clear();
                    (self.took, self.usual) = (0.0, 0.0);
                }
            }
            ArrivalStage::Held => {}
        }
        if asked && self.stage == ArrivalStage::Near {
            (self.took, self.usual) = (0.0, 0.0);
        }
    }

    /// Whether commands take much longer of late than before, or much less.
    fn is_other(&self) -> bool {
        self.took > OTHER * self.usual || self.usual > OTHER * self.took
    }

    /// One more command of the trial.
    fn compare(&mut self) {
        let (tried, longer) = if self.is_flat { TRIED } else { TRIED_AMONG_SEVERAL };
        if self.since >= SOON && self.took > self.usual * (1.0 + CHANCE / f64::from(self.since).sqrt()) {
            self.lose();
        } else if self.since >= tried {
            match self.took <= self.usual * (1.0 + longer) {
                true => {
                    self.pause = PAUSE;
                    self.begin(ArrivalStage::Held);
                }
                false => self.lose(),
            }
        }
    }

    fn begin(&mut self, stage: ArrivalStage) {
        (self.stage, self.since, self.took, self.usual) = (stage, 0, 0.0, 0.0);
        self.slope.clear();
    }

    fn lose(&mut self) {
        self.begin(ArrivalStage::Near);
        self.left = self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Verb;

    const BLOCKS: u64 = 1 << 28;

    /// Commands, each by what is gone by: near ones by distance, any by arrival.
    struct Play {
        trial: ArrivalTrial,
        state: u64,
    }

    impl Play {
        fn new() -> Play {
            Play { trial: ArrivalTrial::default(), state: 5 }
        }

        fn draw(&mut self, below: u64) -> u64 {
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.state >> 33) % below
        }

        /// So many commands, each alone in the device, that take so long by their distance, up to a `noise` percent more or less; how
        /// many went by arrival.
        fn go_on(&mut self, commands: u32, noise: u64, time: impl Fn(u64) -> u64) -> u32 {
            self.play(commands, noise, |_, distance| (true, time(distance)))
        }

        /// The same among several in the device. How long one takes after the last is told by whether it went by arrival, and how many
        /// have so far.
        fn go_on_among_several(&mut self, commands: u32, noise: u64, time: impl Fn(bool, u32) -> u64) -> u32 {
            let mut followed = 0;
            self.play(commands, noise, |far, _| {
                followed += u32::from(far);
                (false, time(far, followed))
            })
        }

        fn play(&mut self, commands: u32, noise: u64, mut time: impl FnMut(bool, u64) -> (bool, u64)) -> u32 {
            let mut followed = 0;
            for _ in 0..commands {
                let far = self.trial.follows_arrival();
                followed += u32::from(far);
                let distance = self.draw(if far { BLOCKS } else { BLOCKS / 500 });
                let share = 100 - noise + self.draw(2 * noise + 1);
                let verb = if self.draw(2) == 1 { Verb::Write { fua: true } } else { Verb::Read };
                let (alone, took) = time(far, distance);
                self.trial.add(Stride { alone, ..Stride::new(verb, 8, distance, took * share / 100) });
            }
            followed
        }
    }

    /// Of an arm that crosses all blocks in so much.
    fn seek(distance: u64, full: u64) -> u64 {
        4_000_000 + (full as f64 * (distance as f64 / BLOCKS as f64).sqrt()) as u64
    }

    #[test]
    fn arrival_is_followed_where_distance_costs_nothing() {
        assert!(Play::new().go_on(1000, 0, |_| 200_000) > 700);
        let mut play = Play::new();
        play.go_on(30_000, 60, |_| 200_000);
        assert!(play.trial.follows_arrival());
    }

    /// The device goes by what is near itself: that it takes no longer by arrival is found soon, and that it does is found by a few.
    #[test]
    fn among_several_arrival_is_followed_where_it_costs_nothing() {
        let mut play = Play::new();
        assert!(play.go_on_among_several(20_000, 20, |_, _| 20_000) > 18_000);
        let mut play = Play::new();
        let followed = play.go_on_among_several(50_000, 20, |far, _| if far { 23_000 } else { 20_000 });
        assert!((1..1000).contains(&followed) && !play.trial.follows_arrival(), "{followed} of 50,000 by arrival");
    }

    /// Of two arms the one is free for what is far; that gains nothing for arrival.
    #[test]
    fn among_several_arrival_is_not_tried_where_what_is_far_takes_less() {
        let time = |distance: u64| 3_000_000 - 150_000 * u64::from((distance + 1).ilog2()).saturating_sub(10);
        assert_eq!(Play::new().play(50_000, 60, |_, distance| (false, time(distance))), 0);
    }

    /// Writes that come back from a buffer, and reads that take no longer by arrival while it has room.
    #[test]
    fn among_several_arrival_is_not_tried_while_writes_are_buffered() {
        let mut trial = ArrivalTrial::default();
        for i in 0..4000u64 {
            let writes = i.is_multiple_of(2);
            let (verb, took) = if writes { (Verb::Write { fua: false }, 200_000) } else { (Verb::Read, 4_000_000) };
            let distance = i.wrapping_mul(2_654_435_761) % BLOCKS;
            trial.add(Stride { alone: false, ..Stride::new(verb, 8, distance, took + i % 7 * took / 10) });
            assert!(!trial.follows_arrival(), "after {i}");
        }
    }

    /// Into a buffer they take as long wherever they lie.
    #[test]
    fn writes_that_may_be_buffered_never_speak_for_arrival() {
        for (alone, reads_in) in [(true, u64::MAX), (false, u64::MAX), (true, 200), (false, 200)] {
            let mut trial = ArrivalTrial::default();
            for i in 0..40_000u64 {
                let verb = if i % reads_in == 1 { Verb::Read } else { Verb::Write { fua: false } };
                let distance = i.wrapping_mul(2_654_435_761) % BLOCKS;
                trial.add(Stride { alone, ..Stride::new(verb, 8, distance, 200_000 + i % 7 * 20_000) });
                assert!(!trial.follows_arrival(), "after {i}, alone: {alone}");
            }
        }
    }

    /// What lay at the ends is near one another, and done soon.
    #[test]
    fn what_was_left_behind_says_nothing_for_arrival() {
        let time = |far: bool, followed: u32| match (far, followed) {
            (false, _) => 20_000,
            (true, ..1700) => 17_000,
            (true, _) => 22_000,
        };
        let mut play = Play::new();
        let followed = play.go_on_among_several(50_000, 30, time);
        assert!((1600..6000).contains(&followed) && !play.trial.follows_arrival(), "{followed} of 50,000 by arrival");
    }

    #[test]
    fn arrival_is_not_tried_where_times_rise_with_distance() {
        for full in [5_000_000, 20_000_000] {
            assert_eq!(Play::new().go_on(100_000, 40, |distance| seek(distance, full)), 0, "{full} ns");
        }
    }

    #[test]
    fn what_only_long_ways_cost_is_seen_by_the_trial_and_tried_ever_less() {
        let time = |distance| if distance < BLOCKS / 100 { 200_000 } else { 400_000 };
        let (first, later) = {
            let mut play = Play::new();
            (play.go_on(20_000, 10, time), play.go_on(200_000, 10, time))
        };
        assert!((1..1000).contains(&first) && later < 2000, "{first} of 20,000, {later} of 200,000");
    }

    #[test]
    fn a_disk_in_its_place_is_noticed_and_the_other_way_round() {
        let mut play = Play::new();
        play.go_on(40_000, 10, |_| 200_000);
        assert!(play.trial.follows_arrival());
        let followed = play.go_on(40_000, 40, |distance| seek(distance, 12_000_000));
        assert!(followed < 1000 && !play.trial.follows_arrival(), "{followed} more by arrival");
        play.go_on(40_000, 10, |_| 200_000);
        assert!(play.trial.follows_arrival(), "distance is gone by for good");
    }

    #[test]
    fn what_turns_is_never_served_by_arrival() {
        let mut play = Play::new();
        play.go_on(5000, 0, |_| 200_000);
        play.trial.rule_out();
        assert!(!play.trial.follows_arrival());
    }

    #[test]
    fn it_is_found_out_anew_from_time_to_time() {
        let mut play = Play::new();
        play.go_on(5000, 0, |_| 200_000);
        let followed = play.go_on(4 * HELD, 0, |_| 200_000);
        assert!((1..4 * 1000).contains(&(4 * HELD - followed)), "{followed} by arrival of {}", 4 * HELD);
    }
}
