//! Scenes: a drive by chance under a load by chance.

use crate::dice::Dice;
use crate::kinds::{Level, drive};
use block::{Extent, Mark, Verb};
use disk::DrivePlan;

#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// From when it could be issued until it is.
    pub pause: u64,
    pub verb: Verb,
    pub at: Extent,
    pub mark: Mark,
}

#[derive(Clone, Debug)]
pub struct Scene {
    pub seed: u64,
    pub plan: DrivePlan,
    /// Commands in the drive at once.
    pub depth: usize,
    pub steps: Vec<Step>,
}

/// How a load goes about it.
struct Habits {
    sequential: u64,
    near: u64,
    again: u64,
    writes: u64,
    fua: u64,
    pauses: u64,
    longest: u64,
    sizes: [u32; 3],
    align: u64,
}

/// The scene of a seed.
pub fn scene(seed: u64, level: Level) -> Scene {
    let mut dice = Dice(seed);
    let plan = drive(&mut dice, level);
    let blocks = crate::machine::capacity(&plan);
    let depth = dice.from(1, u64::from(plan.queue.depth)) as usize;
    let sizes = [1, 2, 7, 8, 16, 64, 128, 300, 1000];
    let habits = Habits {
        sequential: dice.one_of(&[0, 20, 50, 80, 95]),
        near: dice.one_of(&[0, 10, 40]),
        again: dice.one_of(&[0, 10, 40]),
        writes: dice.one_of(&[0, 10, 50, 90, 100]),
        fua: dice.one_of(&[0, 0, 10, 50]),
        pauses: dice.one_of(&[0, 0, 10, 50, 100]),
        longest: dice.one_of(&[100_000, 1_000_000, 10_000_000, 60_000_000]),
        sizes: [dice.one_of(&sizes[..5]), dice.one_of(&sizes[..7]), dice.one_of(&sizes)],
        align: dice.one_of(&[1, 1, 8]),
    };
    let count = dice.one_of(&[4, 12, 30, 60, 120, 200]);
    let mut steps = load(&mut dice, &habits, blocks, &plan, count);
    if level == Level::Marked {
        mark(&mut dice, &mut steps);
    }
    Scene { seed, plan, depth, steps }
}

fn load(dice: &mut Dice, habits: &Habits, blocks: u64, plan: &DrivePlan, count: usize) -> Vec<Step> {
    let streams = dice.from(1, 4) as usize;
    let mut cursors: Vec<u64> = (0..streams).map(|_| dice.below(blocks)).collect();
    let mut steps: Vec<Step> = Vec::new();
    let most = match plan.cache.write_buffer {
        0 => blocks / 2,
        buffer => (blocks / 2).min(u64::from(buffer)),
    };
    for _ in 0..count {
        let size = u64::from(dice.one_of(&habits.sizes)).min(most).max(1);
        let last = steps.last().map_or(0, |step| step.at.start.0);
        let kind = dice.below(100);
        let stream = dice.below(streams as u64) as usize;
        let start = if kind < habits.sequential {
            cursors[stream]
        } else if dice.percent(habits.near) {
            (last + dice.below(3000)).saturating_sub(1500)
        } else if dice.percent(habits.again) && !steps.is_empty() {
            let before = steps[dice.below(steps.len() as u64) as usize].at;
            (before.start.0 + dice.below(2 * u64::from(before.blocks) + 1)).saturating_sub(dice.below(20))
        } else {
            dice.below(blocks)
        };
        let start = start.min(blocks - size) / habits.align * habits.align;
        if kind < habits.sequential {
            cursors[stream] = if start + 2 * size >= blocks { dice.below(blocks / 2) } else { start + size };
        }
        let verb = match dice.below(100) {
            it if it < habits.writes => Verb::Write { fua: dice.percent(habits.fua) },
            _ if dice.percent(2) => dice.one_of(&[Verb::Flush, Verb::Seek]),
            _ => Verb::Read,
        };
        let pause = if dice.percent(habits.pauses) { dice.below(habits.longest) } else { 0 };
        steps.push(Step { pause, verb, at: Extent::new(start, size as u32), mark: Mark::Plain });
    }
    steps
}

/// Some of the commands ask for something, flushes and seeks nothing.
fn mark(dice: &mut Dice, steps: &mut [Step]) {
    let (share, kinds) = (dice.one_of(&[5, 30, 100]), dice.one_of(&[1, 2, 8]));
    for step in steps.iter_mut().filter(|step| step.verb.transfers()) {
        if dice.percent(share) {
            step.mark = Mark::from_code(dice.from(1, kinds) as u8).unwrap_or_default();
        }
    }
}
