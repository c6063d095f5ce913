//! The journal of rows: while a disk is lacking, no cut in the middle of a write changes what that disk held.
//!
//! What a lacking disk held of a row follows from the rest of it. Of a row that is being written some disks hold what is new and some
//! what was when the power goes, and what follows from those is neither: the write hole. So before such a row is written, a *record*
//! is put on a disk that holds all it should: what the parities are without the columns that are written, as the partial parity
//! log of Linux' md has it, and besides the columns whose disks may not count when the array is found again. From that and from what
//! the disks hold of the other columns, new or old, parities can be summed anew; what is missing then follows rightly.
//!
//! **The record first, then the row, both on the medium.** A record is a write that is through to the medium, and so are the writes it
//! precedes; when those have ended, its place is free, and no flush is waited for. While a column of a row is *unsure* every write of
//! that row has a record, so that the last one is about what the row is.
//!
//! **A disk is unsure** from when it fails, or is being filled, until the disks know that it holds all that it should. Before they are
//! told that one fails, what was being written ends, and what follows waits until they know; so no row is half written without a record
//! when a cut finds the disk missing. Of several that fail in the same row they are told together. Who tells them may find that others are
//! of no use either: those fail before the first is known to be given up, and no row is written as if they held what they should.
//!
//! An array that has all its disks keeps no journal, and a cut that also takes a disk away with it may lose what was being written.

use super::code::{Slots, bit, each};
use super::parity::{Aim, Update, UpdateStage};
use super::{Array, ArrayPlan, Geometry};
use crate::event::{Action, LogOrder};
use crate::predict::Predictor;
use block::{DiskId, Extent, Place};
use std::collections::VecDeque;

/// Records that a disk has room for, and an array at once at most.
pub const RECORDS_OF_DISK: u32 = 4;
/// Records of an array that are not done with, at most.
pub const MOST_RECORDS: u32 = 32;

/// Where each disk of an array has room for records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalArea {
    /// The first block of the area.
    pub first: u64,
    /// How many blocks there are: [`RECORDS_OF_DISK`] for each at least two.
    pub blocks: u32,
}

impl JournalArea {
    /// Blocks that there are for a record: one for its head, and the rest.
    #[must_use]
    pub fn record_blocks(&self) -> u32 {
        (self.blocks / RECORDS_OF_DISK).min(u8::MAX.into())
    }
}

/// What an array keeps of its journal.
#[derive(Debug)]
pub(super) struct StripeJournal {
    area: JournalArea,
    /// The places that are taken: bit n is the place n / disks on disk n % disks.
    taken: u32,
    places: u32,
    /// Disks that may not count when the array is found again.
    unsure: Vec<bool>,
    /// How often one came to be so, or no more.
    pub(super) changes: u32,
    /// Records so far. Of those on the medium the newest tells which others count, so its place stays as it is until there is a newer one:
    /// its number among them, and its place.
    pub(super) records: u64,
    newest: (u64, Option<u8>),
    /// Updates that wait for a place, or for a disk to be given up.
    waiting: VecDeque<u32>,
    /// Disks that are to be given up; those that were, of which the others do not know yet; what nobody is told until they do.
    leaving: Vec<DiskId>,
    unknown: Vec<DiskId>,
    untold: Vec<Action>,
}

impl StripeJournal {
    fn new_boxed(area: JournalArea, disks: u16) -> Box<StripeJournal> {
        let places = (u32::from(disks) * RECORDS_OF_DISK).min(MOST_RECORDS);
        Box::new(StripeJournal {
            area,
            taken: 0,
            places,
            unsure: vec![false; disks.into()],
            changes: 0,
            records: 0,
            newest: (0, None),
            waiting: VecDeque::new(),
            leaving: Vec::new(),
            unknown: Vec::new(),
            untold: Vec::new(),
        })
    }

    /// Whether no row may be written now: the disks are to be told, or are being told, that some of them count no more.
    fn holds_back(&self) -> bool {
        !self.leaving.is_empty() || !self.unknown.is_empty()
    }

