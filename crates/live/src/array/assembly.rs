//! Which of the disks of an array belong to it, and may be trusted.

use super::journal::FoundRecords;
use super::label::{BEFORE, BEHIND, CopyPlace, LABEL_BYTES, LATER, LabelGrowth, Noted, Superblock};
use super::write_log::LogName;
use super::{OpenedMember, regions, told};
use crate::memory::Slice;
use crate::unit::LiveDevice;
use block::{BLOCK_BYTES, Extent};
use load::experiment::ArrayChoice;
use sched::array::{Geometry, Level};

/// What becomes of an array that is whole without disks that are lacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// It is refused all the same: nobody said that they may.
    Refused,
    /// It is had without them.
    Allowed,
}

impl Lacking {
    /// As `degraded` of an array says it.
    #[must_use]
    pub fn of(array: &ArrayChoice) -> Lacking {
        if array.degraded { Lacking::Allowed } else { Lacking::Refused }
    }
}

/// What a disk is found to be to the array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It holds all that it should.
    Sound,
    /// It took the place of another, and so many rows of it are filled.
    Filling(u64),
    /// The array has gone on without it.
    GivenUp,
    /// Another disk took its place.
    Replaced,
    /// It does not know of all that became of the array.
    Stale,
    /// It cannot be had: why.
    Absent(String),
    /// There is no superblock on it.
    Unlabelled,
    /// It is of another array, of this name.
    Foreign(String),
    /// It is another disk of this array, or a copy of one: which.
    Misplaced(u16),
    /// It is of a copy of the array, and one of the two was served since without the other.
    Copied,
    /// The array it is of has another layout.
    Unlike(String),
}

impl MemberState {
    /// Whether the array can be had without it, if that is wanted.
    fn may_lack(&self) -> bool {
        matches!(self, Self::GivenUp | Self::Replaced | Self::Stale | Self::Absent(_) | Self::Unlabelled)
    }

    /// How many rows of it hold what they should.
    pub(super) fn rows_held(&self) -> u64 {
        match self {
            Self::Sound => u64::MAX,
            Self::Filling(rows) => *rows,
            _ => 0,
        }
    }

    /// Whether it is trusted, as far as it is filled.
    pub(super) fn counts(&self) -> bool {
        matches!(self, Self::Sound | Self::Filling(_))
    }

    /// What users call it, in a word or two.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Sound => "sound",
            Self::Filling(_) => "rebuilding",
            Self::GivenUp => "given up",
            Self::Replaced => "replaced",
            Self::Stale => "stale",
            Self::Absent(_) => "absent",
            Self::Unlabelled => "no superblock",
            Self::Foreign(_) => "foreign",
            Self::Misplaced(_) => "misplaced",
            Self::Copied => "of a copy",
            Self::Unlike(_) => "unlike layout",
        }
    }

    /// What is wrong with a disk, and the mend.
    pub(super) fn complaint(&self, disk: usize) -> Option<(String, &'static str)> {
        let degraded = "bring it back, or go on without it: `degraded = true` in [array], or --degraded";
        Some(match self {
            Self::Sound | Self::Filling(_) => return None,
            Self::Replaced => {
                (format!("another disk took the place of disk {disk}"), "name the disk that took it in the file")
            }
            Self::GivenUp => (format!("disk {disk} was given up, and what it holds is of the past"), degraded),
            Self::Stale => (format!("disk {disk} was not there when the array went on: it is of the past"), degraded),
            Self::Absent(why) => (format!("disk {disk} cannot be had: {why}"), degraded),
            Self::Unlabelled => (
                format!("disk {disk} has no superblock, and others have"),
                "name the disk that was there, though it be gone; a new one takes its place while the array is served (--degraded, then `halfturn array replace`)",
            ),
            Self::Foreign(name) => (
                format!("disk {disk} is of another array, {name}"),
                "name the disk that was there; or, if what is on it is not needed: halfturn array create --force FILE",
            ),
            Self::Misplaced(index) => (
                format!("what stands as disk {disk} is disk {index} of the array, or a copy of it"),
                "name the disks in the order in which the array was made",
            ),
            Self::Copied => (
                format!("disk {disk} is of a copy of the array that was served by itself"),
                "name the disks of one of the two: what they hold is not the same any more",
            ),
            Self::Unlike(layout) => {
                (format!("disk {disk} is of an array of another layout: {layout}"), "give [array] as it was made")
            }
        })
    }
}

