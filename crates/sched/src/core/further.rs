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
        let by_rank = matches!(board.rules.preemption, Preemption::Never | Preemption::Always | Preemption::Priority);
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
    let Some((Errand::Job(id), Command { verb: Verb::Read, at, .. })) = board.alone() else { return false };
    let is_alone = board.rules.preemption == Preemption::Never || board.jobs.len() == 1;
    if board.in_flight() != 1 || !is_alone || short.expected.is_some() || board.belief.patience().is_some() {
        return false;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Action, Input};
    use crate::plan::{Plan, Rules};
    use crate::policy::{self, Beside};
    use crate::predict::Profile;
    use block::errno::EIO;
    use block::{Caps, Change, DiskId, Extent, Qos, Request, RequestId, SeekBy, Span};
    use disk::Sheet;

    /// Two cores that are told the same, of which one takes the way of all inputs, always.
    struct Twins {
        cores: [Core<Profile>; 2],
        flying: Option<(Tag, Command)>,
        outstanding: Vec<u32>,
        now: Time,
        further: u32,
    }

    impl Twins {
        fn new(sheet: &Sheet, preemption: Preemption) -> Twins {
            let caps = Caps { blocks: sheet.mechanics.layout.blocks(), depth: 1, seek: SeekBy::Command, arms: 1 };
            let rules = Rules { plan: Some(Plan::of_chunk(32)), preemption, ..Rules::default() };
            let policy = || policy::usual("sstf").make(&Beside::default());
            let core = || Core::new(caps, 64, Profile::new(sheet), rules.clone(), Box::new(policy));
            Twins { cores: [core(), core()], flying: None, outstanding: Vec::new(), now: Time::ZERO, further: 0 }
        }

        /// Whether both believe and keep the same in every respect: too long to write down after each input.
        fn compare_all(&self) {
            let all = |core: &Core<Profile>| {
                format!("{:?} {:?} {:?} {:?}", core.pulse(), core.tally(), core.board.backlog, core.belief())
            };
            assert!(all(&self.cores[0]) == all(&self.cores[1]), "at {:?}", self.now);
        }

        fn hear(&mut self, input: Input) {
            let now = self.now;
            let mut told = Vec::new();
            let next = match input {
                Input::Done(.., outcome) if self.cores[0].goes_further() => self.cores[0].next_further(now, outcome),
                _ => None,
            };
            match next {
                Some((tag, command)) => told.push(Action::Issue(DiskId(0), tag, command)),
                None => self.cores[0].handle(now, input, &mut told),
            }
            self.further += u32::from(next.is_some());
            let mut other = Vec::new();
            self.cores[1].handle(now, input, &mut other);
            assert_eq!(told, other, "at {now:?}, after {input:?}");
            let [one, two] = self.cores.each_ref().map(|core| {
                let belief = core.belief();
                let believed = (belief.completion_time(), belief.arm(), belief.early(), belief.phase().at(now));
                (core.wake_at(), core.arrival(), core.goes_further(), believed)
            });
            assert_eq!(one, two, "at {now:?}, after {input:?}");
            for action in told {
                match action {
                    Action::Issue(_, tag, command) => self.flying = Some((tag, command)),
                    Action::Finish(request, _) => self.outstanding.retain(|other| *other != request.0),
                    _ => {}
                }
            }
        }

        /// The command in flight comes back, most often when it is thought to.
        fn come_back(&mut self, draw: &mut impl FnMut(u64) -> u64) {
            let Some((tag, command)) = self.flying.take() else { return };
            let foreseen = self.cores[1].belief().completion_time().unwrap_or(self.now + Span(1_000_000));
            let off = if draw(4) == 0 { Span(draw(3_000_000)) } else { Span(draw(4)) };
            let early = draw(12) == 0;
            self.now = if early { self.now + Span(300_000) } else { foreseen.max(self.now) + off };
            let failed = draw(30) == 0 && command.verb == Verb::Read;
            let outcome = if failed { Outcome::Failed(EIO) } else { Outcome::Ok };
            self.hear(Input::Done(DiskId(0), tag, self.now, outcome));
        }

        fn submit(&mut self, blocks: u64, draw: &mut impl FnMut(u64) -> u64) {
            let Some(id) = (0..64).find(|id| !self.outstanding.contains(id)) else { return };
            let op = if draw(6) == 0 { Op::Write { fua: draw(4) == 0 } } else { Op::Read };
            let region = if draw(2) == 0 { 4000 } else { blocks - 3000 };
            let most = if draw(3) == 0 { 40 } else { 3000 };
            let at = Extent::new(draw(region), 1 + draw(most) as u32);
            let deadline = (draw(6) == 0).then(|| self.now + Span(draw(40_000_000)));
            let priority = draw(2) as u8;
            self.outstanding.push(id);
            self.hear(Input::Submit(Request {
                id: RequestId(id),
                op,
                at,
                qos: Qos { class: priority, priority, deadline },
            }));
        }
    }

    #[test]
    fn a_command_that_goes_further_is_followed_by_what_any_is_followed_by() {
        let mut state = 11u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for model in ["atlas10k", "st318437lw", "hp-335h"] {
            let sheet = disk::catalogue::find(model).expect("it is in the catalogue").sheet;
            for preemption in [Preemption::Never, Preemption::Always, Preemption::Priority] {
                let mut twins = Twins::new(&sheet, preemption);
                for step in 0..4000 {
                    let wake = twins.cores[1].wake_at();
                    match draw(100) {
                        0..3 => twins.submit(sheet.mechanics.layout.blocks(), &mut draw),
                        3 if !twins.outstanding.is_empty() => {
                            let id = twins.outstanding[draw(twins.outstanding.len() as u64) as usize];
                            let qos = Qos { class: draw(3) as u8, ..Qos::default() };
                            let change = if draw(3) == 0 { Change::Cancel } else { Change::Qos(qos) };
                            twins.hear(Input::Amend(RequestId(id), change));
                        }
                        _ if twins.flying.is_some() => twins.come_back(&mut draw),
                        _ => {
                            twins.now = wake.unwrap_or(twins.now + Span(50_000)).max(twins.now);
                            twins.hear(Input::Wake);
                        }
                    }
                    if step % 40 == 0 {
                        twins.compare_all();
                    }
                }
                assert!(twins.further > 300, "{model}, {preemption:?}: {}", twins.further);
            }
        }
    }

    #[test]
    fn who_weighs_or_shares_goes_no_further_by_itself() {
        let sheet = disk::catalogue::find("atlas10k").expect("it is in the catalogue").sheet;
        let steady = |preemption| Twins::new(&sheet, preemption).cores[0].steady;
        assert!([Preemption::Never, Preemption::Always, Preemption::Priority].into_iter().all(steady));
        let weighing = [Preemption::Conservative, Preemption::Aggressive, Preemption::Lookahead, Preemption::Slo];
        assert!(!weighing.into_iter().any(steady));
    }
}
