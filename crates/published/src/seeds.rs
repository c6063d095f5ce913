//! The same runs under several seeds.

use crate::plan::TargetPlan;
use load::experiment::Case;
use load::results::Results;
use serde_json::Value;

/// The results of the cases of a plan under each seed, as they come in.
///
/// The seed of a file comes first, then those that follow it. What the second seed leaves as it was has no randomness in
/// it, and is not run again.
#[derive(Clone, Debug, Default)]
pub struct Seeds {
    /// By seed, in the order of the plan's cases.
    runs: Vec<Vec<Value>>,
}

/// The seeds of long runs, where no other number is asked for.
pub const FULL_SEEDS: u32 = 10;

impl Seeds {
    /// The results of the cases of a plan under so many seeds: of all of them under two, then of those that the second seed changed.
    ///
    /// # Errors
    /// What `simulate` refuses.
    pub fn under<E>(
        plan: &TargetPlan,
        count: u32,
        simulate: &mut dyn FnMut(&[Case]) -> Result<Results, E>,
    ) -> Result<Seeds, E> {
        let mut seeds = Seeds::default();
        for seed in 0..count.min(2) {
            seeds.add(&simulate(&Seeds::reseed_cases(plan.cases(), seed))?);
        }
        if count > 2 {
            let random = seeds.random();
            let cases: Vec<Case> = random.iter().map(|place| plan.cases()[*place].clone()).collect();
            let all: Vec<Case> = (2..count).flat_map(|seed| Seeds::reseed_cases(&cases, seed)).collect();
            seeds.add_random(&random, count - 2, &simulate(&all)?);
        }
        Ok(seeds)
    }

    /// Takes in the results of all cases under the next seed.
    pub fn add(&mut self, results: &Results) {
        self.runs.push(values(results));
    }

    /// These cases with their own seed and `seed` more.
    #[must_use]
    pub fn reseed_cases(cases: &[Case], seed: u32) -> Vec<Case> {
        let reseed = |case: &Case| {
            let mut case = case.clone();
            case.experiment.run.seed = case.experiment.run.seed.wrapping_add(u64::from(seed));
            case
        };
        cases.iter().map(reseed).collect()
    }

    /// The places of the cases that the second seed changed.
    #[must_use]
    pub fn random(&self) -> Vec<usize> {
        let [first, second, ..] = self.runs.as_slice() else { return Vec::new() };
        (0..first.len()).filter(|place| first[*place] != second[*place]).collect()
    }

    /// Takes in the results of the cases at these places under so many seeds, seed by seed; the others are as before.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn add_random(&mut self, places: &[usize], seeds: u32, results: &Results) {
        let values = values(results);
        assert_eq!(values.len(), places.len() * seeds as usize, "one run for each place and seed");
        for seed in 0..seeds as usize {
            let mut runs = self.runs[0].clone();
            for (i, place) in places.iter().enumerate() {
                runs[*place].clone_from(&values[seed * places.len() + i]);
            }
            self.runs.push(runs);
        }
    }

    /// The results by seed.
    pub(crate) fn runs(&self) -> &[Vec<Value>] {
        &self.runs
    }
}

fn values(results: &Results) -> Vec<Value> {
    results.runs.iter().map(|run| serde_json::to_value(run).expect("results are plain data")).collect()
}
