//! `halfturn array`: making the arrays that a service has, and what their disks say of them.

use super::OutputFormat;
use super::volume::ask;
use crate::failure::{VerbFailure, print};
use block::{At, BadInput};
use clap::Subcommand;
use live::make::{self, Existing};
use load::experiment::{self, Experiment};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Make an array of the disks that a service file names, see whether it can be served, and look after it while it is.
///
/// On each disk stands of which array it is, the how manieth, of what layout, and what became of the others; so a disk in another
/// place, of another array or of the past is refused. A service does not start on disks without that.
#[derive(Subcommand)]
pub enum ArrayArgs {
    /// Make the array: whatever its disks hold, copies and parities agree from then on
    Create {
        /// The service file with `[array]` and its disks
        #[arg(value_name = "CONFIG.toml")]
        file: PathBuf,
        /// Change or add a value of the file, e.g. array.level=6
        #[arg(long = "set", value_name = "KEY=VALUE")]
        sets: Vec<String>,
        /// Take the disks from an array that they are of; what is on it is lost
        #[arg(long)]
        force: bool,
    },
    /// See whether the array can be served; its disks stay as they are
    Assemble {
        /// The service file with `[array]` and its disks
        #[arg(value_name = "CONFIG.toml")]
        file: PathBuf,
        /// Change or add a value of the file
        #[arg(long = "set", value_name = "KEY=VALUE")]
        sets: Vec<String>,
        /// Without disks that are lacking, as long as the others hold all of it
        #[arg(long)]
        degraded: bool,
    },
    /// Show what each disk is to the array
    Status {
        /// The service file with `[array]` and its disks, of an array that is not served
        #[arg(value_name = "CONFIG.toml", required_unless_present = "control", conflicts_with = "control")]
        file: Option<PathBuf>,
        /// The control socket of the service that has it: `control` in `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: Option<PathBuf>,
        /// Change or add a value of the file
        #[arg(long = "set", value_name = "KEY=VALUE")]
        sets: Vec<String>,
        /// `table` for people, `json` for programs
        #[arg(long, value_enum, default_value = "table")]
        format: OutputFormat,
    },
    /// Have a service go on without a disk, which is of the past from then on
    Fail {
        /// The number of the disk, from 0
        #[arg(value_name = "DISK")]
        disk: u16,
        /// The control socket of the service: `control` in `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: PathBuf,
    },
    /// Have another disk take the place of one, and fill it while clients go on; the one before is of the past from then on
    Replace {
        /// The number of the disk, from 0
        #[arg(value_name = "DISK")]
        disk: u16,
        /// The file or device that takes its place; of an emulated drive, the file of what it holds
        #[arg(value_name = "PATH")]
        path: PathBuf,
        /// The control socket of the service: `control` in `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: PathBuf,
        /// Though it is of an array; what is on it is lost
        #[arg(long)]
        force: bool,
    },
    /// Give a service a spare, which takes the place of the next disk that is given up, or of one that is lacking
    Add {
        /// The file or device; of emulated drives, the file of what it holds
        #[arg(value_name = "PATH")]
        path: PathBuf,
        /// The control socket of the service: `control` in `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: PathBuf,
        /// Though it is of an array; what is on it is lost
        #[arg(long)]
        force: bool,
    },
    /// Have a service's array grow by a disk while clients go on, RAID 0/1 by one for each copy. It has more room when that has ended
    Grow {
        /// The file or device; of emulated drives, the file of what it holds
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
        /// The control socket of the service: `control` in `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: Option<PathBuf>,
        /// Though it is of an array; what is on it is lost
        #[arg(long)]
        force: bool,
    },
    /// Have a service's array be of another level while clients go on: a RAID 5 becomes a RAID 6 by a disk, and a RAID 5 again without it; a
    /// RAID 0/1 becomes a RAID 5 on its disks
    ///
    /// The disk by which a RAID 5 becomes a RAID 6 has the second parity of all rows, so that nothing moves. Until it is filled, as one that
    /// took a place is, one disk may fail, and then two. Where a RAID 0/1 becomes a RAID 5, rows move, as where it grows, and it has
    /// more room when that has ended; there is no way back.
    Level {
        /// 6, with the disk that joins; or 5, without the one that did, or in place of copies
        #[arg(value_name = "LEVEL")]
        level: String,
        /// For 6 the file or device; of emulated drives, the file of what it holds
        #[arg(value_name = "PATH")]
        path: Option<PathBuf>,
        /// The control socket of the service: `control` in `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: PathBuf,
        /// Though it is of an array; what is on it is lost
        #[arg(long)]
        force: bool,
    },
    /// Read all of the array while it is served, compare it, and write anew what cannot be read or does not agree
    Scrub {
        /// The control socket of the service: `control` in `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: PathBuf,
        /// End the one that is under way
        #[arg(long)]
        stop: bool,
    },
    /// Rebuild and scrub at another pace from now on
    Pace {
        /// The control socket of the service: `control` in `[serve]`
        #[arg(long, value_name = "SOCKET")]
        control: PathBuf,
        /// The least part of the time, 0 to 1, beside what clients leave
        #[arg(long, value_name = "PART", required_unless_present = "rate", value_parser = super::finite)]
        floor: Option<f64>,
        /// Requests a second at most; 0 for no cap
        #[arg(long, value_name = "NUMBER", value_parser = super::finite)]
        rate: Option<f64>,
    },
}

