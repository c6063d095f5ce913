//! Reads that go on at another copy (Preemptive RAID scheduling, Sections 2.3 and 2.4).

use super::Array;
use super::children::{ChildRequest, Post, offset};
use crate::predict::Predictor;
use block::{Direction, DiskId, Extent, Lbn, Op, Request, RequestId, Span, Time};
use config::{Word, Words};
use std::cmp::Reverse;

/// What is not worth moving has fewer blocks: 64 KiB.
const LEAST_MOVED: u32 = 128;
/// Places at which another disk may take over that are looked at.
const PLACES: u32 = 64;
/// Steps that the disk keeps at least: what is under way, and the next.
const EARLIEST: u32 = 2;

/// Whether what a disk was interrupted in goes on elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Migration {
    /// No: it waits where it was.
    #[default]
    Never,
    /// What is left of an interrupted read joins the queue of the disk that is thought to be done first.
    Remainder,
    /// A read whose disk another request comes to goes on at a disk that lies idle, or that it may interrupt in what is worth less
    /// than both, from where that can take over without delaying it (JIT-migration); what is interrupted all the same, as with
    /// `Remainder`.
    Jit,
}

impl Words for Migration {
    const WORDS: &'static [Word<Migration>] = &[
        Word::new("never", Migration::Never, "it waits at its own disk"),
        Word::new(
            "remainder",
            Migration::Remainder,
            "what is left of it joins the queue of another copy, where it will be done sooner",
        ),
        Word::new(
            "jit",
            Migration::Jit,
            "as soon as a request comes to its disk, it goes on at a copy whose disk lies idle, or may be interrupted by both, \
             from where that copy can take over in time",
        ),
    ];
}

impl<P: Predictor> Array<P> {
    /// What is left of a read that was interrupted on a disk goes where it is thought to be done first.
    pub(super) fn migrate_rest(&mut self, disk: DiskId) {
        let Some(request) = self.disks[usize::from(disk.0)].take_interrupted() else { return };
        let Some(child) = self.children.get(request.0).copied() else { return };
        let (Migration::Remainder | Migration::Jit, Op::Read) = (self.plan.migration, child.op) else { return };
        if self.races(request.0) || self.is_joined(request.0) {
            return;
        }
        let wait = |to: &DiskId| match self.lets_in(*to, &child) {
            Some(free) => free.since(self.now),
            None => self.loads[usize::from(to.0)],
        };
        let Some((to, wait)) = self.others(&child).map(|to| (to, wait(&to))).min_by_key(|(_, wait)| *wait) else {
            return;
        };
        if wait + self.positioning >= self.loads[usize::from(disk.0)] {
            return;
        }
        let Some(done) = self.disks[usize::from(disk.0)].give_up(request) else { return };
        self.go_on(&child, done, child.at.blocks - done, to);
        self.children.remove(request.0);
        self.unload(&child);
        self.remove_part(request.0, &child);
        if let Some(left) = self.left_of(&child) {
            *left -= 1;
        }
    }

