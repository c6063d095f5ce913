//! `[drive]`, or `[[disk]]` as often as there are: which drive, and which of its parts are switched on.

use super::Believed;
use block::{At, BLOCK_BYTES, BadInput, SeekBy, Span, Time, units};
use config::{Document, NamedBy, Section, Table, Word, Words};
use disk::{Drift, Model, Other, Sheet, Truth};
use sched::array::MOST_DISKS;
use std::path::{Path, PathBuf};

config::keys! {
    /// The drive of the experiment. Where several disks form an array, it stands for each of them.
    pub(super) fn drive() -> "[drive]";

    /// The drive: a name of the catalogue (`halfturn drive list` shows them) or the path of a drive file.
    MODEL: String = text("model").naming(NamedBy::FileOrKnown).else_told("must be given, unless `path` is there");
    /// Whether seek times vary as the drive's file says.
    NOISE: bool = bool("noise").usually("true");
    /// Standard deviation of the seek time, in place of the one in the drive's file. Together with `replications` it shows how
    /// far a result depends on chance.
    SEEK_NOISE: Span = span("seek_noise").else_told("as the drive's file says");
    /// Whether the drive caches what it reads.
    READ_CACHE: bool = bool("read_cache").usually("true");
    /// Whether the drive buffers writes.
    WRITE_BUFFER: bool = bool("write_buffer").usually("true");
    /// Commands outstanding in the drive at once, at most as many as its file says. The drive orders them itself.
    QUEUE: u32 = within("queue", 1, 4096).else_told("as many as the drive's file says; 1 with short commands, unless \
        `[scheduler.queue]` has a `latency`, and with the predictors `mimic` and `oracle`; beside a scan 2 where the file says \
        what overhead a command has that waited in the drive, else 1");
    /// The device that answers in real time: an emulated drive (in place of `model`), memory without any timing, or a file or a
    /// block device. `model` then tells what may be believed of that device.
    PATH: String = form("path", "`emulated:NAME`, `ram:SIZE`, or the path of a file or block device", text)
        .naming(NamedBy::FileOrKnown).else_told("none");
    /// Whether a file or block device is read and written past the page cache of this machine, where its file system has it so.
    /// Through the page cache what was read or written of late comes from memory, and the scheduler has no say in when the disk is
    /// at work.
    DIRECT: bool = bool("direct").usually("true");
    /// How the arm is moved where nothing is to be transferred: for the parts of a long seek (`split`). A file or a block device has
    /// no command for it: SEEK(10) of SCSI is obsolete, and most systems and drives that take it move no arm. Of those parts each is a
    /// read of one block past the page cache, chosen to pass when the arm is there. Where the drive has that block in its own memory,
    /// no arm moves, and nobody can tell beforehand.
    SEEK_BY: Means = word("seek_by").else_told("`command`; of a file or a block device `read`, or `nothing` where it is not \
        read past the page cache, or the kernel says that nothing in it turns");
    /// Where an emulated drive keeps its data.
    CONTENTS: Kept = word("contents").usually("memory");
    /// Most memory that an emulated drive takes for its data.
    MEMORY: u64 = size("memory").usually("4GiB");
    /// The file in which an emulated drive keeps its data, with `contents = "sparse"`. One that does not exist is created.
    FILE: String = text("file").naming(NamedBy::File).else_told("must be given with `contents = \"sparse\"`");
}

config::keys! {
    /// The disks of an array, in their order, in place of `[drive]`. Each table has the keys of `[drive]`, and `count`. Of disks
    /// unlike one another each is used as far as the smallest goes.
    fn counted() -> "[[disk]]";

    /// How many disks this table stands for.
    COUNT: u32 = within("count", 1, MOST_DISKS as u32).usually("1");
}

config::keys! {
    /// How the drive comes to differ from its data sheet during the run. The scheduler is not told.
    pub(super) fn drift() -> "[drive.drift]";

    /// When seeks begin to take longer.
    AT: Span = span("at").required();
    /// By what share of their time seeks take longer from then on; a negative share makes them shorter.
    SEEK: f64 = number("seek", -MOST_SHORTER, MOST_LONGER).required();
}

/// The keys of a table of `[[disk]]`: those of `[drive]`, and how many there are.
pub(super) fn disk() -> Table {
    let mut table = counted();
    table.keys.splice(0..0, drive().keys);
    table
}

fn text(section: &Section, about: &config::About) -> Result<Option<String>, BadInput> {
    section.string(about.name)
}

