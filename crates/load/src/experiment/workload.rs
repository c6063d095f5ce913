//! `[[workload]]`: who asks, and when.

use super::varied::{Scope, Varied};
use super::{
    CompressionPlan, Pace, Pattern, ProcessPlan, RecordedPlan, Region, TraceChoice, Volume, asker, pattern, processes,
    replay,
};
use block::{BadInput, Span};
use config::Section;
use std::path::Path;

/// The most workloads, so that an index of a class is a `u8`.
const MOST: usize = 256;
/// The most requests a closed workload keeps in flight.
pub(super) const MOST_AT_ONCE: u32 = 1 << 20;
/// The most requests per second: one for each tick of the clock, or time would stand still.
const FASTEST: f64 = 1e9;

/// The keys that not every kind has, and the kinds that have them.
const KEYS: [(&str, &[&str]); 31] = [
    ("volume", &["open", "closed"]),
    ("rate", &["open", "rebuild", "scrub"]),
    ("arrivals", &["open"]),
    ("think", &["closed"]),
    ("depth", &["closed", "trace", "cello-like", "hplajw-like", "rebuild", "scrub"]),
    ("start", &["rebuild", "scrub"]),
    ("size", &["open", "closed", "processes", "rebuild", "scrub"]),
    ("read", &["open", "closed", "processes"]),
    ("at", &["open", "closed", "processes"]),
    ("region", &["open", "closed", "cello-like", "hplajw-like", "processes", "compression"]),
    ("align", &["open", "closed", "processes"]),
    ("processes", &["processes", "compression"]),
    ("compute", &["processes", "compression"]),
    ("spread", &["processes", "compression"]),
    ("critical", &["processes"]),
    ("limited", &["processes"]),
    ("limit", &["processes"]),
    ("requests", &["processes"]),
    ("input", &["compression"]),
    ("output", &["compression"]),
    ("output_region", &["compression"]),
    ("interleave", &["compression"]),
    ("pause", &["compression"]),
    ("pause_every", &["compression"]),
    ("file", &["trace", "process-flow"]),
    ("format", &["trace"]),
    ("device", &["trace", "process-flow"]),
    ("replay", &["trace", "cello-like", "hplajw-like"]),
    ("time_scale", &["trace", "cello-like", "hplajw-like"]),
    ("fit", &["trace", "process-flow"]),
    ("days", &["cello-like", "hplajw-like"]),
];

/// The most days of a workload that is made up.
const MOST_DAYS: u32 = 366;

/// Blocks of a repair where the file does not say: 256 KiB.
const REPAIRED: u32 = 512;

/// Keys there will be.
const LATER_KEYS: [(&str, &str); 1] = [("chunk", "comes with plans by class")];
const KINDS: [&str; 10] = [
    "open",
    "closed",
    "trace",
    "cello-like",
    "hplajw-like",
    "rebuild",
    "scrub",
    "processes",
    "compression",
    "process-flow",
];

/// One stream of requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its name, unlike any other's.
    pub name: String,
    /// The service class it is counted under; its name unless the file says otherwise.
    pub class: String,
    /// Priority; larger is more urgent.
    pub priority: u8,
    /// A hard deadline, from arrival: a request still waiting then is dropped.
    pub deadline: Option<Span>,
    /// What it asks, and when.
    pub kind: Kind,
}

/// What a workload asks, and when.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Requests arrive whether or not earlier ones have ended.
    Open {
        /// Requests per second, on average.
        rate: f64,
        /// How they are spaced.
        arrivals: Arrivals,
        /// What they look like.
        pattern: Pattern,
    },
    /// So many clients, each asking again when its request has ended.
    Closed {
        /// How many; at least 1.
        depth: u32,
        /// How long each waits before it asks again.
        think: Span,
        /// What they ask.
        pattern: Pattern,
    },
    /// The array is read from its first block to its last, and what is missing of it brought back.
    Repair {
        /// Blocks of a request; at least 1.
        blocks: u32,
        /// How many at once.
        depth: u32,
        /// When it begins.
        start: Span,
        /// Whether it begins anew at the end: scrubbing.
        again: bool,
        /// Requests a second at most, where there is a cap.
        rate: Option<f64>,
    },
    /// What a trace recorded.
    Trace(TraceChoice),
    /// What the busiest disk of a system was asked in 1992, made up after its published statistics.
    MadeUp {
        /// Of which system.
        like: Like,
        /// For how many days; at least 1.
        days: u32,
        /// Where on the drive; a disk of those days, at the beginning of the drive, unless the file says otherwise.
        region: Option<Region>,
        /// When its requests arrive.
        pace: Pace,
    },
    /// Processes that each compress a large file.
    Compression(CompressionPlan),
    /// Processes made up of chances.
    Processes(ProcessPlan),
    /// The processes of a recorded machine.
    Recorded(RecordedPlan),
}

impl Kind {
    /// Whether it is processes that ask.
    #[must_use]
    pub fn has_processes(&self) -> bool {
        matches!(self, Kind::Compression(_) | Kind::Processes(_) | Kind::Recorded(_))
    }
}

/// The classes of what processes ask for.
pub const CRITICALITIES: [&str; 3] = ["critical", "limited", "noncritical"];

/// A system whose days are made up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Like {
    /// A timesharing system of many users.
    Cello,
    /// A workstation of one.
    Hplajw,
}

/// How the arrivals of an open workload are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// Independently of one another.
    #[default]
    Poisson,
    /// Evenly.
    Constant,
}

