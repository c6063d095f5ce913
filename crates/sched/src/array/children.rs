//! What an array asks of its disks, and what becomes of that.

use super::buffer::NOBODY;
use super::{Array, Level, Migration, Task};
use crate::event::{Action, Input, Wait};
use crate::frames::FRAMES;
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::errno::{ECANCELED, EIO};
use block::{Change, Command, DiskId, Ending, Extent, FrameId, Op, Place, Qos, Request, RequestId, Span, Time};

/// Whose a child is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Task,
    Update(u32),
}

/// What a member disk is asked on behalf of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChildRequest {
    pub(super) task: JobId,
    pub(super) owner: Owner,
    pub(super) disk: DiskId,
    pub(super) op: Op,
    pub(super) at: Extent,
    pub(super) place: Place,
    /// Copies that were tried.
    pub(super) tried: u16,
    /// What it was thought to take.
    pub(super) takes: Span,
    /// The how manieth disk in its place it was meant for.
    pub(super) generation: u32,
    /// The how manieth child it is: slots are used again.
    pub(super) number: u64,
}

impl ChildRequest {
    /// Whether its task itself waits for it, not an update.
    pub(super) fn is_of_task(&self) -> bool {
        self.owner == Owner::Task
    }
}

/// What is to be told to disks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Post {
    Submit(u32),
    /// The slot of a child, its number, and what changed.
    Amend(u32, u64, Change),
    /// The slot and number of a child that nobody waits for any more.
    Stop(u32, u64),
}

impl<P: Predictor> Array<P> {
    /// Makes a child and has its disk told.
    #[expect(clippy::too_many_arguments, reason = "it is all that a child is")]
    pub(super) fn post(
        &mut self,
        task: JobId,
        owner: Owner,
        disk: DiskId,
        op: Op,
        at: Extent,
        place: Place,
        tried: u16,
    ) {
        let (takes, generation, number) = (Span::ZERO, 0, 0);
        let child = ChildRequest { task, owner, disk, op, at, place, tried, takes, generation, number };
        if self.joined.is_some() && self.join_last(&child) {
            return;
        }
        let id = self.child(child);
        self.posts.push_back(Post::Submit(id));
        if self.joined.is_some() {
            self.note_last(id, &child);
        }
    }

    /// What a child of a disk is thought to take: what waits there is asked only where another has a copy.
    pub(super) fn takes(&self, disk: DiskId, at: Extent) -> Span {
        match self.geometry.copies() {
            1 => Span::ZERO,
            _ => self.positioning + self.disks[usize::from(disk.0)].transfer(at),
        }
    }

    /// Registers a child and gives it a number.
    #[inline]
    pub(super) fn child(&mut self, child: ChildRequest) -> u32 {
        let takes = self.takes(child.disk, child.at);
        self.loads[usize::from(child.disk.0)] += takes;
        if let Some(left) = self.left_of(&child) {
            *left += 1;
        }
        self.born += 1;
        let generation = self.standings.generation(child.disk);
        let id = self.children.insert(ChildRequest { takes, generation, number: self.born, ..child });
        if self.parts.is_some() {
            self.add_part(id, &child);
        }
        id
    }

    /// How many children whose a child is waits for.
    pub(super) fn left_of(&mut self, child: &ChildRequest) -> Option<&mut u32> {
        match child.owner {
            Owner::Task => self.tasks.get_mut(child.task).map(|job| &mut job.spot.left),
            Owner::Update(update) => self.updates.get_mut(update).map(|update| &mut update.left),
        }
    }

    /// A child's disk no longer has its load.
    pub(super) fn unload(&mut self, child: &ChildRequest) {
        let load = &mut self.loads[usize::from(child.disk.0)];
        *load = load.less(child.takes);
    }

    /// Has the disks know that a request they serve parts of has changed.
    pub(super) fn tell_children(&mut self, id: JobId, change: Change) {
        let children = self.children.iter().filter(|(_, child)| child.task == id);
        self.posts.extend(children.map(|(id, child)| Post::Amend(id, child.number, change)));
    }

