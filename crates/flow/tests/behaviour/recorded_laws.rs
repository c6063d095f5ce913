//! The account and the picture of machines made up at random, against an account kept while they were made.

use crate::bench::ALL;
use block::{Extent, Op, Span, Time};
use flow::recorded::{LoadedRecording, MachineAccount, RecordedTask, account, picture};
use flow::{Activity, Doing, ProcessorWork};
use load::Draw;
use trace::ftrace::{BlockIo, IDLE, KernelEvent, KernelEventKind, SwitchState};

const DEVICE: (u32, u32) = (8, 0);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stands {
    Unseen,
    Ready,
    On,
    Away(SwitchState),
    Gone,
}

#[derive(Clone, Debug)]
struct Task {
    stands: Stands,
    since: Time,
    told: RecordedTask,
    /// Sleeps that a request ended, and that were no blocking.
    slept: Span,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    task: u32,
    depth: u32,
    ended: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Made {
    io: BlockIo,
    asked: Time,
    issued: Option<Time>,
    ended: Option<Time>,
    slept: Option<(Time, Span)>,
}

/// A machine that is made up.
struct Machine {
    now: Time,
    cpus: Vec<Cpu>,
    /// By number, the idle one first.
    tasks: Vec<Task>,
    requests: Vec<Made>,
    events: Vec<KernelEvent>,
    told: MachineAccount,
}

impl Machine {
    fn new(cpus: usize, tasks: u32) -> Machine {
        let task =
            |_| Task { stands: Stands::Unseen, since: Time::ZERO, told: RecordedTask::default(), slept: Span::ZERO };
        let mut it = Machine {
            now: Time::ZERO,
            cpus: vec![Cpu::default(); cpus],
            tasks: (0..=tasks).map(task).collect(),
            requests: Vec::new(),
            events: Vec::new(),
            told: MachineAccount { cpus, ..MachineAccount::default() },
        };
        (0..cpus).for_each(|cpu| it.happens(cpu, KernelEventKind::Other));
        it
    }

    fn happens(&mut self, cpu: usize, what: KernelEventKind) {
        let Cpu { task, depth, .. } = self.cpus[cpu];
        self.events.push(KernelEvent { at: self.now, cpu, task, interrupt: depth > 0, what });
        self.told.events += 1;
    }

    fn go_on(&mut self, span: Span) {
        self.now += span;
        let blocked = self.tasks.iter().any(|task| task.stands == Stands::Away(SwitchState::Blocked));
        for cpu in &self.cpus {
            match (cpu.depth, cpu.task) {
                (0, IDLE) if blocked => self.told.false_idle += span,
                (0, IDLE) => self.told.idle += span,
                (0, task) => {
                    self.told.busy += span;
                    self.tasks[task as usize].told.busy += span;
                }
                _ => self.told.interrupts += span,
            }
        }
    }

    /// A task stands otherwise; what it was at until then.
    fn stands(&mut self, pid: u32, stands: Stands) {
        if pid != IDLE {
            let (now, task) = (self.now, &mut self.tasks[pid as usize]);
            if task.stands == Stands::Away(SwitchState::Blocked) {
                task.told.blocked += now.since(task.since);
            }
            (task.stands, task.since) = (stands, now);
        }
    }

    fn switch(&mut self, cpu: usize, draw: &mut Draw) {
        let from = self.cpus[cpu].task;
        let ready: Vec<u32> = (1..self.tasks.len() as u32)
            .filter(|pid| matches!(self.tasks[*pid as usize].stands, Stands::Unseen | Stands::Ready))
            .collect();
        let to = match draw.below(3) {
            0 => IDLE,
            _ => ready.get(draw.below(ready.len().max(1) as u64) as usize).copied().unwrap_or(IDLE),
        };
        if from == to {
            return;
        }
        let ways = [SwitchState::Blocked, SwitchState::Asleep, SwitchState::Idle, SwitchState::Preempted];
        let left = match draw.below(20) {
            _ if from == IDLE => SwitchState::Preempted,
            0 => SwitchState::Ended,
            which => ways[which as usize % 4],
        };
        self.happens(cpu, KernelEventKind::Switch { from, left, to });
        self.told.switches += 1;
        self.stands(
            from,
            match left {
                SwitchState::Preempted => Stands::Ready,
                SwitchState::Ended => Stands::Gone,
                left => Stands::Away(left),
            },
        );
        self.stands(to, Stands::On);
        self.cpus[cpu].task = to;
    }

