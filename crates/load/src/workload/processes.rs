//! Processes made up of chances: each computes, asks, and waits for some of its requests. `flow` runs them.

use super::kind::{Manual, Recipe};
use super::pattern::{self, Pattern};
use super::times::{MOST, Times};
use block::{BadInput, Span};
use config::Section;
use std::path::Path;

config::keys! {
    /// How many processes there are.
    PROCESSES: u32 = within("processes", 1, MOST).required();
    /// How long a process computes before each request, on average.
    COMPUTE: Span = span("compute").required();
    /// How far computing times lie around their mean, as a share of it, evenly.
    SPREAD: f64 = share("spread").else_told("exponentially distributed");
    /// Share of the requests that the process waits for at once.
    CRITICAL: f64 = share("critical").usually("0.0");
    /// Share of the requests that the process waits for after it has computed for `limit`. It never waits for the others.
    LIMITED: f64 = share("limited").usually("0.0");
    /// How long a process computes before it waits for a limited request, on average.
    LIMIT: Span = span("limit").else_told("must be given where `limited` is above 0");
    /// Share of the requests that a process makes with a lock that all processes of the workload share. It keeps the lock until the
    /// request has ended, whether or not it waits for the request itself.
    LOCKED: f64 = share("locked").usually("0.0");
    /// Requests of each process, which then ends.
    REQUESTS: u64 = whole("requests", 0, u64::MAX).else_told("without end");
}

/// Processes made up of chances.
#[derive(Clone, Debug, PartialEq)]
pub struct ProcessPlan {
    /// How many; at least 1.
    pub processes: u32,
    /// Computing before each request.
    pub compute: Times,
    /// Share of the requests that the process waits for at once.
    pub critical: f64,
    /// Share of those it waits for after a while.
    pub limited: f64,
    /// How long a process computes before it waits for a limited request.
    pub limit: Times,
    /// Share of the requests made with the workload's lock.
    pub locked: f64,
    /// Requests of each; without it processes go on.
    pub requests: Option<u64>,
    /// What the processes ask for.
    pub pattern: Pattern,
}

impl Recipe for ProcessPlan {
    const MANUALS: &'static [Manual] = &[Manual {
        name: "processes",
        text: "Processes that compute and ask in turn on a `[system]`. Each request is critical (the process waits for it at once), limited (it waits after a while) or noncritical (it never waits); that is the class of the request.",
        keys: &[
            PROCESSES.about,
            COMPUTE.about,
            SPREAD.about,
            CRITICAL.about,
            LIMITED.about,
            LIMIT.about,
            LOCKED.about,
            REQUESTS.about,
            pattern::SIZE.about,
            pattern::READ.about,
            pattern::AT.about,
            pattern::REGION.about,
            pattern::ALIGN.about,
        ],
        only: &[],
        example: "kind = \"processes\"\nprocesses = 4\ncompute = \"5ms\"\ncritical = 0.5\nsize = \"4KiB\"",
        processes: true,
    }];

    fn read(_: &str, section: &Section, _: &Path) -> Result<ProcessPlan, BadInput> {
        let (critical, limited) = (section.value(&CRITICAL)?, section.value(&LIMITED)?);
        if critical + limited > 1.0 {
            let what = format!("`critical` and `limited` add up to {}", critical + limited);
            return Err(section.error(
                LIMITED.name(),
                what,
                "let them add up to 1 at most; the rest is non-critical",
            ));
        }
        let spread = section.get(&SPREAD)?;
        let compute = Times { mean: section.value(&COMPUTE)?, spread };
        if compute.mean == Span::ZERO && critical < 1.0 {
            let what = "`compute` is zero: a process would ask without end at one instant";
            let mend = "let it compute, or wait for each request (critical = 1.0)";
            return Err(section.error(COMPUTE.name(), what, mend));
        }
        let limit = section.get(&LIMIT)?;
        let limit = if limited > 0.0 {
            Times { mean: section.need(LIMIT.name(), limit)?, spread }
        } else {
            Times { mean: Span::ZERO, spread: None }
        };
        Ok(ProcessPlan {
            processes: section.value(&PROCESSES)?,
            compute,
            critical,
            limited,
            limit,
            locked: section.value(&LOCKED)?,
            requests: section.get(&REQUESTS)?,
            pattern: Pattern::read(section)?,
        })
    }

    fn longest(&self) -> u32 {
        self.pattern.blocks
    }

    fn is_endless(&self) -> bool {
        self.requests.is_none()
    }
}
