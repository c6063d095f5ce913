//! Whoever asks for I/O, as far as the rules of service go: a workload, or the clients of a volume.

use super::{Kind, Volume, Workload};
use block::{BLOCK_BYTES, BadInput, Span};
use config::Section;

/// One of them.
pub(super) struct Asker<'a> {
    /// `workload` or `volume`, and its name.
    pub(super) what: &'static str,
    pub(super) name: &'a str,
    pub(super) class: &'a str,
    pub(super) priority: u8,
    pub(super) deadline: Option<Span>,
    /// The length of its requests in bytes; where that may be any, the greatest.
    pub(super) length: u64,
    /// Whether it is processes, whose requests have the classes of who waits.
    pub(super) processes: bool,
}

/// What a section says of its requests: their priority, and a hard deadline from their arrival.
pub(super) fn urgency(section: &Section) -> Result<(Option<u8>, Option<Span>), BadInput> {
    let priority = section.within("priority", 0, u8::MAX.into())?.map(|priority| priority as u8);
    let deadline = section.span("deadline")?;
    if deadline == Some(Span::ZERO) {
        let what = "`deadline` is zero: every request that waits would be dropped";
        return Err(section.error("deadline", what, "give a longer time, or take it out"));
    }
    Ok((priority, deadline))
}

/// All of them.
pub(super) fn askers<'a>(workloads: &'a [Workload], volumes: &'a [Volume]) -> Vec<Asker<'a>> {
    let workloads = workloads.iter().map(|workload| Asker {
        what: "workload",
        name: &workload.name,
        class: &workload.class,
        priority: workload.priority,
        deadline: workload.deadline,
        length: match &workload.kind {
            Kind::Open { pattern, .. } | Kind::Closed { pattern, .. } => u64::from(pattern.blocks) * BLOCK_BYTES,
            Kind::Trace(_) | Kind::MadeUp { .. } | Kind::Repair { .. } => u64::MAX,
            Kind::Compression(_) | Kind::Processes(_) | Kind::Recorded(_) => u64::MAX,
        },
        processes: workload.kind.has_processes(),
    });
    let volumes = volumes.iter().map(|volume| Asker {
        what: "volume",
        name: &volume.name,
        class: &volume.class,
        priority: volume.priority,
        deadline: volume.deadline,
        length: u64::MAX,
        processes: false,
    });
    workloads.chain(volumes).collect()
}
