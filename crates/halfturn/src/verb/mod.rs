//! The verbs: what each takes, and its help. What they print is written by `report`.

mod advise;
#[cfg(feature = "linux")]
mod array;
#[cfg(feature = "linux")]
mod bench;
mod completions;
mod dataset;
mod drive;
mod example;
mod exported;
mod help;
mod keys;
mod man;
mod merge;
mod outputs;
mod profile;
#[cfg(feature = "linux")]
mod replay;
mod reproduce;
mod requests;
#[cfg(feature = "linux")]
mod scan;
mod schema;
#[cfg(feature = "linux")]
mod serve;
mod simulate;
mod sweep;
#[cfg(feature = "linux")]
mod top;
mod trace;
#[cfg(feature = "linux")]
mod volume;
mod window;

use crate::failure::VerbFailure;
use block::{At, BadInput};
use clap::{Command, Subcommand, ValueEnum};
use load::json;

/// A verb with its arguments.
#[derive(Subcommand)]
pub enum VerbArgs {
    Simulate(simulate::Simulate),
    Sweep(sweep::Sweep),
    Merge(merge::Merge),
    Advise(advise::AdviseArgs),
    Reproduce(reproduce::Reproduce),
    Profile(profile::ProfileArgs),
    #[cfg(feature = "linux")]
    Bench(bench::BenchArgs),
    #[cfg(feature = "linux")]
    Scan(scan::ScanArgs),
    #[cfg(feature = "linux")]
    Serve(serve::Serve),
    #[cfg(feature = "linux")]
    #[command(subcommand)]
    Volume(volume::VolumeArgs),
    #[cfg(feature = "linux")]
    #[command(subcommand)]
    Array(array::ArrayArgs),
    #[cfg(feature = "linux")]
    Top(top::TopArgs),
    #[cfg(feature = "linux")]
    Replay(replay::ReplayArgs),
    #[command(subcommand)]
    Drive(drive::DriveArgs),
    #[command(subcommand)]
    Trace(trace::TraceArgs),
    Example(example::Example),
    Keys(keys::Keys),
    Schema(schema::Schema),
    Completions(completions::Completions),
    Man(man::Man),
    Help(help::Help),
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Tables, for people to read.
    Table,
    /// JSON, for programs to read.
    Json,
}

/// Runs a verb. `command` is the whole command line, for help.
pub fn run(verb: VerbArgs, command: Command) -> Result<(), VerbFailure> {
    if !heeds_signals(&verb) {
        outputs::clear_on_interrupt()?;
    }
    match verb {
        VerbArgs::Simulate(arguments) => simulate::run(&arguments),
        VerbArgs::Sweep(arguments) => sweep::run(&arguments),
        VerbArgs::Merge(arguments) => merge::run(&arguments),
        VerbArgs::Advise(arguments) => advise::run(&arguments),
        VerbArgs::Reproduce(arguments) => reproduce::run(&arguments),
        VerbArgs::Profile(arguments) => profile::run(&arguments),
        #[cfg(feature = "linux")]
        VerbArgs::Bench(arguments) => bench::run(&arguments),
        #[cfg(feature = "linux")]
        VerbArgs::Scan(arguments) => scan::run(&arguments),
        #[cfg(feature = "linux")]
        VerbArgs::Serve(arguments) => serve::run(&arguments),
        #[cfg(feature = "linux")]
        VerbArgs::Volume(verb) => volume::run(&verb),
        #[cfg(feature = "linux")]
        VerbArgs::Array(verb) => array::run(&verb),
        #[cfg(feature = "linux")]
        VerbArgs::Top(arguments) => top::run(&arguments),
        #[cfg(feature = "linux")]
        VerbArgs::Replay(arguments) => replay::run(&arguments),
        VerbArgs::Drive(verb) => drive::run(&verb),
        VerbArgs::Trace(verb) => trace::run(&verb),
        VerbArgs::Example(arguments) => example::run(&arguments),
        VerbArgs::Keys(arguments) => keys::run(&arguments),
        VerbArgs::Schema(arguments) => schema::run(&arguments),
        VerbArgs::Completions(arguments) => completions::run(&arguments, command),
        VerbArgs::Man(arguments) => man::run(&arguments, command),
        VerbArgs::Help(arguments) => help::run(&arguments, command),
    }
}

/// Whether it ends by itself when it is told to.
fn heeds_signals(verb: &VerbArgs) -> bool {
    match verb {
        #[cfg(feature = "linux")]
        VerbArgs::Serve(_) => true,
        VerbArgs::Trace(_) => true,
        _ => false,
    }
}

/// So many threads to compute with, or one for each core.
fn threads(count: Option<u16>) -> Result<rayon::ThreadPool, VerbFailure> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count.map_or(0, usize::from)).build();
    Ok(pool.map_err(|error| {
        BadInput::new("--threads", At::File, format!("the threads cannot be started: {error}"), "ask for fewer")
    })?)
}

/// The format with this word.
fn trace_format(word: &str) -> Result<::trace::Format, VerbFailure> {
    let bad = |what| BadInput::new("--trace-format", At::File, what, "or leave it out: the content shows the format");
    word.parse().map_err(|what| bad(what).into())
}

/// A number that a service can be told: JSON has no other.
#[cfg(feature = "linux")]
fn finite(word: &str) -> Result<f64, String> {
    word.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| "give a number".into())
}

/// How many times as fast a clock runs.
fn scale(word: &str) -> Result<f64, String> {
    match word.parse::<f64>() {
        Ok(scale) if (1e-3..=1e3).contains(&scale) => Ok(scale),
        _ => Err("give a number from 0.001 to 1000".into()),
    }
}
