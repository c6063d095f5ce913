//! What should be set: a search over what may be set in an experiment, on the first half of its load, and a look at the other half.
//!
//! First a survey: changes of one knob, and some of several, 64 in all, on a short beginning; the better ones on a longer one, a few on all of
//! the half (successive halving: Jamieson and Talwalkar, AISTATS 2016). Then what is nearest to the goal is changed knob by knob, the
//! changes first that did best in the survey; after that what is second, since the best is often two changes away, by way of
//! something worse. Settings under which everything took equally long are one: only the one with the fewest knobs set goes on. They may
//! come apart later in the load: what came to the same as the best is tried on all of it at the end, with the runs left. The
//! order of what is drawn, and of ties, follows from the seed alone, whatever the number of threads.

use crate::simulate::{Watch, simulate};
use block::BadInput;
use load::Draw;
use load::goal::{GoalScore, SettingGoal};
use load::results::Run;
use load::tuning::{LoadPart, SearchSpace, TrialSetting};
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The share of the half that is seen on which the better ones are told apart.
const PART: f64 = 0.25;
/// Of the half that is seen, which share candidates of the survey are tried on, and how many are left for it.
const ROUNDS: [(f64, usize); 3] = [(0.125, 64), (PART, 20), (1.0, 7)];
/// The same of what is near something good, and how often one is looked around.
const NEAR: [(f64, usize); 2] = [(PART, 20), (1.0, 2)];
const LOOKS: u32 = 2;
/// All of it costs no more than this many runs of the half.
const MOST_COST: f64 = 50.0;
/// Of all that is drawn, candidates with so many knobs set, at most: few knobs are easier to explain.
const MOST_SET: u64 = 4;
/// Draws in vain after which no more are made.
const VAIN: usize = 2_000;

/// Someone who follows a search.
pub trait SearchWatch: Sync {
    /// So many more trials are to be run.
    fn plan(&self, trials: usize);
    /// A trial has ended.
    fn end_trial(&self);
    /// Whether to go on; what was found by then counts for nothing if not.
    fn goes_on(&self) -> bool {
        true
    }
}

/// A search that nobody follows.
struct Unheeded;

impl SearchWatch for Unheeded {
    fn plan(&self, _: usize) {}
    fn end_trial(&self) {}
}

/// What a search came to.
#[derive(Clone, Debug)]
pub struct Advice {
    /// The best that was found.
    pub best: TrialSetting,
    /// How near it came to the goal on the half that was seen, and how near the experiment as it is.
    pub scores: [GoalScore; 2],
    /// How many candidates were tried.
    pub tried: usize,
    /// What that cost, in runs of the whole half.
    pub cost: f64,
    /// Of each part of the other half, the run as it is today and the advised one.
    pub unseen: Vec<[Run; 2]>,
}

/// Searches for what comes nearest to a goal.
///
/// # Errors
/// When the experiment as it is cannot be run.
pub fn advise(
    space: &mut SearchSpace,
    goal: &SettingGoal,
    seed: u64,
    watch: &dyn SearchWatch,
) -> Result<Advice, BadInput> {
    if !space.is_cut() {
        space.cut(&try_one(space, &space.today(), LoadPart::Whole, watch)?)?;
    }
    let search = Search { space, goal, watch, memory: BTreeSet::new(), alike: BTreeMap::new(), cost: 0.0 };
    let (best, scores, tried, cost) = search.run(seed)?;
    let count = space.unseen_parts();
    let parts: Vec<(usize, u32)> = (0..2).flat_map(|who| (0..count).map(move |part| (who, part))).collect();
    watch.plan(parts.len());
    let candidates = [space.today(), best.clone()];
    let runs: Vec<Result<Run, BadInput>> = parts
        .par_iter()
        .with_max_len(1)
        .map(|(who, part)| {
            let run = try_one(space, &candidates[*who], LoadPart::Unseen(*part), watch);
            watch.end_trial();
            run
        })
        .collect();
    let mut runs = runs.into_iter().collect::<Result<Vec<Run>, BadInput>>()?;
    let advised = runs.split_off(count as usize);
    let unseen = runs.into_iter().zip(advised).map(|(today, advised)| [today, advised]).collect();
    Ok(Advice { best, scores, tried, cost, unseen })
}

