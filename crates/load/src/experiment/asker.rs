//! Whoever asks for I/O, as far as the rules of service go: a workload, or the clients of a volume.

use super::{ClientRule, Volume, Workload};
use block::{BLOCK_BYTES, BadInput, Span};
use config::{Key, Section};

/// A workload or a volume, for what both may choose.
pub(super) struct Asker<'a> {
    /// `workload` or `volume`, and its name.
    pub(super) what: &'static str,
    pub(super) name: &'a str,
    pub(super) class: &'a str,
    /// The volume it is a client of, or is.
    pub(super) volume: Option<&'a str>,
    pub(super) priority: u8,
    pub(super) deadline: Option<Span>,
    /// The length of its requests in bytes; where that may be any, the greatest.
    pub(super) length: u64,
    /// Whether it is processes, whose requests have the classes of who waits.
    pub(super) processes: bool,
}

/// A hard deadline from the arrival of a request, where a section has one.
pub(super) fn deadline(section: &Section, key: &Key<Span>) -> Result<Option<Span>, BadInput> {
    let deadline = section.get(key)?;
    if deadline == Some(Span::ZERO) {
        let what = format!("`{}` is zero: every request that waits would be dropped", key.name());
        return Err(section.error(key.name(), what, "give a longer time, or take it out"));
    }
    Ok(deadline)
}

/// All workloads, all volumes, and clients who are served in classes of their own.
pub(super) fn askers<'a>(
    workloads: &'a [Workload],
    volumes: &'a [Volume],
    clients: &'a [ClientRule],
) -> Vec<Asker<'a>> {
    let workloads = workloads.iter().map(|workload| Asker {
        what: "workload",
        name: &workload.name,
        class: &workload.class,
        volume: workload.volume.as_deref(),
        priority: workload.priority,
        deadline: workload.deadline,
        length: workload.kind.length().map_or(u64::MAX, |blocks| u64::from(blocks) * BLOCK_BYTES),
        processes: workload.kind.has_processes(),
    });
    let volume_of = |rule: &ClientRule| volumes.iter().find(|volume| Some(&volume.name) == rule.volume.as_ref());
    let asking = volumes.iter().map(|volume| Asker {
        what: "volume",
        name: &volume.name,
        class: &volume.class,
        volume: Some(&volume.name),
        priority: volume.priority,
        deadline: volume.deadline,
        length: u64::MAX,
        processes: false,
    });
    let clients = clients.iter().filter_map(|rule| {
        let own = volume_of(rule);
        Some(Asker {
            what: "client",
            name: rule.volume.as_deref().unwrap_or("any volume"),
            class: rule.class.as_deref()?,
            volume: None,
            priority: rule.priority.or(own.map(|volume| volume.priority)).unwrap_or(0),
            deadline: rule.deadline.or(own.and_then(|volume| volume.deadline)),
            length: u64::MAX,
            processes: false,
        })
    });
    workloads.chain(asking).chain(clients).collect()
}
