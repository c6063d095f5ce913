//! What became of targets since an earlier state of the files: whether a tolerance was widened.

use crate::target::PublishedValue;
use crate::tolerance::Tolerance;
use block::BadInput;
use config::{Document, Section};
use std::collections::BTreeMap;

/// Room for binary fractions when two bounds are compared.
const ROUNDING: f64 = 1e-9;

/// What a target demands, whatever else its file said at the time.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    published: PublishedValue,
    tolerance: Tolerance,
    measure: String,
}

/// What became of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetChange {
    /// The id of the target.
    pub id: String,
    /// What became of it.
    pub what: String,
    /// Whether less is demanded.
    pub is_looser: bool,
}

/// The demands of a file of `reproduce/`, by id; keys that are not about them may be of any time.
///
/// # Errors
/// A text that is no such file.
pub fn demands(name: &str, text: &str) -> Result<BTreeMap<String, Requirement>, BadInput> {
    let document = Document::parse(name, text)?;
    let root = document.root();
    let mut demands = BTreeMap::new();
    for section in root.sections("target")? {
        let published =
            section.need("published", section.quantity("published", |text| Ok(PublishedValue::of(text)))?)?;
        demands.insert(id(&section)?, demand(&section, published)?);
    }
    for section in root.sections("cells")? {
        let id = id(&section)?;
        for cell in section.strings("cells")?.unwrap_or_default() {
            let words: Vec<&str> = cell.split_whitespace().collect();
            let Some((printed, labels)) = words.split_last() else { continue };
            demands.insert(format!("{id}.{}", labels.join(".")), demand(&section, PublishedValue::of(printed))?);
        }
    }
    Ok(demands)
}

fn id(section: &Section) -> Result<String, BadInput> {
    section.need("id", section.string("id")?)
}

fn demand(section: &Section, published: PublishedValue) -> Result<Requirement, BadInput> {
    let tolerance = section.need("tolerance", section.quantity("tolerance", Tolerance::parse)?)?;
    let measure = section.need("measure", section.quantity("measure", |text| Ok(text.to_owned()))?)?;
    Ok(Requirement { published, tolerance, measure })
}

/// What became of each demand that is not as it was; new ones are no change.
#[must_use]
pub fn changes(before: &BTreeMap<String, Requirement>, now: &BTreeMap<String, Requirement>) -> Vec<TargetChange> {
    let mut changes = Vec::new();
    for (id, old) in before {
        let mut tell = |what: String, is_looser| changes.push(TargetChange { id: id.clone(), what, is_looser });
        let Some(new) = now.get(id) else {
            tell("is gone".into(), true);
            continue;
        };
        if is_wider(old, new) {
            tell(
                format!(
                    "is wider: `{}` around {}, was `{}` around {}",
                    new.tolerance, new.published, old.tolerance, old.published
                ),
                true,
            );
        }
        if old.published != new.published {
            tell(format!("holds ours against {}, was {}", new.published, old.published), false);
        }
        if old.measure != new.measure {
            tell(format!("measures `{}`, was `{}`", new.measure, old.measure), false);
        }
    }
    changes
}

/// Whether anything passes now that did not before.
fn is_wider(old: &Requirement, new: &Requirement) -> bool {
    if old.tolerance.is_order() || new.tolerance.is_order() {
        return old.tolerance.is_order() != new.tolerance.is_order();
    }
    let (least_before, most_before) = old.tolerance.interval(old.published.number());
    let (least, most) = new.tolerance.interval(new.published.number());
    let room = |bound: f64| ROUNDING * bound.abs();
    least < least_before - room(least_before) || most > most_before + room(most_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(published: &str, tolerance: &str, measure: &str) -> BTreeMap<String, Requirement> {
        let text = format!(
            "[[target]]\nid = \"a.b\"\npublished = {published}\ntolerance = \"{tolerance}\"\nmeasure = \"{measure}\"\nfitted = true\n\
             [[cells]]\nid = \"a.at\"\ncells = [\"x 2.0\"]\ntolerance = \"10 %\"\nmeasure = \"$1\"\n"
        );
        demands("reproduce/a.toml", &text).expect("demands")
    }

    #[test]
    fn what_lets_more_pass_is_looser() {
        let before = of("10", "30 %, >= 8", "x");
        for (now, looser) in [
            (of("10", "30 %, >= 8", "x"), None),
            (of("10", "20 %", "x"), None),
            (of("10", "8..13", "x"), None),
            (of("10", "30 %", "x"), Some(true)),
            (of("10", "8..13.1", "x"), Some(true)),
            (of("10", ">= 8", "x"), Some(true)),
            (of("10", "order", "x"), Some(true)),
            (of("\"10.0\"", "20 %", "x"), Some(false)),
            (of("10", "20 %", "y"), Some(false)),
            (of("11", "20 %", "x"), Some(true)),
        ] {
            let changes = changes(&before, &now);
            assert_eq!(changes.first().map(|change| change.is_looser), looser, "{changes:?}");
        }
    }

    #[test]
    fn what_is_gone_is_looser_and_what_is_new_is_no_change() {
        let (all, mut fewer) = (of("1", "0", "x"), of("1", "0", "x"));
        fewer.remove("a.at.x").expect("a cell");
        assert_eq!(
            changes(&all, &fewer),
            [TargetChange { id: "a.at.x".into(), what: "is gone".into(), is_looser: true }]
        );
        assert_eq!(changes(&fewer, &all), []);
    }
}
