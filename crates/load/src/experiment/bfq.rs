//! `[scheduler.class.NAME.bfq]`: what a class weighs.

use super::varied::{Scope, Varied};
use block::BadInput;
use config::Section;

config::keys! {
    /// What a class weighs, to the policy `bfq`.
    pub(super) fn keys() -> "[scheduler.class.NAME.bfq]";

    /// Its share of the drive beside those of others: what Linux's `io.bfq.weight` has as 100 is 1.
    WEIGHT: f64 = number("weight", 0.01, 10.0).usually("1");
}

/// What a class weighs.
pub(super) fn read(class: &Section, varied: &Varied) -> Result<f64, BadInput> {
    varied.belongs(Scope::Scheduler, class, "bfq", "policy", &["bfq"])?;
    let Some(section) = class.section("bfq")? else { return Ok(1.0) };
    let weight = section.value(&WEIGHT)?;
    section.close()?;
    Ok(weight)
}
