//! An array that grows by a disk, or with copies by one for each, while it is served: where its blocks lie meanwhile, and how they come
//! to lie there.
//!
//! **Rows move from the first on.** Row r of the wider layout holds what lay in row r of the former one and in some after it. So what is
//! overwritten has moved already, or is what is being moved: the *first rows*, as many as there were columns, overwrite what they are made
//! of. Of those one is moved at a time, and a copy of what it holds is put down on each new disk first, where its last rows will be.
//!
//! **A move is a read, a write and a flush of the same blocks in one task,** which others that meet it wait for. It ends when the disks
//! know how far the array has grown ([`crate::Health::Told`] answers [`Action::Grown`]): what is written to rows that have moved is
//! found there whenever the power goes. Until then all of them hold what they did where they were, but for a first row, whose copy tells.
//!
//! **Nothing moves while a disk is lacking.** A move that was under way then is undone, or, of a first row that has begun to be overwritten,
//! ends before it is known that the disk was given up.

use super::children::Owner;
use super::field::Factor;
use super::{Array, Geometry, Task, offset};
use crate::event::Action;
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::errno::{EINVAL, EIO};
use block::{DiskId, Ending, Extent, Op, Place};

/// How often what overwrites its own place is written, where disks do not take it: what it held is in memory, and in its copy.
const MOST_WRITES: u32 = 100;

/// How far an array has grown, as its disks are to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grown {
    /// Rows that have moved.
    pub rows: u64,
    /// Whether the row after these is being overwritten, so that it is had from its copy.
    pub copied: bool,
}

/// What a move is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MoveStage {
    Reading,
    /// The copy of a first row is put down.
    Copying,
    /// The disks are told of it, before the row is overwritten.
    Marking,
    Writing,
    Flushing,
    /// The disks are told how far it has come, and then it ends so.
    Telling(Ending),
    /// A first row could not be written.
    Stuck,
}

/// The move that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mover {
    pub(super) task: JobId,
    stage: MoveStage,
    at: Extent,
    rows: u64,
    /// Whether it overwrites what it is made of.
    is_first: bool,
    /// Where blocks lay before it.
    before: Geometry,
    writes: u32,
}

impl<P: Predictor> Array<P> {
    /// A further disk is there, by which the array grows, or one for each copy.
    pub(super) fn join(&mut self) {
        if let Ok(geometry) = self.geometry.grow().map_err(|(what, _)| debug_assert!(false, "{what}")) {
            (self.geometry.disks()..geometry.disks()).for_each(|_| self.standings.join());
            self.geometry = geometry;
            if geometry.copies() > 1 {
                self.order_rows();
            }
        }
    }

    /// Begins to move rows, or to read them anew where a disk did not bring them at first.
    pub(super) fn start_move(&mut self, id: JobId, job: &Job<Task>, out: &mut Vec<Action>) {
        let geometry = self.geometry;
        let rows = u64::from(job.at.blocks) / geometry.row_blocks();
        let is_next = geometry.is_growing() && job.at == geometry.next_rows(rows) && rows > 0;
        let is_busy = self.mover.is_some_and(|mover| mover.task != id || mover.stage == MoveStage::Stuck);
        let is_first = geometry.free_rows() == 0;
        let fits = rows <= geometry.free_rows() || is_first && rows == 1;
        if !is_next || is_busy || !fits || self.buffer.is_some() {
            return self.trouble(id, Ending::Failed(EINVAL));
        }
        if !self.standings.all_sound() {
            return self.trouble(id, Ending::Failed(EIO));
        }
        let stage = MoveStage::Reading;
        self.mover = Some(Mover { task: id, stage, at: job.at, rows, is_first, before: geometry, writes: 0 });
        // There is no buffer whose frame it could be.
        let base = Place::Frame(self.buffer_frame(0), 0);
        if let Some(job) = self.tasks.get_mut(id) {
            job.spot.base = base;
        }
        let job = Job { spot: Task { base, ..job.spot }, ..*job };
        let held = geometry.blocks().saturating_sub(job.at.start.0).min(job.at.blocks.into()) as u32;
        if held < job.at.blocks {
            // Beyond what it held there are zeros: what is added to itself.
            let (place, blocks) = (offset(base, held), job.at.blocks - held);
            out.push(Action::Xor { from: place, into: place, blocks, times: Factor::ONE });
        }
        for piece in geometry.pieces(Extent { blocks: held, ..job.at }) {
            self.read(id, &job, &piece, None, out);
        }
    }

    /// All that a move waited for has ended: whether a task is one.
    pub(super) fn move_on(&mut self, id: JobId, out: &mut Vec<Action>) -> bool {
        let Some(mover) = self.mover.filter(|mover| mover.task == id) else { return false };
        let trouble = self.tasks.get_mut(id).and_then(|job| job.spot.trouble.take());
        let whole = trouble.is_none() && self.standings.all_sound();
        match mover.stage {
            MoveStage::Reading if whole && mover.is_first => self.copy_row(&mover),
            MoveStage::Reading if whole => self.write_moved(&mover, out),
            MoveStage::Copying if whole => self.tell_grown(&mover, MoveStage::Marking, out),
            MoveStage::Reading | MoveStage::Copying => self.end_move(id, trouble.unwrap_or(Ending::Failed(EIO)), out),
            MoveStage::Writing | MoveStage::Flushing if trouble.is_some() => self.undo_move(&mover, out),
            MoveStage::Writing => self.flush_moved(&mover, out),
            MoveStage::Flushing => self.tell_grown(&mover, MoveStage::Telling(Ending::Finished), out),
            MoveStage::Marking | MoveStage::Telling(_) | MoveStage::Stuck => {}
        }
        true
    }

