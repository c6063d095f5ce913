//! What looking for work for free costs a scheduler: the time in the core for each command of a saturating reader, without a set,
//! with a whole drive wanted, and with ten million extents of it. Whenever it gives a command it decides what that is.

use block::{DiskId, Extent, Lbn, Op, Qos, Request, RequestId, Span, Tag, Time};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use disk::{Queue, Sheet, Truth, catalogue};
use drive::Drive;
use sched::plan::Rules;
use sched::policy::{self, Beside};
use sched::predict::Profile;
use sched::{Action, Core, FreePlan, Input, Wanted};
use std::time::{Duration, Instant};

/// Four requests always outstanding.
const DEPTH: u32 = 4;
/// Blocks of a unit, and from one extent to the next where ten million are wanted.
const UNIT: u32 = 64;
const APART: u64 = 61 * UNIT as u64;

/// A core, its drive, and who asks.
struct Desk {
    core: Core<Profile>,
    drive: Drive,
    now: Time,
    dice: u64,
    out: Vec<Action>,
    ended: Vec<RequestId>,
    /// Time spent in the core, and commands given.
    took: Duration,
    commands: u64,
}

impl Desk {
    fn new(wanted: Option<Wanted>) -> Desk {
        let sheet = catalogue::find("nl20").expect("it is in the catalogue").sheet;
        let sheet = Sheet { queue: Queue { depth: 1, ..sheet.queue }, ..sheet };
        let drive = Drive::new(&sheet, &Truth::default(), 1);
        let make = || policy::usual("satf").make(&Beside::default());
        let core = Core::new(drive.caps(), DEPTH, Profile::new(&sheet), Rules::default(), Box::new(make));
        let core = match wanted {
            Some(wanted) => {
                core.wanting(FreePlan { wanted, chunk: 128, patience: Span(1_000_000), class: 1, retries: 0 })
            }
            None => core,
        };
        let (out, ended) = (Vec::with_capacity(8), (0..DEPTH).map(RequestId).collect());
        let mut desk = Desk { core, drive, now: Time::ZERO, dice: 1, out, ended, took: Duration::ZERO, commands: 0 };
        // Until margins are learned.
        (0..20_000).for_each(|_| desk.serve());
        desk
    }

    fn handle(&mut self, input: Input) {
        let began = Instant::now();
        self.core.handle(self.now, input, &mut self.out);
        self.took += began.elapsed();
        for action in self.out.drain(..) {
            match action {
                Action::Issue(_, tag, command) => {
                    self.commands += 1;
                    self.drive.issue(self.now, tag, command);
                }
                Action::Finish(id, _) => self.ended.push(id),
                _ => {}
            }
        }
    }

    /// Goes on until one more request has ended.
    fn serve(&mut self) {
        let blocks = self.drive.caps().blocks;
        while let Some(id) = self.ended.pop() {
            self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = Extent::new((self.dice >> 8) % (blocks - 8) / 8 * 8, 8);
            self.handle(Input::Submit(Request { id, op: Op::Read, at, qos: Qos::default() }));
        }
        while self.ended.is_empty() {
            let (now, Tag(tag), outcome, _) = self.drive.complete();
            self.now = now;
            self.handle(Input::Done(DiskId(0), Tag(tag), now, outcome));
        }
    }
}

fn blocks() -> u64 {
    catalogue::find("nl20").expect("it is in the catalogue").sheet.mechanics.layout.blocks()
}

/// All of the drive.
fn whole() -> Wanted {
    let mut wanted = Wanted::nothing(blocks(), UNIT);
    wanted.want(Lbn(0), Lbn(blocks()));
    wanted
}

/// Ten million extents of it.
fn scattered() -> Wanted {
    let mut wanted = Wanted::nothing(blocks(), UNIT);
    (0..10_000_000u64).for_each(|i| wanted.want(Lbn(i * APART), Lbn(i * APART + u64::from(UNIT))));
    println!("10^7 extents: {} bytes, {} units of the drive", wanted.memory(), blocks() / u64::from(UNIT));
    wanted
}

fn decisions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("free");
    for (name, wanted) in [("none", None), ("whole", Some(whole())), ("10^7 extents", Some(scattered()))] {
        let mut desk = Desk::new(wanted);
        group.bench_function(BenchmarkId::new("satf", name), |bencher| {
            bencher.iter_custom(|commands| {
                desk.took = Duration::ZERO;
                let end = desk.commands + commands;
                while desk.commands < end {
                    desk.serve();
                }
                desk.took
            });
        });
        let before = desk.commands;
        (0..1000).for_each(|_| desk.serve());
        println!("{name}: {} commands for a thousand requests", desk.commands - before);
    }
    group.finish();
}

criterion_group!(benches, decisions);
criterion_main!(benches);
