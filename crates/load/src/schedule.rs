//! The core that an experiment asks for, whatever the world it will run in.

use crate::experiment::Scheduler;
use block::Caps;
use disk::Sheet;
use sched::Core;
use sched::plan::{Rules, chunk_for};
use sched::policy::{Beside, Chosen, Learn};
use sched::predict::Predictor;

/// What its policy is told beside its own keys, where it learns in this way and with this margin.
#[must_use]
pub fn beside(scheduler: &Scheduler, learn: Learn, margin: f64) -> Beside {
    let worths = scheduler.rules.classes.iter().map(|class| class.worth).collect();
    Beside { worths, learn, base: scheduler.mimic.base, margin }
}

/// Blocks of a short command, where the file does not say: what the drive's sheet tells, and in an array of stripe units that
/// come by in half a revolution the whole unit. Cut further it would gain an arrival less than the wait for a sector, and each
/// unit written to the medium, which ends in a turn of waiting, would cost several.
#[must_use]
pub fn chunk(sheet: &Sheet, unit: Option<u32>) -> u32 {
    let layout = &sheet.mechanics.layout;
    let half = u64::from(layout.longest_track()) << layout.sector_shift() >> 1;
    chunk_for(sheet).max(unit.filter(|unit| u64::from(*unit) <= half).unwrap_or(0))
}

/// A core for a device of these capabilities that keeps at most `limit` requests. The rules are those of `scheduler`, with a
/// plan whose chunk is given.
#[must_use]
pub fn core<P: Predictor + 'static>(
    scheduler: &Scheduler,
    beside: &Beside,
    rules: &Rules,
    caps: Caps,
    limit: u32,
    belief: P,
) -> Core<P> {
    let make = |chosen: Chosen| {
        let beside = beside.clone();
        Box::new(move || chosen.make(&beside))
    };
    let core = Core::new(caps, limit, belief, rules.clone(), make(scheduler.policy));
    let core = match scheduler.limits {
        Some(limits) => core.admitting(limits),
        None => core,
    };
    let own = (0..).zip(&rules.classes).filter_map(|(class, rule)| Some((class, rule.order?)));
    own.fold(core, |core, (class, order)| core.ordering(class, make(order)))
}
