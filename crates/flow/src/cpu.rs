//! Processors: what each is at, and the interrupts on top of it.
//!
//! There may be very many, and each has its clock interrupts. So [`Processors`] keeps which one is done first, how many are at what, and
//! which are idle: no interrupt looks through all of them.

use crate::process::Pid;
use block::{Span, Time};
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

/// What an interrupt is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handler {
    Clock,
    /// The request in this slot has ended.
    Completion(u32),
}

/// What a processor is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessorState {
    Idle,
    Switching,
    Computing,
    Interrupt(Handler),
}

pub(crate) struct Processor {
    state: ProcessorState,
    /// When it is done with that; never of an idle one.
    until: Time,
    /// Whose turn it is.
    pub(crate) process: Option<Pid>,
    /// What the handler interrupted, and what was left of it.
    below: (ProcessorState, Span),
    /// Interrupts that wait for the end of a handler.
    pending: VecDeque<Handler>,
    /// Whether a process that woke up is to take over.
    pub(crate) preempt: bool,
    /// Whether the last process left to wait for I/O.
    pub(crate) left_blocked: bool,
}

impl Processor {
    fn new() -> Processor {
        Processor {
            state: ProcessorState::Idle,
            until: Time::NEVER,
            process: None,
            below: (ProcessorState::Idle, Span::ZERO),
            pending: VecDeque::new(),
            preempt: false,
            left_blocked: false,
        }
    }

    pub(crate) fn state(&self) -> ProcessorState {
        self.state
    }

    pub(crate) fn until(&self) -> Time {
        self.until
    }

    /// Whether it will look for a process as soon as it can.
    pub(crate) fn is_free(&self) -> bool {
        self.process.is_none()
    }

    /// Goes at something until then.
    fn set(&mut self, state: ProcessorState, until: Time) {
        (self.state, self.until) = (state, until);
    }

    /// An interrupt comes, and is handled for so long; at once, or when the handler before it ends. Whether at once.
    fn raise(&mut self, handler: Handler, now: Time, cost: Span) -> bool {
        if matches!(self.state, ProcessorState::Interrupt(_)) {
            self.pending.push_back(handler);
            return false;
        }
        let left = if self.until == Time::NEVER { Span::ZERO } else { self.until.since(now) };
        self.below = (self.state, left);
        self.set(ProcessorState::Interrupt(handler), now + cost);
        true
    }

    /// The next interrupt that waits.
    pub(crate) fn next_pending(&mut self) -> Option<Handler> {
        self.pending.pop_front()
    }

    /// Goes on with what was interrupted, and says what is left of it.
    fn resume(&mut self, now: Time) -> (ProcessorState, Span) {
        let (state, left) = self.below;
        self.set(state, if state == ProcessorState::Idle { Time::NEVER } else { now + left });
        self.below
    }
}

/// All processors of a machine.
pub(crate) struct Processors {
    all: Vec<Processor>,
    /// Of each two, four, eight and so on the one that is done first: of all at 1, of its halves at 2 and 3; behind them all themselves.
    first: Vec<u32>,
    /// Which are idle, as bits.
    idle: Vec<u64>,
    counts: ProcessorCounts,
}

/// How many processors are at what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessorCounts {
    pub(crate) idle: u64,
    pub(crate) switching: u64,
    pub(crate) computing: u64,
    pub(crate) interrupts: u64,
}

impl ProcessorCounts {
    fn of(&mut self, state: ProcessorState) -> &mut u64 {
        match state {
            ProcessorState::Idle => &mut self.idle,
            ProcessorState::Switching => &mut self.switching,
            ProcessorState::Computing => &mut self.computing,
            ProcessorState::Interrupt(_) => &mut self.interrupts,
        }
    }
}

impl Processors {
    /// So many, all idle; at least one.
    pub(crate) fn new(count: u32) -> Processors {
        let leaves = count.next_power_of_two();
        let mut first = vec![0; leaves as usize];
        // A place without a processor stands for the last, which changes nothing.
        first.extend((0..leaves).map(|cpu| cpu.min(count - 1)));
        let mut processors = Processors {
            all: (0..count).map(|_| Processor::new()).collect(),
            first,
            idle: vec![0; count.div_ceil(64) as usize],
            counts: ProcessorCounts { idle: count.into(), ..ProcessorCounts::default() },
        };
        for cpu in 0..count as usize {
            processors.idle[cpu / 64] |= 1 << (cpu % 64);
        }
        (1..leaves as usize).rev().for_each(|place| processors.choose_first(place));
        processors
    }

