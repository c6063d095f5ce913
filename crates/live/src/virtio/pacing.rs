//! When a queue is looked at: as soon as its bell rings, or a moment later, so that one look finds several requests.
//!
//! A guest that asks quickly rings for each request and is interrupted by each answer; both cost it, and the service, more than the
//! request does. So a queue may be left alone for a moment after a look that found something, with its bell silent. That pays where
//! the guest asks on meanwhile, and harms where it waits for its answers. Which of them it does cannot be read from the queue, since
//! what was answered may not have been seen yet: both ways are tried, and the one that takes more requests a second is kept.

use block::{Span, Time};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// So long a queue is left alone.
const PAUSE: Span = Span(100_000);
/// A pause is to gather so many times what a look by the bell finds, and no less than so many requests.
const GAIN: u32 = 2;
/// Requests over which a rate is taken.
const STRETCH: u32 = 512;
/// Whoever was idle for longer than this begins his stretch anew.
const IDLE: Span = Span(1_000_000);
/// Looks after which pauses that gain nothing end.
const PATIENCE: u32 = 16;
/// A rate counts for one of so many.
const SHARE: f64 = 4.0;
/// Pauses are kept where they lose no more than the rest of this.
const KEPT: f64 = 0.97;
/// Pauses that are kept are left for one stretch after so many, to know what the bell would give.
const KEPT_FOR: u32 = 32;
/// The most stretches by the bell before pauses are tried again.
const MOST: u32 = 256;

/// When a queue is looked at.
#[derive(Debug)]
pub(super) struct Pacing {
    /// Whether it is left alone after a look that took something, and whether it is now.
    pauses: bool,
    rests: bool,
    /// Rings at the end of a pause; without one there are none.
    alarm: Option<Rc<OwnedFd>>,
    /// Requests a second of late, by the bell and after pauses; none were counted is zero.
    rates: [f64; 2],
    /// What was taken since it was waited for last.
    taken: u32,
    /// The stretch: since when, what was taken in it, how often was looked, and when last.
    since: Time,
    stretch: u32,
    looks: u32,
    last: Time,
    /// Stretches until the other way is tried, and how many there were before pauses were last tried.
    left: u32,
    waited: u32,
}

