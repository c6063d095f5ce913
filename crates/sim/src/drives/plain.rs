//! A world in which nothing happens but requests and completions, as most do: what happens goes to the core by value, and what that
//! decides is carried out at once.

use super::{Drives, Measured, Stage};
use crate::arms::Arms;
use block::{BadInput, Outcome, Tag, Time};
use drive::Machine;
use sched::{Action, ActionSink, Input, Scheduler, World};

/// A plain world that carries out at once what is decided.
struct AtOnce<'w, W> {
    world: &'w mut W,
    now: Time,
    /// Whether there is one disk: known where the loop is made.
    one: bool,
    rest: &'w mut Vec<Action>,
}

impl<M: Machine, L: Measured> ActionSink for AtOnce<'_, Drives<'_, M, L>> {
    #[inline(always)]
    fn push(&mut self, action: Action) {
        match action {
            Action::Issue(disk, tag, command) if self.one => self.world.issue::<true>(self.now, disk, tag, command),
            Action::Issue(disk, tag, command) => self.world.issue::<false>(self.now, disk, tag, command),
            Action::Finish(id, how) => self.world.end_request::<true>(self.now, id, how),
            other => self.world.act(self.now, other),
        }
    }

    #[inline(always)]
    fn gather<T>(&mut self, decide: impl FnOnce(&mut Vec<Action>) -> T) -> T {
        let told = decide(self.rest);
        self.world.act_all(self.now, self.rest);
        told
    }
}

impl<M: Machine, L: Measured> Drives<'_, M, L> {
    /// The next thing that happens, as [`World::step`] has it.
    #[inline(always)]
    pub(super) fn step_plain(&mut self, core: &mut impl Scheduler, rest: &mut Vec<Action>) -> bool {
        // Until the measured time is over nothing but the end of a request ends a stage; what is followed then
        // is not played plainly, nor is what happens while a probe is in flight.
        if self.over || self.probing > 0 || core.wake_at().is_some() {
            return false;
        }
        let one = core.has_one_disk();
        let done = self.ends.of(if one { 0 } else { self.ends.first() });
        let has_room = core.room() > 0;
        // Without room a load waits, or does what needs none.
        let (waits, goes_on) = (!has_room && !L::GOES_ON, !has_room && L::GOES_ON);
        let due = if goes_on { self.due_crowded(done) } else { self.load.due() };
        let due = due.unwrap_or(Time::NEVER).max(self.now);
        self.crowded |= waits && due <= done;
        if done <= due || waits {
            if done > self.until || done == Time::NEVER {
                return false;
            }
            self.now = done;
            let input = if one { self.happen_in_drive::<true>() } else { self.happen_in_drive::<false>() };
            if let Some(input) = input {
                core.handle_plain(done, input, &mut AtOnce { world: self, now: done, one, rest });
            }
            return true;
        }
        if due > self.until || due == Time::NEVER {
            return false;
        }
        self.now = due;
        self.begin_measuring(due, None);
        let said = match goes_on {
            true => Ok(self.load.fire_crowded(due)),
            false => self.load.fire(due, self.ends.mean_left(self.now)),
        };
        match said {
            Ok(Some(Input::Submit(request))) => {
                self.outstanding += 1;
                self.wrote |= request.op.writes();
                core.handle_plain(due, Input::Submit(request), &mut AtOnce { world: self, now: due, one, rest });
                true
            }
            said => {
                self.say_rarely(core, said, rest);
                true
            }
        }
    }

    /// Whether a command of the one drive may come back without a look at what else there may be: nobody looks on but whoever holds
    /// arrivals against what was believed of them.
    pub(super) fn is_told_by_value(&self) -> bool {
        let follows = matches!(self.stage, Stage::Following(..));
        let has_fates = !self.fates.is_empty() || !self.dead.is_empty();
        let looks_on = self.camera.is_some() || self.moves.is_some() || self.billing.is_some();
        self.lanes.len() == 1 && !follows && !has_fates && !looks_on && self.host.is_none()
    }

    /// The command that is alone in the one drive comes back, as [`World::next_done`] has it.
    #[inline(always)]
    pub(super) fn next_done_alone(&mut self, room: u32) -> Option<(Time, Tag, Outcome)> {
        let is_foretold = self.arms.as_ref().is_some_and(Arms::awaits);
        let done = self.ends.of(0);
        let due = self.load.due().unwrap_or(Time::NEVER).max(self.now);
        if self.over || is_foretold || room == 0 || done > due || done > self.until || done == Time::NEVER {
            return None;
        }
        self.now = done;
        match self.happen_in_drive::<true>()? {
            Input::Done(_, tag, now, outcome) => Some((now, tag, outcome)),
            _ => None,
        }
    }

    /// What a plain world has to say beyond requests, and bad input, after which nothing happens any more.
    #[cold]
    fn say_rarely(&mut self, core: &mut impl Scheduler, said: Result<Option<Input>, BadInput>, rest: &mut Vec<Action>) {
        match said {
            Ok(Some(input)) => {
                core.handle(self.now, input, rest);
                self.act_all(self.now, rest);
            }
            Ok(None) => {}
            Err(error) => (self.failed, self.over) = (Some(error), true),
        }
    }

    /// Carries out what was decided off the hot path.
    #[inline(never)]
    fn act_all(&mut self, now: Time, rest: &mut Vec<Action>) {
        rest.drain(..).for_each(|action| self.act(now, action));
    }
}
