//! The processes of a recording as programs: what each computed, asked for, waited for and woke.
//!
//! A wait for the end of a request, told by who woke the sleeper, becomes a wait for that request; one that another process
//! ended, a channel; any other, a pause. When a process was preempted is left to the dispatcher.
//!
//! **A recording is programs.** What a recorded process did between two sleeps is a step of computing, and what ended
//! a sleep is told by who woke it: the end of a request, another process, a timer. Nothing says when a process was
//! preempted, so that the dispatcher of the model decides. What the kernel passes from one to another without waking
//! anyone (work for a worker that is awake, requests handed down by a loop device) is found again from what ends in
//! the same interrupt, and from equal requests on two devices.

use super::life::RecordedProcess;
use super::turns::TurnBook;
use super::{LoadedRecording, RecordedCpu, key, kind};
use crate::ordered::DispatchOrder;
use crate::process::{ProcessStep, Program};
use crate::requests::Criticality;
use block::{Op, Span, Time};
use load::Fitting;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use trace::ftrace::{BlockIo, IDLE, KernelEvent, KernelEventKind, SwitchState};

/// The task whose children are threads of the kernel.
const KERNEL: &str = "kthreadd";

/// A request of a recording.
#[derive(Clone, Copy, Debug)]
pub struct RecordedRequest {
    /// The request as recorded: device, operation, blocks.
    pub io: BlockIo,
    /// When, and when it had ended; some never do.
    pub asked: Time,
    /// When it completed; some never do.
    pub ended: Option<Time>,
    /// How many waited for it.
    awaited: u32,
    /// Whether one of them was blocked, and whether the first of these slept at once: not long after it was asked for.
    needed: bool,
    /// Whether the first of those who waited slept soon after the request was issued.
    at_once: bool,
}

/// A recording made into programs.
pub struct Programs {
    /// The requests to the device, in the order in which they were made; a program asks for each by its place here.
    pub requests: Vec<RecordedRequest>,
    /// One program for each recorded process.
    pub programs: Vec<Box<dyn Program>>,
    /// How many processors the recorded machine had.
    pub cpus: u32,
    /// When the last process that counts had ended, or was last seen to run.
    pub execution: Time,
    /// Processes that had not ended when the recording did.
    pub unended: usize,
    /// Requests to other devices that nobody was seen to pass on.
    pub elsewhere: u64,
    /// In which order processors had processes, where that is kept.
    pub(crate) order: Option<DispatchOrder>,
    /// When processes went to sleep, by seat, where the order is kept.
    pub(super) sleeps: BTreeMap<u64, Vec<Time>>,
}

/// A step that is not yet whole.
#[derive(Clone, Copy, Debug)]
pub(super) enum StepDraft {
    Compute(Span),
    /// Gives way, where the order of processes is kept.
    Yield,
    Ask(usize),
    Await(usize),
    /// Sleeps until a request has ended, for whatever there is to do then.
    Watch(usize),
    Pause(Span),
    /// On a channel, and whether blocked.
    Sleep(u32, bool),
    Wakeup(u32),
    /// Of the process born as this one of all.
    Fork(usize),
}

/// Who woke a sleeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waker {
    /// The end of a request.
    Request(usize),
    /// The end of a request to another device.
    Elsewhere,
    Process(u32),
    /// A timer, for all that is known.
    Nobody,
}

#[derive(Debug, Default)]
pub(super) struct ProgramTask {
    pid: u32,
    /// How many processes had its number before.
    generation: u32,
    steps: Vec<StepDraft>,
    pub(super) computed: Span,
    /// Whether it is a worker of the kernel.
    works: bool,
    /// Since when it sleeps, and how it went to.
    asleep: Option<(Time, SwitchState)>,
    pub(super) woken: Option<Time>,
    /// Processors it was seen on since it last slept, a bit each; and on each stretch before.
    seen_on: u64,
    stretches: VecDeque<u64>,
    /// When it was last seen there.
    seen: Time,
    exits: bool,
    /// As which of all it was born, where that was seen.
    born: Option<usize>,
    /// Whether the run is over when all such have ended.
    counts: bool,
}

