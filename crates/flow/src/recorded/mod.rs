//! What a recorded machine did: its own account, and how much each of its requests mattered, from who slept on it.

mod machine;
mod picture;
mod programs;
mod replay;
mod tape;

pub(crate) use machine::machine;
pub use picture::picture;
pub use replay::{Replay, replay};
pub use tape::Tape;

use block::{Op, Span, Time};
use std::collections::BTreeMap;
use trace::ftrace::{Event, IDLE, Io, Left, What};

/// A process of a recorded machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    /// The kernel's number of the process.
    pub pid: u32,
    /// The name that the kernel has for it (`comm`).
    pub name: String,
    /// On a processor, interrupts apart.
    pub busy: Span,
    /// Blocked, not to be disturbed.
    pub blocked: Span,
    /// Sleeps that the end of a request ended, and how long they were.
    pub waits: u64,
    /// How long those sleeps were, all together.
    pub waited: Span,
    standing: Standing,
    since: Time,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Standing {
    #[default]
    Running,
    Ready,
    Asleep,
    Blocked,
    Idle,
    /// Off its processor, nobody saw how.
    Out,
    Gone,
}

/// What was asked of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// The kernel's numbers of the device: major, minor.
    pub name: (u32, u32),
    /// Requests on which somebody slept, and that were not marked as read-ahead.
    pub critical: u64,
    /// Read-ahead on which nobody slept; and on which somebody did: it was late.
    pub in_time: u64,
    /// Read-ahead on which somebody slept: it was late.
    pub late: u64,
    /// Requests that were neither critical nor read-ahead.
    pub noncritical: u64,
    /// From the last issue of each to its end, all together.
    pub access: Span,
    /// Sleeps on them, all together.
    pub slept: Span,
    /// Time limits of what was late, all together.
    pub limits: Span,
    /// Requests that had not ended at the end, and ends of requests that were not seen to begin.
    pub unended: u64,
    /// Completions whose issue was not recorded.
    pub unbegun: u64,
}

/// The account of a recorded machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Processors that have an event in the recording.
    pub cpus: usize,
    /// From the first event to the last.
    pub length: Span,
    /// Events; those lost, as the file says; those whose time went back.
    pub events: u64,
    /// Events that the kernel dropped, as the file says.
    pub lost: u64,
    /// Events whose time is before that of the one above them.
    pub steps_back: u64,
    /// Time of all processors: in processes, in interrupts, idle while somebody was blocked, idle.
    pub busy: Span,
    /// Time of all processors in interrupts.
    pub interrupts: Span,
    /// Time of all processors idle while somebody was blocked.
    pub false_idle: Span,
    /// Time of all processors idle while nobody was blocked.
    pub idle: Span,
    /// Switches from one task to another, the idle one among them.
    pub switches: u64,
    /// By time on a processor, most first.
    pub tasks: Vec<Task>,
    /// What was asked of each device, by major and minor number.
    pub devices: Vec<Device>,
}

/// A processor while it is read.
#[derive(Clone, Copy, Debug)]
struct Cpu {
    task: u32,
    /// Interrupts within one another.
    depth: u32,
    /// The last request that ended in them, and whether one of another device did.
    ended: Option<usize>,
    elsewhere: bool,
}

impl Cpu {
    /// Follows the processor of an event through interrupts and switches; the last request that ended in its interrupt. Before
    /// its first event it is taken for what it is at then.
    fn follow(cpus: &mut BTreeMap<usize, Cpu>, event: &Event) -> Option<usize> {
        let cpu = cpus.entry(event.cpu).or_insert(Cpu { task: event.task, depth: 0, ended: None, elsewhere: false });
        match event.what {
            What::Interrupt => cpu.depth += 1,
            What::InterruptEnd => {
                cpu.depth = cpu.depth.saturating_sub(1);
                cpu.ended = cpu.ended.filter(|_| cpu.depth > 0);
                cpu.elsewhere &= cpu.depth > 0;
            }
            What::Switch { to, .. } => cpu.task = to,
            _ => {}
        }
        cpu.ended
    }
}

