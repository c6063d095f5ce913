//! Searches parameters that a paper does not print, over all that it does print together: `reproduce/search/NAME.toml` lists them,
//! and what each may be. From where each starts, one is changed at a time to what brings most printed numbers near, until no
//! change helps. The choice is printed with what each column of the tables says of it, and its neighbours.

mod plan;

use crate::docs::Program;
use plan::{SearchKnob, SearchPlan};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// How far off a number counts at most, as a logarithm: one that is lost must not outweigh all others.
const FARTHEST: f64 = 1.5;

/// Printed numbers that a setting brings near, or claims that hold under it, and how many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    near: usize,
    all: usize,
}

impl Tally {
    /// Counts one more, which is near, or holds, where `near` is 1.
    fn count(&mut self, near: usize) {
        self.near += near;
        self.all += 1;
    }
}

/// What became of the printed numbers under one setting.
#[derive(Clone, Debug, Default, PartialEq)]
struct Score {
    tally: Tally,
    /// Orders and other findings in words, and how many of them hold.
    claims: Tally,
    /// The mean distance from the printed numbers, as a logarithm.
    distance: f64,
    columns: BTreeMap<String, Tally>,
}

impl Score {
    /// Of the targets in the JSON of `halfturn reproduce`: those whose number a paper prints, and what it says in words.
    fn of(plan: &SearchPlan, json: &Value) -> Score {
        let mut score = Score::default();
        for target in json["targets"].as_array().into_iter().flatten() {
            let printed = matches!(target["basis"].as_str(), Some("published" | "fitted"));
            if !printed {
                continue;
            }
            let column = plan.column(target["id"].as_str().unwrap_or_default());
            let of_column = score.columns.entry(column.into()).or_default();
            let (Some(published), Some(measured)) = (target["published"].as_f64(), target["measured"].as_f64()) else {
                let holds = usize::from(target["verdict"].as_str() == Some("held"));
                for tally in [&mut score.claims, of_column] {
                    tally.count(holds);
                }
                continue;
            };
            let near = usize::from((measured / published - 1.0).abs() <= plan.within);
            for tally in [&mut score.tally, of_column] {
                tally.count(near);
            }
            score.distance += (measured / published).abs().ln().abs().min(FARTHEST);
        }
        score.distance /= score.tally.all.max(1) as f64;
        score
    }

    /// More near numbers and claims that hold are better; where there are as many, the nearer.
    fn is_better_than(&self, other: &Score) -> bool {
        let rank = |score: &Score| (score.tally.near + score.claims.near, -score.distance);
        rank(self) > rank(other)
    }

    fn show(&self) -> String {
        let Score { tally, claims, distance, .. } = self;
        let numbers = format!("{} of {} numbers within the bound", tally.near, tally.all);
        format!("{numbers}, {} of {} claims held, mean distance {distance:.3}", claims.near, claims.all)
    }
}

