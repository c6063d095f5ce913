//! `halfturn volume`: what a running service says of its volumes, and is told of them.

use super::OutputFormat;
use crate::failure::{VerbFailure, print};
use crate::report;
use block::{At, BLOCK_BYTES, BadInput, Span, units};
use clap::Subcommand;
use load::experiment::FaultKind;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// List the volumes of a running service, change their quality of service, make them faulty, or resume one after a failed flush.
#[derive(Subcommand)]
pub enum VolumeArgs {
    /// Show each volume's size, class, clients, completed requests and response times
    List {
        /// The control socket: `control` in the service file's `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: PathBuf,
        /// `table` for people, `json` for programs
        #[arg(long, value_enum, default_value = "table")]
        format: OutputFormat,
    },
    /// Change a volume's quality of service, or that of some of its clients; requests in flight keep theirs
    Set {
        /// The volume to change
        #[arg(value_name = "VOLUME")]
        volume: String,
        /// The control socket: `control` in the service file's `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: PathBuf,
        /// The service class of its requests, one of those in the service file
        #[arg(long, value_name = "CLASS")]
        class: Option<String>,
        /// Their priority, 0 to 255; larger is more urgent
        #[arg(long, value_name = "N")]
        priority: Option<u8>,
        /// Their hard deadline, e.g. 50ms, or `none`
        #[arg(long, value_name = "TIME")]
        deadline: Option<String>,
        /// Its weight where the arm's time is shared out
        #[arg(long, value_name = "WEIGHT", value_parser = super::finite)]
        share: Option<f64>,
        /// The least part of the arm's time that it gets while it has something waiting, 0 to 1
        #[arg(long, value_name = "PART", value_parser = super::finite)]
        floor: Option<f64>,
        /// The greatest part of the arm's time that it gets, 0 to 1
        #[arg(long, value_name = "PART", value_parser = super::finite)]
        limit: Option<f64>,
        /// Of clients of this user alone, by name or number, on the UNIX socket
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        /// Of clients of this process alone, as `ps -o comm` shows it
        #[arg(long, value_name = "NAME")]
        process: Option<String>,
        /// Of clients in this control group alone, or one under it
        #[arg(long, value_name = "PATH")]
        cgroup: Option<String>,
        /// Of clients with this name in their certificate alone
        #[arg(long, value_name = "NAME")]
        certificate: Option<String>,
    },
    /// Make a volume slow, sick or cut off, to see how what stands on it fares
    ///
    /// The service file must allow it: `faults = true` in `[serve]`. `slow` lets commands take `--factor` times as long, `stall` has
    /// none come back, `error` fails one in `--one-of`, `torn` does each write in part and fails it, `lie` says that a flush is done
    /// and has a `cut` lose what it was of, `cut` loses what was not flushed and answers nothing more; `back` ends all of it. A fault
    /// takes the place of one told before of the same blocks; faults of different blocks, and those that `[[fault]]` of the file
    /// brings, are there side by side. After `cut`, commands that were under way fail, and a flush among them has to be seen to
    /// (`volume resume`).
    Fault {
        /// The volume, by its name
        #[arg(value_name = "VOLUME")]
        volume: String,
        /// What is wrong with it from now on
        #[arg(value_name = "FAULT", value_parser = clap::builder::PossibleValuesParser::new(FaultKind::names()))]
        fault: String,
        /// The control socket: `control` in the service file's `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: PathBuf,
        /// How many times as long commands take
        #[arg(long, value_name = "TIMES", default_value = "10", value_parser = super::finite)]
        factor: f64,
        /// Of how many commands one fails
        #[arg(long, value_name = "N", default_value = "1")]
        one_of: u64,
        /// The seed by which it is drawn what fails, or is lost
        #[arg(long, value_name = "N", default_value = "1")]
        seed: u64,
        /// Where in the volume it begins, e.g. 1GiB; then it is of what touches these blocks, and of no flush
        #[arg(long, value_name = "SIZE")]
        offset: Option<String>,
        /// How much of the volume has it, e.g. 64KiB [default: up to its end]
        #[arg(long, value_name = "SIZE")]
        size: Option<String>,
    },
    /// Resume a volume after a failed flush
    ///
    /// When a flush fails, the kernel may have given up what was written before, and would tell so to nobody else: so no flush and
    /// no write with FUA succeeds from then on, on any volume of the device, until this says of each that its owner has seen to it.
    Resume {
        /// The volume to resume
        #[arg(value_name = "VOLUME")]
        volume: String,
        /// The control socket: `control` in the service file's `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: PathBuf,
    },
}

pub fn run(verb: &VolumeArgs) -> Result<(), VerbFailure> {
    match verb {
        VolumeArgs::List { control, format } => {
            let answer = ask(control, &json!({ "verb": "list" }))?;
            print(&match format {
                OutputFormat::Json => super::json(&answer),
                OutputFormat::Table => report::listed_volumes(&answer),
            })
        }
        VolumeArgs::Set {
            volume,
            control,
            class,
            priority,
            deadline,
            share,
            floor,
            limit,
            user,
            process,
            cgroup,
            certificate,
        } => {
            let deadline = deadline.as_deref().map(deadline_ms).transpose()?;
            let question = json!({
                "verb": "set", "volume": volume, "class": class, "priority": priority, "deadline_ms": deadline,
                "share": share, "floor": floor, "limit": limit, "user": user, "process": process, "cgroup": cgroup,
                "certificate": certificate,
            });
            ask(control, &question).map(drop)
        }
        VolumeArgs::Fault { volume, fault, control, factor, one_of, seed, offset, size } => {
            let question = json!({
                "verb": "fault", "volume": volume, "fault": fault, "factor": factor, "one_of": one_of, "seed": seed,
                "offset": bytes("--offset", offset.as_deref())?, "size": bytes("--size", size.as_deref())?,
            });
            ask(control, &question).map(drop)
        }
        VolumeArgs::Resume { volume, control } => {
            ask(control, &json!({ "verb": "resume", "volume": volume })).map(drop)
        }
    }
}

/// The milliseconds of a deadline; 0 says that there is none.
fn deadline_ms(told: &str) -> Result<f64, BadInput> {
    let bad = |what| BadInput::new("--deadline", At::File, what, "give a time such as 50ms, or none");
    match told {
        "none" => Ok(0.0),
        time => match units::span(time).map_err(bad)? {
            Span(0) => Err(bad("every request that waits would be dropped".into())),
            time => Ok(time.as_ms()),
        },
    }
}

/// How many bytes an option says, where it is given.
fn bytes(option: &str, told: Option<&str>) -> Result<Option<u64>, BadInput> {
    let bad = |what| BadInput::new(option, At::File, what, "give one such as 64KiB");
    told.map(|told| units::blocks(told).map(|blocks| blocks * BLOCK_BYTES).map_err(bad)).transpose()
}

/// Asks the service behind a control socket. What it refuses it gives its own mend, if there is one.
pub(super) fn ask(control: &Path, question: &Value) -> Result<Value, VerbFailure> {
    let bad = |told: String| {
        let silent = told.starts_with("does not answer");
        let mend = if silent { "give the control socket of a service that runs" } else { "" };
        let (what, mend) = told.rsplit_once("; ").unwrap_or((&told, mend));
        BadInput::new(control.display().to_string(), At::File, what, mend)
    };
    Ok(live::control::ask(control, question).map_err(bad)?)
}
