//! The way from the host to a drive: what of the topology lies on it, and its pace.

use super::params::{Ignored, Params};
use super::parse::{Block, Component, ParamValue, Parsed};
use block::BadInput;

/// Parameters that bear on no time, or choose among others waiting where nobody waits.
const HARMLESS: [&str; 7] = [
    "type",
    "Arbitration type",
    "Print stats",
    "Scheduler",
    "Use queueing in subsystem",
    "Maximum queue length",
    "Max per-disk pending count",
];

/// The blocks of what lies between the host and the disk of this name: those the topology has there, or else all that
/// the file holds.
fn between<'a>(parsed: &'a Parsed, disk: Option<&str>) -> Vec<&'a Block> {
    let kinds = ["disksim_iodriver", "disksim_bus", "disksim_ctlr"];
    let blocks = parsed.blocks.iter().filter(|block| kinds.contains(&block.kind.as_str()));
    let mut names = Vec::new();
    if !parsed.topology.iter().any(|root| leads(root, parsed, disk, &mut names)) {
        return blocks.collect();
    }
    blocks.filter(|block| names.iter().any(|name| block.name.as_deref() == Some(*name))).collect()
}

/// Whether a disk of this name lies at or below a component; if so, what the components on the way are.
fn leads<'a>(at: &'a Component, parsed: &'a Parsed, disk: Option<&str>, names: &mut Vec<&'a str>) -> bool {
    let block = parsed.instances.get(&at.name).unwrap_or(&at.name);
    let below = || {
        at.below.iter().filter_map(|value| match value {
            ParamValue::Component(component) => Some(component),
            _ => None,
        })
    };
    let found = Some(block.as_str()) == disk || below().any(|component| leads(component, parsed, disk, names));
    if found {
        names.push(block);
    }
    found
}

/// The times in ms that a block read and a block written take on the way to this disk, or `least_ms` where that is
/// longer: the slowest sets the pace.
pub(super) fn block_ms(
    disk: &Params,
    parsed: &Parsed,
    least_ms: f64,
    ignored: &mut Vec<Ignored>,
) -> Result<[f64; 2], BadInput> {
    let mut block_ms = [least_ms; 2];
    for block in between(parsed, disk.block.name.as_deref()) {
        let part = disk.inner(block);
        let both = part.or_zero("Bulk sector transfer time")?;
        for (way, name) in block_ms.iter_mut().zip(["Read block transfer time", "Write block transfer time"]) {
            *way = way.max(part.or_zero(name)?).max(both);
        }
        ignored.extend(part.rest(&HARMLESS));
    }
    Ok(block_ms)
}