    /// Wakes a task, if it sleeps or not.
    fn wake(&mut self, cpu: usize, pid: u32) {
        self.happens(cpu, KernelEventKind::Waking(pid));
        let Task { stands: Stands::Away(left), since, .. } = self.tasks[pid as usize] else { return };
        let ended = self.cpus[cpu].ended.filter(|_| left != SwitchState::Idle);
        if let Some(request) = ended {
            let slept = self.now.since(since);
            let task = &mut self.tasks[pid as usize];
            (task.told.waits, task.told.waited) = (task.told.waits + 1, task.told.waited + slept);
            if left == SwitchState::Asleep {
                task.slept += slept;
            }
            let asked = &mut self.requests[request];
            asked.slept = asked.slept.or(Some((since, slept)));
        }
        self.stands(pid, Stands::Ready);
    }

    fn ask(&mut self, cpu: usize, draw: &mut Draw) {
        let unissued = self.requests.iter().position(|made| made.ended.is_none() && draw.below(3) == 0);
        let request = unissued.unwrap_or_else(|| {
            let op = if draw.below(2) == 0 { Op::Read } else { Op::Write { fua: false } };
            let at = Extent::new(8 * self.requests.len() as u64, 8);
            let io = BlockIo { device: DEVICE, op, at, ahead: draw.below(3) == 0, sync: false };
            self.requests.push(Made { io, asked: self.now, issued: None, ended: None, slept: None });
            self.requests.len() - 1
        });
        let io = self.requests[request].io;
        if draw.below(2) == 0 {
            self.happens(cpu, KernelEventKind::Insert(io));
        } else {
            self.happens(cpu, KernelEventKind::Issue(io));
            self.requests[request].issued = Some(self.now);
        }
    }

    fn end(&mut self, cpu: usize, draw: &mut Draw) {
        let open: Vec<usize> = (0..self.requests.len()).filter(|at| self.requests[*at].ended.is_none()).collect();
        if open.is_empty() {
            return;
        }
        let request = open[draw.below(open.len() as u64) as usize];
        self.happens(cpu, KernelEventKind::Complete(self.requests[request].io));
        self.requests[request].ended = Some(self.now);
        self.cpus[cpu].ended = Some(request);
    }

