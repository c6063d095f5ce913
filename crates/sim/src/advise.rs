//! What should be set: a search over what may be set in an experiment, on the first half of its load, and a look at the other half.
//!
//! Successive halving (Jamieson and Talwalkar, AISTATS 2016): many candidates are tried on a short beginning, the better ones on a
//! longer one, a few on all of the half. What is best then is changed knob by knob, again the promising changes first on a part. The
//! order of what is drawn, and of ties, follows from the seed alone, whatever the number of threads.

use crate::simulate::{Watch, simulate};
use block::BadInput;
use load::Draw;
use load::goal::{GoalScore, SettingGoal};
use load::results::Run;
use load::tuning::{LoadPart, SearchSpace, TrialSetting, UNSEEN_PARTS};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Of the half that is seen, which share candidates are tried on, and how many are left for it.
const ROUNDS: [(f64, usize); 3] = [(0.125, 64), (0.25, 24), (1.0, 7)];
/// The same of changes to the best, and how often it is changed at most.
const CHANGES: [(f64, usize); 2] = [(0.25, usize::MAX), (1.0, 3)];
const MOST_CHANGES: usize = 2;
/// Where no single change is for the better, two at a time, drawn at random; for as long as all of it costs no more than this many runs
/// of the half.
const PAIRS: [(f64, usize); 3] = [(0.125, 32), (0.25, 8), (1.0, 3)];
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
        space.cut(&try_one(space, &space.today(), LoadPart::Whole, watch)?);
    }
    let search = Search { space, goal, watch, memory: BTreeSet::new(), tried: 0, cost: 0.0 };
    let (best, scores, tried, cost) = search.run(seed)?;
    let parts: Vec<(usize, u32)> = (0..2).flat_map(|who| (0..UNSEEN_PARTS).map(move |part| (who, part))).collect();
    watch.plan(parts.len());
    let candidates = [space.today(), best.clone()];
    let runs: Vec<Result<Run, BadInput>> = parts
        .par_iter()
        .map(|(who, part)| {
            let run = try_one(space, &candidates[*who], LoadPart::Unseen(*part), watch);
            watch.end_trial();
            run
        })
        .collect();
    let mut runs = runs.into_iter().collect::<Result<Vec<Run>, BadInput>>()?;
    let advised = runs.split_off(UNSEEN_PARTS as usize);
    let unseen = runs.into_iter().zip(advised).map(|(today, advised)| [today, advised]).collect();
    Ok(Advice { best, scores, tried, cost, unseen })
}

/// How near each of these candidates comes to a goal on the whole half that is seen.
#[must_use]
pub fn score_all(space: &SearchSpace, goal: &SettingGoal, candidates: &[TrialSetting]) -> Vec<GoalScore> {
    candidates.par_iter().map(|candidate| score(space, goal, candidate, 1.0, &Unheeded)).collect()
}

