//! `halfturn reproduce`: published results, and what comes of the same experiments here.

use super::outputs::{Inputs, OutputFile};
use super::{OutputFormat, json};
use crate::failure::{VerbFailure, print};
use crate::progress::Simulating;
use crate::report::{self, Diagram, Verdicts};
use block::BadInput;
use clap::Args;
use published::{PublishedTimeline, TargetFile, TargetPlan, TimelineRow};
use std::path::PathBuf;

/// Repeat published experiments and compare the results with the papers.
///
/// Each target is a published figure with its source, the experiment that measures it and its tolerance. A figure that
/// does not match is printed as such, with the cause if it is known. The exit code is 1 if a target fails that is not a
/// known miss.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn reproduce --list
  halfturn reproduce vio.table2
  halfturn reproduce vio.table1 vio.table3 --report tables.html
  halfturn reproduce --full --format json")]
pub struct Reproduce {
    /// The targets: an id that --list shows, or the beginning of several ids up to a dot (vio, vio.table2) [default:
    /// all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// List ids and claims without running anything
    #[arg(long)]
    list: bool,
    /// Use the longer runs that some files define
    #[arg(long)]
    full: bool,
    /// `table` for people, `json` for programs
    #[arg(long, value_enum, default_value = "table")]
    format: OutputFormat,
    /// Also write a page with the published points over the measured curves into this file (HTML, opens offline)
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

pub fn run(arguments: &Reproduce) -> Result<(), VerbFailure> {
    let files = published::all(arguments.full)?;
    let chosen = published::choose(&files, &arguments.ids)?;
    if arguments.list {
        let targets = chosen.iter().map(|(file, target)| &files[*file].targets[*target]);
        return print(&if arguments.format == OutputFormat::Json {
            json(&report::list_targets(targets))
        } else {
            report::list(targets)
        });
    }
    let report = OutputFile::if_wanted(arguments.report.as_ref(), &mut Inputs::none())?;
    let plan = TargetPlan::new(&files, chosen, arguments.report.is_some());
    let progress = Simulating::new(plan.cases());
    let results = sim::simulate(plan.cases(), &progress)?;
    progress.finish();
    let verdicts = Verdicts::new(plan.judge(&results)?);
    if let Some(report) = &report {
        let diagrams =
            plan.timelines().map(|(file, timeline)| diagram(file, timeline)).collect::<Result<Vec<_>, _>>()?;
        report.write(verdicts.page(&plan.draw(&results), &diagrams))?;
    }
    print(&if arguments.format == OutputFormat::Json { json(&verdicts) } else { verdicts.text() })?;
    VerbFailure::unless_whole("reproduce", &results)?;
    if verdicts.unexpected_failures() > 0 { Err(VerbFailure::Mismatch) } else { Ok(()) }
}

/// A timing diagram, its pieces of runs simulated.
fn diagram<'a>(file: &'a TargetFile, timeline: &'a PublishedTimeline) -> Result<Diagram<'a>, BadInput> {
    let record = |row: &'a TimelineRow| {
        let TimelineRow { disk, request, requests, commands, .. } = *row;
        let window = sim::Window { disk, request, requests, commands };
        Ok((row.name.as_str(), sim::timeline(&row.case.experiment, window)?))
    };
    let rows = timeline.rows.iter().map(record).collect::<Result<_, BadInput>>()?;
    Ok(Diagram { file, timeline, rows })
}
