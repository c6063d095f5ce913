//! The world of simulated drives, one or many.
//!
//! The hot path is `step`, twice a request, inlined into the loop of [`sched::play`]: with one drive at which nobody looks what
//! happens next is a completion or a request. Everything else is for `next` and `act`, which work the same out with all there may
//! be besides: several drives, disks that fail, bills, and whatever looks on (a film, a ledger, how arms move), whose code is in
//! `shown`. What both do is in functions that are `PLAIN` for the one and not for the other.

mod arm_time;
mod billed;
mod ends;
mod events;
mod fates;
mod lane;
mod late;
mod measured;
mod plain;
mod progress;
mod shown;

pub(crate) use arm_time::ArmTime;
use billed::Billing;
use ends::DriveEnds;
use events::Events;
use lane::{Issued, Lane};
use late::LateHost;
pub(crate) use measured::Measured;
use progress::{RunProgress, TELL_EVERY};

use crate::arms::Arms;
use crate::camera::Camera;
use crate::moves::Moves;
use crate::probes::is_probe;
use crate::tell::Tell;
use block::errno::EIO;
use block::{BadInput, Command, DiskId, Ending, Outcome, Place, RequestId, Span, Tag, Time};
use drive::{Account, Machine};
use flow::Picture;
use sched::{Action, Health, Input, Scheduler, World};
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

/// When a run ends, if not by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stop {
    /// Stop when this much time has passed.
    pub(crate) after: Option<Span>,
    /// After so many measured requests.
    pub(crate) requests: Option<u64>,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing counts until so many requests have ended.
    Settling(u64),
    /// Until the run's time or requests are over.
    Measuring(Time),
    /// Until whatever arrived in the measured time has ended, with the load going on as before; at the latest then, or
    /// when more requests than so many are outstanding.
    Following(u32),
}

/// What is outstanding at the end is followed for as long as the run took until then, and at least for so long.
const FOLLOW: Span = Span(60_000_000_000);

/// Where this many more are outstanding than at the end of the measured time, and by an eighth, the load is more than the
/// drive can do: to follow requests then would not end, and cost ever more.
const OVERLOAD: u32 = 1000;

/// Devices and the load on them.
pub(crate) struct Drives<'a, M, L: Measured> {
    lanes: Vec<Lane<M>>,
    /// When something next happens in each, and in which first.
    ends: DriveEnds,
    load: L,
    stop: Stop,
    stage: Stage,
    /// Whether the stage is over: worked out when a request ends, since until the measured time is over nothing else ends one.
    over: bool,
    /// When it is over at the latest.
    until: Time,
    now: Time,
    /// Whether nothing happens any more.
    dry: bool,
    /// Whether the time to follow requests was over before they had ended.
    gave_up: bool,
    /// Commands a drive takes at once.
    depth: usize,
    /// Who pays for the arms' time, where that is asked for.
    billing: Option<Box<Billing>>,
    /// How many requests are outstanding.
    outstanding: u32,
    /// Of how many drives the arm is not accounted yet.
    unmeasured: usize,
    /// What becomes of disks, the first first.
    fates: VecDeque<(Time, DiskId, Health)>,
    dead: Vec<DiskId>,
    /// Whether a request was ever due while the core had no room.
    crowded: bool,
    /// Whether anything was written.
    wrote: bool,
    /// Probes that the drive has.
    probing: u32,
    /// Requests ended, for the watcher.
    ended: u64,
    progress: RunProgress<'a>,
    camera: Option<Camera>,
    /// By how much what a write is worth counts, as far as a film is told.
    weight: Rc<Cell<f64>>,
    /// How the arm moved, where that is asked for.
    moves: Option<Moves>,
    /// How well the arm's arrivals are foretold, where seeks are timed.
    arms: Option<Arms>,
    /// Whether a camera, moves or arms are there: one test on the way of each command.
    watched: bool,
    failed: Option<BadInput>,
    /// A host that hears late of what happens, if it does.
    host: Option<Box<LateHost>>,
    /// What the measured time came to, once it is over.
    measures: Option<Measures>,
}

