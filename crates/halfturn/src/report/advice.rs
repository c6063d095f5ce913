//! What `advise` prints: what to set, and what that gives on the half of the load that the search did not see.

use super::number;
use super::table::{Edge, table};
use load::goal::{GoalBound, GoalMeasure, SettingGoal};
use load::interval;
use load::results::Run;
use load::tuning::SearchSpace;
use sim::Advice;

/// What was found, in words and a table.
pub fn advice(space: &SearchSpace, goal: &SettingGoal, advice: &Advice) -> String {
    let sets = space.tell(&advice.best);
    let mut text = format!(" {}\n\n", space.experiment.title);
    let changed = advice.best != space.today();
    if changed {
        text += &format!(" Set {}\n", sets.join("\n     "));
    } else {
        text += " Leave it as it is: nothing that was tried comes nearer to the goal.\n";
    }
    text += &format!(
        "\n {} settings of {} were tried on the first half of the load, which took as much as {} runs of that half.\n",
        number::count(advice.tried as u64),
        count_all(space.size()),
        number::with_decimals(advice.cost, 1)
    );
    text += " On the half that the search did not see:\n\n";
    let heads = [
        "",
        "today",
        if changed { "advised" } else { "" },
        if changed { "difference ± 95 %" } else { "" },
        "bound",
        "kept",
    ];
    let heads: Vec<(String, Edge)> = heads
        .iter()
        .enumerate()
        .map(|(i, head)| ((*head).to_owned(), if i == 0 { Edge::Left } else { Edge::Right }))
        .collect();
    let mut told: Vec<&GoalMeasure> = Vec::new();
    let mut rows = Vec::new();
    for measure in goal.measures() {
        if !told.contains(&measure) {
            told.push(measure);
            let bound = goal.bounds.iter().find(|bound| bound.of == *measure);
            let mut row = row(measure, bound, &advice.unseen);
            if !changed {
                // What is advised is what there is.
                [2, 3].iter().for_each(|column| row[*column].clear());
            }
            rows.push(row);
        }
    }
    text += &table(&heads, &rows);
    text + &note(goal, advice)
}

fn count_all(size: f64) -> String {
    if size < 1e6 { number::count(size as u64) } else { format!("some {size:.0e}") }
}

/// A measure of both, mean over the parts; the interval is of their differences, part by part.
fn row(measure: &GoalMeasure, bound: Option<&GoalBound>, unseen: &[[Run; 2]]) -> Vec<String> {
    let values = |which: usize| unseen.iter().map(|runs| measure.of(&runs[which])).collect::<Vec<f64>>();
    let (today, advised) = (values(0), values(1));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let differences: Vec<f64> = today.iter().zip(&advised).map(|(today, advised)| advised - today).collect();
    let decimals = number::decimals(mean(&today).max(mean(&advised)));
    let show = |value: f64| if value.is_nan() { "–".to_owned() } else { number::with_decimals(value, decimals) };
    let spread = interval(&differences).map_or_else(String::new, |half| format!(" ± {}", show(half)));
    let kept = bound.map_or_else(String::new, |bound| {
        let kept = advised.iter().filter(|value| bound.miss_by(**value) == 0.0).count();
        format!("{kept} of {}", advised.len())
    });
    let unit = measure.unit();
    let limit = bound.map_or_else(String::new, |bound| {
        let sign = if measure.is_rate() { "≥" } else { "≤" };
        format!("{sign} {}", number::plain(bound.value))
    });
    let mut row = vec![format!("{measure}, {unit}"), show(mean(&today))];
    row.extend([show(mean(&advised)), format!("{}{spread}", show(mean(&differences)))]);
    row.extend([limit, kept]);
    row
}

/// What must be known of it.
fn note(goal: &SettingGoal, advice: &Advice) -> String {
    let mut text = String::new();
    if advice.scores[0].missed > 0.0 {
        text += "\n No setting kept all bounds on the half that was seen: this one misses them by the least.\n";
    }
    let bounds = goal.bounds.iter().filter(|bound| {
        let values = advice.unseen.iter().map(|runs| bound.of.of(&runs[1]));
        bound.miss_by(values.sum::<f64>() / advice.unseen.len().max(1) as f64) > 0.0
    });
    let broken: Vec<String> = bounds.map(|bound| bound.of.to_string()).collect();
    if !broken.is_empty() && advice.scores[0].missed == 0.0 {
        text +=
            &format!("\n It does not hold: {} keeps its bound on the half that was seen only.\n", broken.join(" and "));
    }
    text
}
