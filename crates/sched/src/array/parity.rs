//! Rows with parity: full-row, read-modify and reconstruct writes, and reading what a missing disk held (RAID 5 and 6).
//!
//! The work on a part of a row is an update: it reads what it needs into a frame, sums, and writes. Each part is wide as the
//! row's columns are written alike in it: of a column all or nothing, so that one rule tells what has to be read.
//!
//! In the frame of an update lies, slot after slot, what was read of the row, and each parity in its own; behind them parities
//! that are summed while what they were is still needed.

use super::children::{ChildRequest, Owner, offset};
use super::code::{Code, Slots, bit, each};
use super::field::Factor;
use super::journal::Leave;
use super::{Array, Piece, Task};
use crate::event::Action;
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::errno::EIO;
use block::{DiskId, Ending, Op, Place};

/// Times an update begins anew because a disk did not bring what it was asked for.
const MOST_TRIES: u8 = 3;

/// What an update does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Aim {
    /// Writes these columns from where the task's bytes are.
    Write(Slots),
    /// Reads a column that its disk does not bring to where the task wants it.
    Read(u16),
    /// Reads all there is of a column or a row, and writes what is missing.
    Repair(u16),
}

/// How the parities of a write come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// Each from itself, what the written columns held and what they will.
    Modify,
    /// It is summed anew from all columns.
    Reconstruct,
    /// From all columns, of which one is missing that is not written: it follows from all else there is.
    Recover,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateStage {
    Reading,
    /// What was read is compared.
    Comparing,
    /// What closes the write hole is put down.
    Recording,
    Writing,
}

/// Disks that did not bring what they were asked for: as many as can be done without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LostDisks([Option<DiskId>; 2]);

impl LostDisks {
    pub(super) fn has(&self, disk: DiskId) -> bool {
        self.0.contains(&Some(disk))
    }

    /// Notes a disk, unless so many are noted.
    fn note(&mut self, disk: DiskId, most: u16) {
        let free = self.0.iter_mut().take(most.into()).find(|lost| lost.is_none_or(|lost| lost == disk));
        if let Some(free) = free {
            *free = Some(disk);
        }
    }
}

/// The work on a part of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Update {
    pub(super) task: JobId,
    pub(super) row: u64,
    pub(super) within: u32,
    pub(super) blocks: u32,
    pub(super) aim: Aim,
    /// Parities that rows had when it was begun.
    pub(super) parities: u16,
    method: Method,
    /// The slots that are read.
    pub(super) read: Slots,
    /// Of a write, the parities that are summed.
    pub(super) sums: Slots,
    pub(super) stage: UpdateStage,
    /// Children that have not ended.
    pub(super) left: u32,
    pub(super) lost: LostDisks,
    /// Whether a child did not end well.
    pub(super) broken: bool,
    tries: u8,
    /// Of a repair, the slots that do not agree with the others.
    pub(super) unlike: Slots,
    /// Of a repair, how many disks had been replaced when it wrote.
    pub(super) replacements: u32,
    /// Of a write, the place of its record, and how often disks had come to be unsure by then, or no more.
    pub(super) record: Option<u8>,
    pub(super) changes: u32,
    /// The how manieth record that is.
    pub(super) number: u64,
}

impl Update {
    /// The column that it repairs, if it is a repair.
    pub(super) fn repairs(&self) -> Option<u16> {
        if let Aim::Repair(column) = self.aim { Some(column) } else { None }
    }

    /// How much of its task it does, in blocks.
    fn does(&self) -> u64 {
        let columns = if let Aim::Write(written) = self.aim { written.count_ones() } else { 1 };
        u64::from(columns) * u64::from(self.blocks)
    }
}

