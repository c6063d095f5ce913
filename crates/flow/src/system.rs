//! The system: processors, dispatcher, clock and interrupts; and its face as a load.
//!
//! **A system is a load.** `flow::System` asks and is told of ends as any `load::Load`; what happens inside it is
//! stepped through by the same loop, so that a completion and a clock interrupt are in the right order. It is a crate
//! so that it cannot see a drive: to processes a disk is the time until an interrupt. Who waits is a change of a
//! request's quality of service (`Change::Qos`), and the policies by criticality go by `priority` alone: any other
//! load may set it. What waits is looked at again when it wakes, as a kernel does, so that a page given up meanwhile
//! is no case of its own.

use crate::account::SystemAccount;
use crate::cache::{BufferCache, Content};
use crate::cpu::{Handler, Processor, ProcessorState, Processors};
use crate::events::{ModelEvent, ModelEventKind};
use crate::locks::LockState;
use crate::ordered::DispatchOrder;
use crate::picture::PictureRecorder;
use crate::process::{Pid, ProcessEntry, ProcessState, Program, StepOutcome};
use crate::requests::{Classes, Purpose, RequestTable, id};
use crate::setup::MachineSetup;
use block::{RequestId, Span, Time};
use load::experiment::{Experiment, SystemPlan};
use load::{Draw, Meter};
use sched::Input;
use sched::value::Worth;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Processes on processors, and the I/O they ask for.
pub struct ProcessSystem {
    pub(crate) plan: SystemPlan,
    pub(crate) cpus: Processors,
    pub(crate) processes: Vec<ProcessEntry>,
    pub(crate) ready: VecDeque<Pid>,
    pub(crate) requests: RequestTable,
    /// Requests that are awaited by a name.
    pub(crate) named: BTreeMap<u32, u32>,
    /// Who sleeps, and until when.
    sleepers: BTreeSet<(Time, Pid)>,
    /// Wake-ups for which nobody slept yet, by channel.
    pub(crate) signals: BTreeMap<u32, u32>,
    /// Locks that somebody has.
    pub(crate) locks: BTreeMap<u32, LockState>,
    pub(crate) cache: BufferCache,
    pub(crate) classes: Classes,
    /// What it has to say to the core.
    pub(crate) outbox: VecDeque<Input>,
    /// The same that waits until the core has room: requests, and changes of them.
    pub(crate) backlog: VecDeque<Input>,
    /// The next clock interrupt.
    tick: Time,
    pub(crate) now: Time,
    /// The processor that is at work at this instant.
    current: Option<usize>,
    /// Processes blocked for I/O; processes that count and have not ended; of these, those not asleep on a channel; and
    /// daemons.
    pub(crate) blocked: u32,
    living: u32,
    moving: u32,
    daemons: u32,
    pub(crate) account: SystemAccount,
    /// The account as it stood when the measured time was over.
    closed: Option<SystemAccount>,
    pub(crate) meter: Meter,
    /// In which order the processors have processes, where that is given.
    pub(crate) order: Option<DispatchOrder>,
    events: Option<Vec<ModelEvent>>,
    pub(crate) recorder: Option<Box<PictureRecorder>>,
    notes: Vec<String>,
}

impl ProcessSystem {
    /// A machine as the experiment has it, its processes all ready at time zero, in the replication with this seed.
    #[must_use]
    pub fn new(experiment: &Experiment, machine: MachineSetup, seed: u64) -> ProcessSystem {
        let names = experiment.classes();
        let class = |name| names.iter().position(|other| *other == name).unwrap_or(0) as u8;
        let worth = |class| experiment.scheduler.rules.class(class).worth;
        let counted = names.iter().zip(0..).map(|(name, class)| ((*name).into(), worth(class)));
        let meter = Meter::new(counted, Time::ZERO + experiment.run.warmup);
        let classes = Classes(["noncritical", "limited", "critical"].map(class));
        ProcessSystem {
            notes: machine.notes,
            ..ProcessSystem::with(machine.plan, classes, meter, machine.programs, seed)
        }
    }

    /// A system by itself, of which only the account is of interest.
    #[must_use]
    pub fn of_plan(plan: SystemPlan, programs: Vec<Box<dyn Program>>) -> ProcessSystem {
        let classes = ["noncritical", "limited", "critical"].map(|name| (name.to_owned(), Worth::USUAL));
        ProcessSystem::with(plan, Classes([0, 1, 2]), Meter::new(classes.into_iter(), Time::ZERO), programs, 0)
    }

