//! `halfturn drive new`: a drive file from what a data sheet prints.

use crate::failure::{VerbFailure, print};
use crate::report;
use crate::verb::outputs::{Inputs, OutputFile};
use block::{At, BadInput, units};
use clap::Args;
use disk::datasheet::{DataSheet, blocks_sold_as};
use std::path::PathBuf;

/// Make a drive file from a data sheet.
///
/// Give what the sheet prints; only --rpm, --capacity and --outer are needed. What it does not print is assumed, and said with what it
/// may be: in a table here, and in the file. The drive is then simulated, and its rates and random reads are printed beside those of
/// the sheet. Without -o the file goes to standard output.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn drive new --rpm 7200 --capacity 20TB --outer 285 -o mine.toml
  halfturn drive new --rpm 7200 --capacity 6TB --outer 255 --seek 7.4 --write-seek 8.2 --track-to-track 0.23 --cache 256MiB --platters 4
  halfturn simulate examples/closed-depths.toml --drive mine.toml")]
pub struct NewArgs {
    /// How fast the platters turn, in revolutions a minute
    #[arg(long, value_name = "N")]
    rpm: f64,
    /// Capacity as sold, e.g. 20TB
    #[arg(long, value_name = "SIZE")]
    capacity: String,
    /// Sustained rate of the outermost zone (the sheet's maximum), in 10^6 bytes/s; 1 MiB/s is 1.049
    #[arg(long, value_name = "MB/s")]
    outer: f64,
    /// Sustained rate of the innermost zone
    #[arg(long, value_name = "MB/s")]
    inner: Option<f64>,
    /// Average seek before a read
    #[arg(long, value_name = "MS")]
    seek: Option<f64>,
    /// Average seek before a write
    #[arg(long, value_name = "MS")]
    write_seek: Option<f64>,
    /// Seek over one track before a read
    #[arg(long, value_name = "MS")]
    track_to_track: Option<f64>,
    /// Seek over one track before a write
    #[arg(long, value_name = "MS")]
    write_track_to_track: Option<f64>,
    /// Seek over the whole stroke
    #[arg(long, value_name = "MS")]
    full_stroke: Option<f64>,
    /// Buffer memory, e.g. 256MiB
    #[arg(long, value_name = "SIZE")]
    cache: Option<String>,
    /// Platters, each with two heads
    #[arg(long, value_name = "N", conflicts_with = "heads")]
    platters: Option<u32>,
    /// How many surfaces are in use
    #[arg(long, value_name = "N")]
    heads: Option<u32>,
    /// Rate of the interface: 550 of SATA at 6 Gbit/s, 1200 of SAS at 12 Gbit/s
    #[arg(long, value_name = "MB/s")]
    interface: Option<f64>,
    /// Random reads of 4 KiB a second with so many commands in the drive, e.g. 170@16: the drive is held against it
    #[arg(long, value_name = "N@COMMANDS", value_parser = rate_at_depth)]
    random_reads: Option<(u32, f64)>,
    /// What it is, in words
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Where the numbers come from; may be given several times
    #[arg(long, value_name = "TEXT")]
    source: Vec<String>,
    /// Write the drive into this file (TOML)
    #[arg(short, long, value_name = "DRIVE.toml")]
    output: Option<PathBuf>,
}

impl NewArgs {
    /// What the sheet prints, by what was given.
    fn sheet(&self) -> Result<DataSheet, BadInput> {
        let size = |option: &str, text: &str| {
            let mend = "write a size with its unit, e.g. 20TB or 256MiB";
            units::blocks_in(text).map_err(|what| BadInput::new(option, At::File, what, mend))
        };
        let blocks = blocks_sold_as(size("--capacity", &self.capacity)?);
        let title = || format!("{} at {} rpm, by its data sheet", units::show_blocks(blocks), self.rpm);
        Ok(DataSheet {
            title: self.title.clone().unwrap_or_else(title),
            sources: self.source.clone(),
            rpm: self.rpm,
            blocks,
            outer_mb_s: self.outer,
            inner_mb_s: self.inner,
            seek_ms: self.seek,
            write_seek_ms: self.write_seek,
            track_ms: self.track_to_track,
            write_track_ms: self.write_track_to_track,
            full_stroke_ms: self.full_stroke,
            cache: self.cache.as_deref().map(|text| size("--cache", text)).transpose()?,
            heads: self.heads.or(self.platters.map(|platters| platters.saturating_mul(2))),
            bus_mb_s: self.interface,
            random_reads_s: self.random_reads,
        })
    }
}

/// `170@16`: commands at once, reads a second.
fn rate_at_depth(text: &str) -> Result<(u32, f64), String> {
    let parts = text.split_once('@').and_then(|(rate, depth)| Some((depth.parse().ok()?, rate.parse().ok()?)));
    parts.ok_or_else(|| "write reads a second and commands at once, e.g. 170@16".into())
}

pub fn run(arguments: &NewArgs) -> Result<(), VerbFailure> {
    let sheet = arguments.sheet()?;
    let output = OutputFile::if_wanted(arguments.output.as_ref(), &mut Inputs::none())?;
    let made = sheet.make()?;
    let (Some(output), Some(path)) = (&output, &arguments.output) else {
        return print(&made.text);
    };
    let report = report::sheet_report(&sheet, &made, &path.display().to_string());
    output.write(&made.text)?;
    print(&report)
}