    fn step(&mut self, draw: &mut Draw) {
        self.go_on(Span(draw.below(3) * draw.below(1_000_000)));
        let cpu = draw.below(self.cpus.len() as u64) as usize;
        let pid = 1 + draw.below(self.tasks.len() as u64 - 1) as u32;
        match (draw.below(6), self.cpus[cpu].depth) {
            (0 | 1, 0) => self.switch(cpu, draw),
            (2, 0) => self.ask(cpu, draw),
            (3, _) => self.wake(cpu, pid),
            (4, depth) if depth < 3 => {
                self.happens(cpu, KernelEventKind::Interrupt);
                self.cpus[cpu].depth += 1;
            }
            (0, 1..) => self.end(cpu, draw),
            (5, 1..) => {
                self.happens(cpu, KernelEventKind::InterruptEnd);
                self.cpus[cpu].depth -= 1;
                self.cpus[cpu].ended = self.cpus[cpu].ended.filter(|_| self.cpus[cpu].depth > 0);
            }
            _ => {}
        }
    }
}

fn sum<T>(pieces: &[Activity<T>], which: impl Fn(&T) -> bool) -> Span {
    pieces.iter().filter(|piece| which(&piece.what)).map(|piece| piece.to.since(piece.from)).sum()
}

#[test]
fn the_account_of_any_machine_is_what_was_counted_while_it_ran() {
    let given = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    for seed in given.map_or(0..200, |seed| seed..seed + 1) {
        println!("HALFTURN_SEED={seed}");
        let mut draw = Draw::new(seed, 78);
        let mut machine = Machine::new(1 + draw.below(3) as usize, 1 + draw.below(5) as u32);
        (0..400).for_each(|_| machine.step(&mut draw));
        machine.happens(0, KernelEventKind::Other);
        let Machine { tasks, requests, events, told, .. } = machine;
        let length = events.last().expect("there are some").at.since(Time::ZERO);
        let tape = LoadedRecording { events, ..LoadedRecording::default() };
        let it = account(&tape);
        assert_eq!(it.length, length);
        let all = it.busy + it.interrupts + it.false_idle + it.idle;
        assert_eq!(all, Span(length.0 * told.cpus as u64), "all time is told apart");
        let of_events = [(it.events, told.events), (it.switches, told.switches), (it.cpus as u64, told.cpus as u64)];
        assert!(of_events.iter().all(|(a, b)| a == b), "{of_events:?}");
        let parts = |it: &MachineAccount| (it.busy, it.interrupts, it.false_idle, it.idle);
        assert_eq!(parts(&it), parts(&told));
        for task in &it.tasks {
            let told = &tasks[task.pid as usize].told;
            let of = |task: &RecordedTask| (task.busy, task.blocked, task.waits, task.waited);
            assert_eq!(of(task), of(told), "{task:?}");
        }
        assert!(it.tasks.windows(2).all(|pair| (pair[1].busy, pair[0].pid) < (pair[0].busy, pair[1].pid)));
        hold_device(&it, &requests);
        hold_picture(&tape, &it, &tasks);
    }
}

/// Every request counts once, by who slept on it.
#[track_caller]
fn hold_device(it: &MachineAccount, requests: &[Made]) {
    let Some(device) = it.devices.first() else { return assert!(requests.is_empty()) };
    let count = |which: &dyn Fn(&Made) -> bool| requests.iter().filter(|made| which(made)).count() as u64;
    let over = |made: &Made| made.ended.is_some();
    assert_eq!((it.devices.len(), device.name, device.unbegun), (1, DEVICE, 0));
    assert_eq!(device.critical, count(&|made| over(made) && made.slept.is_some() && !made.io.ahead));
    assert_eq!(device.late, count(&|made| over(made) && made.slept.is_some() && made.io.ahead));
    assert_eq!(device.in_time, count(&|made| over(made) && made.slept.is_none() && made.io.ahead));
    assert_eq!(device.noncritical, count(&|made| over(made) && made.slept.is_none() && !made.io.ahead));
    assert_eq!(device.unended, count(&|made| !over(made) && made.issued.is_some()));
    let access = requests.iter().filter_map(|made| Some(made.ended?.since(made.issued.unwrap_or(made.asked))));
    assert_eq!(device.access, access.sum());
    assert_eq!(device.slept, requests.iter().filter_map(|made| Some(made.slept?.1)).sum());
    let late = requests.iter().filter(|made| made.io.ahead);
    assert_eq!(device.limits, late.filter_map(|made| Some(made.slept?.0.since(made.asked))).sum());
}

/// The picture has the same pieces, put where they were.
#[track_caller]
fn hold_picture(tape: &LoadedRecording, it: &MachineAccount, tasks: &[Task]) {
    let picture = picture(tape, ALL);
    let all: Vec<Activity<ProcessorWork>> = picture.processors.concat();
    assert_eq!(sum(&all, |work| matches!(work, ProcessorWork::Process(_))), it.busy);
    assert_eq!(sum(&all, |work| matches!(work, ProcessorWork::Interrupt(_))), it.interrupts);
    assert_eq!(sum(&all, |work| *work == ProcessorWork::FalseIdle), it.false_idle);
    assert_eq!(sum(&all, |work| *work == ProcessorWork::Idle), it.idle);
    for life in &picture.processes {
        let pid: usize = life.name.trim_start_matches('-').parse().expect("a number");
        let task = &tasks[pid];
        let blocked = match task.stands {
            Stands::Away(SwitchState::Blocked) => picture.to.since(task.since),
            _ => Span::ZERO,
        };
        let waiting = sum(&life.pieces, |what| matches!(what, Doing::Waiting(_)));
        assert_eq!(waiting, task.told.blocked + task.slept + blocked, "{life:?}");
        assert_eq!(life.ended.is_some(), task.stands == Stands::Gone);
        assert!(life.pieces.windows(2).all(|pair| pair[0].to == pair[1].from), "{life:?}");
    }
}