/// By what share of their time seeks may drift: to a half, or to ten times as much.
const MOST_SHORTER: f64 = 0.5;
const MOST_LONGER: f64 = 9.0;
/// Blocks of a device of memory at most: 16 TiB, of which only what is written is taken.
const MOST_RAM: u64 = 1 << 35;

/// How a path that names memory begins.
const RAM: &str = "ram:";

/// Where the contents of an emulated drive are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// In memory, of at most so many bytes.
    Memory(u64),
    /// Nowhere: each eight bytes tell their place.
    Pattern,
    /// In a sparse file.
    Sparse(PathBuf),
}

impl Default for Held {
    fn default() -> Held {
        let blocks = Document::parse("[drive]", "").and_then(|document| document.root().value(&MEMORY));
        Held::Memory(blocks.unwrap_or_else(|error| panic!("{error}")) * BLOCK_BYTES)
    }
}

/// What serves for it in real time.
#[derive(Clone, Debug, PartialEq)]
pub enum Live {
    /// A machine of its model, and where its contents are.
    Emulated(Held),
    /// Memory without any timing, of so many blocks.
    Ram(u64),
    /// A file or a block device, which is given so many commands at once.
    File(PathBuf),
}

/// The drive of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveChoice {
    /// A file beside the experiment if there is one of that name, else as it was given: a catalogue name or a path.
    ///
    /// Empty where nobody knows: of what serves in real time nothing need be known.
    pub model: String,
    /// What of its drive file is otherwise here.
    pub changes: Option<Document>,
    /// What serves for it in real time, where the file says.
    pub live: Option<Live>,
    /// Whether a file is to be read and written past the page cache.
    pub direct: bool,
    /// Whether it has the noise its file describes.
    pub noise: bool,
    /// Standard deviation of a seek's time, in place of what its file says.
    pub seek_noise: Option<Span>,
    /// Whether it caches what it read.
    pub read_cache: bool,
    /// Whether it buffers writes.
    pub write_buffer: bool,
    /// Commands given to it at once, which it orders itself; nothing: as many as its file says it takes.
    pub queue: Option<u16>,
    /// How its arm is moved where nothing is to be transferred; nothing: as a drive of its kind is.
    pub seek_by: Option<SeekBy>,
    /// How it comes to differ in use from what it was, which nobody is told.
    pub drift: Option<Drift>,
}

impl DriveChoice {
    /// A drive as it comes: a catalogue name or a path, given so many commands at once.
    #[must_use]
    pub fn plain(model: impl Into<String>, queue: u16) -> DriveChoice {
        let model = model.into();
        let (read_cache, write_buffer) = (true, true);
        DriveChoice {
            model,
            changes: None,
            live: None,
            direct: true,
            noise: true,
            seek_noise: None,
            read_cache,
            write_buffer,
            queue: Some(queue),
            seek_by: None,
            drift: None,
        }
    }

    /// What it has of these caches.
    fn switch_caches(&self, cache: disk::Cache) -> disk::Cache {
        let read = if self.read_cache { cache } else { cache.without_read_cache() };
        if self.write_buffer { read } else { read.without_write_buffer() }
    }

    /// What nobody measured of it, with these caches: a buffer that is off is known.
    fn find_unmeasured(&self, sheet: &Sheet) -> disk::Unmeasured {
        disk::Unmeasured { write_buffer: sheet.unmeasured.write_buffer && self.write_buffer, ..sheet.unmeasured }
    }

    /// What can be known of it by the word of a drive file or of another drive of the catalogue, which is to have as many blocks.
    ///
    /// # Errors
    /// When there is none of this name, or it is of another drive.
    pub fn sheet_of(&self, name: &str, blocks: u64) -> Result<Sheet, BadInput> {
        let disk::Drive { mut sheet, .. } = disk::catalogue::find(name)?;
        let its = sheet.mechanics.layout.blocks();
        if its != blocks {
            let what = format!("it is of a drive of {its} blocks; the drive has {blocks}");
            let mend = "give a profile of this drive: `halfturn profile DEVICE -o FILE`";
            return Err(BadInput::new(name, At::File, what, mend));
        }
        sheet.cache = self.switch_caches(sheet.cache);
        sheet.unmeasured = self.find_unmeasured(&sheet);
        Ok(sheet)
    }

