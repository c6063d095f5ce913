//! `[seek]` of a drive file.

use crate::{SeekCurve, SeekTable};
use block::BadInput;
use config::{Key, Section};

config::keys! {
    /// How long seeks take by their distance d in cylinders: two pieces, `a_ms` + `b_ms`·√d up to `knee`, then `c_ms` + `e_ms`·d;
    /// or a `table`; or `lee_ms`.
    pub(crate) fn keys() -> "[seek]";

    /// Constant of the first piece, ms.
    A: f64 = number("a_ms", f64::MIN, f64::MAX).else_told(GIVEN);
    /// Factor of √d of the first piece, ms.
    B: f64 = number("b_ms", f64::MIN, f64::MAX).else_told(GIVEN);
    /// The last distance of the first piece, in cylinders.
    KNEE: f64 = number("knee", 0.0, f64::MAX).else_told(GIVEN);
    /// Constant of the second piece, ms.
    C: f64 = number("c_ms", f64::MIN, f64::MAX).else_told(GIVEN);
    /// Factor of d of the second piece, ms.
    E: f64 = number("e_ms", f64::MIN, f64::MAX).else_told(GIVEN);
    /// The seek over one cylinder, ms.
    SINGLE: f64 = number("single_ms", f64::MIN, f64::MAX).else_told("as the first piece has it");
    /// Seeks over one, two and more cylinders, ms.
    FIRST: Vec<f64> = numbers("first_ms").else_told("as the first piece has them");
    /// Rows of distance in cylinders and time, ms, distances ascending; in between lies a line.
    TABLE: Vec<Vec<f64>> = rows("table");
    /// `[a, b, c]` of a·√(d − 1) + b·(d − 1) + c, ms (Lee).
    LEE: Vec<f64> = numbers("lee_ms");
    /// A table of seeks before a random write, where they are others.
    WRITE_TABLE: Vec<Vec<f64>> = rows("write_table");
}

/// When the pieces of the curve must be given.
const GIVEN: &str = "must be given without `table` and `lee_ms`";

/// The seek times, and those before random writes where they differ.
pub(super) fn tables(section: &Section, cylinders: u32) -> Result<(SeekTable, Option<SeekTable>), BadInput> {
    let read = curve(section)?;
    let write = if section.has(WRITE_TABLE.name()) {
        Some(worked_out(section, &points(section, &WRITE_TABLE)?, cylinders)?)
    } else if let Some(inner) = section.section("write")? {
        let write = worked_out(&inner, &curve(&inner)?, cylinders)?;
        inner.close()?;
        Some(write)
    } else {
        None
    };
    section.close()?;
    Ok((worked_out(section, &read, cylinders)?, write))
}

fn worked_out(section: &Section, curve: &SeekCurve, cylinders: u32) -> Result<SeekTable, BadInput> {
    match (1..cylinders).find(|d| !(0.0..=4000.0).contains(&curve.ms(*d))) {
        None => Ok(SeekTable::new(curve, cylinders)),
        Some(distance) => {
            let what = format!("a seek over {distance} cylinders comes to {} ms", curve.ms(distance));
            Err(section.here(what, "give a curve between 0 and 4000 ms over the whole stroke"))
        }
    }
}

fn curve(section: &Section) -> Result<SeekCurve, BadInput> {
    if section.has(TABLE.name()) {
        return points(section, &TABLE);
    }
    if let Some(lee) = section.get(&LEE)? {
        let [a, b, c] = lee[..] else {
            return Err(section.error(
                "lee_ms",
                format!("{} numbers", lee.len()),
                "give [a, b, c]: a·√(d − 1) + b·(d − 1) + c",
            ));
        };
        return Ok(SeekCurve::Lee { a, b, c });
    }
    let knee = section.value(&KNEE)? as u32;
    let (a, b, c, e) = (section.value(&A)?, section.value(&B)?, section.value(&C)?, section.value(&E)?);
    let first = match section.get(&SINGLE)? {
        Some(single) => vec![single],
        None => section.get(&FIRST)?.unwrap_or_default(),
    };
    Ok(SeekCurve::TwoPiece { a, b, knee, c, e, first })
}

fn points(section: &Section, declared: &Key<Vec<Vec<f64>>>) -> Result<SeekCurve, BadInput> {
    let key = declared.name();
    let rows = section.get(declared)?.unwrap_or_default();
    let mut points: Vec<(u32, f64)> = Vec::with_capacity(rows.len());
    for row in &rows {
        let bad =
            |what: String| section.error(key, what, "give rows of [distance in cylinders, ms], distances ascending");
        let [distance, ms] = row[..] else { return Err(bad(format!("a row has {} numbers", row.len()))) };
        let after = points.last().map_or(0.0, |point| f64::from(point.0));
        if distance.fract() != 0.0 || distance <= after || distance > 1e9 || !(0.0..=4000.0).contains(&ms) {
            return Err(bad(format!("the row [{distance}, {ms}] does not follow {after}, or is no seek")));
        }
        points.push((distance as u32, ms));
    }
    if points.is_empty() {
        return Err(section.error(key, "the seek table is empty", "give at least one row"));
    }
    Ok(SeekCurve::Table(points))
}
