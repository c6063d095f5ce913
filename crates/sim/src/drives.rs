//! The world of simulated drives.

use crate::timeline::Film;
use block::{BadInput, Command, DiskId, Ending, Place, Request, RequestId, Span, Tag, Time};
use drive::{Account, Machine};
use load::{Load, Meter};
use sched::{Action, Input, World};

/// How often the watcher is told of progress, in requests.
const TELL_EVERY: u64 = 1 << 15;

/// A load whose measurements the world writes.
pub(crate) trait Measured: Load {
    fn meter(&self) -> &Meter;
    fn meter_mut(&mut self) -> &mut Meter;
}

impl Measured for load::Mix {
    fn meter(&self) -> &Meter {
        load::Mix::meter(self)
    }

    fn meter_mut(&mut self) -> &mut Meter {
        load::Mix::meter_mut(self)
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

/// A device and the load on it.
pub(crate) struct Drives<'a, M, L: Measured> {
    drive: M,
    load: L,
    stop: Stop,
    now: Time,
    /// When each command in flight was issued, and for which request, by tag.
    issued: Vec<(Time, Option<RequestId>)>,
    measuring: bool,
    /// Whether a request was ever due while the core had no room.
    crowded: bool,
    /// Requests ended, for the watcher.
    ended: u64,
    tell: &'a (dyn Fn(u64) + Sync),
    film: Option<Film>,
    failed: Option<BadInput>,
}

/// What is left of a world when it has ended.
pub(crate) struct Remains<L> {
    pub(crate) load: L,
    pub(crate) account: Account,
    /// Whether the core ever had no room.
    pub(crate) crowded: bool,
    pub(crate) film: Option<Film>,
}

impl<'a, M: Machine, L: Measured> Drives<'a, M, L> {
    pub(crate) fn new(
        drive: M,
        load: L,
        stop: Stop,
        tell: &'a (dyn Fn(u64) + Sync),
        film: Option<Film>,
    ) -> Drives<'a, M, L> {
        Drives {
            issued: vec![(Time::ZERO, None); usize::from(drive.caps().depth)],
            drive,
            load,
            stop,
            now: Time::ZERO,
            measuring: false,
            crowded: false,
            ended: 0,
            tell,
            film,
            failed: None,
        }
    }

    /// Ends the run.
    pub(crate) fn finish(mut self) -> Result<Remains<L>, BadInput> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        (self.tell)(self.ended % TELL_EVERY);
        let end = self.stop.at.filter(|_| self.stop.requests.is_none()).unwrap_or(self.now);
        let account = self.drive.take_account(end);
        self.load.meter_mut().close(end);
        Ok(Remains { load: self.load, account, crowded: self.crowded, film: self.film })
    }

    /// From the first moment after the warm-up at which no command is in flight, the arm's time is accounted; where
    /// the drive queues commands, from the first completion.
    fn begin_measuring(&mut self, now: Time) {
        let between = self.issued.len() > 1 || self.drive.next().is_none();
        if !self.measuring && now >= self.load.meter().from() && between {
            self.measuring = true;
            self.drive.take_account(now);
        }
    }

    fn completion(&mut self) -> (Time, Input) {
        let (now, tag, outcome, parts) = self.drive.finish();
        let (issued, request) = self.issued[tag.0 as usize];
        if let Some(film) = &mut self.film {
            film.done(now, tag, parts);
        }
        self.load.meter_mut().command(issued, now);
        if let Some(id) = request.filter(|_| parts.external > Span::ZERO) {
            self.load.waited(id, parts.external);
        }
        (now, Input::Done(tag, now, outcome))
    }

    fn issue(&mut self, now: Time, tag: Tag, command: Command) {
        let request = if let Place::Request(id, _) = command.place { Some(id) } else { None };
        if let Some(id) = request {
            self.load.began(now, id);
        }
        self.issued[tag.0 as usize] = (now, request);
        if let Some(film) = &mut self.film {
            film.issued(now, tag, command, self.drive.own_until(now));
            if film.over {
                self.stop.requests = Some(0);
            }
        }
        self.drive.issue(now, tag, command);
    }

    fn ended(&mut self, now: Time, id: RequestId, how: Ending) {
        self.load.ended(now, id, how);
        self.ended += 1;
        if let Some(film) = &mut self.film {
            film.ended(now, self.ended);
        }
        if self.ended.is_multiple_of(TELL_EVERY) {
            (self.tell)(TELL_EVERY);
        }
    }

    fn submission(&mut self) -> Option<Request> {
        let left = self.drive.next().map_or(Span::ZERO, |end| end.since(self.now));
        match self.load.fire(left) {
            Ok(request) => Some(request),
            Err(error) => {
                self.failed = Some(error);
                None
            }
        }
    }
}

impl<M: Machine, L: Measured> World for Drives<'_, M, L> {
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        if self.stop.requests.is_some_and(|most| self.load.meter().requests() >= most) {
            return None;
        }
        let done = self.drive.next().unwrap_or(Time::NEVER);
        let due = self.load.due().unwrap_or(Time::NEVER).max(self.now);
        self.crowded |= room == 0 && due <= done;
        let due = if room > 0 { due } else { Time::NEVER };
        let wake = wake.unwrap_or(Time::NEVER).max(self.now);
        let next = done.min(due).min(wake);
        if next == Time::NEVER || self.stop.at.is_some_and(|end| next > end) {
            return None;
        }
        self.now = next;
        let event = if done == next {
            let event = self.completion();
            self.begin_measuring(next);
            return Some(event);
        } else {
            self.begin_measuring(next);
            if due == next { Input::Submit(self.submission()?) } else { Input::Wake }
        };
        Some((next, event))
    }

    #[inline]
    fn act(&mut self, now: Time, action: Action) {
        match action {
            Action::Issue(disk, tag, command) => {
                debug_assert_eq!(disk, DiskId(0));
                self.issue(now, tag, command);
            }
            Action::Begin(id) => self.load.began(now, id),
            Action::Copy { .. } => {}
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
        let share = |span: Span| span.0 as f64 / self.elapsed.0.max(1) as f64;
        let (busy, background) = (share(self.busy), share(self.background));
        load::results::Disk {
            busy,
            background,
            idle: share(self.elapsed.less(self.busy).less(self.background)),
            parts: self.parts.named().iter().map(|(name, span)| ((*name).into(), share(*span))).collect(),
        }
    }
}
