//! One replication of an experiment in virtual time: its devices, its core, and what asks them, played to the end.

use crate::able::ABLE;
use crate::arms::Arms;
use crate::camera::Camera;
use crate::drives::{Drives, Measured, Stop};
use crate::learned::{self, Before};
use crate::moves::Moves;
use crate::oracle::Oracle;
use crate::replication::{ArrivalCounts, Replication};
use crate::tell::{Tell, UNTOLD};
use crate::trial;
use crate::unit::{Unit, unit};
use block::{At, BadInput, Caps, Time};
use disk::Sheet;
use drive::{Drive, Machine};
use load::Mix;
use load::experiment::{Experiment, Predictor as Choice};
use load::schedule::{self, Abilities, Ability, BuiltCore, CoreMaking, CoreTaker, Device, Knowledge};
use sched::plan::Plan;
use sched::planner::Wish;
use sched::{Scheduler, play};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What is said of results that the oracle had a part in.
const BOUND: &str = "rests on perfect knowledge of the drive (predictor = \"oracle\"): a bound";
const NO_BOUND: &str = "rests on perfect knowledge of the drive's mechanics (predictor = \"oracle\"), but is no bound: there are \
    writes, and what they leave in the drive's buffer for later is not weighed";

/// What sets the seeds of the disks of an array apart.
const APART: u64 = 0xD1B5_4A32_D192_ED03;

/// Whether an experiment can be simulated, as far as its core and its device go.
///
/// # Errors
/// What [`replicate`] would refuse.
pub fn check(experiment: &Experiment) -> Result<(), BadInput> {
    schedule::check(experiment, &Device::of(&experiment.drive)?, ABLE).map(|_| ())
}

/// Simulates one replication of an experiment; `tell` is told from time to time how many more requests ended.
///
/// # Errors
/// Bad input: an unknown drive, a workload that does not fit it, a trace that cannot be read.
pub fn replicate(
    experiment: &Experiment,
    replication: u32,
    tell: &(dyn Fn(u64) + Sync),
) -> Result<Replication, BadInput> {
    let tell = |count| {
        tell(count);
        ControlFlow::Continue(())
    };
    stage(experiment, &learned::before(experiment)?, replication, &tell, None)
}

/// The same, with what was learned before; with a camera, only as far as that looks.
pub(crate) fn stage(
    experiment: &Experiment,
    before: &Before,
    replication: u32,
    tell: Tell,
    camera: Option<Camera>,
) -> Result<Replication, BadInput> {
    if experiment.drive.model.is_empty() {
        check(experiment)?;
    }
    let seed = experiment.run.seed_of(replication);
    let (mut disks, mut others) = (Vec::new(), Vec::new());
    let (mut sheets, mut device) = (Vec::new(), Device::Unknown);
    let array = experiment.array.as_ref();
    for i in 0..array.map_or(1, |array| array.places()) {
        let choice = array.map_or(&experiment.drive, |array| array.member(i.into(), &experiment.drive));
        // Each of an array has a phase and noise of its own.
        match unit(choice, seed.wrapping_add(u64::from(i).wrapping_mul(APART)))? {
            Unit::Disk(sheet, drive) => {
                sheets.push(Arc::new(*sheet));
                disks.push(*drive);
            }
            Unit::Other(other, drive) => {
                device = Device::Other(other.name);
                others.push(drive);
            }
        }
    }
    if let (Some(sheet), true) = (sheets.first(), others.is_empty()) {
        device = Device::Disk(Arc::clone(sheet));
    }
    if !disks.is_empty() && !others.is_empty() {
        let mend = "make an array of disks alone, or of devices of another kind alone";
        return Err(BadInput::new(&*experiment.file, At::File, "disks and other devices in one array", mend));
    }
    let sheets = if array.is_some_and(|array| !array.members.is_empty()) { sheets } else { Vec::new() };
    let play = Play { experiment, before, seed, tell };
    match disks.is_empty() {
        true => play.on(others, device, sheets, camera),
        false => play.on(disks, device, sheets, camera),
    }
}

