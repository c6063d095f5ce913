//! What an array asks for itself, beside what the source asks; and how one disk of it takes the place of another.
//!
//! Its requests have numbers above all that the source gives its own, so that neither is told of the other's.

use super::{LiveWorld, Remaining, RequestSource, copy_of};
use crate::array::{Clients, MOST_ERRANDS, is_same};
use crate::kernel::Kernel;
use block::errno::EIO;
use block::{Discarded, DiskId, Ending, Op, Outcome, Place, Request, RequestId, Tag, Time};
use load::requests;
use sched::array::Grown;
use sched::{Action, Health, Input, Likeness};

/// What of the requests outstanding is the array's own.
#[derive(Default)]
pub(super) struct Errands {
    outstanding: u32,
    /// When the last request of the source ended.
    silent_from: Time,
}

impl<S: RequestSource, K: Kernel> LiveWorld<S, K> {
    fn clients(&self) -> Clients {
        Clients { outstanding: self.outstanding - self.errands.outstanding, silent_from: self.errands.silent_from }
    }

    /// The number of an errand, where a request is one.
    fn errand_number(&self, id: RequestId) -> Option<u32> {
        let number = id.0.checked_sub(self.source.numbers())?;
        (number < MOST_ERRANDS).then_some(number)
    }

    /// Whether a request is the source's.
    pub(super) fn is_asked(&self, id: RequestId) -> bool {
        self.first.len() == 1 || id.0 < self.source.numbers()
    }

    /// Nobody waits any longer for a disk that hangs: what it has counts as failed, and it gets nothing more.
    pub(super) fn abandon(&mut self, now: Time, disk: DiskId) {
        self.deaf[usize::from(disk.0)] = true;
        self.news.push_back(Input::Disk(disk, Health::Failed));
        let first = self.first[usize::from(disk.0)];
        for tag in self.tags_of(disk.0.into()) {
            if std::mem::replace(&mut self.issued[tag], Time::NEVER) == Time::NEVER {
                continue;
            }
            self.abandoned[tag] = true;
            match self.reads[tag].take() {
                Some((Place::Request(id, _), _)) => self.source.renew_memory(id, &mut self.pool),
                Some((Place::Frame(frame, _), _)) => {
                    let held = self.frames[frame.0 as usize].take();
                    self.frames[frame.0 as usize] = Some(copy_of(held, &mut self.pool, 0));
                }
                _ => {}
            }
            self.payers[tag] = (None, None);
            if let Some(ledger) = &mut self.ledger {
                ledger.end_command(now, disk, Tag(tag as u32 - first), requests::parts([]));
            }
            self.news.push_back(Input::Done(disk, Tag(tag as u32 - first), now, Outcome::Failed(EIO)));
        }
    }

    /// Disks that the core gave up count no more: before anybody is told of what they do not hold, the others know.
    pub(super) fn give_up_leaving(&mut self, now: Time) {
        if self.leaving.is_empty() {
            return;
        }
        let leaving = std::mem::take(&mut self.leaving);
        self.lacking.extend(&leaving);
        let whole = self.unit.is_whole_without(&self.lacking);
        let known = self.unit.give_up(&leaving);
        self.go_on(now);
        for disk in &leaving {
            self.source.on_give_up(*disk, if whole { Remaining::All } else { Remaining::Part });
        }
        if !whole || !known {
            self.source.flush_failed();
        }
        // Others that are of no use either the core knows of before it goes on.
        self.hear_refusals();
        self.news.extend(leaving.into_iter().map(|disk| Input::Disk(disk, Health::Known)));
    }