pub(super) fn read_all(
    root: &Section,
    folder: &Path,
    volumes: &[Volume],
    varied: &Varied,
) -> Result<Vec<Workload>, BadInput> {
    let sections = root.sections("workload")?;
    if sections.is_empty() && volumes.is_empty() {
        return Err(root.here("no [[workload]]: nothing is asked of the drive", "add one"));
    }
    if let Some(section) = sections.get(MOST) {
        return Err(section.here(format!("more than {MOST} workloads"), "take some out"));
    }
    let mut workloads: Vec<Workload> = Vec::with_capacity(sections.len());
    for (index, section) in sections.iter().enumerate() {
        let workload = read(section, Scope::Workload(index), folder, volumes, varied)?;
        if workloads.iter().any(|other| other.name == workload.name) {
            let what = format!("a workload before this one is named '{}' too", workload.name);
            return Err(section.error("name", what, "give each a name of its own; they may share a `class`"));
        }
        let others = workloads.first().is_some_and(|first| first.kind.has_processes() != workload.kind.has_processes());
        if others {
            let what = "processes and requests that come by themselves in one experiment";
            return Err(section.here(what, "let all workloads be of processes, or none"));
        }
        let machine = |workload: &Workload| matches!(workload.kind, Kind::Recorded(_));
        if !workloads.is_empty() && (machine(&workload) || workloads.iter().any(machine)) {
            let what = "a recorded machine, and other workloads beside it";
            return Err(section.here(what, "let it be the only workload: its processors are all taken"));
        }
        workloads.push(workload);
    }
    Ok(workloads)
}

fn read(
    section: &Section,
    scope: Scope,
    folder: &Path,
    volumes: &[Volume],
    varied: &Varied,
) -> Result<Workload, BadInput> {
    let name = section.need("name", section.string("name")?)?;
    let volume = in_volume(section, volumes)?;
    let class = section.string("class")?.or_else(|| volume.map(|volume| volume.class.clone()));
    let class = class.unwrap_or_else(|| name.clone());
    if name.is_empty() || class.is_empty() {
        let key = if name.is_empty() { "name" } else { "class" };
        return Err(section.error(key, format!("`{key}` is empty"), "give a word"));
    }
    let (priority, deadline) = asker::urgency(section)?;
    let priority = priority.or(volume.map(|volume| volume.priority)).unwrap_or(0);
    let deadline = deadline.or(volume.and_then(|volume| volume.deadline));
    let given = ["class", "priority", "deadline"].into_iter().find(|key| section.has(key));
    LATER_KEYS.iter().try_for_each(|(key, why)| section.refuse(key, why))?;
    let kind = section.choice("kind", &KINDS.map(|name| (name, name)))?;
    let kind = section.need("kind", kind)?;
    KEYS.iter().try_for_each(|(key, kinds)| varied.belongs(scope, section, key, "kind", kinds))?;
    let mut kind = match kind {
        "open" => Kind::Open {
            rate: rate(section)?,
            arrivals: section
                .choice("arrivals", &[("poisson", Arrivals::Poisson), ("constant", Arrivals::Constant)])?
                .unwrap_or_default(),
            pattern: pattern::read(section)?,
        },
        "closed" => Kind::Closed {
            depth: section.need("depth", section.within("depth", 1, MOST_AT_ONCE)?)?,
            think: section.span("think")?.unwrap_or_default(),
            pattern: pattern::read(section)?,
        },
        "compression" => Kind::Compression(processes::compression(section)?),
        "processes" => Kind::Processes(processes::chances(section)?),
        "process-flow" => Kind::Recorded(processes::recorded(section, folder)?),
        "cello-like" | "hplajw-like" => Kind::MadeUp {
            like: if kind == "cello-like" { Like::Cello } else { Like::Hplajw },
            days: section.within("days", 1, MOST_DAYS)?.unwrap_or(7),
            region: pattern::region(section)?,
            pace: replay::pace(section, scope, varied)?,
        },
        "rebuild" | "scrub" => Kind::Repair {
            blocks: pattern::blocks(section, "size")?.unwrap_or(REPAIRED),
            depth: section.within("depth", 1, MOST_AT_ONCE)?.unwrap_or(1),
            start: section.span("start")?.unwrap_or_default(),
            again: kind == "scrub",
            rate: section.has("rate").then(|| rate(section)).transpose()?,
        },
        _ => Kind::Trace(replay::read(section, scope, folder, varied)?),
    };
    if let Some(key) = given.filter(|_| kind.has_processes()) {
        let what = format!("`{key}` is not given for processes: who waits decides (critical, limited, noncritical)");
        return Err(section.error(key, what, "take it out"));
    }
    section.close()?;
    if let (Some(volume), Kind::Open { pattern, .. } | Kind::Closed { pattern, .. }) = (volume, &mut kind) {
        pattern.region = volume.region();
    }
    Ok(Workload { name, class, priority, deadline, kind })
}

/// The volume that a workload asks, if it is one.
fn in_volume<'a>(section: &Section, volumes: &'a [Volume]) -> Result<Option<&'a Volume>, BadInput> {
    let Some(name) = section.string("volume")? else { return Ok(None) };
    if section.has("region") {
        return Err(section.error("region", "both `volume` and `region`", "keep one of them"));
    }
    let names = || volumes.iter().map(|volume| volume.name.as_str());
    let found = volumes.iter().find(|volume| volume.name == name);
    found.map(Some).ok_or_else(|| {
        let mend = match block::nearest(&name, names()) {
            Some(near) => format!("is '{near}' meant?"),
            None => format!("name one of the [[volume]]: {}", names().collect::<Vec<_>>().join(", ")),
        };
        section.error("volume", format!("there is no volume '{name}'"), mend)
    })
}

fn rate(section: &Section) -> Result<f64, BadInput> {
    let rate = section.need("rate", section.rate("rate")?)?;
    if rate > FASTEST {
        return Err(section.error("rate", "`rate` is more than one request per nanosecond", "give a lower one"));
    }
    Ok(rate)
}
