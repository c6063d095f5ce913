//! The drive commands of a run as they are recorded, and those of one disk in a short piece of it.

use block::{Command, RequestId, Tag, Time};
use drive::Parts;

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
    /// For which request, the first of the run being 1, where that is kept.
    pub request: Option<u32>,
    /// The command that was served.
    pub command: Command,
    /// When it was issued.
    pub issued: Time,
    /// The time it ended.
    pub ended: Time,
    /// What its time was spent on.
    pub parts: Parts,
    /// Until when the arm did the drive's own work before: read-ahead, write-back.
    pub own_until: Time,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its number, which another has after it.
    pub request: RequestId,
    /// The time of its end.
    pub at: Time,
    /// What it was worth then.
    pub worth: f64,
}

/// Commands in the order in which they were issued, with their tags.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps(Vec<(Tag, Step)>);

impl Steps {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn begin_command(
        &mut self,
        now: Time,
        tag: Tag,
        command: Command,
        own_until: Time,
        request: Option<u32>,
    ) {
        let (ended, parts) = (Time::NEVER, Parts::default());
        self.0.push((tag, Step { request, command, issued: now, ended, parts, own_until }));
    }

    /// A command has ended; whether it is one of these.
    pub(crate) fn end_command(&mut self, now: Time, tag: Tag, parts: Parts) -> bool {
        let under_way = |(other, step): &&mut (Tag, Step)| *other == tag && step.ended == Time::NEVER;
        let step = self.0.iter_mut().rev().find(under_way);
        if let Some((_, step)) = step {
            (step.ended, step.parts) = (now, parts);
            return true;
        }
        false
    }

    /// Drops those that have ended; how many they were.
    pub(crate) fn forget(&mut self) -> usize {
        let before = self.0.len();
        self.0.retain(|(_, step)| step.ended == Time::NEVER);
        before - self.0.len()
    }

    /// Those that have ended.
    pub(crate) fn ended_steps(self) -> Vec<Step> {
        self.0.into_iter().map(|(_, step)| step).filter(|step| step.ended != Time::NEVER).collect()
    }
}

/// A timeline that is being recorded.
#[derive(Clone, Debug)]
pub(crate) struct Film {
    window: Window,
    pub(crate) from: Option<Time>,
    pub(crate) steps: Steps,
    pub(crate) own_until: Time,
    pub(crate) begins: Vec<(Time, RequestId)>,
    pub(crate) ends: Vec<Ended>,
    pub(crate) weights: Vec<(Time, f64)>,
    /// Whether the window has ended.
    last: bool,
    /// Whether what comes after it was seen too.
    pub(crate) over: bool,
}

impl Film {
    pub(crate) fn new(window: Window) -> Film {
        let from = (window.request <= 1).then_some(Time::ZERO);
        let (steps, begins, ends, weights) = (Steps::default(), Vec::new(), Vec::new(), Vec::new());
        Film { window, from, steps, own_until: Time::ZERO, begins, ends, weights, last: false, over: false }
    }

    /// Whether it is of this disk.
    pub(crate) fn is_of(&self, disk: usize) -> bool {
        self.window.disk == disk
    }

    /// A command is about to be issued to a drive that was at work of its own until `own_until`.
    #[cold]
    pub(crate) fn begin_command(&mut self, now: Time, tag: Tag, command: Command, own_until: Time) {
        if self.from.is_none() {
            return;
        }
        if self.last || self.steps.len() >= self.window.commands {
            (self.own_until, self.over) = (own_until, true);
            return;
        }
        self.steps.begin_command(now, tag, command, own_until, None);
    }

    /// A command has ended.
    #[cold]
    pub(crate) fn end_command(&mut self, now: Time, tag: Tag, parts: Parts) {
        self.steps.end_command(now, tag, parts);
    }

    /// From now on what a write is worth counts by so much.
    #[cold]
    pub(crate) fn set_weight(&mut self, now: Time, weight: f64) {
        if self.weights.last().is_some_and(|(_, last)| *last == weight) {
            return;
        }
        // Of those before it begins, the last.
        if self.from.is_none() {
            self.weights.clear();
        }
        self.weights.push((now, weight));
    }

    /// A request's turn has come.
    #[cold]
    pub(crate) fn begin_request(&mut self, now: Time, request: RequestId) {
        if self.from.is_some() {
            self.begins.push((now, request));
        }
    }

    /// A request has ended, the last of so many.
    #[cold]
    pub(crate) fn end_request(&mut self, now: Time, request: RequestId, worth: f64, requests: u64) {
        if self.from.is_some() {
            self.ends.push(Ended { request, at: now, worth });
        }
        let before = self.window.request.saturating_sub(1);
        if requests == before {
            self.from = Some(now);
        }
        self.last |= requests >= before + self.window.requests;
    }
}
