//! `[array]`: several disks as one.

use super::varied::{Scope, Varied, refuse_later};
use super::{DriveChoice, LONGEST, Workload};
use block::{BLOCK_BYTES, BadInput, Span, units};
use config::{NamedBy, Section, Word, Words};
use sched::array::{ArrayPlan, Coalescing, Geometry, Level, MOST_DISKS, Migration, Placement, Speculation};
use std::path::{Path, PathBuf};

config::keys! {
    /// Several disks as one device.
    pub(super) fn array() -> "[array]";

    /// How the array lays out its data.
    LEVEL: ArrayLayout = word("level").required();
    /// How many disks there are, where `[drive]` stands for each of them. With parity from 3 to 64, with two from 4.
    DISKS: u32 = within("disks", 1, MOST_DISKS as u32).else_told("as many as `[[disk]]` counts");
    /// Hot spares beside these. A disk that fails is replaced by one at once, while there are any; a workload of
    /// `kind = "rebuild"` fills it.
    SPARES: u32 = within("spares", 0, MOST_DISKS as u32).usually("0");
    /// Copies of each stripe, with mirroring.
    COPIES: u32 = within("copies", 2, MOST_DISKS as u32).usually("2");
    /// The stripe unit: how much lies on one disk before the next disk's turn.
    STRIPE: u32 = blocks("stripe").usually("64KiB");
    /// Which copy a read goes to, with mirroring.
    PLACEMENT: Placement = word("placement").usually("least-finish");
    /// Size of the non-volatile write buffer. A write that fits is complete at once.
    BUFFER: u64 = size("buffer").else_told("none");
    /// The file or block device that makes the write buffer of an array that is served non-volatile: a write is on it before it is said to
    /// be complete. It is a little larger than `buffer`. A simulation takes no notice.
    LOG: String = text("log").naming(NamedBy::File).else_told("none");
    /// Whether an array is served though the log that it was last served with cannot be had: what was written last is lost, as much
    /// as `buffer` at most. A simulation takes no notice.
    WITHOUT_LOG: bool = bool("without_log").usually("false");
    /// How long a write stays in the buffer.
    BUFFER_UNTIL: Until = word("buffer_until").usually("medium");
    /// Size of the volatile read cache, in segments of 64 KiB: what was read stays there until others need the room, and a stream of reads
    /// is read ahead of, while nobody else waits.
    READ_CACHE: u64 = size("read_cache").else_told("none");
    /// What becomes of a read that another request interrupts, with mirroring.
    MIGRATION: Migration = word("migration").usually("never");
    /// Whether a read is asked of a second copy, too, with mirroring.
    SPECULATION: Speculation = word("speculation").usually("never");
    /// Whether what of a request lies side by side on a disk is asked for at once.
    COALESCING: Coalescing = word("coalescing").usually("never");
    /// Whether an array is served of which disks are missing or were given up, as long as the others hold all of it. A simulation
    /// takes no notice.
    DEGRADED: bool = bool("degraded").usually("false");
    /// Whether an array that is served keeps a checksum of each block on its disks (CRC32C, 0.8 % of them), verifies what is read, and has
    /// what is spoilt from the other disks. An array is made with them, or without. A simulation takes no notice.
    CHECKSUMS: bool = bool("checksums").usually("false");
    /// How long a message from one disk to another takes, in an array that spans machines.
    MESSAGE_DELAY: Span = span("message_delay").usually("0s");
}

config::keys! {
    /// A disk that fails during the run.
    pub(super) fn fails() -> "[[array.fails]]";

    /// Which disk, counted from 0.
    DISK: u32 = within("disk", 0, MOST_DISKS as u32 - 1).required();
    /// When it fails.
    AT: Span = span("at").usually("0s");
    /// Whether an empty disk takes its place at once, without a spare.
    REPLACED: bool = bool("replaced").usually("false");
}

/// How data is laid out, as a file says it.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArrayLayout {
    Striped,
    Mirrored,
    Parity,
    DoubleParity,
}