    fn with(
        plan: SystemPlan,
        classes: Classes,
        meter: Meter,
        programs: Vec<Box<dyn Program>>,
        seed: u64,
    ) -> ProcessSystem {
        let mut system = ProcessSystem {
            cpus: Processors::new(plan.cpus.unwrap_or(1)),
            processes: Vec::new(),
            ready: VecDeque::new(),
            requests: RequestTable::default(),
            named: BTreeMap::new(),
            sleepers: BTreeSet::new(),
            signals: BTreeMap::new(),
            locks: BTreeMap::new(),
            cache: BufferCache::new(plan.cache, plan.cache_piece, Draw::new(seed, u64::MAX)),
            classes,
            outbox: VecDeque::new(),
            backlog: VecDeque::new(),
            tick: Time::ZERO + plan.clock,
            now: Time::ZERO,
            current: None,
            blocked: 0,
            living: 0,
            moving: 0,
            daemons: 0,
            account: SystemAccount { cpus: plan.cpus.unwrap_or(1), ..SystemAccount::default() },
            closed: None,
            meter,
            order: None,
            events: None,
            recorder: None,
            notes: Vec::new(),
            plan,
        };
        for program in programs {
            system.create(program);
        }
        system
    }

    /// Keeps a log of all events, for tests and pictures.
    #[must_use]
    pub fn recording(self) -> ProcessSystem {
        ProcessSystem { events: Some(Vec::new()), ..self }
    }

    /// Where the time went so far.
    #[must_use]
    pub fn account(&self) -> &SystemAccount {
        &self.account
    }

    /// What happened, where it was kept.
    #[must_use]
    pub fn events(&self) -> &[ModelEvent] {
        self.events.as_deref().unwrap_or_default()
    }

