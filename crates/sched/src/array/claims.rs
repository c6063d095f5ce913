//! What the writes that wait for room in the buffer claim: the most that one of them yields per block (Preemptive RAID
//! scheduling, Eq. 3), without a look at each of them every time.
//!
//! What a write is worth never rises, so that what it was worth when it was last looked at is a bound. The writes lie in a heap
//! by their bounds; only those whose bound is above the best found so far are looked at again.

use crate::JobId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bounds of writes that no longer wait are kept up to this many beyond twice those that do.
const SPARE: usize = 64;

/// A bound, as the bits of a number that is not negative: these are in the order of the numbers.
type Claim = (u64, Reverse<u64>, JobId);

/// Bounds of what waits.
#[derive(Debug, Default)]
pub(super) struct Claims {
    heap: BinaryHeap<Claim>,
    seen: Vec<Claim>,
}

impl Claims {
    /// A write waits, or is worth something else than before.
    pub(super) fn push(&mut self, sequence: u64, id: JobId) {
        self.heap.push((f64::INFINITY.to_bits(), Reverse(sequence), id));
    }

    /// The most of what `worth` says of each write by its number and its slot; nothing is said of one that no longer waits.
    /// It never says more of a write than it did, unless that was pushed since.
    pub(super) fn most(&mut self, worth: impl Fn(u64, JobId) -> Option<f64>) -> f64 {
        let mut best = 0.0f64;
        while let Some((bound, Reverse(sequence), id)) = self.heap.peek().copied() {
            if f64::from_bits(bound) <= best {
                break;
            }
            self.heap.pop();
            if let Some(worth) = worth(sequence, id) {
                best = best.max(worth);
                self.seen.push((worth.max(0.0).to_bits(), Reverse(sequence), id));
            }
        }
        self.heap.extend(self.seen.drain(..));
        best
    }

    /// Forgets those that no longer wait once they are the most; `waiting` are those that do.
    pub(super) fn tidy(&mut self, waiting: usize, waits: impl Fn(u64, JobId) -> bool) {
        if self.heap.len() > SPARE + 2 * waiting {
            self.heap.retain(|(_, Reverse(sequence), id)| waits(*sequence, *id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Curve, Worth};
    use block::{Qos, Time};
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    struct Write {
        worth: Worth,
        blocks: u32,
        qos: Qos,
        arrived: Time,
        waits: bool,
    }

    impl Write {
        fn worth(&self, now: Time) -> f64 {
            let fresh = self.worth.fresh(self.blocks).max(1e-9);
            self.worth.at(self.blocks, &self.qos, self.arrived, now) / fresh
        }
    }

    fn curve() -> impl Strategy<Value = Curve> {
        let point = (0.0..2.0f64, 0.0..=1.0f64);
        prop_oneof![
            Just(Curve::HARD),
            Just(Curve::BEST_EFFORT),
            (0.0..1.0f64).prop_map(Curve::interactive_real_time),
            (0.0..1.0f64).prop_map(Curve::interactive_best_effort),
            prop::collection::vec(point, 1..6).prop_map(|mut points| {
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                let mut left: Vec<f64> = points.iter().map(|point| point.1).collect();
                left.sort_by(|a, b| b.total_cmp(a));
                let points: Vec<_> = points.iter().zip(left).map(|(point, left)| (point.0, left)).collect();
                Curve::through(&points).expect("it falls")
            }),
        ]
    }

    /// A step: what is done, to which write, when, and with what.
    fn step() -> impl Strategy<Value = (u8, usize, u64, Curve, u32, Option<u64>)> {
        (0..6u8, 0..64usize, 0..400u64, curve(), 0..4000u32, prop::option::of(0..2000u64))
    }

    proptest! {
        /// Writes come, change, go and grow old: the most is what a look at each of them gives, to the bit.
        #[test]
        fn the_most_is_that_of_looking_at_each(steps in prop::collection::vec(step(), 1..200)) {
            let (mut writes, mut claims, mut now) = (Vec::<Write>::new(), Claims::default(), Time(1));
            for (what, which, later, curve, blocks, deadline) in steps {
                now.0 += later;
                let qos = Qos { deadline: deadline.map(|deadline| Time(now.0 + deadline)), ..Qos::default() };
                let fresh = Write { worth: Worth { curve, ..Worth::USUAL }, blocks, qos, arrived: now, waits: true };
                let count = writes.len();
                match what {
                    0..=2 => {
                        writes.push(fresh);
                        claims.push(count as u64, JobId(count as u32));
                    }
                    3 if count > 0 => writes[which % count].waits = false,
                    4 if count > 0 => {
                        let at = which % count;
                        (writes[at].qos, writes[at].worth) = (qos, fresh.worth);
                        claims.push(at as u64, JobId(at as u32));
                    }
                    _ => {}
                }
                let there = |at: u64| writes.get(at as usize).filter(|write| write.waits);
                let waiting = writes.iter().filter(|write| write.waits);
                let naive = waiting.clone().map(|write| write.worth(now)).fold(0.0, f64::max);
                claims.tidy(waiting.count(), |at, _| there(at).is_some());
                let most = claims.most(|at, _| there(at).map(|write| write.worth(now)));
                prop_assert_eq!(most.to_bits(), naive.to_bits(), "{} in place of {} at {:?}", most, naive, now);
            }
        }
    }

    #[test]
    fn writes_that_come_and_go_leave_no_bounds_behind() {
        let mut claims = Claims::default();
        for at in 0..10_000u64 {
            claims.push(at, JobId(0));
            // The last ten wait.
            let waiting = at.min(9) + 1;
            claims.tidy(waiting as usize, |other, _| other + waiting > at);
            assert!(claims.heap.len() <= SPARE + 2 * waiting as usize, "{} bounds of {waiting}", claims.heap.len());
            assert_eq!(claims.most(|other, _| (other + waiting > at).then_some(other as f64 + 1.0)), at as f64 + 1.0);
        }
    }

    #[test]
    fn a_long_queue_is_not_looked_at_each_time() {
        for falling in [Curve::HARD, Curve::interactive_best_effort(0.1)] {
            let worth = Worth { curve: falling, ..Worth::USUAL };
            let (mut claims, looks) = (Claims::default(), std::cell::Cell::new(0u64));
            let write = |at: u64| {
                let qos = Qos { deadline: Some(Time(at * 100 + 5_000_000)), ..Qos::default() };
                Write { worth, blocks: 8, qos, arrived: Time(at * 100), waits: true }
            };
            for at in 0..20_000 {
                claims.push(at, JobId(0));
                // As many go as come in the second half.
                let gone = at.saturating_sub(10_000);
                claims.tidy((at - gone) as usize, |at, _| at >= gone);
                claims.most(|other, _| {
                    looks.set(looks.get() + 1);
                    (other >= gone).then(|| write(other).worth(Time(at * 100)))
                });
            }
            assert!(looks.get() < 10 * 20_000, "{} looks", looks.get());
        }
    }
}