    /// What the array asks for now, or what becomes of a disk of it.
    fn errand(&mut self, now: Time, room: u32) -> Option<Input> {
        if self.first.len() == 1 {
            return None;
        }
        if let Some(disk) = self.unit.next_change() {
            // What it still has counts as failed; then the other is there.
            self.abandon(now, disk);
            self.news.push_back(Input::Disk(disk, Health::Replaced));
            return self.next_news();
        }
        if let Some((disk, health)) = self.unit.join() {
            if health == Health::JoinsForParity {
                self.lacking.push(disk);
            }
            return Some(Input::Disk(disk, health));
        }
        if let Some((disk, health)) = self.unit.next_health() {
            if health == Health::LeavesWithParity {
                // What it still has counts as failed; then it is gone.
                self.abandon(now, disk);
                self.news.push_back(Input::Disk(disk, health));
                return self.next_news();
            }
            return Some(Input::Disk(disk, health));
        }
        if room == 0 || self.source.is_over() {
            return None;
        }
        let errand = self.unit.next_errand(now, self.clients());
        self.hear_refusals();
        let errand = errand?;
        self.last = if self.outstanding == 0 { now } else { self.last };
        self.count_errand();
        let id = RequestId(self.source.numbers() + errand.number);
        Some(Input::Submit(Request { id, op: errand.op, at: errand.at, qos: errand.qos }))
    }

    pub(super) fn count_errand(&mut self) {
        (self.outstanding, self.errands.outstanding) = (self.outstanding + 1, self.errands.outstanding + 1);
    }

    pub(super) fn uncount_errand(&mut self) {
        (self.outstanding, self.errands.outstanding) = (self.outstanding - 1, self.errands.outstanding - 1);
    }

    /// What is asked for now: by the array, or by the source. What is on a log is written again before anybody else asks.
    pub(super) fn ask(&mut self, now: Time, room: u32) -> Option<Input> {
        if self.replays() {
            return self.next_replay(room);
        }
        if let Some(input) = self.errand(now, room) {
            return Some(input);
        }
        let (source, mut hands) = self.split();
        let input = source.ask(now, room, &mut hands)?;
        if let Input::Submit(request) = &input {
            self.note_discard(request);
            if let Some(ledger) = &mut self.ledger {
                ledger.submit(now, request);
            }
            self.last = if self.outstanding == 0 { now } else { self.last };
            self.outstanding += 1;
        }
        Some(input)
    }

    /// What the source asks goes on to the core, unless the disks of an array have no room for it: then it has failed, and nothing of it
    /// was begun.
    pub(super) fn admit(&mut self, now: Time, input: Input) -> Option<Input> {
        let Input::Submit(Request { id, op: Op::Write { .. }, at, .. }) = input else { return Some(input) };
        if self.first.len() == 1 || id.0 >= self.source.numbers() {
            return Some(input);
        }
        match self.unit.make_room(at) {
            Ok(()) => Some(input),
            Err(errno) => {
                self.end_request(now, id, Ending::Failed(errno));
                None
            }
        }
    }

    /// When it or the source does something by itself.
    pub(super) fn asks_at(&mut self, room: u32) -> Option<Time> {
        if self.replays() {
            return None;
        }
        [self.source.due(room), self.errand_due(room)].iter().flatten().min().copied()
    }

    /// A request has ended.
    pub(super) fn end_request(&mut self, now: Time, id: RequestId, how: Ending) {
        if self.is_replay(id) {
            return self.end_replay();
        }
        let errand = self.end_errand(now, id, how);
        self.outstanding -= 1;
        if errand {
            return;
        }
        if let Some(ledger) = &mut self.ledger
            && let Some(served) = self.source.take_record(now, id)
        {
            ledger.end(id, &served, Some(how));
        }
        let (source, mut hands) = self.split();
        source.on_end(now, id, how, &mut hands);
    }

    /// What the core is told next. A disk's place is taken when that one is given up, which may have to wait.
    pub(super) fn next_news(&mut self) -> Option<Input> {
        self.give_up_leaving(self.now);
        if self.news.is_empty() {
            return None;
        }
        let (lacking, foretold) = (self.unit.lacking(), self.unit.foretold());
        let is_given_up = |disk: &DiskId| lacking.contains(disk) && !foretold.contains(disk);
        let is_due = |input: &Input| !matches!(input, Input::Disk(disk, Health::Replaced) if !is_given_up(disk));
        let input = self.news.iter().position(is_due).and_then(|place| self.news.remove(place))?;
        Some(self.take_news(input))
    }

