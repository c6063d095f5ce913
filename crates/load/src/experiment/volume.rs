//! `[[volume]]`: ranges of the device that clients see as devices of their own, each with its quality of service.

use super::asker::Asker;
use super::{Bound, Region, Workload, asker, share};
use block::{BadInput, Span};
use config::{Section, Word, Words};
use sched::Claim;
use std::path::{Path, PathBuf};

config::keys! {
    /// A range of the device that clients see as a device of its own, with its own quality of service.
    pub(super) fn volume() -> "[[volume]]";

    /// Its name, different for each: the name of its NBD export. The first volume is the default export.
    NAME: String = text("name").required();
    /// The `[[device]]` on which it lies.
    DEVICE: String = text("device").else_told("that of the volume which it shows (`of`), or the only one");
    /// Where it begins on the device.
    OFFSET: u64 = size("offset").else_told("where the volume before it ends");
    /// How long it is.
    SIZE: u64 = size("size").else_told("up to the end of the device");
    /// The service class of its clients' requests.
    CLASS: String = text("class").else_told("the volume's name");
    /// Priority of its clients' requests. Larger is more urgent.
    PRIORITY: u32 = within("priority", 0, 255).usually("0");
    /// Deadline of its clients' requests, from their arrival. A request that is still waiting then fails.
    DEADLINE: Span = span("deadline").else_told("none");
    /// The volume, earlier in the file, whose blocks this one shows: to be read only, with a class, a priority and a share of its
    /// own. So a disk in use is backed up, or checked, behind those who use it.
    OF: String = text("of");
    /// In which order what is read of it comes back.
    ORDER: ReadOrder = word("order").usually("asked");
    /// Whether writes are refused. Volumes that all are `read_only` may share blocks, and so may services of them.
    READ_ONLY: bool = bool("read_only").else_told("false; true of what has `of`");
    /// The clients that may have it, by a name in the certificate that they show: its common name, or an alternative name of it
    /// that is a DNS name, a mail address or a URI. They must speak TLS.
    CLIENTS: Vec<String> = texts("clients").else_told("all that are let in");
    /// The UNIX socket at which it is a disk of a virtual machine (vhost-user-blk), beside being an NBD export. One machine at a time
    /// has it; each queue of its disk is a client.
    VHOST_USER: String = text("vhost_user").else_told("none");
    /// The number N of the block device `/dev/ublkbN` that it is on this machine, beside being an NBD export: with Linux 6.6 or later and
    /// its driver `ublk_drv`, for root. Each queue of the device is a client.
    UBLK: u32 = within("ublk", 0, 1_048_575).else_told("none");
}

/// In which order what is read of a volume comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadOrder {
    /// As the scheduler orders requests.
    Asked,
    /// As they come, whichever was asked for first.
    Any,
}

impl Words for ReadOrder {
    const WORDS: &'static [Word<ReadOrder>] = &[
        Word::new("asked", ReadOrder::Asked, "as the scheduler orders requests"),
        Word::new(
            "any",
            ReadOrder::Any,
            "in any, whenever it costs nobody anything: on the way to others' requests and while there are none; beyond that in the `floor` of the volume, if it has one. For a backup or a check with many reads outstanding. The volume is `read_only`, or shows another (`of`)",
        ),
    ];
}

/// The most volumes that one service may have.
const MOST: usize = 128;
/// The longest name, in bytes: what NBD takes.
const LONGEST_NAME: usize = 256;

/// One export of a service, and what it may ask for.
#[derive(Clone, Debug, PartialEq)]
pub struct Volume {
    /// Its name, unlike any other's: that of its NBD export. It may be empty where it is the only one.
    pub name: String,
    /// Its first block on the device.
    pub from: u64,
    /// Its blocks; without them it goes to the end of the device.
    pub blocks: Option<u64>,
    /// The service class of its requests; its name unless the file says otherwise.
    pub class: String,
    /// Priority of its requests; larger is more urgent.
    pub priority: u8,
    /// A hard deadline of its requests, from their arrival: one still waiting then fails with ETIME.
    pub deadline: Option<Span>,
    /// Whether what is read of it may come back in any order.
    pub any_order: bool,
    /// Whether nobody may write it.
    pub read_only: bool,
    /// Names of certificates that open it; none where it is open to all.
    pub clients: Vec<String>,
    /// The UNIX socket at which it is a disk of a virtual machine, where it is one.
    pub vhost_user: Option<PathBuf>,
    /// The number of the block device that it is on this machine (ublk), where it is one.
    pub ublk: Option<u32>,
    /// What its clients may have of the arm's time, where the file says.
    pub claim: Option<Claim>,
}

