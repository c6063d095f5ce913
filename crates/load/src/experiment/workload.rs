//! `[[workload]]`: who asks, and when. What a kind of workload has of its own is read in `workload/`.

use super::varied::{Scope, Varied};
use super::{Volume, asker};
use crate::workload::pattern::{REGION, VOLUME};
use crate::workload::{Kind, manuals, misfit};
use block::{At, BadInput, Span};
use config::Section;
use std::path::Path;

config::keys! {
    /// A stream of requests. Besides the keys here it has those of its `kind`.
    pub(super) fn workload() -> "[[workload]]";

    /// Its name, different for each.
    NAME: String = text("name").required();
    /// The service class under which its requests are counted and served.
    CLASS: String = text("class").else_told("the workload's name, or the class of its `volume`");
    /// Priority of its requests. Larger is more urgent.
    PRIORITY: u32 = within("priority", 0, 255).else_told("0, or the priority of its `volume`");
    /// Deadline of its requests, from their arrival. A request that is still waiting then is dropped.
    DEADLINE: Span = span("deadline").else_told("none, or the deadline of its `volume`");
    /// What it asks, and when.
    KIND: &'static str = one_of("kind", || manuals().map(|manual| (manual.name, manual.text)).collect()).required();
}

/// The most workloads, so that an index of a class is a `u8`.
const MOST: usize = 256;
/// Keys there will be.
const LATER_KEYS: [(&str, &str); 1] = [("chunk", "comes with plans by class")];

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
    /// The volume whose client it is, if it is one's.
    pub volume: Option<String>,
    /// What it asks, and when.
    pub kind: Kind,
    /// Where it stands in its file.
    pub at: At,
}

impl Workload {
    /// An error of this workload, with the file and the line at which it stands; others are as they were.
    #[must_use]
    pub fn place(&self, file: &str, error: BadInput) -> BadInput {
        let nameless = misfit(&self.name, "", "");
        if (&error.file, error.at) != (&nameless.file, nameless.at) {
            return error;
        }
        BadInput { file: file.into(), at: self.at, what: format!("{}: {}", error.file, error.what), ..error }
    }
}

/// The classes of what processes ask for.
pub const CRITICALITIES: [&str; 3] = ["critical", "limited", "noncritical"];

pub(super) fn read_all(
    root: &Section,
    folder: &Path,
    volumes: &[Volume],
    varied: &Varied,
) -> Result<Vec<Workload>, BadInput> {
    let sections = root.sections(workload().name())?;
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
            return Err(section.error(NAME.name(), what, "give each a name of its own; they may share a `class`"));
        }
        let others = workloads.first().is_some_and(|first| first.kind.has_processes() != workload.kind.has_processes());
        if others {
            let what = "processes and requests that come by themselves in one experiment";
            return Err(section.here(what, "let all workloads be of processes, or none"));
        }
        let is_machine = |workload: &Workload| workload.kind.is_machine();
        if !workloads.is_empty() && (is_machine(&workload) || workloads.iter().any(is_machine)) {
            let what = "a recorded machine, and other workloads beside it";
            return Err(section.here(what, "let it be the only workload: its processors are all taken"));
        }
        let is_scan = |workload: &Workload| workload.kind.scan().is_some();
        if is_scan(&workload) && workloads.iter().any(is_scan) {
            return Err(section.here("a second scan beside another", "let one of them read the region of both"));
        }
        if is_scan(&workload) && root.has("array") {
            let mend = "take [array] out, or use kind = \"scrub\"";
            return Err(section.here("a scan reads one disk, and there is an array", mend));
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
    let name = section.value(&NAME)?;
    let volume = in_volume(section, volumes)?;
    let class = section.get(&CLASS)?.or_else(|| volume.map(|volume| volume.class.clone()));
    let class = class.unwrap_or_else(|| name.clone());
    if name.is_empty() || class.is_empty() {
        let key = if name.is_empty() { NAME.name() } else { CLASS.name() };
        return Err(section.error(key, format!("`{key}` is empty"), "give a word"));
    }
    let priority = section.get(&PRIORITY)?.map(|priority| priority as u8);
    let priority = priority.or(volume.map(|volume| volume.priority)).unwrap_or(0);
    let deadline = asker::deadline(section, &DEADLINE)?;
    LATER_KEYS.iter().try_for_each(|(key, why)| section.refuse(key, why))?;
    let mut kind = kind(section, scope, folder, varied)?;
    let deadline = deadline.or(kind.deadline()).or(volume.and_then(|volume| volume.deadline));
    refuse_haste(section, &kind, deadline)?;
    let of_requests = [CLASS.name(), PRIORITY.name(), DEADLINE.name()];
    if let Some(key) = of_requests.into_iter().find(|key| kind.has_processes() && section.has(key)) {
        let what = format!("`{key}` is not given for processes: who waits decides ({})", CRITICALITIES.join(", "));
        return Err(section.error(key, what, "take it out"));
    }
    section.close()?;
    if let Some(volume) = volume {
        kind.confine(volume.region());
    }
    let volume = volume.map(|volume| volume.name.clone());
    Ok(Workload { name, class, priority, deadline, volume, kind, at: section.here("", "").at })
}