/// What is known of the measured time at its end.
struct Measures {
    accounts: Vec<Account>,
    probes: u64,
    end: Time,
}

/// What is left of a world when it has ended.
pub(crate) struct Remains<L> {
    pub(crate) load: L,
    /// The account of each drive.
    pub(crate) accounts: Vec<Account>,
    /// Whether the core ever had no room.
    pub(crate) crowded: bool,
    /// Whether anything was written.
    pub(crate) wrote: bool,
    /// Probes in idle time.
    pub(crate) probes: u64,
    pub(crate) camera: Option<Camera>,
    pub(crate) picture: Option<Picture>,
    pub(crate) moves: Option<Moves>,
    /// When the measured time ended.
    pub(crate) end: Time,
    /// Requests that never end, and why, where it is the clock.
    pub(crate) unfinished: u64,
    pub(crate) timeless: bool,
}

impl<'a, M: Machine, L: Measured> Drives<'a, M, L> {
    /// The world of these drives, and what looks on.
    pub(crate) fn new(drives: Vec<M>, load: L, stop: Stop, tell: Tell<'a>, camera: Option<Camera>) -> Drives<'a, M, L> {
        let depth = drives.iter().map(|drive| usize::from(drive.caps().depth)).max().unwrap_or(1);
        let from = load.meter().from();
        let settles = if camera.as_ref().is_some_and(Camera::is_brief) { 0 } else { load.settles() };
        let mut world = Drives {
            ends: DriveEnds::new(drives.len()),
            unmeasured: drives.len(),
            outstanding: 0,
            lanes: drives.into_iter().map(|machine| Lane::new(machine, depth)).collect(),
            load,
            stop,
            billing: None,
            stage: Stage::Settling(settles),
            over: false,
            until: Time::NEVER,
            now: Time::ZERO,
            dry: false,
            gave_up: false,
            depth,
            fates: VecDeque::new(),
            dead: Vec::new(),
            crowded: false,
            wrote: false,
            probing: 0,
            ended: 0,
            progress: RunProgress::new(tell),
            watched: camera.is_some(),
            camera,
            weight: Rc::new(Cell::new(1.0)),
            moves: None,
            arms: None,
            failed: None,
            host: None,
            measures: None,
        };
        match settles {
            0 => world.measure(from),
            // Until then nothing counts.
            _ => world.load.meter_mut().begin(Time::NEVER, None, None),
        }
        world
    }

    /// Whether the load has yet to settle before anything counts.
    pub(crate) fn settles(&self) -> bool {
        matches!(self.stage, Stage::Settling(_))
    }

    /// The load has settled: from now on things count.
    pub(crate) fn begin(&mut self) -> Time {
        let now = self.now;
        // Not what an arm did until then, either, where it is at one command all the measured time.
        for (disk, lane) in self.lanes.iter_mut().enumerate() {
            lane.machine.take_account(now);
            self.billing.iter_mut().for_each(|billing| billing.begin(disk, now));
        }
        self.measure(now);
        now
    }

    fn measure(&mut self, from: Time) {
        let until = self.stop.after.map(|after| from + after);
        self.until = until.unwrap_or(Time::NEVER);
        self.stage = Stage::Measuring(self.until);
        self.load.meter_mut().begin(from, self.stop.requests, until);
        // It may have failed, or been stopped, while it settled.
        self.over = self.failed.is_some() || self.is_over();
    }

    /// Where a film is told, after each input, by how much what a write is worth counts.
    pub(crate) fn weight(&self) -> Rc<Cell<f64>> {
        Rc::clone(&self.weight)
    }

    /// Follows how the arm moves.
    pub(crate) fn following(self, moves: Option<Moves>, arms: Option<Arms>) -> Self {
        let watched = self.watched || moves.is_some() || arms.is_some();
        Drives { moves, arms, watched, ..self }
    }

    /// The measured time is over. Says whether something that arrived in it is to be followed further.
    pub(crate) fn close(&mut self) -> bool {
        let end = match self.stage {
            Stage::Measuring(until) if until < Time::NEVER => until,
            _ => self.now,
        };
        self.begin_measuring(end, None);
        let mut accounts: Vec<Account> = self.lanes.iter_mut().map(|lane| lane.machine.take_account(end)).collect();
        self.close_bills(&accounts);
        self.lanes.iter().zip(&mut accounts).for_each(|(lane, account)| lane.probes.put_aside(account));
        self.bill_only_class(&accounts);
        let probes = self.lanes.iter().map(|lane| lane.probes.count).sum();
        self.measures = Some(Measures { accounts, probes, end });
        self.load.meter_mut().close(end);
        self.load.close(end);
        let most = self.outstanding.saturating_add(OVERLOAD.max(self.outstanding / 8));
        self.until = end + FOLLOW.max(end.since(Time::ZERO));
        self.stage = Stage::Following(most);
        self.over = self.is_over();
        !self.dry && !self.is_brief() && self.failed.is_none() && self.load.meter().awaits(self.load.due())
    }

    /// Ends the run, whose measured time is over.
    pub(crate) fn finish(mut self) -> Result<Remains<L>, BadInput> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        // It has ended: there is nothing to stop.
        self.progress.tell_rest(self.ended);
        let unfinished = self.count_unfinished();
        let timeless = unfinished > 0 && self.lanes.iter().any(|lane| lane.machine.next() == Some(Time::NEVER));
        if !self.is_brief() {
            self.give_up()?;
        }
        let Some(Measures { accounts, probes, end }) = self.measures else { unreachable!("the measured time is over") };
        let Drives { mut load, crowded, wrote, camera, moves, .. } = self;
        let picture = load.take_picture(end);
        Ok(Remains { load, accounts, crowded, wrote, probes, camera, picture, moves, end, unfinished, timeless })
    }

