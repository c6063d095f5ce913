//! What processes do: the compression of large files, processes made up of chances, and those of a recorded machine.

mod compression;
mod synthetic;

pub use compression::Compression;
pub use synthetic::Synthetic;

use crate::process::{ProcessStep, Program};
use crate::recorded;
use crate::setup::MachineSetup;
use block::{BadInput, Span, Time};
use load::Draw;
use load::experiment::{Experiment, Kind};

/// The machine of an experiment and its processes, in the replication with this seed, on a device of `blocks` blocks.
///
/// # Errors
/// When a recording cannot be read, or what is asked for does not fit the device.
pub fn machine(experiment: &Experiment, seed: u64, blocks: u64) -> Result<MachineSetup, BadInput> {
    let plan = experiment.system;
    if let Some(Kind::Recorded(recorded)) = experiment.workloads.first().map(|workload| &workload.kind) {
        return recorded::machine(recorded, plan, blocks);
    }
    Ok(MachineSetup::new(plan, programs(experiment, seed, blocks)?))
}

/// The processes of an experiment that are made up.
fn programs(experiment: &Experiment, seed: u64, blocks: u64) -> Result<Vec<Box<dyn Program>>, BadInput> {
    let mut programs: Vec<Box<dyn Program>> = Vec::new();
    let mut cached = false;
    for (i, what) in experiment.workloads.iter().enumerate() {
        match &what.kind {
            Kind::Compression(plan) => {
                cached = true;
                for process in 0..plan.processes {
                    let draw = Draw::new(seed, (i as u64) << 32 | u64::from(process));
                    let key = programs.len() as u32;
                    let program = Compression::new(&what.name, *plan, (process, key), blocks, draw);
                    programs.push(Box::new(program.map_err(|error| what.place(&experiment.file, error))?));
                }
            }
            Kind::Processes(plan) => {
                for process in 0..plan.processes {
                    let draw = Draw::new(seed, (i as u64) << 32 | u64::from(process));
                    let key = programs.len() as u32;
                    let program = Synthetic::new(&what.name, plan, (process, key, i as u32), blocks, draw);
                    programs.push(Box::new(program.map_err(|error| what.place(&experiment.file, error))?));
                }
            }
            _ => {}
        }
    }
    if cached {
        let plan = experiment.system;
        programs.push(Box::new(Daemon { every: plan.flush_every, parts: plan.flush_parts, slept: false }));
    }
    Ok(programs)
}

/// Writes dirty pages out, some of the cache at a time.
struct Daemon {
    every: Span,
    parts: u32,
    slept: bool,
}

impl Program for Daemon {
    fn next(&mut self, _: Time) -> ProcessStep {
        self.slept = !self.slept;
        if self.slept { ProcessStep::Pause { span: self.every } } else { ProcessStep::Flush { parts: self.parts } }
    }

    fn counts(&self) -> bool {
        false
    }

    fn name(&self) -> &str {
        "flush daemon"
    }
}
