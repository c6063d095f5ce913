//! `[[fault]]`: when a served volume, or a disk of a served array, is slow, sick or cut off.

use super::array::ArrayChoice;
use super::{RunPlan, Volume};
use block::{BadInput, Span};
use config::{Key, Section, Word, Words};
use sched::array::MOST_DISKS;

config::keys! {
    /// A fault that a served volume has at a time, or as often as a rate says: the same for the same seed. Several tables may be of one volume.
    /// Times are counted on the device's clock from when the service begins. Only `serve` heeds it.
    pub(super) fn fault() -> "[[fault]]";

    /// The volume that has it.
    VOLUME: String = text("volume").else_told("must be given, unless `disk` is there");
    /// The disk of an array that has it, counted from 0.
    DISK: u32 = within("disk", 0, MOST_DISKS as u32 - 1).else_told("must be given where there is an array");
    /// What is wrong, in the words of `halfturn volume fault`.
    KIND: FaultKind = word("kind").required();
    /// When it begins.
    AT: Span = span("at").else_told("must be given, unless `rate` is there");
    /// How often it begins, while it is not there: the times between are drawn, exponentially distributed.
    RATE: f64 = rate("rate").else_told("none: it begins once, at `at`");
    /// How long it lasts.
    FOR: Span = span("for").else_told("until `back`, or until the service ends; with `rate` it must be given");
    /// Of `slow`: how many times as long commands take.
    FACTOR: f64 = number("factor", 1.0, MOST_SLOW).else_told("10");
    /// Of `error`: of how many commands one fails.
    ONE_OF: u32 = within("one_of", 1, u32::MAX).else_told("1: each does");
    /// Where in the volume it begins. With `offset` or `size` the fault is of the commands that touch these blocks, and of no flush.
    OFFSET: u64 = size("offset").else_told("the volume's beginning");
    /// How much of the volume has it.
    SIZE: u64 = size("size").else_told("up to the volume's end");
    /// The seed by which it is drawn when it begins, what fails, and what is lost.
    SEED: u64 = whole("seed", 0, u64::MAX).else_told("drawn from that of `[run]`, for each table another");
}

/// How many times as long commands may take.
pub const MOST_SLOW: f64 = 1e6;
/// How many times as long they take, and of how many one fails, where nothing is said.
const USUAL_FACTOR: f64 = 10.0;
const USUAL_ONE_OF: u32 = 1;

/// A word for what is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Commands take longer than they would.
    Slow,
    /// No command comes back until it is over.
    Stall,
    /// Commands fail, all or some.
    Error,
    /// Writes are done in part, and fail.
    Torn,
    /// What is flushed stays volatile.
    Lie,
    /// The power is off.
    Cut,
    /// Nothing is wrong any more.
    Back,
}

impl Words for FaultKind {
    const WORDS: &'static [Word<FaultKind>] = &[
        Word::new("slow", FaultKind::Slow, "commands take `factor` times as long"),
        Word::new("stall", FaultKind::Stall, "nothing is answered; what waits is carried out when it is over"),
        Word::new("error", FaultKind::Error, "one of `one_of` commands fails"),
        Word::new("torn", FaultKind::Torn, "a write is done in part, and fails"),
        Word::new(
            "lie",
            FaultKind::Lie,
            "a flush, and a write with FUA, is said to be done, and a `cut` loses it as if it had not been",
        ),
        Word::new(
            "cut",
            FaultKind::Cut,
            "the power is off: nothing answers, and of what was not flushed each block is kept or lost",
        ),
        Word::new("back", FaultKind::Back, "all faults of the volume are over"),
    ];
}

impl FaultKind {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        FaultKind::WORDS.iter().find(|word| word.value == self).map_or("", |word| word.name)
    }

    /// What a word stands for.
    #[must_use]
    pub fn find(name: &str) -> Option<FaultKind> {
        FaultKind::WORDS.iter().find(|word| word.name == name).map(|word| word.value)
    }

    /// Why a part of a volume cannot have it, where that is so.
    #[must_use]
    pub fn refuse_part(self) -> Option<&'static str> {
        match self {
            FaultKind::Cut => Some("the power goes of the whole volume"),
            FaultKind::Lie => Some("a flush is of the whole volume"),
            _ => None,
        }
    }

    /// The words for all of them.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        FaultKind::WORDS.iter().map(|word| word.name).collect()
    }
}

/// What has a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultPlace {
    /// The volume of this name: from a block of it on, so many blocks or up to its end. Nothing: all of it, and its flushes.
    Volume(String, Option<(u64, Option<u64>)>),
    /// The disk of the array with this number, all of it.
    Disk(u16),
}

/// When a fault begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultOnset {
    /// Once, so long after the service.
    At(Span),
    /// So many times a second, while it is not there; it lasts for so long each time.
    Rate(f64, Span),
}

/// A fault that a file asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultPlan {
    /// What is slow, sick or cut off.
    pub place: FaultPlace,
    /// What is wrong with it then.
    pub kind: FaultKind,
    /// Of `slow`: how many times as long commands take; of `error`: of how many one fails.
    pub factor: f64,
    /// Of how many commands one fails.
    pub one_of: u32,
    /// When it begins, or how often.
    pub onset: FaultOnset,
    /// How long it lasts, where that is limited.
    pub lasts: Option<Span>,
    /// The seed of its draws.
    pub seed: u64,
}

pub(super) fn read_all(
    root: &Section,
    volumes: &[Volume],
    array: Option<&ArrayChoice>,
    run: &RunPlan,
) -> Result<Vec<FaultPlan>, BadInput> {
    let sections = root.sections(fault().name())?;
    let read = |(index, section)| read(section, volumes, array, run.seed_of(0).wrapping_add(index as u64));
    sections.iter().enumerate().map(read).collect()
}

