//! Classes with an order of their own.

use block::{Caps, Command, DiskId, Extent, Op, Outcome, Qos, Request, RequestId, Tag, Time};
use sched::plan::Rules;
use sched::policy::{Beside, Policy, usual};
use sched::predict::Distance;
use sched::{Action, Core, Input};

fn policy(name: &'static str) -> Box<dyn Fn() -> Box<dyn Policy<Distance>>> {
    Box::new(move || usual(name).make(&Beside::default()))
}

/// Where requests lie in the order in which they are served, all submitted at once; of each its class and place.
fn served(core: &mut Core<Distance>, requests: &[(u8, u64)]) -> Vec<u64> {
    let (mut out, mut order) = (Vec::new(), Vec::new());
    for (id, (class, at)) in (0..).zip(requests) {
        let qos = Qos { class: *class, ..Qos::default() };
        let request = Request { id: RequestId(id), op: Op::Read, at: Extent::new(*at, 8), qos };
        core.handle(Time::ZERO, Input::Submit(request), &mut out);
    }
    let issued = |action: &Action| match action {
        Action::Issue(_, _, Command { at, .. }) => Some(at.start.0),
        _ => None,
    };
    while let Some(at) = out.iter().find_map(issued) {
        order.push(at);
        out.clear();
        core.handle(Time::ZERO, Input::Done(DiskId(0), Tag(0), Time::ZERO, Outcome::Ok), &mut out);
    }
    order
}

fn core() -> Core<Distance> {
    let caps = Caps { blocks: 10_000, depth: 1, seek: block::SeekBy::Command, arms: 1 };
    Core::new(caps, 100, Distance::default(), Rules::default(), policy("fcfs"))
}

const REQUESTS: [(u8, u64); 6] = [(0, 500), (1, 900), (0, 100), (1, 200), (0, 300), (1, 800)];

#[test]
fn a_class_is_served_in_its_order_when_its_oldest_is_the_oldest_of_all() {
    assert_eq!(served(&mut core(), &REQUESTS), [500, 900, 100, 200, 300, 800]);
    let mut scanned = core().ordering(1, policy("look"));
    assert_eq!(served(&mut scanned, &REQUESTS), [500, 800, 900, 100, 200, 300]);
}

#[test]
fn both_may_have_one() {
    let mut core = core().ordering(1, policy("look")).ordering(0, policy("c-look"));
    // The other class is the first to wait; of this one, what lies ahead of the arm, and then from the beginning.
    assert_eq!(served(&mut core, &REQUESTS), [500, 800, 900, 100, 200, 300]);
    let mut core = self::core().ordering(0, policy("sstf"));
    assert_eq!(served(&mut core, &REQUESTS), [500, 900, 300, 100, 200, 800]);
}
