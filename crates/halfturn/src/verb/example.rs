//! `halfturn example`: the experiments and scripts that ship inside the program, for whoever has no copy of its repository.

use super::outputs::{Inputs, OutputFile};
use crate::failure::{VerbFailure, print};
use block::{At, BadInput, nearest};
use clap::Args;
use std::path::PathBuf;

/// Names and contents of the files of `examples/`, those in folders after their folder's name and a slash.
const FILES: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/examples.rs"));

/// Write an example experiment, with the trace that it replays, or a script into a folder; without a name, list all.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn example
  halfturn example first-look && halfturn simulate first-look.toml")]
pub struct Example {
    /// The example to print; without it, all are listed
    name: Option<String>,
    /// The folder for its files
    #[arg(long, short, value_name = "FOLDER", default_value = ".")]
    output: PathBuf,
}

/// Prints one example, or the list of all.
pub fn run(arguments: &Example) -> Result<(), VerbFailure> {
    let Some(name) = &arguments.name else { return print(&list()) };
    let name = name.trim_end_matches(".toml");
    let Some((_, file, text)) = examples().find(|(other, ..)| *other == name) else {
        let mend = match nearest(name, examples().map(|(other, ..)| other)) {
            Some(near) => format!("did you mean '{near}'? `halfturn example` lists all"),
            None => "`halfturn example` lists all".into(),
        };
        let what = format!("there is no example called '{name}'");
        return Err(BadInput::new("halfturn example", At::File, what, mend).into());
    };
    let wanted = |other: &str| other == file || (other.contains('/') && text.contains(&format!("\"{other}\"")));
    let mut told = String::new();
    for (file, content) in FILES.iter().filter(|(other, _)| wanted(other)) {
        let path = arguments.output.join(file);
        if path.exists() {
            let mend = "take it away, or name another folder with --output";
            return Err(
                BadInput::new(path.display().to_string(), At::File, "there is such a file already", mend).into()
            );
        }
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| {
                let what = format!("the folder cannot be made: {error}");
                BadInput::new(folder.display().to_string(), At::File, what, "name another with --output")
            })?;
        }
        OutputFile::new(&path, &mut Inputs::none())?.write(content)?;
        told += &format!("{}\n", path.display());
    }
    print(&told)
}

/// What each example is called, its file and its text: of an experiment the name without its ending, of a script the whole.
fn examples() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    FILES.iter().filter_map(|(file, content)| {
        let script = file.ends_with(".sh") && !file.contains('/');
        let name = file.strip_suffix(".toml").or(Some(*file).filter(|_| script))?;
        Some((name, *file, std::str::from_utf8(content).ok()?))
    })
}

/// Each with its title; of a script the first line of what it says of itself.
fn list() -> String {
    let widest = examples().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let title = |text: &'static str| {
        let says = |line: &'static str| {
            line.strip_prefix("title = ").or(line.strip_prefix("# ").filter(|_| text.starts_with("#!")))
        };
        text.lines().find_map(says).map_or("", |title| title.trim_matches('"'))
    };
    examples().map(|(name, _, text)| format!(" {name:widest$}   {}\n", title(text))).collect()
}