    /// Tells the disks what is to be told, until nothing more follows from it.
    #[inline(always)]
    fn settle_posts(&mut self, now: Time, out: &mut Vec<Action>) {
        while let Some(post) = self.posts.pop_front() {
            let (Post::Submit(id) | Post::Amend(id, ..) | Post::Stop(id, _)) = post;
            let Some(child) = self.children.get(id).copied() else { continue };
            let input = match post {
                Post::Amend(_, number, _) | Post::Stop(_, number) if number != child.number => continue,
                Post::Stop(..) => {
                    self.stop_child(now, id, out);
                    continue;
                }
                Post::Amend(_, _, change) => Input::Amend(RequestId(id), change),
                Post::Submit(_) if !self.standings.works(child.disk) => {
                    self.child_ended(id, Ending::Failed(EIO), out);
                    continue;
                }
                Post::Submit(_) => {
                    if self.rivals.is_some() {
                        self.interrupt_spare_read(now, child.disk, out);
                    }
                    if self.plan.migration == Migration::Jit {
                        self.make_way(id);
                    }
                    let qos = self.tasks.get(child.task).map_or(Qos::default(), |job| job.qos);
                    if self.parts.is_some() {
                        let part = self.part(&child);
                        self.disks[usize::from(child.disk.0)].set_part(part);
                    }
                    Input::Submit(Request { id: RequestId(id), op: child.op, at: child.at, qos })
                }
            };
            self.tell(now, child.disk, input, out);
        }
    }

    /// Tells the disks what is to be told; then those that have nothing to do, what they may read in spare time.
    pub(super) fn settle(&mut self, now: Time, out: &mut Vec<Action>) {
        self.settle_posts(now, out);
        if self.rivals.is_some() {
            self.settle_spare_reads(now, out);
        }
    }

    #[inline(never)]
    fn settle_spare_reads(&mut self, now: Time, out: &mut Vec<Action>) {
        while self.start_spare_read(now, out) {
            self.settle_posts(now, out);
        }
    }

    /// Tells a disk something, and carries out what it decides.
    pub(super) fn tell(&mut self, now: Time, disk: DiskId, input: Input, out: &mut Vec<Action>) {
        if self.plain {
            return self.tell_at_once(now, disk, input, out);
        }
        let core = &mut self.disks[usize::from(disk.0)];
        if core.is_plain() {
            core.handle_plain(now, input, &mut self.told);
        } else {
            core.handle(now, input, &mut self.told);
        }
        let wake = core.wake_at().unwrap_or(Time::NEVER);
        self.note_wake(disk, wake);
        self.carry_out_told(disk, out);
        if self.plan.migration != Migration::Never {
            self.migrate_rest(disk);
        }
    }

    /// When a disk wants to be woken.
    #[inline(always)]
    pub(super) fn note_wake(&mut self, disk: DiskId, wake: Time) {
        if self.wakes[usize::from(disk.0)] != wake {
            self.wakes[usize::from(disk.0)] = wake;
            self.wake = self.wakes.iter().copied().min().unwrap_or(Time::NEVER);
        }
    }

