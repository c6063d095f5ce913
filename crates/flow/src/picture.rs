//! What went on in a machine, piece by piece: each process, each processor, each request. Kept only where that is asked for.

use crate::requests::Criticality;
use block::{Extent, Op, Time};

/// How much of a run is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureScope {
    /// The first instant that is kept.
    pub from: Time,
    /// The end: nothing from here on is kept.
    pub to: Time,
    /// So many pieces at most, and a few more that are under way then.
    pub most: usize,
}

/// Something that went on for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity<T> {
    /// What was done in that time.
    pub what: T,
    /// The time it began.
    pub from: Time,
    /// The time it ended.
    pub to: Time,
}

/// What a process is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It has a processor.
    Running,
    /// In the run queue: it could run.
    Ready,
    /// It waits for the request of this number; for I/O of which another process tells, where there is none.
    Waiting(Option<u32>),
    /// It sleeps, and not for want of I/O.
    Asleep,
}

/// What a processor is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessorWork {
    /// It computes for the process in this place.
    Process(usize),
    /// It is being given to that.
    Switch(usize),
    /// It handles the end of the request of this number, or else the clock.
    Interrupt(Option<u32>),
    /// It has nothing to do while a process waits for I/O.
    FalseIdle,
    /// It has nothing to do.
    Idle,
}

/// What became of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessHistory {
    /// What it is called; nothing of what goes on in interrupts.
    pub name: String,
    /// When the process was created.
    pub began: Time,
    /// When it had ended.
    pub ended: Option<Time>,
    /// What it was at, without a gap as long as it lived.
    pub pieces: Vec<Activity<Doing>>,
}

/// A request that was issued during the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedRequest {
    /// Which of all of the run, the first being 1.
    pub number: u32,
    /// Whether it reads or writes.
    pub op: Op,
    /// The blocks it covers.
    pub at: Extent,
    /// How much it mattered, as far as the one who asked knew.
    pub issued_as: Criticality,
    /// When it was made.
    pub asked: Time,
    /// Since when somebody waited for it, or was about to.
    pub critical: Option<Time>,
    /// When it had ended.
    pub ended: Option<Time>,
}

/// What went on in a piece of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The first instant that was kept.
    pub from: Time,
    /// The end of what was kept.
    pub to: Time,
    /// Whether more went on by then than is kept.
    pub cut: bool,
    /// Processes, in the order in which they were created.
    pub processes: Vec<ProcessHistory>,
    /// What each processor was at.
    pub processors: Vec<Vec<Activity<ProcessorWork>>>,
    /// Requests that were open then, by their numbers.
    pub requests: Vec<IssuedRequest>,
    /// Of a recording, the requests that each device had, by their numbers; they may overlap.
    pub devices: Vec<(String, Vec<Activity<u32>>)>,
}

/// A picture in the making.
#[derive(Clone, Debug)]
pub(crate) struct PictureRecorder {
    most: usize,
    kept: usize,
    picture: Picture,
    /// The request in each slot, the last one that was.
    slots: Vec<Option<IssuedRequest>>,
    made: u32,
}

impl PictureRecorder {
    pub(crate) fn new(PictureScope { from, to, most }: PictureScope) -> PictureRecorder {
        let (processes, processors, requests, devices) = Default::default();
        let picture = Picture { from, to, cut: false, processes, processors, requests, devices };
        PictureRecorder { most, kept: 0, picture, slots: Vec::new(), made: 0 }
    }

    /// Until when anything is kept, as far as that is known.
    pub(crate) fn until(&self) -> Time {
        self.picture.to
    }

    /// The process in this place was at something.
    pub(crate) fn process(&mut self, place: usize, what: Doing, from: Time, to: Time) {
        let Some(piece) = self.within(what, from, to) else { return };
        let pieces = &mut self.picture.processes[place].pieces;
        self.kept += usize::from(join(pieces, piece));
        self.bound(to);
    }

    /// The processor of this number was at something.
    pub(crate) fn processor(&mut self, number: usize, what: ProcessorWork, from: Time, to: Time) {
        let Some(piece) = self.within(what, from, to) else { return };
        let processors = &mut self.picture.processors;
        processors.resize(processors.len().max(number + 1), Vec::new());
        self.kept += usize::from(join(&mut processors[number], piece));
        self.bound(to);
    }

    /// A device of a recording had a request.
    pub(crate) fn device(&mut self, name: &str, number: u32, from: Time, to: Time) {
        let Some(piece) = self.within(number, from, to) else { return };
        let devices = &mut self.picture.devices;
        match devices.iter_mut().find(|(other, _)| other == name) {
            Some((_, pieces)) => pieces.push(piece),
            None => devices.push((name.to_owned(), vec![piece])),
        }
        self.kept += 1;
        self.bound(to);
    }

    /// The next process began.
    pub(crate) fn begins(&mut self, name: &str, now: Time) {
        self.picture.processes.push(ProcessHistory { name: name.into(), began: now, ended: None, pieces: Vec::new() });
    }

    /// A request takes a slot; its number is given here.
    pub(crate) fn asks(&mut self, slot: u32, made: IssuedRequest) {
        self.made += 1;
        let slot = slot as usize;
        self.slots.resize(self.slots.len().max(slot + 1), None);
        if let Some(old) = self.slots[slot].replace(IssuedRequest { number: self.made, ..made }) {
            self.keep(old);
        }
    }

    /// The request in a slot.
    pub(crate) fn request(&mut self, slot: u32) -> Option<&mut IssuedRequest> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// A request will not change any more.
    pub(crate) fn keep(&mut self, made: IssuedRequest) {
        let Picture { from, to, requests, .. } = &mut self.picture;
        if made.asked < *to && made.ended.is_none_or(|ended| ended >= *from) {
            requests.push(made);
            self.kept += 1;
        }
    }

    fn within<T>(&self, what: T, from: Time, to: Time) -> Option<Activity<T>> {
        let (from, to) = (from.max(self.picture.from), to.min(self.picture.to));
        (from < to).then_some(Activity { what, from, to })
    }

    /// Nothing is kept from here on, when enough is.
    fn bound(&mut self, now: Time) {
        if self.kept >= self.most && now < self.picture.to {
            (self.picture.to, self.picture.cut) = (now, true);
        }
    }

    pub(crate) fn finish(mut self, end: Time) -> Picture {
        for made in std::mem::take(&mut self.slots).into_iter().flatten() {
            self.keep(made);
        }
        self.picture.requests.sort_unstable_by_key(|made| made.number);
        self.picture.to = self.picture.to.min(end);
        self.picture
    }
}

/// Adds a piece to those before; whether it is one more, and not the last one going on.
fn join<T: PartialEq>(pieces: &mut Vec<Activity<T>>, piece: Activity<T>) -> bool {
    match pieces.last_mut() {
        Some(last) if last.what == piece.what && last.to == piece.from => {
            last.to = piece.to;
            false
        }
        _ => {
            pieces.push(piece);
            true
        }
    }
}