/// What is read to write these columns, and how the parities in `sums` come about; `gone` cannot be read. Nothing where too much
/// is gone.
fn method(code: Code, written: Slots, sums: Slots, gone: Slots) -> Option<(Method, Slots)> {
    let others = code.columns() & !written;
    if gone.count_ones() > code.parities.into() {
        return None;
    }
    if sums == 0 {
        return Some((Method::Reconstruct, 0));
    }
    let modify = gone & (written | sums) == 0;
    let reconstruct = gone & others == 0;
    match (modify, reconstruct) {
        (true, true) if written.count_ones() + sums.count_ones() < others.count_ones() => {
            Some((Method::Modify, written | sums))
        }
        (_, true) => Some((Method::Reconstruct, others)),
        (true, false) => Some((Method::Modify, written | sums)),
        (false, false) => {
            let missing = (gone & others).trailing_zeros() as u16;
            let equation = code.solve(missing, gone)?;
            Some((Method::Recover, (others | equation.terms()) & !gone))
        }
    }
}

/// How often each slot that was read, and each written column anew, counts in a parity.
fn terms(code: Code, it: &Update, written: Slots, parity: u16) -> impl Iterator<Item = (Term, Factor)> {
    let slot = code.columns + parity;
    let others = code.columns() & !written;
    let unread = code.slots() & !it.read;
    let recovered = each(others & unread).next().filter(|_| it.method == Method::Recover);
    let equation = recovered.and_then(|missing| code.solve(missing, unread));
    let method = it.method;
    let read = each(it.read).map(move |read| {
        let own = code.factor(parity, read);
        let factor = match method {
            // The parity as it was is there already.
            Method::Modify if read == slot => Factor::ZERO,
            Method::Modify => own,
            _ => {
                let own = if others & bit(read) == 0 { Factor::ZERO } else { own };
                let through = equation.map_or(Factor::ZERO, |equation| equation.factor(read));
                own + through * recovered.map_or(Factor::ZERO, |missing| code.factor(parity, missing))
            }
        };
        (Term::Read(read), factor)
    });
    let given = each(written).map(move |column| (Term::Given(column), code.factor(parity, column)));
    read.chain(given).filter(|(_, factor)| *factor != Factor::ZERO)
}

/// A term of a sum: what was read of a slot, or what is written of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term {
    Read(u16),
    Given(u16),
}