impl ProgramTask {
    /// As which of all processors have it in turn.
    pub(super) fn seat(&self, pid: u32) -> u64 {
        u64::from(self.generation) << 32 | u64::from(pid)
    }
}

/// A request that an interrupt made.
#[derive(Clone, Copy, Debug)]
struct FollowUp {
    /// After the end of another, and so long after, or after the beginning.
    after: Option<usize>,
    gap: Span,
    request: usize,
}

/// A request to another device, of which a worker may make one to this.
#[derive(Clone, Copy, Debug)]
struct Above {
    io: BlockIo,
    /// Signalled when it is made.
    channel: u32,
    /// What a worker made of it.
    below: Option<usize>,
}

/// Programs in the making.
pub(super) struct Making {
    device: (u32, u32),
    /// What was asked of the device.
    pub(super) requests: Vec<RecordedRequest>,
    open: BTreeMap<super::RequestKey, usize>,
    pub(super) tasks: BTreeMap<u32, ProgramTask>,
    /// Whose turn it was, where that is kept.
    pub(super) turns: Option<TurnBook>,
    /// Those that ended and whose number another has now.
    gone: Vec<ProgramTask>,
    births: usize,
    cpus: BTreeMap<usize, RecordedCpu>,
    /// Requests made in the interrupt that ended another.
    follow: Vec<FollowUp>,
    channels: u32,
    last_ended: Option<usize>,
    pub(super) now: Time,
    elsewhere: u64,
    /// Requests to other devices that have not ended.
    above: Vec<Above>,
    /// By processor: a worker that was woken in its interrupt, and a request that ended in it after that.
    finds: BTreeMap<usize, (u32, Option<usize>)>,
    /// Who last told of the end of a request to another device, and what had been made of that.
    told: Option<(u32, usize)>,
}

/// Reads what programs are made of, of the requests to one device.
pub(super) fn making(tape: &LoadedRecording, device: (u32, u32)) -> Making {
    make(tape, device, None)
}

/// The same, with the order in which processors had processes.
pub(super) fn making_in_order(tape: &LoadedRecording, device: (u32, u32)) -> Making {
    make(tape, device, Some(TurnBook::default()))
}

fn make(tape: &LoadedRecording, device: (u32, u32), turns: Option<TurnBook>) -> Making {
    let mut making = Making {
        turns,
        device,
        requests: Vec::new(),
        open: BTreeMap::new(),
        tasks: BTreeMap::new(),
        gone: Vec::new(),
        births: 0,
        cpus: BTreeMap::new(),
        follow: Vec::new(),
        channels: 0,
        last_ended: None,
        now: Time::ZERO,
        elsewhere: 0,
        above: Vec::new(),
        finds: BTreeMap::new(),
        told: None,
    };
    for event in &tape.events {
        making.charge(event.at);
        making.take(event, &tape.names);
    }
    making
}

impl Making {
    fn charge(&mut self, now: Time) {
        let span = now.since(self.now);
        self.now = now;
        for cpu in self.cpus.values() {
            // What interrupts took from a process counts as its own.
            if cpu.task != IDLE && span > Span::ZERO {
                let task = self.tasks.entry(cpu.task).or_default();
                task.computed += span;
                task.seen = now;
            }
        }
    }

    /// A step of a task, after what it computed.
    pub(super) fn push(&mut self, pid: u32, step: StepDraft) {
        let task = self.tasks.entry(pid).or_default();
        let computed = std::mem::take(&mut task.computed);
        if computed > Span::ZERO {
            task.steps.push(StepDraft::Compute(computed));
        }
        task.steps.push(step);
        if let StepDraft::Await(_) | StepDraft::Watch(_) | StepDraft::Pause(_) | StepDraft::Sleep(..) = step {
            task.stretches.push_back(std::mem::take(&mut task.seen_on));
        }
    }