/// How near each of these candidates comes to a goal on the whole half that is seen.
#[must_use]
pub fn score_all(space: &SearchSpace, goal: &SettingGoal, candidates: &[TrialSetting]) -> Vec<GoalScore> {
    candidates.par_iter().with_max_len(1).map(|candidate| score(space, goal, candidate, 1.0, &Unheeded).score).collect()
}

/// Candidates drawn at random that can be run, no two alike and none as it is today.
#[must_use]
pub fn draw_candidates(space: &SearchSpace, seed: u64, count: usize) -> Vec<TrialSetting> {
    let mut known: BTreeSet<String> = space.text(&space.today()).into_iter().collect();
    draw_new(space, seed, count, &mut known)
}

/// The same, none of which has a known text.
fn draw_new(space: &SearchSpace, seed: u64, count: usize, known: &mut BTreeSet<String>) -> Vec<TrialSetting> {
    let (mut draw, mut drawn, mut vain) = (Draw::new(seed, 0), Vec::new(), 0);
    while drawn.len() < count && vain < VAIN {
        let mut candidate = space.today();
        for _ in 0..=draw.below(MOST_SET) {
            let knob = draw.below(space.knobs.len() as u64) as usize;
            candidate[knob] = draw.below(space.knobs[knob].choices.len() as u64) as usize;
        }
        vain += 1;
        if is_new(space, &candidate, known) {
            drawn.push(candidate);
            vain = 0;
        }
    }
    drawn
}

/// Whether a candidate can be run, and none of the same text is known.
fn is_new(space: &SearchSpace, candidate: &TrialSetting, known: &mut BTreeSet<String>) -> bool {
    let Ok(text) = space.text(candidate) else { return false };
    let runs = || space.case(candidate, LoadPart::Whole).and_then(|case| crate::check(&case.experiment));
    !known.contains(&text) && runs().is_ok() && known.insert(text)
}

/// Ends a trial when the search is to end.
struct InSearch<'a>(&'a dyn SearchWatch);

impl Watch for InSearch<'_> {
    fn requests(&self, _: u64) {}

    fn replication(&self) {}

    fn goes_on(&self) -> bool {
        self.0.goes_on()
    }
}

fn try_one(
    space: &SearchSpace,
    candidate: &TrialSetting,
    part: LoadPart,
    watch: &dyn SearchWatch,
) -> Result<Run, BadInput> {
    let case = space.case(candidate, part)?;
    let results = simulate(&[case], &InSearch(watch))?;
    Ok(results.runs.into_iter().next().expect("a run for the case"))
}

fn score(
    space: &SearchSpace,
    goal: &SettingGoal,
    candidate: &TrialSetting,
    share: f64,
    watch: &dyn SearchWatch,
) -> ScoredSetting {
    let setting = candidate.clone();
    let run = watch.goes_on().then(|| try_one(space, candidate, LoadPart::Seen(share), watch));
    let Some(Ok(run)) = run else { return ScoredSetting { score: GoalScore::worst(), outcome: Vec::new(), setting } };
    let means = run.classes.values().map(|class| class.response_ms.mean);
    let outcome = means.chain([run.simulated_seconds]).map(f64::to_bits).collect();
    ScoredSetting { score: goal.score(&run), outcome, setting }
}

/// What came of a candidate.
#[derive(Clone, Debug)]
struct ScoredSetting {
    score: GoalScore,
    /// How long everything took: of two that are equal in this, one is as good as the other.
    outcome: Vec<u64>,
    setting: TrialSetting,
}

impl ScoredSetting {
    /// The nearer to the goal first, of equals the one that changes less.
    fn compare(&self, other: &ScoredSetting) -> Ordering {
        let set = |trial: &ScoredSetting| trial.setting.iter().filter(|choice| **choice > 0).count();
        let by_set = || set(self).cmp(&set(other)).then_with(|| self.setting.cmp(&other.setting));
        self.score.compare(&other.score).then_with(by_set)
    }
}

