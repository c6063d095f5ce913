//! Why a verb stopped, and what is said of it.

use block::{At, BadInput};
use load::results::{Results, Run};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

/// Why a verb stopped.
pub enum VerbFailure {
    /// What the user gave cannot be used.
    Input(BadInput),
    /// Not all that was asked was done, as this says: what was printed is not to be believed.
    Undone(BadInput),
    /// A published result does not come out, as what was printed shows.
    Mismatch,
    /// A command that was run ended with this exit code.
    #[cfg_attr(not(feature = "linux"), expect(dead_code, reason = "commands are run beside what Linux has alone"))]
    Command(u8),
    /// Standard output could not be written.
    Output(io::Error),
}

impl From<BadInput> for VerbFailure {
    fn from(error: BadInput) -> VerbFailure {
        VerbFailure::Input(error)
    }
}

impl VerbFailure {
    /// A file of the results that cannot be written.
    pub fn unwritable(path: &Path, error: &io::Error) -> VerbFailure {
        let what = format!("cannot be written: {error}");
        BadInput::new(path.display().to_string(), At::File, what, "name a folder you may write to").into()
    }

    /// An error where requests of a run never ended.
    pub fn unless_whole(name: &str, results: &Results) -> Result<(), VerbFailure> {
        let broken: Vec<&Run> = results.runs.iter().filter(|run| run.unfinished > 0).collect();
        let Some(first) = broken.first() else { return Ok(()) };
        let labels: Vec<String> = first.labels.iter().map(|(key, value)| format!("{key} = {value}")).collect();
        let whose = if labels.is_empty() { String::new() } else { format!(" ({})", labels.join(", ")) };
        let others = match broken.len() {
            1 => String::new(),
            runs => format!(", nor did some of {} other runs", runs - 1),
        };
        let what = format!("not whole: {} requests never ended{whose}{others}", first.unfinished);
        let mend = "do not believe the figures; give the drive and the load in a report of the fault";
        Err(VerbFailure::Undone(BadInput::new(name, At::File, what, mend)))
    }

    /// Says why on stderr; the exit code. A reader who went away (`| head`) is no failure.
    pub fn report(self) -> ExitCode {
        // Where stderr is closed there is no one left to tell.
        let say = |text: String| writeln!(io::stderr(), "{text}").unwrap_or_default();
        match self {
            VerbFailure::Undone(error) => {
                say(format!("error: {error}"));
                return ExitCode::FAILURE;
            }
            VerbFailure::Input(error) => say(format!("error: {error}")),
            VerbFailure::Mismatch => return ExitCode::FAILURE,
            VerbFailure::Command(code) => return ExitCode::from(code),
            VerbFailure::Output(error) if error.kind() == ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            VerbFailure::Output(error) => {
                say(format!("error: stdout: cannot be written: {error}"));
                return ExitCode::FAILURE;
            }
        }
        ExitCode::from(2)
    }
}

/// Writes what a verb has to say.
pub fn print(text: &str) -> Result<(), VerbFailure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(VerbFailure::Output)
}
