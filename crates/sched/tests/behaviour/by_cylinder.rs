//! Policies by cylinder and by criticality in their plainest form (004 §6.1, §6.3).

use crate::naive::Waiting;
use block::{Extent, Span, Time};
use sched::predict::Predictor;

/// A sweep: the cylinder of the last one taken, whether it goes down, whether others were served since.
#[derive(Clone, Copy, Debug, Default)]
struct Sweep {
    at: u64,
    down: bool,
    interrupted: bool,
}

/// What these policies remember.
#[derive(Default)]
pub struct ByCylinder {
    low: Sweep,
    late: Sweep,
}

/// A request with its cylinder.
type Placed<'a> = (u64, &'a Waiting);

fn first<'a>(waiting: impl Iterator<Item = Placed<'a>>, distance: impl Fn(u64) -> u64) -> Option<Placed<'a>> {
    let placed: Vec<Placed> = waiting.collect();
    // Which cylinder, then the lowest block of it.
    let (cylinder, _) = placed.iter().min_by_key(|(cylinder, job)| {
        let lowest =
            placed.iter().filter(|(other, _)| other == cylinder).map(|(_, job)| (job.start, job.sequence)).min();
        (distance(*cylinder), lowest.map(|(_, sequence)| sequence), job.start)
    })?;
    placed.iter().filter(|(other, _)| other == cylinder).min_by_key(|(_, job)| (job.start, job.sequence)).copied()
}

impl Sweep {
    /// The next of these from a cylinder on.
    fn next<'a>(&mut self, from: u64, waiting: &[Placed<'a>]) -> Option<Placed<'a>> {
        if waiting.is_empty() {
            return None;
        }
        for _ in 0..2 {
            let down = self.down;
            let ahead = waiting.iter().filter(|(cylinder, _)| if down { *cylinder <= from } else { *cylinder >= from });
            if let Some(found) = first(ahead.copied(), |cylinder| cylinder.abs_diff(from)) {
                (self.at, self.interrupted) = (found.0, false);
                return Some(found);
            }
            self.down = !self.down;
        }
        None
    }
}

impl ByCylinder {
    /// The number of the request it serves now.
    pub fn choose<P: Predictor>(
        &mut self,
        name: &str,
        timeout: Option<Span>,
        now: Time,
        belief: &P,
        waiting: &[Waiting],
    ) -> Vec<u64> {
        let cylinder = |at: Extent| belief.cylinder(belief.spot(at)).map(u64::from);
        let placed: Vec<Placed> = waiting.iter().map(|job| (cylinder(job.at).unwrap_or(job.start), job)).collect();
        let arm = belief.arm().0;
        let arm = cylinder(Extent::new(arm.saturating_sub(1), 1)).unwrap_or(arm);
        let nearest = |of: &[Placed<'_>]| first(of.iter().copied(), |cylinder| cylinder.abs_diff(arm)).map(|it| it.0);
        let chosen = match name {
            "look-cyl" => self.low.next(arm, &placed),
            "sstf-cyl" => first(placed.iter().copied(), |cylinder| cylinder.abs_diff(arm)),
            "c-look-cyl" => {
                let ahead = placed.iter().copied().filter(|(cylinder, _)| *cylinder >= arm);
                first(ahead, |cylinder| cylinder).or_else(|| first(placed.iter().copied(), |cylinder| cylinder))
            }
            _ => {
                let waited =
                    |job: &Waiting, share: u64| timeout.is_some_and(|t| now.since(job.arrived).0 >= t.0 / share);
                let is_high = |job: &Waiting| job.qos.priority > 0 || waited(job, 1);
                let is_late = |job: &Waiting| name == "3q" && !is_high(job) && waited(job, 2);
                let of = |wanted: &dyn Fn(&Waiting) -> bool| -> Vec<Placed> {
                    placed.iter().copied().filter(|(_, job)| wanted(job)).collect()
                };
                let (high, late) = (of(&is_high), of(&is_late));
                let low = of(&|job| !is_high(job) && !is_late(job));
                let resumes = |sweep: Sweep, queue: &[Placed<'_>]| match nearest(queue) {
                    Some(nearest) if name == "priority-2" && sweep.interrupted => nearest,
                    _ => sweep.at,
                };
                if !high.is_empty() {
                    (self.low.interrupted, self.late.interrupted) = (true, true);
                    first(high.iter().copied(), |cylinder| cylinder.abs_diff(arm))
                } else if !late.is_empty() {
                    self.low.interrupted = true;
                    self.late.next(resumes(self.late, &late), &late)
                } else {
                    self.low.next(resumes(self.low, &low), &low)
                }
            }
        };
        chosen.map(|(_, job)| job.sequence).into_iter().collect()
    }

    /// Earliest deadline first, what has none by LOOK.
    pub fn choose_due<P: Predictor>(
        &mut self,
        (near, spare): (Span, Option<Span>),
        now: Time,
        belief: &P,
        waiting: &[Waiting],
    ) -> Vec<u64> {
        let deadline = |job: &Waiting| job.qos.deadline.unwrap_or(Time::NEVER);
        let earliest = waiting.iter().map(deadline).min().unwrap_or(Time::NEVER);
        let rest: Vec<Waiting> = waiting.iter().filter(|job| job.qos.deadline.is_none()).copied().collect();
        let is_far = spare.is_some_and(|spare| earliest > now && earliest.since(now) > spare);
        if earliest == Time::NEVER || (is_far && !rest.is_empty()) {
            return self.choose("look-cyl", None, now, belief, &rest);
        }
        let cylinder = |at: Extent| belief.cylinder(belief.spot(at)).map(u64::from);
        let arm = belief.arm().0;
        let arm = cylinder(Extent::new(arm.saturating_sub(1), 1)).unwrap_or(arm);
        let window = waiting.iter().filter(|job| job.qos.deadline.is_some_and(|due| due.since(earliest) <= near));
        let rank = |job: &&Waiting| {
            let away = if near > Span::ZERO { cylinder(job.at).unwrap_or(job.start).abs_diff(arm) } else { 0 };
            (away, if near > Span::ZERO { job.start } else { 0 }, job.sequence)
        };
        window.min_by_key(rank).map(|job| job.sequence).into_iter().collect()
    }
}
