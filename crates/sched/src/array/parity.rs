//! Rows with parity: full-row, read-modify and reconstruct writes, and reading what a missing disk held (RAID 5); and
//! repairing, with parity or copies.
//!
//! The work on a part of a row is an update: it reads what it needs into a frame, sums, and writes. Each part is wide as the
//! row's columns are written alike in it: of a column all or nothing, so that one rule tells what has to be read.

use super::children::{ChildRequest, Owner, offset};
use super::{Array, Level, Piece, Task};
use crate::event::Action;
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::errno::EIO;
use block::{DiskId, Ending, Op, Place};

/// Times an update begins anew because a disk did not bring what it was asked for.
const MOST_TRIES: u8 = 3;

/// Columns of a row: bit c is column c.
type Columns = u64;

/// What an update does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// Writes these columns from where the task's bytes are.
    Write(Columns),
    /// Reads a column that its disk does not bring to where the task wants it.
    Read(u16),
    /// Reads all there is of a column or a row, and writes what is missing.
    Repair(u16),
}

/// How parity comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// From itself, what the written columns held and what they will.
    Modify,
    /// The parity is computed from all columns.
    Reconstruct,
    /// It does not: its disk is missing.
    Without,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UpdateStage {
    Reading,
    Writing,
}

/// The work on a part of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update {
    task: JobId,
    row: u64,
    within: u32,
    blocks: u32,
    aim: Aim,
    method: Method,
    /// What is read, without parity.
    read: Columns,
    stage: UpdateStage,
    /// Children that have not ended.
    pub(super) left: u32,
    /// A disk that did not bring what it was asked for.
    lost: Option<DiskId>,
    broken: bool,
    tries: u8,
}

/// What is read to write these columns, and how parity comes about; `missing` is a column that cannot be read or written.
fn method(columns: u16, written: Columns, missing: Option<u16>) -> (Method, Columns) {
    let others = all(columns) & !written;
    let modify = match missing {
        Some(column) => written & bit(column) == 0,
        None => written.count_ones() + 1 < others.count_ones(),
    };
    if modify { (Method::Modify, written) } else { (Method::Reconstruct, others) }
}

fn bit(column: u16) -> Columns {
    1 << column
}

fn all(columns: u16) -> Columns {
    Columns::MAX.checked_shr(Columns::BITS.saturating_sub(columns.into())).unwrap_or(0)
}

fn each(columns: Columns) -> impl Iterator<Item = u16> {
    (0..64).filter(move |column| columns & bit(*column) != 0)
}

impl<P: Predictor> Array<P> {
    /// Writes a task row by row, in parts in which every column is written wholly or not at all.
    pub(super) fn write_rows(&mut self, id: JobId, job: &Job<Task>, out: &mut Vec<Action>) {
        let pieces: Vec<Piece> = self.geometry.pieces(job.at).collect();
        for row in pieces.chunk_by(|a, b| a.row == b.row) {
            let mut borders: Vec<u32> =
                row.iter().flat_map(|piece| [piece.within, piece.within + piece.blocks]).collect();
            borders.sort_unstable();
            borders.dedup();
            for part in borders.windows(2) {
                let (from, to) = (part[0], part[1]);
                let covers = |piece: &&Piece| piece.within <= from && to <= piece.within + piece.blocks;
                let written = row.iter().filter(covers).map(|piece| bit(piece.column)).sum();
                if written != 0 {
                    self.update(id, row[0].row, from, to - from, Aim::Write(written), None, out);
                }
            }
        }
    }

    /// Reads a piece whose disk does not bring it.
    pub(super) fn read_missing(&mut self, id: JobId, piece: &Piece, disk: DiskId, out: &mut Vec<Action>) {
        let lost = self.standings.works(disk).then_some(disk);
        self.update(id, piece.row, piece.within, piece.blocks, Aim::Read(piece.column), lost, out);
    }

    #[expect(clippy::too_many_arguments, reason = "it is the one place where an update is made")]
    fn update(
        &mut self,
        task: JobId,
        row: u64,
        within: u32,
        blocks: u32,
        aim: Aim,
        lost: Option<DiskId>,
        out: &mut Vec<Action>,
    ) {
        let (method, stage) = (Method::Reconstruct, UpdateStage::Reading);
        let update =
            Update { task, row, within, blocks, aim, method, read: 0, stage, left: 0, lost, broken: false, tries: 0 };
        if let Some(job) = self.tasks.get_mut(task) {
            job.spot.left += 1;
        }
        let id = self.updates.insert(update);
        self.begin(id, out);
    }

    /// Repairs a piece. With parity the first column stands for all.
    pub(super) fn repair(&mut self, id: JobId, piece: &Piece, out: &mut Vec<Action>) {
        if self.redundant() && (self.geometry.level() != Level::Parity || piece.column == 0) {
            self.update(id, piece.row, piece.within, piece.blocks, Aim::Repair(piece.column), None, out);
        }
    }