    /// Whether the file of what is believed says what a command has still before it that waited in the drive for the one before: that of
    /// the drive itself, or another.
    pub(super) fn tells_followers(&self, believed: &Believed) -> bool {
        let takes = |sheet: &Sheet| sheet.queue.depth > 1;
        let Ok(Model::Disk(drive)) = self.read_model() else { return false };
        let tells = |sheet: &Sheet| takes(sheet) && sheet.overheads.queued.is_some();
        match believed {
            Believed::Sheet => tells(&drive.sheet),
            Believed::Learned => false,
            Believed::Drive(name) => {
                takes(&drive.sheet) && disk::catalogue::find(name).is_ok_and(|it| tells(&it.sheet))
            }
        }
    }

    /// The device as its file has it, but for what is changed.
    fn read_model(&self) -> Result<Model, BadInput> {
        match &self.changes {
            Some(changes) => disk::change::read_changed(&self.model, changes),
            None => disk::catalogue::model(&self.model),
        }
    }

    /// The device it names, as it wants it.
    ///
    /// # Errors
    /// When there is none of this name, or it cannot be had like that.
    pub fn make_model(&self) -> Result<Model, BadInput> {
        if self.model.is_empty() {
            let place = match &self.live {
                Some(Live::File(path)) => path.display().to_string(),
                _ => "[drive]".into(),
            };
            let what = "it is not said what drive this is";
            let mend = "add `model`: a name `halfturn drive list` shows, or a file that `halfturn profile -o` wrote";
            return Err(BadInput::new(place, At::File, what, mend));
        }
        let model = self.read_model()?;
        let bad = |what: String, mend| Err(BadInput::new(self.model.clone(), At::File, what, mend));
        let depth = self.queue.unwrap_or(model.depth());
        if let Some((what, mend)) = refuse_depth(&self.model, &model, depth) {
            return bad(what, mend);
        }
        Ok(match model {
            Model::Disk(drive) => {
                let disk::Drive { mut sheet, truth } = *drive;
                sheet.cache = self.switch_caches(sheet.cache);
                sheet.unmeasured = self.find_unmeasured(&sheet);
                sheet.queue.depth = depth;
                sheet.seek_by = self.seek_by.unwrap_or_default();
                let truth = if self.noise { truth } else { Truth::default() };
                let seek_noise = self.seek_noise.unwrap_or(truth.seek_noise);
                let truth = Truth { seek_noise, drift: self.drift, ..truth };
                Model::Disk(Box::new(disk::Drive { sheet, truth }))
            }
            Model::Other(_) if self.seek_by.is_some_and(|by| by != SeekBy::Nothing) => {
                return bad(
                    "only the arm of a disk is moved without a transfer".into(),
                    "take `seek_by` out of [drive], or choose a disk",
                );
            }
            Model::Other(_) if self.drift.is_some() || self.seek_noise.is_some() => {
                let mend = "take `drift` and `seek_noise` out of [drive], or choose a disk";
                return bad("only the seeks of a disk drift or vary".into(), mend);
            }
            Model::Other(other) => {
                let other = other.with_caches(|cache| self.switch_caches(cache));
                let other = if self.noise { other } else { other.quiet() };
                Model::Other(Box::new(Other { depth, ..other }))
            }
        })
    }
}

/// Why a device is not given so many commands at once, and what to do about it.
fn refuse_depth(name: &str, model: &Model, depth: u16) -> Option<(String, &'static str)> {
    let most = model.depth();
    let many = if most == 1 { "1 command".to_owned() } else { format!("{most} commands") };
    let mend = match model {
        Model::Disk(_) => "ask for no more in `queue`, or give the drive's file a [queue] with a greater depth",
        Model::Other(_) => "ask for no more in `queue`, or give its file a greater `depth`",
    };
    (depth > most).then(|| (format!("{name} takes {many} at once, not {depth}"), mend))
}

/// What `[drive]` or `[[disk]]` say.
pub(super) struct DriveTables {
    /// The drive, or the first disk.
    pub(super) drive: DriveChoice,
    /// How many disks there are, where `[[disk]]` counts them.
    pub(super) counted: Option<u16>,
    /// Each disk, where they are not all alike.
    pub(super) members: Vec<DriveChoice>,
}

