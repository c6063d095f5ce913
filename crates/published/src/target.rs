//! One published figure, and what must hold of ours.

use crate::basis::Basis;
use crate::measure::{Expression, Measure};
use crate::tolerance::Tolerance;
use block::BadInput;
use config::Section;
use std::fmt;

/// The measure of what nothing here measures yet.
const NONE: &str = "none";

/// What a paper printed.
#[derive(Clone, Debug, PartialEq)]
pub enum PublishedValue {
    /// A number, in the unit its claim names.
    Number {
        /// The published number itself.
        value: f64,
        /// As it is printed: its last digit tells how precise it is.
        text: String,
    },
    /// Words, of what only an order or a bound was printed.
    Words(String),
}

impl PublishedValue {
    /// A number if it is one.
    #[must_use]
    pub fn of(text: &str) -> PublishedValue {
        let text = text.trim();
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => PublishedValue::Number { value, text: text.into() },
            _ => PublishedValue::Words(text.into()),
        }
    }

    /// The number, if it is one.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match self {
            PublishedValue::Number { value, .. } => Some(*value),
            PublishedValue::Words(_) => None,
        }
    }

    /// How far a figure may be from the number and still round to it: half a unit of its last digit.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        let PublishedValue::Number { text, .. } = self else { return None };
        let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        Some(0.5 / 10f64.powi(decimals as i32))
    }
}

impl From<f64> for PublishedValue {
    fn from(value: f64) -> PublishedValue {
        PublishedValue::Number { value, text: value.to_string() }
    }
}

impl fmt::Display for PublishedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublishedValue::Number { text, .. } => f.write_str(text),
            PublishedValue::Words(words) => f.write_str(words),
        }
    }
}

/// What the file says will come of a target, so that any change is noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expected {
    /// The target is expected to hold.
    #[default]
    Held,
    /// The target is expected to be missed.
    Missed,
    /// It depends on the seed.
    Undecided,
}

/// The words of `expect`.
pub(crate) const EXPECTED: [(&str, Expected); 3] =
    [("held", Expected::Held), ("missed", Expected::Missed), ("undecided", Expected::Undecided)];

/// One published figure: a `[[target]]`, or a cell of a `[[cells]]`.
#[derive(Clone, Debug)]
pub struct PublishedTarget {
    /// Its name, which begins with that of its file.
    pub id: String,
    /// What is claimed, in a short sentence that names the unit.
    pub claim: String,
    /// What the paper printed.
    pub published: PublishedValue,
    /// What the number is.
    pub basis: Basis,
    /// The paper's own words, where they are why the tolerance is loose.
    pub quote: Option<String>,
    /// How far ours may be from it.
    pub tolerance: Tolerance,
    /// How ours is measured; nothing where it is not.
    pub(crate) measure: Option<Measure>,
    /// Whether it is of the quick subset.
    pub fast: bool,
    /// What else a reader should know.
    pub note: Option<String>,
    /// Why it does not hold, where an experiment shows that.
    pub known_miss: Option<String>,
    /// What is to be expected of it.
    pub expected: Expected,
    /// An error about its measure, for what comes to light only when it is evaluated.
    pub(crate) place: BadInput,
}

impl PublishedTarget {
    /// What is measured for it.
    pub(crate) fn expressions(&self) -> &[Expression] {
        self.measure.as_ref().map_or(&[], Measure::expressions)
    }
}

/// Reads a `[[target]]` of the file with this id.
pub(crate) fn read(section: &Section, file: &str) -> Result<PublishedTarget, BadInput> {
    let id = section.need("id", section.string("id")?)?;
    let claim = section.need("claim", section.string("claim")?)?;
    let published = section.need("published", section.quantity("published", |text| Ok(PublishedValue::of(text)))?)?;
    let measure = section.need("measure", section.quantity("measure", measure)?)?;
    let expected = section.choice("expect", &EXPECTED)?;
    if expected == Some(Expected::Held) && section.has("known_miss") {
        return Err(section.error("expect", "a known miss that is expected to hold", "take one of them out"));
    }
    let expected = expected.unwrap_or(if section.has("known_miss") { Expected::Missed } else { Expected::Held });
    let target = read_target(section, file, Row { id, claim, published, measure, expected })?;
    section.close()?;
    Ok(target)
}

