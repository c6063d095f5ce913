//! Work for free: blocks wanted in any order are read in the rotational delay of requests, and while there are none.
//!
//! **The requests' order and times stay.** A request is chosen as without this work; then, as long as its first block has not come
//! round, whatever passes under the head is read that leaves the arm in time. Only where what is believed of the drive tells
//! when that is (`Predictor::goal`), and where its commands come back when they should: who is answered by the drive's cache would
//! be kept waiting.
//!
//! **Idle time** begins when no request has come for a while, and is used in commands so short that the drive streams.

mod elsewhere;
mod pieces;
mod returns;

use self::elsewhere::Looked;
use self::pieces::Pieces;
use self::returns::Returns;
use crate::bills::Cause;
use crate::event::{Action, Found};
use crate::predict::{Goal, Passing, Predictor};
use crate::punctual::{Arrival, Punctuality};
use crate::wanted::Wanted;
use crate::whenever::Whenever;
use crate::{Job, JobId};
use block::{Direction, Extent, Lbn, Op, Outcome, Span, Time, Verb};
use std::collections::VecDeque;

/// To come back for a run costs what this part of a track does.
const DETOUR: u64 = 16;
/// A read that turns out too long for its goal is tried so often with an eighth less.
const SHORTER: u32 = 3;

/// A read in idle time is given by this part of a revolution sooner than need be, besides what arrivals are late by.
const EARLIER: u64 = 32;

/// Failures that are kept in mind at most.
const FAILURES: usize = 64;

/// How much sooner than need be the arm is where it need not move, as a share of a revolution: at first, at least, at most.
const STILL_FIRST: u64 = 64;
const STILL_LEAST: u64 = 256;
const STILL_MOST: u64 = 8;

/// What is wanted, and how it may be read.
#[derive(Clone, Debug)]
pub struct FreePlan {
    /// The blocks that nobody has read yet.
    pub wanted: Wanted,
    /// Blocks of a command in idle time.
    pub chunk: u32,
    /// How long there has to be no request before time counts as idle, where some who ask come again soon.
    pub patience: Span,
    /// The class that pays for what is not free.
    pub class: u8,
    /// How often a command is given again to a device that did not do it.
    pub retries: u8,
}

/// When a command is to come back, and whether the arm need not move for it.
#[derive(Clone, Copy, Debug)]
struct ExpectedEnd {
    end: Time,
    is_there: bool,
}

/// Work for free, of one disk.
#[derive(Debug)]
pub(crate) struct Free {
    plan: FreePlan,
    /// The request that was chosen, and is given to the device when nothing more is read before it.
    pub(crate) held: Option<JobId>,
    /// In whose time the blocks in flight are read.
    flying: Found,
    returns: Returns,
    /// While there is no request: from when on time is idle.
    idle_from: Option<Time>,
    /// What is read then, where that was chosen already and waits to come round.
    planned: Option<Extent>,
    /// When the command in flight is to come back.
    expected: Option<ExpectedEnd>,
    /// The same of the first of two, and in whose time that reads.
    followed: Option<(Option<ExpectedEnd>, Found)>,
    /// When it was last looked for what could follow the command in flight.
    pub(crate) looked: Time,
    /// How much sooner than need be the arm has to be where it need not move: found by halves and doubles.
    still: Span,
    punctuality: Punctuality,
    pieces: Pieces,
    /// Kept for its memory: units of which the last piece was read.
    whole: Vec<Extent>,
    /// Requests whose blocks are wanted.
    pub(crate) requests: Whenever,
    /// Whether a command for wanted blocks is in flight.
    pub(crate) is_flying: bool,
    /// What could not be read, and is tried unit by unit; and how often each unit has failed. Of the oldest of many nothing is kept.
    suspects: VecDeque<Extent>,
    failed: VecDeque<(Lbn, u8)>,
}

impl Free {
    pub(crate) fn new(plan: FreePlan) -> Free {
        Free {
            plan,
            held: None,
            flying: Found::Idle,
            returns: Returns::default(),
            idle_from: Some(Time::ZERO),
            planned: None,
            expected: None,
            followed: None,
            looked: Time::ZERO,
            still: Span::ZERO,
            punctuality: Punctuality::default(),
            pieces: Pieces::default(),
            whole: Vec::new(),
            requests: Whenever::default(),
            is_flying: false,
            suspects: VecDeque::new(),
            failed: VecDeque::new(),
        }
    }

