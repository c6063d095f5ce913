//! A recording replayed with the response times it recorded: what the model makes of the processors by themselves (004 §5.3).

use super::LoadedRecording;
use super::programs::{Programs, making};
use crate::events::ModelEventKind;
use crate::system::ProcessSystem;
use block::{Ending, Span, Time};
use load::experiment::SystemPlan;
use load::{Fitting, Load};
use sched::Input;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

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
}

/// Replays a recording of one device, its response times as recorded.
#[must_use]
pub fn replay(tape: &LoadedRecording, device: (u32, u32)) -> ReplayOutcome {
    let Programs { requests, programs, cpus, execution, .. } = making(tape, device).finish(tape, &Fitting::AsIs);
    let plan = SystemPlan { cpus: Some(cpus), ..SystemPlan::LINUX };
    let mut system = ProcessSystem::of_plan(plan, programs).recording();
    // Which of the recorded requests each is: the same place at the same turn.
    let mut turns: BTreeMap<(u64, u32, u8), VecDeque<usize>> = BTreeMap::new();
    for (i, request) in requests.iter().enumerate() {
        turns
            .entry((request.io.at.start.0, request.io.at.blocks, super::kind(request.io.op)))
            .or_default()
            .push_back(i);
    }
    let (mut flying, mut order) = (BinaryHeap::new(), Vec::new());
    let mut now = Time::ZERO;
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
            // One that never ended does not end here either.
            if let Some(ended) = requests[i].ended {
                flying.push(Reverse((now + ended.since(requests[i].asked), i, request.id)));
            }
        }
    }
    let exits = system.events().iter().filter(|event| matches!(event.kind, ModelEventKind::Exit(_)));
    let last = exits.map(|event| event.at).max().unwrap_or(now);
    let replayed = system.account().ended.unwrap_or(last);
    ReplayOutcome { recorded: execution, replayed, requests: requests.len(), in_order: longest_rise(&order) }
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