/// What differs between the cells of a `[[cells]]`.
pub(crate) struct Row {
    pub id: String,
    pub claim: String,
    pub published: PublishedValue,
    pub measure: Option<Measure>,
    pub expected: Expected,
}

/// A measure, or none.
pub(crate) fn measure(text: &str) -> Result<Option<Measure>, String> {
    if text == NONE { Ok(None) } else { Measure::parse(text).map(Some) }
}

/// A target of a row and of the keys that all rows of a section share.
pub(crate) fn read_target(section: &Section, file: &str, row: Row) -> Result<PublishedTarget, BadInput> {
    let id = row.id;
    if !id.strip_prefix(file).is_some_and(|rest| rest.starts_with('.')) {
        let mend = format!("begin it with `{file}.`");
        return Err(section.error("id", format!("the id '{id}' does not begin with that of its file"), mend));
    }
    let known_miss = section.string("known_miss")?.filter(|_| row.expected != Expected::Held);
    let target = PublishedTarget {
        id,
        claim: row.claim,
        published: row.published,
        basis: Basis::read(section)?,
        quote: section.string("quote")?,
        tolerance: section.need("tolerance", section.quantity("tolerance", Tolerance::parse)?)?,
        measure: row.measure,
        fast: section.bool("fast")?.unwrap_or(false),
        note: section.string("note")?,
        known_miss,
        expected: row.expected,
        place: section.error("measure", "", ""),
    };
    check(section, &target)?;
    Ok(target)
}

fn check(section: &Section, target: &PublishedTarget) -> Result<(), BadInput> {
    let tolerance = &target.tolerance;
    let suits = |measure: &Measure| measure.is_order() == tolerance.is_order();
    if !target.measure.as_ref().is_none_or(suits) {
        let mend = "write `tolerance = \"order\"` where, and only where, the measure compares";
        return Err(section.error("tolerance", "the tolerance does not suit the measure", mend));
    }
    if target.measure.is_none() && target.note.is_none() {
        return Err(section.error("measure", "nothing is measured, and nothing says why", "say why in `note`"));
    }
    if tolerance.needs_number() && target.published.number().is_none() {
        let mend = "publish a number, or give a bound";
        return Err(section.error("tolerance", "there is no number for the tolerance to be around", mend));
    }
    loose(section, target)
}

/// Refuses a tolerance that lets a factor pass, unless the paper's own words are no tighter.
fn loose(section: &Section, target: &PublishedTarget) -> Result<(), BadInput> {
    let tolerance = &target.tolerance;
    if target.basis == Basis::Own || target.quote.is_some() || tolerance.is_order() {
        return Ok(());
    }
    match target.published.number() {
        // Words that `how` derives from what is printed.
        None if matches!(target.basis, Basis::Derived(_)) => Ok(()),
        Some(number) if tolerance.is_narrow(number) => Ok(()),
        Some(number) => Err(section.error(
            "tolerance",
            format!("`{tolerance}` is not within 30 % of the printed {number} on both sides"),
            "give a share of it as well (30 %, >= 5), or quote the paper's own looser words (quote = \"up to\")",
        )),
        None => Err(section.error(
            "tolerance",
            format!("no number was published, and no words of the paper say `{tolerance}`"),
            "quote them (quote = \"a factor of 4\"), or write `basis = \"own\"` where nothing was published",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_is_half_a_unit_of_the_last_printed_digit() {
        for (text, precision) in [("8.2", 0.05), ("16.250", 0.0005), ("4", 0.5), ("555193", 0.5), ("20.0", 0.05)] {
            assert_eq!(PublishedValue::of(text).precision(), Some(precision), "{text}");
        }
        assert_eq!(PublishedValue::of("falls").precision(), None);
    }
}
