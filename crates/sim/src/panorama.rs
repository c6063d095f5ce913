//! What went on in a run for a while: each process, each processor, and each disk, command by command.

use crate::camera::Camera;
use crate::learned::knowledge;
use crate::simulate::stage;
use crate::timeline::{Steps, Timeline};
use block::{BadInput, Command, Place, RequestId, Tag, Time};
use drive::Parts;
use flow::{Picture, PictureScope};
use load::experiment::{Case, Experiment};
use rayon::prelude::*;

/// So many pieces, on average, are drawn of a command.
const PIECES: usize = 6;

/// A while of a run.
#[derive(Clone, Debug)]
pub struct Panorama {
    /// From then on.
    pub from: Time,
    /// Until then.
    pub to: Time,
    /// Whether more went on by then than is kept.
    pub cut: bool,
    /// Processes and processors, where there are any.
    pub machine: Option<Picture>,
    /// The commands of each disk that were under way then.
    pub disks: Vec<Timeline>,
}

/// Runs the first replication of an experiment as far as the scope reaches.
///
/// # Errors
/// As [`crate::replicate`].
pub fn panorama(experiment: &Experiment, scope: PictureScope) -> Result<Panorama, BadInput> {
    let camera = Camera::Reel(Reel::new(scope));
    let stage = stage(experiment, knowledge(experiment)?, 0, &|_| (), Some(camera))?;
    let (Some(Camera::Reel(reel)), machine, end) = (stage.camera, stage.picture, stage.end) else {
        unreachable!("it was put in")
    };
    let to = machine.as_ref().map_or(Time::NEVER, |machine| machine.to).min(reel.scope.to).min(end);
    let cut = machine.as_ref().is_some_and(|machine| machine.cut) || reel.cut;
    let disks = reel.disks.into_iter().map(|steps| {
        let mut steps = steps.ended();
        steps.retain(|step| step.issued < to);
        let (begins, ends, weights) = (Vec::new(), Vec::new(), Vec::new());
        Timeline { from: scope.from, steps, own_until: to, begins, ends, weights }
    });
    Ok(Panorama { from: scope.from, to, cut, machine, disks: disks.collect() })
}

/// The panorama of each of these cases.
///
/// # Errors
/// The first bad input met, in the order of the cases.
pub fn panoramas(cases: &[Case], scope: PictureScope) -> Result<Vec<Panorama>, BadInput> {
    let done: Vec<_> = cases.par_iter().map(|case| panorama(&case.experiment, scope)).collect();
    done.into_iter().collect()
}

/// The disks' part of it, in the making.
#[derive(Clone, Debug)]
pub(crate) struct Reel {
    pub(crate) scope: PictureScope,
    cut: bool,
    disks: Vec<Steps>,
    /// Commands kept, and those of them that are under way.
    kept: usize,
    under_way: usize,
    /// The number of the request in each slot.
    numbers: Vec<u32>,
    submitted: u32,
}

impl Reel {
    fn new(scope: PictureScope) -> Reel {
        Reel { scope, cut: false, disks: Vec::new(), kept: 0, under_way: 0, numbers: Vec::new(), submitted: 0 }
    }

    pub(crate) fn submitted(&mut self, id: RequestId) {
        let slot = id.0 as usize;
        self.numbers.resize(self.numbers.len().max(slot + 1), 0);
        self.submitted += 1;
        self.numbers[slot] = self.submitted;
    }

    pub(crate) fn issued(&mut self, now: Time, disk: usize, tag: Tag, command: Command, own_until: Time) {
        if now >= self.scope.to {
            return;
        }
        if self.kept >= self.scope.most / PIECES {
            (self.scope.to, self.cut) = (now, true);
            return;
        }
        let request = match command.place {
            Place::Request(id, _) => self.numbers.get(id.0 as usize).copied(),
            Place::Nowhere | Place::Frame(..) => None,
        };
        self.disks.resize(self.disks.len().max(disk + 1), Steps::default());
        self.disks[disk].issued(now, tag, command, own_until, request);
        (self.kept, self.under_way) = (self.kept + 1, self.under_way + 1);
    }

    pub(crate) fn done(&mut self, now: Time, disk: usize, tag: Tag, parts: Parts) {
        let Some(steps) = self.disks.get_mut(disk) else { return };
        if steps.done(now, tag, parts) {
            self.under_way -= 1;
            // What was over before it begins is not shown.
            if now <= self.scope.from {
                self.kept -= steps.forget();
            }
        }
    }

    pub(crate) fn is_over(&self, now: Time, until: Option<Time>) -> bool {
        now > until.unwrap_or(Time::NEVER).min(self.scope.to) && self.under_way == 0
    }
}
