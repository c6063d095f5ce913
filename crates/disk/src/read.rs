//! A drive file (TOML) read into a sheet and, where it holds one, a truth.

use crate::{
    Cache, Layout, LayoutPlan, Mechanics, Order, Overheads, Parity, Rotation, SeekCurve, SeekTable, Sheet, Switches,
    Truth, ZonePlan,
};
use block::{BadInput, Span};
use config::{Document, Section};
use std::path::Path;
use std::sync::Arc;

/// A drive as a file describes it.
#[derive(Clone, Debug)]
pub struct Drive {
    /// What can be known.
    pub sheet: Sheet,
    /// What nobody outside knows.
    pub truth: Truth,
}

/// Reads a drive file.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn load(path: &Path) -> Result<Drive, BadInput> {
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    read(&name, &Document::load(path)?)
}

/// Reads the text of a drive file shown as `file` in errors.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn parse(name: &str, file: &str, text: &str) -> Result<Drive, BadInput> {
    read(name, &Document::parse(file, text)?)
}

fn read(name: &str, document: &Document) -> Result<Drive, BadInput> {
    let root = document.root();
    let title = root.need("title", root.string("title")?)?;
    let sources = root.strings("sources")?.unwrap_or_default();
    let assumed = root.strings("assumed")?.unwrap_or_default();
    let rotation = root.need("rotation", root.section("rotation")?)?;
    let rpm = positive(&rotation, "rpm")?;
    if !(1.0..=1e6).contains(&rpm) {
        return Err(rotation.error("rpm", format!("{rpm} rpm is no disk"), "give revolutions per minute, e.g. 7200"));
    }
    rotation.close()?;
    let layout = layout(&root.need("geometry", root.section("geometry")?)?)?;
    let seek = seek_table(&root.need("seek", root.section("seek")?)?, layout.cylinders())?;
    let switches = switches(&root.need("switch", root.section("switch")?)?, &seek)?;
    let overheads = overheads(root.section("overhead")?)?;
    let cache = cache(root.section("cache")?)?;
    let truth = truth(root.section("truth")?)?;
    root.close()?;
    let mechanics = Mechanics { layout, seek, rotation: Rotation::from_rpm(rpm), switches };
    let sheet = Sheet { name: name.into(), title, sources, assumed, mechanics: Arc::new(mechanics), overheads, cache };
    Ok(Drive { sheet, truth })
}

fn positive(section: &Section, key: &str) -> Result<f64, BadInput> {
    let value = section.need(key, section.f64(key)?)?;
    if value > 0.0 {
        Ok(value)
    } else {
        Err(section.error(key, format!("{key} is not positive"), "give a number above 0"))
    }
}

fn layout(section: &Section) -> Result<Layout, BadInput> {
    let heads = section.need("heads", section.within("heads", 1, 1024)?)?;
    let order = section.need("order", section.string("order")?)?;
    let band = section.within("band", 1, 1 << 24)?.unwrap_or(128);
    let order = match order.as_str() {
        "heads-first" => Order::HeadsFirst,
        "serpentine" => Order::Serpentine(Parity::OfZone),
        "serpentine-absolute" => Order::Serpentine(Parity::OfDisk),
        "band-serpentine" => Order::BandSerpentine(band),
        other => {
            let mend = "use heads-first, serpentine, serpentine-absolute or band-serpentine";
            return Err(section.error("order", format!("there is no track order '{other}'"), mend));
        }
    };
    let sector_blocks = section.size("sector")?.unwrap_or(1).min(1 << 20) as u32;
    if !sector_blocks.is_power_of_two() || sector_blocks > 64 {
        let mend = "give a power of two times 512 bytes, at most 32KiB, e.g. 4KiB";
        return Err(section.error("sector", "no sector has this size", mend));
    }
    let in_revolutions = match section.string("skew")?.as_deref() {
        None | Some("sectors") => false,
        Some("revolutions") => true,
        Some(other) => {
            return Err(section.error("skew", format!("no unit of skew is '{other}'"), "use sectors or revolutions"));
        }
    };
    let rows = section.need("zones", section.rows("zones")?)?;
    let mut zones = Vec::with_capacity(rows.len());
    for row in rows {
        zones.push(zone(&row, in_revolutions).map_err(|what| {
            section.error(
                "zones",
                what,
                "give [first cylinder, last cylinder, sectors, head skew, cylinder skew, spares]",
            )
        })?);
    }
    let blocks = section.u64("blocks")?;
    let plan = LayoutPlan { heads, order, sector_blocks, zones, blocks };
    let layout = Layout::new(&plan).map_err(|what| section.error("zones", what, "correct the zone table"))?;
    section.close()?;
    Ok(layout)
}