    /// Carries out what a disk has decided.
    pub(super) fn carry_out_told(&mut self, disk: DiskId, out: &mut Vec<Action>) {
        let mut told = std::mem::take(&mut self.told);
        for action in told.drain(..) {
            match action {
                Action::Issue(_, tag, command) => {
                    if let Place::Request(child, _) = command.place
                        && let Some(child) = self.children.get(child.0)
                        && let Some(job) = self.tasks.get_mut(child.task)
                    {
                        job.spot.begun = true;
                    }
                    if self.joined.is_some() {
                        self.gather_units(&command, out);
                    }
                    let place = self.in_array(disk, command.place);
                    if self.rules.tells {
                        self.credit(command.place, place, out);
                    }
                    out.push(Action::Issue(disk, tag, Command { place, ..command }));
                }
                Action::Begin(child) => self.begin_child(child, out),
                Action::Copy { from, to, blocks } => {
                    let (from, to) = (self.in_array(disk, from), self.in_array(disk, to));
                    out.push(Action::Copy { from, to, blocks });
                }
                Action::Xor { .. } | Action::Compare { .. } => debug_assert!(false, "one disk has no parity"),
                Action::GiveUp(_)
                | Action::Complete(_)
                | Action::Grown(..)
                | Action::Mend(..)
                | Action::Record { .. }
                | Action::Forget(_)
                | Action::Log(_) => {
                    debug_assert!(false, "one disk is no array");
                }
                Action::Finish(child, ending) => self.child_ended(child.0, ending, out),
                Action::Wait(child, wait) => {
                    if let Some(child) = self.children.get(child.0) {
                        self.say_wait(child.task, wait, out);
                    }
                }
                // Nothing is wanted of a disk of an array in any order.
                Action::HandOn(at, found) => out.push(Action::HandOn(at, found)),
                Action::Bill(bill) => out.push(Action::Bill(bill)),
                Action::Credit(_) => debug_assert!(false, "one disk knows whose a command is"),
            }
        }
        self.told = told;
    }

    /// Where a disk's bytes are, as the array has it.
    fn in_array(&self, disk: DiskId, place: Place) -> Place {
        match place {
            Place::Nowhere | Place::Scan => place,
            Place::Request(child, into) => {
                self.children.get(child.0).map_or(Place::Nowhere, |child| offset(child.place, into))
            }
            Place::Frame(frame, into) => Place::Frame(FrameId(u32::from(disk.0) * FRAMES + frame.0), into),
        }
    }

    /// The frame of an update: beyond those of the disks, every other one.
    pub(super) fn update_frame(&self, update: u32) -> FrameId {
        FrameId(self.first_frame() + self.frames_each() * update)
    }

    /// A frame of the write buffer: the others.
    pub(super) fn buffer_frame(&self, slot: u32) -> FrameId {
        FrameId(self.first_frame() + self.frames_each() * slot + 1)
    }

    /// The frame of a child whose bytes are not where its task has them: beyond those, every third.
    pub(super) fn frame_of_child(&self, child: u32) -> FrameId {
        FrameId(self.first_frame() + self.frames_each() * child + 2)
    }

    /// Frames beyond those of the disks take turns.
    fn frames_each(&self) -> u32 {
        if self.rivals.is_some() || self.joined.is_some() { 3 } else { 2 }
    }

    fn begin_child(&mut self, child: RequestId, out: &mut Vec<Action>) {
        let Some(child) = self.children.get(child.0) else { return };
        let Some(job) = self.tasks.get_mut(child.task) else { return };
        if !std::mem::replace(&mut job.spot.begun, true) && job.request != NOBODY {
            out.push(Action::Begin(job.request));
        }
        self.say_wait(child.task, Wait::Slack, out);
    }

    /// Says for which request a command is whose bytes are not in that one's memory: what parity is summed from and into.
    fn credit(&self, of_disk: Place, in_array: Place, out: &mut Vec<Action>) {
        if let (Place::Request(child, _), Place::Frame(..) | Place::Nowhere) = (of_disk, in_array)
            && let Some(child) = self.children.get(child.0)
            && let Some(job) = self.tasks.get(child.task).filter(|job| job.request != NOBODY)
        {
            out.push(Action::Credit(job.request));
        }
    }