/// One knob set to one of its choices.
type KnobChange = (usize, usize);

fn set_knob(setting: &TrialSetting, (knob, choice): KnobChange) -> TrialSetting {
    let mut changed = setting.clone();
    changed[knob] = choice;
    changed
}

/// A search under way.
struct Search<'a> {
    space: &'a SearchSpace,
    goal: &'a SettingGoal,
    watch: &'a dyn SearchWatch,
    /// The texts of what was tried.
    memory: BTreeSet<String>,
    /// What was tried on [`PART`], by what it came to there.
    alike: BTreeMap<Vec<u64>, Vec<TrialSetting>>,
    cost: f64,
}

impl Search<'_> {
    fn run(mut self, seed: u64) -> Result<(TrialSetting, [GoalScore; 2], usize, f64), BadInput> {
        let today = self.space.today();
        self.memory.insert(self.space.text(&today)?);
        let (surveyed, changes) = self.survey(seed);
        let longer = self.rank(distinct(surveyed, ROUNDS[1].1), ROUNDS[1].0);
        let mut finalists = self.rank(distinct(longer, ROUNDS[2].1), ROUNDS[2].0);
        let own = self.rank(vec![today.clone()], 1.0).pop();
        let own = own.unwrap_or(ScoredSetting { score: GoalScore::worst(), outcome: Vec::new(), setting: today });
        let as_it_is = own.score.clone();
        finalists.push(own);
        finalists.sort_by(ScoredSetting::compare);
        let mut looks: BTreeMap<Vec<u64>, u32> = BTreeMap::new();
        // Runs put by for what comes to the same.
        let mut saved = 0;
        loop {
            let around = finalists.iter().find(|trial| looks.get(&trial.outcome).is_none_or(|looks| *looks < LOOKS));
            let room = MOST_COST - self.cost - (NEAR[1].1 + saved) as f64;
            let most = NEAR[0].1.min((room / NEAR[0].0).max(0.0) as usize);
            let Some(around) = around.filter(|_| most > 0) else { break };
            *looks.entry(around.outcome.clone()).or_default() += 1;
            let near = self.changes(&around.setting, &changes, most);
            let mut near = self.rank(near, NEAR[0].0);
            let (alike, count) = (self.alike(&around.setting), near.len());
            near.retain(|trial| !alike.contains(&trial.setting));
            let put_by = usize::from(near.len() < count);
            saved += put_by;
            finalists.extend(self.rank(distinct(near, NEAR[1].1 - put_by), NEAR[1].0));
            finalists.sort_by(ScoredSetting::compare);
        }
        self.untie(&mut finalists);
        let best = finalists.swap_remove(0);
        Ok((best.setting, [best.score, as_it_is], self.memory.len(), self.cost))
    }

    /// What came to the same as this on [`PART`], itself among it; nothing of what was not tried there.
    fn alike(&self, setting: &TrialSetting) -> Vec<TrialSetting> {
        self.alike.values().find(|all| all.contains(setting)).cloned().unwrap_or_default()
    }

    /// Tries what came to the same as the best on a part on all of it, as far as there are runs for it.
    fn untie(&mut self, finalists: &mut Vec<ScoredSetting>) {
        let mut alike = self.alike(&finalists[0].setting);
        alike.retain(|setting| !finalists.iter().any(|trial| trial.setting == *setting));
        alike.truncate((MOST_COST - self.cost).max(0.0) as usize);
        finalists.extend(self.rank(alike, 1.0));
        finalists.sort_by(ScoredSetting::compare);
    }

    /// Tries changes of one knob, and some of several if there is room, on a short part; gives them all, the best first, and the changes:
    /// those that undo one, those that alone mean nothing, such as a length without short commands, the others in the order in which
    /// they did, and last those for which there was no room.
    fn survey(&mut self, seed: u64) -> (Vec<ScoredSetting>, Vec<KnobChange>) {
        let today = self.space.today();
        let all = self.space.knobs.iter().enumerate();
        let mut changes: Vec<KnobChange> =
            all.flat_map(|(knob, its)| (1..its.choices.len()).map(move |choice| (knob, choice))).collect();
        let (share, most) = ROUNDS[0];
        let mut candidates = self.changes(&today, &changes, most);
        candidates.extend(draw_new(self.space, seed, most - candidates.len(), &mut self.memory));
        let surveyed = self.rank(candidates, share);
        let place = |change: &KnobChange| {
            let alone = set_knob(&today, *change);
            match surveyed.iter().position(|trial| trial.setting == alone) {
                Some(place) => place + 1,
                // There was no room to survey it.
                None if is_new(self.space, &alone, &mut self.memory.clone()) => usize::MAX,
                None => 0,
            }
        };
        changes.sort_by_cached_key(place);
        let undo = (0..self.space.knobs.len()).map(|knob| (knob, 0));
        (surveyed, undo.chain(changes.iter().copied()).collect())
    }

    /// What comes of a candidate by one of these changes and was not tried: so many, at most.
    fn changes(&mut self, from: &TrialSetting, changes: &[KnobChange], most: usize) -> Vec<TrialSetting> {
        let changed = changes.iter().map(|change| set_knob(from, *change));
        changed.filter(|candidate| is_new(self.space, candidate, &mut self.memory)).take(most).collect()
    }

    /// Candidates by how near they come to the goal on this share of what is seen; what cannot be run is left out.
    fn rank(&mut self, candidates: Vec<TrialSetting>, share: f64) -> Vec<ScoredSetting> {
        if candidates.is_empty() {
            return Vec::new();
        }
        self.watch.plan(candidates.len());
        self.cost += share * candidates.len() as f64;
        let (space, goal, watch) = (self.space, self.goal, self.watch);
        let mut trials: Vec<ScoredSetting> = candidates
            .into_par_iter()
            .with_max_len(1)
            .map(|candidate| {
                let trial = score(space, goal, &candidate, share, watch);
                watch.end_trial();
                trial
            })
            .collect();
        trials.retain(|trial| trial.score.missed.is_finite());
        trials.sort_by(ScoredSetting::compare);
        for trial in trials.iter().filter(|_| share == PART) {
            self.alike.entry(trial.outcome.clone()).or_default().push(trial.setting.clone());
        }
        trials
    }
}

