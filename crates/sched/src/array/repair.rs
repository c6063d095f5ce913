//! Repairing: what is kept of an extent is read, and what is missing of it written, with parity or copies.

use super::children::Owner;
use super::code::{Slots, bit, each};
use super::parity::{Aim, Update, UpdateStage, sum_up};
use super::{Array, Piece};
use crate::JobId;
use crate::event::{Action, Likeness, Mend};
use crate::predict::Predictor;
use block::errno::EIO;
use block::{DiskId, Ending, Extent, Op};

/// Copies that are compared with the first at most: as many as there are bits for.
const MOST_COMPARED: u16 = 64;

impl<P: Predictor> Array<P> {
    /// Repairs a piece. With parity the first column stands for all.
    pub(super) fn repair(&mut self, id: JobId, piece: &Piece, out: &mut Vec<Action>) {
        let layout = self.geometry.layout_of(piece.row);
        let stands_for_all = self.geometry.has_parity();
        // A row that has not moved has fewer columns.
        let is_beyond = !stands_for_all && piece.column >= layout.columns();
        if !self.redundant() || is_beyond {
            return;
        }
        if !stands_for_all {
            self.update(id, piece.row, piece.within, piece.blocks, Aim::Repair(piece.column), None, out);
        } else if piece.column == 0 {
            // Of a row that has copies yet, each column by itself.
            for column in 0..if layout.has_parity() { 1 } else { layout.columns() } {
                self.update(id, piece.row, piece.within, piece.blocks, Aim::Repair(column), None, out);
            }
        } else if !self.standings.all_sound() {
            // It ends at once, but not well where the first column's repair does not.
            let at = self.geometry.on_disk(piece.row, piece.within, piece.blocks);
            let lacks = |disk: DiskId| disk.0 < layout.disks() && !self.standings.holds(disk, at);
            if !layout.is_whole_without(lacks) {
                self.trouble(id, Ending::Failed(EIO));
            }
        }
    }

    /// The disks with what tells what a column of a row holds, itself among them: its copies, or all of the row.
    fn alike(&self, row: u64, column: u16) -> Vec<DiskId> {
        let layout = self.geometry.layout_of(row);
        match layout.has_parity() {
            true => (0..layout.disks()).map(DiskId).collect(),
            false => layout.copies_of(row, column).collect(),
        }
    }

    /// Whether a disk does not hold what an update is about.
    fn lacks(&self, it: &Update, disk: DiskId) -> bool {
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        !self.standings.holds(disk, at) || it.lost.has(disk)
    }

    /// Has a repair read all there is.
    pub(super) fn begin_repair(&mut self, id: u32, it: &Update, column: u16, out: &mut Vec<Action>) {
        let (layout, disks) = (self.geometry.layout_of(it.row), self.alike(it.row, column));
        let missing = disks.iter().filter(|disk| self.lacks(it, **disk)).count();
        if missing > usize::from(layout.level().redundancy()) {
            return self.give_up(id, out);
        }
        if missing == 0 && !self.standings.all_sound() {
            // First what is missing elsewhere; what is not is looked through when nothing is.
            self.pass_over(it, out);
            return self.close(id, out);
        }
        let there = disks.into_iter().filter(|disk| !self.lacks(it, *disk));
        let there: Vec<(u16, DiskId)> = match layout.has_parity() {
            true => there.map(|disk| (layout.slot(it.row, disk), disk)).collect(),
            // One copy is as good as another.
            false => (0..).zip(there).collect(),
        };
        let read: Slots = there.iter().filter(|(slot, _)| *slot < MOST_COMPARED).map(|(slot, _)| bit(*slot)).sum();
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
        let layout = self.geometry.layout_of(it.row);
        if it.parities != layout.parities() {
            // Of what rows have now too little was read, or too much.
            return self.begin(id, out);
        }
        let disks = self.alike(it.row, column);
        // What was missing when it began may have been filled since; what was not read cannot be compared.
        let is_read = it.read.count_ones() as usize == disks.len().min(MOST_COMPARED.into());
        let is_whole = is_read && !disks.iter().any(|disk| self.lacks(it, *disk));
        let to: Vec<DiskId> =
            disks.into_iter().filter(|disk| self.lacks(it, *disk) && self.standings.works(*disk)).collect();
        if to.is_empty() {
            return if self.plan.comparing && is_whole { self.compare(id, it, out) } else { self.close(id, out) };
        }
        if let Some(update) = self.updates.get_mut(id) {
            update.replacements = self.standings.replacements();
        }
        let (code, at) = (self.code(it), self.geometry.on_disk(it.row, it.within, it.blocks));
        for disk in to {
            let slot = if layout.has_parity() { layout.slot(it.row, disk) } else { 0 };
            let place = self.slot_place(id, it.blocks, slot);
            // What was read of a disk that was replaced since is there.
            if it.read & bit(slot) == 0
                && let Some(equation) = code.solve(slot, code.slots() & !it.read)
            {
                let terms = each(it.read).map(|read| (self.slot_place(id, it.blocks, read), equation.factor(read)));
                sum_up(terms, place, it.blocks, out);
            }
            if self.standings.holds(disk, at) {
                out.push(Action::Mend(disk, at, Mend::Unreadable));
            }
            self.post(it.task, Owner::Update(id), disk, Op::Write { fua: false }, at, place, 0);
        }
    }

