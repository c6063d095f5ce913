//! Scenes of two mirrored disks without noise: what preemption with migration and JIT-migration do to the one that is interrupted
//! and to the one that comes (Preemptive RAID scheduling, Figures 5 and 6).

use block::{DiskId, Ending, Extent, Op, Qos, Request, RequestId, Span, Time};
use disk::{Sheet, Truth, catalogue};
use drive::Drive;
use sched::array::{Array, ArrayPlan, Geometry, Level, Migration, Placement};
use sched::plan::{ClassRule, Plan, PreemptAt, Preemption, Rules, chunk_for};
use sched::policy::{self, Knobs};
use sched::predict::Profile;
use sched::{Action, Core, Input, World, run};

/// Blocks of 2 MiB, and of 100 KiB.
const LONG: u32 = 4096;
const SHORT: u32 = 200;

/// Two drives, and requests at their times.
struct Scene {
    drives: Vec<Drive>,
    requests: Vec<(Time, Request)>,
    submitted: usize,
    now: Time,
    ended: Vec<Time>,
    /// Blocks that each drive was asked for.
    asked: Vec<u64>,
}

impl World for Scene {
    fn next(&mut self, wake: Option<Time>, _: u32) -> Option<(Time, Input)> {
        let due = self.requests.get(self.submitted).map(|(at, _)| *at);
        let done = self.drives.iter().enumerate().filter_map(|(i, drive)| Some((drive.next()?, i))).min();
        let wake = wake.map(|wake| wake.max(self.now));
        self.now = [done.map(|(at, _)| at), due, wake].into_iter().flatten().min()?;
        if let Some((_, disk)) = done.filter(|(at, _)| *at == self.now) {
            let (now, tag, outcome, _) = self.drives[disk].finish();
            return Some((now, Input::Done(DiskId(disk as u16), tag, now, outcome)));
        }
        if due == Some(self.now) {
            self.submitted += 1;
            return Some((self.now, Input::Submit(self.requests[self.submitted - 1].1)));
        }
        Some((self.now, Input::Wake))
    }

    fn act(&mut self, now: Time, action: Action) {
        match action {
            Action::Issue(disk, tag, command) => {
                if command.verb.transfers() {
                    self.asked[usize::from(disk.0)] += u64::from(command.at.blocks);
                }
                self.drives[usize::from(disk.0)].issue(now, tag, command);
            }
            Action::Finish(id, how) => {
                assert_eq!(how, Ending::Finished);
                self.ended[id.0 as usize] = now;
            }
            Action::Begin(_) | Action::Copy { .. } | Action::Xor { .. } => {}
        }
    }
}

/// What came of a scene.
struct Played {
    ended: Vec<Time>,
    asked: Vec<u64>,
    moved: u64,
}

fn sheet() -> Sheet {
    catalogue::find("atlas10k").unwrap().sheet
}

/// Two mirrored disks, of which the second already reads at `elsewhere` when the first is given `requests`.
fn play(migration: Migration, preemption: Preemption, delay: Span, requests: Vec<(Time, Request)>) -> Played {
    let sheet = sheet();
    // The second is turned otherwise than the first.
    let drives = vec![Drive::new(&sheet, &Truth::default(), 7), Drive::new(&sheet, &Truth::default(), 8)];
    let blocks = drives[0].caps().blocks;
    let class = |preempts| ClassRule { preempts, ..ClassRule::USUAL };
    let rules = Rules {
        plan: Some(Plan::of_chunk(chunk_for(&sheet))),
        preemption,
        preempt_at: PreemptAt::Jit,
        classes: vec![class(false), class(true)],
        ..Rules::default()
    };
    let core = |drive: &Drive| {
        let make = || policy::named("fcfs", &Knobs::default()).unwrap();
        Core::new(drive.caps(), u32::MAX, Profile::new(&sheet), rules.clone(), Box::new(make))
    };
    let cores = drives.iter().map(core).collect();
    let geometry = Geometry::new(Level::Mirrored { copies: 2 }, 2, 1 << 20, blocks).unwrap();
    let plan = ArrayPlan { migration, delay, placement: Placement::RoundRobin, ..ArrayPlan::default() };
    let mut array = Array::new(geometry, plan, rules.clone(), 16, cores);
    let ended = vec![Time::NEVER; requests.len()];
    let mut scene = Scene { drives, requests, submitted: 0, now: Time::ZERO, ended, asked: vec![0; 2] };
    run(&mut array, &mut scene);
    assert!(scene.ended.iter().all(|ended| *ended != Time::NEVER));
    Played { ended: scene.ended, asked: scene.asked, moved: array.moved() }
}

