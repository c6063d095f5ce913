//! `[run]`: for how long, and how often.

use super::Workload;
use block::{BadInput, Span};
use config::{Document, Section};

config::keys! {
    /// How long the run is, and how often it is repeated.
    pub(super) fn run() -> "[run]";

    /// The run ends after this time.
    DURATION: Span = span("duration").else_told("with `requests`, or when all that is replayed has ended");
    /// The run ends after this many requests. It takes the place of `duration`.
    REQUESTS: u64 = whole("requests", 1, u64::MAX).else_told("with `duration`, or when all that is replayed has ended");
    /// Requests that arrive before this time are not counted. Requests that arrive later, within the measured time, are followed
    /// to their end.
    WARMUP: Span = span("warmup").else_told("0s; under `simulate` with `closed` workloads, until ten times as many requests \
        have ended as are outstanding");
    /// How often the run is repeated, each time with other random numbers.
    REPLICATIONS: u32 = within("replications", 1, 1000).usually("1");
    /// The number that all random numbers come from. The same seed gives the same results.
    SEED: u64 = whole("seed", 0, u64::MAX).usually("1");
    /// With `simulate`: how late the host hears of what happens, and does what was due. It sleeps until a request comes, a command
    /// completes or a seek is due, and wakes up by so much later.
    HOST_LATE_BY: Span = span("host_late_by").usually("0ms");
    /// The share of the times it wakes up at which it is as late as that.
    HOST_LATE_SHARE: f64 = share("host_late_share").usually("1");
}

/// A host that is late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostPlan {
    /// By how much it wakes up late.
    pub late_by: Span,
    /// At which share of the times it wakes up.
    pub late_share: f64,
}

/// When a run ends, and how often it is done.
#[derive(Clone, Debug, PartialEq)]
pub struct RunPlan {
    /// It ends after so long; without this and `requests`, when what is replayed does.
    pub duration: Option<Span>,
    /// It ends after so many requests.
    pub requests: Option<u64>,
    /// What arrives before is not counted.
    pub warmup: Span,
    /// Whether what arrives before closed loops have settled is not counted either: where no `warmup` is given.
    pub settles: bool,
    /// How often it is done, each time with other draws; at least 1.
    pub replications: u32,
    /// What every draw comes from.
    pub seed: u64,
    /// How late the host is, where it is.
    pub host: Option<HostPlan>,
}

impl RunPlan {
    /// The seed of a replication: its own, so that neighbouring seeds share none.
    #[must_use]
    pub fn seed_of(&self, replication: u32) -> u64 {
        self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(replication))
    }
}

pub(super) fn read(root: &Section, workloads: &[Workload]) -> Result<RunPlan, BadInput> {
    let section = root.section(run().name())?;
    let plan = match &section {
        Some(section) => plan(section)?,
        None => plan(&Document::parse("[run]", "")?.root())?,
    };
    let endless = workloads.iter().find(|workload| workload.kind.is_endless());
    if let (Some(workload), None, None) = (endless, plan.duration, plan.requests) {
        let what = format!("nothing ends the run, and workload '{}' never does", workload.name);
        let mend = "add `duration = \"600s\"` or `requests = 200000` to [run]";
        return Err(section.as_ref().unwrap_or(root).here(what, mend));
    }
    Ok(plan)
}

fn plan(section: &Section) -> Result<RunPlan, BadInput> {
    let warmup = section.get(&WARMUP)?;
    let host = HostPlan { late_by: section.value(&HOST_LATE_BY)?, late_share: section.value(&HOST_LATE_SHARE)? };
    let plan = RunPlan {
        duration: section.get(&DURATION)?,
        requests: section.get(&REQUESTS)?,
        warmup: warmup.unwrap_or_default(),
        settles: warmup.is_none(),
        replications: section.value(&REPLICATIONS)?,
        seed: section.value(&SEED)?,
        host: (host.late_by > Span::ZERO && host.late_share > 0.0).then_some(host),
    };
    match (plan.duration, plan.requests) {
        (Some(Span::ZERO), _) => {
            Err(section.error(DURATION.name(), "`duration` is zero: the run ends before it begins", "give more"))
        }
        (Some(_), Some(_)) => {
            Err(section.error(REQUESTS.name(), "both `duration` and `requests` end the run", "keep one of them"))
        }
        _ => section.close().map(|()| plan),
    }
}
