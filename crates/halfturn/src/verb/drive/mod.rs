//! `halfturn drive`: the catalogue.

mod list;
mod show;

use crate::failure::Failure;
use clap::Subcommand;

/// Look at the drives of the catalogue, or at a drive file of your own.
#[derive(Subcommand)]
pub enum Drive {
    List(list::List),
    Show(show::Show),
}

/// Does it.
pub fn run(verb: &Drive) -> Result<(), Failure> {
    match verb {
        Drive::List(arguments) => list::run(arguments),
        Drive::Show(arguments) => show::run(arguments),
    }
}
