//! `halfturn man`: the manual pages, one for each verb.

use crate::failure::VerbFailure;
use block::{At, BadInput};
use clap::{Args, Command};
use std::path::PathBuf;

/// Write the manual pages, one a verb, into a folder.
///
/// The folder is made if it is not there. Pages are those of the section 1: `man -l FOLDER/halfturn-simulate.1` shows one.
#[derive(Args)]
#[command(after_help = "Example:\n  halfturn man ~/.local/share/man/man1")]
pub struct Man {
    /// Where the pages go
    folder: PathBuf,
}

/// Does it. `command` is the whole command line.
pub fn run(arguments: &Man, command: Command) -> Result<(), VerbFailure> {
    let folder = &arguments.folder;
    let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder));
    written.map_err(|error| {
        let what = format!("the pages cannot be written: {error}");
        BadInput::new(folder.display().to_string(), At::File, what, "name a folder that you may write to").into()
    })
}
