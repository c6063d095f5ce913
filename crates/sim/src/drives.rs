//! The world of simulated drives, one or many.

use crate::camera::Camera;
use crate::moves::Moves;
use crate::probes::{Probes, is_probe};
use block::errno::EIO;
use block::{BadInput, Command, DiskId, Ending, Outcome, Place, RequestId, Span, Tag, Time};
use drive::{Account, Machine};
use flow::{Picture, Scope};
use load::experiment::Failure;
use load::{Load, Meter};
use sched::{Action, Health, Input, World};
use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::Rc;

/// How often the watcher is told of progress, in requests.
const TELL_EVERY: u64 = 1 << 15;

/// A load whose measurements the world writes.
pub(crate) trait Measured: Load {
    /// Ends the run at a time: what was measured, what a reader must know, and what a system of processes came to.
    fn finish(self, end: Time) -> (Meter, Vec<String>, Option<flow::Account>);

    /// The same, where what goes on in it is to be kept.
    #[must_use]
    fn pictured(self, _: Scope) -> Self
    where
        Self: Sized,
    {
        self
    }

    /// Until when that is kept, as far as it is known.
    fn pictured_until(&self) -> Option<Time> {
        None
    }

    /// What was kept until now.
    fn take_picture(&mut self, _: Time) -> Option<Picture> {
        None
    }
}

impl Measured for load::Mix {
    fn finish(self, _: Time) -> (Meter, Vec<String>, Option<flow::Account>) {
        let (meter, notes) = load::Mix::finish(self);
        (meter, notes, None)
    }
}

impl Measured for flow::System {
    fn finish(self, end: Time) -> (Meter, Vec<String>, Option<flow::Account>) {
        let (meter, account, notes) = flow::System::finish(self, end);
        (meter, notes, Some(account))
    }

    fn pictured(self, scope: Scope) -> flow::System {
        flow::System::pictured(self, scope)
    }

    fn pictured_until(&self) -> Option<Time> {
        flow::System::pictured_until(self)
    }

    fn take_picture(&mut self, now: Time) -> Option<Picture> {
        flow::System::take_picture(self, now)
    }
}

/// When a run ends, if not by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stop {
    /// At this time.
    pub(crate) at: Option<Time>,
    /// After so many measured requests.
    pub(crate) requests: Option<u64>,
}

/// A command in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Issued {
    at: Time,
    /// For which request.
    request: Option<RequestId>,
    /// Whether for none, but to learn.
    probe: bool,
}

/// Devices and the load on them.
pub(crate) struct Drives<'a, M, L: Measured> {
    drives: Vec<M>,
    /// When something next happens in each, and in which first.
    ends: Vec<Time>,
    first: usize,
    load: L,
    stop: Stop,
    now: Time,
    /// Commands a drive takes at once.
    depth: usize,
    /// Each command in flight, by drive and tag.
    issued: Vec<Issued>,
    /// By drive.
    probes: Vec<Probes>,
    /// Requests outstanding.
    outstanding: u32,
    /// Whether the arm of each is accounted yet, and of how many it is not.
    measured: Vec<bool>,
    unmeasured: usize,
    /// What becomes of disks, the first first.
    fates: VecDeque<(Time, DiskId, Health)>,
    dead: Vec<DiskId>,
    /// Whether a request was ever due while the core had no room.
    crowded: bool,
    /// Requests ended, for the watcher.
    ended: u64,
    tell: &'a (dyn Fn(u64) + Sync),
    camera: Option<Camera>,
    /// By how much what a write is worth counts, as far as a film is told.
    weight: Rc<Cell<f64>>,
    /// How the arm moved, where that is asked for.
    moves: Option<Moves>,
    failed: Option<BadInput>,
}

/// What is left of a world when it has ended.
pub(crate) struct Remains<L> {
    pub(crate) load: L,
    /// By drive.
    pub(crate) accounts: Vec<Account>,
    /// Whether the core ever had no room.
    pub(crate) crowded: bool,
    /// Probes in idle time.
    pub(crate) probes: u64,
    pub(crate) camera: Option<Camera>,
    pub(crate) picture: Option<Picture>,
    pub(crate) moves: Option<Moves>,
    pub(crate) end: Time,
}

