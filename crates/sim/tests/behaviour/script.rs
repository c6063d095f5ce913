//! A world of drives without noise, and requests at their times.

use block::{DiskId, Ending, Place, Request, RequestId, Span, Time};
use disk::{Sheet, Truth};
use drive::Drive;
use sched::{Action, Input, Scheduler, World, run_told};
use std::cell::Cell;
use std::rc::Rc;

/// When a request is submitted.
#[derive(Clone, Copy)]
pub enum When {
    At(Time),
    /// When the last one has ended.
    Then,
}

/// The world, and what came of it.
pub struct Script {
    drives: Vec<Drive>,
    /// For which request the command in each drive is; nothing where it writes out of a buffer.
    flying: Vec<Option<RequestId>>,
    requests: Vec<(When, Request)>,
    submitted: usize,
    now: Time,
    ended: Vec<Option<Time>>,
    /// How long the arm waited for the first block of each.
    waits: Vec<Option<Span>>,
    /// Blocks that each drive was asked for.
    pub asked: Vec<u64>,
    /// By how much what a write is worth counted, from when on.
    pub weights: Vec<(Time, f64)>,
    weight: Rc<Cell<f64>>,
}

impl Script {
    /// Plays it on drives of this sheet, each with a phase of its own.
    pub fn play(core: &mut impl Scheduler, sheet: &Sheet, drives: u64, requests: Vec<(When, Request)>) -> Script {
        let drives: Vec<Drive> = (0..drives).map(|i| Drive::new(sheet, &Truth::default(), 7 + i)).collect();
        let mut script = Script {
            flying: vec![None; drives.len()],
            asked: vec![0; drives.len()],
            ended: vec![None; requests.len()],
            waits: vec![None; requests.len()],
            drives,
            requests,
            submitted: 0,
            now: Time::ZERO,
            weights: Vec::new(),
            weight: Rc::new(Cell::new(1.0)),
        };
        let weight = Rc::clone(&script.weight);
        run_told(core, &mut script, |core| weight.set(core.weight()));
        script
    }

    /// When each request ended.
    pub fn ended(&self) -> Vec<Time> {
        self.ended.iter().map(|ended| ended.expect("it ended")).collect()
    }

    /// How long the arm waited for the first block of each.
    pub fn waits(&self) -> Vec<Span> {
        self.waits.iter().map(|wait| wait.expect("it was served")).collect()
    }
}

impl World for Script {
    fn next(&mut self, wake: Option<Time>, _: u32) -> Option<(Time, Input)> {
        let weight = self.weight.get();
        if self.weights.last().is_none_or(|(_, last)| *last != weight) {
            self.weights.push((self.now, weight));
        }
        let due = self.requests.get(self.submitted).and_then(|(when, _)| match when {
            When::At(time) => Some(*time),
            When::Then => self.ended[..self.submitted].iter().all(Option::is_some).then_some(self.now),
        });
        let done = self.drives.iter().enumerate().filter_map(|(disk, drive)| Some((drive.next()?, disk))).min();
        let wake = wake.map(|wake| wake.max(self.now));
        self.now = [done.map(|(at, _)| at), due, wake].into_iter().flatten().min()?;
        if let Some((_, disk)) = done.filter(|(at, _)| *at == self.now) {
            let (now, tag, outcome, parts) = self.drives[disk].complete();
            if let Some(id) = self.flying[disk] {
                self.waits[id.0 as usize].get_or_insert(parts.rotation);
            }
            return Some((now, Input::Done(DiskId(disk as u16), tag, now, outcome)));
        }
        if due == Some(self.now) {
            self.submitted += 1;
            return Some((self.now, Input::Submit(self.requests[self.submitted - 1].1)));
        }
        Some((self.now, Input::Wake))
    }

    fn act(&mut self, now: Time, action: Action) {
        match action {
            Action::Issue(disk, tag, command) => {
                let disk = usize::from(disk.0);
                self.flying[disk] = match command.place {
                    Place::Request(id, _) => Some(id),
                    Place::Frame(..) => None,
                    place => panic!("{place:?}"),
                };
                if command.verb.transfers() {
                    self.asked[disk] += u64::from(command.at.blocks);
                }
                self.drives[disk].issue(now, tag, command);
            }
            Action::Finish(id, how) => {
                assert_eq!(how, Ending::Finished);
                self.ended[id.0 as usize] = Some(now);
            }
            Action::Begin(_) | Action::Copy { .. } | Action::Xor { .. } | Action::Wait(..) => {}
            Action::Credit(_) | Action::HandOn(..) | Action::Bill(_) => {}
            Action::GiveUp(_) | Action::Complete(_) | Action::Compare { .. } | Action::Mend(..) => {}
            Action::Record { .. } | Action::Forget(_) | Action::Log(_) | Action::Grown(..) => {}
        }
    }
}
