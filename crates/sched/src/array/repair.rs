//! Repairing: what is kept of an extent is read, and what is missing of it written, with parity or copies.

use super::children::Owner;
use super::code::{Slots, bit, each};
use super::parity::{Aim, Update, UpdateStage, sum_up};
use super::{Array, Piece};
use crate::JobId;
use crate::event::Action;
use crate::predict::Predictor;
use block::{DiskId, Op};

impl<P: Predictor> Array<P> {
    /// Repairs a piece. With parity the first column stands for all.
    pub(super) fn repair(&mut self, id: JobId, piece: &Piece, out: &mut Vec<Action>) {
        if self.redundant() && (!self.geometry.has_parity() || piece.column == 0) {
            self.update(id, piece.row, piece.within, piece.blocks, Aim::Repair(piece.column), None, out);
        }
    }

    /// The disks with what tells what a column of a row holds, itself among them: its copies, or all of the row.
    fn alike(&self, row: u64, column: u16) -> Vec<DiskId> {
        match self.geometry.has_parity() {
            true => (0..self.geometry.disks()).map(DiskId).collect(),
            false => self.geometry.copies_of(row, column).collect(),
        }
    }

    /// Whether a disk does not hold what an update is about.
    fn lacks(&self, it: &Update, disk: DiskId) -> bool {
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        !self.standings.holds(disk, at) || it.lost.has(disk)
    }

    /// Has a repair read all there is.
    pub(super) fn begin_repair(&mut self, id: u32, it: &Update, column: u16, out: &mut Vec<Action>) {
        let disks = self.alike(it.row, column);
        let missing = disks.iter().filter(|disk| self.lacks(it, **disk)).count();
        if missing > usize::from(self.geometry.level().redundancy()) {
            return self.give_up(id, out);
        }
        if missing == 0 && !self.standings.all_sound() {
            // First what is missing elsewhere; what is not is looked through when nothing is.
            return self.close(id, out);
        }
        let there = disks.into_iter().filter(|disk| !self.lacks(it, *disk));
        let there: Vec<(u16, DiskId)> = match self.geometry.has_parity() {
            true => there.map(|disk| (self.geometry.slot(it.row, disk), disk)).collect(),
            false => (0..).zip(there).collect(),
        };
        let read: Slots = match self.geometry.has_parity() {
            true => there.iter().map(|(slot, _)| bit(*slot)).sum(),
            // One copy is as good as another.
            false => bit(0),
        };
        if let Some(update) = self.updates.get_mut(id) {
            (update.stage, update.broken, update.read) = (UpdateStage::Reading, false, read);
        }
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        for (slot, disk) in there {
            self.post(it.task, Owner::Update(id), disk, Op::Read, at, self.slot_place(id, it.blocks, slot), 0);
        }
    }

    /// All there is was read: what is missing is summed, or taken from a copy, and written.
    pub(super) fn write_repaired(&mut self, id: u32, it: &Update, column: u16, out: &mut Vec<Action>) {
        let disks = self.alike(it.row, column).into_iter();
        let to: Vec<DiskId> = disks.filter(|disk| self.lacks(it, *disk) && self.standings.works(*disk)).collect();
        if to.is_empty() {
            return self.close(id, out);
        }
        if let Some(update) = self.updates.get_mut(id) {
            update.replacements = self.standings.replacements();
        }
        let (code, at) = (self.code(), self.geometry.on_disk(it.row, it.within, it.blocks));
        for disk in to {
            let slot = if self.geometry.has_parity() { self.geometry.slot(it.row, disk) } else { 0 };
            let place = self.slot_place(id, it.blocks, slot);
            // What was read of a disk that was replaced since is there.
            if it.read & bit(slot) == 0
                && let Some(equation) = code.solve(slot, code.slots() & !it.read)
            {
                let terms = each(it.read).map(|read| (self.slot_place(id, it.blocks, read), equation.factor(read)));
                sum_up(terms, place, it.blocks, out);
            }
            self.post(it.task, Owner::Update(id), disk, Op::Write { fua: false }, at, place, 0);
        }
    }

    /// What was missing is written, unless a disk did not take it or was replaced meanwhile.
    pub(super) fn end_repair(&mut self, id: u32, it: &Update, column: u16, out: &mut Vec<Action>) {
        if it.broken || it.replacements != self.standings.replacements() {
            return self.begin_again(id, out);
        }
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        for disk in self.alike(it.row, column) {
            if self.standings.note_filled(disk, at) {
                out.push(Action::Complete(disk));
            }
        }
        self.close(id, out);
    }
}
