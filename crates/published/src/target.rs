//! One published figure, and what must hold of ours.

use crate::measure::Measure;
use crate::tolerance::Tolerance;
use block::BadInput;
use config::Section;
use std::fmt;

/// What a paper printed.
#[derive(Clone, Debug, PartialEq)]
pub enum PublishedValue {
    /// A number, in the unit its claim names.
    Number(f64),
    /// Words, of what only an order or a bound was printed.
    Words(String),
}

impl fmt::Display for PublishedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublishedValue::Number(number) => write!(f, "{number}"),
            PublishedValue::Words(words) => f.write_str(words),
        }
    }
}

/// One published figure: a `[[target]]`.
#[derive(Clone, Debug)]
pub struct PublishedTarget {
    /// Its name, which begins with that of its file.
    pub id: String,
    /// What is claimed, in a short sentence that names the unit.
    pub claim: String,
    /// What the paper printed.
    pub published: PublishedValue,
    /// How far ours may be from it.
    pub tolerance: Tolerance,
    /// How ours is measured.
    pub(crate) measure: Measure,
    /// Whether it is of the quick subset.
    pub fast: bool,
    /// Whether a constant of the model was fitted on this figure, so that agreement shows consistency only.
    pub fitted: bool,
    /// What else a reader should know.
    pub note: Option<String>,
    /// Why it does not hold, where that is known.
    pub known_miss: Option<String>,
    /// An error about its measure, for what comes to light only when it is evaluated.
    pub(crate) place: BadInput,
}

/// Reads a `[[target]]` of the file with this id.
pub(crate) fn read(section: &Section, file: &str) -> Result<PublishedTarget, BadInput> {
    let id = section.need("id", section.string("id")?)?;
    if !id.strip_prefix(file).is_some_and(|rest| rest.starts_with('.')) {
        let mend = format!("begin it with `{file}.`");
        return Err(section.error("id", format!("the id '{id}' does not begin with that of its file"), mend));
    }
    let target = PublishedTarget {
        claim: section.need("claim", section.string("claim")?)?,
        published: section.need("published", section.quantity("published", parse_published)?)?,
        tolerance: section.need("tolerance", section.quantity("tolerance", Tolerance::parse)?)?,
        measure: section.need("measure", section.quantity("measure", Measure::parse)?)?,
        fast: section.bool("fast")?.unwrap_or(false),
        fitted: section.bool("fitted")?.unwrap_or(false),
        note: section.string("note")?,
        known_miss: section.string("known_miss")?,
        place: section.error("measure", "", ""),
        id,
    };
    section.close()?;
    if target.measure.is_order() != (target.tolerance == Tolerance::Order) {
        let mend = "write `tolerance = \"order\"` where, and only where, the measure compares";
        return Err(section.error("tolerance", "the tolerance does not suit the measure", mend));
    }
    if target.tolerance.needs_number() && matches!(target.published, PublishedValue::Words(_)) {
        let mend = "publish a number, or give a bound";
        return Err(section.error("tolerance", "there is no number for the tolerance to be around", mend));
    }
    Ok(target)
}

/// A number if it is one.
fn parse_published(text: &str) -> Result<PublishedValue, String> {
    Ok(match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => PublishedValue::Number(number),
        _ => PublishedValue::Words(text.into()),
    })
}
