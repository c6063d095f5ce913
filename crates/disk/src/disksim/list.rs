//! `dm_layout_g2` read into a plan, with the map file it names: what an extraction found on a drive, run by run.
//!
//! ```text
//! two lines of any text
//! C cylinders, R rot, H heads
//! lbn L --> cyl C, head H, sect S, count N      (or `seqcnt N`: so many after the first)
//! Defect at cyl C, head H, sect S
//! ```

use super::files;
use super::params::Params;
use super::parse::ParamValue;
use crate::layout::RUNS;
use crate::{LayoutPlan, ListPlan, ListZone, SectorRun};
use block::{At, BadInput};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Cylinders, sectors: no drive has more.
const MOST: f64 = 16_777_215.0;
/// Blocks: exact as a number.
const BLOCKS: f64 = 9_007_199_254_740_992.0;
/// Bytes of a line of the map, at most.
const LINE: u64 = 1024;
/// What a line of the map is.
const SHAPE: &str = "write `lbn L --> cyl C, head H, sect S, count N`, with `seqcnt N - 1` for `count N`";

/// The layout, of so many heads; files are looked for beside `path`.
pub(super) fn plan(
    layout: &Params,
    heads: u32,
    path: &Path,
    warnings: &mut Vec<String>,
) -> Result<LayoutPlan, BadInput> {
    let mut zones = Vec::new();
    let mut next = 0;
    for value in layout.list("Zones")? {
        let ParamValue::Block(block) = value else {
            return Err(layout.error("Zones", "a zone is no block", "write dm_layout_g2_zone { … }"));
        };
        let zone = layout.inner(block);
        let read = self::zone(&zone)?;
        let last = zone.whole("Last LBN", BLOCKS)?;
        if read.first != next || last < read.first {
            let what = format!("a zone of blocks {} to {last} where block {next} should begin one", read.first);
            return Err(zone.error("First LBN", what, "give each zone the blocks after those of the one before it"));
        }
        next = last + 1;
        let unknown = zone.rest(&[]);
        warnings
            .extend(unknown.iter().map(|it| format!("{}:{}: `{}` is not modelled", it.file, it.line, it.parameter)));
        zones.push(read);
    }
    let name = layout.word("Layout Map File")?.ok_or_else(|| layout.missing("Layout Map File"))?;
    let path = layout.beside("Layout Map File", name, path);
    let file = files::open(&path).map_err(|error| {
        let what = format!("the map file '{}' cannot be read: {error}", path.display());
        layout.error("Layout Map File", what, "put it beside the file that names it")
    })?;
    let runs = runs(&path.display().to_string(), BufReader::new(file), heads)?;
    let held: u64 = runs.iter().map(|run| u64::from(run.count)).sum();
    if held != next {
        warnings.push(format!("the zones have {next} blocks, the map holds {held}: the map counts"));
    }
    let list = ListPlan { zones, runs };
    Ok(LayoutPlan { heads, sector_blocks: 1, list: Some(list), ..LayoutPlan::default() })
}

fn zone(zone: &Params) -> Result<ListZone, BadInput> {
    let sectors = zone.whole("Blocks per track", MOST)? as u32;
    let unit = match zone.word("Skew units")? {
        None | Some("sectors") => f64::from(sectors.max(1)),
        Some("revolutions") => 1.0,
        Some(other) => {
            let what = format!("no unit of skew is '{other}'");
            return Err(zone.error("Skew units", what, "use sectors or revolutions"));
        }
    };
    let skew = |name: &'static str| -> Result<f64, BadInput> { Ok(zone.or_zero(name)? / unit) };
    Ok(ListZone {
        first_cylinder: zone.whole("First cylinder number", MOST)? as u32,
        last_cylinder: zone.whole("Last cylinder number", MOST)? as u32,
        sectors,
        first: zone.whole("First LBN", BLOCKS)?,
        offset: skew("Zone Skew")?,
        head_skew: skew("Skew for track switch")?,
        cylinder_skew: skew("Skew for cylinder switch")?,
    })
}