/// An array, as its disks tell of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayStatus {
    /// The array's name; nothing where no disk has any.
    pub name: Option<String>,
    /// How often something became of it.
    pub events: u64,
    /// Regions that may have been written and not be alike on all disks, and of how many.
    pub dirty: u32,
    /// Bytes of the regions of the array that were ever written.
    pub written: u64,
    /// How its blocks lie.
    pub geometry: Geometry,
    /// Bytes of the array.
    pub bytes: u64,
    /// What each disk is to it.
    pub disks: Vec<MemberState>,
    /// What is to be set in the file that names its disks, where the array has grown by one or is to.
    pub advice: Option<String>,
    pub(super) label: Option<Superblock>,
    pub(super) journal: FoundRecords,
}

/// How an array was made, or has grown.
#[derive(Clone, Debug)]
pub(crate) struct FoundLayout {
    label: Superblock,
}

impl FoundLayout {
    pub(super) fn of(said: &[Said]) -> Option<FoundLayout> {
        choose(said).map(|label| FoundLayout { label })
    }

    pub(crate) fn disks(&self) -> u16 {
        self.label.disks.len() as u16
    }

    pub(crate) fn level(&self) -> Level {
        self.label.level
    }

    /// Units of a disk.
    pub(crate) fn rows(&self) -> u64 {
        self.label.rows
    }

    /// Blocks that each disk has at least.
    pub(crate) fn blocks_of_a_disk(&self) -> u64 {
        BEFORE + self.label.rows * u64::from(self.label.unit) + BEHIND
    }

    /// Copies that each block had before rows came to have parity in their place; 0 where they never did.
    pub(crate) fn former_copies(&self) -> u16 {
        self.label.former_copies
    }

    /// Whether its disks have checksums.
    pub(crate) fn has_sums(&self) -> bool {
        self.label.sums
    }

    /// Where the disks were by which it grew last.
    pub(crate) fn paths_of_growth(&self) -> &[String] {
        &self.label.joined
    }

    /// Whether a disk has no superblock, or one of this array as it would be if all by which it was to grow had been told.
    pub(crate) fn lacks(&self, member: &mut OpenedMember) -> bool {
        let label = member.as_mut().map(|unit| read_label(&mut **unit));
        let is_beyond = |label: &Superblock| label.array == self.label.array && label.index >= self.disks();
        label.is_ok_and(|label| label.as_ref().is_none_or(is_beyond))
    }

    /// Where its blocks lie, of an array of so many disks: a row that was being overwritten is where it was to be.
    pub(crate) fn fit(&self, geometry: &Geometry) -> Geometry {
        let Some(LabelGrowth { former, grown }) = self.label.growth else { return *geometry };
        let level = match self.label.traded_level() {
            Some(level) if former == geometry.disks() && self.label.level == geometry.level() => level,
            None if former + geometry.growth_step() == geometry.disks() => geometry.level(),
            _ => return *geometry,
        };
        geometry.moved_from(level, former, grown.rows + u64::from(grown.copied)).unwrap_or(*geometry)
    }
}

/// What each disk of an array says of it: a label, none, or why the disk cannot be had.
pub(super) type Said = Result<Option<Superblock>, String>;

/// Reads what is a superblock on a disk from this block on, if it is whole.
fn read_copy(unit: &mut dyn LiveDevice, at: u64) -> Option<Superblock> {
    let memory = Slice::new(LABEL_BYTES);
    let read = unit.bytes() / BLOCK_BYTES >= BEHIND && unit.peek(Extent::new(at, BEHIND as u32), &memory);
    Superblock::from_bytes(&memory.to_vec()).filter(|_| read)
}

/// The copy behind the data of a disk.
fn read_behind(unit: &mut dyn LiveDevice) -> Option<Superblock> {
    let last = (unit.bytes() / BLOCK_BYTES).checked_sub(BEHIND).filter(|last| *last >= BEFORE)?;
    read_copy(unit, last)
}