    /// The class that pays for its commands, and why: before a request the time was there.
    pub(crate) fn payer(&self) -> (u8, Cause) {
        let own = matches!(self.flying, Found::Idle | Found::Floor);
        (self.plan.class, if own { Cause::Request } else { Cause::Slack })
    }

    /// Adds blocks to what is wanted, for a read that may come back whenever.
    pub(crate) fn want(&mut self, at: Extent) {
        self.pieces.forget(&self.plan.wanted, at);
        self.plan.wanted.want(at.start, at.end());
    }

    /// These blocks are wanted no more.
    pub(crate) fn forget(&mut self, at: Extent) {
        self.pieces.forget(&self.plan.wanted, at);
        self.plan.wanted.remove_read(at);
    }

    /// What is still wanted.
    pub(crate) fn wanted_blocks(&self) -> &Wanted {
        &self.plan.wanted
    }

    /// When it wants to be woken, while there is no request.
    pub(crate) fn wake(&self) -> Option<Time> {
        self.idle_from
    }

    /// What was found to be read fits in the time by which a seek is put off anyway.
    pub(crate) fn fill_slack(&mut self) {
        if self.flying == Found::Source {
            self.flying = Found::Slack;
        }
    }

    /// Where something is wanted and a request waits for its sector: what is read before, and in whose time.
    pub(crate) fn find_before<P: Predictor>(
        &mut self,
        belief: &P,
        now: Time,
        job: &Job<P::Spot>,
        most: u32,
    ) -> Option<Extent> {
        let verb = match job.op {
            Op::Read => Verb::Read,
            Op::Write { fua } => Verb::Write { fua },
            Op::Flush | Op::Repair | Op::Discard(_) | Op::Move => return None,
        };
        if self.plan.wanted.is_empty() || !self.punctuality.holds() {
            return None;
        }
        let first = Extent { blocks: job.rest().blocks.min(most), ..job.rest() };
        if self.still == Span::ZERO {
            self.still = Span(belief.turn().0 / STILL_FIRST);
        }
        let goal = belief.goal(now, verb, first, job.spot, self.still)?;
        let (at, end, found) = self.best_before(belief, now, &goal, most)?;
        self.expected = Some(ExpectedEnd { end, is_there: found == Found::Source });
        self.flying = found;
        Some(at)
    }

    /// The most that can be read before a goal, of the tracks that the arm passes.
    fn best_before<P: Predictor>(
        &self,
        belief: &P,
        now: Time,
        goal: &Goal<P::Spot>,
        most: u32,
    ) -> Option<(Extent, Time, Found)> {
        let arm = belief.arm();
        let source = Lbn(arm.0.saturating_sub(1));
        let unit = u64::from(self.plan.wanted.unit());
        let elsewhere = goal.elsewhere / unit * unit;
        let (wanted, track) = (&self.plan.wanted, belief.track_blocks(goal.spot));
        let detour = (track / DETOUR) as u32;
        let worth = |at: Extent| wanted.worth(at, detour);
        let (mut best, mut known): (Option<(Extent, Time, Found)>, u64) = (None, 0);
        let mut look = |on: Lbn, found: Found| {
            let least = if found == Found::Between { wanted.blocks_worth(known, on, detour) } else { 0 };
            let Some(passing) = belief.passing(now, on, Some(goal), self.still) else { return Looked::TooFar };
            if let Some((at, across, all)) = self.of_track(belief.arm(), &passing, (least, most)) {
                let across = across.and_then(|at| Some((at, belief.ending(now, at, Some(goal))?)));
                let in_time = || across.or_else(|| self.in_time(belief, now, at?, goal));
                if across.map(|(at, _)| at).or(at).is_some_and(|at| worth(at) > known)
                    && let Some((at, end)) = in_time()
                    && worth(at) > known
                {
                    (best, known) = (Some((at, end, found)), worth(at));
                }
                // What is nearly all that there is time for need not be bettered.
                if best.is_some_and(|(best, ..)| u64::from(best.blocks) * 4 >= all * 3) {
                    return Looked::Enough;
                }
            }
            let is_enough = best.is_some_and(|(best, ..)| u64::from(best.blocks) * 4 >= elsewhere * 3);
            if is_enough && found != Found::Source { Looked::Enough } else { Looked::Known(known) }
        };
        let mut known = 0;
        for (on, found) in [(source, Found::Source), (goal.at.start, Found::Destination)] {
            match look(on, found) {
                Looked::Enough => return best,
                Looked::Known(worth) => known = worth,
                Looked::TooFar => {}
            }
        }
        if goal.elsewhere > 0 {
            let ends = [goal.at.start, source];
            self.look_elsewhere(belief, ends, (track, detour), known, &mut |on| look(on, Found::Between));
        }
        best
    }