/// A request while it is read.
#[derive(Clone, Copy, Debug)]
struct Asked {
    io: Io,
    asked: Time,
    issued: Option<Time>,
    ended: Option<Time>,
    /// The first sleep on it: since when, and how long.
    slept: Option<(Time, Span)>,
}

type Key = ((u32, u32), u64, u8);

fn key(io: &Io) -> Key {
    (io.device, io.at.start.0, kind(io.op))
}

fn kind(op: Op) -> u8 {
    match op {
        Op::Read | Op::Repair => 0,
        Op::Write { .. } => 1,
        Op::Flush => 2,
    }
}

#[derive(Default)]
struct Reading {
    account: Recorded,
    cpus: BTreeMap<usize, Cpu>,
    tasks: BTreeMap<u32, Task>,
    requests: Vec<Asked>,
    open: BTreeMap<Key, usize>,
    devices: BTreeMap<(u32, u32), Device>,
    /// Tasks that are blocked now.
    blocked: u32,
    now: Time,
    picture: Option<picture::Draft>,
}

/// The account of a recording.
#[must_use]
pub fn account(tape: &Tape) -> Recorded {
    let mut reading = Reading::default();
    reading.follow(tape);
    for (pid, name) in &tape.names {
        if let Some(task) = reading.tasks.get_mut(pid) {
            task.name.clone_from(name);
        }
    }
    let (length, events) = (tape.length(), tape.events.len() as u64);
    reading.finish(Recorded { length, events, lost: tape.lost, steps_back: tape.steps_back, ..Recorded::default() })
}

impl Reading {
    fn follow(&mut self, tape: &Tape) {
        for event in &tape.events {
            self.charge(event.at);
            if self.picture.is_some() && !self.cpus.contains_key(&event.cpu) {
                self.stands(event.task, Standing::Running);
            }
            self.take(event);
        }
    }

    /// Tells the time since the last event apart.
    fn charge(&mut self, now: Time) {
        let span = now.since(self.now);
        let from = std::mem::replace(&mut self.now, now);
        if span == Span::ZERO {
            return;
        }
        if let Some(draft) = &mut self.picture {
            draft.processors(&self.cpus, self.blocked > 0, from, now);
        }
        for cpu in self.cpus.values() {
            let part = match cpu {
                Cpu { depth: 1.., .. } => &mut self.account.interrupts,
                Cpu { task: IDLE, .. } if self.blocked > 0 => &mut self.account.false_idle,
                Cpu { task: IDLE, .. } => &mut self.account.idle,
                Cpu { task, .. } => {
                    self.account.busy += span;
                    &mut self.tasks.entry(*task).or_default().busy
                }
            };
            *part += span;
        }
    }

    fn take(&mut self, event: &Event) {
        let ended = Cpu::follow(&mut self.cpus, event);
        match event.what {
            What::Switch { from, left, to } => {
                self.account.switches += 1;
                self.leaves(from, left);
                self.stands(to, Standing::Running);
            }
            What::Waking(pid) => self.wakes(pid, ended.filter(|_| event.interrupt)),
            What::Insert(io) => self.asks(io, None),
            What::Issue(io) => self.asks(io, Some(event.at)),
            What::Complete(io) => {
                let ended = self.ends(&io);
                if let Some(cpu) = self.cpus.get_mut(&event.cpu) {
                    cpu.ended = ended.or(cpu.ended);
                }
            }
            What::Interrupt | What::InterruptEnd => {}
            What::Fork(_) | What::Exit | What::SystemCall | What::Return | What::Trap | What::Other => {}
        }
    }

    fn leaves(&mut self, pid: u32, left: Left) {
        match left {
            Left::Blocked => self.stands(pid, Standing::Blocked),
            Left::Asleep => self.stands(pid, Standing::Asleep),
            Left::Idle => self.stands(pid, Standing::Idle),
            Left::Preempted => self.stands(pid, Standing::Ready),
            Left::Unseen => self.stands(pid, Standing::Out),
            Left::Ended => self.stands(pid, Standing::Gone),
        }
    }

    fn stands(&mut self, pid: u32, standing: Standing) {
        self.stood_for(pid, None, standing);
    }

