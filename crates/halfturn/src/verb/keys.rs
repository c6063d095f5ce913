//! `halfturn keys`: all keys of an experiment.

use super::json;
use crate::failure::{Failure, print};
use crate::report;
use clap::{Args, ValueEnum};

/// List the keys of an experiment file.
///
/// Table by table, each with what it is for; `halfturn help KEY` says all of one.
#[derive(Args)]
#[command(after_help = "Examples:\n  halfturn keys\n  halfturn keys --format json")]
pub struct Keys {
    /// How the list is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Form,
}

/// How the list is printed.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// A table for people.
    Table,
    /// JSON, for programs.
    Json,
    /// The reference page, with everything.
    Markdown,
}

pub fn run(arguments: &Keys) -> Result<(), Failure> {
    match arguments.format {
        Form::Table => print(&report::listed_keys()),
        Form::Markdown => print(&report::keys_page()),
        Form::Json => print(&json(&report::keys_json())),
    }
}
