//! Shortest seek time first: the waiting request whose first block is nearest by block number.

use super::arms::{ArmOrder, OfArms};
use super::base::Base;
use super::{Beside, Kind, Manual, Needs, Policy, by_lbn};
use crate::ordered::{Ordered, Position};
use crate::predict::Predictor;
use crate::{Job, JobId, Jobs};
use block::{BadInput, Lbn, Time};
use config::Section;

/// The policy has no keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings;

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "sstf",
        text: "Shortest seek time first: the waiting request whose first block is nearest by block number. What is far may wait long. Where a device has several arms, the one with the least to do is served, and what is nearest to that.",
        keys: &[],
        example: "policy = \"sstf\"",
        needs: Needs::Nothing,
    };

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>> {
        OfArms::or_one(Sstf::new, beside.caps)
    }
}

/// Blocks between two requests of a run at most: what lies in between passes under the head sooner than the arm turns round.
const GAP: u64 = 256;
/// Requests of a run that are looked at for one choice, at most.
const RUN: u32 = 32;

/// The nearest request first; with `RUNS`, where that is the end of a run below the arm, the first request of the run.
pub(super) struct Sstf<const RUNS: bool = false> {
    waiting: Ordered,
    examined: u64,
}

impl Sstf {
    pub(super) fn new() -> Sstf {
        Sstf { waiting: Ordered::new(), examined: 0 }
    }
}

impl Sstf<true> {
    pub(super) fn by_runs() -> Sstf<true> {
        Sstf { waiting: Ordered::new(), examined: 0 }
    }
}

impl<const RUNS: bool> Sstf<RUNS> {
    /// Where the nearest one waits, the arm being there: the first on either side of it, of two as near the older.
    fn nearest(&mut self, arm: Lbn) -> Option<Position> {
        let (below, above) = self.waiting.around(arm.0);
        self.examined += u64::from(below.is_some()) + u64::from(above.is_some());
        let rank = |position: Position| {
            let it = self.waiting.at(position);
            (it.key.abs_diff(arm.0), it.sequence)
        };
        match (below, above) {
            (Some(below), Some(above)) => Some(if rank(below) < rank(above) { below } else { above }),
            (below, above) => below.or(above),
        }
    }

    /// Takes this one, the nearest, out, or where it lies below the arm and at the end of a run, the first of the run. From above an arm
    /// comes upon the last one of a run first, and each one before it would cost a revolution.
    fn take_run<S: Copy>(&mut self, nearest: Position, arm: Lbn, jobs: &Jobs<S>) -> JobId {
        let mut first = nearest;
        let mut start = self.waiting.at(first).key;
        let looked_at = if start < arm.0 { RUN } else { 0 };
        for _ in 0..looked_at {
            let Some(before) = self.waiting.last_before(start) else { break };
            self.examined += 1;
            let Some(job) = jobs.get(self.waiting.at(before).id) else { break };
            if job.rest().end().0 + GAP < start {
                break;
            }
            (first, start) = (before, job.rest().start.0);
        }
        self.waiting.take(first)
    }
}

impl<P: Predictor, const RUNS: bool> Policy<P> for Sstf<RUNS> {
    fn add(&mut self, id: JobId, job: &Job<P::Spot>, _: &P) {
        self.waiting.add(by_lbn(id, job));
    }

    fn remove(&mut self, _: JobId, job: &Job<P::Spot>, _: &P) {
        self.waiting.remove(job.rest().start.0, job.sequence);
    }

    #[inline(always)]
    fn take(&mut self, now: Time, jobs: &Jobs<P::Spot>, belief: &P) -> Option<JobId> {
        self.take_from(belief.arm(), now, jobs, belief)
    }

    fn pass(&mut self, _: &Job<P::Spot>, _: &P) -> bool {
        self.examined += 1;
        true
    }

    fn candidates(&self) -> u64 {
        self.examined
    }
}

