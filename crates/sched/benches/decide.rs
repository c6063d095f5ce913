//! What a decision costs: a completion, the choice of the next of so many random requests on the Atlas 10K, and the
//! arrival of one more.

use block::{Caps, DiskId, Extent, Op, Outcome, Qos, Request, RequestId, Tag, Time};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use sched::plan::Rules;
use sched::policy::{Knobs, named};
use sched::predict::mimic::Learning;
use sched::predict::{Mimic, Predictor, Profile};
use sched::{Action, Core, Input};

/// A core that always holds as many requests, and a device that takes 5.3 ms for each.
struct Loop<P: Predictor> {
    core: Core<P>,
    blocks: u64,
    now: Time,
    dice: u64,
    out: Vec<Action>,
}

impl<P: Predictor + 'static> Loop<P> {
    fn new(policy: &str, depth: u32, blocks: u64, belief: P) -> Loop<P> {
        let policy = policy.to_owned();
        let make = move || named(&policy, &Knobs::default()).expect("it is a policy");
        let caps = Caps { blocks, depth: 1, seek: true };
        let core = Core::new(caps, depth + 1, belief, Rules::default(), Box::new(make));
        let mut all = Loop { core, blocks, now: Time::ZERO, dice: 1, out: Vec::with_capacity(8) };
        for id in 0..=depth {
            all.submit(RequestId(id));
        }
        all
    }

    fn submit(&mut self, id: RequestId) {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let start = (self.dice >> 20) % (self.blocks - 8);
        let request = Request { id, op: Op::Read, at: Extent::new(start, 8), qos: Qos::default() };
        self.core.handle(self.now, Input::Submit(request), &mut self.out);
    }

    fn step(&mut self) {
        self.out.clear();
        self.now = Time(self.now.0 + 5_300_000);
        self.core.handle(self.now, Input::Done(DiskId(0), Tag(0), self.now, Outcome::Ok), &mut self.out);
        let ended = self.out.iter().find_map(|action| match action {
            Action::Finish(id, _) => Some(*id),
            _ => None,
        });
        self.submit(ended.expect("a completion ends its request"));
    }
}

fn decisions(criterion: &mut Criterion) {
    let sheet = disk::catalogue::find("atlas10k").expect("it is in the catalogue").sheet;
    let blocks = sheet.mechanics.layout.blocks();
    let mut group = criterion.benchmark_group("decide");
    for policy in ["satf", "yield", "asatf", "lookahead", "sstf", "c-look"] {
        for depth in [10, 100, 1000, 10_000] {
            let mut all = Loop::new(policy, depth, blocks, Profile::new(&sheet));
            group.bench_function(BenchmarkId::new(policy, depth), |bencher| bencher.iter(|| all.step()));
        }
    }
    for depth in [10, 100, 1000, 10_000] {
        let mut all = Loop::new("smtf", depth, blocks, Mimic::new(blocks, Learning::default()));
        group.bench_function(BenchmarkId::new("smtf", depth), |bencher| bencher.iter(|| all.step()));
    }
    group.finish();
}

criterion_group!(benches, decisions);
criterion_main!(benches);