    /// The disks know what they were told of the array's growth.
    pub(super) fn note_told(&mut self, out: &mut Vec<Action>) {
        let Some(mover) = self.mover else { return };
        match mover.stage {
            MoveStage::Marking if self.standings.all_sound() => self.write_moved(&mover, out),
            // Nothing was overwritten: the copy is to count no more before anybody writes what it is of.
            MoveStage::Marking => self.tell_grown(&mover, MoveStage::Telling(Ending::Failed(EIO)), out),
            MoveStage::Telling(ending) => self.end_move(mover.task, ending, out),
            _ => {}
        }
    }

    fn set_stage(&mut self, stage: MoveStage) {
        self.mover.iter_mut().for_each(|mover| mover.stage = stage);
    }

    /// Puts down what a first row will hold.
    fn copy_row(&mut self, mover: &Mover) {
        self.set_stage(MoveStage::Copying);
        let geometry = self.geometry;
        let Some(job) = self.tasks.get_mut(mover.task) else { return };
        job.spot.left = 1;
        let base = job.spot.base;
        if geometry.traded_level().is_some() {
            let row = self.rows_before(mover);
            let at = geometry.on_disk(row, 0, geometry.unit());
            for (column, disk) in geometry.list_staying(row) {
                let place = offset(base, u32::from(column) * geometry.unit());
                self.post(mover.task, Owner::Task, disk, Op::Write { fua: true }, at, place, 0);
            }
        }
        for disk in geometry.list_joined() {
            self.post(mover.task, Owner::Task, disk, Op::Write { fua: true }, geometry.copy_place(), base, 0);
        }
        self.tasks.get_mut(mover.task).into_iter().for_each(|job| job.spot.left -= 1);
    }

    fn tell_grown(&mut self, mover: &Mover, stage: MoveStage, out: &mut Vec<Action>) {
        self.set_stage(stage);
        let rows = self.geometry.moved_rows();
        let copied = stage == MoveStage::Marking;
        out.push(Action::Grown(DiskId(self.geometry.disks() - 1), Grown { rows, copied }));
        debug_assert!(self.tasks.get(mover.task).is_some(), "it has not ended");
    }

    /// Writes rows to where they lie from now on.
    fn write_moved(&mut self, mover: &Mover, out: &mut Vec<Action>) {
        let id = mover.task;
        self.leave_rows(id);
        self.set_stage(MoveStage::Writing);
        self.geometry = self.geometry.moved_to(self.rows_before(mover) + mover.rows);
        let Some(job) = self.tasks.get_mut(id) else { return };
        job.spot.left = 1;
        let job = *job;
        if self.geometry.has_parity() {
            self.write_rows(id, &job, out);
        } else {
            for piece in self.geometry.pieces(job.at) {
                self.write(id, &Job { op: Op::Write { fua: false }, ..job }, &piece);
            }
        }
        self.done_one(id, out);
    }

    /// Rows that had moved before this move.
    fn rows_before(&self, mover: &Mover) -> u64 {
        mover.at.start.0 / self.geometry.row_blocks()
    }

    fn flush_moved(&mut self, mover: &Mover, out: &mut Vec<Action>) {
        self.set_stage(MoveStage::Flushing);
        let Some(job) = self.tasks.get_mut(mover.task) else { return };
        job.spot.left = 1;
        for disk in (0..self.geometry.disks()).map(DiskId) {
            if self.standings.works(disk) {
                self.post(mover.task, Owner::Task, disk, Op::Flush, Extent::default(), Place::Nowhere, 0);
            }
        }
        self.done_one(mover.task, out);
    }

    /// What was to be written is not: rows are as they were, but for a first one, which is written until disks take it.
    fn undo_move(&mut self, mover: &Mover, out: &mut Vec<Action>) {
        if !mover.is_first {
            self.geometry = mover.before;
            return self.end_move(mover.task, Ending::Failed(EIO), out);
        }
        // With parity more disks have failed than may.
        if mover.writes < MOST_WRITES && !self.geometry.has_parity() {
            self.mover.iter_mut().for_each(|mover| mover.writes += 1);
            return self.write_moved(mover, out);
        }
        self.set_stage(MoveStage::Stuck);
        self.end(mover.task, Ending::Failed(EIO), out);
    }

    fn end_move(&mut self, id: JobId, ending: Ending, out: &mut Vec<Action>) {
        self.mover = None;
        self.end(id, ending, out);
    }

    /// A disk is given up while the disks are told of a copy: nothing was overwritten, and the copy, which may be on that disk, counts no
    /// more for anybody who hears of that.
    pub(super) fn unmark_copy(&mut self, out: &mut Vec<Action>) {
        if let Some(mover) = self.mover.filter(|mover| mover.stage == MoveStage::Marking) {
            self.tell_grown(&mover, MoveStage::Telling(Ending::Failed(EIO)), out);
        }
    }

    /// Whether a first row is being overwritten: that ends before it is known that a disk is given up.
    pub(super) fn overwrites_first(&self) -> bool {
        let overwrites = |stage| matches!(stage, MoveStage::Writing | MoveStage::Flushing);
        self.mover.is_some_and(|mover| mover.is_first && overwrites(mover.stage))
    }

    /// Whether a part of the array cannot be had until its copy is written back: a first row that no disk took.
    pub(super) fn is_stuck(&self, at: Extent) -> bool {
        let meets = |mover: Mover| mover.at.start < at.end() && at.start < mover.at.end();
        self.mover.is_some_and(|mover| mover.stage == MoveStage::Stuck && meets(mover))
    }
}