impl Words for ArrayLayout {
    const WORDS: &'static [Word<ArrayLayout>] = &[
        Word::new("0", ArrayLayout::Striped, "RAID 0: striped over the disks"),
        Word::new("0/1", ArrayLayout::Mirrored, "RAID 0/1: mirrored stripes"),
        Word::new("1", ArrayLayout::Mirrored, "the same as `0/1`"),
        Word::new("10", ArrayLayout::Mirrored, "the same as `0/1`"),
        Word::new("5", ArrayLayout::Parity, "RAID 5: striped, with rotated parity; any one disk may fail"),
        Word::new("6", ArrayLayout::DoubleParity, "RAID 6: striped, with two rotated parities; any two disks may fail"),
    ];
}

/// Blocks of a buffer that has a log, at least: any request is in it at once.
const LEAST_LOGGED: u64 = (LONGEST + (1 << 20)) / BLOCK_BYTES;

/// Blocks of a read cache, at least and at most.
const LEAST_CACHE: u64 = (1 << 20) / BLOCK_BYTES;
const MOST_CACHE: u64 = (1 << 40) / BLOCK_BYTES;

/// Levels there will be, and what they come with.
const LATER: [(&str, &str); 1] = [("4", "parity on one disk")];

/// Until when what was written stays in the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Until {
    Medium,
    Drive,
}

impl Words for Until {
    const WORDS: &'static [Word<Until>] = &[
        Word::new("medium", Until::Medium, "until it is on the medium"),
        Word::new("drive", Until::Drive, "until the drive has taken it, whose own buffer may lose it in a power cut"),
    ];
}

/// The array of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayChoice {
    /// How it keeps its data.
    pub level: Level,
    /// How many disks, without spares.
    pub disks: u16,
    /// Each disk, where they are not all alike; else nothing, and each is the drive of the experiment.
    pub members: Vec<DriveChoice>,
    /// Blocks of a stripe unit.
    pub unit: u32,
    /// What it does with requests.
    pub plan: ArrayPlan,
    /// The disks that fail, in order of time.
    pub fails: Vec<Failure>,
    /// Whether it is served without disks that are lacking.
    pub degraded: bool,
    /// Whether its disks know checksums of their blocks.
    pub checksums: bool,
    /// Whether it grows in a simulation, which has the disks that join from the start.
    pub grows: bool,
    /// What makes its buffer last, where it is served.
    pub log: Option<PathBuf>,
    /// Whether it is served without the log that it was last served with.
    pub without_log: bool,
}

/// A disk that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The member that fails, from 0.
    pub disk: u16,
    /// The time at which it fails.
    pub at: Span,
    /// Whether an empty one takes its place at once.
    pub replaced: bool,
}

impl ArrayChoice {
    /// One of its disks, where the drive of the experiment is this one.
    #[must_use]
    pub fn member<'a>(&'a self, disk: usize, drive: &'a DriveChoice) -> &'a DriveChoice {
        self.members.get(disk).unwrap_or(drive)
    }

    /// Its disks, and those by which it grows.
    #[must_use]
    pub fn places(&self) -> u16 {
        self.disks + if self.grows { self.level.copies() } else { 0 }
    }
}