    fn take(&mut self, event: &KernelEvent, names: &BTreeMap<u32, String>) {
        if self.turns.is_some() && !self.cpus.contains_key(&event.cpu) {
            self.begins_on(event.cpu, event.task);
        }
        let last = RecordedCpu::follow(&mut self.cpus, event);
        match event.what {
            KernelEventKind::Switch { from, left, to } => self.switches(event.cpu, from, left, to),
            KernelEventKind::Waking(pid) => self.waking(event, pid, last, names),
            KernelEventKind::Fork(child) => {
                // Threads of the kernel are nobody's work.
                let counts = names.get(&event.task).is_none_or(|name| name != KERNEL);
                let generation = self.tasks.get(&child).map_or(0, |task| task.generation + 1);
                let woken = self.turns.is_some().then_some(self.now);
                let born = Some(self.births);
                let task = ProgramTask { born, counts, generation, woken, ..ProgramTask::default() };
                let before = self.tasks.insert(child, task);
                self.gone.extend(before.map(|task| ProgramTask { pid: child, ..task }));
                self.push(event.task, StepDraft::Fork(self.births));
                self.births += 1;
            }
            KernelEventKind::Exit => {
                // It still wakes who waits for it.
                let task = self.tasks.entry(event.task).or_default();
                (task.exits, task.counts, task.seen) = (true, true, self.now);
            }
            KernelEventKind::Insert(io) | KernelEventKind::Issue(io) if io.device == self.device => {
                self.asks(event, io)
            }
            KernelEventKind::Insert(io) | KernelEventKind::Issue(io) => self.asks_above(event, io),
            KernelEventKind::Complete(io) if io.device != self.device => {
                if let Some(cpu) = self.cpus.get_mut(&event.cpu) {
                    cpu.elsewhere = true;
                }
                self.ends_above(event, &io, names);
            }
            KernelEventKind::Complete(io) if io.device == self.device => {
                let ended = self.open.remove(&key(&io));
                if let Some(request) = ended {
                    self.requests[request].ended = Some(self.now);
                    self.last_ended = ended;
                    if let Some(cpu) = self.cpus.get_mut(&event.cpu) {
                        cpu.ended = ended;
                    }
                    self.take_pending_work(event.cpu);
                    if let Some((_, found)) = self.finds.get_mut(&event.cpu) {
                        *found = Some(request);
                    }
                }
            }
            KernelEventKind::InterruptEnd => {
                self.take_pending_work(event.cpu);
                self.finds.remove(&event.cpu);
            }
            _ => {}
        }
    }

    fn switches(&mut self, cpu: usize, from: u32, left: SwitchState, to: u32) {
        if from != IDLE && matches!(left, SwitchState::Asleep | SwitchState::Blocked | SwitchState::Idle) {
            let task = self.tasks.entry(from).or_default();
            task.asleep = Some((self.now, left));
            task.works |= left == SwitchState::Idle;
        }
        if to != IDLE {
            self.wakes(to, Waker::Nobody);
            let task = self.tasks.entry(to).or_default();
            task.seen_on |= 1 << (cpu % 64);
            // What it takes to rouse an idle processor is as good as computing.
            if self.turns.is_none() {
                let woken = task.woken.take().filter(|_| from == IDLE);
                task.computed += woken.map_or(Span::ZERO, |woken| self.now.since(woken));
            }
        }
        self.turn(cpu, (from, left), to);
    }

