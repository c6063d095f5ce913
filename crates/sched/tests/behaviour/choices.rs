//! Each policy chooses what it would by looking at every waiting request: whatever waits, comes, is cancelled or held.

use crate::naive::{Knobs, Watched};
use crate::random::check;
use crate::toy::{Dice, ToyDrive};
use block::{Caps, Change, DiskId, Extent, Op, Outcome, Qos, Request, RequestId, Span, Tag, Time};
use disk::{Sheet, catalogue};
use proptest::prelude::*;
use sched::plan::Rules;
use sched::policy::{self, BaseOrder, Beside, Learn, Needs};
use sched::predict::mimic::Learning;
use sched::predict::{Distance, Mimic, Predictor, Profile};
use sched::value::{Curve, Worth};
use sched::{Action, Core, Input};

/// Where requests go.
#[derive(Clone, Copy, Debug)]
enum Crowd {
    /// Anywhere.
    Spread,
    /// In a hundredth of the drive.
    Region,
    /// From such a thousandth of the drive on, on so many blocks: on few tracks, or so few that they overlap.
    Tracks(u64, u64),
}

#[derive(Clone, Copy, Debug)]
struct Scene {
    drive: &'static str,
    crowd: Crowd,
    /// How many are submitted before the second command.
    deep: u64,
    /// How many the core takes, and how many steps of twenty submit one.
    room: u32,
    keen: u64,
    steps: u64,
    /// Quarters of the requests that write, and of those with FUA.
    writes: u64,
    fua: u64,
    seed: u64,
}

fn scenes() -> impl Strategy<Value = Scene> {
    let drive = prop::sample::select(vec!["atlas10k", "st318437lw", "mimic-base", "nl20"]);
    let tracks = (0..990u64, 50..3000u64).prop_map(|(from, blocks)| Crowd::Tracks(from, blocks));
    let crowd = prop_oneof![Just(Crowd::Spread), Just(Crowd::Region), tracks.clone(), tracks];
    let deep = prop_oneof![0..8u64, 0..60u64, 300..700u64];
    (drive, crowd, deep, 20..120u64, 0..4u64, 0..5u64, any::<u64>()).prop_map(
        |(drive, crowd, deep, steps, writes, fua, seed)| Scene {
            drive,
            crowd,
            deep,
            room: 1000,
            keen: 7,
            steps,
            writes,
            fua,
            seed,
        },
    )
}

/// A core under watch, and the toy it drives.
struct Stage<P: Predictor> {
    core: Core<P>,
    drive: ToyDrive,
    dice: Dice,
    scene: Scene,
    blocks: u64,
    now: Time,
    /// The command in flight comes back then.
    flying: Option<Time>,
    submitted: u32,
    /// Whether requests are of several classes and have deadlines.
    valued: bool,
    /// Whether what they are worth may change.
    amends: bool,
    /// Whether they are of several priorities, which may change.
    prioritised: bool,
    out: Vec<Action>,
}

