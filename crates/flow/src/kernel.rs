//! What the system does for a process: a step at a time.

use crate::cache::{Content, FrameRoom};
use crate::events::ModelEventKind;
use crate::picture::IssuedRequest;
use crate::process::{Pid, ProcessState, ProcessStep, StepOutcome};
use crate::requests::{Criticality, Purpose, RequestState, id};
use crate::system::ProcessSystem;
use block::{Change, Extent, Op, Request, Time};
use load::experiment::PAGE;
use sched::Input;

impl ProcessSystem {
    /// The next step of a process that has its processor.
    pub(crate) fn step(&mut self, pid: Pid, now: Time) -> StepOutcome {
        let (step, again) = match self.process(pid).step.take() {
            Some(step) => (step, true),
            None => (self.process(pid).program.next(now), false),
        };
        match step {
            ProcessStep::Compute(span) => StepOutcome::Takes(self.scale(span)),
            ProcessStep::Read { page, ahead } => match self.read(pid, (page, ahead), now, again) {
                Some(slot) => self.wait(pid, slot, ProcessStep::Read { page, ahead }, now),
                None => StepOutcome::Done,
            },
            ProcessStep::Write { page } => match self.write(pid, page, now) {
                Some(slot) => self.wait(pid, slot, ProcessStep::Write { page }, now),
                None => StepOutcome::Done,
            },
            ProcessStep::Ask { key, op, at, criticality } => {
                let slot = self.ask(pid, (op, at), criticality, Purpose::Direct, now);
                if let (Some((key, awaited)), Some(asked)) = (key, self.requests.get(slot)) {
                    asked.awaited = awaited;
                    self.named.insert(key, slot);
                    self.is_there(key, slot, now);
                }
                StepOutcome::Done
            }
            ProcessStep::Await { key, blocks } => self.await_named(pid, key, blocks, now),
            ProcessStep::Flush { parts } => {
                for frame in self.cache.sweep(parts) {
                    self.write_out(pid, frame, Criticality::Noncritical, now);
                }
                StepOutcome::Done
            }
            ProcessStep::Pause { span } => StepOutcome::Leaves(ProcessState::Until(now + span)),
            ProcessStep::Sleep { channel, blocks } => {
                match self.signals.get_mut(&channel).filter(|signals| **signals > 0) {
                    Some(signals) => {
                        *signals -= 1;
                        StepOutcome::Done
                    }
                    None if blocks => StepOutcome::Leaves(ProcessState::ForTold(channel)),
                    None => StepOutcome::Leaves(ProcessState::On(channel)),
                }
            }
            ProcessStep::Wakeup { channel } => {
                self.wake(channel);
                StepOutcome::Done
            }
            ProcessStep::Yield => StepOutcome::Yields,
            ProcessStep::Lock { lock } => self.lock(pid, lock, now),
            ProcessStep::Unlock { lock } => {
                self.unlock(pid, lock);
                StepOutcome::Done
            }
            ProcessStep::Fork(program) => {
                self.create(program);
                StepOutcome::Done
            }
            ProcessStep::Exit => {
                self.unlock_all(pid);
                StepOutcome::Leaves(ProcessState::Gone)
            }
        }
    }

    /// A process waits for a request, and looks again then.
    fn wait(&mut self, pid: Pid, slot: Option<u32>, step: ProcessStep, now: Time) -> StepOutcome {
        self.process(pid).step = Some(step);
        match slot {
            Some(slot) => {
                self.raise_to_critical(slot, now);
                StepOutcome::Leaves(ProcessState::ForRequest(slot))
            }
            // Every frame is being read: there will be one.
            None => StepOutcome::Leaves(ProcessState::Until(now + self.plan.clock)),
        }
    }

