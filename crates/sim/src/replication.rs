//! One replication of one run: what came of it, joined from what the core and the world counted.

use crate::camera::Camera;
use crate::drives::{Measured, Remains};
use block::{Span, Time};
use drive::Account;
use flow::Picture;
use load::Meter;
use load::results;
use sched::predict::{Grasp, OrderBasis};

/// The work that scheduling took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// How many decisions were taken.
    pub decisions: u64,
    /// Candidates examined for them.
    pub examined: u64,
}

/// One replication of one run.
#[derive(Debug)]
pub struct Replication {
    /// The times and rates that were measured.
    pub meter: Meter,
    /// Where the time of each arm went.
    pub accounts: Vec<Account>,
    /// The work that scheduling took.
    pub effort: Effort,
    /// What a reader of the results must know.
    pub notes: Vec<String>,
    /// What the scheduler knows of the device at the end, where it learns.
    pub learned: Option<results::Learned>,
    /// What a system of processes came to.
    pub system: Option<results::SystemCounts>,
    /// Requests that never ended.
    pub unfinished: u64,
    /// Whether anything was written.
    pub(crate) wrote: bool,
    /// Whether no scheduler can do better; nothing is said but of the oracle.
    pub bound: Option<bool>,
    /// What was recorded, where that was asked for.
    pub(crate) camera: Option<Camera>,
    /// The same of processes and processors.
    pub(crate) picture: Option<Picture>,
    /// The time it ended.
    pub(crate) end: Time,
}

/// What a core counted of a run.
pub(crate) struct ArrivalCounts {
    pub(crate) tally: Option<sched::Tally>,
    pub(crate) fill: Option<sched::Fill>,
    /// What the read cache of an array came to.
    pub(crate) cached: Option<sched::array::CacheTally>,
    pub(crate) effort: (u64, u64),
    pub(crate) memory: Option<(usize, usize)>,
    /// How far the times it believed are from those commands took.
    pub(crate) demerit: Option<Span>,
    /// What is known by now, where the device is learned in use.
    pub(crate) grasp: Option<Grasp>,
    pub(crate) lost: u64,
    /// How often a floor that was owed went before a higher priority.
    pub(crate) floors: u64,
    /// By class: how long it kept a device without a command until its seek was due.
    pub(crate) kept: Vec<Span>,
    /// Requests it takes at once.
    pub(crate) limit: u32,
}

impl ArrivalCounts {
    /// With what the world counted, and what is to be said before.
    pub(crate) fn join<L: Measured>(self, remains: Remains<L>, story: Vec<String>) -> Replication {
        let ArrivalCounts { tally, fill, cached, effort, memory, demerit, grasp, lost, floors, kept, limit } = self;
        let end = remains.end;
        let (mut meter, mut notes, account) = remains.load.finish(end);
        let mut system = account.map(|account| account.result(end));
        if let (Some(system), Some(moves)) = (&mut system, &remains.moves) {
            moves.tell(system);
        }
        meter.set_time_kept(&kept);
        if let Some(tally) = tally {
            if tally.given_up > 0 {
                notes.push("too many just-in-time seeks came too late: for a while requests went at once".into());
            }
            meter.set_service(tally);
        }
        if let Some(fill) = fill {
            meter.set_fill(fill);
        }
        if let Some(cached) = cached {
            meter.set_cached(cached);
        }
        if remains.crowded {
            notes.push(format!(
                "more than {} requests were outstanding; those beyond waited in order of arrival outside the scheduler",
                limit
            ));
        }
        let probes = (remains.probes > 0).then_some(remains.probes);
        notes.extend(probes.map(|probes| format!("{probes} probes in idle time, counted as background")));
        notes.extend(story);
        if floors > 0 {
            notes.push(format!("a floor that was owed went before a higher priority {floors} times"));
        }
        if lost > 0 {
            notes.push(format!("data was lost: {} requests met what no disk holds any more", lost));
        }
        if remains.unfinished > 0 {
            let why = if remains.timeless { "the clock ended, after 584 years" } else { "nothing would ever end them" };
            notes.push(format!("not whole: requests never ended, since {why}"));
        }
        notes.extend(meter.note());
        Replication {
            meter,
            accounts: remains.accounts,
            effort: Effort { decisions: effort.0, examined: effort.1 },
            learned: memory.map(|(distances, bytes)| results::Learned {
                distances: distances as u64,
                bytes: bytes as u64,
                demerit_ms: demerit.map(Span::as_ms),
                idle_probes: probes,
                in_use: grasp.map(|grasp| results::LearnedInUse {
                    turn_ms: grasp.turn.as_ms(),
                    known_blocks: f64::from(grasp.known) / 1e3,
                    error_ms: grasp.off.as_ms(),
                    error_by_distance_ms: grasp.usual.as_ms(),
                    in_use: grasp.basis == OrderBasis::Forecasts,
                    by_arrival: grasp.basis == OrderBasis::Arrival,
                }),
                ..results::Learned::default()
            }),
            notes,
            system,
            unfinished: remains.unfinished,
            wrote: remains.wrote,
            bound: None,
            camera: remains.camera,
            picture: remains.picture,
            end,
        }
    }
}
