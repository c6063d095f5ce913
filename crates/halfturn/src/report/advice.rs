//! What `advise` prints: what to set, and what that gives on the half of the load that the search did not see.

use super::number;
use super::table::{Edge, table};
use sim::{AdviceFigures, AdvisedMeasure};

/// What was found, in words and a table.
pub fn advice(figures: &AdviceFigures) -> String {
    let mut text = format!(" {}\n\n", figures.title);
    let is_left = figures.set.is_empty();
    match (figures.stack, is_left) {
        (None, true) => text += " Leave it as it is: nothing that was tried comes nearer to the goal.\n",
        (None, false) => text += &format!(" Set {}\n", figures.set.join("\n     ")),
        (Some(stack), true) => {
            text += &format!(" Leave {stack} as it is: nothing that was tried comes nearer to the goal.\n")
        }
        (Some(stack), false) => {
            text += &format!(" Under {stack}, where DEV is the disk:\n   {}\n", figures.words.join("\n   "))
        }
    }
    text += &format!(
        "\n {} settings of {} were tried on the first half of the load, which took as much as {} runs of that half.\n",
        number::count(figures.tried as u64),
        count_all(figures.settings),
        number::with_decimals(figures.runs, 1)
    );
    text += " On the half that the search did not see:\n\n";
    let today = figures.stack.map_or_else(|| "today".to_owned(), |stack| format!("{stack} as it is"));
    let names = [today.as_str(), "advised"];
    text += &compare(figures, &names[..if is_left { 1 } else { 2 }]);
    text += &note(figures);
    if let (Some(stack), Some(own)) = (figures.stack, &figures.halfturn) {
        text += &format!("\n What Halfturn would add, set {}:\n\n", own.set.join(" "));
        text += &compare(own, &[&format!("{stack}, advised"), "Halfturn"]);
        text += &note(own);
    }
    text
}

/// A table of all measures of one setting, or of two.
fn compare(figures: &AdviceFigures, names: &[&str]) -> String {
    let [advised, difference] = names.get(1).map_or([""; 2], |advised| [*advised, "difference ± 95 %"]);
    let heads = ["", names[0], advised, difference, "bound", "kept"];
    let heads: Vec<(String, Edge)> = heads
        .iter()
        .enumerate()
        .map(|(i, head)| ((*head).to_owned(), if i == 0 { Edge::Left } else { Edge::Right }))
        .collect();
    let rows: Vec<Vec<String>> = figures.unseen.iter().map(|measure| row(measure, names)).collect();
    table(&heads, &rows)
}

fn count_all(size: f64) -> String {
    if size < 1e6 { number::count(size as u64) } else { format!("some {size:.0e}") }
}

/// A measure of the settings of these names.
fn row(measure: &AdvisedMeasure, names: &[&str]) -> Vec<String> {
    let decimals = number::decimals(measure.today.max(measure.advised));
    let show = |value: f64| if value.is_nan() { "–".to_owned() } else { number::with_decimals(value, decimals) };
    let spread = measure.ci95.map_or_else(String::new, |half| format!(" ± {}", show(half)));
    let sign = if measure.unit == "ms" { "≤" } else { "≥" };
    let mut row = vec![format!("{}, {}", measure.measure, measure.unit), show(measure.today)];
    row.extend(match names {
        [_, _] => [show(measure.advised), format!("{}{spread}", show(measure.difference))],
        _ => [String::new(), String::new()],
    });
    row.push(measure.bound.map_or_else(String::new, |bound| format!("{sign} {}", number::bound(bound))));
    row.push(measure.kept.map_or_else(String::new, |kept| format!("{kept} of {}", measure.parts)));
    row
}

/// What must be known of it.
fn note(figures: &AdviceFigures) -> String {
    if !figures.keeps_bounds_seen {
        return "\n No setting kept all bounds on the half that was seen: this one misses them by the least.\n".into();
    }
    let broken = figures.unseen.iter().filter(|measure| measure.holds == Some(false));
    let broken: Vec<&str> = broken.map(|measure| measure.measure.as_str()).collect();
    if broken.is_empty() {
        return String::new();
    }
    format!("\n It does not hold: {} keeps its bound on the half that was seen only.\n", broken.join(" and "))
}
