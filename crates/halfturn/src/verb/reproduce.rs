//! `halfturn reproduce`: published results, and what comes of the same experiments here.

use super::outputs::{Inputs, OutputFile};
use super::{OutputFormat, json};
use crate::failure::{VerbFailure, print};
use crate::progress::Simulating;
use crate::report::{self, Diagram, Verdicts};
use block::BadInput;
use clap::Args;
use load::experiment::Case;
use load::results::Results;
use published::{FULL_SEEDS, PublishedTimeline, RunLength, Seeds, TargetFile, TargetPlan, TimelineRow};
use std::path::PathBuf;

/// Repeat published experiments and compare the results with the papers.
///
/// Each target is a published figure with its source, the experiment that measures it and its tolerance. A target is held
/// if it is within the tolerance under every seed, missed if under none, and undecided otherwise. A known cause of a miss is
/// printed beside it. The exit code is 1 if a target is missed and its file does not expect that.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn reproduce --list
  halfturn reproduce vio.table2
  halfturn reproduce vio.table1 vio.table3 --report tables.html
  halfturn reproduce praid.fig20 --seeds 10
  halfturn reproduce pfm.table3 --set system.slice=100ms
  halfturn reproduce --full --format json")]
pub struct Reproduce {
    /// The targets: an id that --list shows, or the beginning of several ids up to a dot (vio, vio.table2) [default:
    /// all]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// List ids and claims without running anything
    #[arg(long)]
    list: bool,
    /// Use the longer runs that some files define, and ten seeds
    #[arg(long)]
    full: bool,
    /// How many seeds to run each experiment under, so that chance shows in the verdicts [default: 1, with --full 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    seeds: Option<u32>,
    /// Change a key in all experiments of the files that are chosen, as `simulate --set` does; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// `table` for people, `json` for programs
    #[arg(long, value_enum, default_value = "table")]
    format: OutputFormat,
    /// Also write a page with the published points over the measured curves into this file (HTML, opens offline)
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

pub fn run(arguments: &Reproduce) -> Result<(), VerbFailure> {
    let length = if arguments.full { RunLength::Full } else { RunLength::Quick };
    let files = published::read_changed(length, &arguments.ids, &arguments.set)?;
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
    let mut whole = Ok(());
    let count = arguments.seeds.unwrap_or(if arguments.full { FULL_SEEDS } else { 1 });
    let seeds = Seeds::under(&plan, count, &mut |cases| {
        let results = simulate(cases)?;
        if whole.is_ok() {
            whole = VerbFailure::unless_whole("reproduce", &results);
        }
        Ok::<_, VerbFailure>(results)
    })?;
    let verdicts = Verdicts::new(plan.judge(&seeds)?);
    if let Some(report) = &report {
        let diagrams =
            plan.timelines().map(|(file, timeline)| diagram(file, timeline)).collect::<Result<Vec<_>, _>>()?;
        report.write(verdicts.page(&plan.draw(&seeds), &diagrams))?;
    }
    print(&if arguments.format == OutputFormat::Json { json(&verdicts.figures()) } else { verdicts.text() })?;
    whole?;
    if verdicts.unforeseen() > 0 { Err(VerbFailure::Mismatch) } else { Ok(()) }
}

fn simulate(cases: &[Case]) -> Result<Results, BadInput> {
    let progress = Simulating::new(cases);
    let results = sim::simulate(cases, &progress)?;
    progress.finish();
    Ok(results)
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