fn read(section: &Section, volumes: &[Volume], array: Option<&ArrayChoice>, seed: u64) -> Result<FaultPlan, BadInput> {
    let kind = section.value(&KIND)?;
    let (at, rate, lasts) = (section.get(&AT)?, section.get(&RATE)?, section.get(&FOR)?);
    let range = (section.get(&OFFSET)?, section.get(&SIZE)?);
    let place = place(section, volumes, array, range)?;
    let of = |key: &'static str, wanted: FaultKind| {
        let word = wanted.name();
        match section.has(key) && kind != wanted {
            true => Err(section.error(key, format!("`{key}` is of use only with kind = \"{word}\""), "take it out")),
            false => Ok(()),
        }
    };
    let (factor, one_of) = (section.get(&FACTOR)?, section.get(&ONE_OF)?);
    of(FACTOR.name(), FaultKind::Slow)?;
    of(ONE_OF.name(), FaultKind::Error)?;
    if lasts == Some(Span::ZERO) {
        return Err(section.error(FOR.name(), "`for` is zero: nothing is ever wrong", "give a longer time"));
    }
    if kind == FaultKind::Back
        && let Some(key) =
            [RATE.name(), FOR.name(), OFFSET.name(), SIZE.name()].into_iter().find(|key| section.has(key))
    {
        let what = format!("`{key}` of kind = \"back\", which ends all that is wrong with the volume at a time");
        return Err(section.error(key, what, "take it out"));
    }
    let onset = match (at, rate, lasts) {
        (Some(at), None, _) => FaultOnset::At(at),
        (None, Some(rate), Some(lasts)) => FaultOnset::Rate(rate, lasts),
        (None, Some(_), None) => {
            let what = "it begins again and again, and it is not said how long it lasts";
            return Err(section.error(RATE.name(), what, "add `for`, such as for = \"2s\""));
        }
        (Some(_), Some(_), _) => return Err(section.error(AT.name(), "both `at` and `rate`", "keep one of them")),
        (None, None, _) => {
            let mend = "add `at`, such as at = \"5s\", or `rate`, such as rate = \"1/min\", with `for`";
            return Err(section.here("it is not said when the fault begins", mend));
        }
    };
    let seed = section.get(&SEED)?.unwrap_or(seed);
    let (factor, one_of) = (factor.unwrap_or(USUAL_FACTOR), one_of.unwrap_or(USUAL_ONE_OF));
    section.close()?;
    Ok(FaultPlan { place, kind, factor, one_of, onset, lasts, seed })
}

/// What has the fault: a volume, part of one, or a disk.
fn place(
    section: &Section,
    volumes: &[Volume],
    array: Option<&ArrayChoice>,
    (offset, size): (Option<u64>, Option<u64>),
) -> Result<FaultPlace, BadInput> {
    let (name, disk) = (section.get(&VOLUME)?, section.get(&DISK)?);
    let ranged = [OFFSET.name(), SIZE.name()].into_iter().find(|key| section.has(key));
    let bad = |key: &str, what: String, mend: &str| Err(section.error(key, what, mend));
    match (name, disk, array) {
        (Some(_), Some(_), _) => bad(DISK.name(), "both `volume` and `disk`".into(), "keep one of them"),
        (Some(name), None, None) => in_volume(section, volumes, name, (offset, size)),
        (None, Some(disk), Some(array)) if disk < u32::from(array.disks) => match ranged {
            None => Ok(FaultPlace::Disk(disk as u16)),
            Some(key) => bad(key, format!("`{key}` of a disk of an array, all of which has the fault"), "take it out"),
        },
        (None, Some(disk), Some(array)) => {
            let most = array.disks - 1;
            bad(DISK.name(), format!("disk {disk} of {}", array.disks), &format!("give one from 0 to {most}"))
        }
        (Some(_), None, Some(_)) => {
            let what = "the volumes of an array have no faults of their own".into();
            bad(VOLUME.name(), what, "name a disk of it, such as disk = 0")
        }
        (None, Some(_), None) => bad(DISK.name(), "there is no array".into(), "name a volume in place of `disk`"),
        (None, None, None) => section.need(VOLUME.name(), None),
        (None, None, Some(_)) => section.need(DISK.name(), None),
    }
}

fn in_volume(
    section: &Section,
    volumes: &[Volume],
    name: String,
    range: (Option<u64>, Option<u64>),
) -> Result<FaultPlace, BadInput> {
    let names = || volumes.iter().map(|volume| volume.name.as_str());
    let Some(volume) = volumes.iter().find(|volume| volume.name == name) else {
        let mend = match block::nearest(&name, names()) {
            Some(near) => format!("is '{near}' meant?"),
            None => format!("name one of the [[volume]]: {}", names().collect::<Vec<_>>().join(", ")),
        };
        return Err(section.error(VOLUME.name(), format!("there is no volume '{name}'"), mend));
    };
    let (from, blocks) = match range {
        (None, None) => return Ok(FaultPlace::Volume(name, None)),
        (from, blocks) => (from.unwrap_or(0), blocks),
    };
    let key = |key: &Key<u64>| if section.has(key.name()) { key.name() } else { SIZE.name() };
    if let Some(what) = section.get(&KIND)?.and_then(FaultKind::refuse_part) {
        return Err(section.error(key(&OFFSET), what, "take `offset` and `size` out"));
    }
    let end = from.saturating_add(blocks.unwrap_or(1));
    if blocks == Some(0) || volume.blocks.is_some_and(|all| end > all) {
        let what = format!("there are no such blocks in volume '{name}'");
        return Err(section.error(key(&OFFSET), what, "give an `offset` and a `size` within the volume"));
    }
    Ok(FaultPlace::Volume(name, Some((from, blocks))))
}
