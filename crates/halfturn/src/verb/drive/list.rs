//! `halfturn drive list`: the drives of the catalogue.

use crate::failure::{VerbFailure, print};
use crate::report;
use clap::Args;

/// List the drives that ship with the project.
///
/// Any of these names can stand as `model` in the `[drive]` table of an experiment. The rates are of long sequential
/// reads on the outermost and innermost tracks, worked out by turning the platter, switches between tracks included. The
/// last ones are no disks, for schedulers to prove themselves on: nothing is known of them beforehand.
#[derive(Args)]
#[command(after_help = "Example:\n  halfturn drive list")]
pub struct ListArgs {}

pub fn run(_: &ListArgs) -> Result<(), VerbFailure> {
    let names = disk::catalogue::names().chain(disk::catalogue::others());
    let models = names.map(disk::catalogue::model).collect::<Result<Vec<_>, _>>()?;
    print(&report::catalogue(&models))
}
