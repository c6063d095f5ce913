//! `[scheduler.class.NAME.dmclock]`: what a class may have by number of requests.

use super::varied::{Scope, Varied};
use block::BadInput;
use config::{Key, Section};
use sched::policy::IopsClaim;

config::keys! {
    /// What a class may have by number of requests, to the policy `dmclock`.
    pub(super) fn keys() -> "[scheduler.class.NAME.dmclock]";

    /// Requests a second that it is sure of.
    RESERVATION: f64 = number("reservation", 0.0, f64::MAX).usually("0");
    /// Its weight for what is not reserved; 0: none of that.
    WEIGHT: f64 = number("weight", 0.0, f64::MAX).usually("1");
    /// Requests a second that it may have at most, as long as others want the drive.
    LIMIT: f64 = number("limit", 0.0, f64::MAX).else_told("none");
}

/// What a class may have, where its section says.
pub(super) fn read(class: &Section, varied: &Varied) -> Result<Option<IopsClaim>, BadInput> {
    varied.belongs(Scope::Scheduler, class, "dmclock", "policy", &["dmclock"])?;
    let Some(section) = class.section("dmclock")? else { return Ok(None) };
    let [reservation, weight] = [&RESERVATION, &WEIGHT].map(|key: &Key<f64>| section.value(key));
    let (reservation, weight, limit) = (reservation?, weight?, section.get(&LIMIT)?);
    if reservation == 0.0 && weight == 0.0 {
        return Err(section.error(WEIGHT.name(), "nothing reserved and no weight: nothing is served", "give either"));
    }
    if let Some(limit) = limit.filter(|limit| *limit <= 0.0 || *limit < reservation) {
        let what = format!("a limit of {limit} a second, with {reservation} reserved");
        return Err(section.error(LIMIT.name(), what, "give a greater limit, or none"));
    }
    section.close()?;
    Ok(Some(IopsClaim { reservation, weight, limit: limit.unwrap_or(0.0) }))
}
