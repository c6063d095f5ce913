//! `halfturn trace capture`: records what a machine does, with the kernel's ftrace.

use super::recording;
use super::tracefs::Instance;
use crate::failure::{VerbFailure, print};
use crate::report;
use crate::verb::outputs::{Inputs, OutputFile};
use block::{At, BLOCK_BYTES, BadInput, units};
use clap::Args;
use flow::recorded::LoadedRecording;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

/// Record the whole machine while a command runs: which process has each processor, and which request a process waits
/// for.
///
/// The kernel's events go to a separate trace instance (tracefs; needs root), which is read and removed when the
/// command has ended. The recording is for `halfturn trace info`, and for `kind = "process-flow"` in an experiment,
/// which predicts how long the command would take with another drive or scheduler. Lost events are reported.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn trace capture --process-flow -o gzip.pflow -- gzip -k tree.tar
  halfturn trace capture --process-flow --cold -o two.pflow -- sh -c 'gzip -k a & gzip -k b & wait'")]
pub struct Capture {
    /// What to record: scheduler, interrupt, system-call, fault and block events of all processes
    #[arg(long, required = true)]
    process_flow: bool,
    /// The file to write; docs/guide/record-a-machine.md describes it
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The size of each processor's ring buffer, which must hold all events
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    buffer: String,
    /// Write back dirty pages and drop the page cache first
    #[arg(long)]
    cold: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub fn run(arguments: &Capture) -> Result<(), VerbFailure> {
    let Capture { output, command, .. } = arguments;
    let bad = |what| BadInput::new("--buffer", At::File, what, "write one such as 64MiB");
    let ring_kib = units::blocks(&arguments.buffer).map_err(bad)? * BLOCK_BYTES / 1024;
    let written = OutputFile::new(output, &mut Inputs::none())?;
    let unwritable = |error: io::Error| written.unwritable(&error);
    // Before there is anything to lose.
    let draft = written.draft()?;
    let instance = Instance::new(ring_kib)?;
    if arguments.cold {
        forget()?;
    }
    let (pid, status) = observe(&instance, command)?;
    let dropped = instance.dropped_events();
    let words = command.join(" ");
    let (events, lost) =
        recording::write(&instance.text(), draft.file().map_err(unwritable)?, Some((pid, &words)), dropped)
            .map_err(|failure| failure.of(output))?;
    draft.keep().map_err(unwritable)?;
    drop(instance);
    let tape = LoadedRecording::read(output)?;
    print(&report::recording(output, events, lost, &tape))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(VerbFailure::Command(code as u8)),
        None => Err(VerbFailure::Command(1)),
    }
}

/// Runs the command under observation; its process and how it ended. Ctrl-C is the command's.
fn observe(instance: &Instance, command: &[String]) -> Result<(u32, ExitStatus), VerbFailure> {
    let cannot = |error: io::Error| {
        let mend = "check the command after `--`";
        BadInput::new(command[0].clone(), At::File, format!("cannot be run: {error}"), mend)
    };
    let signals = Signals::new([SIGINT, SIGTERM]).map_err(cannot)?;
    instance.start()?;
    let ended = Command::new(&command[0]).args(&command[1..]).spawn().and_then(|mut child| {
        let pid = child.id();
        child.wait().map(|status| (pid, status))
    });
    instance.stop()?;
    signals.handle().close();
    Ok(ended.map_err(cannot)?)
}

/// Has the kernel write what is dirty and forget what it read.
fn forget() -> Result<(), BadInput> {
    let file = "/proc/sys/vm/drop_caches";
    let synced = Command::new("sync").status();
    synced.and_then(|_| fs::write(file, "3")).map_err(|error| {
        BadInput::new(file, At::File, format!("caches cannot be dropped: {error}"), "run as root, or leave out --cold")
    })
}
