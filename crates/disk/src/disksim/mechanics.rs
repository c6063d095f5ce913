//! `dm_mech_g1` read into a plan, with the seek files it names.

use super::files;
use super::params::{Ignored, Params};
use crate::{LayoutPlan, SeekCurve, Switches};
use block::{At, BadInput, Span};
use std::path::Path;

/// Points of a seek file, at most.
const POINTS: usize = 1 << 20;
/// Bytes of a seek file, at most.
const BYTES: u64 = 64 << 20;

/// What the mechanics of a drive are.
pub(super) struct MechanicsParams {
    pub(super) rpm: f64,
    /// How far the rotation is off, as a fraction.
    pub(super) rpm_offset: f64,
    pub(super) seek: SeekCurve,
    pub(super) seek_write: Option<SeekCurve>,
    pub(super) switches: Switches,
}

/// Parameters that say in other words what is read elsewhere.
const HARMLESS: [&str; 3] = ["Single cylinder seek time", "Full strobe seek time", "Average seek time"];

/// The mechanics of a `dm_disk`.
pub(super) fn plan(
    model: &Params,
    layout: &LayoutPlan,
    path: &Path,
    ignored: &mut Vec<Ignored>,
    warnings: &mut Vec<String>,
) -> Result<MechanicsParams, BadInput> {
    let block = model.block("Mechanical Model")?.ok_or_else(|| model.missing("Mechanical Model"))?;
    let mechanics = model.inner(block);
    let rpm = mechanics.need("Rotation speed (in rpms)")?;
    if !(1.0..=1e6).contains(&rpm) {
        let name = "Rotation speed (in rpms)";
        return Err(mechanics.error(name, format!("{rpm} rpm is no disk"), "give revolutions per minute, e.g. 7200"));
    }
    if let Some(kind) = mechanics.word("Access time type")?
        && kind != "trackSwitchPlusRotation"
    {
        warnings.push(format!("`Access time type = {kind}`: seeks and rotation are simulated all the same"));
    }
    let said = model.or_zero("Number of cylinders")?.clamp(1.0, 16_777_216.0) as u32;
    let listed = layout.list.as_ref().and_then(|list| list.zones.last()).map(|zone| zone.last_cylinder);
    let last = layout.zones.last().map(|zone| zone.last_cylinder).or(listed);
    let cylinders = last.map_or(said, |last| last.saturating_add(1));
    let (seek, mut seek_write) = curves(&mechanics, cylinders, path)?;
    let settle = settle(&mechanics, seek_write.as_ref().unwrap_or(&seek), cylinders, warnings)?;
    let switches = switches(&mechanics, &seek, seek_write.as_ref(), settle)?;
    if settle < 0.0 {
        seek_write = Some(shift_curve(seek_write.as_ref().unwrap_or(&seek), settle));
    }
    let rpm_offset = mechanics.or_zero("Percent error in rpms")? / 100.0;
    if rpm_offset.abs() > 0.05 {
        let what = format!("the rotation is off by {} %", rpm_offset * 100.0);
        return Err(mechanics.error("Percent error in rpms", what, "give at most 5"));
    }
    ignored.extend(mechanics.rest(&HARMLESS));
    Ok(MechanicsParams { rpm, rpm_offset, seek, seek_write, switches })
}

/// A span of so many ms; none if that is less than no time.
pub(super) fn span(ms: f64) -> Span {
    Span((ms.clamp(0.0, 1e7) * 1e6 + 0.5) as u64)
}

/// What a write adds to a move, in ms. It is negative where the times measured are those of reads, before which the
/// head settles longer, but never longer than a move takes.
fn settle(mechanics: &Params, write: &SeekCurve, cylinders: u32, warnings: &mut Vec<String>) -> Result<f64, BadInput> {
    let settle = mechanics.or_zero("Add. write settling delay")?;
    if settle >= 0.0 {
        return Ok(settle);
    }
    let head = Some(mechanics.or_zero("Head switch time")?).filter(|head| *head > 0.0);
    let least = (1..cylinders).map(|distance| write.ms(distance)).chain(head).fold(f64::INFINITY, f64::min);
    // A nanosecond is left, so that rounding leaves no seek below zero.
    let bounded = settle.max(1e-6 - least).min(0.0);
    if bounded > settle {
        warnings.push(format!(
            "`Add. write settling delay` is {settle}: taken as {bounded:.6}, since the shortest move takes {least} ms"
        ));
    }
    Ok(bounded)
}

/// A curve with each time longer by `by` ms.
fn shift_curve(curve: &SeekCurve, by: f64) -> SeekCurve {
    match curve {
        SeekCurve::Table(points) => {
            let first = points.first().is_some_and(|point| point.0 > 1).then(|| (1, curve.ms(1)));
            let points = first.into_iter().chain(points.iter().copied());
            SeekCurve::Table(points.map(|(distance, ms)| (distance, (ms + by).max(0.0))).collect())
        }
        SeekCurve::Lee { a, b, c } => SeekCurve::Lee { a: *a, b: *b, c: c + by },
        SeekCurve::TwoPiece { a, b, knee, c, e, first } => {
            let first = first.iter().map(|ms| ms + by).collect();
            SeekCurve::TwoPiece { a: a + by, b: *b, knee: *knee, c: c + by, e: *e, first }
        }
    }
}

