//! A load in a closed loop on one drive.

use crate::dice::Dice;
use block::{Command, Extent, Outcome, Place, Span, Tag, Time, Verb};
use disk::{Sheet, Truth};
use drive::{Account, Drive, Parts};

/// A load: how often each verb, how sequential, how large, how many.
#[derive(Clone, Debug)]
pub struct Load {
    pub verbs: [(Verb, u64); 4],
    pub sequential: u64,
    pub sizes: [u32; 3],
    pub commands: usize,
}

/// What came of it.
pub struct Run {
    pub drive: Drive,
    pub now: Time,
    pub ended: usize,
    pub ends: Vec<(Time, Parts)>,
    pub longest: Span,
    /// Commands whose parts do not add up, and completions before one that was told already.
    pub apart: usize,
    pub backwards: usize,
    pub account: Account,
    /// How many were in the drive, over time, and how long all of them took.
    pub inside: u128,
    pub responses: Span,
}

/// The time of one command.
pub fn command(drive: &mut Drive, now: Time, verb: Verb, (start, blocks): (u64, u32)) -> Span {
    drive.issue(now, Tag(0), Command::new(verb, Extent::new(start, blocks), Place::Nowhere));
    drive.complete().0.since(now)
}

pub fn play(sheet: &Sheet, seed: u64, depth: usize, load: &Load, dice: &mut Dice) -> Run {
    let drive = Drive::new(sheet, &Truth::default(), seed);
    let mut run = Run {
        drive,
        now: Time::ZERO,
        ended: 0,
        ends: Vec::new(),
        longest: Span::ZERO,
        apart: 0,
        backwards: 0,
        account: Account::default(),
        inside: 0,
        responses: Span::ZERO,
    };
    let blocks = sheet.mechanics.layout.blocks();
    let mut cursor = dice.below(blocks);
    let (mut issued, mut inside): (usize, Vec<(u32, Time)>) = (0, Vec::new());
    loop {
        while inside.len() < depth && issued < load.commands {
            let (verb, at) = next(load, dice, blocks, &mut cursor);
            run.drive.issue(run.now, Tag(issued as u32), Command::new(verb, at, Place::Nowhere));
            inside.push((issued as u32, run.now));
            issued += 1;
        }
        let Some(at) = run.drive.next() else { break };
        run.inside += inside.len() as u128 * u128::from(at.since(run.now).0);
        run.backwards += usize::from(at < run.now);
        run.now = run.now.max(at);
        let Some((end, tag, outcome, parts)) = run.drive.finish() else { continue };
        let Some(i) = inside.iter().position(|(it, _)| *it == tag.0) else { break };
        let took = end.since(inside.remove(i).1);
        run.apart += usize::from(parts.total() != took || end != at);
        run.longest = run.longest.max(took);
        run.responses += took;
        run.ended += usize::from(outcome == Outcome::Ok);
        run.ends.push((end, parts));
    }
    run.account = run.drive.take_account(run.now);
    run
}

fn next(load: &Load, dice: &mut Dice, blocks: u64, cursor: &mut u64) -> (Verb, Extent) {
    let size = u64::from(dice.one_of(&load.sizes)).min(blocks / 4).max(1);
    let all: u64 = load.verbs.iter().map(|(_, share)| share).sum();
    let mut chosen = dice.below(all.max(1));
    let verb = load.verbs.iter().find(|(_, share)| {
        let found = chosen < *share;
        chosen = chosen.saturating_sub(*share);
        found
    });
    let start = if dice.percent(load.sequential) { *cursor } else { dice.below(blocks) };
    let start = if start + size > blocks { 0 } else { start };
    *cursor = start + size;
    (verb.map_or(Verb::Read, |(verb, _)| *verb), Extent::new(start, size as u32))
}
