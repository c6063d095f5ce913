//! Published points over the curves we measure.

use crate::measure::{Expression, Measure};
use block::BadInput;
use config::Section;

/// A figure: a `[[figure]]`.
#[derive(Clone, Debug)]
pub struct PublishedFigure {
    /// The title above the figure.
    pub title: String,
    /// What the axis across means, with its unit.
    pub x: String,
    /// What the upright axis means, with its unit.
    pub y: String,
    /// What is drawn in it.
    pub curves: Vec<PublishedCurve>,
}

/// A curve: a `[[figure.curve]]`.
#[derive(Clone, Debug)]
pub struct PublishedCurve {
    /// The curve's name in the legend.
    pub name: String,
    /// The points the paper prints, as x and y.
    pub published: Vec<(f64, f64)>,
    pub(crate) across: Across,
    pub(crate) measure: Expression,
}

/// What lies along the axis across.
#[derive(Clone, Debug)]
pub(crate) enum Across {
    /// The label that a sweep gives each run: `over`.
    Label(String),
    /// What was measured besides, of the same runs: `against`.
    Measure(Expression),
}

impl PublishedCurve {
    /// What is measured for it.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let across = match &self.across {
            Across::Measure(across) => Some(across),
            Across::Label(_) => None,
        };
        across.into_iter().chain([&self.measure])
    }
}

/// Reads a `[[figure]]`, and gives back the sections of its curves for errors about them.
pub(crate) fn read<'a>(section: &Section<'a>) -> Result<(PublishedFigure, Vec<Section<'a>>), BadInput> {
    let text = |key| section.need(key, section.string(key)?);
    let (title, x, y) = (text("title")?, text("x")?, text("y")?);
    let sections = section.sections("curve")?;
    let curves = sections.iter().map(curve).collect::<Result<Vec<_>, _>>()?;
    section.close()?;
    if curves.is_empty() {
        return Err(section.here("a figure without a curve", "add [[figure.curve]]"));
    }
    Ok((PublishedFigure { title, x, y, curves }, sections))
}

fn curve(section: &Section) -> Result<PublishedCurve, BadInput> {
    let name = section.need("name", section.string("name")?)?;
    let figure = |key| match section.quantity(key, Measure::parse)? {
        None => Ok(None),
        Some(Measure::Figure(figure)) => Ok(Some(figure)),
        Some(_) => Err(section.error(key, "a curve cannot be an order", "write a measure with numbers")),
    };
    let across = match (section.string("over")?, figure("against")?) {
        (Some(_), Some(_)) => return Err(section.error("against", "both `over` and `against`", "keep one of them")),
        (None, Some(against)) => Across::Measure(against),
        (over, None) => Across::Label(section.need("over", over)?),
    };
    let measure = section.need("measure", figure("measure")?)?;
    let rows = section.rows("published")?.unwrap_or_default();
    let pair = |row: &Vec<f64>| match row.as_slice() {
        [x, y] => Ok((*x, *y)),
        _ => Err(section.error("published", format!("a row has {} numbers", row.len()), "write rows of [x, y]")),
    };
    let published = rows.iter().map(pair).collect::<Result<_, _>>()?;
    section.close()?;
    Ok(PublishedCurve { name, published, across, measure })
}