impl Volume {
    /// Where it lies on the device.
    #[must_use]
    pub fn region(&self) -> Region {
        let to = self.blocks.map_or(Bound::Percent(100.0), |blocks| Bound::Blocks(self.from + blocks));
        Region { from: Bound::Blocks(self.from), to }
    }
}

/// The volumes on the device of this name; where it has none, on the only one.
pub(super) fn read_all(root: &Section, device: Option<&str>, folder: &Path) -> Result<Vec<Volume>, BadInput> {
    let sections = root.sections(volume().name())?;
    if let Some(section) = sections.get(MOST) {
        return Err(section.here(format!("more than {MOST} volumes"), "take some out"));
    }
    let mut volumes: Vec<Volume> = Vec::with_capacity(sections.len());
    for section in &sections {
        let volume = read(section, &volumes, device, folder)?;
        volumes.push(volume);
    }
    Ok(volumes)
}

/// The service class of a volume of this name.
pub(super) fn class(section: &Section, name: &str) -> Result<String, BadInput> {
    let class = section.get(&CLASS)?.filter(|class| !class.is_empty());
    Ok(class.unwrap_or_else(|| if name.is_empty() { "volume".into() } else { name.into() }))
}

fn read(section: &Section, before: &[Volume], device: Option<&str>, folder: &Path) -> Result<Volume, BadInput> {
    let name = section.value(&NAME)?;
    if let Some(named) = section.get(&DEVICE)?.filter(|named| Some(named.as_str()) != device) {
        let mend = "add a [[device]] of this name, with the keys of [drive]; or take it out";
        return Err(section.error(DEVICE.name(), format!("there is no device '{named}'"), mend));
    }
    if name.len() > LONGEST_NAME {
        let what = format!("a name of {} bytes", name.len());
        return Err(section.error(NAME.name(), what, format!("give one of at most {LONGEST_NAME}")));
    }
    if before.iter().any(|other| other.name == name) {
        let what = format!("a volume before this one is named '{name}' too");
        return Err(section.error(NAME.name(), what, "give each a name of its own; they may share a `class`"));
    }
    let place = match place_shown(section, before)? {
        Some(place) => place,
        None => place(section, before, &name)?,
    };
    let any_order = section.value(&ORDER)? == ReadOrder::Any;
    if any_order && !place.read_only {
        let what = format!("reads in any order of volume '{name}', which may be written");
        let mend = "give it `read_only = true`, or let it show another volume: of = \"NAME\"";
        return Err(section.error(ORDER.name(), what, mend));
    }
    let (priority, deadline) = (section.value(&PRIORITY)? as u8, asker::deadline(section, &DEADLINE)?);
    let volume = Volume {
        class: class(section, &name)?,
        name,
        from: place.from,
        blocks: place.blocks,
        priority,
        deadline,
        any_order,
        read_only: place.read_only,
        clients: clients(section)?,
        vhost_user: vhost_user(section, before, folder)?,
        ublk: ublk(section, before)?,
        claim: share::of_volume(section)?,
    };
    section.close()?;
    Ok(volume)
}

/// Those whose reads come back in any order have one class, which is no other's, and what they wait for is theirs.
pub(super) fn check_order(
    root: &Section,
    volumes: &[Volume],
    workloads: &[Workload],
    askers: &[Asker],
) -> Result<(), BadInput> {
    let mut any = volumes.iter().filter(|volume| volume.any_order);
    let Some(first) = any.next() else { return Ok(()) };
    if let Some(other) = any.find(|other| other.class != first.class) {
        let what = format!("the reads of '{}' and '{}' in any order, in two classes", first.name, other.name);
        return Err(root.here(what, "give both volumes one `class`"));
    }
    let theirs = |name: &str| volumes.iter().any(|volume| volume.any_order && volume.name == name);
    let is_other = |asker: &&Asker| asker.class == first.class && !asker.volume.is_some_and(theirs);
    if let Some(other) = askers.iter().find(is_other) {
        let what = format!(
            "{} '{}' has the class '{}' of volume '{}', whose reads come back in any order",
            other.what, other.name, first.class, first.name
        );
        return Err(root.here(what, "give the volume a `class` of its own"));
    }
    if workloads.iter().any(|workload| workload.kind.scan().is_some()) {
        let what = format!("a scan beside volume '{}', whose reads come back in any order", first.name);
        return Err(root.here(what, "take one of them out"));
    }
    if root.has("array") {
        let what = format!("the reads of volume '{}' in any order, of an array", first.name);
        return Err(root.here(what, "take `order` out, or [array]"));
    }
    Ok(())
}

/// Where a volume lies, and whether nobody may write it.
struct VolumePlace {
    from: u64,
    blocks: Option<u64>,
    read_only: bool,
}

