//! `halfturn completions`: what a shell needs to complete verbs, options and their words.

use crate::failure::{VerbFailure, print};
use clap::{Args, Command};
use clap_complete::{Shell, generate};

/// Print completions for a shell.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn completions bash > ~/.local/share/bash-completion/completions/halfturn
  halfturn completions fish > ~/.config/fish/completions/halfturn.fish
  halfturn completions zsh > \"${fpath[1]}/_halfturn\"")]
pub struct Completions {
    /// The shell to complete in
    #[arg(value_enum)]
    shell: Shell,
}

/// Does it. `command` is the whole command line.
pub fn run(arguments: &Completions, mut command: Command) -> Result<(), VerbFailure> {
    let mut script = Vec::new();
    generate(arguments.shell, &mut command, "halfturn", &mut script);
    print(&String::from_utf8(script).expect("completions are text"))
}