    fn waking(&mut self, event: &KernelEvent, pid: u32, ended: Option<usize>, names: &BTreeMap<u32, String>) {
        let elsewhere = self.cpus.get(&event.cpu).is_some_and(|cpu| cpu.elsewhere);
        let waker = match ended.filter(|_| event.interrupt) {
            Some(ended) => Waker::Request(ended),
            None if event.task != IDLE && (!event.interrupt || is_deputy(names, event.task)) => {
                Waker::Process(event.task)
            }
            None if event.interrupt && elsewhere => Waker::Elsewhere,
            None => Waker::Nobody,
        };
        if let Waker::Request(_) = waker {
            let works = self.tasks.get(&pid).is_some_and(|task| task.works);
            match self.finds.get_mut(&event.cpu) {
                // It had one who waited.
                Some((_, found)) => *found = None,
                None if works => drop(self.finds.insert(event.cpu, (pid, None))),
                None => {}
            }
        }
        self.wakes(pid, waker);
    }

    /// A worker finds all the work that came until it runs: it also waits for what ended, in the interrupt that woke it, for
    /// nobody else.
    fn take_pending_work(&mut self, cpu: usize) {
        let Some((worker, found)) = self.finds.get_mut(&cpu) else { return };
        let worker = *worker;
        if let Some(request) = found.take() {
            self.watches(worker, request);
            self.is_ready_from(worker, request);
        }
    }

    /// A process sleeps until a request has ended, not for want of it.
    fn watches(&mut self, pid: u32, request: usize) {
        self.requests[request].awaited += 1;
        self.push(pid, StepDraft::Watch(request));
    }

    /// Somebody was blocked for a request from then on.
    fn needs(&mut self, request: usize, since: Time) {
        let asked = &mut self.requests[request];
        asked.at_once |= !asked.needed && since.since(asked.asked) < Span(100_000);
        asked.needed = true;
    }

    /// A request to another device is made.
    fn asks_above(&mut self, event: &KernelEvent, io: BlockIo) {
        if self.above.iter().any(|above| key(&above.io) == key(&io)) {
            return;
        }
        // Where the order of processes is kept, the idle one is none of them.
        if !event.interrupt && (self.turns.is_none() || event.task != IDLE) {
            self.channels += 1;
            self.push(event.task, StepDraft::Wakeup(self.channels));
            self.above.push(Above { io, channel: self.channels, below: None });
        }
    }

    /// It has ended, told by a process: then what a worker made of it had.
    fn ends_above(&mut self, event: &KernelEvent, io: &BlockIo, names: &BTreeMap<u32, String>) {
        let Some(at) = self.above.iter().position(|above| key(&above.io) == key(io)) else { return };
        // What has not ended yet was made of another.
        let below = self.above.remove(at).below.filter(|request| self.requests[*request].ended.is_some());
        self.elsewhere += u64::from(below.is_none());
        let deputy = is_deputy(names, event.task);
        self.told = below.map(|request| (event.task, request));
        if let Some(request) = below.filter(|_| event.task != IDLE && (!event.interrupt || deputy)) {
            self.watches(event.task, request);
        }
    }

    fn asks(&mut self, event: &KernelEvent, io: BlockIo) {
        if let Some(request) = self.open.get(&key(&io)) {
            self.requests[*request].io = io;
            return;
        }
        let request = self.requests.len();
        self.requests.push(RecordedRequest {
            io,
            asked: self.now,
            ended: None,
            awaited: 0,
            needed: false,
            at_once: false,
        });
        self.open.insert(key(&io), request);
        let ended = self.cpus.get(&event.cpu).and_then(|cpu| cpu.ended).filter(|_| event.interrupt);
        let by_nobody = self.turns.is_some() && (event.interrupt || event.task == IDLE);
        match ended.or(self.last_ended.filter(|_| by_nobody)) {
            Some(ended) => {
                self.requests[ended].awaited += 1;
                let gap = self.now.since(self.requests[ended].ended.unwrap_or(self.now));
                self.follow.push(FollowUp { after: Some(ended), gap, request });
            }
            None if by_nobody => {
                self.follow.push(FollowUp { after: None, gap: self.now.since(Time::ZERO), request });
            }
            None => {
                // What a worker asks may be a request to a device above this one, passed on.
                let works = self.tasks.get(&event.task).is_some_and(|task| task.works);
                let like = |above: &&mut Above| {
                    works
                        && above.below.is_none()
                        && (kind(above.io.op), above.io.at.blocks) == (kind(io.op), io.at.blocks)
                };
                if let Some(above) = self.above.iter_mut().find(like) {
                    above.below = Some(request);
                    let channel = above.channel;
                    self.push(event.task, StepDraft::Sleep(channel, false));
                }
                self.push(event.task, StepDraft::Ask(request));
            }
        }
    }