    /// Requests that never end: all that are outstanding where nothing happens any more; else those whose command was given to a
    /// drive before the measured time was over, and never came back from it while others did.
    fn count_unfinished(&self) -> u64 {
        if self.dry {
            return u64::from(self.outstanding);
        }
        let Some(Measures { end, .. }) = self.measures.as_ref().filter(|_| self.gave_up) else { return 0 };
        let overtaken = |disk: usize| self.depth > 1 || self.ends.of(disk) == Time::NEVER;
        let stuck = |issued: &&Issued| issued.flies && issued.request.is_some() && issued.at < *end;
        let lanes = self.lanes.iter().enumerate().filter(|(disk, _)| overtaken(*disk));
        lanes.flat_map(|(_, lane)| &lane.issued).filter(stuck).count() as u64
    }

    /// From the first moment after the warm-up at which no command is in flight, the time of an arm is accounted; where
    /// the drive queues commands, from the first completion. Of one disk a command has just come back.
    #[inline(always)]
    fn begin_measuring(&mut self, now: Time, back: Option<usize>) {
        if self.unmeasured > 0 {
            self.measure_arms(now, back);
        }
    }

    #[cold]
    fn measure_arms(&mut self, now: Time, back: Option<usize>) {
        let from = self.load.meter().from();
        if now < from {
            return;
        }
        for (disk, Lane { machine, probes, measured, .. }) in self.lanes.iter_mut().enumerate() {
            let is_idle = machine.next().is_none();
            if !*measured && (self.depth > 1 || is_idle) {
                // One without a command had none when the warm-up ended: it would be measured by now.
                let began = if is_idle && back != Some(disk) { from } else { now };
                *measured = true;
                self.unmeasured -= 1;
                machine.take_account(began);
                probes.begin(began);
                self.billing.iter_mut().for_each(|billing| billing.begin(disk, began));
            }
        }
    }

