//! Published points over the curves we measure.

use crate::measure::{Expression, Measure};
use block::BadInput;
use config::Section;

/// A figure: a `[[figure]]`.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its title.
    pub title: String,
    /// What the axis across means, with its unit.
    pub x: String,
    /// What the upright axis means, with its unit.
    pub y: String,
    /// What is drawn in it.
    pub curves: Vec<Curve>,
}

/// A curve: a `[[figure.curve]]`.
#[derive(Clone, Debug)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// The points the paper prints, as x and y.
    pub published: Vec<(f64, f64)>,
    /// The label along the axis across.
    pub over: String,
    pub(crate) measure: Expression,
}

/// Reads a `[[figure]]`, and gives back the sections of its curves for errors about them.
pub(crate) fn read<'a>(section: &Section<'a>) -> Result<(Figure, Vec<Section<'a>>), BadInput> {
    let text = |key| section.need(key, section.string(key)?);
    let (title, x, y) = (text("title")?, text("x")?, text("y")?);
    let sections = section.sections("curve")?;
    let curves = sections.iter().map(curve).collect::<Result<Vec<_>, _>>()?;
    section.close()?;
    if curves.is_empty() {
        return Err(section.here("a figure without a curve", "add [[figure.curve]]"));
    }
    Ok((Figure { title, x, y, curves }, sections))
}

fn curve(section: &Section) -> Result<Curve, BadInput> {
    let name = section.need("name", section.string("name")?)?;
    let over = section.need("over", section.string("over")?)?;
    let Measure::Figure(measure) = section.need("measure", section.quantity("measure", Measure::parse)?)? else {
        return Err(section.error("measure", "a curve cannot be an order", "write a measure with numbers"));
    };
    let rows = section.rows("published")?.unwrap_or_default();
    let pair = |row: &Vec<f64>| match row.as_slice() {
        [x, y] => Ok((*x, *y)),
        _ => Err(section.error("published", format!("a row has {} numbers", row.len()), "write rows of [x, y]")),
    };
    let published = rows.iter().map(pair).collect::<Result<_, _>>()?;
    section.close()?;
    Ok(Curve { name, published, over, measure })
}