fn switches(
    mechanics: &Params,
    seek: &SeekCurve,
    write: Option<&SeekCurve>,
    settle: f64,
) -> Result<Switches, BadInput> {
    let head = mechanics.or_zero("Head switch time")?.max(0.0);
    // Every crossing is a seek of one cylinder or a head switch, whichever takes longer, and settles before a write.
    let cylinder = seek.ms(1).max(head);
    let cylinder_write = write.unwrap_or(seek).ms(1).max(head) + settle;
    Ok(Switches {
        head: span(head),
        head_write: span(if head > 0.0 { head + settle } else { 0.0 }),
        cylinder: span(cylinder),
        cylinder_write: span(cylinder_write),
        write_settle: span(settle),
    })
}

/// The seek curve, and that before writes if it is another.
fn curves(mechanics: &Params, cylinders: u32, path: &Path) -> Result<(SeekCurve, Option<SeekCurve>), BadInput> {
    let kind = mechanics.word("Seek type")?.unwrap_or("extracted");
    let known = "seek types are extracted, hplplus10, hpl, curve, linear and constant";
    match kind {
        "extracted" => {
            let name = mechanics.word("Full seek curve")?.ok_or_else(|| mechanics.missing("Full seek curve"))?;
            file(mechanics, name, path)
        }
        "hpl" | "hplplus10" => {
            let values = mechanics.numbers("HPL seek equation values")?;
            let [v1, v2, v3, v4, v5, v6] = values[..] else {
                let what = format!("`HPL seek equation values` holds {} numbers", values.len());
                return Err(mechanics.error("HPL seek equation values", what, "give six"));
            };
            let table = mechanics.numbers("First ten seek times")?;
            let first = match kind {
                "hplplus10" if table.len() != 10 => {
                    let what = format!("`First ten seek times` holds {} numbers", table.len());
                    return Err(mechanics.error("First ten seek times", what, "give ten"));
                }
                "hplplus10" => table,
                _ if v6 >= 0.0 => vec![v6],
                _ => Vec::new(),
            };
            // The first piece holds below V1, which need not be whole.
            let knee = (v1.ceil() - 1.0).clamp(0.0, 1e9) as u32;
            Ok((SeekCurve::TwoPiece { a: v2, b: v3, knee, c: v4, e: v5, first }, None))
        }
        "curve" | "linear" => {
            let least = mechanics.need("Single cylinder seek time")?;
            let average = mechanics.need("Average seek time")?;
            let most = mechanics.need("Full strobe seek time")?;
            let c = f64::from(cylinders);
            if kind == "linear" {
                let third = (cylinders / 3).max(2);
                return Ok((
                    SeekCurve::Table(vec![(1, least), (third, average), (cylinders.max(third + 1), most)]),
                    None,
                ));
            }
            let a = (-10.0 * least + 15.0 * average - 5.0 * most) / (3.0 * c.sqrt());
            let b = (7.0 * least - 15.0 * average + 8.0 * most) / (3.0 * c);
            Ok((SeekCurve::Lee { a, b, c: least }, None))
        }
        "constant" => {
            let time = mechanics.need("Average seek time")?;
            Ok((SeekCurve::Table(vec![(1, time), (2, time)]), None))
        }
        other => Err(mechanics.error("Seek type", format!("there is no seek type '{other}'"), known)),
    }
}

/// A seek file: lines of `distance, ms [, standard deviation [, ms before writes]]`.
fn file(mechanics: &Params, name: &str, path: &Path) -> Result<(SeekCurve, Option<SeekCurve>), BadInput> {
    let path = mechanics.beside("Full seek curve", name, path);
    let bytes = files::read(&path, BYTES).map_err(|error| {
        let what = format!("the seek file '{}' cannot be read: {error}", path.display());
        mechanics.error("Full seek curve", what, "put it beside the file that names it")
    })?;
    super::seeks(&path.display().to_string(), &bytes)
}

/// The points of a seek file.
pub(super) fn points(file: &str, text: &str) -> Result<(SeekCurve, Option<SeekCurve>), BadInput> {
    let (mut read, mut write) = (Vec::new(), Vec::new());
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() || (read.is_empty() && line.starts_with("Seek distances measured")) {
            continue;
        }
        let bad = |what: String| {
            let mend = "give lines of: distance in cylinders, ms [, standard deviation [, ms before writes]]";
            BadInput::new(file, At::Line(i as u64 + 1), what, mend)
        };
        let numbers: Option<Vec<f64>> =
            line.trim_end_matches(',').split(',').map(|word| word.trim().parse().ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.iter().all(|number| number.is_finite()));
        let Some(numbers) = numbers.filter(|numbers| (2..=4).contains(&numbers.len())) else {
            return Err(bad("this is no seek".into()));
        };
        let (distance, ms) = (numbers[0], numbers[1]);
        let last = read.last().map_or(0.0, |point: &(u32, f64)| f64::from(point.0));
        if distance.fract() != 0.0 || distance <= last || distance > 1e9 || read.len() >= POINTS {
            return Err(bad(format!("the distance {distance} does not follow {last}")));
        }
        let writes = numbers.get(3).copied().unwrap_or(ms);
        if !(0.0..=4000.0).contains(&ms) || !(0.0..=4000.0).contains(&writes) {
            return Err(bad(format!("a seek of {ms} or {writes} ms")));
        }
        read.push((distance as u32, ms));
        write.push((distance as u32, writes));
    }
    if read.is_empty() {
        return Err(BadInput::new(file, At::File, "there is no seek in it", "give at least one line: distance, ms"));
    }
    let differ = read != write;
    Ok((SeekCurve::Table(read), differ.then_some(SeekCurve::Table(write))))
}
