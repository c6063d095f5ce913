//! The verbs: what each takes, and its help. What they print is written by `report`.

mod drive;
pub mod later;
mod profile;
mod reproduce;
mod simulate;
mod trace;

use crate::failure::Failure;
use block::{At, BadInput};
use clap::{Subcommand, ValueEnum};

/// A verb with its arguments.
#[derive(Subcommand)]
pub enum Verb {
    Simulate(simulate::Simulate),
    Reproduce(reproduce::Reproduce),
    Profile(profile::Profile),
    #[command(subcommand)]
    Drive(drive::Drive),
    #[command(subcommand)]
    Trace(trace::Trace),
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Does it.
pub fn run(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Simulate(arguments) => simulate::run(&arguments),
        Verb::Reproduce(arguments) => reproduce::run(&arguments),
        Verb::Profile(arguments) => profile::run(&arguments),
        Verb::Drive(verb) => drive::run(&verb),
        Verb::Trace(verb) => trace::run(&verb),
    }
}

/// The format with this word.
fn trace_format(word: &str) -> Result<::trace::Format, Failure> {
    let bad = |what| BadInput::new("--trace-format", At::File, what, "or leave it out: the content shows the format");
    word.parse().map_err(|what| bad(what).into())
}

/// A value as the pretty JSON that `--format json` prints, with a newline at its end.
fn json(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("results are plain data");
    text + "\n"
}