/// Requests a second that a loop may drop at most, of each of which there is one more: more than any drive could serve, and each costs
/// the simulation as much as one that is served.
const MOST_DROPPED: u64 = 1_000_000;

/// Refuses a deadline so short that a loop asks anew again and again while one command is served.
fn refuse_haste(section: &Section, kind: &Kind, deadline: Option<Span>) -> Result<(), BadInput> {
    let (Some(deadline), Some((requests, pause))) = (deadline, kind.renewal()) else { return Ok(()) };
    let least = u64::from(requests) * (1_000_000_000 / MOST_DROPPED);
    let each = deadline.0.saturating_add(pause.0);
    if each >= least {
        return Ok(());
    }
    let rate = u64::from(requests) * 1_000_000_000 / each;
    let what = format!("`deadline` is so short that requests are dropped, and made anew, {rate} times a second");
    Err(section.error(DEADLINE.name(), what, format!("give {}us or more, or take it out", least.div_ceil(1000))))
}

/// `kind`, and its keys. A key of a kind that another run of the sweep uses is known, too.
fn kind(section: &Section, scope: Scope, folder: &Path, varied: &Varied) -> Result<Kind, BadInput> {
    let name = section.value(&KIND)?;
    for key in manuals().flat_map(|manual| manual.keys) {
        let users = manuals().filter(|manual| manual.keys.iter().any(|its| its.name == key.name));
        let users: Vec<_> = users.map(|manual| manual.name).collect();
        varied.belongs(scope, section, key.name, KIND.name(), &users)?;
    }
    for only in manuals().filter(|manual| manual.name == name).flat_map(|manual| manual.only) {
        varied.belongs(scope, section, only.key, only.with, only.values)?;
    }
    section.need(KIND.name(), Kind::read(name, section, folder)?)
}

/// The volume that a workload asks, if it is one.
fn in_volume<'a>(section: &Section, volumes: &'a [Volume]) -> Result<Option<&'a Volume>, BadInput> {
    let Some(name) = section.get(&VOLUME)? else { return Ok(None) };
    if section.has(REGION.name()) {
        return Err(section.error(REGION.name(), "both `volume` and `region`", "keep one of them"));
    }
    let names = || volumes.iter().map(|volume| volume.name.as_str());
    let found = volumes.iter().find(|volume| volume.name == name);
    found.map(Some).ok_or_else(|| {
        let mend = match block::nearest(&name, names()) {
            Some(near) => format!("is '{near}' meant?"),
            None => format!("name one of the [[volume]]: {}", names().collect::<Vec<_>>().join(", ")),
        };
        section.error(VOLUME.name(), format!("there is no volume '{name}'"), mend)
    })
}