    /// The longest run of more than `least` wanted blocks that pass on a track while the arm can be there; the same with a last unit that
    /// lies across the end of the track, or that unit alone; and how many blocks could pass.
    fn of_track(
        &self,
        arm: Lbn,
        passing: &Passing,
        (least, most): (u32, u32),
    ) -> Option<(Option<Extent>, Option<Extent>, u64)> {
        let most = most.min(passing.longest);
        let mut best: Option<Extent> = None;
        for (from, until) in passing.ranges {
            best = self.plan.wanted.longest_in(from, until, most, best.map_or(least, |best| best.blocks)).or(best);
        }
        let best = best.map(|best| self.cut(self.lead_in(arm, best, most)));
        let across = self.reach_across(passing, best, most);
        let best = self.with_pieces(passing, best, (least, most));
        if best.is_none() && across.is_none() {
            return None;
        }
        Some((best, across, passing.blocks.min(u64::from(most))))
    }

    /// A run with the pieces of units at the ends of its track, or such a piece alone.
    fn with_pieces(&self, passing: &Passing, run: Option<Extent>, (least, most): (u32, u32)) -> Option<Extent> {
        let wanted = &self.plan.wanted;
        if !self.suspects.is_empty() || self.requests.len() > 0 {
            return run;
        }
        let Some(run) = run else { return if least == 0 { self.pieces.find(wanted, passing) } else { None } };
        Some(self.pieces.extend(wanted, passing, run)).filter(|all| all.blocks <= most).or(Some(run))
    }

    /// A run, or nothing, with the unit behind it that lies across the end of the track, where that passes and is wanted.
    fn reach_across(&self, passing: &Passing, run: Option<Extent>, most: u32) -> Option<Extent> {
        let (unit, end) = (u64::from(self.plan.wanted.unit()), passing.track_end);
        let first = Lbn(end.0 / unit * unit);
        let from = run.map_or(first, |run| run.start);
        let passes = passing.ranges.iter().any(|(from, until)| *from <= first && *until == end && from < until);
        if first == end || !passes || run.is_some_and(|run| run.end() != first) {
            return None;
        }
        let at = self
            .plan
            .wanted
            .first_in(from, Lbn(first.0 + unit), most)
            .filter(|at| at.start == from && at.end() > first)?;
        Some(self.cut(at)).filter(|cut| *cut == at)
    }

    /// A run a little behind where the arm is: what lies between is in the drive by the time it is asked for, if it reads ahead.
    fn lead_in(&self, arm: Lbn, run: Extent, most: u32) -> Extent {
        let unit = u64::from(self.plan.wanted.unit());
        let from = Lbn(arm.0.next_multiple_of(unit));
        let gap = run.start.0.saturating_sub(from.0);
        if from != arm
            || gap == 0
            || gap > u64::from(run.blocks.max(256))
            || gap + u64::from(run.blocks) > u64::from(most)
        {
            return run;
        }
        match self.plan.wanted.first_in(from, run.end(), most) {
            Some(all) if all.start == from && all.end() == run.end() => all,
            _ => run,
        }
    }

