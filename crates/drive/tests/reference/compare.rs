//! The same commands to the reference and to the drive: each must end at the same nanosecond.

use crate::loads::{Scene, Step};
use crate::machine::Machine;
use block::{Command, Place, Tag, Time, Verb};
use drive::Drive;

/// Both round each angle to a nanosecond, once each; so far apart two right answers may be.
pub const ROUNDING: u64 = 2;

/// The first command that differs.
#[derive(Clone, Debug)]
pub struct Difference {
    pub step: usize,
    pub what: String,
}

/// What a scene that agrees came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub commands: u64,
    pub worst: u64,
    /// Commands that were not equal to the nanosecond.
    pub off: u64,
}

/// Runs the first `count` commands of a scene.
pub fn compare(scene: &Scene, count: usize) -> Result<Tally, Difference> {
    let sheet = scene.plan.drive("made-up").unwrap_or_else(|what| panic!("seed {}: {what}", scene.seed)).sheet;
    let mut drive = Drive::new(&sheet, &scene.plan.truth, scene.seed);
    let mut reference = Machine::new(&scene.plan, scene.seed);
    let (mut now, mut tally) = (0, Tally::default());
    for (i, Step { pause, verb, at }) in scene.steps.iter().take(count).enumerate() {
        now += pause;
        drive.issue(Time(now), Tag(i as u32), Command { verb: *verb, at: *at, place: Place::Nowhere });
        let (end, _, _, parts) = drive.finish();
        let answer = reference.serve(now, *verb, *at);
        let differs = |what: String| Err(Difference { step: i, what });
        let off = answer.end.abs_diff(end.0);
        tally.commands += 1;
        tally.worst = tally.worst.max(off);
        tally.off += u64::from(off > 0);
        if off > ROUNDING {
            let late = end.0 as i64 - answer.end as i64;
            return differs(format!(
                "the drive took {} ns, the reference {} (drive {late:+} ns); parts {parts:?}",
                end.0 - now,
                answer.end - now
            ));
        }
        if parts.total().0 != end.0 - now {
            return differs(format!("parts do not add up to {}: {parts:?}", end.0 - now));
        }
        let arm = parts.seek + parts.switch + parts.settle + parts.rotation + parts.transfer;
        if *verb == Verb::Read && arm.0 == 0 && !answer.from_memory {
            return differs("answered from memory that does not hold it".into());
        }
        if reference.stale > 0 {
            return differs("the reference gave a stale block".into());
        }
        reference.adopt(answer.end, end.0);
        now = end.0;
    }
    Ok(tally)
}

/// Fails with the shortest beginning of a scene that differs, in words.
pub fn report(scene: &Scene, found: &Difference) -> String {
    // Commands that can be left out without losing the difference are.
    let mut least = Scene { steps: scene.steps[..=found.step].to_vec(), ..scene.clone() };
    let mut what = found.what.clone();
    let mut i = least.steps.len().saturating_sub(1);
    while i > 0 {
        i -= 1;
        let mut fewer = least.clone();
        let gone = fewer.steps.remove(i);
        fewer.steps[i].pause += gone.pause;
        let kept = compare(&fewer, fewer.steps.len()).err();
        if let Some(it) = kept.filter(|it| it.step + 1 == fewer.steps.len()) {
            (least, what) = (fewer, it.what);
        }
    }
    let mut text = format!("command {} of scene HALFTURN_SEED={}: {what}\n", found.step, scene.seed);
    text += &format!("{:#?}\n", Short(&least));
    for (i, step) in least.steps.iter().enumerate() {
        let Step { pause, verb, at } = step;
        text += &format!("{i:4}: after {pause:9} ns {verb:?} {} +{}\n", at.start.0, at.blocks);
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
