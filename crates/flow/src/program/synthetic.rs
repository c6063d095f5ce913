//! A process made up of chances: it computes, asks, and waits at once, later or never (the synthetic workloads of DiskSim).

use crate::process::{ProcessStep, Program};
use crate::requests::Criticality;
use block::{BadInput, Time};
use load::Draw;
use load::experiment::ProcessPlan;
use load::workload::Addresses;

/// What it is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SyntheticStage {
    Compute,
    Lock,
    Ask,
    /// Waits for what it asked for.
    Await,
    /// Computes until it needs what it asked for.
    Think,
    /// Sees what it asked for end, which it does not need.
    Watch,
    Unlock,
}

/// A process that repeats one pattern of computing and I/O.
pub struct Synthetic {
    name: String,
    plan: ProcessPlan,
    addresses: Addresses,
    draw: Draw,
    key: u32,
    /// The lock of its workload, and whether it has it or is about to.
    lock: u32,
    locks: bool,
    stage: SyntheticStage,
    asked: u64,
}

impl Synthetic {
    /// The process of this number among those of a workload; it names its requests by `key`, and has
    /// a lock with the others.
    ///
    /// # Errors
    /// When what it asks for does not fit the device.
    pub fn new(
        name: &str,
        plan: &ProcessPlan,
        (index, key, lock): (u32, u32, u32),
        blocks: u64,
        mut draw: Draw,
    ) -> Result<Synthetic, BadInput> {
        let addresses = Addresses::new(name, &plan.pattern, blocks, Draw::new(draw.below(u64::MAX), 1))?;
        let name = format!("{name} {}", index + 1);
        let (plan, stage) = (plan.clone(), SyntheticStage::Compute);
        Ok(Synthetic { name, plan, addresses, draw, key, lock, locks: false, stage, asked: 0 })
    }
}

impl Program for Synthetic {
    fn name(&self) -> &str {
        &self.name
    }

    fn next(&mut self, _: Time) -> ProcessStep {
        match self.stage {
            SyntheticStage::Compute if self.plan.requests.is_some_and(|most| self.asked >= most) => ProcessStep::Exit,
            SyntheticStage::Compute => {
                let span = self.plan.compute.draw(&mut self.draw);
                self.locks = self.plan.locked > 0.0 && self.draw.unit() < self.plan.locked;
                self.stage = if self.locks { SyntheticStage::Lock } else { SyntheticStage::Ask };
                ProcessStep::Compute(span)
            }
            SyntheticStage::Lock => {
                self.stage = SyntheticStage::Ask;
                ProcessStep::Lock { lock: self.lock }
            }
            SyntheticStage::Ask => {
                self.asked += 1;
                let chance = self.draw.unit();
                let (op, at) = self.addresses.draft();
                let (criticality, stage) = match chance {
                    chance if chance < self.plan.critical => (Criticality::Critical, SyntheticStage::Await),
                    chance if chance < self.plan.critical + self.plan.limited => {
                        (Criticality::Limited, SyntheticStage::Think)
                    }
                    _ if self.locks => (Criticality::Noncritical, SyntheticStage::Watch),
                    _ => (Criticality::Noncritical, SyntheticStage::Compute),
                };
                self.stage = stage;
                let key = (stage != SyntheticStage::Compute).then_some((self.key, 1));
                ProcessStep::Ask { key, op, at, criticality }
            }
            SyntheticStage::Think => {
                self.stage = SyntheticStage::Await;
                ProcessStep::Compute(self.plan.limit.draw(&mut self.draw))
            }
            SyntheticStage::Await | SyntheticStage::Watch => {
                let blocks = self.stage == SyntheticStage::Await;
                self.stage = if self.locks { SyntheticStage::Unlock } else { SyntheticStage::Compute };
                ProcessStep::Await { key: self.key, blocks }
            }
            SyntheticStage::Unlock => {
                self.stage = SyntheticStage::Compute;
                ProcessStep::Unlock { lock: self.lock }
            }
        }
    }
}