    /// A run that leaves the arm in time, shortened where need be.
    fn in_time<P: Predictor>(&self, belief: &P, now: Time, at: Extent, goal: &Goal<P::Spot>) -> Option<(Extent, Time)> {
        let unit = self.plan.wanted.unit();
        let mut at = at;
        for _ in 0..=SHORTER {
            if let Some(end) = belief.ending(now, at, Some(goal)) {
                return Some((at, end));
            }
            // By whole units, wherever it begins.
            let less = u64::from((at.blocks - at.blocks / 8).saturating_sub(unit));
            let end = (at.start.0 + less) / u64::from(unit) * u64::from(unit);
            at.blocks = end.saturating_sub(at.start.0) as u32;
            if at.blocks == 0 {
                return None;
            }
        }
        None
    }

    /// What is suspected to be unreadable is read unit by unit, and what was read in part is not read again.
    fn cut(&self, at: Extent) -> Extent {
        let at = self.pieces.clip(&self.plan.wanted, self.requests.clip(at));
        let meets = |it: &Extent| it.start < at.end() && at.start < it.end();
        match self.suspects.iter().find(|it| meets(it)) {
            Some(_) => Extent { blocks: at.blocks.min(self.plan.wanted.unit()), ..at },
            None => at,
        }
    }

    /// There is a request, or nothing is wanted any more: time is not idle.
    pub(crate) fn end_idleness(&mut self, now: Time) {
        self.returns.end(now, self.plan.patience);
        (self.idle_from, self.planned) = (None, None);
    }

    /// There is no request: whether that has been so for long enough.
    pub(crate) fn is_time_idle(&mut self, now: Time) -> bool {
        let wait = self.returns.wait(now, self.plan.patience);
        now >= *self.idle_from.get_or_insert(now + wait)
    }

    /// In idle time, nothing being in flight: what is read next. Where the arm would wait for it, the device is left alone until it is
    /// nearly there: who comes meanwhile does not wait for that.
    pub(crate) fn find_idle<P: Predictor>(&mut self, belief: &P, now: Time) -> Option<Extent> {
        let is_wanted = |at: &Extent| self.plan.wanted.first_in(at.start, at.end(), at.blocks) == Some(*at);
        if let Some(planned) = self.planned.take().filter(is_wanted).filter(|at| self.requests.clip(*at) == *at) {
            self.flying = Found::Idle;
            return Some(planned);
        }
        let at = self.find_next(belief, now)?;
        let way = belief.approach(now, at, belief.spot(at), Direction::Read);
        let rest = way.map_or(Span::ZERO, |way| way.wait.less(belief.early() + Span(way.turn.0 / EARLIER)));
        if rest > Span(belief.turn().0 / EARLIER) {
            (self.planned, self.idle_from) = (Some(at), Some(now + rest));
            return None;
        }
        Some(at)
    }

    /// What is read next where nothing else is to be done.
    fn find_next<P: Predictor>(&mut self, belief: &P, now: Time) -> Option<Extent> {
        self.flying = Found::Idle;
        let (wanted, chunk) = (&self.plan.wanted, self.plan.chunk);
        let (arm, blocks) = (belief.arm(), Lbn(wanted.blocks()));
        let next = || wanted.first_in(arm, blocks, chunk).or_else(|| wanted.first_in(Lbn(0), blocks, chunk));
        let next = next()?;
        if next.start == arm {
            return Some(self.cut(next));
        }
        let passing = |on: Lbn| {
            let passing = belief.passing(now, on, None, self.still)?;
            passing
                .ranges
                .into_iter()
                .find_map(|(from, until)| wanted.first_in(from, until, chunk.min(passing.longest)))
        };
        Some(self.cut(passing(Lbn(arm.0.saturating_sub(1))).or_else(|| passing(next.start)).unwrap_or(next)))
    }

    /// The turn is its class's, for its floor: what is read.
    pub(crate) fn find_for_floor<P: Predictor>(&mut self, belief: &P, now: Time) -> Option<Extent> {
        let at = self.find_next(belief, now)?;
        self.flying = Found::Floor;
        Some(at)
    }

    /// A request is given to the device, which is to come back then.
    pub(crate) fn expect(&mut self, end: Option<Time>) {
        self.punctuality.next();
        let is_there = self.flying == Found::Destination;
        self.expected = end.map(|end| ExpectedEnd { end, is_there });
        self.flying = Found::Idle;
    }