pub fn run(verb: &ArrayArgs) -> Result<(), VerbFailure> {
    match verb {
        ArrayArgs::Create { file, sets, force } => {
            let existing = if *force { Existing::Overwritten } else { Existing::Kept };
            let made = make::create_array(&read(file, sets)?, existing)?;
            print(&format!("array {} is made\n", made.name))?;
            if let Some(unused) = made.unused {
                eprintln!("{unused}");
            }
            Ok(())
        }
        ArrayArgs::Assemble { file, sets, degraded } => {
            let mut sets = sets.clone();
            sets.extend(degraded.then(|| "array.degraded=true".to_owned()));
            let (status, admitted) = make::array_status(&read(file, &sets)?)?;
            print(&status.text())?;
            Ok(admitted?)
        }
        ArrayArgs::Status { file: Some(file), sets, format, .. } => {
            let (status, _) = make::array_status(&read(file, sets)?)?;
            print(&match format {
                OutputFormat::Table => status.text(),
                OutputFormat::Json => format!("{:#}\n", status.json()),
            })
        }
        ArrayArgs::Status { control, format, .. } => {
            let answer = ask(control.as_deref().unwrap_or(Path::new("")), &json!({ "verb": "array" }))?;
            print(&match format {
                OutputFormat::Table => answer["text"].as_str().unwrap_or_default().to_owned(),
                OutputFormat::Json => format!("{:#}\n", answer["array"]),
            })
        }
        ArrayArgs::Fail { disk, control } => {
            ask(control, &json!({ "verb": "array", "fail": disk }))?;
            Ok(())
        }
        ArrayArgs::Replace { disk, path, control, force } => {
            let path = whole(path)?;
            ask(control, &json!({ "verb": "array", "replace": disk, "path": path, "force": force }))?;
            print(&format!("{path} takes the place of disk {disk} and is being filled; name it in the service file\n"))
        }
        ArrayArgs::Add { path, control, force } => {
            ask(control, &json!({ "verb": "array", "add": whole(path)?, "force": force }))?;
            Ok(())
        }
        ArrayArgs::Grow { paths, control: None, .. } => Err(refuse_unserved(&paths[0]).into()),
        ArrayArgs::Grow { paths, control: Some(control), force } => {
            let paths = paths.iter().map(|path| whole(path)).collect::<Result<Vec<_>, _>>()?;
            ask(control, &json!({ "verb": "array", "grow": paths, "force": force }))?;
            let them = if paths.len() == 1 { "it" } else { "them" };
            let paths = paths.join(" and ");
            print(&format!("the array grows by {paths}; name {them} in the service file, as the last of its disks\n"))
        }
        ArrayArgs::Level { level, path, control, force } => {
            let (path, told) = plan_level(level, path.as_deref())?;
            let answer = ask(control, &json!({ "verb": "array", "level": level, "path": path, "force": force }))?;
            print(if answer["array"]["level"] == "0/1" { TOLD_OF_TRADE } else { &told })
        }
        ArrayArgs::Scrub { control, stop } => {
            ask(control, &json!({ "verb": "array", "scrub": if *stop { "stop" } else { "start" } }))?;
            Ok(())
        }
        ArrayArgs::Pace { control, floor, rate } => {
            ask(control, &json!({ "verb": "array", "floor": floor, "rate": rate }))?;
            Ok(())
        }
    }
}

/// An array grows by a disk, and no service was named.
fn refuse_unserved(path: &Path) -> BadInput {
    let what = "an array grows only while it is served";
    let mend = "serve it, then name its socket: halfturn array grow PATH --control SOCKET";
    BadInput::new(path.display().to_string(), At::File, what, mend)
}

/// What is said where an array comes to have parity in place of copies.
const TOLD_OF_TRADE: &str =
    "the array becomes a RAID 5 on the disks that it has; give it `level = \"5\"` in the service file\n";

/// The path of the disk by which an array is to be of another level, if it takes one, and what is said of that.
fn plan_level(level: &str, path: Option<&Path>) -> Result<(Option<String>, String), BadInput> {
    let bad = |what: &str, mend: &str| Err(BadInput::new(format!("level {level}"), At::File, what, mend));
    match (level, path) {
        ("6", Some(path)) => {
            let path = whole(path)?;
            let then = "give it `level = \"6\"` in the service file, and name that disk there, as the last";
            let told = format!("the array becomes a RAID 6, of which {path} has the second parity; {then}\n");
            Ok((Some(path), told))
        }
        ("5", None) => {
            let then = "give it `level = \"5\"` in the service file, and take that disk out there";
            Ok((None, format!("the array becomes a RAID 5 without its last disk; {then}\n")))
        }
        ("6", None) => bad("a second parity needs a disk", "name it: halfturn array level 6 PATH --control SOCKET"),
        ("5", Some(_)) => {
            bad("an array that becomes a RAID 5 takes no disk: a RAID 6 lets go its last one", "leave the path out")
        }
        _ => bad("is none that an array comes to be of while it is served", "give 6 or 5"),
    }
}

/// A path that a service finds, whatever its folder is.
fn whole(path: &Path) -> Result<String, BadInput> {
    let found = std::path::absolute(path).ok().and_then(|path| path.into_os_string().into_string().ok());
    found.ok_or_else(|| {
        let mend = "give a path that is text";
        BadInput::new(path.display().to_string(), At::File, "cannot be told to a service", mend)
    })
}

fn read(file: &Path, sets: &[String]) -> Result<Experiment, BadInput> {
    let name = file.display().to_string();
    let unread = |error: std::io::Error| {
        BadInput::new(name.clone(), At::File, format!("cannot be read: {error}"), "give a service file with [array]")
    };
    let text = std::fs::read_to_string(file).map_err(unread)?;
    experiment::parse_service(&name, &text, sets)
}
