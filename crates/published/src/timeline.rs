//! Timing diagrams: what a drive and its arm did, drawn from runs.

use crate::file::FileExperiment;
use block::BadInput;
use config::Section;
use load::experiment::Case;

/// Commands of a row at most, where the file does not say.
const COMMANDS: u32 = 40;

/// A timing diagram: a `[[timeline]]`.
#[derive(Clone, Debug)]
pub struct PublishedTimeline {
    /// The title above the diagram.
    pub title: String,
    /// What is drawn under them over the same time, of the first row.
    pub values: Option<Values>,
    /// Its rows, one under the other.
    pub rows: Vec<TimelineRow>,
}

/// Something with a value at every time: `values`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// `average-yield`: of the request being served, what it yields by the time that serving it takes (Preemptive RAID
    /// scheduling, Eq. 4), and by the time of its transfer alone.
    AverageYield,
    /// `writes`: by how much what a write out of the buffer is worth counts (Eq. 3).
    Writes,
}

/// The names of values.
const VALUES: [(&str, Values); 2] = [("average-yield", Values::AverageYield), ("writes", Values::Writes)];

/// A piece of a run: a `[[timeline.row]]`.
#[derive(Clone, Debug)]
pub struct TimelineRow {
    /// The row's name, at the left of the diagram.
    pub name: String,
    /// The run that it is drawn from.
    pub case: Case,
    /// Of this disk of an array.
    pub disk: usize,
    /// From the end of the request before this one, counted from 1.
    pub request: u64,
    /// Until so many have ended.
    pub requests: u64,
    /// At most so many commands.
    pub commands: usize,
}

/// Reads a table `[[timeline]]` of the file.
pub(crate) fn read(section: &Section, experiments: &[FileExperiment]) -> Result<PublishedTimeline, BadInput> {
    let title = section.need("title", section.string("title")?)?;
    let values = section.choice("values", &VALUES)?;
    let rows =
        section.sections("row")?.iter().map(|section| row(section, experiments)).collect::<Result<Vec<_>, _>>()?;
    section.close()?;
    if rows.is_empty() {
        return Err(section.here("a timeline without a row", "add [[timeline.row]]"));
    }
    Ok(PublishedTimeline { title, values, rows })
}

fn row(section: &Section, experiments: &[FileExperiment]) -> Result<TimelineRow, BadInput> {
    let wanted = section.need("experiment", section.string("experiment")?)?;
    let Some(experiment) = experiments.iter().find(|experiment| experiment.name == wanted) else {
        let known: Vec<&str> = experiments.iter().map(|experiment| experiment.name.as_str()).collect();
        let mend = format!("its experiments are {}", known.join(", "));
        return Err(section.error("experiment", format!("there is no experiment `{wanted}`"), mend));
    };
    let [case] = experiment.cases.as_slice() else {
        let what = format!("`{wanted}` has {} runs", experiment.cases.len());
        return Err(section.error("experiment", what, "name an experiment in which nothing is swept"));
    };
    let disks = case.experiment.array.as_ref().map_or(1, |array| array.disks);
    let row = TimelineRow {
        name: section.need("name", section.string("name")?)?,
        case: case.clone(),
        disk: section.within("disk", 0, u32::from(disks) - 1)?.unwrap_or(0) as usize,
        request: section.within("request", 1, 100_000)?.unwrap_or(1).into(),
        requests: section.within("requests", 1, 1000)?.unwrap_or(1).into(),
        commands: section.within("commands", 1, 1000)?.unwrap_or(COMMANDS) as usize,
    };
    section.close()?;
    Ok(row)
}
