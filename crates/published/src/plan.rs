//! What has to be simulated for some targets, and what the results say of them.

use crate::figure::{Across, PublishedCurve, PublishedFigure};
use crate::file::TargetFile;
use crate::measure::{Expression, LabelledResults, ResultSource, Selection, label_number};
use crate::outcome::TargetOutcome;
use crate::seeds::Seeds;
use crate::timeline::PublishedTimeline;
use block::BadInput;
use load::experiment::Case;
use serde_json::Value;
use std::collections::BTreeMap;

/// Targets, and the runs they need: no run is done for the sake of a target nobody asked for.
pub struct TargetPlan<'a> {
    files: &'a [TargetFile],
    chosen: Vec<(usize, usize)>,
    cases: Vec<Case>,
    /// Where the run of a file, an experiment and a case is among `cases`.
    places: BTreeMap<(usize, usize, usize), usize>,
}

/// A figure with its curves as measured.
#[derive(Clone, Debug)]
pub struct Drawn<'a> {
    /// The file that declares it.
    pub file: &'a TargetFile,
    /// The figure, as the file declares it.
    pub figure: &'a PublishedFigure,
    /// Its curves, in the same order.
    pub lines: Vec<MeasuredCurve<'a>>,
}

/// A curve with the points measured in our runs.
#[derive(Clone, Debug)]
pub struct MeasuredCurve<'a> {
    /// The curve, as the file declares it.
    pub curve: &'a PublishedCurve,
    /// As x and y, in the order of the sweep.
    pub measured: Vec<(f64, f64)>,
}

impl<'a> TargetPlan<'a> {
    /// For these targets; `figures` with the figures of their files.
    #[must_use]
    pub fn new(files: &'a [TargetFile], chosen: Vec<(usize, usize)>, figures: bool) -> TargetPlan<'a> {
        let mut plan = TargetPlan { files, cases: Vec::new(), places: BTreeMap::new(), chosen: Vec::new() };
        for (f, t) in &chosen {
            let expressions = files[*f].targets[*t].expressions();
            expressions.iter().for_each(|expression| plan.need(*f, expression));
        }
        plan.chosen = chosen;
        for (f, file) in plan.files().filter(|_| figures).collect::<Vec<_>>() {
            for curve in file.figures.iter().flat_map(|figure| &figure.curves) {
                curve.expressions().for_each(|expression| plan.need(f, expression));
            }
        }
        plan
    }

    /// What is to be simulated.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The files the targets stand in, with their places.
    fn files(&self) -> impl Iterator<Item = (usize, &'a TargetFile)> {
        self.files.iter().enumerate().filter(|(f, _)| self.chosen.iter().any(|(g, _)| g == f))
    }

    fn need(&mut self, f: usize, expression: &Expression) {
        for selection in expression.selections() {
            let experiments = self.files[f].experiments.iter().enumerate();
            for (e, experiment) in experiments.filter(|(_, experiment)| experiment.name == selection.experiment) {
                for (c, case) in experiment.cases.iter().enumerate() {
                    if selection.takes(&case.labels) && !self.places.contains_key(&(f, e, c)) {
                        self.places.insert((f, e, c), self.cases.len());
                        self.cases.push(case.clone());
                    }
                }
            }
        }
    }

    /// What the results under all seeds say of each target.
    ///
    /// # Errors
    /// When a measure does not fit the results.
    pub fn judge(&self, seeds: &Seeds) -> Result<Vec<TargetOutcome<'a>>, BadInput> {
        self.chosen.iter().map(|(f, t)| self.outcome(*f, *t, seeds)).collect()
    }

    fn outcome(&self, f: usize, t: usize, seeds: &Seeds) -> Result<TargetOutcome<'a>, BadInput> {
        let file = &self.files[f];
        let target = &file.targets[t];
        let Some(measure) = &target.measure else { return Ok(TargetOutcome::new(file, target, Vec::new())) };
        let under = |runs: &Vec<Value>| {
            measure.value(&InFile { plan: self, f, runs }).map_err(|wrong| {
                let (what, mend) = wrong.rsplit_once("; ").unwrap_or((&wrong, ""));
                BadInput { what: format!("`measure`: {what}"), mend: mend.into(), ..target.place.clone() }
            })
        };
        let measured = seeds.runs().iter().map(under).collect::<Result<_, _>>()?;
        Ok(TargetOutcome::new(file, target, measured))
    }

    /// The figures of the files that the targets stand in.
    #[must_use]
    pub fn draw(&self, seeds: &Seeds) -> Vec<Drawn<'a>> {
        let mut drawn = Vec::new();
        for (f, file) in self.files() {
            let sources: Vec<InFile> = seeds.runs().iter().map(|runs| InFile { plan: self, f, runs }).collect();
            for figure in &file.figures {
                let lines: Vec<MeasuredCurve> =
                    figure.curves.iter().filter_map(|curve| mean_line(curve, &sources)).collect();
                if !lines.is_empty() {
                    drawn.push(Drawn { file, figure, lines });
                }
            }
        }
        drawn
    }

    /// The timing diagrams of those files.
    pub fn timelines(&self) -> impl Iterator<Item = (&'a TargetFile, &'a PublishedTimeline)> {
        self.files().flat_map(|(_, file)| file.timelines.iter().map(move |timeline| (file, timeline)))
    }
}

/// The mean of a curve over the seeds.
fn mean_line<'a>(curve: &'a PublishedCurve, sources: &[InFile]) -> Option<MeasuredCurve<'a>> {
    let lines: Vec<MeasuredCurve> = sources.iter().map(|source| line(curve, source)).collect::<Option<_>>()?;
    let mean = |of: &dyn Fn(&MeasuredCurve) -> f64| lines.iter().map(of).sum::<f64>() / lines.len() as f64;
    let point = |i: usize| (mean(&|line| line.measured[i].0), mean(&|line| line.measured[i].1));
    Some(MeasuredCurve { curve, measured: (0..lines.first()?.measured.len()).map(point).collect() })
}

/// A curve as measured; none if its runs cannot be laid along an axis.
fn line<'a>(curve: &'a PublishedCurve, source: &dyn ResultSource) -> Option<MeasuredCurve<'a>> {
    let points = curve.measure.points(source).ok()?;
    let across: Vec<f64> = match &curve.across {
        Across::Label(over) => {
            points.iter().map(|point| label_number(point.labels.get(over)?)).collect::<Option<_>>()?
        }
        Across::Measure(across) => across.points(source).ok()?.iter().map(|point| point.value).collect(),
    };
    Some(MeasuredCurve { curve, measured: across.into_iter().zip(points.iter().map(|point| point.value)).collect() })
}

/// The runs of one file.
struct InFile<'a> {
    plan: &'a TargetPlan<'a>,
    f: usize,
    runs: &'a [Value],
}

impl ResultSource for InFile<'_> {
    fn runs(&self, selection: &Selection) -> Result<Vec<LabelledResults<'_>>, String> {
        let mut found = Vec::new();
        for (e, experiment) in self.plan.files[self.f].experiments.iter().enumerate() {
            let cases = experiment.cases.iter().enumerate();
            let cases =
                cases.filter(|(_, case)| experiment.name == selection.experiment && selection.takes(&case.labels));
            for (c, case) in cases {
                let run = self.plan.places.get(&(self.f, e, c)).and_then(|place| self.runs.get(*place));
                found.push((&case.labels, run.ok_or("a run of it was not simulated; simulate all cases of the plan")?));
            }
        }
        Ok(found)
    }
}