impl Pacing {
    pub(super) fn new() -> Pacing {
        let alarm = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC);
        Pacing {
            pauses: false,
            rests: false,
            alarm: alarm.ok().map(Rc::new),
            rates: [0.0; 2],
            taken: 0,
            since: Time::ZERO,
            stretch: 0,
            looks: 0,
            last: Time::ZERO,
            left: 1,
            waited: 1,
        }
    }

    /// A request was taken.
    pub(super) fn note_taken(&mut self) {
        self.taken += 1;
    }

    /// Whether a queue in which nothing is left is not to ring: it will be looked at.
    pub(super) fn is_silent(&self) -> bool {
        self.pauses && self.taken > 0
    }

    /// The queue is waited for: what rings at the end of the pause, if there is to be one.
    pub(super) fn begin_wait(&mut self, now: Time) -> Option<&Rc<OwnedFd>> {
        self.rests = self.is_silent();
        let taken = std::mem::take(&mut self.taken);
        self.note_look(now, taken);
        let alarm = self.alarm.as_ref().filter(|_| self.rests)?;
        let time = |ns| Timespec { tv_sec: 0, tv_nsec: ns };
        let once = Itimerspec { it_interval: time(0), it_value: time(PAUSE.0 as i64) };
        // A time that is below a second is not refused.
        let _ = timerfd_settime(alarm, TimerfdTimerFlags::empty(), &once);
        Some(alarm)
    }

    /// What was waited for came: whether it was the end of a pause, and not the bell.
    pub(super) fn end_wait(&mut self) -> bool {
        std::mem::take(&mut self.rests)
    }

    /// A look at the queue has taken so many requests.
    fn note_look(&mut self, now: Time, taken: u32) {
        let idle = now.since(self.last) > IDLE;
        self.last = now;
        if idle {
            return self.begin_stretch(now);
        }
        self.stretch += taken;
        self.looks += 1;
        // What takes less than half as much need not be tried for long.
        let half = (self.rates[0] * now.since(self.since).as_secs() / 2.0) as u32;
        let in_vain = self.pauses && self.looks >= PATIENCE && self.stretch < half.max(GAIN * self.looks);
        if self.stretch >= STRETCH || in_vain {
            let rate = f64::from(self.stretch) / now.since(self.since).as_secs().max(1e-9);
            let mean = &mut self.rates[usize::from(self.pauses)];
            *mean = match *mean > 0.0 {
                // What gathers next to nothing counts for nothing.
                _ if in_vain => 0.0,
                true => *mean + (rate - *mean) / SHARE,
                false => rate,
            };
            self.choose();
            self.begin_stretch(now);
        }
    }

    fn begin_stretch(&mut self, now: Time) {
        (self.since, self.stretch, self.looks) = (now, 0, 0);
    }

    /// Chooses how the next stretch goes.
    fn choose(&mut self) {
        let [by_bell, after_pauses] = self.rates;
        self.left = self.left.saturating_sub(1);
        if self.pauses && after_pauses < KEPT * by_bell {
            self.waited = (2 * self.waited).min(MOST);
            (self.pauses, self.left, self.rates[1]) = (false, self.waited, 0.0);
        } else if self.pauses && self.left == 0 {
            (self.pauses, self.left, self.waited) = (false, 1, 1);
        } else if !self.pauses && self.left == 0 {
            let found = (f64::from(self.stretch) / f64::from(self.looks)).max(1.0);
            self.pauses = self.alarm.is_some() && by_bell * PAUSE.as_secs() >= f64::from(GAIN) * found;
            self.left = if self.pauses { KEPT_FOR } else { 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest that keeps so many requests asked, and takes so many µs to see an answer and ask again; as the queue is looked at.
    struct Guest {
        depth: u32,
        each: f64,
        now: f64,
        /// What it has asked by when, in order: the first may be in the past.
        asked: std::collections::VecDeque<f64>,
    }

    impl Guest {
        fn new(depth: u32, each: f64) -> Guest {
            Guest { depth, each, now: 0.0, asked: (1..=depth).map(|nth| f64::from(nth) * each).collect() }
        }

        /// Serves it for so many requests; the requests a second, and which share of the looks came after a pause.
        fn serve(&mut self, pacing: &mut Pacing, requests: u32) -> (f64, f64) {
            let (begun, mut served, mut paused, mut looks) = (self.now, 0, 0, 0);
            while served < requests {
                let waited = pacing.begin_wait(Time((self.now * 1e3) as u64)).is_some();
                self.now = if waited { self.now + 110.0 } else { self.now.max(self.asked[0]) + 10.0 };
                assert_eq!(pacing.end_wait(), waited);
                while self.asked.front().is_some_and(|at| *at <= self.now) {
                    self.asked.pop_front();
                    // It asks again when it is done with those before.
                    let last = self.asked.back().copied().unwrap_or(self.now);
                    self.asked.push_back(last.max(self.now) + self.each);
                    pacing.note_taken();
                    served += 1;
                }
                looks += 1;
                paused += u32::from(waited);
            }
            assert_eq!(self.asked.len(), self.depth as usize);
            (f64::from(served) * 1e6 / (self.now - begun), f64::from(paused) / f64::from(looks))
        }
    }
    /// What the bell alone would give.
    fn by_bell(depth: u32, each: f64, requests: u32) -> f64 {
        Guest::new(depth, each).serve(&mut Pacing { alarm: None, ..Pacing::new() }, requests).0
    }

    #[test]
    fn a_guest_that_asks_on_is_looked_at_after_pauses() {
        for (depth, each) in [(32, 28.0), (16, 20.0), (8, 45.0), (128, 5.0)] {
            let (rate, paused) = Guest::new(depth, each).serve(&mut Pacing::new(), 100_000);
            let bell = by_bell(depth, each, 100_000);
            assert!(paused > 0.6 && rate > 0.97 * bell, "{depth}, {each}: {paused} of the looks, {rate} of {bell}/s");
        }
    }

    #[test]
    fn a_guest_that_waits_for_its_answers_is_not_made_to() {
        // Or that asks too seldom to gain, or more in a pause than it may have asked.
        for (depth, each) in [(1, 28.0), (1, 5.0), (2, 10.0), (4, 5.0), (32, 2.0), (32, 70.0), (4, 1000.0)] {
            let (rate, paused) = Guest::new(depth, each).serve(&mut Pacing::new(), 400_000);
            let bell = by_bell(depth, each, 400_000);
            assert!(paused < 0.02 && rate > 0.98 * bell, "{depth}, {each}: {paused} of the looks, {rate} of {bell}/s");
        }
    }

    #[test]
    fn whatever_a_guest_does_next_little_is_lost() {
        use rand_core::{Rng, SeedableRng};
        let given = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok());
        for seed in given.map_or(0..40, |seed: u64| seed..seed + 1) {
            let mut draw = rand_pcg::Pcg64::seed_from_u64(seed);
            let mut pacing = Pacing::new();
            let (mut now, mut alone) = (0.0, 0.0);
            for _ in 0..6 {
                let (depth, each) = (1 << (draw.next_u32() % 8), f64::from(1 + draw.next_u32() % 100));
                let requests = 20_000 + draw.next_u32() % 40_000;
                let mut guest = Guest::new(depth, each);
                guest.asked.iter_mut().for_each(|at| *at += now);
                guest.now = now;
                let rate = guest.serve(&mut pacing, requests).0;
                now = guest.now;
                alone += f64::from(requests) * 1e6 / by_bell(depth, each, requests);
                assert!(rate > 0.0);
            }
            assert!(now < 1.04 * alone, "{now} us in place of {alone}: again with HALFTURN_SEED={seed}");
        }
    }
}