impl<P: Predictor + 'static> Stage<P> {
    fn new(name: &'static str, knobs: Knobs, scene: Scene, sheet: &Sheet, belief: P) -> Stage<P> {
        let blocks = sheet.mechanics.layout.blocks();
        let mut dice = Dice(scene.seed);
        let drive = ToyDrive::new(sheet, dice.below(u64::MAX));
        Stage {
            core: Core::new(
                Caps { blocks, depth: 1, seek: block::SeekBy::Command, arms: 1 },
                scene.room,
                belief,
                Rules::default(),
                Box::new(move || Box::new(Watched::new(name, knobs.clone()))),
            ),
            drive,
            dice,
            scene,
            blocks,
            now: Time::ZERO,
            flying: None,
            submitted: 0,
            valued: name == "yield" || name == "edf",
            amends: name.starts_with("priority") || name == "3q" || name == "edf",
            prioritised: name.starts_with("priority") || name == "3q",
            out: Vec::new(),
        }
    }

    fn extent(&mut self) -> Extent {
        let (from, range) = match self.scene.crowd {
            Crowd::Spread => (0, self.blocks - 64),
            Crowd::Region => (self.blocks / 3, self.blocks / 100),
            Crowd::Tracks(from, blocks) => (self.blocks / 1000 * from, blocks),
        };
        Extent::new(from + self.dice.below(range), 1 + self.dice.below(40) as u32)
    }

    fn submit(&mut self) {
        let op = if self.dice.below(4) < self.scene.writes {
            Op::Write { fua: self.dice.below(4) < self.scene.fua }
        } else {
            Op::Read
        };
        let at = self.extent();
        self.submitted += 1;
        let qos = if self.valued || self.prioritised { self.qos() } else { Qos::default() };
        self.handle(Input::Submit(Request { id: RequestId(self.submitted), op, at, qos }));
    }

    fn qos(&mut self) -> Qos {
        let within = Span(1 + self.dice.below(400_000_000));
        let deadline = self.dice.once_in(2).then_some(self.now + within);
        let deadline = if self.prioritised { None } else { deadline };
        let priority = if self.prioritised { self.dice.below(3) as u8 } else { 0 };
        Qos { class: self.dice.below(4) as u8, priority, deadline }
    }

    fn complete(&mut self) {
        let Some(end) = self.flying.take() else { return };
        self.now = end;
        self.handle(Input::Done(DiskId(0), Tag(0), end, Outcome::Ok));
    }

    /// Cancels a request, or one that is flying or has ended.
    fn cancel(&mut self) {
        let id = RequestId(1 + self.dice.below(u64::from(self.submitted)) as u32);
        self.handle(Input::Amend(id, Change::Cancel));
    }

    /// Someone waits for a request after all, or no longer.
    fn amend(&mut self) {
        let id = RequestId(1 + self.dice.below(u64::from(self.submitted)) as u32);
        let qos = self.qos();
        self.handle(Input::Amend(id, Change::Qos(qos)));
    }

    fn handle(&mut self, input: Input) {
        self.out.clear();
        self.core.handle(self.now, input, &mut self.out);
        for action in &self.out {
            if let Action::Issue(_, _, command) = action {
                let hindered = self.dice.once_in(5);
                self.flying = Some(self.drive.serve(self.now, command, hindered));
            }
        }
    }

    fn play(&mut self) {
        for _ in 0..=self.scene.deep {
            self.submit();
        }
        for _ in 0..self.scene.steps {
            match self.dice.below(20) {
                0 => self.cancel(),
                1 | 2 if self.amends => self.amend(),
                step if step <= self.scene.keen && self.core.room() > 0 => self.submit(),
                _ => self.complete(),
            }
            if self.dice.once_in(10) && self.flying.is_none() {
                self.now += Span(self.dice.below(20_000_000));
            }
        }
        while self.flying.is_some() {
            self.complete();
        }
        assert_eq!(self.core.room(), self.scene.room);
    }
}

/// Plays scenes with one policy.
fn plays(name: &'static str, cases: u32, knobs: impl Strategy<Value = Knobs>) {
    check(cases, (scenes(), knobs, any::<bool>()), |(scene, knobs, profile)| {
        let sheet = catalogue::find(scene.drive).unwrap().sheet;
        let needs = policy::usual(name).manual().needs;
        if needs == Needs::Mimic {
            let belief = Mimic::new(sheet.mechanics.layout.blocks(), Learning::default());
            Stage::new(name, knobs, scene, &sheet, belief).play();
        } else if profile || needs == Needs::Times || name.ends_with("satf") {
            Stage::new(name, knobs, scene, &sheet, Profile::new(&sheet)).play();
        } else {
            Stage::new(name, knobs, scene, &sheet, Distance::default()).play();
        }
        Ok(())
    });
}

fn plain() -> impl Strategy<Value = Knobs> {
    Just(Knobs::default())
}

#[test]
fn satf_takes_the_least_believed_access_time_and_of_equal_ones_the_first_submitted() {
    plays("satf", 300, plain());
}

#[test]
fn asatf_takes_the_least_access_time_less_the_weighted_wait_and_past_the_limit_the_oldest() {
    let limit = prop_oneof![Just(None), (1.0..3000.0f64).prop_map(|ms| Some(Span::from_ms(ms)))];
    let weight = prop_oneof![Just(0.006), 0.0..0.2f64, Just(1.0), Just(0.0)];
    plays(
        "asatf",
        300,
        (weight, limit).prop_map(|(age_weight, age_limit)| Knobs { age_weight, age_limit, ..Knobs::default() }),
    );
}

#[test]
fn sstf_takes_the_nearest_block_and_of_equal_ones_the_first_submitted() {
    plays("sstf", 150, plain());
}

#[test]
fn fcfs_keeps_the_order_of_submission() {
    plays("fcfs", 100, plain());
}

#[test]
fn c_look_sweeps_upward_and_jumps_back_to_the_lowest() {
    plays("c-look", 150, plain());
}

#[test]
fn look_turns_where_nothing_waits_ahead() {
    plays("look", 150, plain());
}

#[test]
fn batch_look_serves_the_oldest_batch_before_any_later_request() {
    plays("batch-look", 150, (1..60u32).prop_map(|batch| Knobs { batch, ..Knobs::default() }));
}

#[test]
fn by_cylinder_as_by_block_but_ascending_on_each() {
    for name in ["look-cyl", "c-look-cyl", "sstf-cyl"] {
        plays(name, 150, plain());
    }
}

#[test]
fn what_someone_waits_for_goes_first_and_what_waited_too_long_beside_it() {
    let timeout =
        || prop_oneof![Just(None), Just(Some(Span::ZERO)), (1.0..3000.0f64).prop_map(|ms| Some(Span::from_ms(ms)))];
    for name in ["priority-1", "priority-2", "3q"] {
        plays(name, 300, timeout().prop_map(|timeout| Knobs { timeout, ..Knobs::default() }));
    }
}

