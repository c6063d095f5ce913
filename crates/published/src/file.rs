//! A file of `reproduce/`: what one table, figure or claim of a paper says, and the experiments that show it.
//!
//! | key | value |
//! |---|---|
//! | `title`, `source` | what it is; paper and place |
//! | `[experiment.NAME]` | an experiment file, as `simulate` takes it; NAME is what measures call it |
//! | `[full]` | `NAME = ["run.requests=10000"]`: what a longer run changes in it; it runs under ten seeds, so a tenth of what is wanted in all |
//! | `[[target]]` | `id`, `claim`, `published`, `measure` (`none` where nothing measures it), `tolerance`; `basis` (published, fitted, derived, construction, repeat, own) and `how`; `quote`, `fast`, `note`, `known_miss`, `expect` (held, missed, undecided) |
//! | `[[cells]]` | several cells of a table in place of `published`: `cells = ["50KiB 0.5/s 19.2"]`, labels and the printed number; `$1`, `$2` in `claim` and `measure`; `missed`, `undecided`: which |
//! | `[[figure]]` | `title`, `x`, `y` and `[[figure.curve]]` with `name`, `measure`, `over`, `published` (rows of x and y) |
//! | `[[timeline]]` | `title`, `values` (`average-yield`, `writes`: drawn under the rows) and `[[timeline.row]]` with `name`, `experiment`; `disk`, `request`, `requests`, `commands`: which piece of the run is drawn |

use crate::cells;
use crate::figure::{self, PublishedFigure};
use crate::measure::{Expression, Selection};
use crate::target::{self, PublishedTarget};
use crate::timeline::{self, PublishedTimeline};
use block::BadInput;
use config::{Document, Section};
use load::experiment::{self, Case};

/// A file of `reproduce/`.
#[derive(Clone, Debug)]
pub struct TargetFile {
    /// Its name, without the ending.
    pub id: String,
    /// The title: which table or figure of which paper.
    pub title: String,
    /// Paper, and table, figure or section.
    pub source: String,
    /// Published figures, and what must hold of ours.
    pub targets: Vec<PublishedTarget>,
    /// Curves with published points.
    pub figures: Vec<PublishedFigure>,
    /// The paper's timing diagrams, redrawn from a run.
    pub timelines: Vec<PublishedTimeline>,
    pub(crate) experiments: Vec<FileExperiment>,
}

/// An experiment of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileExperiment {
    pub name: String,
    /// The runs of the experiment, one for each combination of its sweep.
    pub cases: Vec<Case>,
}

/// How long the runs of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLength {
    /// As the experiments say: long enough to try the figures.
    Quick,
    /// With what `[full]` of the file changes in them.
    Full,
}

impl TargetFile {
    /// Reads the text of `reproduce/ID.toml`.
    ///
    /// # Errors
    /// Bad input with file, line and mend.
    pub fn parse(id: &str, text: &str, length: RunLength) -> Result<TargetFile, BadInput> {
        TargetFile::parse_changed(id, text, length, &[])
    }

    /// The same with changes, `KEY=VALUE`, in all of its experiments.
    ///
    /// # Errors
    /// Bad input with file, line and mend.
    pub fn parse_changed(id: &str, text: &str, length: RunLength, changes: &[String]) -> Result<TargetFile, BadInput> {
        let name = format!("reproduce/{id}.toml");
        let document = Document::parse(&name, text)?;
        let root = document.root();
        let title = root.need("title", root.string("title")?)?;
        let source = root.need("source", root.string("source")?)?;
        let experiments = experiments(&root, &name, length, changes)?;
        let timelines = root.sections("timeline")?;
        let timelines =
            timelines.iter().map(|section| timeline::read(section, &experiments)).collect::<Result<_, _>>()?;
        let (targets, figures) = (Vec::new(), Vec::new());
        let mut file = TargetFile { id: id.into(), title, source, targets, figures, timelines, experiments };
        for section in root.sections("target")? {
            file.add(&section, target::read(&section, id)?)?;
        }
        for section in root.sections("cells")? {
            cells::read(&section, id)?.into_iter().try_for_each(|target| file.add(&section, target))?;
        }
        for section in root.sections("figure")? {
            let (figure, sections) = figure::read(&section)?;
            for (curve, section) in figure.curves.iter().zip(sections) {
                curve.expressions().try_for_each(|expression| file.check(&section, expression))?;
            }
            file.figures.push(figure);
        }
        root.close()?;
        if file.targets.is_empty() {
            return Err(root.here("no [[target]] in it", "add what must hold"));
        }
        Ok(file)
    }

    /// Takes a target in, if its id is new and all that it measures is there.
    fn add(&mut self, section: &Section, target: PublishedTarget) -> Result<(), BadInput> {
        if self.targets.iter().any(|other| other.id == target.id) {
            return Err(section.error("id", format!("a second target '{}'", target.id), "give each its own id"));
        }
        target.expressions().iter().try_for_each(|expression| self.check(section, expression))?;
        self.targets.push(target);
        Ok(())
    }

    /// Whether every run that a measure names is there.
    fn check(&self, section: &Section, expression: &Expression) -> Result<(), BadInput> {
        for selection in expression.selections() {
            let name = &selection.experiment;
            let Some(experiment) = self.experiments.iter().find(|experiment| experiment.name == *name) else {
                let known: Vec<&str> = self.experiments.iter().map(|experiment| experiment.name.as_str()).collect();
                let mend = format!("its experiments are {}", known.join(", "));
                return Err(section.error("measure", format!("there is no experiment `{name}`"), mend));
            };
            if !experiment.cases.iter().any(|case| selection.takes(&case.labels)) {
                let what = format!("no run of `{name}` has the labels {}", show(selection));
                return Err(section.error("measure", what, "name labels that are swept, with values of the sweep"));
            }
        }
        Ok(())
    }
}

fn experiments(
    root: &Section,
    file: &str,
    length: RunLength,
    changes: &[String],
) -> Result<Vec<FileExperiment>, BadInput> {
    let Some(section) = root.section("experiment")? else { return Ok(Vec::new()) };
    let longer = root.section("full")?;
    let mut experiments = Vec::new();
    for name in section.keys() {
        let Some(document) = section.document(name)? else { continue };
        let longer = longer.as_ref().map_or(Ok(None), |longer| longer.strings(name))?.unwrap_or_default();
        let mut sets = if length == RunLength::Full { longer } else { Vec::new() };
        sets.extend_from_slice(changes);
        let cases = experiment::of(document, file, &sets)?;
        experiments.push(FileExperiment { name: name.into(), cases });
    }
    if let Some(longer) = longer {
        longer.close()?;
    }
    Ok(experiments)
}

fn show(selection: &Selection) -> String {
    let pairs: Vec<String> = selection.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!("{{{}}}", pairs.join(", "))
}