impl<'a, M: Machine, L: Measured> Drives<'a, M, L> {
    /// The world of these drives, and what looks on.
    pub(crate) fn new(
        drives: Vec<M>,
        load: L,
        stop: Stop,
        tell: &'a (dyn Fn(u64) + Sync),
        camera: Option<Camera>,
    ) -> Drives<'a, M, L> {
        let depth = drives.first().map_or(1, |drive| usize::from(drive.caps().depth));
        Drives {
            issued: vec![Issued::default(); drives.len() * depth],
            ends: vec![Time::NEVER; drives.len()],
            first: 0,
            measured: vec![false; drives.len()],
            unmeasured: drives.len(),
            probes: vec![Probes::default(); drives.len()],
            outstanding: 0,
            drives,
            load,
            stop,
            now: Time::ZERO,
            depth,
            fates: VecDeque::new(),
            dead: Vec::new(),
            crowded: false,
            ended: 0,
            tell,
            camera,
            weight: Rc::new(Cell::new(1.0)),
            moves: None,
            failed: None,
        }
    }

    /// Has a disk fail, and perhaps an empty one take its place at once.
    pub(crate) fn fail(&mut self, failure: Failure) {
        let (at, disk) = (Time::ZERO + failure.at, DiskId(failure.disk));
        self.fates.push_back((at, disk, Health::Failed));
        if failure.replaced {
            self.fates.push_back((at, disk, Health::Replaced));
        }
    }

    /// What becomes of a disk now.
    fn fate(&mut self) -> Option<Input> {
        let (_, disk, health) = self.fates.pop_front()?;
        self.dead.retain(|dead| *dead != disk);
        if health == Health::Failed {
            self.dead.push(disk);
        }
        Some(Input::Disk(disk, health))
    }

    /// Where a film is told, after each input, by how much what a write is worth counts.
    pub(crate) fn weight(&self) -> Rc<Cell<f64>> {
        Rc::clone(&self.weight)
    }

    /// Follows how the arm moves.
    pub(crate) fn following(self, moves: Option<Moves>) -> Self {
        Drives { moves, ..self }
    }

    /// Ends the run.
    pub(crate) fn finish(mut self) -> Result<Remains<L>, BadInput> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        (self.tell)(self.ended % TELL_EVERY);
        let end = self.stop.at.filter(|_| self.stop.requests.is_none()).unwrap_or(self.now);
        let mut accounts: Vec<Account> = self.drives.iter_mut().map(|drive| drive.take_account(end)).collect();
        self.probes.iter().zip(&mut accounts).for_each(|(probes, account)| probes.put_aside(account));
        self.load.meter_mut().close(end);
        let probes = self.probes.iter().map(|probes| probes.count).sum();
        let Drives { mut load, crowded, camera, moves, .. } = self;
        let picture = load.take_picture(end);
        Ok(Remains { load, accounts, crowded, probes, camera, picture, moves, end })
    }

    /// A drive's next completion is another.
    #[inline]
    fn expect(&mut self, disk: usize) {
        self.ends[disk] = self.drives[disk].next().unwrap_or(Time::NEVER);
        if disk == self.first {
            self.first = (0..self.ends.len()).min_by_key(|disk| self.ends[*disk]).unwrap_or(0);
        } else if (self.ends[disk], disk) < (self.ends[self.first], self.first) {
            self.first = disk;
        }
    }

    /// From the first moment after the warm-up at which no command is in flight, the time of an arm is accounted; where
    /// the drive queues commands, from the first completion.
    fn begin_measuring(&mut self, now: Time) {
        if self.unmeasured == 0 || now < self.load.meter().from() {
            return;
        }
        for (disk, drive) in self.drives.iter_mut().enumerate() {
            if !self.measured[disk] && (self.depth > 1 || drive.next().is_none()) {
                self.measured[disk] = true;
                self.unmeasured -= 1;
                drive.take_account(now);
                self.probes[disk].begin(now);
            }
        }
    }

    /// What the drive announced that is first: a command that completed or, within the drive, a decision.
    fn happen_in_drive(&mut self) -> Happened {
        let disk = self.first;
        let Some((now, tag, outcome, parts)) = self.drives[disk].finish() else {
            self.expect(disk);
            return Happened::Inside;
        };
        let outcome = if self.dead.contains(&DiskId(disk as u16)) { Outcome::Failed(EIO) } else { outcome };
        self.expect(disk);
        let issued = self.issued[disk * self.depth + tag.0 as usize];
        self.probes[disk].done(issued.at, now, parts, issued.probe);
        if let Some(moves) = self.moves.as_mut().filter(|_| disk == 0) {
            moves.done(tag, parts);
        }
        if let Some(camera) = &mut self.camera {
            camera.done(now, disk, tag, parts);
        }
        if !issued.probe {
            self.load.meter_mut().command(issued.at, now);
        }
        if let Some(id) = issued.request.filter(|_| parts.external > Span::ZERO) {
            self.load.waited(id, parts.external);
        }
        Happened::Input(now, Input::Done(DiskId(disk as u16), tag, now, outcome))
    }

    fn issue(&mut self, now: Time, disk: DiskId, tag: Tag, command: Command) {
        let disk = usize::from(disk.0);
        let request = if let Place::Request(id, _) = command.place { Some(id) } else { None };
        if let Some(id) = request {
            self.load.began(now, id);
        }
        self.issued[disk * self.depth + tag.0 as usize] = Issued { at: now, request, probe: is_probe(&command) };
        if let Some(moves) = self.moves.as_mut().filter(|_| disk == 0) {
            moves.issued(tag, command);
        }
        if let Some(camera) = &mut self.camera {
            camera.issued(now, disk, tag, command, self.drives[disk].own_until(now));
        }
        self.drives[disk].issue(now, tag, command);
        self.expect(disk);
    }

    fn ended(&mut self, now: Time, id: RequestId, how: Ending) {
        self.load.ended(now, id, how);
        self.outstanding -= 1;
        self.ended += 1;
        if let Some(camera) = &mut self.camera {
            camera.ended(now, id, self.load.meter().last_worth(), self.ended);
        }
        if self.ended.is_multiple_of(TELL_EVERY) {
            (self.tell)(TELL_EVERY);
        }
    }

    /// What is left of the command in progress, on average over the drives.
    fn in_progress(&self) -> Span {
        let left = self.ends.iter().filter(|end| **end != Time::NEVER).map(|end| end.since(self.now).0);
        Span(left.sum::<u64>() / self.ends.len() as u64)
    }

    /// What the load has to say, if that concerns the core.
    fn said(&mut self, now: Time) -> Option<Input> {
        let left = self.in_progress();
        let said = self.load.fire(now, left).unwrap_or_else(|error| {
            self.failed = Some(error);
            None
        });
        if let Some(Input::Submit(request)) = &said {
            self.outstanding += 1;
            if let Some(camera) = &mut self.camera {
                camera.submitted(request.id);
            }
        }
        said
    }

    /// The next thing that happens, the end of the run apart.
    fn happens(&mut self, wake: Option<Time>, room: u32) -> Option<Happened> {
        if self.stop.requests.is_some_and(|most| self.load.meter().requests() >= most) {
            return None;
        }
        if self.camera.as_ref().is_some_and(|camera| camera.is_over(self.now, self.load.pictured_until())) {
            return None;
        }
        let done = self.ends[self.first];
        let due = self.load.due();
        // When no request will come, nobody learns any more.
        let wake = wake.filter(|_| due.is_some() || self.outstanding > 0);
        let due = due.unwrap_or(Time::NEVER).max(self.now);
        self.crowded |= room == 0 && due <= done;
        let due = if room > 0 { due } else { Time::NEVER };
        let wake = wake.unwrap_or(Time::NEVER).max(self.now);
        let fate = self.fates.front().map_or(Time::NEVER, |(at, ..)| (*at).max(self.now));
        let next = done.min(due).min(wake).min(fate);
        if next == Time::NEVER || self.stop.at.is_some_and(|end| next > end) {
            return None;
        }
        self.now = next;
        if fate == next {
            return self.fate().map(|input| Happened::Input(next, input));
        }
        if done == next {
            let event = self.happen_in_drive();
            self.begin_measuring(next);
            return Some(event);
        }
        self.begin_measuring(next);
        if due > next {
            return Some(Happened::Input(next, Input::Wake));
        }
        let said = self.said(next);
        if self.failed.is_some() {
            None
        } else {
            Some(said.map_or(Happened::Inside, |input| Happened::Input(next, input)))
        }
    }
}

