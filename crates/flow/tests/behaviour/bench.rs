//! A system over a device that takes the same time for every request, one after the other.

use block::{Change, Ending, Extent, Op, RequestId, Span, Time};
use flow::{MachineSetup, ModelEvent, Picture, PictureScope, ProcessStep, ProcessSystem, Program, SystemAccount};
use load::Load;
use load::experiment;
use sched::Input;
use std::collections::VecDeque;

pub const MS: Span = Span(1_000_000);

/// What a run came to.
pub struct Run {
    pub account: SystemAccount,
    pub events: Vec<ModelEvent>,
    /// When each request was made, and whether it writes.
    pub made: Vec<(Time, bool)>,
    /// What each asked for, and where.
    pub asked: Vec<(Op, Extent)>,
    /// By when somebody was likely to wait for each, as told with it.
    pub due: Vec<Option<Time>>,
    /// Priorities that requests were raised to, and by when they were due then.
    pub raised: Vec<u8>,
    pub raised_due: Vec<Option<Time>>,
    /// Most requests outstanding at once, and fewest once as many were.
    pub outstanding: (usize, usize),
    /// What went on, where that was kept.
    pub picture: Option<Picture>,
}

/// A process that does these steps.
pub struct Script(pub VecDeque<ProcessStep>);

impl Program for Script {
    fn next(&mut self, _: Time) -> ProcessStep {
        self.0.pop_front().unwrap_or(ProcessStep::Exit)
    }
}

pub fn script(steps: impl IntoIterator<Item = ProcessStep>) -> Box<dyn Program> {
    Box::new(Script(steps.into_iter().collect()))
}

pub fn compute(ms: u64) -> ProcessStep {
    ProcessStep::Compute(Span(ms * MS.0))
}

/// An experiment with this `[system]` and this workload of processes.
pub fn case(system: &str, workload: &str) -> experiment::Experiment {
    let text = format!(
        "[drive]\nmodel = \"lxt-535sy\"\n[scheduler]\npolicy = \"fcfs\"\n[system]\n{system}\n\
         [[workload]]\nname = \"it\"\n{workload}\n"
    );
    experiment::parse("experiment.toml", &text, &[], None).expect("it is in order").remove(0).experiment
}

/// Processes that nobody looks at: `play` is given others.
pub const ANY: &str = "kind = \"processes\"\nprocesses = 1\ncompute = \"1ms\"\nsize = \"4KiB\"\nrequests = 1";

/// All of a run.
pub const ALL: PictureScope = PictureScope { from: Time::ZERO, to: Time::NEVER, most: usize::MAX };

/// Runs programs on a system of such a plan, each request taking `takes`.
pub fn play(system: &str, programs: Vec<Box<dyn Program>>, takes: Span) -> Run {
    let case = case(system, ANY);
    run(ProcessSystem::new(&case, MachineSetup::new(case.system, programs), 1), takes, Time::NEVER)
}

/// The same, with a picture of some of it.
pub fn play_pictured(system: &str, programs: Vec<Box<dyn Program>>, takes: Span, scope: PictureScope) -> Run {
    let case = case(system, ANY);
    run(ProcessSystem::new(&case, MachineSetup::new(case.system, programs), 1).keep_picture(scope), takes, Time::NEVER)
}

/// The same, looked at in the midst of it, at this time.
pub fn play_pictured_until(system: &str, programs: Vec<Box<dyn Program>>, takes: Span, until: Time) -> Run {
    let case = case(system, ANY);
    run(ProcessSystem::new(&case, MachineSetup::new(case.system, programs), 1).keep_picture(ALL), takes, until)
}

/// Runs the processes of a workload.
pub fn play_workload(system: &str, workload: &str, takes: Span) -> Run {
    let case = case(system, workload);
    let machine = flow::machine(&case, 1, 1_000_000).expect("they fit");
    run(ProcessSystem::new(&case, machine, 1), takes, Time::NEVER)
}

/// The same, with a picture of all of it.
pub fn play_workload_pictured(system: &str, workload: &str, takes: Span) -> Run {
    let case = case(system, workload);
    let machine = flow::machine(&case, 1, 1_000_000).expect("they fit");
    run(ProcessSystem::new(&case, machine, 1).keep_picture(ALL), takes, Time::NEVER)
}

fn run(system: ProcessSystem, takes: Span, until: Time) -> Run {
    let mut system = system.recording();
    let mut queue: VecDeque<RequestId> = VecDeque::new();
    let (mut busy, mut now, mut ended): (Option<(Time, RequestId)>, Time, u64) = (None, Time::ZERO, 0);
    let (mut made, mut asked, mut raised, mut outstanding) = (Vec::new(), Vec::new(), Vec::new(), (0, usize::MAX));
    let (mut due_by, mut raised_due) = (Vec::new(), Vec::new());
    loop {
        let due = system.due().unwrap_or(Time::NEVER).max(now);
        let done = busy.map_or(Time::NEVER, |(done, _)| done);
        if due.min(done) == Time::NEVER {
            break;
        }
        if due.min(done) > until {
            now = until;
            break;
        }
        now = due.min(done);
        if let Some((_, id)) = busy.filter(|_| done <= due) {
            system.end_request(now, id, Ending::Finished);
            busy = None;
            ended += 1;
        } else {
            match system.fire(now, Span::ZERO).expect("nothing is read from a file") {
                Some(Input::Submit(request)) => {
                    made.push((now, matches!(request.op, Op::Write { .. })));
                    asked.push((request.op, request.at));
                    due_by.push(request.qos.deadline);
                    queue.push_back(request.id);
                }
                Some(Input::Amend(_, Change::Qos(qos))) => {
                    raised.push(qos.priority);
                    raised_due.push(qos.deadline);
                }
                _ => {}
            }
        }
        if busy.is_none()
            && let Some(id) = queue.pop_front()
        {
            system.begin_request(now, id);
            busy = Some((now + takes, id));
        }
        let open = queue.len() + usize::from(busy.is_some());
        outstanding.0 = outstanding.0.max(open);
        if open < outstanding.0 {
            outstanding.1 = outstanding.1.min(open);
        }
        assert!(now < Time(10_000_000_000_000), "the run does not end");
    }
    let events = system.events().to_vec();
    let picture = system.take_picture(now);
    let (meter, account, _) = system.finish(now);
    assert_eq!(meter.requests(), ended, "each request that ends is counted, once");
    let elapsed = account.ended.unwrap_or(now).since(Time::ZERO);
    assert_eq!(account.total(), Span(elapsed.0 * u64::from(account.cpus)), "every processor's time is told apart");
    Run { account, events, made, asked, due: due_by, raised, raised_due, outstanding, picture }
}