/// Searches, or with `--neighbours` only looks around the start.
///
/// # Errors
/// When the file is wrong, or the program does not build or run.
pub fn run(root: &Path, arguments: &[String]) -> Result<bool, String> {
    let (name, only_look) = match arguments {
        [name] => (name, false),
        [name, flag] if flag == "--neighbours" => (name, true),
        _ => return Err("name a file of reproduce/search\n  mend: cargo xtask search pfm [--neighbours]".into()),
    };
    let path = format!("reproduce/search/{name}.toml");
    let text = std::fs::read_to_string(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
    let plan = SearchPlan::parse(&path, &text)?;
    let program = Program::build(root, false)?;
    let mut known = BTreeMap::new();
    let mut score = |choice: &[usize]| score_of(&program, &plan, choice, &mut known);
    let (mut best, mut reached) = (plan.start(), score(&plan.start())?);
    println!("{}\n  {}", plan.show(&best), reached.show());
    if !only_look {
        while let Some((choice, its)) = find_better(&plan, (&best, &reached), &mut score)? {
            (best, reached) = (choice, its);
            println!("{}\n  {}", plan.show(&best), reached.show());
        }
    }
    println!("\nThe choice:\n{}", plan.show(&best));
    print_columns(&reached);
    println!("\nIts neighbours, each with one parameter changed:");
    for (change, neighbour) in neighbours(&plan.knobs, &best) {
        println!("  {change}: {}", score(&neighbour)?.show());
    }
    Ok(true)
}

/// Of the neighbours of a choice that are better than its score, the best.
fn find_better(
    plan: &SearchPlan,
    (choice, reached): (&[usize], &Score),
    score: &mut impl FnMut(&[usize]) -> Result<Score, String>,
) -> Result<Option<(Vec<usize>, Score)>, String> {
    let mut found: Option<(Vec<usize>, Score)> = None;
    for (_, neighbour) in neighbours(&plan.knobs, choice) {
        let its = score(&neighbour)?;
        if its.is_better_than(found.as_ref().map_or(reached, |(_, score)| score)) {
            found = Some((neighbour, its));
        }
    }
    Ok(found)
}

fn print_columns(score: &Score) {
    for (column, tally) in &score.columns {
        println!("  {column}: {} of {}", tally.near, tally.all);
    }
}

/// Each choice that differs in one parameter, and what differs.
fn neighbours(knobs: &[SearchKnob], choice: &[usize]) -> Vec<(String, Vec<usize>)> {
    let mut all = Vec::new();
    for (k, knob) in knobs.iter().enumerate() {
        for (o, option) in knob.options.iter().enumerate().filter(|(o, _)| *o != choice[k]) {
            let mut neighbour = choice.to_vec();
            neighbour[k] = o;
            all.push((format!("{} {}", knob.name, option.name), neighbour));
        }
    }
    all
}

fn score_of(
    program: &Program,
    plan: &SearchPlan,
    choice: &[usize],
    known: &mut BTreeMap<Vec<usize>, Score>,
) -> Result<Score, String> {
    if let Some(score) = known.get(choice) {
        return Ok(score.clone());
    }
    let mut arguments = vec!["reproduce".to_owned()];
    arguments.extend(plan.targets.iter().cloned());
    arguments.extend(plan.changes(choice).flat_map(|change| ["--set".to_owned(), change.to_owned()]));
    let score = Score::of(plan, &program.json_of(&arguments)?);
    known.insert(choice.to_vec(), score.clone());
    Ok(score)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plan() -> SearchPlan {
        let text = "targets = [\"a\"]\nwithin = 0.25\n[columns]\nfirst = [\"x\"]\n\
                    [[parameter]]\nname = \"s\"\nstart = \"2\"\noptions = { 1 = [\"k=1\"], 2 = [\"k=2\"], 3 = [\"k=3\"] }\n\
                    [[parameter]]\nname = \"t\"\nstart = \"on\"\noptions = { on = [], off = [\"t=off\"] }\n";
        SearchPlan::parse("f", text).expect("a plan")
    }

    fn target(id: &str, basis: &str, measured: f64) -> Value {
        json!({"id": id, "basis": basis, "published": 100.0, "measured": measured})
    }

    #[test]
    fn printed_numbers_and_claims_count_and_each_in_its_column() {
        let json = json!({"targets": [target("a.x.1", "published", 124.0), target("a.x.2", "fitted", 126.0),
            target("a.y", "published", 76.0), target("a.y2", "derived", 100.0),
            json!({"id": "a.x.z", "basis": "published", "published": "order", "measured": [1.0, 2.0], "verdict": "held"}),
            json!({"id": "a.x.y", "basis": "fitted", "published": "order", "measured": [2.0, 1.0], "verdict": "undecided"}),
            json!({"id": "a.z", "basis": "own", "published": "order", "measured": [1.0, 2.0], "verdict": "held"})]});
        let score = Score::of(&plan(), &json);
        assert_eq!(score.tally, Tally { near: 2, all: 3 });
        assert_eq!(score.claims, Tally { near: 1, all: 2 });
        assert_eq!(score.columns["first"], Tally { near: 2, all: 4 });
        assert_eq!(score.columns["other"], Tally { near: 1, all: 1 });
    }

    #[test]
    fn what_is_near_or_held_wins_then_the_nearer_and_both_sides_weigh_alike() {
        let of = |measured: f64| Score::of(&plan(), &json!({"targets": [target("a", "published", measured)]}));
        assert!(of(110.0).is_better_than(&of(120.0)) && of(80.0).is_better_than(&of(10.0)));
        assert!((of(200.0).distance - of(50.0).distance).abs() < 1e-9, "twice and half are as far");
        assert!(!of(100.0).is_better_than(&of(100.0)));
    }

    #[test]
    fn neighbours_differ_in_one_parameter() {
        let plan = plan();
        assert_eq!(plan.start(), [1, 1], "options are in the order of their names");
        let names: Vec<String> = neighbours(&plan.knobs, &plan.start()).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["s 1", "s 3", "t off"]);
        assert_eq!(plan.changes(&[2, 0]).collect::<Vec<_>>(), ["k=3", "t=off"]);
    }
}
