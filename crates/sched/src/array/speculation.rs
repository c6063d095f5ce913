//! Reads that are asked of another copy, too (Preemptive RAID scheduling, Section 3.2.2).
//!
//! **Two children for the same blocks.** The *first* is what it would be without; the *spare* one is told to its disk only while that
//! has nothing else to do, and is taken back as soon as it has: whoever comes waits for the command that is in service at most.
//! Whichever ends first answers; the other is taken out of its queue, or ends with its command.
//!
//! **Each reads into a frame of its own,** out of which the first to end is copied: a command that is still in service then may
//! outlive the request, whose memory nobody but it may write.

use super::children::{ChildRequest, Owner, Post};
use super::{Array, ArrayPlan, Geometry};
use crate::JobId;
use crate::core::Stopped;
use crate::event::{Action, Input};
use crate::predict::Predictor;
use block::errno::ECANCELED;
use block::{Change, DiskId, Ending, Extent, Op, Place, Qos, Request, RequestId, Span, Time};
use config::{Word, Words};
use std::collections::VecDeque;

/// Whose a child is that nobody waits for any more.
const NOBODY: JobId = JobId(u32::MAX);

/// Spare children that are looked at, of those that wait for a disk.
const LOOKS: usize = 8;

/// Whether reads are asked of another copy, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speculation {
    /// No: one copy is asked.
    #[default]
    Never,
    /// Of another, which reads it while it has nothing else to do.
    Copies,
}

impl Words for Speculation {
    const WORDS: &'static [Word<Speculation>] = &[
        Word::new("never", Speculation::Never, "one copy is asked"),
        Word::new(
            "copies",
            Speculation::Copies,
            "another copy is asked, too, whose disk reads it while it has nothing else to do; the first to come counts, and the \
             other is cancelled",
        ),
    ];
}

/// How far a child has come that is one of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RaceStage {
    /// It is not one of two.
    #[default]
    None,
    /// It is the first, and this one the spare, if there still is one.
    First(Option<u32>),
    /// It is the spare one, its disk is not told of it yet, and this is the first.
    Waits(u32),
    /// It is the spare one, and its disk is told of it.
    Runs(u32),
    /// It ends with a command that does not bring all of it.
    Cut(u32),
    /// The other of the two was sooner.
    Lost,
}

/// What is kept of children that are one of two.
#[derive(Debug, Default)]
pub(super) struct Rivals {
    /// By the slot of a child.
    races: Vec<RaceStage>,
    /// By disk: spare children that it is not told of yet, and the one that it is.
    waiting: Vec<VecDeque<u32>>,
    running: Vec<Option<u32>>,
    /// Pieces that the spare child brought first.
    won: u64,
}

impl Rivals {
    /// Where reads are to be asked of another copy, and there is one.
    pub(super) fn make(geometry: &Geometry, plan: &ArrayPlan, disks: usize) -> Option<Box<Rivals>> {
        let rivals =
            || Rivals { waiting: vec![VecDeque::new(); disks], running: vec![None; disks], ..Rivals::default() };
        let asks = plan.speculation == Speculation::Copies && geometry.copies() > 1;
        asks.then(|| Box::new(rivals()))
    }

    fn race(&self, child: u32) -> RaceStage {
        self.races.get(child as usize).copied().unwrap_or_default()
    }

    fn set(&mut self, child: u32, race: RaceStage) {
        let slot = child as usize;
        if self.races.len() <= slot {
            self.races.resize(slot + 1, RaceStage::None);
        }
        self.races[slot] = race;
    }
}

impl<P: Predictor> Array<P> {
    /// Pieces of reads that the copy brought first which was asked besides.
    #[must_use]
    pub fn spare_reads_won(&self) -> u64 {
        self.rivals.as_ref().map_or(0, |rivals| rivals.won)
    }

    fn race(&self, child: u32) -> RaceStage {
        self.rivals.as_ref().map_or(RaceStage::None, |rivals| rivals.race(child))
    }

    fn set_race(&mut self, child: u32, race: RaceStage) {
        if let Some(rivals) = &mut self.rivals {
            rivals.set(child, race);
        }
    }

    /// Whether a child is one of two for the same blocks.
    pub(super) fn races(&self, child: u32) -> bool {
        self.race(child) != RaceStage::None
    }