    /// Reads a page through the cache; what has to end before, if it is not there.
    #[expect(clippy::option_option, reason = "nothing to wait for; nothing known to wait for")]
    fn read(&mut self, pid: Pid, (page, ahead): (u64, Option<u64>), now: Time, again: bool) -> Option<Option<u32>> {
        if let Some(frame) = self.cache.find(page) {
            let content = self.cache.frame(frame).content;
            let asked = self.cache.frame(frame).ahead.take();
            let waits = matches!(content, Content::Reading(_));
            if let Some(asked) = asked {
                self.limit(pid, now.since(asked));
                self.account.in_time += u64::from(!waits);
            }
            if let Content::Reading(slot) = content {
                return Some(Some(slot));
            }
            self.account.cache_hits += u64::from(!again);
            self.cache.set(frame, content);
            self.read_ahead(pid, ahead, now);
            return None;
        }
        let found = match self.find_room(pid, now) {
            Ok(frame) => frame,
            Err(slot) => return Some(slot),
        };
        let slot = self.ask(pid, (Op::Read, extent(page)), Criticality::Critical, Purpose::Frame(found), now);
        self.cache.assign(found, page, Content::Reading(slot));
        self.read_ahead(pid, ahead, now);
        Some(Some(slot))
    }

    /// Has a page read that is not there, if there is a clean frame for it.
    fn read_ahead(&mut self, pid: Pid, ahead: Option<u64>, now: Time) {
        let Some(page) = ahead.filter(|page| self.cache.find(*page).is_none()) else { return };
        let FrameRoom::Frame(frame, useless) = self.cache.room() else { return };
        if useless {
            self.count_useless();
        }
        let slot = self.ask(pid, (Op::Read, extent(page)), Criticality::Limited, Purpose::Frame(frame), now);
        self.cache.assign(frame, page, Content::Reading(slot));
        self.cache.frame(frame).ahead = Some(now);
    }

    /// Writes a whole page into the cache; what has to end before, if there is no place for it.
    #[expect(clippy::option_option, reason = "as in `read`")]
    fn write(&mut self, pid: Pid, page: u64, now: Time) -> Option<Option<u32>> {
        if let Some(frame) = self.cache.find(page) {
            let content = match self.cache.frame(frame).content {
                Content::Reading(slot) => return Some(Some(slot)),
                Content::Writing(slot, _) => Content::Writing(slot, true),
                Content::Clean | Content::Dirty => Content::Dirty,
            };
            self.cache.set(frame, content);
            return None;
        }
        match self.find_room(pid, now) {
            Ok(frame) => {
                self.cache.assign(frame, page, Content::Dirty);
                None
            }
            Err(slot) => Some(slot),
        }
    }

    /// A clean frame; or the write that makes one, which is critical now.
    fn find_room(&mut self, pid: Pid, now: Time) -> Result<u32, Option<u32>> {
        match self.cache.room() {
            FrameRoom::Frame(frame, useless) => {
                if useless {
                    self.count_useless();
                }
                Ok(frame)
            }
            FrameRoom::Writing(slot) => Err(Some(slot)),
            FrameRoom::Dirty(frame) => Err(Some(self.write_out(pid, frame, Criticality::Critical, now))),
            FrameRoom::None => Err(None),
        }
    }

    /// A page that was read ahead for nothing also cost an interrupt.
    fn count_useless(&mut self) {
        self.account.useless += 1;
        self.account.false_computation += self.scale(self.plan.io_interrupt);
    }

    fn write_out(&mut self, pid: Pid, frame: u32, criticality: Criticality, now: Time) -> u32 {
        let page = self.cache.frame(frame).page.unwrap_or(0);
        let what = (Op::Write { fua: false }, extent(page));
        let slot = self.ask(pid, what, criticality, Purpose::Frame(frame), now);
        self.cache.becomes(frame, Content::Writing(slot, false));
        slot
    }

    /// What some wait for by name was asked for.
    fn is_there(&mut self, key: u32, slot: u32, now: Time) {
        for pid in (0..self.processes.len() as u32).map(Pid) {
            if self.process(pid).standing == ProcessState::ForName(key) {
                let blocks = matches!(self.process(pid).step, Some(ProcessStep::Await { blocks: true, .. }))
                    || self.is_waited_for(pid);
                self.stands(pid, if blocks { ProcessState::ForRequest(slot) } else { ProcessState::Watching(slot) });
                if blocks {
                    self.raise_to_critical(slot, now);
                }
            }
        }
    }

