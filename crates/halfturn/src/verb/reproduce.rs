//! `halfturn reproduce`: published results, and what comes of the same experiments here.

use super::outputs::{Inputs, Output as Written};
use super::{Output, json};
use crate::failure::{Failure, print};
use crate::progress::Simulating;
use crate::report::{self, Diagram, Verdicts};
use block::BadInput;
use clap::Args;
use published::{File, Plan, Row, Timeline};
use std::path::PathBuf;

/// Do published experiments again, and hold the results against the papers.
///
/// Each target is a published figure with its source, the experiment that measures it and how far it may be off. What
/// does not match is printed as not matching; where the cause is known, it is named. The exit code is 1 if a target
/// fails that is not such a known miss.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn reproduce --list
  halfturn reproduce vio.table2
  halfturn reproduce vio.table1 vio.table3 --report tables.html
  halfturn reproduce --full --format json")]
pub struct Reproduce {
    /// What to reproduce: an id that --list shows, or the beginning of some up to a dot (vio, vio.table2) [default: all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Show ids and claims, and run nothing
    #[arg(long)]
    list: bool,
    /// With longer runs, where a file gives them
    #[arg(long)]
    full: bool,
    /// `table` for people, `json` for programs
    #[arg(long, value_enum, default_value = "table")]
    format: Output,
    /// Also write a page with the published points over the measured curves into this file (HTML, opens offline)
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

pub fn run(arguments: &Reproduce) -> Result<(), Failure> {
    let files = published::all(arguments.full)?;
    let chosen = published::choose(&files, &arguments.ids)?;
    if arguments.list {
        let targets = chosen.iter().map(|(file, target)| &files[*file].targets[*target]);
        return print(&if arguments.format == Output::Json {
            json(&report::listed(targets))
        } else {
            report::list(targets)
        });
    }
    let report = Written::wanted(arguments.report.as_ref(), &mut Inputs::none())?;
    let plan = Plan::new(&files, chosen, arguments.report.is_some());
    let progress = Simulating::new(plan.cases());
    let results = sim::simulate(plan.cases(), &progress)?;
    progress.finish();
    let verdicts = Verdicts::new(plan.judge(&results)?);
    if let Some(report) = &report {
        let diagrams =
            plan.timelines().map(|(file, timeline)| diagram(file, timeline)).collect::<Result<Vec<_>, _>>()?;
        report.write(verdicts.page(&plan.drawn(&results), &diagrams))?;
    }
    print(&if arguments.format == Output::Json { json(&verdicts) } else { verdicts.text() })?;
    Failure::unless_whole("reproduce", &results)?;
    if verdicts.failed() > 0 { Err(Failure::Mismatch) } else { Ok(()) }
}

/// A timing diagram, its pieces of runs simulated.
fn diagram<'a>(file: &'a File, timeline: &'a Timeline) -> Result<Diagram<'a>, BadInput> {
    let record = |row: &'a Row| {
        let Row { disk, request, requests, commands, .. } = *row;
        let window = sim::Window { disk, request, requests, commands };
        Ok((row.name.as_str(), sim::timeline(&row.case.experiment, window)?))
    };
    let rows = timeline.rows.iter().map(record).collect::<Result<_, BadInput>>()?;
    Ok(Diagram { file, timeline, rows })
}
