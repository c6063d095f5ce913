//! The non-volatile write buffer (Preemptive RAID scheduling, Section 3.2.2): a write that fits is done at once, and is written
//! to the disks later; one that does not waits for room.

use super::children::offset;
use super::claims::Claims;
use super::logged::{InFrame, LogState, LoggedWrites, logged_blocks};
use super::{Array, ArrayPlan, Task};
use crate::JobId;
use crate::event::{Action, LogOrder};
use crate::fill::Fill;
use crate::predict::Predictor;
use block::{Ending, Extent, Op, Place, RequestId, Time};
use std::collections::VecDeque;

/// The request of a write that nobody waits for any more.
pub(super) const NOBODY: RequestId = RequestId(u32::MAX);

/// The write buffer of an array.
#[derive(Debug)]
pub(super) struct Buffer {
    /// Blocks there is room for.
    room: u64,
    used: u64,
    /// Frames, by the slot of the task that writes what is in them; a free one has none.
    free: Vec<u32>,
    frames: u32,
    /// Writes that wait for room, by their numbers, which are in order of arrival; and what they claim.
    waiting: VecDeque<(u64, JobId)>,
    claims: Claims,
    since: Time,
    from: Time,
    pub(super) fill: Fill,
    /// What of it is in a log, where it is.
    pub(super) log: Option<LoggedWrites>,
}

impl Buffer {
    /// One of an array that keeps at most `limit` requests: in a log half as many, so that there is room for those who read.
    pub(super) fn new(plan: &ArrayPlan, limit: u32) -> Buffer {
        Buffer {
            room: plan.buffer,
            used: 0,
            free: Vec::new(),
            frames: 0,
            waiting: VecDeque::new(),
            claims: Claims::default(),
            since: Time::ZERO,
            from: Time::ZERO,
            fill: Fill::default(),
            log: plan.logged.then(|| LoggedWrites::new(limit.div_ceil(2))),
        }
    }

    pub(super) fn count_from(&mut self, from: Time) {
        self.from = from;
    }

    /// How much of the room a write takes.
    fn cost(&self, blocks: u32) -> u64 {
        if self.log.is_some() { logged_blocks(blocks) } else { blocks.into() }
    }

    /// Whether a write can be buffered at all.
    fn takes(&self, blocks: u32) -> bool {
        self.cost(blocks) <= self.room
    }

    /// Whether a request is refused: where there is a log, each write must be in it, so that none is undone by what is there.
    pub(super) fn refuses(&self, op: Op, at: Extent) -> bool {
        let Some(log) = &self.log else { return false };
        log.refuses(op, at) || matches!(op, Op::Write { .. }) && !self.takes(at.blocks)
    }

    /// Frames that are taken.
    fn count_taken(&self) -> u32 {
        self.frames - self.free.len() as u32
    }

    /// Those that wait for room wait no more.
    pub(super) fn take_waiting(&mut self) -> impl Iterator<Item = JobId> + use<> {
        std::mem::take(&mut self.waiting).into_iter().map(|(_, id)| id)
    }

    /// Where among those that wait a write is, by its number.
    fn place(&self, sequence: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&sequence, |(sequence, _)| *sequence).ok()
    }

    /// How full it is, from 0 to 1.
    fn share(&self) -> f64 {
        let share = self.used as f64 / self.room.max(1) as f64;
        self.log.as_ref().map_or(share, |log| share.max(f64::from(self.count_taken()) / f64::from(log.most)))
    }

    /// How full it is changes by now.
    fn pass(&mut self, now: Time) {
        let span = now.since(self.since.max(self.from));
        self.fill.add_span(self.used, span);
        if !self.waiting.is_empty() {
            self.fill.full += span;
        }
        self.since = now;
    }

    /// Takes room for a write of so many blocks, if there is any.
    fn take_room(&mut self, now: Time, blocks: u32) -> bool {
        let closed = self.log.as_ref().is_some_and(|log| log.state != LogState::Kept);
        let used = self.used + self.cost(blocks);
        if closed || used > self.room {
            return false;
        }
        self.pass(now);
        self.used = used;
        if now >= self.from {
            self.fill.most = self.fill.most.max(self.used);
        }
        true
    }

    /// Room for so many blocks: a frame, if there is room.
    fn take(&mut self, now: Time, blocks: u32) -> Option<u32> {
        let full = self.log.as_ref().is_some_and(|log| self.count_taken() >= log.most);
        if full || !self.take_room(now, blocks) {
            return None;
        }
        Some(self.free.pop().unwrap_or_else(|| {
            self.frames += 1;
            self.frames - 1
        }))
    }

    fn give_back(&mut self, now: Time, frame: u32, blocks: u32) {
        self.pass(now);
        self.used -= match &mut self.log {
            Some(log) => log.settle(frame),
            None => blocks.into(),
        };
        self.free.push(frame);
    }
}