    /// Requests that have not been seen to end.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.requests.outstanding()
    }

    /// The measured time is over: what requests that arrived in it are followed for has no part in the account.
    pub fn close(&mut self, end: Time) {
        self.charge(end);
        let named = self.processes.iter().filter(|process| !process.program.name().is_empty());
        let processes = named.map(|process| (process.program.name().to_owned(), process.times(end))).collect();
        self.closed = Some(SystemAccount { processes, ..self.account.clone() });
    }

    /// Ends the run at a time: what was measured, and what a reader must know.
    #[must_use]
    pub fn finish(mut self, end: Time) -> (Meter, SystemAccount, Vec<String>) {
        if self.closed.is_none() {
            self.close(end);
        }
        if self.living > 0 && self.next_event().is_none() && self.requests.outstanding() == 0 {
            let what = "processes never ended: what they wait for is not there; the execution time is that of the run";
            self.notes.push(format!("{} {what}", self.living));
        }
        (self.meter, self.closed.unwrap_or(self.account), self.notes)
    }

    pub(crate) fn note(&mut self, kind: ModelEventKind) {
        if let Some(events) = &mut self.events {
            events.push(ModelEvent { at: self.now, kind });
        }
    }

    /// So many processor seconds of this cost, at this system's speed.
    pub(crate) fn scale(&self, span: Span) -> Span {
        if self.plan.speed == 1.0 { span } else { Span((span.0 as f64 / self.plan.speed + 0.5) as u64) }
    }

    /// A new process, ready.
    pub(crate) fn create(&mut self, program: Box<dyn Program>) {
        let pid = Pid(self.processes.len() as u32);
        let counts = u32::from(program.counts());
        (self.living, self.moving) = (self.living + counts, self.moving + counts);
        self.daemons += 1 - counts;
        if let Some(recorder) = &mut self.recorder {
            recorder.begins(program.name(), self.now);
        }
        self.processes.push(ProcessEntry::new(program, self.plan.slice, self.now));
        self.caught_up(pid);
        self.note(ModelEventKind::Fork(pid));
        if self.order.is_some() && self.settles(pid) {
            return;
        }
        self.ready.push_back(pid);
        self.employ(pid);
    }

    /// Whether a process may have a processor.
    fn may_have(&self, pid: Pid, cpu: usize) -> bool {
        if let Some(order) = &self.order {
            return order.is_next(cpu, &self.processes[pid.0 as usize]);
        }
        self.processes[pid.0 as usize].program.cpus() >> (cpu % 64) & 1 == 1
    }

    /// Gives an idle processor something to do, if it may have this process.
    pub(crate) fn employ(&mut self, pid: Pid) {
        let free = |cpu: &usize| self.cpus[*cpu].is_free();
        let first = self.cpus.list_idle().filter(free).find(|cpu| self.may_have(pid, *cpu));
        if let Some(cpu) = first {
            self.dispatch(cpu);
        }
    }

    pub(crate) fn process(&mut self, pid: Pid) -> &mut ProcessEntry {
        &mut self.processes[pid.0 as usize]
    }

    /// A process stands otherwise now.
    pub(crate) fn stands(&mut self, pid: Pid, standing: ProcessState) {
        self.picture_process(pid, self.now);
        let process = &mut self.processes[pid.0 as usize];
        let counts = u32::from(process.program.counts());
        let before = process.stands(self.now, standing);
        if let ProcessState::Until(until) = standing {
            self.sleepers.insert((until, pid));
        }
        self.blocked = self.blocked + u32::from(standing.is_blocked()) - u32::from(before.is_blocked());
        self.moving = self.moving + counts * u32::from(before.is_still()) - counts * u32::from(standing.is_still());
        if standing == ProcessState::Gone {
            self.living -= counts;
            self.daemons -= 1 - counts;
            if counts == 1 && self.living == 0 {
                self.account.ended = Some(self.now);
            }
        }
    }

    /// Tells the time since the last event apart.
    pub(crate) fn charge(&mut self, now: Time) {
        let span = now.since(self.now);
        if span > Span::ZERO {
            self.picture_processors(self.now, now);
        }
        self.now = self.now.max(now);
        if span == Span::ZERO || self.account.ended.is_some() {
            return;
        }
        let counts = self.cpus.counts();
        let idle = if self.blocked > 0 { &mut self.account.false_idle } else { &mut self.account.idle };
        *idle += Span(span.0 * counts.idle);
        self.account.switching += Span(span.0 * counts.switching);
        self.account.computing += Span(span.0 * counts.computing);
        self.account.interrupts += Span(span.0 * counts.interrupts);
    }

    /// Whether the clock still matters.
    fn ticks(&self) -> bool {
        let roused = self.living > 0 && !self.sleepers.is_empty();
        let awaits_turn = self.order.is_some() && !self.ready.is_empty();
        self.moving > 0 || roused || awaits_turn || (self.daemons > 0 && self.cache.has_dirty())
    }

    /// Where in the run queue the next process of a processor stands.
    fn next_ready(&self, cpu: usize) -> Option<usize> {
        let mut able = self.ready.iter().enumerate().filter(|(_, pid)| self.may_have(**pid, cpu));
        let next = if self.plan.fair { able.min_by_key(|(at, pid)| (self.had(**pid), *at)) } else { able.next() };
        next.map(|(at, _)| at)
    }

    fn had(&self, pid: Pid) -> Span {
        self.processes[pid.0 as usize].had(self.now)
    }

    /// Who slept is not owed for that: it had as much as who had least of all others, but for a slice.
    fn caught_up(&mut self, pid: Pid) {
        if !self.plan.fair {
            return;
        }
        let running = self.cpus.iter().filter_map(|cpu| cpu.process);
        let least = running.chain(self.ready.iter().copied()).map(|pid| self.had(pid)).min().unwrap_or_default();
        let (had, slice) = (self.had(pid), self.plan.slice);
        self.process(pid).had = had.max(least.less(slice));
    }

    /// Gives a processor the next process, if there is one.
    fn dispatch(&mut self, cpu: usize) {
        let next = self.next_ready(cpu);
        let Some(pid) = next.and_then(|next| self.ready.remove(next)) else {
            return self.cpus.set(cpu, ProcessorState::Idle, Time::NEVER);
        };
        self.note(ModelEventKind::Dispatch(pid));
        self.process(pid).dispatches += 1;
        if let Some(order) = &mut self.order {
            order.advance(cpu);
        }
        let switch = self.scale(self.plan.switch);
        let was_blocked = std::mem::take(&mut self.process(pid).was_blocked);
        self.stands(pid, ProcessState::Running);
        let left_blocked = std::mem::take(&mut self.cpus[cpu].left_blocked);
        if self.account.ended.is_none() {
            self.account.switches += 1;
            if was_blocked || left_blocked {
                self.account.false_computation += switch;
            }
        }
        let until = self.now + switch;
        self.cpus[cpu].process = Some(pid);
        self.cpus[cpu].preempt = false;
        self.cpus.set(cpu, ProcessorState::Switching, until);
    }

    /// A process can run again.
    pub(crate) fn enable(&mut self, pid: Pid) {
        self.note(ModelEventKind::Wakeup(pid));
        let for_io = self.process(pid).standing.is_blocked();
        let cost = self.scale(self.plan.wakeup);
        if for_io && self.account.ended.is_none() {
            self.account.false_computation += cost;
        }
        let process = self.process(pid);
        process.owed += cost;
        process.was_blocked = for_io;
        self.caught_up(pid);
        self.stands(pid, ProcessState::Ready);
        if self.order.is_some() && self.settles(pid) {
            return;
        }
        let able = |cpu: &usize| self.may_have(pid, *cpu);
        let mut free = (0..self.cpus.len()).filter(able).filter(|cpu| self.cpus[*cpu].is_free());
        let had = self.had(pid);
        let yields = |other: Pid| !self.plan.fair || self.had(other) > had;
        let to_preempt = |cpu: &usize| !self.cpus[*cpu].preempt && self.cpus[*cpu].process.is_some_and(yields);
        if self.plan.preempt_on_wake
            && free.nth(self.ready.len()).is_none()
            && let Some(cpu) = (0..self.cpus.len()).filter(able).find(to_preempt)
        {
            self.cpus[cpu].preempt = true;
            self.ready.push_front(pid);
            self.press(cpu);
        } else {
            self.ready.push_back(pid);
        }
        self.employ(pid);
    }

    /// A processor is to change to who woke up: at once, but for one in a handler or at work on this very thing.
    fn press(&mut self, cpu: usize) {
        let (state, until, process) = (self.cpus[cpu].state(), self.cpus[cpu].until(), self.cpus[cpu].process);
        if let (Some(pid), ProcessorState::Computing | ProcessorState::Switching, true) =
            (process, state, self.current != Some(cpu))
        {
            if state == ProcessorState::Computing {
                self.process(pid).left = until.since(self.now);
            }
            self.displace(cpu, pid);
        }
    }

    /// A processor is done with what it was at.
    fn act(&mut self, cpu: usize) {
        self.current = Some(cpu);
        match self.cpus[cpu].state() {
            ProcessorState::Idle => {}
            ProcessorState::Switching => self.begin(cpu),
            ProcessorState::Computing => {
                if let Some(pid) = self.cpus[cpu].process {
                    self.process(pid).left = Span::ZERO;
                    self.run(cpu, pid);
                }
            }
            ProcessorState::Interrupt(handler) => self.finish_handler(cpu, handler),
        }
        self.current = None;
    }

    /// A process has its processor.
    fn begin(&mut self, cpu: usize) {
        let Some(pid) = self.cpus[cpu].process else { return };
        self.note(ModelEventKind::Switch(pid));
        let process = self.process(pid);
        let owed = std::mem::take(&mut process.owed);
        process.left += owed;
        let left = process.left;
        if left > Span::ZERO {
            let until = self.now + left;
            self.cpus.set(cpu, ProcessorState::Computing, until);
        } else {
            self.run(cpu, pid);
        }
    }

    /// A process goes on, step by step, until one takes time.
    fn run(&mut self, cpu: usize, pid: Pid) {
        loop {
            // Whoever this process woke goes first.
            if self.cpus[cpu].preempt && !self.ready.is_empty() {
                return self.displace(cpu, pid);
            }
            match self.step(pid, self.now) {
                StepOutcome::Done => {}
                StepOutcome::Yields => {
                    self.stands(pid, ProcessState::Ready);
                    self.ready.push_back(pid);
                    self.cpus[cpu].process = None;
                    self.dispatch(cpu);
                    if self.process(pid).standing == ProcessState::Ready {
                        self.employ(pid);
                    }
                    return;
                }
                StepOutcome::Takes(span) => {
                    let until = self.now + span;
                    return self.cpus.set(cpu, ProcessorState::Computing, until);
                }
                StepOutcome::Leaves(standing) => {
                    let kind = if standing == ProcessState::Gone {
                        ModelEventKind::Exit(pid)
                    } else {
                        ModelEventKind::Sleep(pid)
                    };
                    self.note(kind);
                    self.stands(pid, standing);
                    let slice = self.plan.slice;
                    self.process(pid).slice = slice;
                    self.cpus[cpu].left_blocked = standing.is_blocked();
                    self.cpus[cpu].process = None;
                    return self.dispatch(cpu);
                }
            }
        }
    }

    /// A process gives way to one that woke up, and goes on after it.
    fn displace(&mut self, cpu: usize, pid: Pid) {
        self.stands(pid, ProcessState::Ready);
        self.ready.insert(1.min(self.ready.len()), pid);
        self.cpus[cpu].process = None;
        self.dispatch(cpu);
    }

    /// An interrupt comes; the first processor that is free takes it, or the first of all.
    pub(crate) fn interrupt(&mut self, handler: Handler) {
        let free = self.cpus.iter().position(Processor::is_free).unwrap_or(0);
        self.raise(free, handler);
    }

    fn raise(&mut self, cpu: usize, handler: Handler) {
        let cost = self.cost(handler);
        if self.cpus.raise(cpu, handler, self.now, cost) {
            self.note(ModelEventKind::Interrupt(about(handler)));
        }
    }

    fn cost(&self, handler: Handler) -> Span {
        self.scale(match handler {
            Handler::Clock => self.plan.clock_interrupt,
            Handler::Completion(_) => self.plan.io_interrupt,
        })
    }

    /// A handler has done its work.
    fn finish_handler(&mut self, cpu: usize, handler: Handler) {
        self.note(ModelEventKind::InterruptEnd(about(handler)));
        match handler {
            Handler::Clock => self.clock(cpu),
            Handler::Completion(slot) => self.notice_completion(slot),
        }
        if let Some(next) = self.cpus[cpu].next_pending() {
            let until = self.now + self.cost(next);
            self.note(ModelEventKind::Interrupt(about(next)));
            return self.cpus.set(cpu, ProcessorState::Interrupt(next), until);
        }
        let (state, left) = self.cpus.resume(cpu, self.now);
        let Some(pid) = self.cpus[cpu].process else { return self.dispatch(cpu) };
        let is_over = self.process(pid).slice == Span::ZERO;
        if self.cpus[cpu].preempt || is_over {
            let preempts = self.cpus[cpu].preempt;
            if is_over {
                let slice = self.plan.slice;
                self.process(pid).slice = slice;
            }
            if self.ready.is_empty() {
                self.cpus[cpu].preempt = false;
                return;
            }
            if state == ProcessorState::Computing {
                self.process(pid).left = left;
            }
            if preempts {
                return self.displace(cpu, pid);
            }
            self.stands(pid, ProcessState::Ready);
            self.ready.push_back(pid);
            self.cpus[cpu].process = None;
            self.dispatch(cpu);
        }
    }

    /// The clock: slices grow shorter.
    fn clock(&mut self, cpu: usize) {
        if let Some(pid) = self.cpus[cpu].process {
            let clock = self.plan.clock;
            let process = self.process(pid);
            process.slice = process.slice.less(clock);
        }
    }

    /// Wakes who slept long enough.
    fn rouse(&mut self) {
        let now = self.now;
        while let Some((until, pid)) = self.sleepers.first().copied().filter(|(until, _)| *until <= now) {
            self.sleepers.remove(&(until, pid));
            self.enable(pid);
        }
    }

    /// The system sees that a request has ended.
    fn notice_completion(&mut self, slot: u32) {
        let Some(asked) = self.requests.get(slot) else { return };
        asked.seen = true;
        if let Purpose::Frame(frame) = asked.purpose {
            let again = self.cache.frame(frame).content == Content::Writing(slot, true);
            self.cache.becomes(frame, if again { Content::Dirty } else { Content::Clean });
        }
        for pid in (0..self.processes.len() as u32).map(Pid) {
            if matches!(self.process(pid).standing, ProcessState::ForRequest(of) | ProcessState::Watching(of) if of == slot)
            {
                self.enable(pid);
            }
        }
        self.requests.release(slot);
    }

    /// The next thing that happens by itself.
    pub(crate) fn next_event(&self) -> Option<Time> {
        let (_, busy) = self.cpus.first_done();
        let sleeper = self.sleepers.first().map_or(Time::NEVER, |(until, _)| *until);
        let next = if self.ticks() {
            busy.min(self.tick).min(sleeper)
        } else if self.order.is_some() {
            busy.min(sleeper)
        } else {
            busy
        };
        (next < Time::NEVER).then_some(next)
    }

    /// Something happens by itself.
    pub(crate) fn advance(&mut self) {
        let (cpu, until) = self.cpus.first_done();
        if until <= self.now {
            return self.act(cpu);
        }
        if self.sleepers.first().is_some_and(|(until, _)| *until <= self.now) {
            return self.rouse();
        }
        if self.ticks() && self.tick <= self.now {
            self.tick += self.plan.clock;
            self.watch_order();
            for cpu in 0..self.cpus.len() {
                self.raise(cpu, Handler::Clock);
            }
        }
    }
}

/// The request an interrupt is about.
fn about(handler: Handler) -> Option<RequestId> {
    match handler {
        Handler::Clock => None,
        Handler::Completion(slot) => Some(id(slot)),
    }
}