    fn is_unsure(&self, disk: DiskId) -> bool {
        self.unsure[usize::from(disk.0)]
    }
}

/// Whether an update may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// It needs no record.
    Plain,
    /// It has a place for one.
    Recorded,
    /// Not now, or not as it is: it was seen to.
    Refused,
}

/// Whether an action rests on what the disks know of one another.
fn is_told(action: &Action) -> bool {
    matches!(action, Action::Finish(..) | Action::Log(LogOrder::Settled(_) | LogOrder::Drained))
}

impl<P: Predictor> Array<P> {
    /// The journal of an array whose rows have parity, where it is to have one.
    pub(super) fn make_journal(geometry: &Geometry, plan: &ArrayPlan, disks: usize) -> Option<Box<StripeJournal>> {
        let area = plan.journal.filter(|_| geometry.has_parity())?;
        Some(StripeJournal::new_boxed(area, disks as u16))
    }

    /// A disk may not count when the array is found again.
    pub(super) fn doubt(&mut self, disk: DiskId) {
        if let Some(journal) = &mut self.journal {
            let was = std::mem::replace(&mut journal.unsure[usize::from(disk.0)], true);
            journal.changes += u32::from(!was);
        }
    }

    /// The disks know how one of them is: that it was given up, or that it holds all that it should, as far as it still does.
    pub(super) fn note_known(&mut self, disk: DiskId) {
        // One that kept the second parities may be none of its disks by now.
        let is_sound = disk.0 < self.geometry.disks() && self.standings.is_sound(disk);
        let Some(journal) = &mut self.journal else { return };
        journal.unknown.retain(|unknown| *unknown != disk);
        if is_sound {
            journal.changes += u32::from(std::mem::take(&mut journal.unsure[usize::from(disk.0)]));
        }
    }

    /// A disk is to be given up: as soon as no row is being written.
    pub(super) fn leave(&mut self, disk: DiskId, out: &mut Vec<Action>) {
        self.doubt(disk);
        match &mut self.journal {
            Some(journal) => {
                // What was put down before counts no more from then on.
                journal.changes += 1;
                journal.leaving.push(disk);
            }
            None => out.push(Action::GiveUp(disk)),
        }
    }

    /// The columns of a row whose disks are unsure.
    fn unsure_columns(&self, row: u64) -> Slots {
        let Some(journal) = &self.journal else { return 0 };
        if !journal.unsure.contains(&true) {
            return 0;
        }
        let unsure = |column: &u16| journal.is_unsure(self.geometry.disk_of_slot(row, *column));
        (0..self.geometry.columns_of(row)).filter(unsure).map(bit).sum()
    }

    /// Whether a disk is good for records.
    fn takes_records(&self, journal: &StripeJournal, disk: DiskId) -> bool {
        disk.0 < self.geometry.disks() && self.standings.is_sound(disk) && !journal.is_unsure(disk)
    }

    /// Whether a write of a row may begin to read what it needs: with a place for its record, where it needs one. One that is wider than
    /// a record becomes several.
    pub(super) fn ask_leave(&mut self, id: u32, it: &Update, out: &mut Vec<Action>) -> Leave {
        let (Some(journal), Aim::Write(written)) = (&self.journal, it.aim) else { return Leave::Plain };
        if journal.holds_back() {
            return self.put_off(id, out);
        }
        let unsure = self.unsure_columns(it.row);
        if unsure == 0 {
            self.free_record(id, out);
            return Leave::Plain;
        }
        let kept = u32::from(it.parities) + (written & unsure).count_ones();
        let width = (journal.area.record_blocks().saturating_sub(1) / kept).max(1);
        if it.blocks > width {
            for from in (0..it.blocks).step_by(width as usize) {
                self.update(it.task, it.row, it.within + from, width.min(it.blocks - from), it.aim, None, out);
            }
            self.close(id, out);
            return Leave::Refused;
        }
        let has = it.record.is_some_and(|place| self.takes_records(journal, self.record_at(journal, place).0));
        if has {
            return Leave::Recorded;
        }
        self.free_record(id, out);
        if self.take_record(id) {
            return Leave::Recorded;
        }
        if (0..self.geometry.disks()).any(|disk| self.is_good_for_records(DiskId(disk))) {
            return self.put_off(id, out);
        }
        // No disk is left that could have it, and what waited for one would wait for ever.
        self.give_up(id, out);
        Leave::Refused
    }