    /// Of two it is the one that is done first; of two that are done at once the first.
    fn choose_first(&mut self, place: usize) {
        let [one, other] = [self.first[2 * place], self.first[2 * place + 1]];
        let later = self.all[one as usize].until > self.all[other as usize].until;
        self.first[place] = if later { other } else { one };
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Processor> {
        self.all.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The first that is done with what it is at, of several the first of all; and when.
    pub(crate) fn first_done(&self) -> (usize, Time) {
        let cpu = self.first[1] as usize;
        (cpu, self.all[cpu].until)
    }

    /// How many are at what.
    pub(crate) fn counts(&self) -> ProcessorCounts {
        self.counts
    }

    /// Those that are idle, in their order.
    pub(crate) fn list_idle(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.idle.iter().enumerate().filter(|(_, bits)| **bits != 0);
        words.flat_map(|(word, bits)| (0..64).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| word * 64 + bit))
    }

    /// One goes at something until then.
    pub(crate) fn set(&mut self, cpu: usize, state: ProcessorState, until: Time) {
        self.change(cpu, |processor| processor.set(state, until));
    }

    /// An interrupt comes to one, and is handled for so long; at once, or when the handler before it ends. Whether at once.
    pub(crate) fn raise(&mut self, cpu: usize, handler: Handler, now: Time, cost: Span) -> bool {
        self.change(cpu, |processor| processor.raise(handler, now, cost))
    }

    /// One goes on with what was interrupted, and says what is left of it.
    pub(crate) fn resume(&mut self, cpu: usize, now: Time) -> (ProcessorState, Span) {
        self.change(cpu, |processor| processor.resume(now))
    }

    fn change<T>(&mut self, cpu: usize, how: impl FnOnce(&mut Processor) -> T) -> T {
        let processor = &mut self.all[cpu];
        let before = processor.state;
        let said = how(processor);
        let now = processor.state;
        *self.counts.of(before) -= 1;
        *self.counts.of(now) += 1;
        let bit = u64::from(now == ProcessorState::Idle) << (cpu % 64);
        let word = &mut self.idle[cpu / 64];
        *word = *word & !(1 << (cpu % 64)) | bit;
        let mut place = (self.first.len() / 2 + cpu) / 2;
        while place > 0 {
            self.choose_first(place);
            place /= 2;
        }
        said
    }
}

impl Index<usize> for Processors {
    type Output = Processor;

    fn index(&self, cpu: usize) -> &Processor {
        &self.all[cpu]
    }
}

impl IndexMut<usize> for Processors {
    fn index_mut(&mut self, cpu: usize) -> &mut Processor {
        &mut self.all[cpu]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Draw;

    /// What is kept of all is what looking through them finds.
    #[test]
    fn what_is_kept_of_processors_is_what_they_are_at() {
        for (seed, count) in (1..).zip([1, 2, 3, 7, 64, 65, 200]) {
            println!("seed {seed}, {count} processors");
            let (mut all, mut draw) = (Processors::new(count), Draw::new(seed, 0));
            for step in 0..2000 {
                let (cpu, now) = (draw.below(count.into()) as usize, Time(step));
                let until = Time(step + draw.below(20));
                match (draw.below(4), all[cpu].state()) {
                    (0, _) => all.set(cpu, ProcessorState::Idle, Time::NEVER),
                    (1, _) => all.set(cpu, ProcessorState::Computing, until),
                    (2, ProcessorState::Interrupt(_)) => drop(all.resume(cpu, now)),
                    (2, _) => all.set(cpu, ProcessorState::Switching, until),
                    _ => drop(all.raise(cpu, Handler::Clock, now, Span(draw.below(9)))),
                }
                let first = all.iter().enumerate().map(|(cpu, it)| (it.until(), cpu)).min().map(|(at, cpu)| (cpu, at));
                assert_eq!(Some(all.first_done()), first);
                let idle = |(_, it): &(usize, &Processor)| it.state() == ProcessorState::Idle;
                assert!(all.list_idle().eq(all.iter().enumerate().filter(idle).map(|(cpu, _)| cpu)));
                let mut counts = ProcessorCounts::default();
                all.iter().for_each(|it| *counts.of(it.state()) += 1);
                assert_eq!(all.counts(), counts);
            }
        }
    }
}