    /// A task stands otherwise; the number of the request that it waited for until now, if it did.
    fn stood_for(&mut self, pid: u32, request: Option<u32>, standing: Standing) {
        if pid == IDLE {
            return;
        }
        let now = self.now;
        let task = self.tasks.entry(pid).or_insert_with(|| Task { pid, since: now, ..Task::default() });
        if let Some(draft) = &mut self.picture {
            draft.stood(pid, task.standing, request, task.since, now);
        }
        if task.standing == Standing::Blocked && standing != Standing::Blocked {
            self.blocked -= 1;
            task.blocked += self.now.since(task.since);
        }
        if standing == Standing::Blocked && task.standing != Standing::Blocked {
            self.blocked += 1;
        }
        (task.standing, task.since) = (standing, self.now);
    }

    /// A task is woken, by the end of a request or otherwise.
    fn wakes(&mut self, pid: u32, ended: Option<usize>) {
        let is_awake = |standing| matches!(standing, Standing::Running | Standing::Ready | Standing::Gone);
        let Some(task) = self.tasks.get_mut(&pid).filter(|task| !is_awake(task.standing)) else { return };
        if task.standing == Standing::Out {
            return self.stands(pid, Standing::Ready);
        }
        // A worker that gets work did not wait for the request.
        let ended = ended.filter(|_| task.standing != Standing::Idle);
        if let Some(request) = ended {
            let slept = self.now.since(task.since);
            (task.waits, task.waited) = (task.waits + 1, task.waited + slept);
            let asked = &mut self.requests[request];
            asked.slept = asked.slept.or(Some((task.since, slept)));
        }
        self.stood_for(pid, ended.map(|request| request as u32 + 1), Standing::Ready);
    }

    fn asks(&mut self, io: Io, issued: Option<Time>) {
        let known = self.open.get(&key(&io)).copied();
        let request = known.unwrap_or_else(|| {
            self.requests.push(Asked { io, asked: self.now, issued: None, ended: None, slept: None });
            self.requests.len() - 1
        });
        self.open.insert(key(&io), request);
        let asked = &mut self.requests[request];
        // The last issue is the one that was served; merges may have made it longer by then.
        (asked.issued, asked.io) = (issued.or(asked.issued), io);
    }

    fn ends(&mut self, io: &Io) -> Option<usize> {
        let device = self.devices.entry(io.device).or_default();
        let Some(request) = self.open.remove(&key(io)) else {
            device.unbegun += 1;
            return None;
        };
        let asked = &mut self.requests[request];
        asked.ended = Some(self.now);
        let served = asked.issued.unwrap_or(asked.asked);
        device.access += self.now.since(served);
        if let Some(draft) = &mut self.picture {
            draft.served(io.device, request, served, self.now);
        }
        Some(request)
    }

    fn finish(mut self, account: Recorded) -> Recorded {
        for asked in &self.requests {
            let device = self.devices.entry(asked.io.device).or_default();
            match asked {
                // One that was merged into another is never issued.
                Asked { ended: None, issued: None, .. } => {}
                Asked { ended: None, .. } => device.unended += 1,
                Asked { slept: None, io: Io { ahead: true, .. }, .. } => device.in_time += 1,
                Asked { slept: None, .. } => device.noncritical += 1,
                Asked { slept: Some((since, slept)), io, .. } => {
                    device.slept += *slept;
                    if io.ahead {
                        device.late += 1;
                        device.limits += since.since(asked.asked);
                    } else {
                        device.critical += 1;
                    }
                }
            }
        }
        let mut tasks: Vec<Task> = self.tasks.into_iter().map(|(pid, task)| Task { pid, ..task }).collect();
        tasks.sort_by_key(|task| (std::cmp::Reverse(task.busy), task.pid));
        let devices = self.devices.into_iter().map(|(name, device)| Device { name, ..device }).collect();
        Recorded {
            length: account.length,
            events: account.events,
            lost: account.lost,
            steps_back: account.steps_back,
            cpus: self.cpus.len(),
            tasks,
            devices,
            ..self.account
        }
    }
}