/// The array, if there is one: of the disks that [[disk]] counts, or of as many as its `disks` says.
pub(super) fn read(
    root: &Section,
    folder: &Path,
    counted: Option<u16>,
    members: Vec<DriveChoice>,
    workloads: &[Workload],
    varied: &Varied,
) -> Result<Option<ArrayChoice>, BadInput> {
    let Some(section) = root.section(array().name())? else {
        return check_none(root, counted, workloads).map(|()| None);
    };
    refuse_later(&section, &LEVEL, &LATER)?;
    let level = section.value(&LEVEL)?;
    let given = section.get(&DISKS)?.map(|disks| disks as u16);
    if let (Some(_), Some(counted)) = (given, counted.filter(|counted| *counted > 1)) {
        let what = format!("`disks` here, and {counted} in [[disk]]");
        return Err(section.error(DISKS.name(), what, "keep one of them"));
    }
    let disks = section.need(DISKS.name(), given.or(counted.filter(|counted| *counted > 1)))?;
    let copies = section.value(&COPIES)?;
    varied.belongs(Scope::Array, &section, COPIES.name(), LEVEL.name(), &["0/1", "1", "10"])?;
    let level = match level {
        ArrayLayout::Striped => Level::Striped,
        ArrayLayout::Parity => Level::Parity,
        ArrayLayout::DoubleParity => Level::DoubleParity,
        ArrayLayout::Mirrored => Level::Mirrored { copies: copies as u16 },
    };
    let unit = section.value(&STRIPE)?;
    if unit > u32::MAX / u32::from(MOST_DISKS) {
        let what = format!("a stripe unit of {}", units::show_blocks(unit.into()));
        return Err(section.error(STRIPE.name(), what, "give one such as 64KiB"));
    }
    let (placement, migration) = (section.value(&PLACEMENT)?, section.value(&MIGRATION)?);
    let (speculation, delay) = (section.value(&SPECULATION)?, section.value(&MESSAGE_DELAY)?);
    let coalescing = section.value(&COALESCING)?;
    let buffer = section.get(&BUFFER)?.unwrap_or(0);
    if section.has(BUFFER_UNTIL.name()) && buffer == 0 {
        let what = "`buffer_until` is of use only with a `buffer`";
        return Err(section.error(BUFFER_UNTIL.name(), what, "give one, or take it out"));
    }
    let until = section.value(&BUFFER_UNTIL)?;
    let read_cache = read_cache_size(&section)?;
    let (log, without_log) = read_log(&section, folder, buffer, until)?;
    let key = match level {
        Level::Mirrored { .. } if section.has(COPIES.name()) => COPIES.name(),
        _ => DISKS.name(),
    };
    Geometry::new(level, disks, unit, u64::from(u32::MAX)).map_err(|(what, mend)| section.error(key, what, mend))?;
    let failing = section.sections(fails().name())?;
    let mut fails = failing.iter().map(|fails| failure(fails, disks)).collect::<Result<Vec<_>, _>>()?;
    fails.sort_by_key(|failure| failure.at);
    let spares = section.value(&SPARES)?;
    check_repairs(&section, level, workloads, spares)?;
    for failure in fails.iter_mut().filter(|failure| !failure.replaced).take(spares as usize) {
        failure.replaced = true;
    }
    let grows = check_growth(&section, (level, disks, unit), (buffer, spares, !fails.is_empty(), &members), workloads)?;
    let (degraded, checksums) = (section.value(&DEGRADED)?, section.value(&CHECKSUMS)?);
    section.close()?;
    let asked = ArrayPlan { placement, migration, speculation, coalescing, delay, ..Default::default() };
    let plan = ArrayPlan { buffer, trusting: until == Until::Drive, read_cache, ..asked };
    Ok(Some(ArrayChoice { level, disks, members, unit, plan, fails, degraded, checksums, grows, log, without_log }))
}

/// Blocks of the read cache; 0: none.
fn read_cache_size(section: &Section) -> Result<u64, BadInput> {
    let Some(blocks) = section.get(&READ_CACHE)? else { return Ok(0) };
    if !(LEAST_CACHE..=MOST_CACHE).contains(&blocks) {
        let what = format!("a read cache of {}", units::show_blocks(blocks));
        return Err(section.error(READ_CACHE.name(), what, "give 1MiB to 1TiB, or take it out"));
    }
    Ok(blocks)
}

/// Whether nobody needs an array, where there is none.
fn check_none(root: &Section, counted: Option<u16>, workloads: &[Workload]) -> Result<(), BadInput> {
    let named = |needs: fn(&Workload) -> bool| workloads.iter().find(|workload| needs(workload)).map(|it| &it.name);
    let repairs = named(|workload| workload.kind.repairs()).map(|name| (name, "repairs an array"));
    let grows = || named(|workload| workload.kind.grows()).map(|name| (name, "has an array grow"));
    if let Some((name, what)) = repairs.or_else(grows) {
        let what = format!("workload '{name}' {what}, and there is none");
        return Err(root.here(what, "add [array], or take the workload out"));
    }
    match counted {
        Some(disks) if disks > 1 => Err(root.error(
            super::drive::disk().name(),
            format!("{disks} disks and no [array]"),
            "add [array] with its `level`",
        )),
        _ => Ok(()),
    }
}