    /// What the drive announced that is first: a command that completed or, within the drive, a decision, of which the core is
    /// not told.
    #[inline(always)]
    fn happen_in_drive<const PLAIN: bool>(&mut self) -> Option<Input> {
        let disk = if PLAIN { 0 } else { self.ends.first() };
        let lane = &mut self.lanes[disk];
        let finished = lane.machine.finish();
        self.ends.set(disk, lane.next());
        let Some((now, tag, outcome, parts)) = finished else {
            self.begin_measuring(self.now, None);
            return None;
        };
        let dead = !PLAIN && !self.dead.is_empty() && self.dead.contains(&DiskId(disk as u16));
        let outcome = if dead { Outcome::Failed(EIO) } else { outcome };
        let slot = &mut lane.issued[tag.0 as usize];
        let issued = *slot;
        slot.flies = false;
        let probe = !PLAIN && issued.probe;
        match probe {
            true => lane.probes.end_probe(issued.at, now, &parts),
            false => lane.probes.end_command(now),
        }
        if probe {
            self.probing -= 1;
        }
        if !PLAIN && let Some(billing) = &mut self.billing {
            billing.end_command(disk, tag, (issued.at, now), parts, &mut lane.machine);
        }
        if !PLAIN && self.watched {
            self.show_done(now, disk, tag, issued.at, parts);
        }
        if !probe {
            self.load.meter_mut().command(issued.at, now);
        }
        if parts.external > Span::ZERO
            && let Some(id) = issued.request
        {
            self.load.add_wait(id, parts.external);
        }
        self.begin_measuring(now, Some(disk));
        Some(Input::Done(DiskId(disk as u16), tag, now, outcome))
    }

    #[inline(always)]
    fn issue<const PLAIN: bool>(&mut self, now: Time, disk: DiskId, tag: Tag, command: Command) {
        let disk = if PLAIN { 0 } else { usize::from(disk.0) };
        let request = if let Place::Request(id, _) = command.place { Some(id) } else { None };
        if let Some(id) = request {
            self.load.begin_request(now, id);
        }
        if !PLAIN && self.watched {
            self.show_issue(now, disk, tag, command);
        }
        let lane = &mut self.lanes[disk];
        let probe = !PLAIN && is_probe(&command);
        if probe {
            self.probing += 1;
        }
        lane.issued[tag.0 as usize] = Issued { at: now, request, probe, flies: true };
        lane.machine.issue(now, tag, command);
        if !PLAIN && let Some(billing) = &mut self.billing {
            billing.begin_command(disk, tag, &command, &mut lane.machine);
        }
        self.ends.set(disk, lane.next());
    }

    #[inline(always)]
    fn end_request<const PLAIN: bool>(&mut self, now: Time, id: RequestId, how: Ending) {
        self.outstanding -= 1;
        self.ended += 1;
        if !PLAIN && self.camera.is_some() {
            self.end_and_show(now, id, how);
        } else {
            self.load.end_request(now, id, how);
        }
        self.over = self.is_over();
        if self.ended.is_multiple_of(TELL_EVERY) {
            self.tell_progress(now, how);
        }
    }