    fn child_ended(&mut self, id: u32, ending: Ending, out: &mut Vec<Action>) {
        let Some(child) = self.children.remove(id) else {
            debug_assert!(false, "no child {id}");
            return;
        };
        self.unload(&child);
        if self.parts.is_some() && self.is_part(id) {
            self.remove_part(id, &child);
        }
        let meant = child.generation == self.standings.generation(child.disk);
        // What was begun on a disk that is gone may have gone on, on the empty one in its place.
        let ending =
            if meant || ending != Ending::Finished || child.op != Op::Read { ending } else { Ending::Failed(EIO) };
        let refused = matches!(ending, Ending::Failed(errno) if errno != ECANCELED) && child.op != Op::Read;
        if refused && meant && self.spares(child.disk) {
            // A disk that does not take what it is given is of no use any more.
            self.fail(child.disk, out);
        }
        if let Owner::Update(update) = child.owner {
            return self.update_went_on(update, &child, ending, out);
        }
        if self.rivals.is_some() && self.race_goes_on(id, &child, ending, out) {
            return;
        }
        if ending == Ending::Finished && self.joined.is_none() {
            return self.done_one(child.task, out);
        }
        let Some(job) = self.tasks.get(child.task).copied() else { return };
        let works = meant && self.standings.works(child.disk);
        match ending {
            Ending::Finished => self.spread_units(id, &child, out),
            Ending::Failed(_) if job.spot.trouble.is_some() => {}
            Ending::Failed(_) if child.op == Op::Read && self.redundant() && self.is_joined(id) => {
                self.read_units_again(id, &child, &job, out);
            }
            Ending::Failed(_) if child.op == Op::Read && self.redundant() => self.read_again(&child, &job, out),
            Ending::Failed(_) if !works => {
                // What is on another disk too is not lost.
                if self.loses(&child) {
                    self.trouble(child.task, Ending::Failed(EIO));
                }
            }
            Ending::Dropped | Ending::Failed(_) => self.trouble(child.task, ending),
        }
        if self.joined.is_some() {
            self.forget_units(id);
        }
        self.done_one(child.task, out);
    }

    /// Whether there is more than one way to a block.
    pub(super) fn redundant(&self) -> bool {
        self.geometry.level() != Level::Striped
    }

    /// Whether a disk may be given up for not taking what it was given. Of copies the last one stays, and who wrote is told; with
    /// parity a row that is written in part would tell what is missing of it wrong.
    fn spares(&self, disk: DiskId) -> bool {
        let lacks = |other| other == disk || !self.standings.is_sound(other);
        let last = self.standings.is_sound(disk) && !self.geometry.is_whole_without(lacks);
        self.redundant() && (self.geometry.has_parity() || !last)
    }

    /// Whether no sound disk holds what a child of a failed one was to hold.
    fn loses(&self, child: &ChildRequest) -> bool {
        if child.op == Op::Flush {
            return !self.redundant();
        }
        let Some(piece) = self.geometry.piece_on(child.disk, child.at) else { return false };
        self.geometry.copies_of(piece.row, piece.column).all(|disk| !self.standings.holds(disk, child.at))
    }

    /// A disk is of no use any more: what waits for it is had another way.
    pub(super) fn fail(&mut self, disk: DiskId, out: &mut Vec<Action>) {
        if !self.standings.fail(disk) {
            return;
        }
        self.plain = false;
        self.leave(disk, out);
        let children = self.children.iter().filter(|(_, child)| child.disk == disk);
        self.posts.extend(children.map(|(id, child)| Post::Amend(id, child.number, Change::Cancel)));
    }

    /// What a read did not bring is had another way.
    pub(super) fn read_again(&mut self, child: &ChildRequest, job: &Job<Task>, out: &mut Vec<Action>) {
        let Some(mut piece) = self.geometry.piece_on(child.disk, child.at) else { return };
        let first = self.geometry.block(piece.row, piece.column, piece.within);
        piece.into = (first.0 - job.at.start.0) as u32;
        self.read(child.task, job, &piece, Some(child), out);
    }
}

/// So many blocks further.
pub(super) fn offset(place: Place, blocks: u32) -> Place {
    match place {
        Place::Nowhere | Place::Scan => place,
        Place::Request(id, into) => Place::Request(id, into + blocks),
        Place::Frame(id, into) => Place::Frame(id, into + blocks),
    }
}