    /// All of a row is there: each copy is compared with the first, and each parity with what it should be, which is summed behind
    /// all that was read.
    fn compare(&mut self, id: u32, it: &Update, out: &mut Vec<Action>) {
        let (code, blocks, layout) = (self.code(it), it.blocks, self.geometry.layout_of(it.row));
        let place = |array: &Array<P>, slot| array.slot_place(id, blocks, slot);
        let slots = match layout.has_parity() {
            true => code.columns..code.columns + code.parities,
            false => 1..layout.copies().min(MOST_COMPARED),
        };
        if let Some(update) = self.updates.get_mut(id) {
            (update.stage, update.unlike, update.left) = (UpdateStage::Comparing, 0, slots.len() as u32);
        }
        for slot in slots {
            let mut wanted = place(self, 0);
            if layout.has_parity() {
                wanted = place(self, slot + code.parities);
                let parity = slot - code.columns;
                let terms = each(code.columns()).map(|column| (place(self, column), code.factor(parity, column)));
                sum_up(terms, wanted, blocks, out);
            }
            out.push(Action::Compare { number: id, slot, one: wanted, other: place(self, slot), blocks });
        }
    }

    /// A slot was compared. When all are, what is unlike is written anew.
    pub(super) fn note_compared(&mut self, id: u32, slot: u16, how: Likeness, out: &mut Vec<Action>) {
        let Some(it) = self.updates.get_mut(id).filter(|it| it.stage == UpdateStage::Comparing) else { return };
        it.left -= 1;
        it.unlike |= if how == Likeness::Unlike { bit(slot) } else { 0 };
        let it = *it;
        let Some(column) = it.repairs().filter(|_| it.left == 0) else { return };
        if it.unlike == 0 {
            return self.close(id, out);
        }
        if let Some(update) = self.updates.get_mut(id) {
            (update.stage, update.broken) = (UpdateStage::Writing, false);
            update.replacements = self.standings.replacements();
        }
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        for slot in each(it.unlike) {
            let layout = self.geometry.layout_of(it.row);
            let (disk, wanted) = match layout.has_parity() {
                true => (layout.disk_of_slot(it.row, slot), slot + it.parities),
                false => (layout.disk(it.row, column, slot), 0),
            };
            out.push(Action::Mend(disk, at, Mend::Unlike));
            let place = self.slot_place(id, it.blocks, wanted);
            self.post(it.task, Owner::Update(id), disk, Op::Write { fua: false }, at, place, 0);
        }
    }

    /// A disk that is being filled holds what it should there already, unless something is being written there that may have been
    /// planned without it.
    pub(super) fn note_held(&mut self, disk: DiskId, at: Extent, out: &mut Vec<Action>) {
        let row_blocks = self.geometry.row_blocks();
        let row_of = |block: u64| self.geometry.place(block).map_or(0, |(row, _)| row);
        let (first, last) = (row_of(at.start.0), row_of(at.end().0.saturating_sub(1)));
        let meets = |at: Extent| at.start.0 / row_blocks <= last && at.end().0 > first * row_blocks;
        let is_written = |op: Op| !matches!(op, Op::Read | Op::Flush);
        // Where it grows, any may: its blocks are no measure of its rows.
        let meets = |at| self.geometry.is_growing() || meets(at);
        let under_way = self.tasks.iter().any(|(_, task)| is_written(task.op) && meets(task.at));
        if under_way {
            out.push(Action::Mend(disk, at, Mend::Doubtful));
        } else if self.standings.note_filled(disk, at) {
            out.push(Action::Complete(disk));
        }
    }

    /// Where it grows, a disk on which a row does not lie yet has all that it should of it.
    fn pass_over(&mut self, it: &Update, out: &mut Vec<Action>) {
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        for disk in (self.geometry.disks_of(it.row)..self.geometry.disks()).map(DiskId) {
            if self.standings.note_filled(disk, at) {
                out.push(Action::Complete(disk));
            }
        }
    }

    /// What was missing is written, unless a disk did not take it or was replaced meanwhile.
    pub(super) fn end_repair(&mut self, id: u32, it: &Update, column: u16, out: &mut Vec<Action>) {
        if it.broken || it.replacements != self.standings.replacements() {
            return self.begin_again(id, out);
        }
        // A disk may thereby be complete, and be flushed, while the rest of what was asked for goes on.
        self.note_unflushed(Op::Repair, Ending::Finished);
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        for disk in self.alike(it.row, column) {
            if self.standings.note_filled(disk, at) {
                out.push(Action::Complete(disk));
            }
        }
        self.pass_over(it, out);
        self.close(id, out);
    }
}