/// The log of the buffer, and whether none is needed that there was.
fn read_log(section: &Section, folder: &Path, buffer: u64, until: Until) -> Result<(Option<PathBuf>, bool), BadInput> {
    let log = section.get(&LOG)?.map(|path| folder.join(path));
    let without = section.value(&WITHOUT_LOG)?;
    let wrong = match &log {
        None => return Ok((None, without)),
        Some(_) if buffer == 0 => {
            ("a log keeps what is in a `buffer`, and there is none", "give `buffer`, or take `log` out")
        }
        Some(_) if buffer < LEAST_LOGGED => {
            ("a buffer that has a log holds any request, of which one may have 64MiB", "give `buffer` 65MiB at least")
        }
        Some(_) if until == Until::Drive => {
            ("what is on a log stays there until it is on the medium", "take `buffer_until` out")
        }
        Some(_) if without => {
            ("`without_log` is for an array whose log cannot be had", "take `log` and `buffer` out, or `without_log`")
        }
        Some(_) => return Ok((log, without)),
    };
    Err(section.error(LOG.name(), wrong.0, wrong.1))
}

/// Whether there is something to repair from, where somebody repairs.
fn check_repairs(section: &Section, level: Level, workloads: &[Workload], spares: u32) -> Result<(), BadInput> {
    match workloads.iter().find(|workload| workload.kind.repairs() && level.redundancy() == 0) {
        None if spares > 0 => check_spares(section, level, workloads),
        None => Ok(()),
        Some(repair) => {
            let what =
                format!("workload '{}' repairs an array, and this one has nothing to repair it from", repair.name);
            Err(section.error(LEVEL.name(), what, "choose another `level`, or take the workload out"))
        }
    }
}

/// Whether somebody has the array grow; and whether it can.
fn check_growth(
    section: &Section,
    (level, disks, unit): (Level, u16, u32),
    (buffer, spares, fails, members): (u64, u32, bool, &[DriveChoice]),
    workloads: &[Workload],
) -> Result<bool, BadInput> {
    let mut growing = workloads.iter().filter(|workload| workload.kind.grows());
    let Some(growth) = growing.next() else { return Ok(false) };
    let named = |what: &str| format!("workload '{}' has the array grow: {what}", growth.name);
    if let Some(other) = growing.next() {
        return Err(section.here(named(&format!("so does '{}'", other.name)), "keep one of them"));
    }
    let beside = [(buffer > 0, BUFFER.name()), (spares > 0, SPARES.name()), (fails, self::fails().name())];
    if let Some((_, key)) = beside.into_iter().find(|(is_there, _)| *is_there) {
        let what = named("nothing moves beside a write buffer, or while a disk is lacking");
        return Err(section.error(key, what, "take it out, or the workload"));
    }
    if !members.is_empty() {
        let what = named("its disks are told one by one, and not the one that joins");
        let mend = "give [drive] and `disks`; what is served grows by `halfturn array grow`";
        return Err(section.here(what, mend));
    }
    let widest = Geometry::new(level, disks, unit, u64::from(u32::MAX)).and_then(Geometry::grow);
    widest.map_err(|(what, mend)| section.error(LEVEL.name(), named(&what), mend))?;
    Ok(true)
}

/// Whether spares are of use: there must be something to fill them from, and someone who does.
fn check_spares(section: &Section, level: Level, workloads: &[Workload]) -> Result<(), BadInput> {
    let (what, mend) = if level.redundancy() == 0 {
        ("nothing is left to fill a spare from", "choose another `level`, or take `spares` out")
    } else if !workloads.iter().any(|workload| workload.kind.repairs()) {
        ("nobody fills a spare", "add a [[workload]] with kind = \"rebuild\", or take `spares` out")
    } else {
        return Ok(());
    };
    Err(section.error(SPARES.name(), what, mend))
}

/// Reads one `[[array.fails]]`: which disk fails, and when.
fn failure(section: &Section, disks: u16) -> Result<Failure, BadInput> {
    let disk = section.value(&DISK)?;
    if disk >= u32::from(disks) {
        let what = format!("disk {disk} of {disks}");
        return Err(section.error(DISK.name(), what, format!("give one from 0 to {}", disks - 1)));
    }
    let failure = Failure { disk: disk as u16, at: section.value(&AT)?, replaced: section.value(&REPLACED)? };
    section.close()?;
    Ok(failure)
}
