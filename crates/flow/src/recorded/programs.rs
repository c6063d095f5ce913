//! The processes of a recording as programs: what each computed, asked for, waited for and woke.
//!
//! A wait for the end of a request, told by who woke the sleeper, becomes a wait for that request; one that another process
//! ended, a channel; any other, a pause. When a process was preempted is left to the dispatcher.

use super::{Cpu, key};
use crate::process::{Program, Step};
use crate::requests::Criticality;
use block::{BadInput, Op, Span, Time};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use trace::ftrace::{Event, IDLE, Io, Left, Recording, What};

/// A request of a recording.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// What was asked.
    pub io: Io,
    /// When, and when it had ended; some never do.
    pub asked: Time,
    /// See `asked`.
    pub ended: Option<Time>,
    /// How many waited for it.
    awaited: u32,
    /// Whether the first of them slept at once: not long after it was asked for.
    at_once: bool,
}

/// A recording made into programs.
pub struct Programs {
    /// The requests to the device, in the order in which they were made; a program asks for each by its place here.
    pub requests: Vec<Request>,
    /// The processes.
    pub programs: Vec<Box<dyn Program>>,
    /// Processors.
    pub cpus: u32,
    /// What it took on average from waking a process to its having an idle processor.
    pub wakeup: Span,
    /// When the last process that ends has ended; without one, the end of the recording.
    pub execution: Time,
}

/// A step that is not yet whole.
#[derive(Clone, Copy, Debug)]
enum Draft {
    Compute(Span),
    Ask(usize),
    Await(usize),
    Pause(Span),
    Sleep(u32),
    Wakeup(u32),
    Fork(u32),
    Exit,
}

#[derive(Debug, Default)]
struct Task {
    steps: Vec<Draft>,
    computed: Span,
    asleep: Option<Time>,
    woken: Option<Time>,
    /// Processors it was seen on.
    seen_on: u64,
    exits: bool,
    forked: bool,
}

struct Making {
    device: (u32, u32),
    requests: Vec<Request>,
    open: BTreeMap<super::Key, usize>,
    tasks: BTreeMap<u32, Task>,
    cpus: BTreeMap<usize, Cpu>,
    /// Requests made in the interrupt that ended another.
    follow: Vec<(usize, usize)>,
    channels: u32,
    last_ended: Option<usize>,
    /// From waking a process to its having a processor that was idle.
    latencies: Vec<Span>,
    now: Time,
    execution: Option<Time>,
}

/// Makes programs of a recording, of the requests to one device.
///
/// # Errors
/// When it cannot be read, or a line not be understood.
pub fn programs(path: &Path, device: (u32, u32)) -> Result<Programs, BadInput> {
    let mut recording = Recording::open(path)?;
    let mut making = Making {
        device,
        requests: Vec::new(),
        open: BTreeMap::new(),
        tasks: BTreeMap::new(),
        cpus: BTreeMap::new(),
        follow: Vec::new(),
        channels: 0,
        last_ended: None,
        latencies: Vec::new(),
        now: Time::ZERO,
        execution: None,
    };
    while let Some(event) = recording.next_event()? {
        making.charge(event.at);
        making.take(&event, &recording.names);
    }
    Ok(making.finish())
}

impl Making {
    fn charge(&mut self, now: Time) {
        let span = now.since(self.now);
        self.now = now;
        for (place, cpu) in &self.cpus {
            // What interrupts took from a process counts as its own.
            if cpu.task != IDLE && span > Span::ZERO {
                let task = self.tasks.entry(cpu.task).or_default();
                task.computed += span;
                task.seen_on |= 1 << (place % 64);
            }
        }
    }

    /// A step of a task, after what it computed.
    fn push(&mut self, pid: u32, step: Draft) {
        let task = self.tasks.entry(pid).or_default();
        let computed = std::mem::take(&mut task.computed);
        if computed > Span::ZERO {
            task.steps.push(Draft::Compute(computed));
        }
        task.steps.push(step);
    }

