//! What a drive and its arm did, command by command, in a short piece of a run.

use crate::learned::knowledge;
use crate::simulate::stage;
use block::{BadInput, Command, Tag, Time};
use drive::Parts;
use load::experiment::Experiment;

/// Which piece of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Of this disk of an array.
    pub disk: usize,
    /// From the end of the request before this one, counted from 1 in the order in which they end.
    pub request: u64,
    /// Until so many more have ended.
    pub requests: u64,
    /// At most so many commands.
    pub commands: usize,
}

/// A drive command as it went.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What it was.
    pub command: Command,
    /// When it was issued.
    pub issued: Time,
    /// When it ended.
    pub ended: Time,
    /// What its time was spent on.
    pub parts: Parts,
    /// Until when the arm did the drive's own work before: read-ahead, write-back.
    pub own_until: Time,
}

/// A piece of a run.
#[derive(Clone, Debug)]
pub struct Timeline {
    /// When it begins.
    pub from: Time,
    /// Its commands, in the order in which they were issued.
    pub steps: Vec<Step>,
    /// Until when the arm did the drive's own work after the last one, as far as that was seen.
    pub own_until: Time,
}

/// Runs the first replication of an experiment as far as the window reaches.
///
/// # Errors
/// As [`crate::replicate`].
pub fn timeline(experiment: &Experiment, window: Window) -> Result<Timeline, BadInput> {
    let film =
        stage(experiment, knowledge(experiment)?, 0, &|_| (), Some(Film::new(window)))?.film.expect("it was put in");
    let ended = film.steps.into_iter().map(|(_, step)| step).filter(|step| step.ended != Time::NEVER);
    Ok(Timeline { from: film.from.unwrap_or(Time::ZERO), steps: ended.collect(), own_until: film.own_until })
}

/// A timeline that is being recorded.
#[derive(Clone, Debug)]
pub(crate) struct Film {
    window: Window,
    from: Option<Time>,
    steps: Vec<(Tag, Step)>,
    own_until: Time,
    /// Whether the window has ended.
    last: bool,
    /// Whether what comes after it was seen too.
    pub(crate) over: bool,
}

impl Film {
    fn new(window: Window) -> Film {
        let from = (window.request <= 1).then_some(Time::ZERO);
        Film { window, from, steps: Vec::new(), own_until: Time::ZERO, last: false, over: false }
    }

    /// Whether it is of this disk.
    pub(crate) fn is_of(&self, disk: usize) -> bool {
        self.window.disk == disk
    }

    /// A command is about to be issued to a drive that was at work of its own until `own_until`.
    #[cold]
    pub(crate) fn issued(&mut self, now: Time, tag: Tag, command: Command, own_until: Time) {
        if self.from.is_none() {
            return;
        }
        if self.last || self.steps.len() >= self.window.commands {
            (self.own_until, self.over) = (own_until, true);
            return;
        }
        let step = Step { command, issued: now, ended: Time::NEVER, parts: Parts::default(), own_until };
        self.steps.push((tag, step));
    }

    /// A command has ended.
    #[cold]
    pub(crate) fn done(&mut self, now: Time, tag: Tag, parts: Parts) {
        let under_way = |(other, step): &&mut (Tag, Step)| *other == tag && step.ended == Time::NEVER;
        if let Some((_, step)) = self.steps.iter_mut().find(under_way) {
            (step.ended, step.parts) = (now, parts);
        }
    }

    /// So many requests have ended.
    #[cold]
    pub(crate) fn ended(&mut self, now: Time, requests: u64) {
        let before = self.window.request.saturating_sub(1);
        if requests == before {
            self.from = Some(now);
        }
        self.last |= requests >= before + self.window.requests;
    }
}