/// Something that happened.
enum Happened {
    /// The core is told.
    Input(Time, Input),
    /// It concerns the load or a drive alone.
    Inside,
}

impl<M: Machine, L: Measured> World for Drives<'_, M, L> {
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        if let Some(Camera::Film(film)) = &mut self.camera {
            film.weighed(self.now, self.weight.get());
        }
        loop {
            if let Happened::Input(now, input) = self.happens(wake, room)? {
                return Some((now, input));
            }
        }
    }

    #[inline]
    fn act(&mut self, now: Time, action: Action) {
        match action {
            Action::Issue(disk, tag, command) => self.issue(now, disk, tag, command),
            Action::Begin(id) => {
                if let Some(Camera::Film(film)) = &mut self.camera {
                    film.begun(now, id);
                }
                self.load.began(now, id);
            }
            Action::Copy { .. } | Action::Xor { .. } => {}
            Action::Finish(id, how) => self.ended(now, id, how),
        }
    }
}

/// Where the time of an arm went, over all replications of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArmTime {
    elapsed: Span,
    busy: Span,
    background: Span,
    parts: drive::Parts,
}

impl ArmTime {
    pub(crate) fn add(&mut self, account: &Account) {
        self.elapsed += account.elapsed();
        self.busy += account.busy;
        self.background += account.background;
        self.parts += account.parts;
    }

    /// As shares of the elapsed time.
    pub(crate) fn shares(&self) -> load::results::Disk {
        load::results::Disk::of(self.elapsed, self.busy, self.background, self.parts.named())
    }
}