    fn take(&mut self, event: &Event, names: &BTreeMap<u32, String>) {
        let last = Cpu::follow(&mut self.cpus, event);
        match event.what {
            What::Switch { from, left, to } => {
                if from != IDLE && matches!(left, Left::Asleep | Left::Blocked | Left::Idle) {
                    self.tasks.entry(from).or_default().asleep = Some(self.now);
                }
                if to != IDLE {
                    self.wakes(to, None, None);
                    let woken = self.tasks.get_mut(&to).and_then(|task| task.woken.take());
                    if let (Some(woken), IDLE) = (woken, from) {
                        self.latencies.push(self.now.since(woken));
                    }
                }
            }
            What::Waking(pid) => {
                let ended = last.filter(|_| event.interrupt);
                // What the kernel left to do later may be done by a process of its own.
                let deputy = names.get(&event.task).is_some_and(|name| name.starts_with("ksoftirqd"));
                let waker = (event.task != IDLE && (!event.interrupt || deputy)).then_some(event.task);
                self.wakes(pid, ended, waker);
            }
            What::Fork(child) => {
                self.tasks.entry(child).or_default().forked = true;
                self.push(event.task, Draft::Fork(child));
            }
            What::Exit => {
                // It still wakes who waits for it.
                self.tasks.entry(event.task).or_default().exits = true;
                self.execution = Some(self.now);
            }
            What::Insert(io) | What::Issue(io) if io.device == self.device => self.asks(event, io),
            What::Complete(io) if io.device == self.device => {
                let ended = self.open.remove(&key(&io));
                if let Some(request) = ended {
                    self.requests[request].ended = Some(self.now);
                    self.last_ended = ended;
                    if let Some(cpu) = self.cpus.get_mut(&event.cpu) {
                        cpu.ended = ended;
                    }
                }
            }
            _ => {}
        }
    }

    fn asks(&mut self, event: &Event, io: Io) {
        if let Some(request) = self.open.get(&key(&io)) {
            self.requests[*request].io = io;
            return;
        }
        let request = self.requests.len();
        self.requests.push(Request { io, asked: self.now, ended: None, awaited: 0, at_once: false });
        self.open.insert(key(&io), request);
        let ended = self.cpus.get(&event.cpu).and_then(|cpu| cpu.ended).filter(|_| event.interrupt);
        match ended {
            Some(ended) => {
                self.requests[ended].awaited += 1;
                self.follow.push((ended, request));
            }
            None => self.push(event.task, Draft::Ask(request)),
        }
    }

    /// A task is woken; what it waited for is told by who wakes it.
    fn wakes(&mut self, pid: u32, ended: Option<usize>, waker: Option<u32>) {
        let Some(since) = self.tasks.get_mut(&pid).and_then(|task| task.asleep.take()) else {
            // One that is seen for the first time slept since before the recording, unless it was just made.
            let fresh = self.tasks.get(&pid).is_none_or(|task| task.steps.is_empty() && task.computed == Span::ZERO);
            let forked = self.tasks.get(&pid).is_some_and(|task| task.forked);
            if fresh && !forked && (ended.is_some() || waker.is_some()) {
                self.waits(pid, Time::ZERO, ended, waker);
            }
            return;
        };
        if let Some(task) = self.tasks.get_mut(&pid) {
            task.woken = Some(self.now);
        }
        self.waits(pid, since, ended, waker);
    }