/// The drive, and how many of it there are where [[disk]] counts them.
pub(super) fn read(root: &Section, folder: &Path) -> Result<DriveTables, BadInput> {
    let drive = root.section(drive().name())?;
    let disks = root.sections(disk().name())?;
    if let (Some(_), [disk, ..]) = (&drive, disks.as_slice()) {
        return Err(disk.here("both [drive] and [[disk]]", "keep one of them"));
    }
    if let Some(drive) = drive {
        return Ok(DriveTables { drive: read_one(&drive, folder)?, counted: None, members: Vec::new() });
    }
    let mut members = Vec::new();
    for section in &disks {
        let count = section.value(&COUNT)? as usize;
        let choice = read_one(section, folder)?;
        // There are not so many in any array, which says so.
        members.resize((members.len() + count).min(u16::MAX.into()), choice);
    }
    let counted = Some(members.len() as u16);
    let Some(drive) = members.first().cloned() else {
        return Err(root.here("no drive: neither [drive] nor [[disk]]", "add [drive] with its `model`"));
    };
    if members.iter().all(|member| *member == drive) {
        members.clear();
    }
    Ok(DriveTables { drive, counted, members })
}

/// A drive, of a table that has no other keys but those that were asked for.
pub(super) fn read_one(section: &Section, folder: &Path) -> Result<DriveChoice, BadInput> {
    let (live, emulated) = read_live(section, folder)?;
    let model = match (section.get(&MODEL)?, emulated) {
        (Some(_), Some(_)) => {
            return Err(section.error(MODEL.name(), "both `model` and an emulated drive", "keep one of them"));
        }
        (Some(model), None) | (None, Some(model)) => Some(beside(folder, &model)),
        (None, None) if live.is_some() => None,
        (None, None) => return section.need(MODEL.name(), None),
    };
    if let Some(Err(error)) = model.as_deref().map(disk::catalogue::check) {
        let key = if section.has(MODEL.name()) { MODEL.name() } else { PATH.name() };
        return Err(section.error(key, error.what, error.mend));
    }
    let changes = changes(section, model.as_deref())?;
    let queue = if has_table(section, QUEUE.name()) { None } else { section.get(&QUEUE)? };
    let seek_by = read_seek_by(section, live.as_ref())?;
    let choice = DriveChoice {
        model: model.unwrap_or_default(),
        changes,
        direct: section.value(&DIRECT)?,
        live,
        noise: section.value(&NOISE)?,
        seek_noise: section.get(&SEEK_NOISE)?,
        read_cache: section.value(&READ_CACHE)?,
        write_buffer: section.value(&WRITE_BUFFER)?,
        queue: queue.map(|queue| queue as u16),
        seek_by,
        drift: section.section(drift().name())?.map(|drift| read_drift(&drift)).transpose()?,
    };
    section.close()?;
    // Whoever takes one command takes any device's file as it is, and a file that is wrong is refused where it is used.
    let asked = choice.queue.filter(|queue| *queue > 1);
    if let (Some(queue), Ok(model)) = (asked, choice.read_model())
        && let Some((what, mend)) = refuse_depth(&choice.model, &model, queue)
    {
        return Err(section.error(QUEUE.name(), what, mend));
    }
    Ok(choice)
}

/// Whether a table of this name is there, not a value.
fn has_table(section: &Section, name: &str) -> bool {
    matches!(section.section(name), Ok(Some(_)))
}

/// What is to be otherwise than the drive's file says, tried on that file.
fn changes(section: &Section, model: Option<&str>) -> Result<Option<Document>, BadInput> {
    let own = drive().keys;
    // What is a key of both is the drive's file's as a table.
    let is_free = |name: &&str| !own.iter().any(|about| about.name == *name) || has_table(section, name);
    let names = disk::change::names().into_iter().filter(is_free).collect();
    let changes = section.others(names, "a key of drive files may stand here, too");
    let Some(first) = changes.root().keys().next() else { return Ok(None) };
    match model {
        Some(model) => disk::change::read_changed(model, &changes)?,
        None => {
            let what = format!("nothing is known of the drive that `{first}` could change");
            return Err(section.error(first, what, "give its `model`, or take the key out"));
        }
    };
    Ok(Some(changes))
}

/// Where contents are, as a file says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Memory,
    Nowhere,
    Sparse,
}

impl Words for Kept {
    const WORDS: &'static [Word<Kept>] = &[
        Word::new("memory", Kept::Memory, "in memory, at most as much as `memory` says"),
        Word::new(
            "pattern",
            Kept::Nowhere,
            "nowhere: each 8 bytes read tell their own place, and what is written is lost",
        ),
        Word::new(
            "sparse",
            Kept::Sparse,
            "in the sparse file that `file` names. It keeps them when the service ends or is killed, but not when the host loses power",
        ),
    ];
}

/// How an arm is moved without a transfer, as a file says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Means(SeekBy);

