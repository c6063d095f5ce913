//! What classes may have of the arm, changed while an array is asked: each of its disks shares its own arm out anew.

use block::{Caps, DiskId, Extent, Op, Outcome, Qos, Request, RequestId, Span, Tag, Time};
use sched::array::{Array, ArrayPlan, Geometry, Level};
use sched::plan::Rules;
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Action, Claim, Core, Input, Scheduler, ShareRules};

const DISKS: u16 = 3;
const UNIT: u32 = 8;
/// What a command takes; requests of each class on each disk.
const TAKES: Span = Span(5_000_000);
const DEPTH: u32 = 4;
const CLASSES: u32 = 2;

/// Disks of which each serves one command at a time, asked for as much as they can by each class.
struct Busy {
    array: Array<Distance>,
    now: Time,
    flying: Vec<(Time, DiskId, Tag)>,
    out: Vec<Action>,
    asked: u64,
    /// By disk and class: requests that have ended.
    ended: [[u32; CLASSES as usize]; DISKS as usize],
}

impl Busy {
    fn new() -> Busy {
        let shares = ShareRules { volumes: Vec::new(), classes: vec![(None, Claim::default()); CLASSES as usize] };
        let rules = Rules { shares: Some(shares), bills: true, ..Rules::default() };
        let caps = Caps { blocks: 1 << 20, depth: 1, seek: block::SeekBy::Nothing, arms: 1 };
        let core = || {
            let policy = || policy::usual("fcfs").make(&Beside::default());
            Core::new(caps, u32::MAX, Distance::default(), rules.clone(), Box::new(policy))
        };
        let geometry = Geometry::new(Level::Striped, DISKS, UNIT, 1 << 20).expect("a geometry");
        let cores = (0..DISKS).map(|_| core()).collect();
        let array = Array::new(geometry, ArrayPlan::default(), rules.clone(), 64, cores);
        let mut busy =
            Busy { array, now: Time::ZERO, flying: Vec::new(), out: Vec::new(), asked: 0, ended: Default::default() };
        (0..DEPTH * CLASSES * u32::from(DISKS)).for_each(|id| busy.ask(id));
        busy
    }

    /// The number of a request tells its class and its disk.
    fn ask(&mut self, id: u32) {
        self.asked += 1;
        let stripe = self.asked * 7919 % 40_000 * u64::from(DISKS) + u64::from(id % u32::from(DISKS));
        let qos = Qos { class: (id / u32::from(DISKS) % CLASSES) as u8, ..Qos::default() };
        let at = Extent::new(stripe * u64::from(UNIT), UNIT);
        self.hear(Input::Submit(Request { id: RequestId(id), op: Op::Read, at, qos }));
    }

    fn hear(&mut self, input: Input) {
        self.array.handle(self.now, input, &mut self.out);
        let mut again = Vec::new();
        for action in std::mem::take(&mut self.out) {
            match action {
                Action::Issue(disk, tag, _) => self.flying.push((self.now + TAKES, disk, tag)),
                Action::Finish(id, _) => again.push(id.0),
                _ => {}
            }
        }
        for id in again {
            let (disk, class) = (id % u32::from(DISKS), id / u32::from(DISKS) % CLASSES);
            self.ended[disk as usize][class as usize] += 1;
            self.ask(id);
        }
    }

    /// By disk, the part of what ends in so many seconds that is of the second class.
    fn parts(&mut self, seconds: u64) -> Vec<f64> {
        let end = self.now + Span(seconds * 1_000_000_000);
        self.ended = Default::default();
        while self.now < end {
            let wake = self.array.wake_at();
            let next = (0..self.flying.len()).min_by_key(|flying| self.flying[*flying].0);
            let at = next.map_or(Time::NEVER, |flying| self.flying[flying].0);
            if let Some(wake) = wake.filter(|wake| *wake < at) {
                self.now = self.now.max(wake);
                self.hear(Input::Wake);
            } else {
                let (at, disk, tag) = self.flying.swap_remove(next.expect("a disk is busy"));
                self.now = self.now.max(at);
                self.hear(Input::Done(disk, tag, at, Outcome::Ok));
            }
        }
        self.ended.iter().map(|ended| f64::from(ended[1]) / f64::from(ended.iter().sum::<u32>())).collect()
    }
}

#[test]
fn a_claim_that_changes_while_an_array_is_asked_reaches_each_of_its_disks() {
    let mut busy = Busy::new();
    for (claim, wanted) in [
        (Claim::default(), 0.5),
        (Claim { share: 3.0, ..Claim::default() }, 0.75),
        (Claim { share: 0.25, ..Claim::default() }, 0.2),
        (Claim { share: 3.0, limit: 0.1, ..Claim::default() }, 0.1),
    ] {
        busy.hear(Input::Claim(1, claim));
        busy.parts(10);
        for (disk, part) in busy.parts(60).into_iter().enumerate() {
            assert!((part - wanted).abs() < 0.02, "{claim:?}: {part:.3} of disk {disk}, not {wanted}");
        }
    }
}
