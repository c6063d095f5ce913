//! What a recorded machine did: its own account, and how much each of its requests mattered, from who slept on it.

mod life;
mod machine;
mod picture;
mod programs;
mod replay;
mod tape;
mod turns;

pub(crate) use machine::machine;
pub use picture::picture;
pub use replay::{Dispatching, ReplayOutcome, replay};
pub use tape::LoadedRecording;

use block::{Op, Span, Time};
use std::collections::BTreeMap;
use trace::ftrace::{BlockIo, IDLE, KernelEvent, KernelEventKind, SwitchState};

/// A process of a recorded machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedTask {
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
    standing: TaskState,
    since: Time,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TaskState {
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
pub struct RecordedDevice {
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
pub struct MachineAccount {
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
    pub tasks: Vec<RecordedTask>,
    /// What was asked of each device, by major and minor number.
    pub devices: Vec<RecordedDevice>,
}

/// A processor while it is read.
#[derive(Clone, Copy, Debug)]
struct RecordedCpu {
    task: u32,
    /// Interrupts within one another.
    depth: u32,
    /// The last request that ended in them, and whether one of another device did.
    ended: Option<usize>,
    elsewhere: bool,
}

impl RecordedCpu {
    /// Follows the processor of an event through interrupts and switches; the last request that ended in its interrupt. Before
    /// its first event it is taken for what it is at then.
    fn follow(cpus: &mut BTreeMap<usize, RecordedCpu>, event: &KernelEvent) -> Option<usize> {
        let cpu =
            cpus.entry(event.cpu).or_insert(RecordedCpu { task: event.task, depth: 0, ended: None, elsewhere: false });
        match event.what {
            KernelEventKind::Interrupt => cpu.depth += 1,
            KernelEventKind::InterruptEnd => {
                cpu.depth = cpu.depth.saturating_sub(1);
                cpu.ended = cpu.ended.filter(|_| cpu.depth > 0);
                cpu.elsewhere &= cpu.depth > 0;
            }
            KernelEventKind::Switch { to, .. } => cpu.task = to,
            _ => {}
        }
        cpu.ended
    }
}

/// A request while it is read.
#[derive(Clone, Copy, Debug)]
struct OpenRequest {
    io: BlockIo,
    asked: Time,
    issued: Option<Time>,
    ended: Option<Time>,
    /// The first sleep on it: since when, and how long.
    slept: Option<(Time, Span)>,
}

type RequestKey = ((u32, u32), u64, u8);

fn key(io: &BlockIo) -> RequestKey {
    (io.device, io.at.start.0, kind(io.op))
}

fn kind(op: Op) -> u8 {
    match op {
        Op::Read | Op::Repair => 0,
        Op::Write { .. } | Op::Discard(_) | Op::Move => 1,
        Op::Flush => 2,
    }
}

#[derive(Default)]
struct AccountReader {
    account: MachineAccount,
    cpus: BTreeMap<usize, RecordedCpu>,
    tasks: BTreeMap<u32, RecordedTask>,
    requests: Vec<OpenRequest>,
    open: BTreeMap<RequestKey, usize>,
    devices: BTreeMap<(u32, u32), RecordedDevice>,
    /// Tasks that are blocked now.
    blocked: u32,
    now: Time,
    picture: Option<picture::PictureDraft>,
}

/// The account of a recording.
#[must_use]
pub fn account(tape: &LoadedRecording) -> MachineAccount {
    let mut reading = AccountReader::default();
    reading.follow(tape);
    for (pid, name) in &tape.names {
        if let Some(task) = reading.tasks.get_mut(pid) {
            task.name.clone_from(name);
        }
    }
    let (length, events) = (tape.length(), tape.events.len() as u64);
    reading.finish(MachineAccount {
        length,
        events,
        lost: tape.lost,
        steps_back: tape.steps_back,
        ..MachineAccount::default()
    })
}

impl AccountReader {
    fn follow(&mut self, tape: &LoadedRecording) {
        for event in &tape.events {
            self.charge(event.at);
            if self.picture.is_some() && !self.cpus.contains_key(&event.cpu) {
                self.stands(event.task, TaskState::Running);
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
                RecordedCpu { depth: 1.., .. } => &mut self.account.interrupts,
                RecordedCpu { task: IDLE, .. } if self.blocked > 0 => &mut self.account.false_idle,
                RecordedCpu { task: IDLE, .. } => &mut self.account.idle,
                RecordedCpu { task, .. } => {
                    self.account.busy += span;
                    &mut self.tasks.entry(*task).or_default().busy
                }
            };
            *part += span;
        }
    }

    fn take(&mut self, event: &KernelEvent) {
        let ended = RecordedCpu::follow(&mut self.cpus, event);
        match event.what {
            KernelEventKind::Switch { from, left, to } => {
                self.account.switches += 1;
                self.leaves(from, left);
                self.stands(to, TaskState::Running);
            }
            KernelEventKind::Waking(pid) => self.wakes(pid, ended.filter(|_| event.interrupt)),
            KernelEventKind::Insert(io) => self.asks(io, None),
            KernelEventKind::Issue(io) => self.asks(io, Some(event.at)),
            KernelEventKind::Complete(io) => {
                let ended = self.ends(&io);
                if let Some(cpu) = self.cpus.get_mut(&event.cpu) {
                    cpu.ended = ended.or(cpu.ended);
                }
            }
            KernelEventKind::Interrupt | KernelEventKind::InterruptEnd => {}
            KernelEventKind::Fork(_)
            | KernelEventKind::Exit
            | KernelEventKind::SystemCall
            | KernelEventKind::Return
            | KernelEventKind::Trap
            | KernelEventKind::Other => {}
        }
    }

    fn leaves(&mut self, pid: u32, left: SwitchState) {
        match left {
            SwitchState::Blocked => self.stands(pid, TaskState::Blocked),
            SwitchState::Asleep => self.stands(pid, TaskState::Asleep),
            SwitchState::Idle => self.stands(pid, TaskState::Idle),
            SwitchState::Preempted => self.stands(pid, TaskState::Ready),
            SwitchState::Unseen => self.stands(pid, TaskState::Out),
            SwitchState::Ended => self.stands(pid, TaskState::Gone),
        }
    }

    fn stands(&mut self, pid: u32, standing: TaskState) {
        self.stood_for(pid, None, standing);
    }

    /// A task stands otherwise; the number of the request that it waited for until now, if it did.
    fn stood_for(&mut self, pid: u32, request: Option<u32>, standing: TaskState) {
        if pid == IDLE {
            return;
        }
        let now = self.now;
        let task = self.tasks.entry(pid).or_insert_with(|| RecordedTask { pid, since: now, ..RecordedTask::default() });
        if let Some(draft) = &mut self.picture {
            draft.add_state(pid, task.standing, request, task.since, now);
        }
        if task.standing == TaskState::Blocked && standing != TaskState::Blocked {
            self.blocked -= 1;
            task.blocked += self.now.since(task.since);
        }
        if standing == TaskState::Blocked && task.standing != TaskState::Blocked {
            self.blocked += 1;
        }
        (task.standing, task.since) = (standing, self.now);
    }

    /// A task is woken, by the end of a request or otherwise.
    fn wakes(&mut self, pid: u32, ended: Option<usize>) {
        let is_awake = |standing| matches!(standing, TaskState::Running | TaskState::Ready | TaskState::Gone);
        let Some(task) = self.tasks.get_mut(&pid).filter(|task| !is_awake(task.standing)) else { return };
        if task.standing == TaskState::Out {
            return self.stands(pid, TaskState::Ready);
        }
        // A worker that gets work did not wait for the request.
        let ended = ended.filter(|_| task.standing != TaskState::Idle);
        if let Some(request) = ended {
            let slept = self.now.since(task.since);
            (task.waits, task.waited) = (task.waits + 1, task.waited + slept);
            let asked = &mut self.requests[request];
            asked.slept = asked.slept.or(Some((task.since, slept)));
        }
        self.stood_for(pid, ended.map(|request| request as u32 + 1), TaskState::Ready);
    }

    fn asks(&mut self, io: BlockIo, issued: Option<Time>) {
        let known = self.open.get(&key(&io)).copied();
        let request = known.unwrap_or_else(|| {
            self.requests.push(OpenRequest { io, asked: self.now, issued: None, ended: None, slept: None });
            self.requests.len() - 1
        });
        self.open.insert(key(&io), request);
        let asked = &mut self.requests[request];
        // The last issue is the one that was served; merges may have made it longer by then.
        (asked.issued, asked.io) = (issued.or(asked.issued), io);
    }

    fn ends(&mut self, io: &BlockIo) -> Option<usize> {
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
            draft.add_access(io.device, request, served, self.now);
        }
        Some(request)
    }

    fn finish(mut self, account: MachineAccount) -> MachineAccount {
        for asked in &self.requests {
            let device = self.devices.entry(asked.io.device).or_default();
            match asked {
                // One that was merged into another is never issued.
                OpenRequest { ended: None, issued: None, .. } => {}
                OpenRequest { ended: None, .. } => device.unended += 1,
                OpenRequest { slept: None, io: BlockIo { ahead: true, .. }, .. } => device.in_time += 1,
                OpenRequest { slept: None, .. } => device.noncritical += 1,
                OpenRequest { slept: Some((since, slept)), io, .. } => {
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
        let mut tasks: Vec<RecordedTask> =
            self.tasks.into_iter().map(|(pid, task)| RecordedTask { pid, ..task }).collect();
        tasks.sort_by_key(|task| (std::cmp::Reverse(task.busy), task.pid));
        let devices = self.devices.into_iter().map(|(name, device)| RecordedDevice { name, ..device }).collect();
        MachineAccount {
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