/// Reads the superblock of a disk: the newest of those that are whole.
pub(super) fn read_label(unit: &mut dyn LiveDevice) -> Option<Superblock> {
    let before: Vec<_> = [0].into_iter().chain(LATER).filter_map(|at| read_copy(unit, at)).collect();
    before.into_iter().chain(read_behind(unit)).max_by_key(Superblock::age)
}

/// Which copy of a disk's superblock is the older one, or none.
pub(super) fn find_older_copy(unit: &mut dyn LiveDevice) -> CopyPlace {
    let (before, behind) = (read_copy(unit, 0), read_behind(unit));
    let is_newer = before.map(|label| label.age()) > behind.map(|label| label.age());
    if is_newer { CopyPlace::BehindData } else { CopyPlace::BeforeData }
}

/// The label that tells most of the array: of the one that most disks are of, of several such the first, the newest.
fn choose(said: &[Said]) -> Option<Superblock> {
    let labels: Vec<&Superblock> = said.iter().filter_map(|said| said.as_ref().ok()?.as_ref()).collect();
    let votes = |label: &Superblock| labels.iter().filter(|other| other.array == label.array).count();
    let most = labels.iter().map(|label| votes(label)).max()?;
    let array = labels.iter().find(|label| votes(label) == most)?.array;
    let of_it: Vec<&Superblock> = labels.into_iter().filter(|label| label.array == array).collect();
    of_it.iter().filter(|label| has_begun(label, &of_it)).max_by_key(|label| label.age()).map(|label| (*label).clone())
}

/// Whether an array grows that says so. The disks by which it does are told first: where not all of them were, nobody else was, and it
/// does not.
fn has_begun(label: &Superblock, all: &[&Superblock]) -> bool {
    let Some(LabelGrowth { former, .. }) = label.growth else { return true };
    let disks = label.disks.len();
    let knows = |index| all.iter().any(|other| other.index == index && other.disks.len() == disks);
    (0..former).any(knows) || (former..disks as u16).all(knows)
}

/// Judges what the disks of an array say, which is to have this layout.
pub(super) fn judge(said: &[Said], wanted: &Geometry) -> ArrayStatus {
    let newest = choose(said);
    let state = |(disk, said): (usize, &Said)| {
        let label = match said {
            Err(why) => return MemberState::Absent(why.clone()),
            Ok(None) => return MemberState::Unlabelled,
            Ok(Some(label)) => label,
        };
        let Some(newest) = &newest else { return MemberState::Unlabelled };
        // One that was not told yet that the array grows, or is of another level.
        let behind = newest.growth.is_some_and(|growth| usize::from(growth.former) == label.disks.len())
            || newest.is_other_level_of(label);
        let knows = if behind && label.events < newest.events { newest } else { label };
        let disks = knows.disks.len();
        let layout = (knows.level, label.unit, label.rows, disks);
        if label.array != newest.array {
            MemberState::Foreign(label.name())
        } else if layout != (wanted.level(), wanted.unit(), wanted.rows(), usize::from(wanted.disks())) {
            MemberState::Unlike(told::show_layout(layout))
        } else if usize::from(label.index) != disk {
            MemberState::Misplaced(label.index)
        } else if newest.names.get(disk) != Some(&label.own_name) {
            MemberState::Replaced
        } else if newest.disks.get(disk) == Some(&Noted::GivenUp) {
            MemberState::GivenUp
        } else if label.events + 1 < newest.events {
            MemberState::Stale
        } else if !newest.shares_past(label) {
            MemberState::Copied
        } else if newest.disks.get(disk) == Some(&Noted::Filling) {
            MemberState::Filling(label.filled.min(label.rows))
        } else {
            MemberState::Sound
        }
    };
    let disks: Vec<MemberState> = said.iter().enumerate().map(state).collect();
    // A region is dirty that any disk of the array knows to be so, and blank that all know to be.
    let label = newest.map(|newest| {
        let (mut dirty, mut blank) = (newest.dirty.clone(), newest.blank.clone());
        let counts = said.iter().zip(&disks).filter(|(_, state)| state.counts());
        for label in counts.filter_map(|(said, _)| said.as_ref().ok()?.as_ref()) {
            dirty.join(&label.dirty);
            blank.meet(&label.blank);
        }
        if let Some(growth) = newest.growth.filter(|growth| growth.grown.copied) {
            // That row is written before the array is trusted.
            let region = regions::region_of(wanted, growth.grown.rows);
            dirty.add(region);
            blank.remove(region);
        }
        Superblock { dirty, blank, ..newest }
    });
    ArrayStatus {
        name: label.as_ref().map(Superblock::name),
        events: label.as_ref().map_or(0, |label| label.events),
        dirty: label.as_ref().map_or(0, |label| label.dirty.count()),
        written: label.as_ref().map_or(0, |label| regions::written_bytes(&label.blank, wanted)),
        geometry: *wanted,
        bytes: wanted.blocks() * BLOCK_BYTES,
        disks,
        advice: None,
        label,
        journal: FoundRecords::default(),
    }
}

