//! Who interrupts whom, in scenes of two: by rank always, by value where it pays (Preemptive RAID scheduling, Figures 1, 11
//! and 12).

use crate::toy::ToyDrive;
use block::{Caps, DiskId, Ending, Extent, Op, Outcome, Qos, Request, RequestId, Span, Tag, Time};
use disk::catalogue;
use sched::plan::{ClassRule, Plan, PreemptAt, Preemption, Rules};
use sched::policy::{Beside, usual};
use sched::predict::Profile;
use sched::value::{Curve, Worth};
use sched::{Action, Core, Input};

/// What is read in bulk, and what steps in.
const BULK: RequestId = RequestId(1);
const OTHER: RequestId = RequestId(2);
/// Blocks of the bulk request.
const BLOCKS: u32 = 4096;

/// A 2 MiB request is read; when a share of it is done another comes, of 100 KiB. Which of them ends first, and when?
#[derive(Clone, Copy)]
struct Two {
    preemption: Preemption,
    preempt_at: PreemptAt,
    /// Whether they are of one class, which interrupts and may be interrupted.
    alike: bool,
    /// Of a whole request: the bulk one, and the other.
    values: [f64; 2],
    share: f64,
    /// The deadline of the other, from when it comes.
    deadline: Option<Span>,
    /// Where it lies.
    other: u64,
    /// How much sooner than need be the arm arrives.
    offset: Option<Span>,
    /// In how long requests of either class are to be done.
    promised: [Option<Span>; 2],
    /// How many others of its class come with it.
    kin: u32,
}

const TWO: Two = Two {
    preemption: Preemption::Always,
    preempt_at: PreemptAt::Jit,
    alike: false,
    values: [1.0, 1.0],
    share: 0.5,
    deadline: None,
    other: 12_000_000,
    offset: None,
    promised: [None; 2],
    kin: 0,
};

impl Two {
    fn first(&self) -> RequestId {
        let [bulk, other] = self.ends();
        if bulk < other { BULK } else { OTHER }
    }

    /// The rules of the scene: who may step in, and what each class is worth.
    fn rules(&self) -> Rules {
        let worth = |value, curve| Worth { curve, value, whole: true };
        let curve = if self.deadline.is_some() { Curve::interactive_real_time(0.8) } else { Curve::BEST_EFFORT };
        let classes = vec![
            ClassRule {
                preempts: false,
                worth: worth(self.values[0], Curve::BEST_EFFORT),
                p99: self.promised[0],
                ..ClassRule::USUAL
            },
            ClassRule { worth: worth(self.values[1], curve), p99: self.promised[1], ..ClassRule::USUAL },
        ];
        Rules {
            plan: Some(Plan { offset: self.offset, ..Plan::of_chunk(40) }),
            preemption: self.preemption,
            preempt_at: self.preempt_at,
            classes,
            ..Rules::default()
        }
    }

    /// When the bulk request and the other end.
    fn ends(&self) -> [Time; 2] {
        self.play().0
    }

    /// The same, and when the other comes.
    fn play(&self) -> ([Time; 2], Time) {
        let sheet = catalogue::find("atlas10k").expect("it is in the catalogue").sheet;
        let blocks = sheet.mechanics.layout.blocks();
        let rules = self.rules();
        let caps = Caps { blocks, depth: 1, seek: block::SeekBy::Command, arms: 1 };
        let make = || usual("fcfs").make(&Beside::default());
        let mut core = Core::new(caps, 40, Profile::new(&sheet), rules, Box::new(make));
        let mut drive = ToyDrive::new(&sheet, 77);
        let mut now = Time::ZERO;
        // Some reads beforehand, so that the phase is known.
        let mut coming: Vec<Request> =
            (0..20).map(|i| read(RequestId(3 + i), 1000 + 90_000 * u64::from(i), 8, 0)).collect();
        coming.reverse();
        let (mut out, mut flying, mut moved, mut bulk) = (Vec::new(), None, 0, false);
        let (mut ends, mut came) = ([Time::NEVER; 2], Time::NEVER);
        for turn in 0.. {
            assert!(turn < 10_000, "they interrupt one another for ever");
            let input = match (flying.take(), coming.pop()) {
                (Some((end, command)), waiting) => {
                    coming.extend(waiting);
                    now = end;
                    moved += if bulk { block_count(&command) } else { 0 };
                    if bulk && f64::from(moved) >= self.share * f64::from(BLOCKS) {
                        let at = read(OTHER, self.other, 200, 1);
                        let deadline = self.deadline.map(|within| now + within);
                        coming.push(Request { qos: Qos { deadline, ..at.qos }, ..at });
                        (bulk, came) = (false, now);
                    }
                    Input::Done(DiskId(0), Tag(0), end, Outcome::Ok)
                }
                (None, Some(request)) => Input::Submit(request),
                (None, None) => {
                    let Some(wake) = core.wake_at() else { return (ends, came) };
                    now = wake;
                    Input::Wake
                }
            };
            out.clear();
            core.handle(now, input, &mut out);
            // One that has come is submitted at once.
            if matches!(input, Input::Done(..)) && coming.last().is_some_and(|request| request.id == OTHER) {
                let request = coming.pop().expect("it is there");
                let kin = (0..self.kin).map(|i| read(RequestId(100 + i), self.other + 9000 * u64::from(i), 200, 1));
                kin.chain([request]).for_each(|request| core.handle(now, Input::Submit(request), &mut out));
            }
            for action in &out {
                match action {
                    Action::Issue(_, _, command) => flying = Some((drive.serve(now, command, false), *command)),
                    Action::Finish(id @ (BULK | OTHER), Ending::Finished) => {
                        ends[usize::from(*id == OTHER)] = now;
                        if ends.iter().all(|end| *end < Time::NEVER) {
                            return (ends, came);
                        }
                    }
                    Action::Finish(RequestId(22), _) => {
                        coming.push(read(BULK, 4_000_000, BLOCKS, u8::from(self.alike)));
                        bulk = true;
                    }
                    _ => {}
                }
            }
        }
        (ends, came)
    }
}