    /// The disks with what tells what a column of a row holds, itself among them: its copies, or all of the row.
    fn alike(&self, row: u64, column: u16) -> Vec<DiskId> {
        match self.geometry.level() {
            Level::Parity => (0..self.geometry.disks()).map(DiskId).collect(),
            _ => self.geometry.copies_of(row, column).collect(),
        }
    }

    /// Has a repair read all there is.
    fn begin_repair(&mut self, id: u32, it: &Update, column: u16, out: &mut Vec<Action>) {
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        let disks = self.alike(it.row, column);
        let gone = |disk: &DiskId| !self.standings.holds(*disk, at) || it.lost == Some(*disk);
        let missing = disks.iter().filter(|disk| gone(disk)).count();
        let enough = if self.geometry.level() == Level::Parity { missing <= 1 } else { missing < disks.len() };
        if !enough {
            return self.give_up(id, out);
        }
        if missing == 0 && !self.standings.all_sound() {
            // First what is missing elsewhere; what is not is looked through when nothing is.
            return self.close(id, out);
        }
        let there: Vec<DiskId> = disks.into_iter().filter(|disk| !gone(disk)).collect();
        if let Some(update) = self.updates.get_mut(id) {
            (update.stage, update.broken, update.read) = (UpdateStage::Reading, false, all(there.len() as u16));
        }
        for (slot, disk) in (0..).zip(there) {
            self.post(it.task, Owner::Update(id), disk, Op::Read, at, self.read_into(id, it, slot), 0);
        }
    }

    /// All there is was read: what is missing is summed, or copied, and written.
    fn write_repaired(&mut self, id: u32, it: &Update, column: u16, out: &mut Vec<Action>) {
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        let disks = self.alike(it.row, column);
        let missing = |disk: &DiskId| !self.standings.holds(*disk, at) || it.lost == Some(*disk);
        let to: Vec<DiskId> = disks.into_iter().filter(missing).filter(|disk| self.standings.works(*disk)).collect();
        if to.is_empty() {
            return self.close(id, out);
        }
        let terms = if self.geometry.level() == Level::Parity { it.read } else { 1 };
        for slot in each(terms) {
            let from = self.read_into(id, it, slot);
            out.push(match slot {
                0 => Action::Copy { from, to: self.sum(id), blocks: it.blocks },
                _ => Action::Xor { from, into: self.sum(id), blocks: it.blocks },
            });
        }
        for disk in to {
            self.post(it.task, Owner::Update(id), disk, Op::Write { fua: false }, at, self.sum(id), 0);
        }
    }

    /// Has an update read what it needs, or write at once where it needs nothing.
    fn begin(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(it) = self.updates.get(id).copied() else { return };
        if let Aim::Repair(column) = it.aim {
            return self.begin_repair(id, &it, column, out);
        }
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        let gone = |disk: DiskId| !self.standings.holds(disk, at) || it.lost == Some(disk);
        let (parity, columns) = (self.geometry.parity(it.row), self.geometry.columns());
        let missing: Columns =
            each(all(columns)).filter(|column| gone(self.geometry.disk(it.row, *column, 0))).map(bit).sum();
        let (method, read) = match it.aim {
            Aim::Read(column) => (Method::Reconstruct, all(columns) & !bit(column)),
            Aim::Write(_) if !self.standings.works(parity) => (Method::Without, 0),
            // It can be written if not read.
            Aim::Write(written) if gone(parity) => (Method::Reconstruct, all(columns) & !written),
            Aim::Write(written) => method(columns, written, each(missing).next()),
            Aim::Repair(_) => return,
        };
        let reads_parity = method == Method::Modify || matches!(it.aim, Aim::Read(_));
        if missing.count_ones() + u32::from(gone(parity)) > 1 || (reads_parity && gone(parity)) || missing & read != 0 {
            return self.give_up(id, out);
        }
        if let Some(update) = self.updates.get_mut(id) {
            (update.method, update.read, update.stage, update.broken) = (method, read, UpdateStage::Reading, false);
        }
        for column in each(read) {
            let disk = self.geometry.disk(it.row, column, 0);
            self.post(it.task, Owner::Update(id), disk, Op::Read, at, self.read_into(id, &it, column), 0);
        }
        if reads_parity {
            self.post(it.task, Owner::Update(id), parity, Op::Read, at, self.sum(id), 0);
        } else if read == 0 {
            self.write_all(id, out);
        }
    }

    /// A child of an update has ended.
    pub(super) fn update_went_on(&mut self, id: u32, child: &ChildRequest, ending: Ending, out: &mut Vec<Action>) {
        let Some(it) = self.updates.get_mut(id) else { return };
        it.left -= 1;
        if ending != Ending::Finished && it.stage == UpdateStage::Reading {
            it.broken = true;
            it.lost = it.lost.or(Some(child.disk));
        }
        let it = *it;
        if ending == Ending::Dropped {
            self.trouble(it.task, ending);
        }
        if it.left > 0 {
            return;
        }
        match it.stage {
            UpdateStage::Reading if it.broken => self.begin_again(id, out),
            UpdateStage::Reading => self.write_all(id, out),
            UpdateStage::Writing => self.end_writes(id, out),
        }
    }