    /// The sound disks with another copy of what a child reads.
    fn others(&self, child: &ChildRequest) -> impl Iterator<Item = DiskId> + use<'_, P> {
        let (own, at) = (child.disk, child.at);
        let piece = self.geometry.piece_on(own, at).into_iter();
        let copies = piece.flat_map(|piece| self.geometry.copies_of(piece.row, piece.column));
        copies.filter(move |disk| *disk != own && self.standings.holds(*disk, at))
    }

    /// When a disk that is at work would be free for a child of another, whose task is worth more than all that is served or waits
    /// there: by the rule of preemption in force, and as far as the disk has been told.
    fn lets_in(&self, disk: DiskId, child: &ChildRequest) -> Option<Time> {
        let qos = self.tasks.get(child.task)?.qos;
        // Where more is about to come, it is not known how things stand.
        let is_told = |post: &Post| {
            let Post::Submit(id) = post else { return true };
            self.children.get(*id).is_none_or(|child| child.disk != disk)
        };
        let is_settled = self.later.is_empty() && self.posts.iter().all(is_told);
        let request = Request { id: RequestId(u32::MAX), op: child.op, at: child.at, qos };
        let core = &self.disks[usize::from(disk.0)];
        core.lets_in(self.now, &request, self.part(child)).filter(|_| is_settled)
    }

    /// Another disk goes on with a child, from `from` on for so many blocks.
    fn go_on(&mut self, child: &ChildRequest, from: u32, blocks: u32, to: DiskId) {
        let at = Extent { start: Lbn(child.at.start.0 + u64::from(from)), blocks };
        self.moved += 1;
        // There it has been tried nowhere yet.
        let id = self.child(ChildRequest { disk: to, at, place: offset(child.place, from), tried: 0, ..*child });
        match self.plan.delay {
            Span::ZERO => self.posts.push_back(Post::Submit(id)),
            delay => self.later.push(Reverse((self.now + delay, id))),
        }
    }

    /// A child comes to its disk: what that reads may go on elsewhere.
    #[inline(never)]
    pub(super) fn make_way(&mut self, newcomer: u32) {
        let Some(newcomer) = self.children.get(newcomer).copied() else { return };
        let disk = newcomer.disk;
        let Some((request, rest)) = self.disks[usize::from(disk.0)].streaming() else { return };
        // Of what is asked of another copy anyway nothing moves there.
        let child =
            self.children.get(request.0).copied().filter(|_| !self.races(request.0) && !self.is_joined(request.0));
        let Some(child) = child else { return };
        let left = ChildRequest { at: rest, ..child };
        let Some((kept, to)) = self.others(&child).find_map(|to| {
            let free = self.free_for(to, &left, &newcomer)?;
            Some((self.takes_over(disk, to, rest, free)?, to))
        }) else {
            return;
        };
        let done = (rest.start.0 - child.at.start.0) as u32;
        self.disks[usize::from(disk.0)].cut(request, done + kept);
        if let Some(child) = self.children.get_mut(request.0) {
            child.at.blocks = done + kept;
        }
        if let (Some(parts), true) = (&mut self.parts, child.is_of_task()) {
            parts.shrink(child.task, (rest.blocks - kept).into());
        }
        self.go_on(&child, done + kept, rest.blocks - kept, to);
    }

    /// When a disk can turn to what is left of a read that makes way for another: now where it lies idle; where it does not, when it
    /// would be free for either, since what waits there then is to be worth less than both.
    fn free_for(&self, to: DiskId, left: &ChildRequest, newcomer: &ChildRequest) -> Option<Time> {
        if self.loads[usize::from(to.0)] == Span::ZERO {
            return Some(self.now);
        }
        self.lets_in(to, newcomer)?;
        self.lets_in(to, left)
    }

    /// After how many blocks of what a disk reads another, which is free then, can go on in time, the fewest; nothing if there is no
    /// such place.
    fn takes_over(&self, disk: DiskId, to: DiskId, rest: Extent, free: Time) -> Option<u32> {
        let (ours, theirs) = (&self.disks[usize::from(disk.0)], &self.disks[usize::from(to.0)].belief());
        let step = (rest.blocks / PLACES).max(ours.chunk()?);
        let asked = free.max(self.now + self.plan.delay);
        (EARLIEST..).map(|i| i * step).take_while(|kept| kept + LEAST_MOVED <= rest.blocks).find(|kept| {
            let here = ours.transfer(Extent { blocks: *kept, ..rest });
            let at = Extent { start: Lbn(rest.start.0 + u64::from(*kept)), blocks: rest.blocks - kept };
            let way = theirs.approach(asked, at, theirs.spot(at), Direction::Read);
            way.is_some_and(|way| asked.since(self.now) + way.travel + way.wait <= here)
        })
    }
}
