//! A recording replayed with the response times it recorded: what the model makes of the processors by themselves (004 §5.3).
//!
//! With the processors given to processes as recorded ([`Dispatching::AsRecorded`]) all comes back, to the order of the last event
//! and the nanosecond: what processes compute, wait for and wake is told apart rightly. What is left is the dispatcher. Linux's goes
//! by virtual deadlines of each run queue and moves processes between them, which no recording has; the model's goes by shares.

use super::LoadedRecording;
use super::programs::{Programs, making, making_in_order};
use crate::events::ModelEventKind;
use crate::ordered::DispatchOrder;
use crate::process::Program;
use crate::system::ProcessSystem;
use block::{Ending, Span, Time};
use load::experiment::SystemPlan;
use load::{Fitting, Load};
use sched::Input;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// Who decides which process has a processor next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatching {
    /// The recording: each processor has the processes that it had, one after the other.
    AsRecorded,
    /// The dispatcher of the model.
    Modelled,
}

/// What came of a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayOutcome {
    /// Until the last process that ends had ended: recorded.
    pub recorded: Time,
    /// Until the last process that ends had ended: in the replay.
    pub replayed: Time,
    /// Requests, and how many of them came in the order in which they were recorded: the longest run that did.
    pub requests: usize,
    /// How many requests were issued in their recorded order: the longest run of them.
    pub in_order: usize,
    /// Times at which a process went to sleep, as recorded; where the dispatcher is the model's, none.
    pub sleeps: usize,
    /// How many of them the process has in the replay, too.
    pub slept: usize,
    /// By how much a request was made, or a process went to sleep, sooner or later than recorded, at most.
    pub farthest: Span,
}

impl ReplayOutcome {
    /// The farthest that a request, a sleep or the end was off, as a share of the recorded time.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let off = Span(self.replayed.0.abs_diff(self.recorded.0)).max(self.farthest);
        off.0 as f64 / self.recorded.0.max(1) as f64
    }
}

/// Replays a recording of one device, its response times as recorded.
#[must_use]
pub fn replay(tape: &LoadedRecording, device: (u32, u32), dispatching: Dispatching) -> ReplayOutcome {
    let made = match dispatching {
        Dispatching::Modelled => making(tape, device).finish(tape, &Fitting::AsIs),
        Dispatching::AsRecorded => {
            let tape = tape.one_by_one();
            making_in_order(&tape, device).finish(&tape, &Fitting::AsIs)
        }
    };
    let Programs { requests, programs, cpus, execution, order, sleeps, .. } = made;
    let mut system = machine(cpus, programs, order);
    // Which of the recorded requests each is: the same place at the same turn.
    let mut turns: BTreeMap<(u64, u32, u8), VecDeque<usize>> = BTreeMap::new();
    for (i, request) in requests.iter().enumerate() {
        turns
            .entry((request.io.at.start.0, request.io.at.blocks, super::kind(request.io.op)))
            .or_default()
            .push_back(i);
    }
    let (mut flying, mut order) = (BinaryHeap::new(), Vec::new());
    let (mut now, mut farthest) = (Time::ZERO, Span::ZERO);
    loop {
        let due = system.due().unwrap_or(Time::NEVER).max(now);
        let done = flying.peek().map_or(Time::NEVER, |Reverse((done, _, _))| *done);
        if due.min(done) == Time::NEVER {
            break;
        }
        now = due.min(done);
        if done <= due {
            let Some(Reverse((_, _, id))) = flying.pop() else { break };
            system.end_request(now, id, Ending::Finished);
        } else if let Ok(Some(Input::Submit(request))) = system.fire(now, Span::ZERO) {
            let place = (request.at.start.0, request.at.blocks, super::kind(request.op));
            let Some(i) = turns.get_mut(&place).and_then(VecDeque::pop_front) else { continue };
            order.push(i);
            farthest = farthest.max(Span(now.0.abs_diff(requests[i].asked.0)));
            // One that never ended does not end here either.
            if let Some(ended) = requests[i].ended {
                flying.push(Reverse((now + ended.since(requests[i].asked), i, request.id)));
            }
        }
    }
    let exits = system.events().iter().filter(|event| matches!(event.kind, ModelEventKind::Exit(_)));
    let last = exits.map(|event| event.at).max().unwrap_or(now);
    let replayed = system.account().ended.unwrap_or(last);
    let (slept, off) = compare_sleeps(&system, &sleeps);
    let (farthest, sleeps) = (farthest.max(off), sleeps.values().map(Vec::len).sum());
    ReplayOutcome {
        recorded: execution,
        replayed,
        requests: requests.len(),
        in_order: longest_rise(&order),
        sleeps,
        slept,
        farthest,
    }
}

/// How many of the recorded times at which processes of each seat went to sleep they have in a replay, one after the other, and how
/// far these lie off at most.
fn compare_sleeps(system: &ProcessSystem, sleeps: &BTreeMap<u64, Vec<Time>>) -> (usize, Span) {
    let mut left: BTreeMap<u64, std::slice::Iter<Time>> =
        sleeps.iter().map(|(seat, all)| (*seat, all.iter())).collect();
    let (mut slept, mut off) = (0, Span::ZERO);
    for event in system.events() {
        // Of one that was not seen to wake again there is no more: it ends where it went to sleep.
        if let ModelEventKind::Sleep(pid) | ModelEventKind::Exit(pid) = event.kind
            && let Some(seat) = system.processes[pid.0 as usize].program.seat()
            && let Some(recorded) = left.get_mut(&seat).and_then(Iterator::next)
        {
            slept += 1;
            off = off.max(Span(recorded.0.abs_diff(event.at.0)));
        }
    }
    (slept, off)
}

/// A machine of so many processors, which have the processes in an order, if one is given.
fn machine(cpus: u32, programs: Vec<Box<dyn Program>>, order: Option<DispatchOrder>) -> ProcessSystem {
    let plan = SystemPlan { cpus: Some(cpus), ..SystemPlan::LINUX };
    let Some(order) = order else { return ProcessSystem::of_plan(plan, programs).recording() };
    // Nobody is preempted but as recorded.
    let plan = SystemPlan { slice: Span(u64::MAX), preempt_on_wake: false, fair: false, ..plan };
    let mut system = ProcessSystem::of_plan(plan, Vec::new()).recording();
    system.keep_order(order);
    programs.into_iter().for_each(|program| system.create(program));
    system
}

/// The length of the longest run of ever larger numbers, others left out.
fn longest_rise(numbers: &[usize]) -> usize {
    let mut least_ends: Vec<usize> = Vec::new();
    for number in numbers {
        let at = least_ends.partition_point(|end| end < number);
        if at == least_ends.len() {
            least_ends.push(*number);
        } else {
            least_ends[at] = *number;
        }
    }
    least_ends.len()
}
