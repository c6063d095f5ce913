//! What a search came to, measure by measure: what is printed, and what programs read.

use crate::advise::{Advice, SearchWatch, advise};
use block::BadInput;
use load::experiment::Case;
use load::goal::{GoalBound, GoalMeasure, SettingGoal};
use load::interval;
use load::results::{Label, Run};
use load::tuning::{LoadPart, SearchSpace, Stack, TrialSetting};
use serde::Serialize;

/// The form of these figures; it goes up when a field changes its meaning or goes.
const SCHEMA: u32 = 1;

/// What `halfturn advise --format json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceFigures {
    /// The form of what follows.
    pub schema: u32,
    /// The title of the experiment.
    pub title: String,
    /// What was to be reached.
    pub goal: String,
    /// What people run that is advised for; nothing where that is Halfturn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<&'static str>,
    /// What to set, as `--set` has it; nothing where nothing that was tried comes nearer to the goal.
    pub set: Vec<String>,
    /// The same as one does it where the stack runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// Settings that were tried, of how many there are.
    pub tried: usize,
    /// How many settings there are, whether they can be run or not.
    pub settings: f64,
    /// What the search took, in runs of the half of the load that it saw.
    pub runs: f64,
    /// Whether what is advised keeps all bounds on the half that was seen.
    pub keeps_bounds_seen: bool,
    /// Each measure of the goal on the half that the search did not see, in the goal's order.
    pub unseen: Vec<AdvisedMeasure>,
    /// What Halfturn would add to a stack: `today` is what was advised for the stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halfturn: Option<Box<AdviceFigures>>,
}

/// A measure of the load as it is today and as advised: means over parts of the half that was not seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdvisedMeasure {
    /// The measure, such as `p99(interactive)`.
    pub measure: String,
    /// The unit of all its figures: `ms` or `MB/s`.
    pub unit: &'static str,
    /// Nothing where none of its requests ended; likewise below.
    pub today: f64,
    /// The same with what is advised.
    pub advised: f64,
    /// The mean of the differences, part by part: advised less today.
    pub difference: f64,
    /// Half width of its 95 % interval (Student's t over the parts).
    pub ci95: Option<f64>,
    /// What it may be at most, or throughput at least; nothing where it has no bound.
    pub bound: Option<f64>,
    /// In how many parts what is advised keeps the bound.
    pub kept: Option<usize>,
    /// Whether the mean over the parts keeps it.
    pub holds: Option<bool>,
    /// How many parts there are.
    pub parts: usize,
}

impl AdviceFigures {
    /// Of what was searched, for a goal, with what was found.
    #[must_use]
    pub fn of(space: &SearchSpace, goal: &SettingGoal, advice: &Advice) -> AdviceFigures {
        let mut told: Vec<&GoalMeasure> = Vec::new();
        for measure in goal.measures() {
            if !told.contains(&measure) {
                told.push(measure);
            }
        }
        let bound = |measure: &GoalMeasure| goal.bounds.iter().find(|bound| bound.of == *measure);
        AdviceFigures {
            schema: SCHEMA,
            title: space.experiment.title.clone(),
            goal: goal.to_string(),
            stack: space.stack().map(Stack::word),
            words: space.stack().map_or_else(Vec::new, |_| space.tell_words(&advice.best)),
            set: space.tell(&advice.best),
            tried: advice.tried,
            settings: space.size(),
            runs: advice.cost,
            keeps_bounds_seen: advice.scores[0].missed == 0.0,
            unseen: told
                .into_iter()
                .map(|measure| AdvisedMeasure::of(measure, bound(measure), &advice.unseen))
                .collect(),
            halfturn: None,
        }
    }

    /// The same, with what Halfturn comes to on the same parts of the load. `stack` is what was found for that, on which these
    /// figures rest.
    #[must_use]
    pub fn beside(self, stack: &Advice, space: &SearchSpace, goal: &SettingGoal, own: &Advice) -> AdviceFigures {
        let pairs = stack.unseen.iter().zip(&own.unseen).map(|(stack, own)| [stack[1].clone(), own[1].clone()]);
        let advice = Advice { unseen: pairs.collect(), ..own.clone() };
        AdviceFigures { halfturn: Some(Box::new(AdviceFigures::of(space, goal, &advice))), ..self }
    }
}