    /// A disk did not bring what was asked of it.
    fn begin_again(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(it) = self.updates.get_mut(id) else { return };
        it.tries += 1;
        let (task, tries) = (it.task, it.tries);
        let wanted = self.tasks.get(task).is_some_and(|job| job.spot.trouble.is_none());
        if wanted && tries <= MOST_TRIES { self.begin(id, out) } else { self.give_up(id, out) }
    }

    /// What was needed is there: sums it, and writes.
    fn write_all(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(it) = self.updates.get_mut(id) else { return };
        it.stage = UpdateStage::Writing;
        let it = *it;
        if let Some(job) = self.tasks.get_mut(it.task).filter(|job| job.spot.buffered.is_some()) {
            // What is summed must not change any more.
            job.spot.begun = true;
        }
        let add = |first: bool, from: Place, into: Place| match first {
            true => Action::Copy { from, to: into, blocks: it.blocks },
            false => Action::Xor { from, into, blocks: it.blocks },
        };
        let sum = self.sum(id);
        let written = match it.aim {
            Aim::Read(column) => {
                let to = self.task_place(&it, column);
                out.push(add(true, sum, to));
                out.extend(each(it.read).map(|column| add(false, self.read_into(id, &it, column), to)));
                return self.close(id, out);
            }
            Aim::Repair(column) => return self.write_repaired(id, &it, column, out),
            Aim::Write(written) => written,
        };
        if it.method != Method::Without {
            let read = each(it.read).map(|column| self.read_into(id, &it, column));
            let given = each(written).map(|column| self.task_place(&it, column));
            // Parity as it was is there already, or nothing.
            let fresh = it.method == Method::Reconstruct;
            out.extend(read.chain(given).enumerate().map(|(i, from)| add(fresh && i == 0, from, sum)));
        }
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        let op = self.tasks.get(it.task).map_or(Op::Write { fua: false }, |job| job.op);
        for column in each(written) {
            let disk = self.geometry.disk(it.row, column, 0);
            if self.standings.works(disk) {
                self.post(it.task, Owner::Update(id), disk, op, at, self.task_place(&it, column), 0);
            }
        }
        let parity = self.geometry.parity(it.row);
        if it.method != Method::Without && self.standings.works(parity) {
            self.post(it.task, Owner::Update(id), parity, op, at, sum, 0);
        }
        if self.updates.get(id).is_some_and(|it| it.left == 0) {
            self.end_writes(id, out);
        }
    }

    /// All that could be written is.
    fn end_writes(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(it) = self.updates.get(id).copied() else { return };
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        if let Aim::Repair(column) = it.aim {
            for disk in self.alike(it.row, column) {
                self.standings.note_filled(disk, at);
            }
            return self.close(id, out);
        }
        let sound = |disk: DiskId| self.standings.holds(disk, at);
        let Aim::Write(written) = it.aim else { return };
        let missing = each(written).filter(|column| !sound(self.geometry.disk(it.row, *column, 0))).count();
        let parity = it.method != Method::Without && sound(self.geometry.parity(it.row));
        if missing > usize::from(parity) {
            return self.give_up(id, out);
        }
        self.close(id, out);
    }

    fn give_up(&mut self, id: u32, out: &mut Vec<Action>) {
        if let Some(it) = self.updates.get(id) {
            self.trouble(it.task, Ending::Failed(EIO));
        }
        self.close(id, out);
    }

    fn close(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(it) = self.updates.remove(id) else { return };
        self.done_one(it.task, out);
    }

    /// Where an update sums.
    fn sum(&self, id: u32) -> Place {
        Place::Frame(self.update_frame(id), 0)
    }

    /// Where an update reads a column into.
    fn read_into(&self, id: u32, it: &Update, column: u16) -> Place {
        offset(self.sum(id), (u32::from(column) + 1) * it.blocks)
    }

    /// Where the task's bytes of a column are.
    fn task_place(&self, it: &Update, column: u16) -> Place {
        let Some(job) = self.tasks.get(it.task) else { return Place::Nowhere };
        let into = self.geometry.block(it.row, column, it.within).0 - job.at.start.0;
        offset(job.spot.base, into as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_columns_as_there_may_be_disks_have_a_bit_each() {
        for disks in [1, 2, 63, 64] {
            assert_eq!(each(all(disks)).collect::<Vec<_>>(), (0..disks).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_is_read_less_of_is_read_but_never_what_is_missing() {
        // Of eight columns, so many written: what they held and parity, or the others.
        assert_eq!(method(8, all(1), None), (Method::Modify, all(1)));
        assert_eq!(method(8, all(4), None), (Method::Reconstruct, all(8) & !all(4)));
        assert_eq!(method(8, all(8), None), (Method::Reconstruct, 0));
        assert_eq!(method(8, all(1), Some(0)), (Method::Reconstruct, all(8) & !all(1)));
        assert_eq!(method(8, all(7), Some(7)), (Method::Modify, all(7)));
    }
}