    /// What the load has to say, if that concerns the core.
    #[inline(always)]
    fn ask_load(&mut self, now: Time, room: u32) -> Option<Input> {
        let said = match room {
            0 => Ok(self.load.fire_crowded(now)),
            _ => self.load.fire(now, self.ends.mean_left(self.now)),
        };
        match said {
            Ok(Some(Input::Submit(request))) => {
                self.outstanding += 1;
                self.wrote |= request.op.writes();
                if let Some(camera) = &mut self.camera {
                    camera.note_request(now, &request);
                }
                Some(Input::Submit(request))
            }
            Ok(other) => other,
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }

    /// Whether this stage of the run is over, its time apart.
    #[inline(always)]
    fn is_over(&self) -> bool {
        match self.stage {
            Stage::Settling(most) => self.ended >= most,
            Stage::Measuring(_) => self.stop.requests.is_some_and(|most| self.load.meter().requests_served() >= most),
            Stage::Following(most) => self.outstanding > most || !self.load.meter().awaits(self.load.due()),
        }
    }

    /// The next thing that happens is beyond this stage, or nothing happens any more.
    #[cold]
    fn run_out(&mut self, next: Time) -> Option<(Time, Input)> {
        self.dry = next == Time::NEVER;
        self.gave_up = matches!(self.stage, Stage::Following(..));
        None
    }
}

impl<M: Machine, L: Measured> World for Drives<'_, M, L> {
    fn is_plain(&self) -> bool {
        let follows = matches!(self.stage, Stage::Following(..));
        let has_fates = !self.fates.is_empty() || !self.dead.is_empty();
        !follows && !has_fates && !self.watched && self.billing.is_none() && self.host.is_none()
    }

    fn is_steady(&self) -> bool {
        self.is_told_by_value()
    }

    #[inline(always)]
    fn next_done(&mut self, room: u32) -> Option<(Time, Tag, Outcome)> {
        self.next_done_alone(room)
    }

    #[inline(always)]
    fn give(&mut self, now: Time, tag: Tag, command: Command) {
        self.issue::<true>(now, DiskId(0), tag, command);
    }

    #[inline(always)]
    fn step(&mut self, core: &mut impl Scheduler, rest: &mut Vec<Action>) -> bool {
        self.step_plain(core, rest)
    }

    #[inline(always)]
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        if let Some(Camera::Film(film)) = &mut self.camera {
            film.set_weight(self.now, self.weight.get());
        }
        if matches!(self.stage, Stage::Following(..)) {
            self.over = self.failed.is_some() || self.is_over();
        }
        if self.host.is_some() {
            return self.next_of_late(wake, room);
        }
        while !(self.over || self.watched && self.has_seen_all()) {
            let Events { done, due, fate, next } = self.next_events(wake, room);
            if next > self.until || next == Time::NEVER {
                return self.run_out(next);
            }
            self.now = next;
            if fate == next {
                self.begin_measuring(next, None);
                return self.fate().map(|input| (next, input));
            }
            if done == next {
                if let Some(input) = self.happen_in_drive::<false>() {
                    return Some((next, input));
                }
                continue;
            }
            self.begin_measuring(next, None);
            if due > next {
                return Some((next, Input::Wake));
            }
            match self.ask_load(next, room) {
                Some(input) => return Some((next, input)),
                None if self.failed.is_some() => return None,
                None => {}
            }
        }
        None
    }

    #[inline(always)]
    fn act(&mut self, now: Time, action: Action) {
        match action {
            Action::Issue(disk, tag, command) => self.issue::<false>(now, disk, tag, command),
            Action::Begin(id) => {
                self.camera.iter_mut().for_each(|camera| camera.note_action(now, action));
                self.load.begin_request(now, id);
            }
            Action::Copy { .. } | Action::Xor { .. } | Action::GiveUp(_) | Action::Complete(_) | Action::Mend(..) => {}
            Action::Grown(disk, _) => self.tell_grown(disk),
            Action::Compare { .. } | Action::Record { .. } | Action::Forget(_) | Action::Log(_) => {
                debug_assert!(false, "there are no bytes");
            }
            Action::HandOn(at, found) => {
                self.camera.iter_mut().for_each(|camera| camera.note_action(now, action));
                self.load.hand_on(now, at, found);
            }
            Action::Bill(bill) => self.billing.iter_mut().for_each(|billing| billing.set_bill(bill)),
            Action::Wait(..) | Action::Credit(_) => {
                self.camera.iter_mut().for_each(|camera| camera.note_action(now, action))
            }
            Action::Finish(id, how) => self.end_request::<false>(now, id, how),
        }
    }
}

#[cfg(test)]
mod tests;
