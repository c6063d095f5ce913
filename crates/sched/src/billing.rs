//! How the core bills the arm's time: it says who pays for a command before that is issued, and takes what the command took off
//! the class's share when it came back.

use crate::JobId;
use crate::bills::{Bill, Cause};
use crate::board::{Board, Errand};
use crate::event::Action;
use crate::predict::Predictor;
use block::{Command, Direction, Extent, Place, Span, Time, Verb};

impl<P: Predictor> Board<P> {
    /// Says who pays for a command that is about to be issued, and keeps that where classes have shares.
    #[inline(never)]
    pub(crate) fn tell_bill(
        &mut self,
        now: Time,
        errand: Errand,
        tag: usize,
        command: &Command,
        spot: P::Spot,
        out: &mut Vec<Action>,
    ) {
        let Some(bill) = self.bill(now, errand, command, spot) else { return };
        if let Some(paying) = self.paying.get_mut(tag) {
            *paying = Some((bill, now));
        }
        out.push(Action::Bill(bill));
    }

    /// Where a turn for a floor that is owed may wait for a shorter way, whether it does.
    #[inline(never)]
    pub(crate) fn weigh_entry(&mut self, now: Time) {
        let Some(turns) = &mut self.queue.turns else { return };
        let Some(next) = turns.find_entry().filter(|next| next.0 < self.caps.blocks) else { return };
        let at = Extent { start: next, blocks: 1 };
        let way = self.belief.approach(now, at, self.belief.spot(at), Direction::Read);
        turns.weigh_entry(way.map_or(Span::ZERO, |way| way.travel + way.wait));
    }

    /// Has the device write back what a class has in its buffer, where that is due before another class has its turn. Says
    /// whether it has.
    pub(crate) fn drain(&mut self, now: Time, out: &mut Vec<Action>) -> bool {
        let Some(class) = self.queue.turns.as_mut().and_then(|turns| turns.take_drain()) else { return false };
        self.send(now, Errand::Drain(class), Verb::Flush, Extent::default(), Place::Nowhere, out);
        true
    }

    /// A request has kept the device without a command for so long, until its seek was due.
    pub(crate) fn bill_rest(&mut self, rested: Option<(JobId, Span)>) {
        if let (Some((id, span)), Some(turns)) = (rested, &mut self.queue.turns)
            && let Some(job) = self.jobs.get(id)
        {
            turns.bill_rest(job.qos.class, span);
        }
    }

    /// A command came back for which this was to be paid. Of several in the device each counts from when the one before it
    /// came back.
    #[inline(never)]
    pub(crate) fn pay(&mut self, paying: Option<(Bill, Time)>, command: &Command, happened: Time) {
        let since = std::mem::replace(&mut self.last_back, happened);
        let several = self.in_flight() > 0;
        let (Some((bill, issued)), Some(turns)) = (paying, &mut self.queue.turns) else { return };
        let took = happened.since(issued.max(since));
        if command.verb.transfers() && bill.cause != Cause::Slack {
            turns.note_place(bill.class, command.at.end());
        }
        if command.verb == Verb::Flush && command.place == Place::Nowhere {
            return turns.bill_drain(bill.class, took);
        }
        let belief = &self.belief;
        let transfer = belief.transfer(command.at, belief.spot(command.at));
        let way = bill.believed.map_or(Span::ZERO, |(travel, wait)| travel + wait);
        if !several && issued >= since {
            turns.rest(issued.since(since));
        }
        // Whether the device has a buffer nobody tells; where it has none, writing it back takes no time, and puts that right.
        match command.verb {
            Verb::Write { fua: false } => turns.bill_buffered(&bill, took, command.at, (way, transfer)),
            _ if several || issued < since => turns.bill_command(&bill, took, took),
            Verb::Read => {
                let late = belief.completion_time().map_or(Span::ZERO, |expected| happened.since(expected));
                turns.bill_late(&bill, (took, transfer), late);
            }
            _ => turns.bill_late(&bill, (took, transfer), took.less(way + transfer)),
        }
    }

    /// Who pays for a command that is about to be issued; nobody for what the core does to learn the device.
    fn bill(&mut self, now: Time, errand: Errand, command: &Command, spot: P::Spot) -> Option<Bill> {
        let id = match (errand, command.place) {
            (Errand::Job(id), _) => Some(id),
            (Errand::Seek, Place::Request(request, _)) => self.jobs.find(request),
            _ => None,
        };
        let divides = self.rules.shares.is_some() || self.rules.divides;
        let moves = (divides && command.verb.transfers())
            .then(|| self.belief.approach(now, command.at, spot, command.verb.direction()));
        // What the arm is still at is billed to who wrote it.
        let believed = moves.flatten().map(|way| (way.travel.less(way.busy), way.wait));
        let job = id.and_then(|id| self.jobs.get_mut(id));
        let (class, cause) = match (job, errand) {
            (Some(job), _) if self.fills_slack => (job.qos.class, Cause::Slack),
            (Some(job), _) => {
                let resumed = job.detour.map_or(Cause::Request, Cause::Resumed);
                // A part of the seek does not end the detour.
                job.detour = job.detour.filter(|_| errand == Errand::Seek);
                (job.qos.class, resumed)
            }
            (None, Errand::Drain(class)) => (class, Cause::Request),
            (None, Errand::Frame(_)) => (self.reads_ahead_for, Cause::Slack),
            (None, Errand::Free) => self.free.as_ref()?.payer(),
            (None, _) => return None,
        };
        Some(Bill { class, cause, believed })
    }
}