impl Words for Means {
    const WORDS: &'static [Word<Means>] = &[
        Word::new("nothing", Means(SeekBy::Nothing), "it is not: seeks are never made in parts"),
        Word::new(
            "command",
            Means(SeekBy::Command),
            "by a command of its own, which a drive has that is simulated or emulated",
        ),
        Word::new("read", Means(SeekBy::Read), "by a read of one block, which waits until that has passed"),
    ];
}

/// How the arm of what serves is to be moved without a transfer, where the file says it and it can be.
fn read_seek_by(section: &Section, live: Option<&Live>) -> Result<Option<SeekBy>, BadInput> {
    let Some(Means(by)) = section.get(&SEEK_BY)? else { return Ok(None) };
    let refuse = |what: &str, mend: &str| Err(section.error(SEEK_BY.name(), what, mend));
    match (live, by) {
        (Some(Live::File(_)), SeekBy::Command) => {
            refuse("a file or a block device takes no command that only moves its arm", "write `read`, or `nothing`")
        }
        (Some(Live::File(_)), SeekBy::Read) if !section.value(&DIRECT)? => {
            refuse("what is read through the page cache moves no arm", "take `direct = false` out, or write `nothing`")
        }
        (Some(Live::Ram(_)), SeekBy::Command | SeekBy::Read) => refuse("memory has no arm", "take `seek_by` out"),
        _ => Ok(Some(by)),
    }
}

/// What serves in real time; and the model of an emulated drive.
fn read_live(section: &Section, folder: &Path) -> Result<(Option<Live>, Option<String>), BadInput> {
    let path = section.get(&PATH)?;
    let (contents, file, memory) = (section.value(&CONTENTS)?, section.get(&FILE)?, section.value(&MEMORY)?);
    let emulated = path.as_deref().and_then(|path| path.strip_prefix("emulated:"));
    let of_emulated = [CONTENTS.name(), MEMORY.name(), FILE.name()];
    if let Some(key) = of_emulated.into_iter().find(|key| section.has(key) && emulated.is_none()) {
        let what = format!("`{key}` is of use only with an emulated drive");
        return Err(section.error(key, what, "give `path = \"emulated:NAME\"`, or take it out"));
    }
    let is_file = path.as_deref().is_some_and(|path| emulated.is_none() && !path.starts_with(RAM));
    if !section.value(&DIRECT)? && !is_file {
        let what = format!("`{}` is of use only with a file or a block device", DIRECT.name());
        return Err(section.error(DIRECT.name(), what, "give its `path`, or take it out"));
    }
    if let Some(name) = emulated {
        let held = match (contents, file) {
            (Kept::Memory, None) => Held::Memory(memory * BLOCK_BYTES),
            (Kept::Nowhere, None) => Held::Pattern,
            (Kept::Sparse, Some(file)) => Held::Sparse(folder.join(file)),
            (Kept::Sparse, None) => {
                let mend = "add `file`: one that is not there is made";
                return Err(section.error(CONTENTS.name(), "it is not said in which file", mend));
            }
            (_, Some(_)) => {
                let mend = "add contents = \"sparse\", or take `file` out";
                return Err(section.error(FILE.name(), "the contents of the drive are not in a file", mend));
            }
        };
        return Ok((Some(Live::Emulated(held)), Some(name.into())));
    }
    let Some(path) = path else { return Ok((None, None)) };
    if let Some(size) = path.strip_prefix(RAM) {
        let mend = "write one such as ram:2GiB";
        return match units::blocks(size) {
            Ok(blocks) if (1..=MOST_RAM).contains(&blocks) => Ok((Some(Live::Ram(blocks)), None)),
            Ok(blocks) => Err(section.error(PATH.name(), format!("memory of {}", units::show_blocks(blocks)), mend)),
            Err(what) => Err(section.error(PATH.name(), what, mend)),
        };
    }
    Ok((Some(Live::File(folder.join(path))), None))
}

/// A file beside the experiment if there is one of that name, else the name as it was given.
pub(super) fn beside(folder: &Path, name: &str) -> String {
    let beside = folder.join(name);
    if beside.is_file() { beside.to_string_lossy().into_owned() } else { name.into() }
}

/// Reads `[drive.drift]`: when the drive becomes another, and how.
fn read_drift(section: &Section) -> Result<Drift, BadInput> {
    let drift = Drift { at: Time::ZERO + section.value(&AT)?, seek: section.value(&SEEK)? };
    section.close()?;
    Ok(drift)
}