    /// A task is woken; what it waited for is told by who wakes it.
    fn wakes(&mut self, pid: u32, waker: Waker) {
        let Some(task) = self.tasks.get_mut(&pid) else {
            // Seen for the first time, it slept since before the recording.
            if self.turns.is_some() {
                self.tasks.entry(pid).or_default().woken = Some(self.now);
            }
            return self.waits(pid, (Time::ZERO, SwitchState::Asleep), waker);
        };
        let Some(asleep) = task.asleep.take() else { return };
        task.woken = Some(self.now);
        self.waits(pid, asleep, waker);
    }

    fn waits(&mut self, pid: u32, (since, left): (Time, SwitchState), waker: Waker) {
        match waker {
            // A worker that gets work did not wait for the request.
            Waker::Request(request) if left == SwitchState::Idle => {
                self.is_ready_from(pid, request);
                self.watches(pid, request);
            }
            Waker::Request(request) => {
                self.is_ready_from(pid, request);
                self.needs(request, since);
                self.requests[request].awaited += 1;
                self.push(pid, StepDraft::Await(request));
            }
            Waker::Process(waker) => {
                let below = self.told.filter(|_| left != SwitchState::Idle).filter(|(by, _)| *by == waker);
                if let Some((_, request)) = below {
                    self.needs(request, since);
                }
                self.channels += 1;
                self.push(pid, StepDraft::Sleep(self.channels, left == SwitchState::Blocked));
                self.push(waker, StepDraft::Wakeup(self.channels));
            }
            Waker::Elsewhere => self.push(pid, StepDraft::Pause(self.now.since(since))),
            Waker::Nobody => {
                // Work for the kernel later on, set by the last request to end: an I/O scheduler that idles a while, for one.
                let anchor = self.last_ended.filter(|_| left == SwitchState::Idle);
                let anchor = anchor.filter(|request| self.requests[*request].ended > Some(since));
                if let Some(request) = anchor {
                    self.watches(pid, request);
                }
                let since = anchor.and_then(|request| self.requests[request].ended).unwrap_or(since);
                self.push(pid, StepDraft::Pause(self.now.since(since)));
            }
        }
    }

    /// A process can go on from when a request has ended, though it was woken a moment later in that interrupt.
    fn is_ready_from(&mut self, pid: u32, request: usize) {
        let ended = self.requests[request].ended.filter(|_| self.turns.is_some());
        if let Some(task) = self.tasks.get_mut(&pid) {
            task.woken = ended.or(task.woken);
        }
    }

