//! Where a predictor takes the head to be after requests it only thought of is where it is once they were served.

use crate::toy::{Dice, ToyDrive};
use block::{Command, Direction, Extent, Outcome, Place, Span, Time, Verb};
use disk::{After, Bus, Sheet, catalogue};
use sched::predict::mimic::Learning;
use sched::predict::{Distance, Mimic, Predictor, Profile};

/// Serves random pairs of requests and holds what a third costs from the head that was foreseen against what it costs then;
/// gives the largest difference in ticks, in revolutions where a turn has ticks.
fn farthest<P: Predictor>(sheet: &Sheet, mut belief: P) -> f64 {
    let (mut drive, mut dice) = (ToyDrive::new(sheet, 12345), Dice(7));
    let blocks = sheet.mechanics.layout.blocks();
    let turn = belief.ticks(sheet.mechanics.rotation.period());
    let mut now = Time(1_000_000);
    let mut farthest = 0;
    for i in 0..400u32 {
        let mut serve = |belief: &mut P, verb: Verb, at: Extent| {
            let command = Command::new(verb, at, Place::Nowhere);
            belief.note_issue(now, &command, belief.spot(at));
            now = drive.serve(now, &command, false);
            belief.note_completion(now, &command, Outcome::Ok);
            now
        };
        // Near one another at times, and across tracks.
        let near = dice.below(blocks - 20_000);
        let mut extent = || {
            let start = if i % 2 == 0 { dice.below(blocks - 20_000) } else { near + dice.below(9000) };
            Extent::new(start, 1 + [dice.below(8), dice.below(900)][usize::from(dice.once_in(4))] as u32)
        };
        let ats = [extent(), extent(), extent(), extent()];
        let verbs = [(); 3].map(|()| if dice.once_in(3) { Verb::Write { fua: true } } else { Verb::Read });
        let started = serve(&mut belief, verbs[0], ats[0]);
        let (mut head, _) = belief.head(started);
        for (verb, at) in verbs.iter().zip(ats).skip(1) {
            (head, _) = belief.head_after(&head, at, belief.spot(at), verb.direction());
        }
        let then = (1..3).fold(started, |_, i| serve(&mut belief, verbs[i], ats[i]));
        let spot = belief.spot(ats[3]);
        let cost = |head: &P::Head| belief.cost(head, belief.key(spot), belief.mark(spot), Direction::Read);
        let (foreseen, found) = (cost(&head), cost(&belief.head(then).0));
        // A sector just missed comes by a revolution later.
        let off = foreseen.abs_diff(found);
        if i > 20 {
            farthest = farthest.max(if turn > 0 { off.min(off.abs_diff(turn)) } else { off });
        }
    }
    farthest as f64 / turn.max(1) as f64
}

/// The toy sends what it reads as it passes.
fn sheet(model: &str) -> Sheet {
    let mut sheet = catalogue::find(model).unwrap().sheet;
    sheet.bus = Bus { mb_s: Some(600.0), ..Bus::default() };
    (sheet.overheads.reselect, sheet.overheads.done) = (Span::ZERO, After::default());
    sheet
}

#[test]
fn the_profile_foresees_where_the_head_will_be() {
    for model in ["atlas10k", "st318437lw", "mimic-base", "nl20", "lxt-535sy"] {
        let sheet = sheet(model);
        let off = farthest(&sheet, Profile::new(&sheet));
        println!("{model}: off by {off:.6} revolutions at most");
        assert!(off < 0.001, "{model}: {off} revolutions");
    }
}

#[test]
fn distance_and_the_mimic_foresee_where_the_arm_will_be() {
    let sheet = sheet("atlas10k");
    let blocks = sheet.mechanics.layout.blocks();
    assert_eq!(farthest(&sheet, Distance::default()), 0.0);
    let learning = Learning { on: false, ..Learning::default() };
    assert_eq!(farthest(&sheet, Mimic::new(blocks, learning)), 0.0);
}

/// What had passed comes when the bus is through with it, wherever the spindle then is.
#[test]
fn what_was_read_ahead_tells_nothing_of_the_turn() {
    let mut sheet = sheet("atlas10k");
    // A little faster than the medium: such an answer comes about when the medium would have had it.
    sheet.bus.mb_s = Some(30.0);
    sheet.overheads.hit = sheet.overheads.read;
    let (mut drive, mut belief, mut dice) = (ToyDrive::new(&sheet, 12345), Profile::new(&sheet), Dice(7));
    let blocks = sheet.mechanics.layout.blocks();
    let mut now = Time(1_000_000);
    let read = |start: u64| Command::new(Verb::Read, Extent::new(start, 32), Place::Nowhere);
    for round in 0..60 {
        let command = read(dice.below(blocks - 10_000));
        belief.note_issue(now, &command, belief.spot(command.at));
        let expected = belief.completion_time();
        let done = drive.serve(now, &command, false);
        let off = expected.map_or(Span::ZERO, |expected| done.since(expected).max(expected.since(done)));
        assert!(round < 20 || off < Span(50_000), "round {round}: off by {off:?}");
        belief.note_completion(done, &command, Outcome::Ok);
        now = done + Span(20_000_000);
        for further in 1..6 {
            let command = read(command.at.start.0 + 32 * further);
            let took = belief.follow_on(now, command.at);
            belief.note_issue(now, &command, belief.spot(command.at));
            drive.serve(now, &command, false);
            belief.note_completion(now + took, &command, Outcome::Ok);
            now += took + Span(1_000_000 + dice.below(5_000_000));
        }
    }
}