/// Candidates drawn at random that can be run, no two alike and none as it is today.
#[must_use]
pub fn draw_candidates(space: &SearchSpace, seed: u64, count: usize) -> Vec<TrialSetting> {
    let (mut draw, mut drawn, mut vain) = (Draw::new(seed, 0), Vec::new(), 0);
    let mut known: BTreeSet<String> = space.text(&space.today()).into_iter().collect();
    while drawn.len() < count && vain < VAIN {
        let mut candidate = space.today();
        for _ in 0..=draw.below(MOST_SET) {
            let knob = draw.below(space.knobs.len() as u64) as usize;
            candidate[knob] = draw.below(space.knobs[knob].choices.len() as u64) as usize;
        }
        vain += 1;
        if is_new(space, &candidate, &mut known) {
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
) -> GoalScore {
    if !watch.goes_on() {
        return GoalScore::worst();
    }
    let run = try_one(space, candidate, LoadPart::Seen(share), watch);
    run.map_or_else(|_| GoalScore::worst(), |run| goal.score(&run))
}

/// A search under way.
struct Search<'a> {
    space: &'a SearchSpace,
    goal: &'a SettingGoal,
    watch: &'a dyn SearchWatch,
    /// The texts of what was tried.
    memory: BTreeSet<String>,
    tried: usize,
    cost: f64,
}

impl Search<'_> {
    fn run(mut self, seed: u64) -> Result<(TrialSetting, [GoalScore; 2], usize, f64), BadInput> {
        let today = self.space.today();
        self.memory.insert(self.space.text(&today)?);
        let drawn = draw_candidates(self.space, seed, ROUNDS[0].1);
        drawn.iter().for_each(|candidate| self.memory.extend(self.space.text(candidate)));
        self.tried = drawn.len() + 1;
        let mut best = self.halve(drawn, &ROUNDS);
        let own = self.rank(vec![today.clone()], 1.0).remove(0);
        let as_it_is = own.0.clone();
        // Of equals what is there already.
        best.push(own);
        best.sort_by(|(one, a), (other, b)| one.compare(other).then((*a != today).cmp(&(*b != today))));
        let mut best = best.swap_remove(0);
        for _ in 0..MOST_CHANGES {
            let changes = self.changes(&best.1);
            if !self.improve(&mut best, changes, &CHANGES) {
                break;
            }
        }
        let mut draw = Draw::new(seed, 1);
        while self.cost + cost_of(PAIRS[0].1, &PAIRS) <= MOST_COST {
            let pairs = self.pairs(&best.1, &mut draw);
            if pairs.is_empty() {
                break;
            }
            self.improve(&mut best, pairs, &PAIRS);
        }
        Ok((best.1, [best.0, as_it_is], self.tried, self.cost))
    }

    /// Puts the best of these in the place of the best so far, if it is better; says whether it was.
    fn improve(
        &mut self,
        best: &mut (GoalScore, TrialSetting),
        others: Vec<TrialSetting>,
        rounds: &[(f64, usize)],
    ) -> bool {
        self.tried += others.len();
        let better = self.halve(others, rounds).into_iter().next().filter(|found| found.0.compare(&best.0).is_lt());
        let found = better.is_some();
        *best = better.unwrap_or_else(|| best.clone());
        found
    }

    /// Tries candidates on ever more of the load, and ever fewer of them; gives the last of them, the best first.
    fn halve(&mut self, mut candidates: Vec<TrialSetting>, rounds: &[(f64, usize)]) -> Vec<(GoalScore, TrialSetting)> {
        let mut ranked = Vec::new();
        for (share, most) in rounds {
            candidates.truncate(*most);
            ranked = self.rank(candidates, *share);
            candidates = ranked.iter().map(|(_, candidate)| candidate.clone()).collect();
        }
        ranked
    }

    /// Candidates by how near they come to the goal on this share of what is seen; what cannot be run is left out.
    fn rank(&mut self, candidates: Vec<TrialSetting>, share: f64) -> Vec<(GoalScore, TrialSetting)> {
        self.watch.plan(candidates.len());
        self.cost += share * candidates.len() as f64;
        let (space, goal, watch) = (self.space, self.goal, self.watch);
        let mut scored: Vec<(GoalScore, TrialSetting)> = candidates
            .into_par_iter()
            .map(|candidate| {
                let score = score(space, goal, &candidate, share, watch);
                watch.end_trial();
                (score, candidate)
            })
            .collect();
        scored.retain(|(score, _)| score.missed.is_finite());
        scored.sort_by(|(one, a), (other, b)| one.compare(other).then_with(|| a.cmp(b)));
        scored
    }

    /// All that differs from a candidate in one knob, and was not tried.
    fn changes(&mut self, from: &TrialSetting) -> Vec<TrialSetting> {
        let mut changes = Vec::new();
        for (knob, choices) in self.space.knobs.iter().map(|knob| knob.choices.len()).enumerate() {
            for choice in (0..choices).filter(|choice| *choice != from[knob]) {
                let mut candidate = from.clone();
                candidate[knob] = choice;
                if is_new(self.space, &candidate, &mut self.memory) {
                    changes.push(candidate);
                }
            }
        }
        changes
    }
}

impl Search<'_> {
    /// Some that differ from a candidate in two knobs, and were not tried.
    fn pairs(&mut self, from: &TrialSetting, draw: &mut Draw) -> Vec<TrialSetting> {
        let (mut pairs, mut vain) = (Vec::new(), 0);
        while pairs.len() < PAIRS[0].1 && vain < VAIN {
            let mut candidate = from.clone();
            for _ in 0..2 {
                let knob = draw.below(self.space.knobs.len() as u64) as usize;
                candidate[knob] = draw.below(self.space.knobs[knob].choices.len() as u64) as usize;
            }
            vain += 1;
            if is_new(self.space, &candidate, &mut self.memory) {
                pairs.push(candidate);
                vain = 0;
            }
        }
        pairs
    }
}

/// What so many candidates cost, in runs of the half.
fn cost_of(count: usize, rounds: &[(f64, usize)]) -> f64 {
    rounds.iter().map(|(share, most)| share * count.min(*most) as f64).sum()
}