    /// Whether what a child is worth is a part of what its task is: of two for the same blocks the first.
    pub(super) fn is_part(&self, child: u32) -> bool {
        matches!(self.race(child), RaceStage::None | RaceStage::First(_))
    }

    /// Asks a disk for a piece, and the disk of another copy that will be done first, where there is one.
    pub(super) fn ask_two(&mut self, task: JobId, disk: DiskId, copies: &[DiskId], at: Extent, place: Place) {
        let others = copies.iter().copied().filter(|other| *other != disk && !self.geometry.is_growing());
        let Some(other) = others.min_by_key(|other| self.loads[usize::from(other.0)]) else {
            return self.post(task, Owner::Task, disk, Op::Read, at, place, 0);
        };
        let child = ChildRequest {
            task,
            owner: Owner::Task,
            disk,
            op: Op::Read,
            at,
            place,
            tried: 0,
            takes: Span::ZERO,
            generation: 0,
            number: 0,
        };
        let first = self.child(child);
        self.add_spare(first, ChildRequest { disk: other, ..child });
        self.place_in_frame(first);
        self.posts.push_back(Post::Submit(first));
    }

    /// Makes the spare child of a first: nobody's load, and nothing that its task waits for.
    fn add_spare(&mut self, first: u32, child: ChildRequest) {
        self.born += 1;
        let generation = self.standings.generation(child.disk);
        let spare = self.children.insert(ChildRequest { takes: Span::ZERO, generation, number: self.born, ..child });
        self.place_in_frame(spare);
        self.set_race(first, RaceStage::First(Some(spare)));
        self.set_race(spare, RaceStage::Waits(first));
        if let Some(rivals) = &mut self.rivals {
            rivals.waiting[usize::from(child.disk.0)].push_back(spare);
        }
    }

    fn place_in_frame(&mut self, id: u32) {
        let place = Place::Frame(self.frame_of_child(id), 0);
        if let Some(child) = self.children.get_mut(id) {
            child.place = place;
        }
    }

    /// Where the bytes are to go of a child of a task that reads into a frame.
    fn place_of_task(&self, child: &ChildRequest) -> Option<Place> {
        let (job, piece) = (self.tasks.get(child.task)?, self.geometry.piece_on(child.disk, child.at)?);
        let first = self.geometry.block(piece.row, piece.column, piece.within);
        Some(super::children::offset(job.spot.base, (first.0 - job.at.start.0) as u32))
    }

    /// Tells a disk that has nothing to do of a spare child that waits for it, and may come before its first. Says whether there was any.
    pub(super) fn start_spare_read(&mut self, now: Time, out: &mut Vec<Action>) -> bool {
        let Some(rivals) = &self.rivals else { return false };
        let is_free = |disk: &usize| self.loads[*disk] == Span::ZERO && rivals.running[*disk].is_none();
        let next = |disk: usize| {
            let mut looked = rivals.waiting[disk].iter().take(LOOKS).enumerate();
            looked.find(|(_, spare)| self.may_win(now, **spare)).map(|(at, spare)| (disk, at, *spare))
        };
        let Some((disk, at, spare)) = (0..self.loads.len()).filter(is_free).find_map(next) else { return false };
        let (RaceStage::Waits(first), Some(child)) = (rivals.race(spare), self.children.get(spare).copied()) else {
            debug_assert!(false, "no spare read {spare} waits");
            return false;
        };
        let Some(rivals) = &mut self.rivals else { return false };
        rivals.waiting[disk].remove(at);
        if child.generation != self.standings.generation(child.disk) || !self.standings.holds(child.disk, child.at) {
            self.children.remove(spare);
            self.set_race(spare, RaceStage::None);
            self.set_race(first, RaceStage::First(None));
            return true;
        }
        rivals.running[disk] = Some(spare);
        rivals.set(spare, RaceStage::Runs(first));
        self.disks[disk].set_part(1.0);
        let qos = self.tasks.get(child.task).map_or(Qos::default(), |job| job.qos);
        let request = Request { id: RequestId(spare), op: Op::Read, at: child.at, qos };
        self.tell(now, child.disk, Input::Submit(request), out);
        true
    }

