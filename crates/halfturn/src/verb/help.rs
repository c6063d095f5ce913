//! `halfturn help`: what a key, a policy or a format means.

use crate::failure::{VerbFailure, print};
use crate::report;
use block::{At, BadInput, nearest};
use clap::{Args, Command};

/// Explain a verb, a key, a table of keys, a policy or another word of an experiment file.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  halfturn help simulate\n  halfturn help asatf\n  halfturn help scheduler.plan\n  halfturn help chunk"
)]
pub struct Help {
    /// What is to be explained: a verb (drive list), a key (chunk), a table (scheduler.plan), a policy (asatf)
    topic: Vec<String>,
}

pub fn run(arguments: &Help, mut command: Command) -> Result<(), VerbFailure> {
    let topic = arguments.topic.join(" ");
    command.build();
    if let Some(verb) = find(&mut command, &arguments.topic) {
        return print(&verb.render_long_help().to_string());
    }
    if let Some(text) = report::explain(&topic) {
        return print(&text);
    }
    let topics = report::topics();
    let verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
    let near = nearest(&topic, topics.iter().map(String::as_str).chain(verbs.iter().copied()));
    let mend = match near {
        Some(near) => format!("did you mean '{near}'? `halfturn keys` lists all keys"),
        None => format!("name a verb ({}), or a key that `halfturn keys` lists", verbs.join(", ")),
    };
    Err(BadInput::new("halfturn help", At::File, format!("there is nothing called '{topic}'"), mend).into())
}

/// The verb of these words; the program itself of none.
fn find<'a>(command: &'a mut Command, words: &[String]) -> Option<&'a mut Command> {
    words.iter().try_fold(command, |command, word| command.find_subcommand_mut(word))
}
