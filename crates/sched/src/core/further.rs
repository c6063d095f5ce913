//! What most commands of a core in short commands are: neither the first of their request nor the last, with nobody who could
//! interrupt it. All that follows when such a one comes back is the next, which is worked out here from what is there already.
//!
//! Whether a command is such a one is settled when it is issued, at the end of whatever else happened ([`Core::settle_further`]);
//! as long as nothing else happens, it stays so from one command to the next.

use super::Core;
use crate::board::{Board, Errand};
use crate::plan::Preemption;
use crate::predict::Predictor;
use crate::short::ShortCommands;
use block::{Command, Op, Outcome, Place, Tag, Time, Verb};

/// The tag of a command that is alone in the device.
const ALONE: Tag = Tag(0);

impl<P: Predictor> Core<P> {
    /// Whether commands may go on by themselves at all: none of the parts is there that something passes by with each command, or
    /// that decides by more than rank who interrupts.
    pub(super) fn is_steady(&self) -> bool {
        let board = &self.board;
        let by_rank =
            matches!(board.rules.preemption, Preemption::Never | Preemption::Always | Preemption::Priority);
        self.preemptible.is_some() && by_rank && board.is_steady()
    }

    /// Settles whether all that follows the command in flight, if it comes back well, is the next of its request.
    #[inline(always)]
    pub(super) fn settle_further(&mut self) {
        let short = self.preemptible.as_ref().map(|preemptible| &preemptible.short).filter(|_| self.steady);
        self.further = short.is_some_and(|short| is_within(&self.board, short));
    }

    /// Whether all that follows the command in flight, if it comes back well, is the next of its request, as
    /// [`Core::next_further`] has it.
    #[inline]
    pub(crate) fn goes_further(&self) -> bool {
        self.further
    }

    /// The command in flight came back as it happened: the next of its request, which is in flight from now on. Nothing where that
    /// is not all that follows; then nothing was done. The caller guarantees that it goes further.
    #[inline(always)]
    pub(crate) fn next_further(&mut self, now: Time, outcome: Outcome) -> Option<(Tag, Command)> {
        let short = &mut self.preemptible.as_mut()?.short;
        let (command, more) = self.board.go_further(now, outcome, |board, job| short.chunk(board, job).max(1))?;
        short.arrival = None;
        self.further = more;
        Some((ALONE, command))
    }
}

/// Whether a command of a read is in flight that is neither the first of those for which something is expected nor the last.
fn is_within<P: Predictor>(board: &Board<P>, short: &ShortCommands) -> bool {
    let is_alone = board.rules.preemption == Preemption::Never || board.jobs.len() == 1;
    if board.in_flight() != 1 || !is_alone || short.expected.is_some() || board.belief.patience().is_some() {
        return false;
    }
    let Some((Errand::Job(id), Command { verb: Verb::Read, at, .. })) = board.alone() else { return false };
    let job = board.jobs.get(*id).filter(|job| job.op == Op::Read && short.moving() == Some(*id));
    board.next_deadline().is_none() && job.is_some_and(|job| job.done + at.blocks < job.at.blocks)
}

impl<P: Predictor> Board<P> {
    /// Whether none of its parts is there that something passes by with each command.
    fn is_steady(&self) -> bool {
        let bounded = self.admission.is_some() || self.free.is_some() || self.demands.is_some();
        let shared = self.queue.turns.is_some() || self.rules.budget.is_some() || !self.paying.is_empty();
        !bounded && !shared && !self.rules.bills && !self.rules.divides && !self.queue.follows
    }

    /// The command that is alone in the device.
    fn alone(&self) -> Option<&(Errand, Command)> {
        self.flying.first()?.as_ref()
    }

    /// The command that is alone in the device came back well; the next of its request, of at most so many blocks, and whether that
    /// is not the last either.
    #[inline(always)]
    fn go_further(
        &mut self,
        now: Time,
        outcome: Outcome,
        most: impl FnOnce(&Board<P>, &crate::Job<P::Spot>) -> u32,
    ) -> Option<(Command, bool)> {
        let (Errand::Job(id), before) = *self.flying.first()?.as_ref()? else { return None };
        let job = self.jobs.get_mut(id).filter(|_| outcome == Outcome::Ok)?;
        job.done += before.at.blocks;
        job.failed = 0;
        self.queue.now = now;
        let job = self.jobs.get(id)?;
        let mut at = job.rest();
        let rest = at.blocks;
        at.blocks = rest.min(most(self, job));
        let place = Place::Request(job.request, job.done);
        let command = Command { verb: Verb::Read, at, place, mark: self.rules.class(job.qos.class).mark };
        if let Some(backlog) = &mut self.backlog {
            backlog.read_on(now);
        }
        self.belief.note_further(now, &before, &command);
        if let Some(Some((_, flying))) = self.flying.first_mut() {
            *flying = command;
        }
        Some((command, at.blocks < rest))
    }
}
