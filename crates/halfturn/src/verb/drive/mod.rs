//! `halfturn drive`: the catalogue.

mod capture;
mod import;
mod list;
mod new;
mod show;
mod validate;

use crate::failure::VerbFailure;
use clap::Subcommand;

/// Show, make, import, capture and validate drive models.
#[derive(Subcommand)]
pub enum DriveArgs {
    List(list::ListArgs),
    Show(show::Show),
    New(Box<new::NewArgs>),
    Import(import::ImportArgs),
    Capture(capture::DriveCaptureArgs),
    Validate(validate::Validate),
}

pub fn run(verb: &DriveArgs) -> Result<(), VerbFailure> {
    match verb {
        DriveArgs::List(arguments) => list::run(arguments),
        DriveArgs::Show(arguments) => show::run(arguments),
        DriveArgs::New(arguments) => new::run(arguments),
        DriveArgs::Import(arguments) => import::run(arguments),
        DriveArgs::Capture(arguments) => capture::run(arguments),
        DriveArgs::Validate(arguments) => validate::run(arguments),
    }
}
