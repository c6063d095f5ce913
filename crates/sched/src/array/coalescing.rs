//! What of a request lies side by side on a disk is one child, though other disks have what lies between in the request.
//!
//! **One command, bytes in several places.** A child of several units reads into a frame, out of which each unit's bytes are copied to
//! where they belong, or writes what was gathered there. A read that fails is had unit by unit.
//!
//! With parity, only reads are joined; and of a read that may go on at another copy nothing is, which is had unit by unit.

use super::children::{ChildRequest, Owner};
use super::{Array, ArrayPlan, Migration};
use crate::Job;
use crate::event::Action;
use crate::predict::Predictor;
use block::{Command, Extent, Lbn, Op, Place, Verb};
use config::{Word, Words};

/// Whether what lies side by side is asked for at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coalescing {
    /// No: each unit by itself.
    #[default]
    Never,
    /// Units of a request that follow one another on a disk.
    Units,
}

impl Words for Coalescing {
    const WORDS: &'static [Word<Coalescing>] = &[
        Word::new("never", Coalescing::Never, "each stripe unit is asked for by itself"),
        Word::new(
            "units",
            Coalescing::Units,
            "stripe units of a request that follow one another on a disk are asked for at once, which costs a copy of their bytes",
        ),
    ];
}

/// Bytes of a joined child that belong together.
#[derive(Clone, Copy, Debug)]
struct JoinedUnit {
    place: Place,
    blocks: u32,
}

/// The units of each joined child.
#[derive(Debug)]
pub(super) struct Joined {
    /// By the slot of a child: nothing where it is of one unit.
    units: Vec<Vec<JoinedUnit>>,
    /// By disk, the last child of the task that is being started.
    last: Vec<Option<u32>>,
    /// Whether one is, of which children may be joined.
    pub(super) is_open: bool,
}

impl Joined {
    /// Where units are to be joined.
    pub(super) fn make(plan: &ArrayPlan, disks: usize) -> Option<Box<Joined>> {
        let joined = || Joined { units: Vec::new(), last: vec![None; disks], is_open: false };
        (plan.coalescing == Coalescing::Units).then(|| Box::new(joined()))
    }
}

impl<P: Predictor> Array<P> {
    /// From now on children of a task that is started may be joined.
    pub(super) fn open_joins(&mut self) {
        if let Some(joined) = &mut self.joined {
            joined.last.fill(None);
            joined.is_open = !self.geometry.is_growing();
        }
    }

    /// All children of a task that is started are there.
    pub(super) fn close_joins(&mut self) {
        if let Some(joined) = &mut self.joined {
            joined.is_open = false;
        }
    }

    /// A child was posted, with which the next may be joined. What an update reads is summed, and not the task's.
    #[inline(never)]
    pub(super) fn note_last(&mut self, id: u32, child: &ChildRequest) {
        let is_own = child.owner == Owner::Task;
        if let Some(joined) = self.joined.as_mut().filter(|joined| joined.is_open && is_own) {
            joined.last[usize::from(child.disk.0)] = Some(id);
        }
    }

    /// Has the last child of a task for a disk do another's part, too, where that follows it. Says whether it does.
    pub(super) fn join_last(&mut self, part: &ChildRequest) -> bool {
        let Some(joined) = self.joined.as_ref().filter(|joined| joined.is_open) else { return false };
        let Some(id) = joined.last[usize::from(part.disk.0)] else { return false };
        let Some(last) = self.children.get(id).copied() else { return false };
        let is_next = last.at.end() == part.at.start && (last.task, last.op) == (part.task, part.op);
        let stays = part.op != Op::Read || self.plan.migration == Migration::Never;
        if !is_next || !stays || part.owner != Owner::Task || part.op == Op::Flush || part.tried > 0 {
            return false;
        }
        let frame = Place::Frame(self.frame_of_child(id), 0);
        let at = Extent { blocks: last.at.blocks + part.at.blocks, ..last.at };
        let takes = self.takes(part.disk, at);
        self.loads[usize::from(part.disk.0)] = self.loads[usize::from(part.disk.0)].less(last.takes) + takes;
        if let Some(joined) = &mut self.joined {
            if joined.units.len() <= id as usize {
                joined.units.resize_with(id as usize + 1, Vec::new);
            }
            let units = &mut joined.units[id as usize];
            if units.is_empty() {
                units.push(JoinedUnit { place: last.place, blocks: last.at.blocks });
            }
            units.push(JoinedUnit { place: part.place, blocks: part.at.blocks });
        }
        if let Some(child) = self.children.get_mut(id) {
            (child.at, child.takes, child.place) = (at, takes, frame);
        }
        if let Some(parts) = &mut self.parts {
            parts.grow(part.task, part.at.blocks.into());
        }
        true
    }

    /// Whether a child is of several units.
    pub(super) fn is_joined(&self, id: u32) -> bool {
        self.joined.as_ref().and_then(|joined| joined.units.get(id as usize)).is_some_and(|units| !units.is_empty())
    }

    /// Gathers what a joined child writes before the first of its commands: until then another write may change it in the buffer.
    pub(super) fn gather_units(&self, command: &Command, out: &mut Vec<Action>) {
        let (Some(joined), Verb::Write { .. }, Place::Request(child, 0)) = (&self.joined, command.verb, command.place)
        else {
            return;
        };
        let mut into = 0;
        for unit in joined.units.get(child.0 as usize).into_iter().flatten() {
            let to = Place::Frame(self.frame_of_child(child.0), into);
            out.push(Action::Copy { from: unit.place, to, blocks: unit.blocks });
            into += unit.blocks;
        }
    }

    /// What a joined child has read goes where it belongs.
    pub(super) fn spread_units(&mut self, id: u32, child: &ChildRequest, out: &mut Vec<Action>) {
        let frame = self.frame_of_child(id);
        let Some(units) = self.joined.as_mut().and_then(|joined| joined.units.get_mut(id as usize)) else { return };
        let mut from = 0;
        for unit in units.drain(..) {
            if child.op == Op::Read {
                out.push(Action::Copy { from: Place::Frame(frame, from), to: unit.place, blocks: unit.blocks });
            }
            from += unit.blocks;
        }
    }

    /// A child has ended, whose slot another may have.
    pub(super) fn forget_units(&mut self, id: u32) {
        if let Some(units) = self.joined.as_mut().and_then(|joined| joined.units.get_mut(id as usize)) {
            units.clear();
        }
    }

    /// What a joined child did not bring is had another way, unit by unit.
    pub(super) fn read_units_again(
        &mut self,
        id: u32,
        child: &ChildRequest,
        job: &Job<super::Task>,
        out: &mut Vec<Action>,
    ) {
        let Some(joined) = &mut self.joined else { return };
        let mut units = std::mem::take(&mut joined.units[id as usize]);
        let mut start = child.at.start;
        for unit in units.drain(..) {
            let part = ChildRequest { at: Extent { start, blocks: unit.blocks }, place: unit.place, ..*child };
            self.read_again(&part, job, out);
            start = Lbn(start.0 + u64::from(unit.blocks));
        }
        if let Some(joined) = &mut self.joined {
            joined.units[id as usize] = units;
        }
    }
}