    /// The programs, what they ask for moved to where it fits.
    pub(super) fn finish(mut self, tape: &LoadedRecording, fitting: &Fitting) -> Programs {
        let names = &tape.names;
        let mut tasks = std::mem::take(&mut self.gone);
        for (pid, task) in std::mem::take(&mut self.tasks) {
            tasks.push(ProgramTask { pid, ..task });
        }
        if let Some((command, _)) = &tape.command {
            tasks.iter_mut().for_each(|task| task.counts = task.pid == *command);
        }
        let unended = tasks.iter().filter(|task| task.counts && !task.exits).count();
        if !tasks.iter().any(|task| task.counts) {
            // None began or ended: each counts as far as it was followed.
            tasks.iter_mut().for_each(|task| task.counts = true);
        }
        let execution = tasks.iter().filter(|task| task.counts).map(|task| task.seen).max().unwrap_or(self.now);
        // Children come after their parents: made first, to be put into them.
        tasks.sort_by_key(|task| (Reverse(task.born), task.pid));
        let (mut made, mut programs) = (BTreeMap::new(), Vec::<Box<dyn Program>>::new());
        for task in tasks {
            let born = task.born;
            let name = format!("{}-{}", names.get(&task.pid).map_or("", String::as_str), task.pid);
            let program = self.program(task, name, &mut made, fitting);
            match born {
                Some(born) => drop(made.insert(born, program)),
                None => programs.push(program),
            }
        }
        for FollowUp { after, gap, request } in std::mem::take(&mut self.follow) {
            let gap = self.turns.is_some().then_some(StepDraft::Pause(gap));
            let steps = after.map(StepDraft::Watch).into_iter().chain(gap).chain([StepDraft::Ask(request)]).collect();
            let task = ProgramTask { steps, ..ProgramTask::default() };
            programs.push(self.program(task, String::new(), &mut made, fitting));
        }
        Programs {
            programs,
            cpus: (self.cpus.len() as u32).max(1),
            execution,
            unended,
            elsewhere: self.elsewhere,
            sleeps: self.turns.as_mut().map(|turns| std::mem::take(&mut turns.sleeps)).unwrap_or_default(),
            order: self.turns.as_ref().map(|turns| turns.order(self.cpus.keys().copied())),
            requests: self.requests,
        }
    }

    fn program(
        &self,
        mut task: ProgramTask,
        name: String,
        made: &mut BTreeMap<usize, Box<dyn Program>>,
        fitting: &Fitting,
    ) -> Box<dyn Program> {
        task.stretches.push_back(task.seen_on);
        let last = (task.computed > Span::ZERO).then_some(StepDraft::Compute(task.computed));
        // What interrupts do has no number.
        let seat = (task.pid != IDLE).then(|| task.seat(task.pid));
        let steps = task.steps.into_iter().chain(last).filter_map(|step| {
            Some(match step {
                StepDraft::Compute(span) => ProcessStep::Compute(span),
                StepDraft::Yield => ProcessStep::Yield,
                StepDraft::Ask(request) => self.ask(request, fitting),
                StepDraft::Await(request) => ProcessStep::Await { key: request as u32, blocks: true },
                StepDraft::Watch(request) => ProcessStep::Await { key: request as u32, blocks: false },
                StepDraft::Pause(span) => ProcessStep::Pause { span },
                StepDraft::Sleep(channel, blocks) => ProcessStep::Sleep { channel, blocks },
                StepDraft::Wakeup(channel) => ProcessStep::Wakeup { channel },
                StepDraft::Fork(born) => ProcessStep::Fork(made.remove(&born)?),
            })
        });
        let steps = steps.collect();
        Box::new(RecordedProcess { name, seat, steps, stretches: task.stretches, counts: task.counts })
    }

    /// Asks for a request; how much it mattered is told by who waited.
    fn ask(&self, request: usize, fitting: &Fitting) -> ProcessStep {
        let RecordedRequest { io, awaited, needed, at_once, .. } = self.requests[request];
        let criticality = match needed {
            true if at_once && !io.ahead => Criticality::Critical,
            true => Criticality::Limited,
            false if io.ahead => Criticality::Limited,
            false => Criticality::Noncritical,
        };
        let op = if io.op == Op::Flush { Op::Flush } else { io.op };
        ProcessStep::Ask { key: Some((request as u32, awaited)), op, at: fitting.map(io.at), criticality }
    }
}

/// Whether what interrupts left to do later is done by this process of the kernel.
fn is_deputy(names: &BTreeMap<u32, String>, pid: u32) -> bool {
    names.get(&pid).is_some_and(|name| name.starts_with("ksoftirqd"))
}