/// The place of the volume that this one shows, if it shows one.
fn place_shown(section: &Section, before: &[Volume]) -> Result<Option<VolumePlace>, BadInput> {
    let Some(name) = section.get(&OF)? else { return Ok(None) };
    let Some(of) = before.iter().find(|other| other.name == name) else {
        let what = format!("no volume before this one is named '{name}'");
        return Err(section.error(OF.name(), what, "name one that stands earlier in the file"));
    };
    if let Some(key) = [OFFSET.name(), SIZE.name()].into_iter().find(|key| section.has(key)) {
        let what = format!("`{key}` of a volume that shows all of '{name}'");
        return Err(section.error(key, what, "take it out"));
    }
    if section.get(&READ_ONLY)? == Some(false) {
        let what = format!("a volume that shows '{name}' may only be read");
        return Err(section.error(READ_ONLY.name(), what, "take it out, and have writers use that volume"));
    }
    Ok(Some(VolumePlace { from: of.from, blocks: of.blocks, read_only: true }))
}

/// The place of a volume of its own.
fn place(section: &Section, before: &[Volume], name: &str) -> Result<VolumePlace, BadInput> {
    let from = match (section.get(&OFFSET)?, before.last()) {
        (Some(from), _) => from,
        (None, None) => 0,
        (None, Some(last)) => match last.blocks {
            Some(blocks) => last.from + blocks,
            None => {
                let what = format!("volume '{}' before this one goes to the end of the device", last.name);
                return Err(section.here(what, "give that one a `size`, or this one an `offset`"));
            }
        },
    };
    let blocks = section.get(&SIZE)?;
    if blocks == Some(0) {
        return Err(section.error(
            SIZE.name(),
            "a volume of no blocks",
            "give a `size` such as 10GiB, or leave it out",
        ));
    }
    let end = blocks.map_or(u64::MAX, |blocks| from.saturating_add(blocks));
    let ends = |other: &Volume| other.blocks.map_or(u64::MAX, |blocks| other.from.saturating_add(blocks));
    let read_only = section.get(&READ_ONLY)?.unwrap_or(false);
    let shares = |other: &&Volume| from < ends(other) && other.from < end;
    // What nobody writes, any number of volumes may show.
    let mut others = before.iter().filter(|other| !(read_only && other.read_only));
    if let Some(other) = others.find(shares) {
        let what = format!("volume '{name}' shares blocks with volume '{}'", other.name);
        let mend = if read_only {
            "let it begin later, or leave `offset` out; to show what that volume holds give `of` in place of `offset` and `size`"
        } else {
            "let it begin later, or leave `offset` out; only `read_only` volumes may share blocks"
        };
        return Err(section.error(OFFSET.name(), what, mend));
    }
    Ok(VolumePlace { from, blocks, read_only })
}

/// Where it is a disk of a virtual machine: who connects there shows no certificate.
fn vhost_user(section: &Section, before: &[Volume], folder: &Path) -> Result<Option<PathBuf>, BadInput> {
    let Some(path) = section.get(&VHOST_USER)?.map(|path| folder.join(path)) else { return Ok(None) };
    if section.has(CLIENTS.name()) {
        let what = "a virtual disk of a volume that is for some `clients`: no virtual machine shows a certificate";
        return Err(section.error(VHOST_USER.name(), what, "take one of them out"));
    }
    if let Some(other) = before.iter().find(|other| other.vhost_user.as_ref() == Some(&path)) {
        let what = format!("volume '{}' is a virtual disk at this socket, too", other.name);
        return Err(section.error(VHOST_USER.name(), what, "give each a socket of its own"));
    }
    Ok(Some(path))
}

/// Where it is a block device of this machine: there, nobody shows a certificate either.
fn ublk(section: &Section, before: &[Volume]) -> Result<Option<u32>, BadInput> {
    let Some(number) = section.get(&UBLK)? else { return Ok(None) };
    if section.has(CLIENTS.name()) {
        let what = "a block device of a volume that is for some `clients`: no program shows it a certificate";
        return Err(section.error(UBLK.name(), what, "take one of them out"));
    }
    if let Some(other) = before.iter().find(|other| other.ublk == Some(number)) {
        let what = format!("volume '{}' is /dev/ublkb{number}, too", other.name);
        return Err(section.error(UBLK.name(), what, "give each a number of its own"));
    }
    Ok(Some(number))
}

fn clients(section: &Section) -> Result<Vec<String>, BadInput> {
    let clients = section.get(&CLIENTS)?;
    if clients.as_ref().is_some_and(|names| names.is_empty() || names.iter().any(String::is_empty)) {
        let mend = "name some as their certificates do, or take it out for all";
        return Err(section.error(CLIENTS.name(), "a volume that nobody may have", mend));
    }
    Ok(clients.unwrap_or_default())
}