/// What writing a block out of the buffer is worth, of what a block is worth by itself: little while it is nearly empty, very
/// much when it is nearly full (SYSTEM, Section 7.3: I_wr).
fn drain(share: f64) -> f64 {
    let between = |from: f64, to: f64| (share - from) / (to - from);
    match share {
        share if share < 0.3 => 0.05,
        share if share < 0.7 => 0.05 + 0.95 * between(0.3, 0.7),
        share if share < 0.95 => 1.0 + 9.0 * between(0.7, 0.95) * between(0.7, 0.95),
        _ => 10.0 + 90.0 * between(0.95, 1.0),
    }
}

impl<P: Predictor> Array<P> {
    /// A write that has come goes into the buffer, or waits for room in it. Says whether it waits.
    pub(super) fn admit(&mut self, id: JobId, out: &mut Vec<Action>) -> bool {
        let Some(job) = self.tasks.get(id).copied() else { return false };
        let Some(buffer) = self.buffer.as_mut().filter(|buffer| buffer.takes(job.at.blocks)) else { return false };
        if !buffer.waiting.is_empty() || !self.put_in(id, out) {
            let Some(buffer) = &mut self.buffer else { return false };
            buffer.pass(self.now);
            buffer.waiting.push_back((job.sequence, id));
            buffer.claims.push(job.sequence, id);
            buffer.fill.blocked += u64::from(self.now >= buffer.from);
            self.weigh();
            return true;
        }
        false
    }

    /// Puts a write into the buffer, which ends it; false if there is no room.
    fn put_in(&mut self, id: JobId, out: &mut Vec<Action>) -> bool {
        let (Some(buffer), Some(job)) = (&mut self.buffer, self.tasks.get_mut(id)) else { return false };
        let Some(frame) = buffer.take(self.now, job.at.blocks) else { return false };
        let (request, at, blocks) = (job.request, job.at, job.at.blocks);
        job.spot.buffered = Some(frame);
        job.request = NOBODY;
        // It leaves the buffer when it is on the medium, not in a drive's memory.
        job.op = Op::Write { fua: !self.plan.trusting };
        // What it was worth has been got.
        job.qos.deadline = None;
        let to = Place::Frame(self.buffer_frame(frame), 0);
        if let Some(job) = self.tasks.get_mut(id) {
            job.spot.base = to;
        }
        out.push(Action::Copy { from: Place::Request(request, 0), to, blocks });
        let log = self.buffer.as_mut().and_then(|buffer| buffer.log.as_mut());
        out.push(match log.map(|log| log.add(frame, blocks, InFrame::Alone)) {
            Some(number) => Action::Log(LogOrder::Write { number, request, at, place: to }),
            None => Action::Finish(request, Ending::Finished),
        });
        self.weigh();
        true
    }

    /// A write that was buffered is on the disks, or lost because none takes it: there is room for others.
    pub(super) fn free_frame(&mut self, frame: u32, at: Extent, lost: bool, out: &mut Vec<Action>) {
        let Some(buffer) = &mut self.buffer else { return };
        buffer.fill.lost += u64::from(lost);
        if lost && buffer.log.is_some() {
            return self.get_stuck(at, out);
        }
        buffer.give_back(self.now, frame, at.blocks);
        if let Some(log) = &buffer.log {
            out.push(Action::Log(LogOrder::Settled(log.oldest())));
            self.tell_drained(out);
        }
        while let Some((_, id)) = self.buffer.as_ref().and_then(|buffer| buffer.waiting.front().copied()) {
            if !self.put_in(id, out) {
                break;
            }
            if let Some(buffer) = &mut self.buffer {
                buffer.waiting.pop_front();
            }
            self.start_or_hold(id, out);
        }
        self.weigh();
    }