    /// Whether a spare child that is begun now may end before its first does, as far as that is known: else its disk's arm would leave
    /// in vain, and be farther from what comes next.
    fn may_win(&self, now: Time, spare: u32) -> bool {
        let (RaceStage::Waits(first), Some(child)) = (self.race(spare), self.children.get(spare)) else { return false };
        let Some(other) = self.children.get(first).map(|first| usize::from(first.disk.0)) else { return false };
        let end = match self.disks[other].end_of_turn(now, RequestId(first)) {
            (false, _) => Some(now + self.loads[other]),
            (true, end) => end,
        };
        let own = self.disks[usize::from(child.disk.0)].end_of_read(now, child.at);
        own.zip(end).is_none_or(|(own, end)| own < end)
    }

    /// A disk is to do something else than what it reads in spare time, which waits again.
    pub(super) fn interrupt_spare_read(&mut self, now: Time, disk: DiskId, out: &mut Vec<Action>) {
        let running = self.rivals.as_ref().and_then(|rivals| rivals.running[usize::from(disk.0)]);
        if let Some(spare) = running {
            self.stop_child(now, spare, out);
        }
    }

    /// Has a disk stop what it reads for a child, by the end of the command in service.
    pub(super) fn stop_child(&mut self, now: Time, id: u32, out: &mut Vec<Action>) {
        let Some(disk) = self.children.get(id).map(|child| child.disk) else { return };
        match (self.disks[usize::from(disk.0)].stop(RequestId(id)), self.race(id)) {
            (Stopped::Waits, _) => self.tell(now, disk, Input::Amend(RequestId(id), Change::Cancel), out),
            (Stopped::Cut, RaceStage::Runs(first)) => self.set_race(id, RaceStage::Cut(first)),
            (Stopped::Cut | Stopped::Ends, _) => {}
        }
    }

    /// A child that may be one of two has ended, and no longer is. Says whether that is all there is to it; else it is as if its task
    /// had waited for it alone.
    pub(super) fn race_goes_on(
        &mut self,
        id: u32,
        child: &ChildRequest,
        ending: Ending,
        out: &mut Vec<Action>,
    ) -> bool {
        let race = self.race(id);
        self.set_race(id, RaceStage::None);
        let (rivals, disk) = (self.rivals.as_mut(), usize::from(child.disk.0));
        if let Some(running) = rivals.map(|rivals| &mut rivals.running[disk]).filter(|running| **running == Some(id)) {
            *running = None;
        }
        match (race, ending) {
            (RaceStage::None, _) => false,
            (RaceStage::Lost, _) => true,
            (RaceStage::First(spare), _) => {
                if let Some(spare) = spare {
                    self.lose(spare);
                }
                self.bring(id, child, ending, out);
                false
            }
            (RaceStage::Runs(first), Ending::Finished) => {
                self.bring(id, child, ending, out);
                self.lose(first);
                self.rivals.iter_mut().for_each(|rivals| rivals.won += 1);
                false
            }
            (RaceStage::Waits(first) | RaceStage::Runs(first) | RaceStage::Cut(first), _) => {
                match ending {
                    // Its disk had something else to do.
                    Ending::Finished | Ending::Failed(ECANCELED) => self.add_spare(first, *child),
                    Ending::Failed(_) | Ending::Dropped => self.set_race(first, RaceStage::First(None)),
                }
                true
            }
        }
    }

    /// What a child has read into its frame goes where its task has it.
    fn bring(&mut self, id: u32, child: &ChildRequest, ending: Ending, out: &mut Vec<Action>) {
        if let (Ending::Finished, Some(to)) = (ending, self.place_of_task(child)) {
            out.push(Action::Copy { from: Place::Frame(self.frame_of_child(id), 0), to, blocks: child.at.blocks });
        }
    }

    /// Nobody waits any more for a child that is one of two.
    fn lose(&mut self, id: u32) {
        let (Some(child), race) = (self.children.get(id).copied(), self.race(id)) else { return };
        if let (RaceStage::Waits(_), Some(rivals)) = (race, &mut self.rivals) {
            let waiting = &mut rivals.waiting[usize::from(child.disk.0)];
            waiting.iter().position(|other| *other == id).and_then(|at| waiting.remove(at));
            rivals.set(id, RaceStage::None);
            self.children.remove(id);
            return;
        }
        if self.parts.is_some() && self.is_part(id) {
            self.remove_part(id, &child);
        }
        self.set_race(id, RaceStage::Lost);
        if let Some(child) = self.children.get_mut(id) {
            child.task = NOBODY;
        }
        self.posts.push_back(Post::Stop(id, child.number));
    }
}
