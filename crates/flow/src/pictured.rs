//! What a process system tells the picture of it.

use crate::cpu::{Handler, ProcessorState};
use crate::picture::{Doing, Picture, PictureRecorder, PictureScope, ProcessorWork};
use crate::process::{Pid, ProcessState};
use crate::system::ProcessSystem;
use block::Time;

impl ProcessSystem {
    /// Keeps what goes on, for a picture.
    #[must_use]
    pub fn keep_picture(mut self, scope: PictureScope) -> ProcessSystem {
        let mut recorder = PictureRecorder::new(scope);
        self.processes.iter().for_each(|process| recorder.begins(process.program.name(), Time::ZERO));
        self.recorder = Some(Box::new(recorder));
        self
    }

    /// Until when anything is kept for the picture, as far as that is known.
    #[must_use]
    pub fn pictured_until(&self) -> Option<Time> {
        self.recorder.as_ref().map(|recorder| recorder.until())
    }

    /// The picture, up to now.
    #[must_use]
    pub fn take_picture(&mut self, now: Time) -> Option<Picture> {
        self.charge(now);
        let mut recorder = self.recorder.take()?;
        for (place, process) in self.processes.iter().enumerate() {
            if let Some(what) = doing(&mut recorder, process.standing) {
                recorder.process(place, what, process.since, now);
            }
        }
        let mut picture = recorder.finish(now);
        for (life, process) in picture.processes.iter_mut().zip(&self.processes) {
            life.ended = process.times(now).ended;
        }
        Some(picture)
    }

    /// How a process stood until now is kept.
    pub(crate) fn picture_process(&mut self, pid: Pid, now: Time) {
        let process = &self.processes[pid.0 as usize];
        if let Some(recorder) = &mut self.recorder
            && let Some(what) = doing(recorder, process.standing)
        {
            recorder.process(pid.0 as usize, what, process.since, now);
        }
    }

    /// What the processors were at is kept.
    pub(crate) fn picture_processors(&mut self, from: Time, now: Time) {
        let Some(recorder) = &mut self.recorder else { return };
        for (number, cpu) in self.cpus.iter().enumerate() {
            let place = cpu.process.map_or(0, |pid| pid.0 as usize);
            let work = match cpu.state() {
                ProcessorState::Idle if self.blocked > 0 => ProcessorWork::FalseIdle,
                ProcessorState::Idle => ProcessorWork::Idle,
                ProcessorState::Switching => ProcessorWork::Switch(place),
                ProcessorState::Computing => ProcessorWork::Process(place),
                ProcessorState::Interrupt(Handler::Clock) => ProcessorWork::Interrupt(None),
                ProcessorState::Interrupt(Handler::Completion(slot)) => {
                    ProcessorWork::Interrupt(recorder.request(slot).map(|made| made.number))
                }
            };
            recorder.processor(number, work, from, now);
        }
    }
}

/// What a process is at that stands so.
fn doing(recorder: &mut PictureRecorder, standing: ProcessState) -> Option<Doing> {
    Some(match standing {
        ProcessState::Running => Doing::Running,
        ProcessState::Ready => Doing::Ready,
        ProcessState::ForRequest(slot) => Doing::Waiting(recorder.request(slot).map(|made| made.number)),
        ProcessState::ForTold(_) => Doing::Waiting(None),
        ProcessState::Watching(_)
        | ProcessState::ForName(_)
        | ProcessState::Until(_)
        | ProcessState::On(_)
        | ProcessState::ForLock(_) => Doing::Asleep,
        ProcessState::Gone => return None,
    })
}
