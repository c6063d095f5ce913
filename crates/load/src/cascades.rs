//! Operations: so many requests of one workload, each of which is asked for when the one before has ended (Preemptive RAID scheduling,
//! Section 4.2.2). A deadline is that of the whole operation, from the arrival of its first request.

use crate::experiment::Experiment;
use crate::meter::{Meter, OperationServed, Served};
use block::{Ending, RequestId, Span, Time};
use std::collections::VecDeque;

/// How far an operation has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CascadedOperation {
    /// Requests of it that were not asked for yet.
    left: u32,
    /// What is counted of it.
    served: OperationServed,
    /// When its next request arrives.
    due: Time,
}

impl CascadedOperation {
    /// By when all of it is to be done.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.served.deadline
    }

    /// When its next request arrives.
    pub(crate) fn due(&self) -> Time {
        self.due
    }
}

/// The operations of one workload.
#[derive(Clone, Debug)]
struct OperationChain {
    /// Requests of an operation; 1 where there are none.
    requests: u32,
    class: u8,
    deadline: Option<Span>,
    /// Operations whose next request is due, in that order.
    next: VecDeque<CascadedOperation>,
}

/// The operations of all workloads that are under way.
#[derive(Clone, Debug)]
pub(crate) struct Cascades {
    chains: Vec<OperationChain>,
    /// Which operation each outstanding request is of, by the request's number.
    under_way: Vec<Option<CascadedOperation>>,
}

impl Cascades {
    /// Those of an experiment; nothing where no request of it is part of an operation.
    pub(crate) fn of(experiment: &Experiment, meter: &mut Meter) -> Option<Cascades> {
        let chains = experiment.workloads.iter().map(|what| OperationChain {
            requests: what.kind.cascade(),
            class: experiment.class_of(what),
            deadline: what.deadline,
            next: VecDeque::new(),
        });
        let chains: Vec<OperationChain> = chains.collect();
        let cascading = chains.iter().filter(|chain| chain.requests > 1);
        let count = cascading.map(|chain| meter.begin_operations(chain.class)).count();
        (count > 0).then(|| Cascades { chains, under_way: Vec::new() })
    }

    /// When the next request of an operation of this workload is due.
    pub(crate) fn due(&self, source: usize) -> Option<Time> {
        self.chains[source].next.front().map(|operation| operation.due)
    }

    /// The operation whose next request is due by then.
    pub(crate) fn take_due(&mut self, source: usize, by: Time) -> Option<CascadedOperation> {
        let next = &mut self.chains[source].next;
        next.front().is_some_and(|operation| operation.due <= by).then(|| next.pop_front())?
    }

    /// The operation that a request begins which arrived then; nothing where it is part of none.
    pub(crate) fn begin(&self, source: usize, arrived: Time) -> Option<CascadedOperation> {
        let chain = self.chains.get(source).filter(|chain| chain.requests > 1)?;
        let deadline = chain.deadline.map(|within| arrived + within);
        let served = OperationServed { class: chain.class, arrived, deadline, counts: false };
        Some(CascadedOperation { left: chain.requests, served, due: arrived })
    }

    /// A request of an operation, or of none, is outstanding. What belongs to the sample is the operation of a first request that does.
    pub(crate) fn note_asked(
        &mut self,
        id: RequestId,
        operation: Option<CascadedOperation>,
        of: &Served,
        meter: &mut Meter,
    ) {
        let slot = id.0 as usize;
        if slot >= self.under_way.len() {
            self.under_way.resize(slot + 1, None);
        }
        self.under_way[slot] = operation.map(|mut operation| {
            if of.counts && operation.due == operation.served.arrived && !operation.served.counts {
                operation.served.counts = true;
                meter.await_operation();
            }
            operation.left -= 1;
            operation
        });
    }

    /// A request of this workload has ended. Says whether its operation goes on; else it has ended, too.
    pub(crate) fn note_ended(
        &mut self,
        source: usize,
        (now, id, how): (Time, RequestId, Ending),
        meter: &mut Meter,
    ) -> bool {
        let Some(operation) = self.under_way.get_mut(id.0 as usize).and_then(Option::take) else { return false };
        if how == Ending::Finished && operation.left > 0 {
            self.chains[source].next.push_back(CascadedOperation { due: now, ..operation });
            return true;
        }
        meter.end_operation(&operation.served, now, how);
        false
    }