impl<P: Predictor, const RUNS: bool> ArmOrder<P> for Sstf<RUNS> {
    #[inline(always)]
    fn take_from(&mut self, head: Lbn, _: Time, jobs: &Jobs<P::Spot>, _: &P) -> Option<JobId> {
        let nearest = self.nearest(head)?;
        Some(if RUNS { self.take_run(nearest, head, jobs) } else { self.waiting.take(nearest) })
    }
}

impl<P: Predictor> Base<P> for Sstf {
    fn choice(&mut self, head: Lbn) -> Option<JobId> {
        let nearest = self.nearest(head)?;
        Some(self.waiting.at(nearest).id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::Distance;
    use block::{Caps, Command, Extent, Op, Place, Qos, Request, RequestId, Verb};

    fn draw(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) % below
    }

    /// A request that waits from now on.
    fn submit(
        step: u32,
        (op, at): (Op, Extent),
        policy: &mut dyn Policy<Distance>,
        jobs: &mut Jobs<Lbn>,
    ) -> (JobId, Job<Lbn>) {
        let request = Request { id: RequestId(step), op, at, qos: Qos::default() };
        let job = Job::new(&request, Time(0), u64::from(step), at.start);
        let id = jobs.insert(job);
        policy.add(id, &job, &Distance::default());
        (id, job)
    }

    /// As every request weighed by itself has it, also where several begin at one block or as far below the arm as above it.
    #[test]
    fn the_nearest_goes_first_and_of_two_as_near_the_older() {
        let mut state = 5u64;
        let mut draw = |below: u64| draw(&mut state, below);
        let (mut policy, mut belief, mut jobs) = (Sstf::new(), Distance::default(), Jobs::new());
        let mut waiting: Vec<(JobId, Job<Lbn>)> = Vec::new();
        for step in 0..20_000u32 {
            if waiting.len() < 3 + step as usize % 40 {
                let op = if draw(2) == 0 { Op::Read } else { Op::Write { fua: draw(2) == 0 } };
                let most = if draw(3) == 0 { 20 } else { 1000 };
                waiting.push(submit(step, (op, Extent::new(draw(most), 1)), &mut policy, &mut jobs));
                continue;
            }
            let arm = Predictor::arm(&belief).0;
            let rank = |at: &usize| (waiting[*at].1.at.start.0.abs_diff(arm), waiting[*at].1.sequence);
            let nearest = (0..waiting.len()).min_by_key(rank).expect("some wait");
            let (id, job) = waiting.swap_remove(nearest);
            assert_eq!(Base::<Distance>::choice(&mut policy, Lbn(arm)), Some(id), "step {step}, seed 5");
            assert_eq!(policy.take(Time(0), &jobs, &belief), Some(id), "step {step}, seed 5");
            jobs.free(id);
            let there = if draw(2) == 0 { job.at } else { Extent::new(draw(1000), 1) };
            belief.note_issue(Time(0), &Command::new(Verb::Read, there, Place::Nowhere), there.start);
        }
    }

    /// As every request weighed by itself has it: of the arm with the least in service, of arms with as much that which was served longest
    /// ago; of that arm the nearest, of two as near the older. What waits again, or ends, counts no more.
    #[test]
    fn of_several_arms_the_one_with_the_least_to_do_is_served() {
        const SHARE: u64 = 300;
        let mut state = 11u64;
        let mut draw = |below: u64| draw(&mut state, below);
        let caps = Caps { blocks: 3 * SHARE, depth: 32, seek: block::SeekBy::Nothing, arms: 3 };
        let (mut policy, belief, mut jobs) = (OfArms::or_one(Sstf::new, Some(caps)), Distance::default(), Jobs::new());
        let (mut waiting, mut given) = (Vec::<(JobId, Job<Lbn>)>::new(), Vec::<(JobId, Job<Lbn>)>::new());
        let (mut heads, mut served) = ([0, SHARE, 2 * SHARE], [0; 3]);
        let arm = |job: &Job<Lbn>| (job.at.start.0 / SHARE) as usize;
        assert!(policy.follows_service());
        for step in 0..20_000u32 {
            if waiting.len() < 2 + step as usize % 30 {
                let most = if draw(2) == 0 { SHARE } else { caps.blocks - 4 };
                let at = Extent::new(draw(most), 1 + draw(4) as u32);
                waiting.push(submit(step, (Op::Read, at), &mut *policy, &mut jobs));
                continue;
            }
            let counts = [0, 1, 2].map(|of| given.iter().filter(|(_, job)| arm(job) == of).count());
            let rank = |job: &Job<Lbn>| {
                let arm = arm(job);
                (counts[arm], served[arm], arm, job.at.start.0.abs_diff(heads[arm]), job.sequence)
            };
            let expected = waiting.iter().min_by_key(|(_, job)| rank(job)).map(|(id, _)| *id);
            assert_eq!(policy.take(Time(0), &jobs, &belief), expected, "step {step}, seed 11");
            let place = waiting.iter().position(|(id, _)| Some(*id) == expected).expect("it waits");
            let (id, job) = waiting.swap_remove(place);
            served[arm(&job)] = step;
            heads[arm(&job)] = job.at.end().0.min((arm(&job) as u64 + 1) * SHARE - 1);
            given.push((id, job));
            while given.len() > draw(6) as usize {
                let (id, job) = given.swap_remove(draw(given.len() as u64) as usize);
                if draw(4) == 0 {
                    policy.add(id, &job, &belief);
                    waiting.push((id, job));
                } else {
                    policy.end(Time(0), &job);
                    jobs.free(id);
                }
            }
        }
    }

    /// The run of the nearest one, looked for among all that wait, one by one.
    #[test]
    fn a_run_below_the_arm_is_begun_with_its_first() {
        let mut state = 7u64;
        let mut draw = |below: u64| draw(&mut state, below);
        let (mut policy, mut jobs) = (Sstf::by_runs(), Jobs::new());
        let mut waiting: Vec<(JobId, Job<Lbn>)> = Vec::new();
        let (mut jumps, mut longest) = (0, 0);
        for step in 0..20_000u32 {
            if waiting.len() < 3 + step as usize % 90 {
                let blocks = 1 + draw(600) as u32;
                let at = Extent::new(draw(if step % 3000 < 1500 { 30_000 } else { 3_000_000 }), blocks);
                waiting.push(submit(step, (Op::Read, at), &mut policy, &mut jobs));
                continue;
            }
            let arm = draw(3_000_000) % if draw(2) == 0 { 30_000 } else { 3_000_000 };
            let nearest = waiting.iter().min_by_key(|(_, job)| (job.at.start.0.abs_diff(arm), job.sequence));
            let (mut expected, mut length) = (nearest.expect("some wait").1, 0);
            while expected.at.start.0 < arm && length < RUN {
                let below = waiting.iter().filter(|(_, job)| job.at.start < expected.at.start);
                let last = below.max_by_key(|(_, job)| (job.at.start, u64::MAX - job.sequence));
                let Some((_, before)) = last.filter(|(_, job)| job.at.end().0 + GAP >= expected.at.start.0) else {
                    break;
                };
                (expected, length) = (*before, length + 1);
            }
            (jumps, longest) = (jumps + u32::from(length > 0), longest.max(length));
            let id = policy.take_from(Lbn(arm), Time(0), &jobs, &Distance::default()).expect("some wait");
            assert_eq!(jobs.get(id).map(|job| job.sequence), Some(expected.sequence), "step {step}, seed 7");
            waiting.retain(|(other, _)| *other != id);
            jobs.free(id);
        }
        assert!(jumps > 1000 && longest == RUN, "{jumps} runs, of {longest} at most, seed 7");
    }
}
