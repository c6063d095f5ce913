//! `[seek]` of a drive file.

use crate::{SeekCurve, SeekTable};
use block::BadInput;
use config::Section;

/// The seek times, and those before random writes where they differ.
pub(super) fn tables(section: &Section, cylinders: u32) -> Result<(SeekTable, Option<SeekTable>), BadInput> {
    let read = curve(section)?;
    let write = if section.has("write_table") {
        Some(worked_out(section, &points(section, "write_table")?, cylinders)?)
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
    if section.has("table") {
        return points(section, "table");
    }
    if let Some(lee) = section.f64s("lee_ms")? {
        let [a, b, c] = lee[..] else {
            return Err(section.error(
                "lee_ms",
                format!("{} numbers", lee.len()),
                "give [a, b, c]: a·√(d − 1) + b·(d − 1) + c",
            ));
        };
        return Ok(SeekCurve::Lee { a, b, c });
    }
    let knee = section.need("knee", section.f64("knee")?)?;
    if knee < 0.0 {
        return Err(section.error("knee", format!("knee is {knee}"), "give a distance in cylinders, or 0"));
    }
    let knee = knee as u32;
    let number = |key: &str| section.need(key, section.f64(key)?);
    let (a, b, c, e) = (number("a_ms")?, number("b_ms")?, number("c_ms")?, number("e_ms")?);
    let first = match section.f64("single_ms")? {
        Some(single) => vec![single],
        None => section.f64s("first_ms")?.unwrap_or_default(),
    };
    Ok(SeekCurve::TwoPiece { a, b, knee, c, e, first })
}

fn points(section: &Section, key: &str) -> Result<SeekCurve, BadInput> {
    let rows = section.rows(key)?.unwrap_or_default();
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
