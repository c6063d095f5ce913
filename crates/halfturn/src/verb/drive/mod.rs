//! `halfturn drive`: the catalogue.

mod import;
mod list;
mod show;
mod validate;

use crate::failure::Failure;
use clap::Subcommand;

/// Look at the drives of the catalogue, or at a drive file of your own.
#[derive(Subcommand)]
pub enum Drive {
    List(list::List),
    Show(show::Show),
    Import(import::Import),
    Validate(validate::Validate),
}

pub fn run(verb: &Drive) -> Result<(), Failure> {
    match verb {
        Drive::List(arguments) => list::run(arguments),
        Drive::Show(arguments) => show::run(arguments),
        Drive::Import(arguments) => import::run(arguments),
        Drive::Validate(arguments) => validate::run(arguments),
    }
}
