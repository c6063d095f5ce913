//! A picture of a recorded machine, as it was recorded: who had the processors, who waited for which request.

use super::{AccountReader, LoadedRecording, OpenRequest, RecordedCpu, TaskState};
use crate::picture::{Doing, IssuedRequest, Picture, PictureRecorder, PictureScope, ProcessorWork};
use crate::requests::Criticality;
use block::Time;
use std::collections::BTreeMap;
use trace::ftrace::IDLE;

/// A picture in the making, and where in it each task is.
pub(super) struct PictureDraft {
    recorder: PictureRecorder,
    places: BTreeMap<u32, usize>,
}

impl PictureDraft {
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
    pub(super) fn add_state(&mut self, pid: u32, standing: TaskState, request: Option<u32>, since: Time, now: Time) {
        let what = match (standing, request) {
            (TaskState::Running, _) => Doing::Running,
            (TaskState::Ready, _) => Doing::Ready,
            (TaskState::Asleep | TaskState::Blocked, Some(number)) => Doing::Waiting(Some(number)),
            (TaskState::Blocked, None) => Doing::Waiting(None),
            (TaskState::Asleep, None) | (TaskState::Idle | TaskState::Out, _) => Doing::Asleep,
            (TaskState::Gone, _) => return,
        };
        let place = self.place(pid, since);
        self.recorder.process(place, what, since, now);
    }

    /// What the processors were at.
    pub(super) fn processors(&mut self, cpus: &BTreeMap<usize, RecordedCpu>, blocked: bool, from: Time, now: Time) {
        for (number, cpu) in cpus {
            let work = match cpu {
                RecordedCpu { depth: 1.., ended, .. } => {
                    ProcessorWork::Interrupt(ended.map(|request| request as u32 + 1))
                }
                RecordedCpu { task: IDLE, .. } if blocked => ProcessorWork::FalseIdle,
                RecordedCpu { task: IDLE, .. } => ProcessorWork::Idle,
                RecordedCpu { task, .. } => ProcessorWork::Process(self.place(*task, from)),
            };
            self.recorder.processor(*number, work, from, now);
        }
    }

    /// A request has ended.
    pub(super) fn add_access(&mut self, (major, minor): (u32, u32), request: usize, from: Time, now: Time) {
        self.recorder.device(&format!("{major},{minor}"), request as u32 + 1, from, now);
    }
}

/// The picture of a recording.
#[must_use]
pub fn picture(tape: &LoadedRecording, scope: PictureScope) -> Picture {
    let draft = PictureDraft { recorder: PictureRecorder::new(scope), places: BTreeMap::new() };
    let mut reading = AccountReader { picture: Some(draft), ..AccountReader::default() };
    reading.follow(tape);
    let end = reading.now;
    let mut draft = reading.picture.take().expect("it was put in");
    let mut ended = vec![None; draft.places.len()];
    for (pid, task) in &reading.tasks {
        draft.add_state(*pid, task.standing, None, task.since, end);
        if let Some(place) = draft.places.get(pid).filter(|_| task.standing == TaskState::Gone) {
            ended[*place] = Some(task.since);
        }
    }
    (1..).zip(&reading.requests).for_each(|(number, asked)| draft.recorder.keep(issued_request(number, asked)));
    let mut picture = draft.recorder.finish(end);
    for (pid, place) in &draft.places {
        let life = &mut picture.processes[*place];
        life.name = format!("{}-{pid}", tape.names.get(pid).map_or("", String::as_str));
        life.ended = ended.get(*place).copied().flatten();
    }
    picture
}

/// A request; how much it mattered is told by who slept on it.
fn issued_request(number: u32, asked: &OpenRequest) -> IssuedRequest {
    let issued_as = match asked {
        OpenRequest { io, .. } if io.ahead => Criticality::Limited,
        OpenRequest { slept: Some(_), .. } => Criticality::Critical,
        OpenRequest { slept: None, .. } => Criticality::Noncritical,
    };
    let critical = asked.slept.map(|(since, _)| since.max(asked.asked));
    IssuedRequest {
        number,
        op: asked.io.op,
        at: asked.io.at,
        issued_as,
        asked: asked.asked,
        critical,
        ended: asked.ended,
    }
}