/// What a replication is played with, whatever its devices are.
#[derive(Clone, Copy)]
struct Play<'a> {
    experiment: &'a Experiment,
    before: &'a Before,
    seed: u64,
    tell: Tell<'a>,
}

impl Play<'_> {
    /// Plays it on these drives; of disks unlike one another each has its own sheet.
    fn on<M: Staged>(
        self,
        drives: Vec<M>,
        device: Device,
        sheets: Vec<Arc<Sheet>>,
        camera: Option<Camera>,
    ) -> Result<Replication, BadInput> {
        let Play { experiment, before, seed, tell } = self;
        let blocks = drives.first().map_or(0, |drive| drive.caps().blocks);
        let mut known = Knowledge::of_file(experiment, device, blocks)?.of_each(sheets);
        before.add_to(&mut known);
        let assumed = known.device.sheet().and_then(|sheet| sheet.unmeasured.assumption());
        let sheet = known.device.sheet().and(known.believed.sheet.as_deref());
        let scene = Scene { experiment, before, sheet, drives, seed, tell, camera };
        let mut replication = scene.play(&known)?;
        before.tell(&known, &mut replication);
        replication.notes.extend(assumed);
        replication.notes.extend(experiment.notes_of_unheeded());
        if experiment.scheduler.predictor == Some(Choice::Oracle) {
            replication.bound = Some(!replication.wrote);
            replication.notes.push(if replication.wrote { NO_BOUND } else { BOUND }.into());
        }
        Ok(replication)
    }
}

/// A device, and by which loop it is played.
trait Staged: Machine + Sized {
    /// Plays a scene by a core, or an array, of whichever type.
    fn play(scene: Scene<'_, Self>, making: CoreMaking<'_>) -> Result<Replication, BadInput> {
        scene.play_any(making.with_known()?)
    }
}

impl Staged for Drive {
    /// What is simulated most is played by a loop made for its core, and by no other: all loops together take half a minute to build.
    fn play(scene: Scene<'_, Drive>, making: CoreMaking<'_>) -> Result<Replication, BadInput> {
        let is_load = !scene.experiment.has_processes();
        if is_load && making.is_one() {
            return making.with_one(scene);
        }
        if is_load && making.is_array_of_profiles() {
            return making.with_profiles(scene);
        }
        let built = making.with_perfect(|disk| scene.drives.get(disk).cloned().map(Oracle::new))?;
        scene.play_any(built)
    }
}

impl Staged for Box<dyn Machine> {}

/// Everything a replication needs but its core.
struct Scene<'a, M> {
    experiment: &'a Experiment,
    before: &'a Before,
    /// What is believed of the drive's mechanics, if it is a disk.
    sheet: Option<&'a Sheet>,
    /// The drive, or those of the array.
    drives: Vec<M>,
    seed: u64,
    tell: Tell<'a>,
    camera: Option<Camera>,
}

impl<M: Machine> Abilities for Scene<'_, M> {
    fn able(&self) -> &'static [Ability] {
        ABLE
    }

    fn caps(&self, disk: usize) -> Caps {
        self.drives[disk].caps()
    }

    fn pick(&self, sheet: &Sheet, base: Plan, wish: Wish) -> Result<(Plan, String), BadInput> {
        let measure = |trial: &Experiment| Ok(stage(trial, self.before, 0, UNTOLD, None)?.meter);
        trial::pick(self.experiment, sheet, base, wish, &measure)
    }

    fn records(&self) -> bool {
        matches!(self.camera, Some(Camera::Ledger(_)))
    }
}

impl CoreTaker for Scene<'_, Drive> {
    type Output = Replication;

    fn take_core<C: Scheduler>(self, built: BuiltCore<C>) -> Result<Replication, BadInput> {
        let mix = Mix::new(self.experiment, self.seed, built.blocks)?;
        self.serve(built.core, mix, built.notes)
    }
}

