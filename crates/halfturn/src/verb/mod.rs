//! The verbs: what each takes, and its help. What they print is written by `report`.

mod bench;
mod drive;
mod help;
mod keys;
mod outputs;
mod profile;
mod replay;
mod reproduce;
mod requests;
mod schema;
mod serve;
mod simulate;
mod trace;
mod volume;
mod window;

use crate::failure::Failure;
use block::{At, BadInput};
use clap::{Command, Subcommand, ValueEnum};

/// A verb with its arguments.
#[derive(Subcommand)]
pub enum Verb {
    Simulate(simulate::Simulate),
    Reproduce(reproduce::Reproduce),
    Profile(profile::Profile),
    Bench(bench::Bench),
    Serve(serve::Serve),
    #[command(subcommand)]
    Volume(volume::Volume),
    Replay(replay::Replay),
    #[command(subcommand)]
    Drive(drive::Drive),
    #[command(subcommand)]
    Trace(trace::Trace),
    Keys(keys::Keys),
    Schema(schema::Schema),
    Help(help::Help),
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Tables for people.
    Table,
    /// JSON, for programs.
    Json,
}

/// Runs a verb. `command` is the whole command line, for help.
pub fn run(verb: Verb, command: Command) -> Result<(), Failure> {
    match verb {
        Verb::Simulate(arguments) => simulate::run(&arguments),
        Verb::Reproduce(arguments) => reproduce::run(&arguments),
        Verb::Profile(arguments) => profile::run(&arguments),
        Verb::Bench(arguments) => bench::run(&arguments),
        Verb::Serve(arguments) => serve::run(&arguments),
        Verb::Volume(verb) => volume::run(&verb),
        Verb::Replay(arguments) => replay::run(&arguments),
        Verb::Drive(verb) => drive::run(&verb),
        Verb::Trace(verb) => trace::run(&verb),
        Verb::Keys(arguments) => keys::run(&arguments),
        Verb::Schema(arguments) => schema::run(&arguments),
        Verb::Help(arguments) => help::run(&arguments, command),
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

/// How many times as fast a clock runs.
fn scale(word: &str) -> Result<f64, String> {
    match word.parse::<f64>() {
        Ok(scale) if (1e-3..=1e3).contains(&scale) => Ok(scale),
        _ => Err("give a number from 0.001 to 1000".into()),
    }
}