/// The runs of a map shown as `file` in errors.
pub(super) fn runs(file: &str, text: impl BufRead, heads: u32) -> Result<Vec<SectorRun>, BadInput> {
    MapFile { file: file.into(), line: 0, text, heads }.runs()
}

/// A map file that is read.
struct MapFile<R> {
    file: String,
    line: u64,
    text: R,
    heads: u32,
}

impl<R: BufRead> MapFile<R> {
    fn bad(&self, what: impl Into<String>, mend: &str) -> BadInput {
        BadInput::new(&self.file, At::Line(self.line), what, mend)
    }

    /// The next line that is not blank.
    fn next(&mut self) -> Result<Option<String>, BadInput> {
        loop {
            let mut bytes = Vec::new();
            self.line += 1;
            let read = self.text.by_ref().take(LINE).read_until(b'\n', &mut bytes);
            read.map_err(|error| self.bad(format!("cannot be read: {error}"), "see whether the disk is in order"))?;
            if bytes.len() as u64 == LINE {
                return Err(self.bad("a line of more than 1024 bytes", SHAPE));
            }
            let line = String::from_utf8_lossy(&bytes);
            match line.trim() {
                "" if bytes.is_empty() => return Ok(None),
                // The first lines are of any text, or none.
                "" if self.line > 2 => {}
                line => return Ok(Some(line.to_owned())),
            }
        }
    }

    /// The runs, in ascending blocks. Blocks lie around bad sectors already, so nothing is done about these.
    fn runs(mut self) -> Result<Vec<SectorRun>, BadInput> {
        let (_, _) = (self.next()?, self.next()?);
        let head = self.next()?.unwrap_or_default();
        let [_, _, heads] = numbers(&head, ["", "cylinders,", "rot,"], "heads").ok_or_else(|| {
            self.bad("this does not say how large the drive is", "write `C cylinders, R rot, H heads`")
        })?;
        if heads != u64::from(self.heads) {
            let mend = "correct `Number of data surfaces`, or name this drive's own map";
            return Err(self.bad(format!("a map of {heads} heads, for a drive of {}", self.heads), mend));
        }
        let (mut runs, mut next) = (Vec::new(), 0);
        while let Some(line) = self.next()? {
            if line.starts_with("Defect") {
                numbers(&line, ["Defect at cyl", ", head", ", sect"], "")
                    .ok_or_else(|| self.bad("this is no defect", "write `Defect at cyl C, head H, sect S`"))?;
                continue;
            }
            let (first, run) = run(&line).ok_or_else(|| self.bad("this is no run of blocks", SHAPE))?;
            if first != next {
                let what = format!("a run from block {first} on where block {next} should follow");
                return Err(self.bad(what, "give the runs in ascending blocks, without a gap"));
            }
            if runs.len() >= RUNS {
                return Err(self.bad(format!("more than {RUNS} runs"), "name the map of one drive"));
            }
            next += u64::from(run.count);
            runs.push(run);
        }
        Ok(runs)
    }
}

/// The first block of a line, and the run it begins.
fn run(line: &str) -> Option<(u64, SectorRun)> {
    let (lead, more) = if line.contains("seqcnt") { (", seqcnt", 1) } else { (", count", 0) };
    let [first, cylinder, head, sector, count] = numbers(line, ["lbn", "--> cyl", ", head", ", sect", lead], "")?;
    let whole = |number: u64| u32::try_from(number).ok();
    let run = SectorRun {
        cylinder: whole(cylinder)?,
        head: whole(head)?,
        sector: whole(sector)?,
        count: whole(count + more)?,
    };
    Some((first, run))
}

/// The numbers of a line, each after its lead; the line ends with `tail`.
fn numbers<const N: usize>(line: &str, leads: [&str; N], tail: &str) -> Option<[u64; N]> {
    let mut rest = line;
    let mut found = [0; N];
    for (number, lead) in found.iter_mut().zip(leads) {
        rest = rest.trim_start().strip_prefix(lead)?.trim_start();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        *number = rest[..digits].parse().ok().filter(|number| *number <= u64::from(u32::MAX) << 16)?;
        rest = &rest[digits..];
    }
    (rest.trim() == tail).then_some(found)
}