    fn await_named(&mut self, pid: Pid, key: u32, blocks: bool, now: Time) -> StepOutcome {
        let step = ProcessStep::Await { key, blocks };
        let blocks = blocks || self.is_waited_for(pid);
        let Some(slot) = self.named.get(&key).copied() else {
            self.process(pid).step = Some(step);
            return StepOutcome::Leaves(ProcessState::ForName(key));
        };
        let Some(asked) = self.requests.get(slot).map(|asked| *asked) else { return StepOutcome::Done };
        if blocks && asked.criticality == Criticality::Limited {
            self.limit(asked.asker, now.since(asked.arrived));
            self.account.in_time += u64::from(asked.seen);
        }
        if !asked.seen {
            if blocks {
                return self.wait(pid, Some(slot), step, now);
            }
            self.process(pid).step = Some(step);
            return StepOutcome::Leaves(ProcessState::Watching(slot));
        }
        let left = asked.awaited - 1;
        if let Some(asked) = self.requests.get(slot) {
            asked.awaited = left;
        }
        if left == 0 {
            self.named.remove(&key);
            self.requests.release(slot);
        }
        StepOutcome::Done
    }

    /// Issues a request to the device, and returns its number.
    fn ask(
        &mut self,
        asker: Pid,
        (op, at): (Op, Extent),
        criticality: Criticality,
        purpose: Purpose,
        now: Time,
    ) -> u32 {
        let counted = match criticality {
            Criticality::Critical => &mut self.account.critical,
            Criticality::Limited => &mut self.account.limited,
            Criticality::Noncritical => &mut self.account.noncritical,
        };
        *counted += 1;
        let limit = self.estimate_limit(asker, criticality, now);
        let counts = self.meter.joins(self.classes.qos(criticality, limit).class, now);
        let slot = self.requests.insert(RequestState {
            at,
            purpose,
            issued_as: criticality,
            criticality,
            asker,
            arrived: now,
            counts,
            limit: limit.filter(|_| criticality == Criticality::Limited),
            began: Time::NEVER,
            external: 0,
            waits: false,
            ended: false,
            seen: false,
            awaited: 0,
        });
        if let Some(recorder) = &mut self.recorder {
            let critical = (criticality == Criticality::Critical).then_some(now);
            let made = IssuedRequest { number: 0, op, at, issued_as: criticality, asked: now, critical, ended: None };
            recorder.asks(slot, made);
        }
        let qos = self.classes.qos(criticality, limit);
        self.outbox.push_back(Input::Submit(Request { id: id(slot), op, at, qos }));
        self.note(ModelEventKind::Request(id(slot)));
        slot
    }

    /// Somebody waits for a request now.
    pub(crate) fn raise_to_critical(&mut self, slot: u32, now: Time) {
        let Some(asked) = self.requests.get(slot) else { return };
        if asked.criticality < Criticality::Critical {
            asked.criticality = Criticality::Critical;
            if let Some(made) = self.recorder.as_mut().and_then(|recorder| recorder.request(slot)) {
                made.critical = Some(now);
            }
            self.account.raised += 1;
            let qos = self.classes.qos(Criticality::Critical, self.plan.limits.then_some(now));
            self.outbox.push_back(Input::Amend(id(slot), Change::Qos(qos)));
        }
    }

    fn wake(&mut self, channel: u32) {
        let sleeps = |standing| matches!(standing, ProcessState::On(of) | ProcessState::ForTold(of) if of == channel);
        let asleep = self.processes.iter().position(|process| sleeps(process.standing));
        match asleep {
            Some(pid) => self.enable(Pid(pid as u32)),
            None => *self.signals.entry(channel).or_default() += 1,
        }
    }
}

/// Where a page lies.
fn extent(page: u64) -> Extent {
    Extent::new(page * u64::from(PAGE), PAGE)
}