    /// What waited for a disk that was given up goes on.
    pub(super) fn go_on(&mut self, now: Time) {
        if let Err(error) = self.unit.go_on(now, &mut self.kernel) {
            self.failed.get_or_insert(error);
        }
    }

    /// An array has grown so far, and its disks are to know.
    pub(super) fn note_grown(&mut self, now: Time, grown: Grown) {
        if let Err(error) = self.unit.note_grown(now, grown, &mut self.kernel) {
            self.failed.get_or_insert(error);
        }
        if !self.unit.geometry().is_some_and(|geometry| geometry.is_growing()) {
            self.source.resize(self.unit.bytes());
        }
        self.hear_refusals();
    }

    /// A record of the array's journal is about to be written, or is done with.
    pub(super) fn keep_record(&mut self, action: &Action) {
        let memory = match *action {
            Action::Record { place, blocks, kept, .. } => self.memory(place, 1 + kept.count_ones() * u32::from(blocks)),
            _ => None,
        };
        self.unit.keep_record(action, memory.as_ref());
    }

    /// What nobody needs any more is the array's to give up.
    fn note_discard(&mut self, request: &Request) {
        if request.op == Op::Discard(Discarded::Anything) {
            self.unit.note_discard(request.at);
        }
    }

    /// When it asks for more.
    fn errand_due(&self, room: u32) -> Option<Time> {
        let asks = self.first.len() > 1 && room > 0 && !self.source.is_over();
        asks.then(|| self.unit.errand_due(self.clients())).flatten()
    }

    /// A request has ended: whether it was an errand.
    fn end_errand(&mut self, now: Time, id: RequestId, how: Ending) -> bool {
        if self.first.len() == 1 {
            return false;
        }
        let Some(number) = self.errand_number(id) else {
            self.errands.silent_from = now;
            return false;
        };
        self.errands.outstanding -= 1;
        self.unit.end_errand(now, number, how);
        self.hear_refusals();
        true
    }

    /// Whether two places hold the same.
    pub(super) fn compare(&mut self, one: Place, other: Place, blocks: u32) -> Likeness {
        let alike = match (self.memory(one, blocks), self.memory(other, blocks)) {
            (Some(one), Some(other)) => is_same(&one, &other),
            _ => false,
        };
        if alike { Likeness::Alike } else { Likeness::Unlike }
    }

    /// News of a disk whose place another takes: it does so now, when nothing of the one before is awaited any more.
    pub(super) fn take_news(&mut self, input: Input) -> Input {
        let Input::Disk(disk, Health::Replaced) = input else { return input };
        // What is still to be told of the one before is not true of this one.
        self.news.retain(|news| *news != Input::Disk(disk, Health::Failed));
        if !self.unit.change_disk(disk) {
            return Input::Disk(disk, Health::Failed);
        }
        let at = usize::from(disk.0);
        self.deaf[at] = false;
        let tags = self.tags_of(at);
        self.abandoned[tags].fill(false);
        if !self.lacking.contains(&disk) {
            self.lacking.push(disk);
        }
        if self.hangs.take_if(|hung| *hung == disk).is_some() {
            self.source.recover();
        }
        self.hear_refusals();
        input
    }
}

/// What a core is told of an array's disks at the beginning.
pub(super) fn first_news(lacking: Vec<DiskId>, filling: &[(DiskId, u64)]) -> impl Iterator<Item = Input> {
    let filled = filling.iter().map(|(disk, until)| Input::Disk(*disk, Health::Filled(*until)));
    let filled: Vec<Input> = filled.collect();
    lacking.into_iter().map(|disk| Input::Disk(disk, Health::Failed)).chain(filled)
}