/// Advice for Halfturn, or for what people run and for Halfturn beside it.
pub struct AdviceFound {
    /// What it comes to.
    pub figures: AdviceFigures,
    /// Settings to compare: today's, the advised, and that of Halfturn beside a stack; each with its name.
    settings: Vec<(SearchSpace, TrialSetting, String)>,
    /// Where the advised one stands among them.
    advised: usize,
}

impl AdviceFound {
    /// Searches what may be set in an experiment for a goal; under a stack, and then under Halfturn, where one is given.
    ///
    /// # Errors
    /// When the experiment as it is cannot be run, or does not go with the stack.
    pub fn of(
        experiment: SearchSpace,
        goal: &SettingGoal,
        stack: Option<Stack>,
        watch: &dyn SearchWatch,
    ) -> Result<AdviceFound, BadInput> {
        let seed = experiment.experiment.run.seed;
        let mut space = match stack {
            None => experiment.clone().with_knobs(goal),
            Some(stack) => experiment.under(stack)?.with_knobs(goal),
        };
        let advice = advise(&mut space, goal, seed, watch)?;
        let mut figures = AdviceFigures::of(&space, goal, &advice);
        let mut settings = vec![(space.clone(), space.today(), stack.map_or("today", Stack::word).to_owned())];
        if !figures.set.is_empty() {
            let name = stack.map_or_else(|| "advised".into(), |stack| format!("{}, advised", stack.word()));
            settings.push((space.clone(), advice.best.clone(), name));
        }
        let advised = settings.len() - 1;
        if stack.is_some() {
            let mut whole = experiment.with_knobs(goal).cut_like(&space);
            let own = advise(&mut whole, goal, seed, watch)?;
            figures = figures.beside(&advice, &whole, goal, &own);
            settings.push((whole, own.best, "Halfturn".into()));
        }
        Ok(AdviceFound { figures, settings, advised })
    }

    /// The runs that a page compares: each setting on the half of the load that the search did not see.
    ///
    /// # Errors
    /// When one cannot be run.
    pub fn comparison(&self) -> Result<Vec<Case>, BadInput> {
        let case = |(space, candidate, name): &(SearchSpace, TrialSetting, String)| {
            let mut case = space.case(candidate, LoadPart::Rest)?;
            case.labels.insert("setting".into(), Label::Word(name.clone()));
            Ok(case)
        };
        self.settings.iter().map(case).collect()
    }

    /// The experiment with what is advised, which says the same in any folder.
    ///
    /// # Errors
    /// When what it sets does not go together.
    pub fn experiment(&self) -> Result<String, BadInput> {
        let (space, best, _) = &self.settings[self.advised];
        space.text(best)
    }

    /// A service file with what is advised.
    ///
    /// # Errors
    /// When it cannot be served.
    pub fn service(&self) -> Result<String, BadInput> {
        let (space, best, _) = &self.settings[self.advised];
        space.service(best)
    }
}

impl AdvisedMeasure {
    fn of(measure: &GoalMeasure, bound: Option<&GoalBound>, unseen: &[[Run; 2]]) -> AdvisedMeasure {
        let values = |which: usize| unseen.iter().map(|runs| measure.of(&runs[which])).collect::<Vec<f64>>();
        let (today, advised) = (values(0), values(1));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let differences: Vec<f64> = today.iter().zip(&advised).map(|(today, advised)| advised - today).collect();
        let keeps = |bound: &GoalBound| advised.iter().filter(|value| bound.miss_by(**value) == 0.0).count();
        AdvisedMeasure {
            measure: measure.to_string(),
            unit: measure.unit(),
            today: mean(&today),
            advised: mean(&advised),
            difference: mean(&differences),
            ci95: interval(&differences),
            bound: bound.map(|bound| bound.value),
            kept: bound.map(keeps),
            holds: bound.map(|bound| bound.miss_by(mean(&advised)) == 0.0),
            parts: unseen.len(),
        }
    }
}