impl<M: Staged> Scene<'_, M> {
    /// Plays it by the core that its experiment asks for.
    fn play(self, known: &Knowledge) -> Result<Replication, BadInput> {
        let making = CoreMaking::new(self.experiment, known, &self)?;
        M::play(self, making)
    }
}

impl<M: Machine> Scene<'_, M> {
    /// Whether only a piece of the run is looked at.
    fn is_brief(&self) -> bool {
        self.camera.as_ref().is_some_and(Camera::is_brief)
    }

    /// Asks what the experiment asks, of a core of whichever type.
    fn play_any(self, built: BuiltCore) -> Result<Replication, BadInput> {
        let BuiltCore { core, blocks, notes } = built;
        if self.experiment.has_processes() {
            let machine = flow::machine(self.experiment, self.seed, blocks)?;
            let system = flow::ProcessSystem::new(self.experiment, machine, self.seed);
            return self.serve(core, system, notes);
        }
        let mix = Mix::new(self.experiment, self.seed, blocks)?;
        self.serve(core, mix, notes)
    }

    /// Serves a load to the end.
    fn serve<C: Scheduler, L: Measured>(
        self,
        mut core: C,
        load: L,
        story: Vec<String>,
    ) -> Result<Replication, BadInput> {
        let plan = &self.experiment.run;
        let filmed = matches!(self.camera, Some(Camera::Film(_)));
        let whole = Stop { after: plan.duration, requests: plan.requests };
        let stop = if filmed { Stop::default() } else { whole };
        let moves = self.sheet.filter(|_| self.experiment.has_processes()).map(|sheet| Moves::new(&sheet.mechanics));
        let load = match &self.camera {
            Some(Camera::Reel(reel)) => load.with_pictures(reel.scope),
            _ => load,
        };
        let timed = self.experiment.scheduler.rules.plan.is_some_and(|plan| plan.jit);
        let arms = self.sheet.filter(|_| timed && self.drives.len() == 1 && !self.is_brief());
        let arms = arms.map(|sheet| Arms::new(&sheet.mechanics));
        let told = arms.as_ref().map(Arms::share_belief);
        let world = Drives::new(self.drives, load, stop, self.tell, self.camera).following(moves, arms);
        let mut world = world.with_host(plan.host, self.seed);
        if self.experiment.scheduler.rules.bills {
            world = world.billing();
        }
        for failure in self.experiment.array.iter().flat_map(|array| &array.fails) {
            world.fail(*failure);
        }
        let weight = world.weight();
        // One loop for all, as it is long: everything is inlined into it.
        let go_on = |core: &mut C, world: &mut _| {
            play(core, world, |core: &C| match &told {
                Some(told) => told.set(core.arrival()),
                None if filmed => weight.set(core.weight()),
                None => {}
            });
        };
        if world.settles() {
            core.count_from(Time::NEVER);
            go_on(&mut core, &mut world);
            core.count_from(world.begin());
        } else {
            core.count_from(Time::ZERO + plan.warmup);
        }
        go_on(&mut core, &mut world);
        // What is followed beyond the measured time has no part in these.
        let mut counts = ArrivalCounts {
            tally: core.tally(),
            fill: core.fill(),
            cached: core.cache_tally(),
            effort: core.effort(),
            memory: core.memory(),
            demerit: core.demerit(),
            grasp: core.pulse().grasp,
            lost: 0,
            floors: core.floors(),
            kept: core.time_kept().to_vec(),
            limit: self.experiment.scheduler.queue,
        };
        if world.close() {
            go_on(&mut core, &mut world);
        }
        counts.lost = core.requests_lost();
        Ok(counts.join(world.finish()?, story))
    }
}

#[cfg(test)]
mod tests;
