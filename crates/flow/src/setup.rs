//! A machine about to be started.

use crate::process::Program;
use load::experiment::SystemPlan;

/// A machine about to be started.
pub struct MachineSetup {
    /// Its processors and cache.
    pub plan: SystemPlan,
    /// The processes' programs, in the order in which they are created.
    pub programs: Vec<Box<dyn Program>>,
    /// What a reader of the results must know of them.
    pub notes: Vec<String>,
}

impl MachineSetup {
    /// A machine of such a plan with these processes.
    #[must_use]
    pub fn new(plan: SystemPlan, programs: Vec<Box<dyn Program>>) -> MachineSetup {
        MachineSetup { plan, programs, notes: Vec::new() }
    }
}