    fn is_good_for_records(&self, disk: DiskId) -> bool {
        self.journal.as_ref().is_some_and(|journal| self.takes_records(journal, disk))
    }

    /// An update begins anew when it can go on.
    fn put_off(&mut self, id: u32, out: &mut Vec<Action>) -> Leave {
        self.free_record(id, out);
        if let Some(update) = self.updates.get_mut(id) {
            update.stage = UpdateStage::Reading;
        }
        self.journal.iter_mut().for_each(|journal| journal.waiting.push_back(id));
        Leave::Refused
    }

    /// The disk that a place for a record is on, and where.
    fn record_at(&self, journal: &StripeJournal, place: u8) -> (DiskId, u64) {
        let disks = self.disks.len() as u32;
        let number = u32::from(place) / disks;
        let disk = DiskId((u32::from(place) % disks) as u16);
        (disk, journal.area.first + u64::from(number * journal.area.record_blocks()))
    }

    /// Takes a place for the record of an update, on a disk that holds all it should: whether there is one.
    fn take_record(&mut self, id: u32) -> bool {
        let Some(journal) = &self.journal else { return false };
        let is_free = |place: &u8| {
            let (disk, _) = self.record_at(journal, *place);
            let is_taken = journal.taken >> place & 1 == 1 || journal.newest.1 == Some(*place);
            !is_taken && self.takes_records(journal, disk)
        };
        let Some(place) = (0..journal.places as u8).find(is_free) else { return false };
        self.journal.iter_mut().for_each(|journal| journal.taken |= 1 << place);
        if let Some(update) = self.updates.get_mut(id) {
            update.record = Some(place);
        }
        true
    }

    /// An update needs its record no more.
    pub(super) fn free_record(&mut self, id: u32, out: &mut Vec<Action>) {
        if let Some(update) = self.updates.get_mut(id)
            && let Some(place) = update.record.take()
            && let Some(journal) = &mut self.journal
        {
            journal.taken &= !(1 << place);
            out.push(Action::Forget(place));
        }
    }

    /// What was read for a write is there: whether it is still to be written as it was planned.
    pub(super) fn keeps_leave(&mut self, id: u32, out: &mut Vec<Action>) -> Leave {
        let (Some(journal), Some(it)) = (&self.journal, self.updates.get(id).copied()) else { return Leave::Plain };
        if !matches!(it.aim, Aim::Write(_)) {
            return Leave::Plain;
        }
        if journal.holds_back() {
            return self.put_off(id, out);
        }
        let good = it.record.is_some_and(|place| self.takes_records(journal, self.record_at(journal, place).0));
        if self.unsure_columns(it.row) == 0 {
            self.free_record(id, out);
            return Leave::Plain;
        }
        if good {
            return Leave::Recorded;
        }
        self.begin(id, out);
        Leave::Refused
    }

    /// A record is on the medium.
    pub(super) fn note_recorded(&mut self, it: &Update) {
        if let Some(journal) = self.journal.as_mut().filter(|journal| journal.newest.0 < it.number) {
            journal.newest = (it.number, it.record);
        }
    }

    /// A record that tells of disks as they are no more is put down anew, in another place.
    pub(super) fn record_anew(&mut self, id: u32, out: &mut Vec<Action>) {
        self.free_record(id, out);
        self.begin(id, out);
    }

