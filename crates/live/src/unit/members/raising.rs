//! How an array comes to have a second parity on a disk of its own while it is served, and how it does without that again.
//!
//! **A RAID 6 that lacks its last disk has what a RAID 5 has.** So a disk joins empty, as one that took a place, and is filled like that
//! one. It is told first; as soon as any other was, the array is a RAID 6.
//!
//! **A disk that is let go is given up first,** and that is one note with the level: whoever is told of the one is told of the other. It
//! is left without a superblock, so that nobody has it for a disk of the array.

use super::{Members, Successor};
use crate::array::{self, Absent, Former};
use crate::unit::LiveDevice;
use block::{Caps, DiskId};
use sched::Health;
use std::path::Path;

/// What is to become of the level.
#[derive(Default)]
pub(super) enum LevelChange {
    #[default]
    None,
    /// This disk is to have it, as soon as nothing is repaired.
    Raises(Successor),
    /// Its disk is to be given up, of which the core is to hear; then the core has heard, and gives it up.
    Lowers,
    GivesUp,
    /// The array does without it, of which the core is to hear.
    Lowered,
    /// Rows are to have parity in place of copies, as soon as nothing is repaired.
    Trades,
}

impl Members {
    /// The last disk, which has the second parities.
    fn last(&self) -> DiskId {
        DiskId(self.geometry.disks() - 1)
    }

    /// What stands against another layout now: what the array does not do, and what is to be done then.
    pub(super) fn refuse_layout(&self, does: &str, then: &str) -> Result<(), String> {
        if self.notes.is_none() {
            return Err("the disks of the array hold nothing when the service ends: make another in its place".into());
        }
        let trades = self.geometry.traded_level().is_some();
        if !trades && (!self.joining.is_empty() || self.geometry.is_growing()) {
            return Err("the array is growing already; wait until it has grown".into());
        }
        if trades || !matches!(self.level, LevelChange::None) {
            return Err("the array is changing its level already; wait until it has".into());
        }
        if self.log.is_some() {
            return Err(format!(
                "an array with a log does not {does}; serve it without `log` and `buffer`, and {then} then"
            ));
        }
        if self.upkeep.is_scrubbing() {
            return Err(format!("the array is being scrubbed; stop that, or {then} when it ends"));
        }
        Ok(())
    }

    /// Where there are no places for so many disks: they were taken since the service was started.
    pub(super) fn refuse_place(&self, disks: u16, then: &str) -> Result<(), String> {
        let was_let_go = (self.geometry.disks()..disks).any(|disk| self.gone.contains(&DiskId(disk)));
        if was_let_go || self.members.len() < usize::from(disks) {
            return Err(format!(
                "the array has other disks by now than the service file names: name them, start the service anew, and {then} then"
            ));
        }
        Ok(())
    }

    /// Paths that a superblock has no room for together.
    pub(super) fn refuse_paths(paths: &[impl AsRef<Path>]) -> Result<(), String> {
        let noted = paths.iter().map(|path| path.as_ref().as_os_str().len() + 1).sum::<usize>();
        if noted > array::MOST_PATH + 1 {
            return Err(format!("a path of more than {} bytes is too long to be noted", array::MOST_PATH));
        }
        Ok(())
    }

    /// The array is to be a RAID 6, with the second parity on this disk.
    pub(super) fn raise(&mut self, path: &Path, former: Former) -> Result<(), String> {
        let then = "change its level";
        let raised = self.geometry.raise().map_err(|(what, mend)| format!("{what}; {mend}"))?;
        self.refuse_layout(then, then)?;
        if !self.is_sound() {
            return Err(format!("a disk is lacking or being rebuilt; replace it, and {then} when all are sound"));
        }
        self.refuse_place(raised.disks(), then)?;
        Members::refuse_paths(&[path])?;
        self.level = LevelChange::Raises(self.open(DiskId(self.geometry.disks()), path, former)?);
        Ok(())
    }

    /// The array is to be a RAID 5, without the disk that has the second parities.
    pub(super) fn lower(&mut self) -> Result<(), String> {
        let then = "change its level";
        self.geometry.lower().map_err(|(what, mend)| format!("{what}; {mend}"))?;
        self.refuse_layout(then, then)?;
        let last = self.last();
        let filling = self.filling_disks().into_iter().map(|(disk, _)| disk);
        let is_other = |disk: &DiskId| *disk != last;
        let lacks = self.lacking().into_iter().chain(filling).any(|disk| is_other(&disk));
        if lacks || !self.successors.is_empty() || self.leaving.iter().any(is_other) {
            return Err(format!(
                "a disk is lacking or being rebuilt; replace it, and {then} when all others are sound"
            ));
        }
        match self.lacking().contains(&last) {
            false => {
                self.leaving.push(last);
                self.level = LevelChange::Lowers;
            }
            true => {
                self.notes.iter_mut().for_each(|notes| notes.lower(&[]));
                self.let_go();
                self.write_notes();
            }
        }
        Ok(())
    }

