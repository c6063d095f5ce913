//! A request that was interrupted, and is cancelled while it waits to go on.

use block::errno::ECANCELED;
use block::{Caps, Change, DiskId, Ending, Extent, Op, Outcome, Qos, Request, RequestId, Tag, Time};
use sched::plan::{Plan, PreemptAt, Preemption, Rules};
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Action, Core, Input};

#[test]
fn one_interrupted_and_cancelled_is_gone_whatever_the_policy() {
    let request = |id, start, blocks, priority| Request {
        id: RequestId(id),
        op: Op::Read,
        at: Extent::new(start, blocks),
        qos: Qos { priority, ..Qos::default() },
    };
    for name in policy::names() {
        let plan = Plan { jit: false, ..Plan::of_chunk(8) };
        let (preemption, preempt_at) = (Preemption::Priority, PreemptAt::Command);
        let rules = Rules { plan: Some(plan), preemption, preempt_at, ..Rules::default() };
        let caps = Caps { blocks: 100_000, depth: 1, seek: true };
        let make = move || policy::usual(name).make(&Beside::default());
        let mut core = Core::new(caps, 8, Distance::default(), rules, Box::new(make));
        let mut out = Vec::new();
        let mut at = 0;
        let mut handle = |core: &mut Core<Distance>, input, out: &mut Vec<Action>| {
            at += 1000;
            core.handle(Time(at), input, out);
        };
        handle(&mut core, Input::Submit(request(0, 1000, 100, 0)), &mut out);
        handle(&mut core, Input::Submit(request(1, 5000, 8, 1)), &mut out);
        handle(&mut core, Input::Done(DiskId(0), Tag(0), Time(2500), Outcome::Ok), &mut out);
        handle(&mut core, Input::Amend(RequestId(0), Change::Cancel), &mut out);
        assert_eq!(out.last(), Some(&Action::Finish(RequestId(0), Ending::Failed(ECANCELED))), "{name}");
        // Another in its slot, and one that waits behind.
        handle(&mut core, Input::Submit(request(2, 90_000, 8, 0)), &mut out);
        handle(&mut core, Input::Submit(request(3, 95_000, 8, 0)), &mut out);
        out.clear();
        for turn in 0..3 {
            handle(&mut core, Input::Done(DiskId(0), Tag(0), Time(4500 + turn * 1000), Outcome::Ok), &mut out);
        }
        let mut ended: Vec<(u32, Ending)> = Vec::new();
        out.iter().for_each(|action| {
            if let Action::Finish(id, how) = action {
                ended.push((id.0, *how))
            }
        });
        // In which order those end that waited is the policy's affair.
        ended[1..].sort_by_key(|(id, _)| *id);
        assert_eq!(ended, [1, 2, 3].map(|id| (id, Ending::Finished)), "{name}");
        assert_eq!(core.room(), 8, "{name}");
    }
}
