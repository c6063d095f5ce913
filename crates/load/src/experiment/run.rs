//! `[run]`: for how long, and how often.

use super::{Kind, Workload};
use block::{BadInput, Span};
use config::Section;

/// The most replications of a run.
const MOST_REPLICATIONS: u32 = 1000;

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
}

impl RunPlan {
    /// The seed of a replication: its own, so that neighbouring seeds share none.
    #[must_use]
    pub fn seed_of(&self, replication: u32) -> u64 {
        self.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(u64::from(replication))
    }
}

pub(super) fn read(root: &Section, workloads: &[Workload]) -> Result<RunPlan, BadInput> {
    let section = root.section("run")?;
    let plain = RunPlan { duration: None, requests: None, warmup: Span::ZERO, settles: true, replications: 1, seed: 1 };
    let plan = section.as_ref().map_or(Ok(plain.clone()), |section| plan(section, plain))?;
    let is_endless = |kind: &Kind| match kind {
        Kind::Open { .. } | Kind::Closed { .. } => true,
        Kind::Processes(plan) => plan.requests.is_none(),
        Kind::Repair { again, .. } => *again,
        Kind::Trace(_) | Kind::MadeUp { .. } | Kind::Compression(_) | Kind::Recorded(_) => false,
    };
    let endless = workloads.iter().find(|workload| is_endless(&workload.kind));
    if let (Some(workload), None, None) = (endless, plan.duration, plan.requests) {
        let what = format!("nothing ends the run, and workload '{}' never does", workload.name);
        let mend = "add `duration = \"600s\"` or `requests = 200000` to [run]";
        return Err(section.as_ref().unwrap_or(root).here(what, mend));
    }
    Ok(plan)
}

fn plan(section: &Section, default: RunPlan) -> Result<RunPlan, BadInput> {
    let warmup = section.span("warmup")?;
    let plan = RunPlan {
        duration: section.span("duration")?,
        requests: section.u64("requests")?,
        warmup: warmup.unwrap_or(default.warmup),
        settles: warmup.is_none(),
        replications: section.within("replications", 1, MOST_REPLICATIONS)?.unwrap_or(default.replications),
        seed: section.u64("seed")?.unwrap_or(default.seed),
    };
    let zero =
        |key: &str| Err(section.error(key, format!("`{key}` is zero: the run ends before it begins"), "give more"));
    match (plan.duration, plan.requests) {
        (Some(Span::ZERO), _) => zero("duration"),
        (_, Some(0)) => zero("requests"),
        (Some(_), Some(_)) => {
            Err(section.error("requests", "both `duration` and `requests` end the run", "keep one of them"))
        }
        _ => section.close().map(|()| plan),
    }
}