    /// Whether a disk is to join for the second parity, or the core is to hear of one that leaves.
    pub(super) fn has_level_news(&self) -> bool {
        match self.level {
            LevelChange::None | LevelChange::GivesUp => false,
            LevelChange::Raises(_) => self.upkeep.is_idle(),
            LevelChange::Trades => self.may_trade(),
            LevelChange::Lowers | LevelChange::Lowered => true,
        }
    }

    /// A disk joins for the second parity, if one is to.
    pub(super) fn raise_now(&mut self) -> Option<DiskId> {
        if !self.upkeep.is_idle() || !matches!(self.level, LevelChange::Raises(_)) {
            return None;
        }
        let LevelChange::Raises(joining) = std::mem::take(&mut self.level) else { return None };
        let Successor { mut unit, name, path } = joining;
        let (disk, geometry) = (DiskId(self.geometry.disks()), self.geometry.raise().ok()?);
        if !self.is_sound() {
            eprintln!("the array does not become a RAID 6 by {path}: a disk is lacking");
            return None;
        }
        let notes = self.notes.as_mut()?;
        unit.set_sum_key(notes.sum_key(disk, Some(name)));
        if let Err(error) = notes.raise(name, &path, &mut *unit) {
            eprintln!("the array does not become a RAID 6 by {path}: {error}");
            return None;
        }
        self.put_in_place(disk, unit);
        self.geometry = geometry;
        self.upkeep.set_growth(&geometry);
        self.write_notes();
        self.fill();
        eprintln!(
            "the array is a RAID 6 once {path} is rebuilt; give it `level = \"6\"`, and {}",
            array::name_as_last(1)
        );
        Some(disk)
    }

    /// Whether a disk is being let go.
    pub(super) fn is_leaving_for_good(&self, disk: DiskId) -> bool {
        matches!(self.level, LevelChange::Lowers | LevelChange::GivesUp) && disk == self.last()
    }

    /// Whether the disks that are given up are one that is let go, and the others hold all without those that are lacking.
    pub(super) fn lets_go(&mut self, leaving: &[DiskId]) -> bool {
        if !leaving.iter().any(|disk| self.is_leaving_for_good(*disk)) {
            return false;
        }
        let lacking: Vec<DiskId> = self.lacking().into_iter().chain(leaving.iter().copied()).collect();
        let lowered = self.geometry.lower().ok();
        let is_whole = lowered.is_some_and(|lowered| lowered.is_whole_without(|disk| lacking.contains(&disk)));
        if !is_whole {
            self.level = LevelChange::None;
            eprintln!("the array stays a RAID 6: another disk is lacking");
        }
        is_whole
    }

    /// The disk that is let go is left without a superblock: the others know of it.
    pub(super) fn clear_label(&mut self) {
        let last = self.last();
        if let Err(error) = array::clear_label(&mut *self.members[usize::from(last.0)].unit) {
            eprintln!("disk {} is let go, but its superblock cannot be cleared: {error}", last.0);
        }
    }

    /// The array does without its last disk. What that one still has in flight comes back to nobody.
    pub(super) fn let_go(&mut self) {
        let (last, Ok(geometry)) = (self.last(), self.geometry.lower()) else { return };
        let member = &self.members[usize::from(last.0)];
        let depth = member.depth.try_into().unwrap_or(u16::MAX);
        let caps = Caps { depth, ..member.unit.caps() };
        self.put_in_place(last, Box::new(Absent::new(caps)));
        if !self.gone.contains(&last) {
            self.gone.push(last);
        }
        self.forget_waiting(last);
        self.held.retain(|(disk, _)| *disk != last);
        self.untold.retain(|(disk, _)| *disk != last);
        self.geometry = geometry;
        self.room.forget();
        self.upkeep.set_growth(&geometry);
        self.stop_filling();
        self.level = LevelChange::Lowered;
        eprintln!(
            "the array is a RAID 5 without disk {}; give it `level = \"5\"`, and take that disk out of the service file",
            last.0
        );
    }

    /// What the core is to hear of the disk that has the second parities.
    pub(super) fn take_level_news(&mut self) -> Option<(DiskId, Health)> {
        match self.level {
            LevelChange::Lowers => {
                self.level = LevelChange::GivesUp;
                Some((self.last(), Health::Failed))
            }
            LevelChange::Lowered => {
                self.level = LevelChange::None;
                Some((DiskId(self.geometry.disks()), Health::LeavesWithParity))
            }
            LevelChange::None | LevelChange::Raises(_) | LevelChange::Trades | LevelChange::GivesUp => None,
        }
    }
}