    fn waits(&mut self, pid: u32, since: Time, ended: Option<usize>, waker: Option<u32>) {
        match (ended, waker) {
            (Some(request), _) => {
                let asked = &mut self.requests[request];
                asked.at_once |= asked.awaited == 0 && since.since(asked.asked) < Span(100_000);
                asked.awaited += 1;
                self.push(pid, Draft::Await(request));
            }
            (None, Some(waker)) => {
                self.channels += 1;
                self.push(pid, Draft::Sleep(self.channels));
                self.push(waker, Draft::Wakeup(self.channels));
            }
            (None, None) => {
                // A timer that was set by the last request to end: an I/O scheduler that idles a while, for one.
                let anchor = self.last_ended.filter(|request| self.requests[*request].ended > Some(since));
                if let Some(request) = anchor {
                    self.requests[request].awaited += 1;
                    self.push(pid, Draft::Await(request));
                }
                let since = anchor.and_then(|request| self.requests[request].ended).unwrap_or(since);
                self.push(pid, Draft::Pause(self.now.since(since)));
            }
        }
    }

    fn finish(mut self) -> Programs {
        for pid in self.tasks.keys().copied().collect::<Vec<_>>() {
            self.push(pid, Draft::Exit);
        }
        let mut made = BTreeMap::new();
        let mut tasks = std::mem::take(&mut self.tasks);
        let mut forked: Vec<u32> = tasks.iter().filter(|(_, task)| task.forked).map(|(pid, _)| *pid).collect();
        // Children come after their parents: made first, to be put into them.
        forked.sort_unstable_by(|a, b| b.cmp(a));
        for pid in forked {
            if let Some(task) = tasks.remove(&pid) {
                let program = self.program(task, &mut made);
                made.insert(pid, program);
            }
        }
        let mut programs: Vec<Box<dyn Program>> = Vec::new();
        for (_, task) in tasks {
            programs.push(self.program(task, &mut made));
        }
        for (ended, request) in std::mem::take(&mut self.follow) {
            let steps = vec![Draft::Await(ended), Draft::Ask(request), Draft::Exit];
            programs.push(self.program(Task { steps, seen_on: u64::MAX, ..Task::default() }, &mut made));
        }
        let wakeups = self.latencies.len().max(1) as u64;
        let wakeup = Span(self.latencies.iter().map(|span| span.0).sum::<u64>() / wakeups);
        let execution = self.execution.unwrap_or(self.now);
        Programs { requests: self.requests, programs, cpus: self.cpus.len() as u32, wakeup, execution }
    }

    fn program(&self, task: Task, made: &mut BTreeMap<u32, Box<dyn Program>>) -> Box<dyn Program> {
        let steps = task.steps.into_iter().filter_map(|step| {
            Some(match step {
                Draft::Compute(span) => Step::Compute(span),
                Draft::Ask(request) => self.ask(request),
                Draft::Await(request) => Step::Await { key: request as u32 },
                Draft::Pause(span) => Step::Pause { span },
                Draft::Sleep(channel) => Step::Sleep { channel },
                Draft::Wakeup(channel) => Step::Wakeup { channel },
                Draft::Fork(child) => Step::Fork(made.remove(&child)?),
                Draft::Exit => Step::Exit,
            })
        });
        Box::new(Replayed { steps: steps.collect(), seen_on: task.seen_on, exits: task.exits })
    }

    /// Asks for a request; how much it mattered is told by who waited.
    fn ask(&self, request: usize) -> Step {
        let Request { io, awaited, at_once, .. } = self.requests[request];
        let criticality = match awaited {
            0 if io.ahead => Criticality::Limited,
            0 => Criticality::Noncritical,
            _ if at_once && !io.ahead => Criticality::Critical,
            _ => Criticality::Limited,
        };
        let op = if io.op == Op::Flush { Op::Flush } else { io.op };
        Step::Ask { key: Some((request as u32, awaited)), op, at: io.at, criticality }
    }
}

/// A process of a recording.
struct Replayed {
    steps: VecDeque<Step>,
    seen_on: u64,
    exits: bool,
}

impl Program for Replayed {
    fn next(&mut self, _: Time) -> Step {
        self.steps.pop_front().unwrap_or(Step::Exit)
    }

    fn counts(&self) -> bool {
        self.exits
    }

    fn cpus(&self) -> u64 {
        if self.seen_on == 0 { u64::MAX } else { self.seen_on }
    }
}
