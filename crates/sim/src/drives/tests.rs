//! The order of what happens at one instant, and what arrivals find.

use super::*;
use crate::made::Made;
use crate::tell::UNTOLD;
use block::{Extent, Lbn, Op, Qos, Request, Verb};
use flow::PictureScope;
use load::{Load, Meter, Served};

/// Requests at given times, of so many blocks.
struct Given {
    requests: Vec<(Time, u32)>,
    /// What each found left.
    found: Vec<Span>,
    meter: Meter,
}

impl Given {
    fn new(requests: &[(u64, u32)]) -> Given {
        let mut requests: Vec<(Time, u32)> =
            requests.iter().map(|(ms, blocks)| (Time(ms * 1_000_000), *blocks)).collect();
        requests.reverse();
        Given { requests, found: Vec::new(), meter: Meter::new(std::iter::empty(), Time::ZERO) }
    }
}

impl Load for Given {
    fn due(&self) -> Option<Time> {
        self.requests.last().map(|(due, _)| *due)
    }

    fn fire(&mut self, _: Time, left: Span) -> Result<Option<Input>, BadInput> {
        let (_, blocks) = self.requests.pop().expect("one is due");
        self.found.push(left);
        let id = RequestId(self.found.len() as u32 - 1);
        Ok(Some(Input::Submit(Request { id, op: Op::Read, at: Extent { start: Lbn(0), blocks }, qos: Qos::default() })))
    }

    fn begin_request(&mut self, _: Time, _: RequestId) {}

    fn add_wait(&mut self, _: RequestId, _: Span) {}

    fn take_served(&mut self, _: Time, _: RequestId) -> Option<Served> {
        None
    }

    fn end_request(&mut self, _: Time, _: RequestId, _: Ending) {}

    fn meter(&self) -> &Meter {
        &self.meter
    }

    fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }
}

impl Measured for Given {
    fn finish(self, _: Time) -> (Meter, Vec<String>, Option<flow::SystemAccount>) {
        (self.meter, Vec::new(), None)
    }
}

fn world(drives: usize, requests: &[(u64, u32)]) -> Drives<'static, Made, Given> {
    let drives = (0..drives).map(|_| Made::new(1)).collect();
    Drives::new(drives, Given::new(requests), Stop::default(), UNTOLD, None)
}

fn read(blocks: u32) -> Command {
    Command::new(Verb::Read, Extent { start: Lbn(0), blocks }, Place::Request(RequestId(0), 0))
}

#[test]
fn at_one_instant_completions_come_before_arrivals_and_these_before_the_wake() {
    let mut world = world(2, &[(0, 1), (10, 1), (10, 1)]);
    assert!(matches!(world.next(None, 9), Some((Time(0), Input::Submit(_)))));
    for disk in 0..2 {
        world.act(Time(0), Action::Issue(DiskId(disk), Tag(0), read(10)));
    }
    let at = Time(10_000_000);
    let mut order = Vec::new();
    while let Some((now, input)) = world.next(Some(at).filter(|_| order.len() < 5), 9) {
        assert_eq!(now, at);
        order.push(match input {
            Input::Done(disk, ..) => format!("done {}", disk.0),
            Input::Submit(_) => "submitted".into(),
            Input::Wake => "woken".into(),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(order, ["done 0", "done 1", "submitted", "submitted", "woken"]);
}

#[test]
fn an_arrival_finds_what_is_left_on_average_over_the_drives() {
    let mut world = world(3, &[(0, 1), (4, 1), (12, 1)]);
    world.next(None, 9);
    world.act(Time(0), Action::Issue(DiskId(0), Tag(0), read(10)));
    world.act(Time(0), Action::Issue(DiskId(2), Tag(0), read(18)));
    while world.next(None, 9).is_some() {}
    let ms: Vec<f64> = world.load.found.iter().map(|left| left.as_ms()).collect();
    // 6 and 14 of three drives, then 6 of three.
    assert_eq!(ms, [0.0, (20.0_f64 / 3.0 * 1e6).floor() / 1e6, 2.0]);
}

/// A process that computes a millisecond and sleeps one, a thousand times.
struct Restless(u32);

impl flow::Program for Restless {
    fn next(&mut self, _: Time) -> flow::ProcessStep {
        self.0 += 1;
        match self.0 {
            2_000.. => flow::ProcessStep::Exit,
            step if step % 2 == 0 => flow::ProcessStep::Compute(Span(1_000_000)),
            _ => flow::ProcessStep::Pause { span: Span(1_000_000) },
        }
    }
}

#[test]
fn a_run_that_is_looked_at_goes_on_no_longer_than_there_is_room_for_what_is_seen() {
    let ends = |scope: PictureScope| {
        let plan = load::experiment::SystemPlan::PLAIN;
        let system = flow::ProcessSystem::of_plan(plan, vec![Box::new(Restless(0))]).with_pictures(scope);
        let camera = Camera::Reel(crate::reel::Reel::new(scope));
        let mut world = Drives::new(vec![Made::new(1)], system, Stop::default(), UNTOLD, Some(camera));
        while world.next(None, 9).is_some() {}
        let now = world.now;
        let picture = world.load.take_picture(now).expect("it was asked for");
        (picture.cut, picture.to, now)
    };
    let all = PictureScope { from: Time::ZERO, to: Time::NEVER, most: usize::MAX };
    let (cut, _, whole) = ends(all);
    assert!(!cut && whole > Time(1_900_000_000), "{whole:?}");
    let (cut, to, now) = ends(PictureScope { most: 40, ..all });
    assert!(cut && now > to && now < Time(100_000_000), "{to:?} {now:?}");
    let to = Time(300_500_000);
    let (cut, shown, now) = ends(PictureScope { to, ..all });
    assert!(!cut && shown == to && now > to && now < Time(310_000_000), "{now:?}");
}
