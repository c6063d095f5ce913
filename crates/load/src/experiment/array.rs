//! `[array]`: several disks of a kind as one.

use super::varied::{Scope, Varied, choice};
use super::{Kind, Workload};
use block::{BadInput, Span, units};
use config::Section;
use sched::array::{ArrayPlan, Geometry, Level, MOST_DISKS, Migration, Placement};

/// Blocks of a stripe unit where the file does not say: 64 KiB.
const UNIT: u32 = 128;

/// The array of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayChoice {
    /// How it keeps its data.
    pub level: Level,
    /// How many disks.
    pub disks: u16,
    /// Blocks of a stripe unit.
    pub unit: u32,
    /// What it does with requests.
    pub plan: ArrayPlan,
    /// The disks that fail, in order of time.
    pub fails: Vec<Failure>,
}

/// A disk that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which, from 0.
    pub disk: u16,
    /// When.
    pub at: Span,
    /// Whether an empty one takes its place at once.
    pub replaced: bool,
}

/// The array, if there is one: of the disks that [[disk]] counts, or of as many as its `disks` says.
pub(super) fn read(
    root: &Section,
    counted: Option<u16>,
    workloads: &[Workload],
    varied: &Varied,
) -> Result<Option<ArrayChoice>, BadInput> {
    let Some(section) = root.section("array")? else {
        if let Some(repair) = workloads.iter().find(|workload| matches!(workload.kind, Kind::Repair { .. })) {
            let what = format!("workload '{}' repairs an array, and there is none", repair.name);
            return Err(root.here(what, "add [array], or take the workload out"));
        }
        return match counted {
            Some(disks) if disks > 1 => {
                Err(root.error("disk", format!("{disks} disks and no [array]"), "add [array] with its `level`"))
            }
            _ => Ok(None),
        };
    };
    let later = [("4", "parity on one disk"), ("6", "double parity")];
    let levels = [("0", "0"), ("0/1", "0/1"), ("1", "0/1"), ("10", "0/1"), ("5", "5")];
    let level = section.need("level", choice(&section, "level", &levels, &later)?)?;
    let given = section.within("disks", 1, MOST_DISKS.into())?.map(|disks| disks as u16);
    if let (Some(_), Some(counted)) = (given, counted.filter(|counted| *counted > 1)) {
        let what = format!("`disks` here, and {counted} in [[disk]]");
        return Err(section.error("disks", what, "keep one of them"));
    }
    let disks = section.need("disks", given.or(counted.filter(|counted| *counted > 1)))?;
    let copies = section.within("copies", 2, MOST_DISKS.into())?;
    varied.belongs(Scope::Array, &section, "copies", "level", &["0/1", "1", "10"])?;
    let level = match level {
        "0" => Level::Striped,
        "5" => Level::Parity,
        _ => Level::Mirrored { copies: copies.unwrap_or(2) as u16 },
    };
    let unit = match section.size("stripe")? {
        None => UNIT,
        Some(blocks) if blocks == 0 || blocks > u64::from(u32::MAX) / u64::from(MOST_DISKS) => {
            let what = format!("a stripe unit of {}", units::show_blocks(blocks));
            return Err(section.error("stripe", what, "give one such as 64KiB"));
        }
        Some(blocks) => blocks as u32,
    };
    let placements = [
        ("least-finish", Placement::LeastFinish),
        ("round-robin", Placement::RoundRobin),
        ("nearest", Placement::Nearest),
    ];
    let placement = section.choice("placement", &placements)?.unwrap_or_default();
    let migrations = [("never", Migration::Never), ("remainder", Migration::Remainder), ("jit", Migration::Jit)];
    let migration = section.choice("migration", &migrations)?.unwrap_or_default();
    let delay = section.span("message_delay")?.unwrap_or_default();
    let buffer = section.size("buffer")?.unwrap_or(0);
    let trusting = section.choice("buffer_until", &[("medium", false), ("drive", true)])?;
    if trusting.is_some() && buffer == 0 {
        let what = "`buffer_until` is of use only with a `buffer`";
        return Err(section.error("buffer_until", what, "give one, or take it out"));
    }
    let trusting = trusting.unwrap_or(false);
    let key = match level {
        Level::Mirrored { .. } if section.has("copies") => "copies",
        _ => "disks",
    };
    Geometry::new(level, disks, unit, u64::from(u32::MAX)).map_err(|(what, mend)| section.error(key, what, mend))?;
    let sections = section.sections("fails")?;
    let mut fails = sections.iter().map(|fails| failure(fails, disks)).collect::<Result<Vec<_>, _>>()?;
    fails.sort_by_key(|failure| failure.at);
    section.close()?;
    let plan = ArrayPlan { placement, buffer, trusting, migration, delay };
    Ok(Some(ArrayChoice { level, disks, unit, plan, fails }))
}

/// One of `[[array.fails]]`.
fn failure(section: &Section, disks: u16) -> Result<Failure, BadInput> {
    let disk = section.need("disk", section.u64("disk")?)?;
    if disk >= u64::from(disks) {
        let what = format!("disk {disk} of {disks}");
        return Err(section.error("disk", what, format!("give one from 0 to {}", disks - 1)));
    }
    let failure = Failure {
        disk: disk as u16,
        at: section.span("at")?.unwrap_or_default(),
        replaced: section.bool("replaced")?.unwrap_or(false),
    };
    section.close()?;
    Ok(failure)
}
