//! `halfturn keys`: all keys of an experiment.

use super::json;
use crate::failure::{VerbFailure, print};
use crate::report;
use clap::{Args, ValueEnum};
use load::manual::Whose;

/// List the keys of an experiment file.
///
/// Table by table, each with what it is for; `halfturn help KEY` says all of one.
#[derive(Args)]
#[command(after_help = "Examples:\n  halfturn keys\n  halfturn keys --format json")]
pub struct Keys {
    /// How the list is printed
    #[arg(long, value_enum, default_value = "table")]
    format: KeysFormat,
    /// Only the keys of drive files; those in tables may stand in `[drive]` of an experiment, too
    #[arg(long)]
    drive: bool,
}

/// How the list is printed.
#[derive(Clone, Copy, ValueEnum)]
enum KeysFormat {
    /// A table for people.
    Table,
    /// JSON, for programs to read.
    Json,
    /// The reference page, with everything.
    Markdown,
}

pub fn run(arguments: &Keys) -> Result<(), VerbFailure> {
    let of = if arguments.drive { Some(Whose::Drive) } else { None };
    match (arguments.format, of) {
        (KeysFormat::Table, of) => print(&report::listed_keys(of)),
        (KeysFormat::Json, of) => print(&json(&report::keys_json(of))),
        (KeysFormat::Markdown, None | Some(Whose::Experiment)) => print(&report::keys_page()),
        (KeysFormat::Markdown, Some(Whose::Drive)) => print(&report::drive_keys_page()),
    }
}