    /// A write no longer waits for room; false if it did not.
    pub(super) fn no_longer_waits(&mut self, id: JobId) -> bool {
        let (Some(buffer), Some(job)) = (&mut self.buffer, self.tasks.get(id)) else { return false };
        buffer.place(job.sequence).is_some_and(|place| buffer.waiting.remove(place).is_some())
    }

    /// What a write is worth is another from now on, if it waits for room.
    pub(super) fn claims_anew(&mut self, id: JobId) {
        let (Some(buffer), Some(job)) = (&mut self.buffer, self.tasks.get(id)) else { return };
        if buffer.place(job.sequence).is_some() {
            buffer.claims.push(job.sequence, id);
        }
    }

    /// What lies wholly in the last buffered write that meets it is read there, or written there if nothing of that has gone to a
    /// disk yet. Says whether that is all.
    pub(super) fn answer_from_buffer(&mut self, id: JobId, out: &mut Vec<Action>) -> bool {
        let Some(job) = self.tasks.get(id) else { return false };
        let (request, at, writes) = (job.request, job.at, job.op.writes());
        let Some(last) = self.overlap.blocker(job).and_then(|last| self.tasks.get(last)) else { return false };
        let (held, Task { base, begun, buffered, .. }) = (last.at, last.spot);
        let Some(frame) = buffered.filter(|_| job.op != Op::Repair && within(at, held) && !(writes && begun)) else {
            return false;
        };
        let Some(buffer) = &mut self.buffer else { return false };
        if writes && buffer.log.is_some() && !(buffer.waiting.is_empty() && buffer.take_room(self.now, at.blocks)) {
            return false;
        }
        let number = buffer.log.as_mut().filter(|_| writes).map(|log| log.add(frame, at.blocks, InFrame::WithOthers));
        let here = offset(base, (at.start.0 - held.start.0) as u32);
        let there = Place::Request(request, 0);
        let (from, to) = if writes { (there, here) } else { (here, there) };
        out.push(Action::Copy { from, to, blocks: at.blocks });
        if let (Some(number), Some(job)) = (number, self.tasks.get_mut(id)) {
            out.push(Action::Log(LogOrder::Write { number, request, at, place: here }));
            job.request = NOBODY;
            self.weigh();
        }
        self.end(id, Ending::Finished, out);
        true
    }

    /// Tells the disks what writing out of the buffer is worth now: I_wr, and the most that a write that waits for room yields,
    /// per block (Eq. 3).
    fn weigh(&mut self) {
        let Some(buffer) = &mut self.buffer else { return };
        let waits = |sequence: u64, id: JobId| {
            self.tasks.get(id).filter(|job| job.sequence == sequence && job.spot.buffered.is_none())
        };
        buffer.claims.tidy(buffer.waiting.len(), |sequence, id| waits(sequence, id).is_some());
        let blocked = buffer.claims.most(|sequence, id| {
            let job = waits(sequence, id)?;
            let worth = self.rules.class(job.qos.class).worth;
            Some(worth.at(job.at.blocks, &job.qos, job.arrived, self.now) / worth.fresh(job.at.blocks).max(1e-9))
        });
        let weight = drain(buffer.share()) + blocked;
        let fill = buffer.share();
        for disk in &mut self.disks {
            disk.weigh_writes(weight, fill);
        }
    }
}

fn within(at: Extent, held: Extent) -> bool {
    held.start <= at.start && at.end() <= held.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draining_is_worth_more_the_fuller_it_is() {
        let shares = [0.0, 0.29, 0.31, 0.5, 0.7, 0.8, 0.95, 0.99, 1.0].map(drain);
        assert!(shares.windows(2).all(|pair| pair[0] <= pair[1]), "{shares:?}");
        assert_eq!((drain(0.0), drain(0.7), drain(1.0)), (0.05, 1.0, 100.0));
        assert!((drain(0.95) - 10.0).abs() < 1e-9);
    }
}
