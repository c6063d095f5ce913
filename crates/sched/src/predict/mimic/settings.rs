//! `[scheduler.mimic]`: how the Disk Mimic learns the device.

use super::{DistanceSummary, Idle, Learning, LineCheck, Probing, points};
use crate::policy::{BaseOrder, Learn};
use block::{BLOCK_BYTES, BadInput, Span};
use config::{NamedBy, Section, Word, Words};
use std::path::{Path, PathBuf};

/// How the device is learned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Set,
    Priority,
    Before,
}

impl Words for How {
    const WORDS: &'static [Word<How>] = &[
        Word::new(
            "online-set",
            How::Set,
            "in use: the base's choice where its time is unknown, else the least known time",
        ),
        Word::new(
            "online-priority",
            How::Priority,
            "in use: the least known time; the base's choice where none is known",
        ),
        Word::new("off-line", How::Before, "before the run, by probing another device of the same make"),
    ];
}

/// What is learned beside distance.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SecondKey {
    None,
    Angle,
}

impl Words for SecondKey {
    const WORDS: &'static [Word<SecondKey>] = &[
        Word::new("none", SecondKey::None, "nothing"),
        Word::new(
            "angle",
            SecondKey::Angle,
            "where on its track a request begins, learned before the run as with `profile = \"learned\"`; where nothing \
             turns, distance alone",
        ),
    ];
}

config::keys! {
    /// How the Disk Mimic learns the device: with `policy = "smtf"` or `predictor = "mimic"`.
    pub fn keys() -> "[scheduler.mimic]";

    /// How the device is learned.
    LEARN: How = word("learn").usually("online-set");
    /// What orders requests while little is known.
    BASE: BaseOrder = word("base").usually("sstf");
    /// Of `online-set`: the share of its time by which another request must be better than the base's choice.
    MARGIN: f64 = share("margin").else_told("0.1; 0 where not `smooth`");
    /// What was learned before: a file of `halfturn profile --mimic`.
    TABLE: String = text("table").naming(NamedBy::File).else_told("none");
    /// What is learned beside distance.
    SECOND_KEY: SecondKey = word("second_key").usually("none");
    /// Whether the mean of few samples is drawn towards what similar distances take; otherwise as in the paper.
    SMOOTH: bool = bool("smooth").usually("true");
    /// Whether a line between two distances stands for those in between.
    INTERPOLATE: bool = bool("interpolate").usually("true");
    /// Of `off-line`: how many distances between two are checked before the line between these stands for the rest.
    CHECK_POINTS: u32 = within("check_points", 1, 1000).else_told("1, 2, 3, 4, 5, 10, as long as they allow it (The Disk Mimic, Table 2)");
    /// Of `off-line` and not `smooth`: how far from the line each of `check_points` may be, as a share of its time.
    ALLOWED_ERROR: f64 = share("allowed_error").else_told("0.01, 0.02, 0.05, 0.1, 0.15, 0.2, by how many are checked");
    /// Of `off-line`: how many interpolated distances are probed afterwards, so that results tell how true the lines are.
    LINES_TRIED: u32 = within("lines_tried", 0, 1_000_000).usually("0");
    /// Of `off-line`: a distance whose samples are all among the results.
    SHOWN: u64 = size("shown").else_told("none");
    /// Whether results tell the demerit figure: how far the times believed of commands are, as a distribution, from those they
    /// took. What follows a `pause` has no part in it.
    DEMERIT: bool = bool("demerit").usually("false");
    /// What stands for the probed times of one distance.
    SUMMARY: DistanceSummary = word("summary").usually("mean");
    /// How often each distance is probed.
    SAMPLES: u32 = within("samples", 1, 100_000).usually("10");
    /// What a probe reads.
    PROBE: u64 = size("probe").usually("1KiB");
    /// Where it learns in use: after so long without a request, the distances that will be asked about and of which least is
    /// known are probed, one read at a time, until each has `samples`. What probes read takes room in the drive's cache.
    PROBE_AFTER: Span = span("probe_after").else_told("never");
    /// Where the part of the drive begins that is probed.
    PROBE_FROM: u64 = size("probe_from").usually("0B");
    /// Where that part ends.
    PROBE_TO: u64 = size("probe_to").else_told("the end of the drive");
    /// The farthest distance that is probed.
    REACH: u64 = size("reach").else_told("the whole drive");
    /// Distances closer together than this count as one.
    GRAIN: u64 = size("grain").usually("1KiB");
    /// The memory that everything learned may take.
    MEMORY: u64 = size("memory").usually("1MiB");
    /// The samples after which a distance counts as known.
    FEWEST: u32 = within("fewest", 1, 255).usually("1");
    /// Whether reads and writes are learned apart.
    APART: bool = bool("apart").usually("false");
    /// A request that follows a pause as long as this is not learned from.
    PAUSE: Span = span("pause").usually("1ms");
}

/// The margin, where a mean counts for what it is worth. What the curve leaves unsure is less; but a tenth costs nothing where
/// distance tells more than the seek, and elsewhere keeps to the base.
const USUAL_MARGIN: f64 = 0.1;

