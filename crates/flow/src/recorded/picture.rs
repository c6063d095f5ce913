//! A picture of a recorded machine, as it was recorded: who had the processors, who waited for which request.

use super::{Asked, Cpu, Reading, Standing, Tape};
use crate::picture::{Doing, Made, Picture, Recorder, Scope, Work};
use crate::requests::Criticality;
use block::Time;
use std::collections::BTreeMap;
use trace::ftrace::IDLE;

/// A picture in the making, and where in it each task is.
pub(super) struct Draft {
    recorder: Recorder,
    places: BTreeMap<u32, usize>,
}

impl Draft {
    /// Where a task is; if it is seen for the first time, it begins now.
    fn place(&mut self, pid: u32, now: Time) -> usize {
        let next = self.places.len();
        let place = *self.places.entry(pid).or_insert(next);
        if place == next {
            self.recorder.begins("", now);
        }
        place
    }

    /// How a task stood; the number of the request it waited for, if that became known.
    pub(super) fn stood(&mut self, pid: u32, standing: Standing, request: Option<u32>, since: Time, now: Time) {
        let what = match (standing, request) {
            (Standing::Running, _) => Doing::Running,
            (Standing::Ready, _) => Doing::Ready,
            (Standing::Asleep | Standing::Blocked, Some(number)) => Doing::Waiting(Some(number)),
            (Standing::Blocked, None) => Doing::Waiting(None),
            (Standing::Asleep, None) | (Standing::Idle | Standing::Out, _) => Doing::Asleep,
            (Standing::Gone, _) => return,
        };
        let place = self.place(pid, since);
        self.recorder.process(place, what, since, now);
    }

    /// What the processors were at.
    pub(super) fn processors(&mut self, cpus: &BTreeMap<usize, Cpu>, blocked: bool, from: Time, now: Time) {
        for (number, cpu) in cpus {
            let work = match cpu {
                Cpu { depth: 1.., ended, .. } => Work::Interrupt(ended.map(|request| request as u32 + 1)),
                Cpu { task: IDLE, .. } if blocked => Work::FalseIdle,
                Cpu { task: IDLE, .. } => Work::Idle,
                Cpu { task, .. } => Work::Process(self.place(*task, from)),
            };
            self.recorder.processor(*number, work, from, now);
        }
    }

    /// A request has ended.
    pub(super) fn served(&mut self, (major, minor): (u32, u32), request: usize, from: Time, now: Time) {
        self.recorder.device(&format!("{major},{minor}"), request as u32 + 1, from, now);
    }
}

/// The picture of a recording.
#[must_use]
pub fn picture(tape: &Tape, scope: Scope) -> Picture {
    let draft = Draft { recorder: Recorder::new(scope), places: BTreeMap::new() };
    let mut reading = Reading { picture: Some(draft), ..Reading::default() };
    reading.follow(tape);
    let end = reading.now;
    let mut draft = reading.picture.take().expect("it was put in");
    let mut ended = vec![None; draft.places.len()];
    for (pid, task) in &reading.tasks {
        draft.stood(*pid, task.standing, None, task.since, end);
        if let Some(place) = draft.places.get(pid).filter(|_| task.standing == Standing::Gone) {
            ended[*place] = Some(task.since);
        }
    }
    (1..).zip(&reading.requests).for_each(|(number, asked)| draft.recorder.keep(made(number, asked)));
    let mut picture = draft.recorder.finish(end);
    for (pid, place) in &draft.places {
        let life = &mut picture.processes[*place];
        life.name = format!("{}-{pid}", tape.names.get(pid).map_or("", String::as_str));
        life.ended = ended.get(*place).copied().flatten();
    }
    picture
}

/// A request; how much it mattered is told by who slept on it.
fn made(number: u32, asked: &Asked) -> Made {
    let issued_as = match asked {
        Asked { io, .. } if io.ahead => Criticality::Limited,
        Asked { slept: Some(_), .. } => Criticality::Critical,
        Asked { slept: None, .. } => Criticality::Noncritical,
    };
    let critical = asked.slept.map(|(since, _)| since.max(asked.asked));
    Made { number, op: asked.io.op, at: asked.io.at, issued_as, asked: asked.asked, critical, ended: asked.ended }
}
