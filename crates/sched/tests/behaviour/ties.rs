//! Requests that are alike to a policy.

use block::{Caps, DiskId, Extent, Op, Outcome, Qos, Request, RequestId, Tag, Time};
use sched::plan::Rules;
use sched::policy::{Beside, usual};
use sched::predict::Distance;
use sched::{Action, Core, Input};

#[test]
fn of_equal_yields_the_earlier_deadline_goes_first_and_then_the_one_submitted_first() {
    let caps = Caps { blocks: 10_000, depth: 1, seek: block::SeekBy::Command, arms: 1 };
    let make = || usual("yield").make(&Beside::default());
    let mut core = Core::new(caps, 8, Distance::default(), Rules::default(), Box::new(make));
    let (mut out, mut order) = (Vec::new(), Vec::new());
    let deadlines = [None, None, Some(20), Some(10), Some(20), None];
    for (id, seconds) in (0..).zip(deadlines) {
        let deadline = seconds.map(|seconds: u64| Time(seconds * 1_000_000_000));
        let at = Extent::new(if id == 0 { 0 } else { 5000 }, 8);
        let request = Request { id: RequestId(id), op: Op::Read, at, qos: Qos { deadline, ..Qos::default() } };
        core.handle(Time::ZERO, Input::Submit(request), &mut out);
    }
    for _ in deadlines {
        out.clear();
        core.handle(Time::ZERO, Input::Done(DiskId(0), Tag(0), Time::ZERO, Outcome::Ok), &mut out);
        order
            .extend(out.iter().filter_map(|action| if let Action::Finish(id, _) = action { Some(id.0) } else { None }));
    }
    assert_eq!(order, [0, 3, 2, 4, 1, 5]);
}