impl<P: Predictor> Array<P> {
    /// Writes a task row by row, in parts in which every column is written wholly or not at all.
    pub(super) fn write_rows(&mut self, id: JobId, job: &Job<Task>, out: &mut Vec<Action>) {
        let pieces: Vec<Piece> = self.geometry.pieces(job.at).collect();
        for row in pieces.chunk_by(|a, b| a.row == b.row) {
            if !self.geometry.layout_of(row[0].row).has_parity() {
                // It has not moved.
                row.iter().for_each(|piece| self.write(id, job, piece));
                continue;
            }
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
    pub(super) fn update(
        &mut self,
        task: JobId,
        row: u64,
        within: u32,
        blocks: u32,
        aim: Aim,
        lost: Option<DiskId>,
        out: &mut Vec<Action>,
    ) {
        let mut update = Update {
            task,
            row,
            within,
            blocks,
            aim,
            parities: self.geometry.layout_of(row).parities(),
            method: Method::Reconstruct,
            read: 0,
            sums: 0,
            stage: UpdateStage::Reading,
            left: 0,
            lost: LostDisks::default(),
            broken: false,
            tries: 0,
            unlike: 0,
            replacements: 0,
            record: None,
            changes: 0,
            number: 0,
        };
        if let Some(disk) = lost {
            update.lost.note(disk, 1);
        }
        if let Some(job) = self.tasks.get_mut(task) {
            job.spot.left += 1;
        }
        if let Some(parts) = &mut self.parts {
            parts.grow(task, update.does());
        }
        let id = self.updates.insert(update);
        self.begin(id, out);
    }

    /// The equations of an update's row, as they were when it was begun.
    pub(super) fn code(&self, it: &Update) -> Code {
        Code { columns: self.geometry.columns_of(it.row), parities: it.parities }
    }

    /// The slots of a row that cannot be read where an update is.
    pub(super) fn missing_slots(&self, it: &Update) -> Slots {
        if self.standings.all_sound() && it.lost == LostDisks::default() {
            return 0;
        }
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        let gone = |slot: &u16| {
            let disk = self.geometry.disk_of_slot(it.row, *slot);
            !self.standings.holds(disk, at) || it.lost.has(disk)
        };
        each(self.code(it).slots()).filter(gone).map(bit).sum()
    }

    /// Has an update read what it needs, or write at once where it needs nothing.
    pub(super) fn begin(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(it) = self.updates.get_mut(id) else { return };
        it.parities = self.geometry.layout_of(it.row).parities();
        let it = *it;
        if self.ask_leave(id, &it, out) == Leave::Refused {
            return;
        }
        if let Aim::Repair(column) = it.aim {
            return self.begin_repair(id, &it, column, out);
        }
        let code = self.code(&it);
        let gone = self.missing_slots(&it);
        let works = |parity: &u16| self.standings.works(self.geometry.disk_of_slot(it.row, *parity));
        let sums: Slots = each(code.slots() & !code.columns()).filter(works).map(bit).sum();
        let (method, read, sums) = match it.aim {
            Aim::Read(column) => match code.solve(column, gone | bit(column)) {
                Some(equation) => (Method::Reconstruct, equation.terms() & !bit(column), 0),
                None => return self.give_up(id, out),
            },
            Aim::Write(written) => match method(code, written, sums, gone) {
                Some((method, read)) => (method, read, sums),
                None => return self.give_up(id, out),
            },
            Aim::Repair(_) => return,
        };
        if let Some(update) = self.updates.get_mut(id) {
            (update.method, update.read, update.sums) = (method, read, sums);
            (update.stage, update.broken) = (UpdateStage::Reading, false);
        }
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        for slot in each(read) {
            let disk = self.geometry.disk_of_slot(it.row, slot);
            self.post(it.task, Owner::Update(id), disk, Op::Read, at, self.slot_place(id, it.blocks, slot), 0);
        }
        if read == 0 {
            self.write_all(id, out);
        }
    }

    /// A child of an update has ended.
    pub(super) fn update_went_on(&mut self, id: u32, child: &ChildRequest, ending: Ending, out: &mut Vec<Action>) {
        let Some(it) = self.updates.get_mut(id) else { return };
        it.left -= 1;
        it.broken |= ending != Ending::Finished;
        if ending != Ending::Finished && it.stage == UpdateStage::Reading {
            it.lost.note(child.disk, self.geometry.layout_of(it.row).parities().max(1));
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
            UpdateStage::Comparing => {}
            UpdateStage::Recording if it.broken => self.begin_again(id, out),
            UpdateStage::Recording => {
                self.note_recorded(&it);
                if self.is_outdated(&it) { self.record_anew(id, out) } else { self.write_out(id, out) }
            }
            UpdateStage::Writing => self.end_writes(id, out),
        }
    }

    /// A disk did not bring what was asked of it.
    pub(super) fn begin_again(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(it) = self.updates.get_mut(id) else { return };
        it.tries += 1;
        let (task, tries) = (it.task, it.tries);
        let wanted = self.tasks.get(task).is_some_and(|job| job.spot.trouble.is_none());
        if wanted && tries <= MOST_TRIES { self.begin(id, out) } else { self.give_up(id, out) }
    }

    /// What was needed is there: sums it, and writes.
    fn write_all(&mut self, id: u32, out: &mut Vec<Action>) {
        let leave = self.keeps_leave(id, out);
        let Some(it) = self.updates.get_mut(id).filter(|_| leave != Leave::Refused) else { return };
        (it.stage, it.broken) = (UpdateStage::Writing, false);
        let it = *it;
        if let Some(job) = self.tasks.get_mut(it.task).filter(|job| job.spot.buffered.is_some()) {
            // What is summed must not change any more.
            job.spot.begun = true;
        }
        match it.aim {
            Aim::Read(column) => {
                self.sum_read(id, &it, column, out);
                self.close(id, out);
            }
            Aim::Repair(column) => self.write_repaired(id, &it, column, out),
            Aim::Write(written) if leave == Leave::Recorded => self.record(id, &it, written, out),
            Aim::Write(written) => {
                for parity in each(it.sums) {
                    let sum = self.sum_place(id, &it, parity);
                    self.sum_parity(id, &it, parity, (written, sum), out);
                }
                self.write_out(id, out);
            }
        }
    }

    /// What is read of the rest of a row is summed to what its disk did not bring of a column.
    fn sum_read(&self, id: u32, it: &Update, column: u16, out: &mut Vec<Action>) {
        let code = self.code(it);
        let Some(equation) = code.solve(column, code.slots() & !it.read) else {
            return debug_assert!(false, "a column that does not follow from what was read");
        };
        let terms = each(it.read).map(|slot| (self.slot_place(id, it.blocks, slot), equation.factor(slot)));
        sum_up(terms, self.task_place(it, column), it.blocks, out);
    }

    /// Sums a parity, of written columns only these.
    fn sum_parity(&self, id: u32, it: &Update, parity: u16, (given, sum): (Slots, Place), out: &mut Vec<Action>) {
        let (code, Aim::Write(written)) = (self.code(it), it.aim) else { return };
        let terms = terms(code, it, written, parity - code.columns).filter_map(|(term, factor)| match term {
            Term::Read(slot) => Some((self.slot_place(id, it.blocks, slot), factor)),
            Term::Given(column) if given & bit(column) != 0 => Some((self.task_place(it, column), factor)),
            Term::Given(_) => None,
        });
        match it.method {
            Method::Modify => out.extend(terms.map(|(from, times)| add(from, sum, it.blocks, times))),
            Method::Reconstruct | Method::Recover => sum_up(terms, sum, it.blocks, out),
        }
    }

    /// Puts down what closes the write hole: the parities without what is written to disks that are sure to count. Then these are added.
    fn record(&mut self, id: u32, it: &Update, written: Slots, out: &mut Vec<Action>) {
        let (code, blocks) = (self.code(it), it.blocks);
        let (sure, kept) = (self.sure_columns(it, written), self.kept_slots(it, written));
        let Some((disk, at, record)) = self.make_record(id, it, written) else { return };
        for (number, slot) in (0..).zip(each(kept)) {
            let place = self.record_place(id, it, 1 + number * blocks);
            let from = if slot < code.columns { self.task_place(it, slot) } else { self.sum_place(id, it, slot) };
            if slot >= code.columns {
                self.sum_parity(id, it, slot, (written & !sure, from), out);
            }
            out.push(Action::Copy { from, to: place, blocks });
            for column in each(sure).filter(|_| slot >= code.columns) {
                let times = code.factor(slot - code.columns, column);
                out.push(add(self.task_place(it, column), from, blocks, times));
            }
        }
        let place = self.record_place(id, it, 0);
        out.push(record);
        let Some(journal) = &mut self.journal else { return };
        journal.records += 1;
        if let Some(update) = self.updates.get_mut(id) {
            (update.stage, update.changes) = (UpdateStage::Recording, journal.changes);
            update.number = journal.records;
        }
        self.post(it.task, Owner::Update(id), disk, Op::Write { fua: true }, at, place, 0);
    }

    /// The parities are written with the columns.
    fn write_out(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(update) = self.updates.get_mut(id) else { return };
        update.stage = UpdateStage::Writing;
        let it = *update;
        let (code, Aim::Write(written)) = (self.code(&it), it.aim) else { return };
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        let op = self.tasks.get(it.task).map_or(Op::Write { fua: false }, |job| job.op);
        let op = if op == Op::Move { Op::Write { fua: false } } else { op };
        // What a record tells of is on the medium before the record is done with.
        let op = if it.record.is_some() { Op::Write { fua: true } } else { op };
        for slot in each(written | it.sums) {
            let disk = self.geometry.disk_of_slot(it.row, slot);
            let from = if slot < code.columns { self.task_place(&it, slot) } else { self.sum_place(id, &it, slot) };
            if self.standings.works(disk) {
                self.post(it.task, Owner::Update(id), disk, op, at, from, 0);
            }
        }
        if self.updates.get(id).is_some_and(|it| it.left == 0) {
            self.end_writes(id, out);
        }
    }

    /// Where a parity is summed: where it was read to, unless what it was is needed until the end.
    fn sum_place(&self, id: u32, it: &Update, parity: u16) -> Place {
        let beyond = if it.method == Method::Recover { it.parities } else { 0 };
        self.slot_place(id, it.blocks, parity + beyond)
    }

    /// All that could be written is.
    fn end_writes(&mut self, id: u32, out: &mut Vec<Action>) {
        let Some(it) = self.updates.get(id).copied() else { return };
        let written = match it.aim {
            Aim::Repair(column) => return self.end_repair(id, &it, column, out),
            Aim::Write(written) => written,
            Aim::Read(_) => return,
        };
        let at = self.geometry.on_disk(it.row, it.within, it.blocks);
        let sound = |slot: &u16| self.standings.holds(self.geometry.disk_of_slot(it.row, *slot), at);
        let missing = |columns: Slots| each(columns).filter(|column| !sound(column)).count();
        // What was not written to its own disk follows from the rest of its row, or is lost.
        let lost = missing(written) > 0 && missing(self.code(&it).columns()) > each(it.sums).filter(sound).count();
        if lost {
            return self.give_up(id, out);
        }
        self.close(id, out);
    }

    pub(super) fn give_up(&mut self, id: u32, out: &mut Vec<Action>) {
        if let Some(it) = self.updates.get(id) {
            self.trouble(it.task, Ending::Failed(EIO));
        }
        self.close(id, out);
    }

    pub(super) fn close(&mut self, id: u32, out: &mut Vec<Action>) {
        self.free_record(id, out);
        let Some(it) = self.updates.remove(id) else { return };
        self.end_part(it.task, it.does());
        self.done_one(it.task, out);
    }

    /// Where an update has a slot of its row.
    pub(super) fn slot_place(&self, id: u32, blocks: u32, slot: u16) -> Place {
        offset(Place::Frame(self.update_frame(id), 0), u32::from(slot) * blocks)
    }

    /// Where the task's bytes of a column are.
    fn task_place(&self, it: &Update, column: u16) -> Place {
        let Some(job) = self.tasks.get(it.task) else { return Place::Nowhere };
        let into = self.geometry.block(it.row, column, it.within).0 - job.at.start.0;
        offset(job.spot.base, into as u32)
    }
}

/// Adds a multiple of what is in one place to what is in another.
fn add(from: Place, into: Place, blocks: u32, times: Factor) -> Action {
    Action::Xor { from, into, blocks, times }
}

/// Sums multiples of what is in several places, in a place of which nothing is kept.
pub(super) fn sum_up(terms: impl Iterator<Item = (Place, Factor)>, into: Place, blocks: u32, out: &mut Vec<Action>) {
    for (i, (from, times)) in terms.filter(|(_, times)| *times != Factor::ZERO).enumerate() {
        match i {
            0 => {
                out.push(Action::Copy { from, to: into, blocks });
                // Once is there already.
                out.extend((times != Factor::ONE).then(|| add(from, into, blocks, times + Factor::ONE)));
            }
            _ => out.push(add(from, into, blocks, times)),
        }
    }
}

#[cfg(test)]
mod tests;