/// How the Disk Mimic is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What it knows before it begins.
    pub before: Before,
    /// Whether the second key is learned besides, where on its track a request begins: by a profile of another drive of the
    /// same make, made before the run. Where nothing turns, there is none.
    pub angle: bool,
    /// How it learns while it is used.
    pub learning: Learning,
    /// What is done about requests whose time is not known.
    pub learn: Learn,
    /// The policy it learns under.
    pub base: BaseOrder,
    /// By what share of its time another request must be better than what the base would pick.
    pub margin: f64,
}

/// What is known of a device before it is used.
#[derive(Clone, Debug, PartialEq)]
pub enum Before {
    /// It knows nothing of the device before the first request.
    Nothing,
    /// What is learned from probes of another device of the same make.
    Probed(Probing),
    /// What a file says, written by `halfturn profile --mimic`.
    Table(PathBuf),
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            before: Before::Nothing,
            angle: false,
            learning: Learning::default(),
            learn: Learn::Set,
            base: BaseOrder::default(),
            margin: USUAL_MARGIN,
        }
    }
}

impl Settings {
    /// Reads `[scheduler.mimic]`. Files it names are relative to `folder`.
    ///
    /// # Errors
    /// Bad input with file, line and mend.
    pub fn read(section: &Section, folder: &Path) -> Result<Settings, BadInput> {
        read(section, folder)
    }
}

fn read(section: &Section, folder: &Path) -> Result<Settings, BadInput> {
    let learn = match section.value(&LEARN)? {
        How::Set => Some(Learn::Set),
        How::Priority => Some(Learn::Priority),
        How::Before => None,
    };
    let (interpolate, smooth) = (section.value(&INTERPOLATE)?, section.value(&SMOOTH)?);
    let grain = read_grain(section)?;
    let memory = section.value(&MEMORY)?;
    if !(16..=1 << 21).contains(&memory) {
        return Err(section.error("memory", "the memory is below 8 KiB or above 1 GiB", "1MiB is the default"));
    }
    let most = points(memory * BLOCK_BYTES);
    let known = Probing::default();
    let probing = Probing {
        samples: section.value(&SAMPLES)?,
        summary: section.value(&SUMMARY)?,
        interpolate,
        smooth,
        grain,
        most,
        reach: section.get(&REACH)?.unwrap_or(known.reach),
        blocks: section.value(&PROBE)?.min(u64::from(u32::MAX)) as u32,
        check: check(section, (interpolate, smooth))?,
        within: (section.value(&PROBE_FROM)?, section.get(&PROBE_TO)?.unwrap_or(known.within.1)),
        lines_tried: section.value(&LINES_TRIED)?,
        shown: section.get(&SHOWN)?,
        ..known
    };
    if !(1..=2048).contains(&probing.blocks) {
        return Err(section.error("probe", "a probe reads from one block up to 1 MiB", "1KiB is what the paper took"));
    }
    let (from, to) = probing.within;
    if from.saturating_add(4 * u64::from(probing.blocks)) > to {
        return Err(section.error("probe_to", "two probes do not fit in the part that is probed", "let it end later"));
    }
    let idle = section.get(&PROBE_AFTER)?.map(|after| Idle {
        after,
        enough: probing.samples.min(255) as u8,
        blocks: probing.blocks,
    });
    let choice = Settings {
        before: match section.get(&TABLE)? {
            Some(table) => Before::Table(folder.join(table)),
            None if learn.is_none() => Before::Probed(probing),
            None => Before::Nothing,
        },
        angle: section.value(&SECOND_KEY)? == SecondKey::Angle,
        learning: Learning {
            on: learn.is_some(),
            interpolate,
            smooth,
            grain,
            most,
            fewest: section.value(&FEWEST)? as u8,
            apart: section.value(&APART)?,
            pause: section.value(&PAUSE)?.max(Span(1)),
            idle,
            compare: section.value(&DEMERIT)?,
        },
        learn: learn.unwrap_or_default(),
        base: section.value(&BASE)?,
        margin: section.get(&MARGIN)?.unwrap_or(if smooth { USUAL_MARGIN } else { 0.0 }),
    };
    section.close()?;
    Ok(choice)
}

/// The blocks that are not told apart.
fn read_grain(section: &Section) -> Result<u32, BadInput> {
    let grain = section.value(&GRAIN)?;
    if !grain.is_power_of_two() || grain > 2048 {
        return Err(section.error("grain", format!("a grain of {grain} blocks"), "give a power of two up to 1 MiB"));
    }
    Ok(grain as u32)
}

/// What a line has to pass, where the file says: so many distances checked, and how far each may be off.
fn check(section: &Section, (interpolate, smooth): (bool, bool)) -> Result<Option<LineCheck>, BadInput> {
    let (points, error) = (section.get(&CHECK_POINTS)?, section.get(&ALLOWED_ERROR)?);
    if (points.is_some() || error.is_some()) && (!interpolate || smooth) {
        let what =
            "a line is checked by `check_points` and `allowed_error` where `interpolate` is on and `smooth` is off";
        let key = if points.is_some() { "check_points" } else { "allowed_error" };
        return Err(section.error(key, what, "write `smooth = false`, or take it out"));
    }
    match (points, error) {
        (None, None) => Ok(None),
        (Some(points), Some(error)) => Ok(Some(LineCheck { points: points as usize, error: error as f32 })),
        (points, _) => {
            let key = if points.is_some() { "check_points" } else { "allowed_error" };
            Err(section.error(key, "`check_points` and `allowed_error` are of one check", "give both"))
        }
    }
}