/// The first so many of these, of those with the same outcome only one.
fn distinct(ranked: Vec<ScoredSetting>, most: usize) -> Vec<TrialSetting> {
    let mut known = BTreeSet::new();
    let new = ranked.into_iter().filter(|trial| known.insert(trial.outcome.clone()));
    new.map(|trial| trial.setting).take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(missed: f64, outcome: u64, setting: &[usize]) -> ScoredSetting {
        let mut score = GoalScore::worst();
        score.missed = missed;
        ScoredSetting { score, outcome: vec![outcome], setting: setting.to_vec() }
    }

    #[test]
    fn of_equals_the_one_that_changes_less_is_the_better() {
        let mut trials = [trial(0.0, 7, &[1, 2, 0]), trial(0.0, 7, &[0, 3, 0]), trial(0.0, 7, &[0, 0, 9])];
        trials.sort_by(ScoredSetting::compare);
        assert_eq!(trials.map(|trial| trial.setting), [vec![0, 0, 9], vec![0, 3, 0], vec![1, 2, 0]]);
        assert!(trial(0.0, 7, &[5, 5, 5]).compare(&trial(0.1, 7, &[0, 0, 0])).is_lt(), "what is nearer comes first");
    }

    #[test]
    fn of_what_comes_to_the_same_one_goes_on() {
        let ranked = || vec![trial(0.0, 7, &[1]), trial(0.0, 8, &[2]), trial(0.0, 7, &[3]), trial(0.2, 9, &[4])];
        assert_eq!(distinct(ranked(), 9), [[1], [2], [4]]);
        assert_eq!(distinct(ranked(), 2), [[1], [2]]);
    }
}