fn read(id: u32, at_ms: u64, start: u64, blocks: u32, class: u8) -> (Time, Request) {
    let qos = Qos { class, ..Qos::default() };
    (Time(at_ms * 1_000_000), Request { id: RequestId(id), op: Op::Read, at: Extent::new(start, blocks), qos })
}

/// A long read, on the second disk as it is its turn, and a short one of the other class in its midst, when it is that disk's
/// turn again. What the first disk reads has ended by then.
fn scene(at_ms: u64, n: u64, class: u8) -> Vec<(Time, Request)> {
    vec![
        read(0, 0, 1_000_000 + 100_000 * n, LONG, 0),
        read(1, 0, 9_000_000, SHORT, 0),
        read(2, at_ms, 500_000 + 700_000 * n, SHORT, class),
    ]
}

fn asked(played: &Played) -> u64 {
    played.asked.iter().sum()
}

#[test]
fn the_rest_of_an_interrupted_read_joins_the_queue_of_the_mirror() {
    for n in 0..8 {
        let stays = play(Migration::Never, Preemption::Always, Span::ZERO, scene(60, n, 1));
        let moves = play(Migration::Remainder, Preemption::Always, Span::ZERO, scene(60, n, 1));
        assert_eq!((stays.moved, moves.moved), (0, 1), "{n}");
        assert_eq!(asked(&stays), asked(&moves), "{n}: nothing is read twice");
        assert_eq!(moves.ended[2], stays.ended[2], "{n}: the one that came is served as soon");
        assert!(moves.ended[0] < stays.ended[0], "{n}: and the other goes on meanwhile");
    }
}

#[test]
fn jit_migration_delays_the_ongoing_read_by_a_revolution_at_most_and_lets_the_other_in() {
    let turn = sheet().mechanics.rotation.period();
    for n in 0..12 {
        let alone = play(Migration::Never, Preemption::Never, Span::ZERO, scene(40, n, 0)[..2].to_vec());
        let stays = play(Migration::Never, Preemption::Never, Span::ZERO, scene(40, n, 0));
        let moves = play(Migration::Jit, Preemption::Never, Span::ZERO, scene(40, n, 0));
        assert_eq!(moves.moved, 1, "{n}");
        assert_eq!(asked(&stays), asked(&moves), "{n}: nothing is read twice");
        let late = moves.ended[0].since(alone.ended[0]);
        assert!(late <= turn, "{n}: the ongoing read is {late:?} later");
        // An access to the mirror, a revolution, and its own access.
        let wait = moves.ended[2].since(Time(40_000_000));
        assert!(wait < stays.ended[2].since(Time(40_000_000)) && wait < Span::from_ms(45.0), "{n}: {wait:?}");
    }
}

#[test]
fn a_message_that_takes_longer_moves_less_and_later() {
    let moved =
        |delay| (0..12).map(|n| play(Migration::Jit, Preemption::Never, delay, scene(40, n, 0)).moved).sum::<u64>();
    let [none, some, more] = [Span::ZERO, Span::from_ms(5.0), Span::from_ms(200.0)].map(moved);
    assert!(none >= some && some > 0 && more == 0, "{none} {some} {more}");
}
