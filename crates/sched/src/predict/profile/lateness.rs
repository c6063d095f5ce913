//! How often an arrival that leaves a given wait for its sector comes too late and costs a revolution.
//!
//! Seeks vary. Whether one took longer than its wait allowed shows in the completion: it comes a revolution
//! late. Counted by the wait that was left, this gives each candidate the revolution it is likely to cost; on a
//! drive that does as its sheet says, it gives none.

use crate::punctual::Arrival;

/// Classes of waits: 1/128 revolution each.
const CLASSES: usize = 128;
const CLASS_SHIFT: u32 = 28 - 7;
/// A class with so many samples forgets half of them.
const MEMORY: u32 = 2048;
/// On-time arrivals assumed in every class beforehand.
const PRIOR: u32 = 4;

/// Of arrivals that leave the wait aimed at, at most one in so many should be late.
const RARELY: u32 = 256;
/// The share of late ones is taken over so many classes together, with at least so many samples.
const WINDOW: usize = 4;
const ENOUGH: u32 = 128;
/// The wait aimed at while nothing is known: a quarter of a revolution.
const CAUTIOUS: usize = CLASSES / 4;
/// How often that is looked at again, in samples.
const REVIEW: u32 = 64;

/// How late commands were, as learned in use.
#[derive(Clone, Debug)]
pub struct Lateness {
    seen: [u32; CLASSES],
    late: [u32; CLASSES],
    /// Ticks an arrival of this class is expected to lose.
    penalty: [u32; CLASSES],
    /// The class of the wait to aim at.
    aim: usize,
    /// Samples since that was last looked at.
    reviewed: u32,
}

impl Lateness {
    pub(super) fn new() -> Lateness {
        Lateness { seen: [0; CLASSES], late: [0; CLASSES], penalty: [0; CLASSES], aim: CAUTIOUS, reviewed: 0 }
    }

    /// Ticks an arrival that leaves `wait` ticks (less than a revolution) is expected to lose.
    pub(super) fn penalty(&self, wait: u64) -> u64 {
        u64::from(self.penalty[(wait >> CLASS_SHIFT) as usize % CLASSES])
    }

    /// The wait to aim at, in ticks: the shortest that is rarely too short.
    pub(super) fn early(&self) -> u32 {
        ((self.aim + 1) as u32) << CLASS_SHIFT
    }

    /// Looks for it from the cautious end; where too little has been seen, it stays.
    fn review(&mut self) {
        let rare = |from: usize| {
            let window = from..from + WINDOW;
            let (seen, late) = (&self.seen[window.clone()], &self.late[window]);
            let (seen, late): (u32, u32) = (seen.iter().sum(), late.iter().sum());
            (seen >= ENOUGH).then_some(u64::from(late) * u64::from(RARELY) <= u64::from(seen))
        };
        // A class that was aimed at has many samples; shorter waits have those of arrivals that had no more.
        let mut aim = CAUTIOUS;
        for from in (0..CAUTIOUS).rev() {
            match rare(from) {
                Some(true) => aim = from,
                Some(false) => break,
                None => {}
            }
        }
        self.aim = aim;
    }

    /// The head has come to its sector; `wait` ticks should have been left then.
    pub(super) fn add_arrival(&mut self, wait: u64, arrival: Arrival) {
        let class = (wait >> CLASS_SHIFT) as usize % CLASSES;
        self.seen[class] += 1;
        self.late[class] += u32::from(arrival == Arrival::Late);
        if self.seen[class] >= MEMORY {
            self.seen[class] /= 2;
            self.late[class] /= 2;
        }
        let share = u64::from(self.late[class]) << 28;
        self.reviewed += 1;
        if self.reviewed >= REVIEW {
            self.reviewed = 0;
            self.review();
        }
        self.penalty[class] = (share / u64::from(self.seen[class] + PRIOR)) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A revolution, in ticks.
    const TURN: u64 = 1 << 28;
    const WAIT: u64 = 5 << CLASS_SHIFT;

    fn arrival(late: bool) -> Arrival {
        if late { Arrival::Late } else { Arrival::InTime }
    }

    fn after(arrivals: impl IntoIterator<Item = bool>) -> Lateness {
        let mut lateness = Lateness::new();
        arrivals.into_iter().for_each(|late| lateness.add_arrival(WAIT, arrival(late)));
        lateness
    }

    #[test]
    fn an_arrival_is_expected_to_lose_the_share_of_a_revolution_that_was_late() {
        let lateness = after((0..400).map(|n| n % 4 == 0));
        let share = lateness.penalty(WAIT) as f64 / TURN as f64;
        assert!((share - 0.25).abs() < 0.005, "{share}");
        assert_eq!(
            [lateness.penalty(WAIT + (1 << CLASS_SHIFT)), after([]).penalty(WAIT)],
            [0, 0],
            "of nothing, nothing is known"
        );
        let little = after([true]).penalty(WAIT);
        assert_eq!(little, TURN / u64::from(PRIOR + 1), "one late arrival counts against those assumed in time");
    }

    #[test]
    fn what_is_forgotten_leaves_the_share_as_it_was_and_what_comes_then_weighs_more() {
        let long = after((0..u64::from(MEMORY) * 3).map(|n| n % 4 == 0));
        let share = long.penalty(WAIT) as f64 / TURN as f64;
        assert!((share - 0.25).abs() < 0.01, "{share}");
        assert!(long.seen[5] < MEMORY, "{}", long.seen[5]);
        let changed = after((0..MEMORY * 4).map(|_| false).chain((0..MEMORY).map(|_| true)));
        assert!(changed.penalty(WAIT) as f64 / TURN as f64 > 0.4, "{}", changed.penalty(WAIT));
    }

    #[test]
    fn the_aim_is_cautious_until_enough_arrived_in_time_and_then_shorter() {
        assert_eq!(after([]).aim, CAUTIOUS);
        let mut lateness = Lateness::new();
        for n in 0..u64::from(CAUTIOUS as u32 * 2 * ENOUGH) {
            let class = n % CAUTIOUS as u64;
            // Waits of less than ten classes are late half the time.
            let late = class < 10 && (n / CAUTIOUS as u64).is_multiple_of(2);
            lateness.add_arrival(class << CLASS_SHIFT, arrival(late));
        }
        assert!((9..=10 + WINDOW).contains(&lateness.aim), "{}", lateness.aim);
    }
}
