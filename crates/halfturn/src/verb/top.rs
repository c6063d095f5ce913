//! `halfturn top`: what a running service does now.

use super::OutputFormat;
use super::volume::ask;
use crate::failure::{VerbFailure, print};
use crate::report;
use block::{At, BadInput, units};
use clap::Args;
use serde_json::json;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Watch a running service: by volume its clients, requests, throughput and latency; preemptions, and how late the host is.
///
/// All figures are of the time since the picture before, the first of the first interval. On a terminal the picture is drawn anew;
/// elsewhere one follows the other. It ends with the service, or on Ctrl-C.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn top --control /tmp/vm.control
  halfturn top --control /tmp/vm.control --once --interval 10s --format json")]
pub struct TopArgs {
    /// The control socket: `control` in the service file's `[serve]`
    #[arg(long, value_name = "SOCKET")]
    control: PathBuf,
    /// The time between two pictures
    #[arg(long, value_name = "TIME", default_value = "1s")]
    interval: String,
    /// Show one picture, and end
    #[arg(long)]
    once: bool,
    /// `table` for people, `json` for programs: one object a line
    #[arg(long, value_enum, default_value = "table")]
    format: OutputFormat,
}

/// What clears a terminal, and begins at its top.
const CLEAR: &str = "\x1b[H\x1b[2J";

pub fn run(arguments: &TopArgs) -> Result<(), VerbFailure> {
    let bad = |what| BadInput::new("--interval", At::File, what, "give a time such as 1s");
    let interval = match units::span(&arguments.interval).map_err(bad)? {
        block::Span(0) => return Err(bad("nothing happens in no time".into()).into()),
        interval => Duration::from_nanos(interval.0),
    };
    let question = json!({ "verb": "metrics" });
    let clears = arguments.format == OutputFormat::Table && !arguments.once && std::io::stdout().is_terminal();
    let (mut before, mut since) = (ask(&arguments.control, &question)?, Instant::now());
    let mut shown = false;
    loop {
        std::thread::sleep(interval);
        let now = match ask(&arguments.control, &question) {
            // A service that has ended is no mistake of whoever watched it.
            Err(_) if shown => return Ok(()),
            answer => answer?,
        };
        let seconds = since.elapsed().as_secs_f64();
        since = Instant::now();
        let picture = report::activity(&before, &now, seconds);
        print(&match arguments.format {
            OutputFormat::Json => format!("{picture}\n"),
            OutputFormat::Table if clears => format!("{CLEAR}{}", report::top(&picture)),
            OutputFormat::Table if shown => format!("\n{}", report::top(&picture)),
            OutputFormat::Table => report::top(&picture),
        })?;
        if arguments.once {
            return Ok(());
        }
        (before, shown) = (now, true);
    }
}