fn zone(row: &[f64], in_revolutions: bool) -> Result<ZonePlan, String> {
    let whole = |i: usize, what: &str| -> Result<u32, String> {
        let value = row.get(i).copied().unwrap_or(0.0);
        if value < 0.0 || value.fract() != 0.0 || value > f64::from(u32::MAX) {
            return Err(format!("a zone's {what} is {value}, not a whole number of zero or more"));
        }
        Ok(value as u32)
    };
    if !(5..=6).contains(&row.len()) {
        return Err(format!("a zone has {} numbers", row.len()));
    }
    let sectors = whole(2, "sectors")?;
    let unit = if in_revolutions { 1.0 } else { f64::from(sectors.max(1)) };
    if row[3] < 0.0 || row[4] < 0.0 {
        return Err("a zone's skew is negative".into());
    }
    Ok(ZonePlan {
        first_cylinder: whole(0, "first cylinder")?,
        last_cylinder: whole(1, "last cylinder")?,
        sectors,
        head_skew: row[3] / unit,
        cylinder_skew: row[4] / unit,
        spares: whole(5, "spares")?,
    })
}

fn seek_table(section: &Section, cylinders: u32) -> Result<SeekTable, BadInput> {
    let curve = seek(section)?;
    match (1..cylinders).find(|d| !(0.0..=4000.0).contains(&curve.ms(*d))) {
        None => Ok(SeekTable::new(&curve, cylinders)),
        Some(distance) => {
            let what = format!("a seek over {distance} cylinders comes to {} ms", curve.ms(distance));
            Err(section.here(what, "give a curve between 0 and 4000 ms over the whole stroke"))
        }
    }
}

fn seek(section: &Section) -> Result<SeekCurve, BadInput> {
    let rows = section.rows("table")?;
    let Some(rows) = rows else {
        let knee = positive(section, "knee")? as u32;
        let number = |key: &str| section.need(key, section.f64(key)?);
        let (a, b, c, e) = (number("a_ms")?, number("b_ms")?, number("c_ms")?, number("e_ms")?);
        let single = section.f64("single_ms")?;
        section.close()?;
        return Ok(SeekCurve::TwoPiece { a, b, knee, c, e, single });
    };
    let mut points: Vec<(u32, f64)> = Vec::with_capacity(rows.len());
    for row in &rows {
        let bad = |what: String| {
            section.error("table", what, "give rows of [distance in cylinders, ms], distances ascending")
        };
        let [distance, ms] = row[..] else { return Err(bad(format!("a row has {} numbers", row.len()))) };
        let after = points.last().map_or(0.0, |point| f64::from(point.0));
        if distance.fract() != 0.0 || distance <= after || distance > 1e9 || !(0.0..=4000.0).contains(&ms) {
            return Err(bad(format!("the row [{distance}, {ms}] does not follow {after}, or is no seek")));
        }
        points.push((distance as u32, ms));
    }
    if points.is_empty() {
        return Err(section.error("table", "the seek table is empty", "give at least one row"));
    }
    section.close()?;
    Ok(SeekCurve::Table(points))
}

fn switches(section: &Section, seek: &SeekTable) -> Result<Switches, BadInput> {
    let head = section.need("head", section.span("head")?)?;
    let cylinder = section.span("cylinder")?.unwrap_or(seek.time(1));
    let switches = Switches {
        head,
        head_write: section.span("head_write")?.unwrap_or(head),
        cylinder,
        cylinder_write: section.span("cylinder_write")?.unwrap_or(cylinder),
        write_settle: section.span("write_settle")?.unwrap_or_default(),
    };
    section.close()?;
    Ok(switches)
}

fn overheads(section: Option<Section>) -> Result<Overheads, BadInput> {
    let Some(section) = section else { return Ok(Overheads::default()) };
    let read = section.span("read")?.unwrap_or_default();
    let bus_mb_s = if section.has("bus_mb_s") { Some(positive(&section, "bus_mb_s")?) } else { None };
    let overheads = Overheads {
        read,
        write: section.span("write")?.unwrap_or(read),
        hit: section.span("hit")?.unwrap_or(read),
        bus_mb_s,
    };
    section.close()?;
    Ok(overheads)
}

fn cache(section: Option<Section>) -> Result<Cache, BadInput> {
    let Some(section) = section else { return Ok(Cache::default()) };
    let size = |key: &str| -> Result<u32, BadInput> { Ok(section.size(key)?.unwrap_or(0).min(1 << 31) as u32) };
    let segments = section.u64("segments")?.unwrap_or(0).min(1 << 16) as u32;
    let segment = size("segment")?;
    let cache = Cache {
        segments,
        segment,
        read_ahead: if section.has("read_ahead") { size("read_ahead")? } else { segment },
        write_buffer: size("write_buffer")?,
    };
    section.close()?;
    Ok(cache)
}

fn truth(section: Option<Section>) -> Result<Truth, BadInput> {
    let Some(section) = section else { return Ok(Truth::default()) };
    let fraction = |key: &str| -> Result<f64, BadInput> {
        let value = section.f64(key)?.unwrap_or(0.0);
        if value.abs() <= 0.05 {
            Ok(value)
        } else {
            Err(section.error(key, format!("{key} is {value}"), "give a fraction of at most 0.05"))
        }
    };
    let truth = Truth {
        seek_noise: section.span("seek_noise")?.unwrap_or_default(),
        late_share: section.share("late_share")?.unwrap_or(0.0),
        late_by: section.span("late_by")?.unwrap_or_default(),
        rpm_offset: fraction("rpm_offset")?,
        rpm_wander: fraction("rpm_wander")?,
        wander_period: section.span("wander_period")?.unwrap_or(Span(600_000_000_000)),
    };
    section.close()?;
    Ok(truth)
}
