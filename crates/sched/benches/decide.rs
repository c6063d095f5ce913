//! What a decision costs: a completion, the choice of the next of so many random requests on the Atlas 10K, and the
//! arrival of one more. In an array, that of a request; by whole schedules, wakes included.

use block::{Caps, DiskId, Extent, Op, Outcome, Qos, Request, RequestId, Span, Tag, Time};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use disk::Sheet;
use sched::array::{Array, ArrayPlan, Geometry, Level};
use sched::plan::{ClassRule, Plan, Preemption, Rules};
use sched::policy::{Beside, usual};
use sched::predict::mimic::Learning;
use sched::predict::{Mimic, Predictor, Profile};
use sched::value::{Curve, Worth};
use sched::{Action, Core, Input, Scheduler};
use std::collections::VecDeque;

/// A core that always holds as many requests, and devices that take 5.3 ms for each command.
struct Loop<S> {
    core: S,
    blocks: u64,
    now: Time,
    dice: u64,
    /// Within which time every other request is to be done, if it matters.
    within: Option<Span>,
    /// Commands in flight, and when each ends.
    flying: VecDeque<(Time, DiskId, Tag)>,
    out: Vec<Action>,
    /// Requests that have ended.
    free: Vec<RequestId>,
}

impl<S: Scheduler> Loop<S> {
    fn new(core: S, depth: u32, blocks: u64, within: Option<Span>) -> Loop<S> {
        let (flying, out, free) = (VecDeque::new(), Vec::with_capacity(8), Vec::new());
        let mut all = Loop { core, blocks, now: Time::ZERO, dice: 1, within, flying, out, free };
        for id in 0..=depth {
            all.submit(RequestId(id));
        }
        all
    }

    fn submit(&mut self, id: RequestId) {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let start = (self.dice >> 20) % (self.blocks - 8);
        let class = (self.dice >> 63) as u8;
        let deadline = self.within.filter(|_| class == 1).map(|within| self.now + within);
        let qos = Qos { class, deadline, ..Qos::default() };
        let request = Request { id, op: Op::Read, at: Extent::new(start, 8), qos };
        self.handle(Input::Submit(request));
    }

    fn handle(&mut self, input: Input) {
        self.core.handle(self.now, input, &mut self.out);
        for action in self.out.drain(..) {
            match action {
                Action::Issue(disk, tag, _) => self.flying.push_back((self.now + Span(5_300_000), disk, tag)),
                Action::Finish(id, _) => self.free.push(id),
                _ => {}
            }
        }
    }

    /// Goes on until a request has ended, and submits as many as have.
    fn step(&mut self) {
        while self.free.is_empty() {
            let wake = self.core.wake_at().unwrap_or(Time::NEVER).max(self.now);
            let ends = self.flying.front().map_or(Time::NEVER, |(ends, ..)| *ends);
            self.now = wake.min(ends);
            let done = if ends <= wake { self.flying.pop_front() } else { None };
            self.handle(done.map_or(Input::Wake, |(_, disk, tag)| Input::Done(disk, tag, self.now, Outcome::Ok)));
        }
        while let Some(id) = self.free.pop() {
            self.submit(id);
        }
    }
}

fn core<P: Predictor + 'static>(policy: &str, rules: Rules, depth: u32, blocks: u64, belief: P) -> Core<P> {
    let policy = policy.to_owned();
    let make = move || usual(&policy).make(&Beside::default());
    Core::new(
        Caps { blocks, depth: 1, seek: block::SeekBy::Command, arms: 1 },
        depth + 1,
        belief,
        rules,
        Box::new(make),
    )
}

/// Eight disks, mirrored.
fn array(policy: &str, depth: u32, sheet: &Sheet) -> (Array<Profile>, u64) {
    let blocks = sheet.mechanics.layout.blocks();
    let geometry = Geometry::new(Level::Mirrored { copies: 2 }, 8, 4096, blocks).expect("there are enough");
    let disk = || core(policy, Rules::default(), u32::MAX - 1, blocks, Profile::new(sheet));
    let disks = (0..8).map(|_| disk()).collect();
    (Array::new(geometry, ArrayPlan::default(), Rules::default(), depth + 1, disks), geometry.blocks())
}

/// Whole schedules, of what is worth less with time too.
fn by_schedules() -> Rules {
    let worth = Worth { curve: Curve::interactive_best_effort(0.1), value: 1.0, whole: true };
    let classes = vec![ClassRule::USUAL, ClassRule { worth, ..ClassRule::USUAL }];
    Rules { plan: Some(Plan::of_chunk(128)), preemption: Preemption::Lookahead, classes, ..Rules::default() }
}

const DEPTHS: [u32; 4] = [10, 100, 1000, 10_000];

fn decisions(criterion: &mut Criterion) {
    let sheet = disk::catalogue::find("atlas10k").expect("it is in the catalogue").sheet;
    let blocks = sheet.mechanics.layout.blocks();
    let mut group = criterion.benchmark_group("decide");
    for policy in ["satf", "yield", "asatf", "lookahead", "sstf", "c-look"] {
        for depth in DEPTHS {
            let mut all =
                Loop::new(core(policy, Rules::default(), depth, blocks, Profile::new(&sheet)), depth, blocks, None);
            group.bench_function(BenchmarkId::new(policy, depth), |bencher| bencher.iter(|| all.step()));
        }
    }
    for depth in DEPTHS {
        let belief = Mimic::new(blocks, Learning::default());
        let mut all = Loop::new(core("smtf", Rules::default(), depth, blocks, belief), depth, blocks, None);
        group.bench_function(BenchmarkId::new("smtf", depth), |bencher| bencher.iter(|| all.step()));
        let (core, blocks) = array("satf", depth, &sheet);
        let mut all = Loop::new(core, depth, blocks, None);
        group.bench_function(BenchmarkId::new("array", depth), |bencher| bencher.iter(|| all.step()));
    }
    for depth in DEPTHS {
        let core = core("satf", by_schedules(), depth, blocks, Profile::new(&sheet));
        let mut all = Loop::new(core, depth, blocks, Some(Span::from_ms(100.0)));
        group.bench_function(BenchmarkId::new("schedules", depth), |bencher| bencher.iter(|| all.step()));
    }
    group.finish();
}

criterion_group!(benches, decisions);
criterion_main!(benches);