    /// Whatever of the sample is under way is followed no further.
    pub(crate) fn give_up(&mut self, now: Time, meter: &mut Meter) {
        let waiting = self.chains.iter_mut().flat_map(|chain| chain.next.drain(..));
        let left = self.under_way.iter_mut().filter_map(Option::take).chain(waiting);
        left.for_each(|operation| meter.give_up_operation(&operation.served, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;
    use crate::{Draw, Load, Mix};
    use block::Request;
    use block::errno::EIO;
    use sched::Input;
    use std::collections::BTreeMap;

    fn of(workloads: &str) -> Experiment {
        let text = format!(
            "[drive]\nmodel = \"atlas10k\"\n[scheduler]\npolicy = \"satf\"\n{workloads}[run]\nduration = \"5s\"\n"
        );
        experiment::parse("it.toml", &text, &[], None).expect("it is in order").remove(0).experiment
    }

    /// What a request is of, as the test follows it: when its operation began and which of its requests it is.
    type OperationStep = (Time, u32);

    fn ask(mix: &mut Mix, now: Time) -> Request {
        match mix.fire(now, Span::ZERO).expect("nothing is read") {
            Some(Input::Submit(request)) => request,
            other => panic!("{other:?}"),
        }
    }

    /// A loop of two that asks for three requests one after the other, and arrivals of which each is for itself: whatever ends when,
    /// and however it ends, each operation goes on when its request has ended, has its own deadline, and is counted as the test
    /// counts it.
    #[test]
    fn an_operation_asks_for_its_next_request_when_the_last_has_ended() {
        let loops = "[[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 2\nthink = \"3ms\"\nsize = \"8KiB\"\ncascade = 3\ndeadline = \"30ms\"\n";
        let open = "[[workload]]\nname = \"b\"\nkind = \"open\"\nrate = \"200/s\"\nsize = \"4KiB\"\n";
        for seed in 0..20 {
            println!("seed {seed}");
            let mut mix = Mix::new(&of(&format!("{loops}{open}")), seed, 1 << 20).expect("it fits");
            mix.meter_mut().begin(Time::ZERO, None, None);
            let (mut draw, mut now) = (Draw::new(seed, 9), Time::ZERO);
            let (mut open, mut steps): (Vec<Request>, BTreeMap<u32, OperationStep>) = Default::default();
            // Operations that go on, by when their next request is due.
            let mut going_on: Vec<(Time, OperationStep)> = Vec::new();
            let (mut took, mut missed, mut failed, mut dropped) = (Vec::new(), 0, 0, 0);
            for _ in 0..3_000 {
                let due = mix.due().filter(|due| *due <= now + Span(2_000_000));
                if let Some(due) = due.filter(|_| open.is_empty() || draw.below(2) == 0) {
                    now = now.max(due);
                    let request = ask(&mut mix, now);
                    if request.at.blocks == 16 {
                        let going = going_on.iter().position(|(at, _)| *at == due);
                        let step = going.map_or((due, 1), |place| going_on.remove(place).1);
                        assert_eq!(request.qos.deadline, Some(step.0 + Span(30_000_000)), "of the operation");
                        steps.insert(request.id.0, step);
                        assert!(steps.len() <= 2, "one request of an operation at a time");
                    }
                    open.push(request);
                } else if !open.is_empty() {
                    let request = open.swap_remove(draw.below(open.len() as u64) as usize);
                    now += Span(draw.below(6_000_000) + 1);
                    let how = match draw.below(12) {
                        0 => Ending::Failed(EIO),
                        1 => Ending::Dropped,
                        _ => Ending::Finished,
                    };
                    mix.end_request(now, request.id, how);
                    let Some((began, step)) = steps.remove(&request.id.0) else { continue };
                    if how == Ending::Finished && step < 3 {
                        going_on.push((now, (began, step + 1)));
                        continue;
                    }
                    missed += u64::from(how == Ending::Dropped || now > began + Span(30_000_000));
                    failed += u64::from(how == Ending::Failed(EIO));
                    dropped += u64::from(how == Ending::Dropped);
                    took.extend((how == Ending::Finished).then(|| now.since(began).as_ms()));
                } else {
                    now = mix.due().expect("arrivals go on");
                }
            }
            let classes: BTreeMap<_, _> = mix.meter().classes().collect();
            let (of_loops, alone) = (classes["a"].operations.as_ref().expect("it has some"), &classes["b"]);
            assert!(alone.operations.is_none() && alone.requests > 300);
            let told = (of_loops.count, of_loops.failed, of_loops.dropped, of_loops.missed_deadlines);
            assert_eq!(told, (took.len() as u64 + failed + dropped, failed, dropped, missed));
            let mean = took.iter().sum::<f64>() / took.len() as f64;
            assert!(
                took.len() > 100 && missed > 5 && (of_loops.response_ms.mean - mean).abs() < 1e-6,
                "{mean}: {of_loops:?}"
            );
            mix.give_up(now);
            let left = mix.meter().classes().next().expect("a").1.operations.expect("it has some").still_waiting;
            assert_eq!(left, steps.len() as u64 + going_on.len() as u64);
        }
    }
}