impl ArrayStatus {
    /// Whether the array can be had, without the disks that are lacking where that is wanted: what is wrong, and the mend.
    ///
    /// # Errors
    /// When a disk is not to be trusted, or lacks and may not.
    pub fn admit(&self, wanted: &Geometry, lacking: Lacking) -> Result<(), (String, String)> {
        if self.name.is_none() && self.disks.contains(&MemberState::Unlabelled) {
            let what = "no disk of the array has a superblock";
            return Err((what.into(), "make the array first: halfturn array create FILE".into()));
        }
        let refused = |state: &MemberState| !(lacking == Lacking::Allowed && state.may_lack());
        let mut complaints = self.disks.iter().enumerate().filter(|(_, state)| refused(state));
        if let Some((what, mend)) = complaints.find_map(|(disk, state)| state.complaint(disk)) {
            return Err((what, mend.into()));
        }
        if let Some(what) = self.find_lacking_copy(wanted) {
            return Err((what, "bring that disk back: a part of the array is on it alone".into()));
        }
        let lacks = |disk: block::DiskId| self.disks[usize::from(disk.0)] != MemberState::Sound;
        if wanted.is_whole_without(lacks) {
            return Ok(());
        }
        let lacking = self.disks.iter().filter(|state| **state != MemberState::Sound).count();
        let what =
            format!("{lacking} of {} disks are lacking, and without them some blocks are lost", self.disks.len());
        Err((what, "bring back what was given up last".into()))
    }

    /// What is said where a row was being overwritten, and what it is made of is not to be had.
    fn find_lacking_copy(&self, wanted: &Geometry) -> Option<String> {
        let label = self.label.as_ref()?;
        let row = label.growth.filter(|growth| growth.grown.copied)?.grown.rows;
        let lacks = |disk: block::DiskId| self.disks.get(usize::from(disk.0)) != Some(&MemberState::Sound);
        let what = match label.traded_level() {
            Some(_) => {
                let (_, disk) = wanted.list_staying(row).find(|(_, disk)| lacks(*disk))?;
                format!("disk {}, which alone has a part of it, is lacking", disk.0)
            }
            None if self.copy_disk(wanted).is_some() => return None,
            None if wanted.growth_step() == 1 => {
                format!("disk {}, which has its copy, is lacking", wanted.disks() - 1)
            }
            None => "the disks by which the array grows, which have its copies, are lacking".into(),
        };
        Some(format!("row {row} was being moved when the power went, and {what}"))
    }

    /// A disk with a copy of the row that was being overwritten.
    pub(super) fn copy_disk(&self, wanted: &Geometry) -> Option<block::DiskId> {
        wanted.list_joined().find(|disk| self.disks.get(usize::from(disk.0)) == Some(&MemberState::Sound))
    }

    /// Whether a disk is lacking that the others still count: it went in the cut itself, and no record was kept for it.
    pub(crate) fn lost_unforeseen(&self) -> bool {
        let noted = self.label.iter().flat_map(|label| &label.disks);
        self.disks.iter().zip(noted).any(|(state, noted)| !state.counts() && *noted != Noted::GivenUp)
    }

    /// The name of the array, and of the log without which it is not to be had.
    pub(crate) fn names(&self) -> Option<([u8; 16], Option<LogName>)> {
        self.label.as_ref().map(|label| (label.array, label.log))
    }
}

#[cfg(test)]
mod tests;
