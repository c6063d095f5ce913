//! What an array asks of the core of one of its disks.

use super::Core;
use crate::Job;
use crate::board::Errand;
use crate::job::JobState;
use crate::predict::Predictor;
use crate::short::ShortCommands;
use block::{Direction, Extent, Op, Request, RequestId, Span, Time};

/// What became of a request that is not to be served any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It waits, or has ended.
    Waits,
    /// It ends with the command in flight, though some of it is left.
    Cut,
    /// The device is at the last of it.
    Ends,
}

impl<P: Predictor> Core<P> {
    /// The read in short commands that is being transferred, and what is left of it.
    pub(crate) fn streaming(&self) -> Option<(RequestId, Extent)> {
        let job = self.board.jobs.get(self.short()?.moving()?)?;
        (job.op == Op::Read).then(|| (job.request, job.rest()))
    }

    /// Blocks of a short command.
    pub(crate) fn chunk(&self) -> Option<u32> {
        self.board.rules.plan.map(|plan| plan.chunk)
    }

    /// Of the request being transferred only so many blocks are to be served here.
    pub(crate) fn cut(&mut self, request: RequestId, blocks: u32) {
        let Some(id) = self.short().and_then(ShortCommands::moving) else { return };
        let board = &mut self.board;
        let Some(job) = board.jobs.get_mut(id).filter(|job| job.request == request) else { return };
        board.overlap.remove(job);
        job.at.blocks = blocks;
        let job = *job;
        board.overlap.add(id, &job, &board.jobs);
    }

    /// When a read is thought to be done here that is begun now; nothing where that is not known.
    pub(crate) fn end_of_read(&self, now: Time, at: Extent) -> Option<Time> {
        let belief = self.belief();
        let way = belief.approach(now, at, belief.spot(at), Direction::Read)?;
        Some(now + way.travel + way.wait + self.transfer(at))
    }

    /// Whether a request has its turn; and when it is then thought to be done, where that is known.
    pub(crate) fn end_of_turn(&self, now: Time, request: RequestId) -> (bool, Option<Time>) {
        let found = self.board.jobs.find(request).and_then(|id| Some((id, self.board.jobs.get(id)?)));
        let Some((id, job)) = found.filter(|(_, job)| job.state == JobState::Serving) else { return (false, None) };
        let own = self.board.flying().find(|(errand, _)| *errand == Errand::Job(id));
        let Some((_, command)) = own else { return (true, self.end_of_read(now, job.rest())) };
        let rest = Extent { start: command.at.end(), blocks: job.rest().blocks.saturating_sub(command.at.blocks) };
        (true, self.belief().completion_time().map(|end| end + self.transfer(rest)))
    }

    /// A request is not to be served here any more, as far as the device has not been told of it: then it waits, and can be cancelled.
    pub(crate) fn stop(&mut self, request: RequestId) -> Stopped {
        let found = self.board.jobs.find(request).and_then(|id| Some((id, *self.board.jobs.get(id)?)));
        let Some((id, job)) = found.filter(|(_, job)| job.state == JobState::Serving) else { return Stopped::Waits };
        let own = self.board.flying().filter(|(errand, _)| *errand == Errand::Job(id));
        let until = job.done + own.map(|(_, command)| command.at.blocks).sum::<u32>();
        if until == job.done {
            let preemptible = self.preemptible.as_mut().filter(|preemptible| preemptible.short.holds(id));
            let Some(preemptible) = preemptible else { return Stopped::Ends };
            preemptible.short.put_back_whole(&mut self.board, id);
            return Stopped::Waits;
        }
        if until >= job.at.blocks || self.short().and_then(ShortCommands::moving) != Some(id) {
            return Stopped::Ends;
        }
        self.cut(request, until);
        Stopped::Cut
    }

    /// The request that was interrupted since this was last asked.
    pub(crate) fn take_interrupted(&mut self) -> Option<RequestId> {
        let id = self.preemptible.as_mut()?.short.interrupted_job.take()?;
        self.board.jobs.get(id).filter(|job| job.state == JobState::Queued).map(|job| job.request)
    }

    /// When a request, were it to come now, would be next here, since all that is served or waits is worth less by the rule of
    /// preemption; nothing where that is not so, or not known.
    pub(crate) fn lets_in(&self, now: Time, request: &Request, part: f32) -> Option<Time> {
        let (board, preemptible) = (&self.board, self.preemptible.as_ref()?);
        let is_bound = board.queue.turns.is_some() || board.rules.budget.is_some() || !board.flushes.is_empty();
        let ongoing = preemptible.short.ongoing(board).filter(|_| !is_bound)?;
        let mut job = Job::new(request, now, self.sequence + 1, board.belief.spot(request.at));
        job.part = part;
        let free = board.belief.completion_time().filter(|_| !board.is_idle()).unwrap_or(now).max(now);
        preemptible.arbiter.lets_in(board, free, &ongoing, &job).then_some(free)
    }

    /// Gives up a waiting request, which then does not end here; how many blocks of it are done.
    pub(crate) fn give_up(&mut self, request: RequestId) -> Option<u32> {
        let id = self.board.jobs.find(request)?;
        let job = *self.board.jobs.get(id)?;
        if job.state != JobState::Queued || job.first_held.is_some() {
            return None;
        }
        self.board.dequeue(id, &job);
        self.board.overlap.remove(&job);
        self.board.discount_demand(&job);
        self.board.jobs.free(id);
        Some(job.done)
    }

    /// From now on a write is worth so many times what it is worth by its class.
    pub(crate) fn weigh_writes(&mut self, weight: f64, fill: f64) {
        (self.board.weight, self.board.leisure.fill) = (weight, fill);
        self.board.queue.weigh_writes(weight);
    }

    /// Whether what requests are worth has a say in whose turn comes when.
    pub(crate) fn goes_by_worth(&self) -> bool {
        self.board.queue.goes_by_worth(&self.board.rules)
    }

    /// What comes from now on counts for so many times what its class says that it is worth.
    pub(crate) fn set_part(&mut self, part: f32) {
        self.part = part;
    }

    /// From now on a request counts for so many times what its class says that it is worth.
    pub(crate) fn weigh_part(&mut self, request: RequestId, part: f32) {
        self.board.weigh_part(request, part);
    }

    /// By how much what a write is worth counts.
    pub(crate) fn write_weight(&self) -> f64 {
        self.board.weight
    }

    /// How long the blocks of an extent take to come, once the first is under the head; nothing where that is not known.
    pub(crate) fn transfer(&self, at: Extent) -> Span {
        if at.blocks == 0 { Span::ZERO } else { self.belief().transfer_of(at) }
    }
}
