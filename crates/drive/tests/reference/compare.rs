//! The same commands to the reference and to the drive: each must end at the same nanosecond.

use crate::loads::{Scene, Step};
use crate::machine::{Machine, Ties};
use block::{Command, Outcome, Place, Tag, Time, Verb};
use drive::{Drive, Parts};

/// Both round angles and spans to nanoseconds, the drive up to twice on the way to an answer: so far apart two right ones
/// may be.
pub const ROUNDING: u64 = 2;

/// The first command that differs.
#[derive(Clone, Debug)]
pub struct Difference {
    pub step: usize,
    pub what: String,
    /// What the reference had met that excuses it.
    pub ties: Ties,
}

/// What a scene that agrees came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub commands: u64,
    pub worst: u64,
    /// Commands that were not equal to the nanosecond.
    pub off: u64,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.commands += other.commands;
        self.off += other.off;
        self.worst = self.worst.max(other.worst);
    }
}

/// The two drives, side by side.
struct Pair<'a> {
    scene: &'a Scene,
    drive: Drive,
    reference: Machine,
    /// Commands in both, and when each was issued.
    inside: Vec<(usize, u64)>,
    tally: Tally,
}

impl Pair<'_> {
    fn issue(&mut self, now: u64, step: usize) {
        let Step { verb, at, mark, .. } = self.scene.steps[step];
        let command = Command { verb, at, place: Place::Nowhere, mark };
        // What the drive has decided by now the reference decides too, though by its rounding it were a moment later.
        let soon = self.drive.next().is_some_and(|at| at.0 <= now + 2 * ROUNDING);
        while !soon && self.reference.next().is_some_and(|at| at <= now + ROUNDING) {
            self.reference.happen();
        }
        self.reference.issue(now, step as u32, command);
        self.drive.issue(Time(now), Tag(step as u32), command);
        self.inside.push((step, now));
    }

    /// Lets happen what happens next in the drive, and the same in the reference. When a command ended, if one did.
    fn step(&mut self) -> Result<Option<u64>, Difference> {
        self.finish().map_err(|found| Difference { ties: self.reference.all_ties(), ..found })
    }

    fn finish(&mut self) -> Result<Option<u64>, Difference> {
        let done = finish(&mut self.drive);
        let Some((end, tag, outcome, parts)) = done else { return Ok(None) };
        let i = self.inside.iter().position(|(step, _)| *step == tag.0 as usize).expect("it was issued");
        let (step, issued) = self.inside.remove(i);
        let differs = |what: String| Err(Difference { step, what, ties: Ties::default() });
        let answer = loop {
            match self.reference.take(tag.0) {
                Some(answer) => break answer,
                None if self.reference.next().is_some_and(|at| at <= end.0 + ROUNDING) => self.reference.happen(),
                None => {
                    let next = self.reference.next();
                    return differs(format!(
                        "the drive ended it after {} ns, the reference not ({next:?} against {}); {parts:?}",
                        end.0 - issued,
                        end.0
                    ));
                }
            }
        };
        let off = answer.end.abs_diff(end.0);
        self.tally.commands += 1;
        self.tally.worst = self.tally.worst.max(off);
        self.tally.off += u64::from(off > 0);
        if off > ROUNDING {
            let late = end.0 as i64 - answer.end as i64;
            let (ours, theirs) = (answer.end - issued, end.0 - issued);
            return differs(format!("the drive took {theirs} ns, the reference {ours} (drive {late:+} ns); {parts:?}"));
        }
        if (outcome == Outcome::Ok) == self.reference.given_up.contains(&tag.0) {
            return differs(format!("the drive ended it with {outcome:?}"));
        }
        if parts.total().0 != end.0 - issued {
            return differs(format!("parts do not add up to {}: {parts:?}", end.0 - issued));
        }
        let arm = parts.seek + parts.switch + parts.settle + parts.rotation + parts.transfer;
        if self.scene.steps[step].verb == Verb::Read && arm.0 == 0 && !answer.from_memory {
            return differs("answered from memory that does not hold it".into());
        }
        if self.reference.stale > 0 {
            return differs("the reference gave a stale block".into());
        }
        self.reference.adopt(answer.end, end.0);
        Ok(Some(end.0))
    }
}