fn read(id: RequestId, start: u64, blocks: u32, class: u8) -> Request {
    Request { id, op: Op::Read, at: Extent::new(start, blocks), qos: Qos { class, ..Qos::default() } }
}

fn block_count(command: &block::Command) -> u32 {
    if command.verb.transfers() { command.at.blocks } else { 0 }
}

#[test]
fn rank_interrupts_whenever_it_comes_and_value_only_while_it_pays() {
    let first = |preemption, share| Two { preemption, share, deadline: Some(Span::from_ms(60.0)), ..TWO }.first();
    for share in [0.1, 0.9] {
        assert_eq!(first(Preemption::Never, share), BULK, "at {share}");
        assert_eq!(first(Preemption::Always, share), OTHER, "at {share}");
    }
    // Early on the other would come too late; near the end it would not, and stepping in costs a seek.
    for preemption in [Preemption::Conservative, Preemption::Aggressive, Preemption::Lookahead] {
        assert_eq!(first(preemption, 0.1), OTHER, "{preemption:?}");
        assert_eq!(first(preemption, 0.95), BULK, "{preemption:?}");
    }
}

#[test]
fn the_aggressive_interrupts_where_the_conservative_sees_that_both_together_yield_less() {
    let first = |preemption| Two { preemption, ..TWO }.first();
    assert_eq!(first(Preemption::Aggressive), OTHER);
    assert_eq!(first(Preemption::Conservative), BULK);
    assert_eq!(first(Preemption::Lookahead), BULK);
}

#[test]
fn those_of_one_rank_do_not_interrupt_one_another() {
    for share in [0.1, 0.5, 0.9] {
        for preemption in [Preemption::Always, Preemption::Priority] {
            let two = Two { preemption, share, alike: true, ..TWO };
            assert_eq!(two.first(), BULK, "{preemption:?} at {share}");
        }
        assert_eq!(Two { share, ..TWO }.first(), OTHER, "of a higher one, at {share}");
    }
}

#[test]
fn what_goes_on_until_the_others_seek_makes_stepping_in_cheaper() {
    // The least value at which the other interrupts.
    let least = |preempt_at| {
        let steps = (1..300).map(|step| 0.005 * f64::from(step));
        let interrupts = |value: &f64| {
            let (preemption, deadline) = (Preemption::Conservative, Some(Span::from_ms(60.0)));
            Two { preemption, preempt_at, deadline, values: [1.0, *value], share: 0.1, ..TWO }.first() == OTHER
        };
        steps.into_iter().find(interrupts).expect("for enough it interrupts")
    };
    let (in_time, at_once) = (least(PreemptAt::Jit), least(PreemptAt::Command));
    println!("worth {in_time:.2} where the first goes on, {at_once:.2} where it does not");
    assert!(in_time < at_once, "{in_time}, {at_once}");
}

#[test]
fn what_fills_the_slack_delays_nobody() {
    let mut gained = 0;
    for step in 5..95u32 {
        let (share, other) = (0.01 * f64::from(step), 11_000_000 + 100_003 * u64::from(step));
        let [in_time, at_once] = [PreemptAt::Jit, PreemptAt::Command]
            .map(|preempt_at| Two { preempt_at, share, other, offset: Some(Span(100_000)), ..TWO }.ends());
        let late = in_time[1].since(at_once[1]);
        assert!(late <= Span(30_000), "at {share} the one that steps in is {late:?} later");
        gained += u32::from(in_time[0] < at_once[0]);
    }
    assert!(gained > 10, "the slack was used {gained} times");
}

#[test]
fn who_was_promised_a_time_steps_in_where_waiting_would_take_most_of_that_and_not_where_both_were() {
    for share in [0.1, 0.4, 0.7] {
        for other in [9_000_000, 12_000_000] {
            let two = Two { share, other, preemption: Preemption::Never, ..TWO };
            let (ends, came) = two.play();
            let waits = ends[1].since(came).as_ms();
            // Of what was promised four fifths may pass, for one of whom nothing is known yet.
            let first = |bulk: Option<f64>, other: f64| {
                let promised = [bulk, Some(other)].map(|ms| ms.map(Span::from_ms));
                Two { preemption: Preemption::Slo, promised, ..two }.first()
            };
            println!("at {share} it waits for {waits:.1} ms");
            assert_eq!(first(None, 0.8 * waits / 0.8), OTHER, "at {share}");
            assert_eq!(first(None, 1.25 * waits / 0.8), BULK, "at {share}");
            assert_eq!(first(Some(500.0), 0.8 * waits / 0.8), BULK, "both were promised, at {share}");
            // Those of its kind go before it, each as far away.
            let promised = [None, Some(Span::from_ms(1.25 * waits / 0.8))];
            let many = Two { preemption: Preemption::Slo, promised, kin: 12, ..two };
            assert_eq!(many.first(), OTHER, "with many of its kind, at {share}");
        }
    }
}