#[test]
fn edf_takes_what_is_due_first_and_the_nearest_of_what_is_due_about_then() {
    let near = prop_oneof![Just(Span::ZERO), (0.1..100.0f64).prop_map(Span::from_ms)];
    let spare = prop_oneof![Just(None), Just(Some(Span::ZERO)), (1.0..400.0f64).prop_map(|ms| Some(Span::from_ms(ms)))];
    plays("edf", 200, (near, spare).prop_map(|(near, spare)| Knobs { near, spare, ..Knobs::default() }));
}

#[test]
fn smtf_takes_the_least_known_time_and_what_its_base_would_where_that_is_unknown() {
    let learn = prop::sample::select(vec![Learn::Set, Learn::Priority]);
    let base = prop::sample::select(vec![BaseOrder::Sstf, BaseOrder::CLook]);
    let learning = (any::<bool>(), any::<bool>(), 1..3u8).prop_map(|(interpolate, smooth, fewest)| Learning {
        interpolate,
        smooth,
        fewest,
        ..Learning::default()
    });
    let margin = prop::sample::select(vec![0.0, 0.1]);
    check(300, (scenes(), learn, base, learning, margin), |(scene, learn, base, learning, margin)| {
        let sheet = catalogue::find(scene.drive).unwrap().sheet;
        let beside = Beside { learn, base, margin, ..Beside::default() };
        let knobs = Knobs { beside, ..Knobs::default() };
        let belief = Mimic::new(sheet.mechanics.layout.blocks(), learning);
        Stage::new("smtf", knobs, scene, &sheet, belief).play();
        Ok(())
    });
}

/// Few enough wait to try all plans.
#[test]
fn lookahead_takes_the_first_of_the_best_plan_where_the_beam_holds_them_all() {
    let limit = prop_oneof![3 => Just(None), 1 => (50.0..3000.0f64).prop_map(|ms| Some(Span::from_ms(ms)))];
    let weight = prop::sample::select(vec![0.0, 0.002, 0.1]);
    let knobs = (1..5u32, weight, limit).prop_map(|(horizon, age_weight, age_limit)| Knobs {
        age_weight,
        age_limit,
        beam: 4096,
        horizon,
        ..Knobs::default()
    });
    let scenes = (scenes(), 0..6u64).prop_map(|(scene, deep)| Scene { deep, room: 7, keen: 14, ..scene });
    check(300, (scenes, knobs, 0..3), |(scene, knobs, belief)| {
        let sheet = catalogue::find(scene.drive).unwrap().sheet;
        let blocks = sheet.mechanics.layout.blocks();
        match belief {
            0 => Stage::new("lookahead", knobs, scene, &sheet, Distance::default()).play(),
            1 => Stage::new("lookahead", knobs, scene, &sheet, Mimic::new(blocks, Learning::default())).play(),
            _ => Stage::new("lookahead", knobs, scene, &sheet, Profile::new(&sheet)).play(),
        }
        Ok(())
    });
}

#[test]
fn yield_takes_the_greatest_average_yield() {
    let curve = prop::sample::select(vec![
        Curve::BEST_EFFORT,
        Curve::HARD,
        Curve::interactive_real_time(0.8),
        Curve::interactive_best_effort(0.1),
    ]);
    let worth = (curve, 0.0..20.0f64, any::<bool>()).prop_map(|(curve, value, whole)| Worth { curve, value, whole });
    let limit = prop_oneof![Just(None), (1.0..3000.0f64).prop_map(|ms| Some(Span::from_ms(ms)))];
    let doubling = prop_oneof![Just(None), (10.0..3000.0f64).prop_map(|ms| Some(Span::from_ms(ms)))];
    check(
        300,
        (scenes(), prop::collection::vec(worth, 0..5), limit, doubling),
        |(scene, worths, age_limit, doubling)| {
            let sheet = catalogue::find(scene.drive).unwrap().sheet;
            let beside = Beside { worths, ..Beside::default() };
            let knobs = Knobs { age_limit, doubling, beside, ..Knobs::default() };
            Stage::new("yield", knobs, scene, &sheet, Profile::new(&sheet)).play();
            Ok(())
        },
    );
}

#[test]
fn every_policy_takes_what_it_holds_and_what_its_plain_form_would() {
    // Of longer plans a beam of the usual width does not hold all.
    let knobs = Knobs { horizon: 1, ..Knobs::default() };
    // The plain forms and the laws of others' schedulers are in `peers` and `linux`.
    let others = ["mq-deadline", "bfq", "kyber", "zfs", "dmclock"];
    for name in policy::names().filter(|name| !others.contains(name)) {
        plays(name, 20, Just(knobs.clone()));
    }
}