    /// Whether a record tells of disks as they are no more.
    pub(super) fn is_outdated(&self, it: &Update) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.changes != it.changes)
    }

    /// Where an update has its record: behind all else.
    pub(super) fn record_place(&self, id: u32, it: &Update, blocks: u32) -> Place {
        let beyond = self.geometry.columns_of(it.row) + 2 * it.parities;
        super::children::offset(self.slot_place(id, it.blocks, beyond), blocks)
    }

    /// The columns that are written on disks that are sure to count: they are not in a record.
    pub(super) fn sure_columns(&self, it: &Update, written: Slots) -> Slots {
        written & !self.unsure_columns(it.row)
    }

    /// What of an update stands in its record: its parities, then the columns on disks that take them, and may not count.
    pub(super) fn kept_slots(&self, it: &Update, written: Slots) -> Slots {
        let works = |column: &u16| self.standings.works(self.geometry.disk_of_slot(it.row, *column));
        let columns: Slots = each(written & self.unsure_columns(it.row)).filter(works).map(bit).sum();
        it.sums | columns
    }

    /// Where the record of an update is to be written, and the head it is to have.
    pub(super) fn make_record(&self, id: u32, it: &Update, written: Slots) -> Option<(DiskId, Extent, Action)> {
        let (journal, slot) = (self.journal.as_ref()?, it.record?);
        let (disk, first) = self.record_at(journal, slot);
        let kept = self.kept_slots(it, written);
        let at = Extent::new(first, 1 + kept.count_ones() * it.blocks);
        let record = Action::Record {
            place: self.record_place(id, it, 0),
            start: self.geometry.on_disk(it.row, it.within, it.blocks).start.0,
            blocks: it.blocks as u8,
            slot,
            written: self.sure_columns(it, written),
            kept,
        };
        Some((disk, at, record))
    }

    /// Gives up what is to be given up, once no row is being written, and has what waits go on.
    pub(super) fn settle_journal(&mut self, from: usize, out: &mut Vec<Action>) {
        if self
            .journal
            .as_ref()
            .is_none_or(|journal| !journal.holds_back() && journal.untold.is_empty() && journal.waiting.is_empty())
        {
            return;
        }
        let now = self.now;
        loop {
            if self.journal.as_ref().is_some_and(|journal| journal.holds_back() || !journal.untold.is_empty()) {
                let is_written = |it: &Update| it.stage == UpdateStage::Writing && matches!(it.aim, Aim::Write(_));
                let under_way = self.overwrites_first() || self.updates.iter().any(|(_, it)| is_written(it));
                let Some(journal) = &mut self.journal else { return };
                let told = out.split_off(from);
                let (ends, rest): (Vec<Action>, Vec<Action>) = told.into_iter().partition(is_told);
                out.extend(rest);
                journal.untold.extend(ends);
                if under_way {
                    return;
                }
                if !journal.leaving.is_empty() {
                    self.unmark_copy(out);
                }
                let Some(journal) = &mut self.journal else { return };
                out.extend(journal.leaving.iter().copied().map(Action::GiveUp));
                journal.unknown.append(&mut journal.leaving);
                if journal.holds_back() {
                    return;
                }
                out.append(&mut journal.untold);
            }
            if !self.begin_waiting(out) {
                return;
            }
            self.settle(now, out);
        }
    }

    /// Begins what waits and can go on: whether there was any.
    fn begin_waiting(&mut self, out: &mut Vec<Action>) -> bool {
        let mut any = false;
        let waiting = self.journal.as_ref().map_or(0, |journal| journal.waiting.len());
        for _ in 0..waiting {
            let Some(id) = self.journal.as_mut().and_then(|journal| journal.waiting.pop_front()) else { break };
            let before = self.journal.as_ref().map_or(0, |journal| journal.waiting.len());
            self.begin(id, out);
            if self.journal.as_ref().is_some_and(|journal| journal.waiting.len() > before) {
                break;
            }
            any = true;
        }
        any
    }
}
