//! `halfturn trace`: recorded I/O.

mod info;

use crate::failure::Failure;
use clap::Subcommand;

/// Look at a recorded trace of block I/O.
#[derive(Subcommand)]
pub enum Trace {
    Info(info::Info),
}

/// Does it.
pub fn run(verb: &Trace) -> Result<(), Failure> {
    match verb {
        Trace::Info(arguments) => info::run(arguments),
    }
}