    /// What is next given to the device follows what is in flight.
    pub(crate) fn keep_followed(&mut self) {
        self.followed = Some((self.expected, self.flying));
    }

    /// What came back, with so many in flight behind it: when it should, and in whose time that was.
    fn take_landed(&mut self, now: Time, turn: Span, behind: u32) -> (Option<ExpectedEnd>, Found) {
        match self.followed.take().filter(|_| behind > 0) {
            Some(first) => {
                // Where the first missed its sector, the other comes a revolution later, under the same angle.
                if let (Some(expected), Some(next)) = (first.0, &mut self.expected)
                    && now.since(expected.end) > Span(turn.0 / 2)
                {
                    next.end += turn;
                }
                first
            }
            None => (self.expected.take(), self.flying),
        }
    }

    /// A request came back, with so many commands in flight behind it: whether that was when it should.
    pub(crate) fn note_done(&mut self, now: Time, turn: Span, behind: u32) {
        let landed = self.take_landed(now, turn, behind).0;
        if let Some(expected) = landed {
            let early = expected.end.since(now) > Span(turn.0 / 32);
            let late = self.note_late(now, turn, landed);
            self.punctuality.add_arrival(if late || early { Arrival::Late } else { Arrival::InTime });
        }
    }

    /// The command in flight came back. Says whether it was late by a revolution, and learns from that where the arm did not move.
    fn note_late(&mut self, now: Time, turn: Span, landed: Option<ExpectedEnd>) -> bool {
        let Some(ExpectedEnd { end, is_there }) = landed else { return false };
        let late = now.since(end) > Span(turn.0 / 2);
        if is_there {
            let still = if late { self.still.0 * 2 } else { self.still.0 - self.still.0 / 64 };
            self.still = Span(still.clamp(turn.0 / STILL_LEAST, turn.0 / STILL_MOST));
        }
        late
    }

    /// A piece of a request came back: so much is wanted no more.
    pub(crate) fn land_piece(&mut self, (now, turn): (Time, Span), at: Extent, outcome: Outcome) {
        let landed = self.expected.take();
        self.note_late(now, turn, landed);
        if outcome == Outcome::Ok {
            self.forget(at);
        }
    }

    /// A command for wanted blocks came back.
    pub(crate) fn land(
        &mut self,
        (now, turn): (Time, Span),
        at: Extent,
        outcome: Outcome,
        behind: u32,
        out: &mut Vec<Action>,
    ) {
        let (landed, flying) = self.take_landed(now, turn, behind);
        self.note_late(now, turn, landed);
        let found = match outcome {
            Outcome::Ok => flying,
            Outcome::Failed(_) if self.gives_up(at) => Found::Unreadable,
            Outcome::Failed(_) => return,
        };
        let mut whole = std::mem::take(&mut self.whole);
        self.pieces.add(&self.plan.wanted, at, &mut whole);
        self.plan.wanted.remove_read(at);
        whole.drain(..).for_each(|unit| self.plan.wanted.remove_read(unit));
        self.whole = whole;
        out.push(Action::HandOn(at, found));
        let wanted = &self.plan.wanted;
        self.failed.retain(|(unit, _)| *unit != at.start);
        self.suspects.retain(|it| wanted.first_in(it.start, it.end(), 1).is_some());
    }

    /// A read failed: of several units each is tried by itself from now on, of one it is counted. Says whether that was once too
    /// often.
    fn gives_up(&mut self, at: Extent) -> bool {
        if at.blocks > self.plan.wanted.unit() {
            keep(&mut self.suspects, at);
            return false;
        }
        let known = self.failed.iter().position(|(unit, _)| *unit == at.start);
        let times = known.and_then(|known| self.failed.remove(known)).map_or(1, |(_, times)| times + 1);
        keep(&mut self.failed, (at.start, times));
        times > self.plan.retries
    }
}

/// Keeps one more of the last so many.
fn keep<T>(last: &mut VecDeque<T>, one: T) {
    if last.len() == FAILURES {
        last.pop_front();
    }
    last.push_back(one);
}

#[cfg(test)]
mod tests;
