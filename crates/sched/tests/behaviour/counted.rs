//! From when on things count for the tally: of one disk, and of an array of some.

use block::{Caps, DiskId, Extent, Op, Outcome, Qos, Request, RequestId, Tag, Time};
use sched::array::{Array, ArrayPlan, Geometry, Level};
use sched::plan::{Plan, PreemptAt, Preemption, Rules};
use sched::policy::{Beside, usual};
use sched::predict::Distance;
use sched::{Core, Input, Scheduler};

fn rules() -> Rules {
    let plan = Plan { jit: false, ..Plan::of_chunk(8) };
    let (preemption, preempt_at) = (Preemption::Priority, PreemptAt::Command);
    Rules { plan: Some(plan), preemption, preempt_at, ..Rules::default() }
}

fn core() -> Core<Distance> {
    let caps = Caps { blocks: 100_000, depth: 1, seek: block::SeekBy::Command, arms: 1 };
    let make = || usual("fcfs").make(&Beside::default());
    Core::new(caps, 8, Distance::default(), rules(), Box::new(make))
}

/// Interruptions counted from a time on, of one at about 2 µs.
fn preemptions(mut scheduler: impl Scheduler, from: Time) -> u64 {
    scheduler.count_from(from);
    let request = |id, start, blocks, priority| Request {
        id: RequestId(id),
        op: Op::Read,
        at: Extent::new(start, blocks),
        qos: Qos { priority, ..Qos::default() },
    };
    let mut out = Vec::new();
    scheduler.handle(Time(1000), Input::Submit(request(0, 1000, 100, 0)), &mut out);
    scheduler.handle(Time(1500), Input::Submit(request(1, 5000, 8, 1)), &mut out);
    scheduler.handle(Time(2000), Input::Done(DiskId(0), Tag(0), Time(2000), Outcome::Ok), &mut out);
    scheduler.tally().expect("it serves in short commands").preemptions
}

#[test]
fn what_happens_before_counting_begins_is_not_counted() {
    let array = || {
        let geometry = Geometry::new(Level::Mirrored { copies: 2 }, 2, 50_000, 100_000).expect("an array");
        Array::new(geometry, ArrayPlan::default(), rules(), 8, vec![core(), core()])
    };
    // Both go to the disk that is read alone.
    let alone = || {
        let geometry = Geometry::new(Level::Striped, 1, 100_000, 100_000).expect("an array");
        Array::new(geometry, ArrayPlan::default(), rules(), 8, vec![core()])
    };
    for (from, counted) in [(Time::ZERO, 1), (Time(2000), 1), (Time(2001), 0), (Time(5000), 0)] {
        assert_eq!(preemptions(core(), from), counted, "from {from:?}");
        assert_eq!(preemptions(alone(), from), counted, "from {from:?}");
        assert_eq!(preemptions(array(), from), 0, "each has a disk of its own");
    }
}
