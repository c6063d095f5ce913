//! A command that failed is given to the device again as often as its class allows; then its request fails, and no other.

use block::errno::EIO;
use block::{Caps, Command, DiskId, Ending, Extent, Op, Outcome, Qos, Request, RequestId, Span, Tag, Time, Verb};
use sched::plan::{ClassRule, LastFua, Plan, Rules};
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Action, Core, Input};

/// A core of two classes, of which the second tries twice more.
fn core(plan: Option<Plan>) -> Core<Distance> {
    let classes = vec![ClassRule::USUAL, ClassRule { retries: 2, ..ClassRule::USUAL }];
    let make = || policy::usual("sstf").make(&Beside::default());
    let caps = Caps { blocks: 1000, depth: 1, seek: block::SeekBy::Nothing, arms: 1 };
    Core::new(caps, 8, Distance::default(), Rules { plan, classes, ..Rules::default() }, Box::new(make))
}

/// Submits a request; then its commands come back as told, and after that well. What was issued, and how it ended.
fn ends(plan: Option<Plan>, class: u8, op: Op, outcomes: &[bool]) -> (Vec<(Verb, Extent)>, Ending) {
    let (mut core, mut out) = (core(plan), Vec::new());
    let at = if op == Op::Flush { Extent::default() } else { Extent::new(10, 20) };
    let request = Request { id: RequestId(0), op, at, qos: Qos { class, ..Qos::default() } };
    let (mut now, mut outcomes) = (Time::ZERO, outcomes.iter());
    let mut input = Input::Submit(request);
    let mut issued = Vec::new();
    loop {
        core.handle(now, input, &mut out);
        let mut next = None;
        for action in out.drain(..) {
            match action {
                Action::Issue(_, tag, Command { verb, at, .. }) => {
                    issued.push((verb, at));
                    next = Some(tag);
                }
                Action::Finish(_, how) => return (issued, how),
                _ => {}
            }
        }
        now += Span(1000);
        let outcome = if *outcomes.next().unwrap_or(&true) { Outcome::Ok } else { Outcome::Failed(EIO) };
        input = next.map_or(Input::Wake, |tag: Tag| Input::Done(DiskId(0), tag, now, outcome));
    }
}

const WHOLE: Extent = Extent { start: block::Lbn(10), blocks: 20 };

#[test]
fn a_request_is_tried_as_often_as_its_class_allows() {
    let failed = Ending::Failed(EIO);
    let read = |times| vec![(Verb::Read, WHOLE); times];
    assert_eq!(ends(None, 0, Op::Read, &[false]), (read(1), failed));
    assert_eq!(ends(None, 1, Op::Read, &[false, false]), (read(3), Ending::Finished));
    assert_eq!(ends(None, 1, Op::Read, &[false, false, false]), (read(3), failed));
}

#[test]
fn a_short_command_is_tried_by_itself() {
    let plan = Some(Plan { last_fua: LastFua::Never, ..Plan::of_chunk(8) });
    let [first, second, last] =
        [(10, 8), (18, 8), (26, 4)].map(|(from, blocks)| (Verb::Read, Extent::new(from, blocks)));
    let (issued, how) = ends(plan, 1, Op::Read, &[false, false, true, false, false, true]);
    assert_eq!((issued, how), (vec![first, first, first, second, second, second, last], Ending::Finished));
    let (issued, how) = ends(plan, 1, Op::Read, &[true, false, false, false]);
    assert_eq!((issued, how), (vec![first, second, second, second], Ending::Failed(EIO)));
}

/// What it has lost, a second one does not bring back.
#[test]
fn a_flush_is_not_tried_again() {
    let flush = |times| vec![(Verb::Flush, Extent::default()); times];
    assert_eq!(ends(None, 1, Op::Flush, &[false]), (flush(1), Ending::Failed(EIO)));
    let (issued, how) = ends(Some(Plan::of_chunk(8)), 1, Op::Write { fua: true }, &[true, true, true, false]);
    assert_eq!((issued.last().copied(), how), (Some((Verb::Flush, Extent::default())), Ending::Failed(EIO)));
}