/// Lets happen what the drive announced.
fn finish(drive: &mut Drive) -> Option<(Time, Tag, Outcome, Parts)> {
    drive.finish()
}

/// Runs a scene. A panic is a difference too.
pub fn compare(scene: &Scene) -> Result<Tally, Difference> {
    std::panic::catch_unwind(|| run(scene)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().cloned();
        let words = words.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
        Err(Difference { step: 0, what: format!("it panicked: {}", words.unwrap_or_default()), ties: Ties::default() })
    })
}

fn run(scene: &Scene) -> Result<Tally, Difference> {
    let sheet = scene.plan.drive("made-up").unwrap_or_else(|what| panic!("seed {}: {what}", scene.seed)).sheet;
    let drive = Drive::new(&sheet, &scene.plan.truth, scene.seed);
    let reference = Machine::new(&scene.plan, scene.seed);
    let mut pair = Pair { scene, drive, reference, inside: Vec::new(), tally: Tally::default() };
    let mut now = 0;
    for step in 0..scene.steps.len() {
        // Commands that share blocks, of which one writes, are not in a drive at once: hosts wait.
        while pair.inside.len() >= scene.depth || pair.inside.iter().any(|(other, _)| clash(scene, *other, step)) {
            now = pair.step()?.map_or(now, |end| now.max(end));
        }
        now += scene.steps[step].pause;
        while pair.drive.next().is_some_and(|at| at.0 <= now) {
            pair.step()?;
        }
        pair.issue(now, step);
    }
    while let Some(at) = pair.drive.next() {
        pair.step()?;
        now = now.max(at.0);
    }
    match pair.inside.first() {
        None => Ok(pair.tally),
        Some((step, _)) => Err(Difference { step: *step, what: "it never ends".into(), ties: Ties::default() }),
    }
}

fn clash(scene: &Scene, one: usize, other: usize) -> bool {
    let (one, other) = (scene.steps[one], scene.steps[other]);
    (one.verb.writes() || other.verb.writes()) && one.at.overlaps(other.at)
}

/// Fails with the shortest beginning of a scene that differs, in words.
pub fn report(scene: &Scene, found: &Difference) -> String {
    // Commands that can be left out without losing a difference are.
    let mut least = Scene { steps: scene.steps.clone(), ..scene.clone() };
    let mut what = found.what.clone();
    for size in [32, 8, 2, 1, 1] {
        let mut i = least.steps.len();
        while i > 0 {
            let from = i.saturating_sub(size);
            let mut fewer = least.clone();
            let gone: u64 = fewer.steps.drain(from..i).map(|step| step.pause).sum();
            if let Some(step) = fewer.steps.get_mut(from) {
                step.pause += gone;
            }
            if let Err(it) = compare(&fewer) {
                (least, what) = (fewer, format!("{}: {}", it.step, it.what));
            }
            i = from;
        }
    }
    let mut text = format!("command {} of scene HALFTURN_SEED={}: {what}\n", found.step, scene.seed);
    text += &format!("{:#?}\n", Short(&least));
    for (i, step) in least.steps.iter().enumerate() {
        let Step { pause, verb, at, mark } = step;
        text += &format!("{i:4}: after {pause:9} ns {verb:?} {} +{} {mark:?}\n", at.start.0, at.blocks);
    }
    text
}

/// A drive without what its layout says at length.
struct Short<'a>(&'a Scene);

impl std::fmt::Debug for Short<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plan = &self.0.plan;
        let layout = &plan.layout;
        let rows: Vec<String> = layout.zones.iter().take(3).map(|zone| format!("{zone:?}")).collect();
        f.write_fmt(format_args!(
            "{} rpm, {} heads, {:?}, sectors of {} blocks, {:?}, {} zones, depth {}\n  {}\n",
            plan.rpm,
            layout.heads,
            layout.order,
            layout.sector_blocks,
            layout.sparing,
            layout.zones.len(),
            self.0.depth,
            rows.join("\n  ")
        ))?;
        f.write_fmt(format_args!("{:?}\n{:?}\n{:?}\n{:?}\n", plan.access, plan.switches, plan.overheads, plan.bus))?;
        f.write_fmt(format_args!("{:?}\n{:?}\n{:?}", plan.cache, plan.queue, plan.seek))
    }
}
