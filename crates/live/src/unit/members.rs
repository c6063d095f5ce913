//! The disks of an array, as one device.
//!
//! Each has its own commands: the tags of the first come first, then those of the second, and so on, so that a tag tells whose it
//! is. What the core says of a disk is for that disk alone; where blocks lie, and what is summed, is the core's affair
//! (`sched::array`). Times are not: a disk that answers comes back whatever the others do.

use super::{Done, FaultChange, FaultReach, LiveDevice};
use crate::array::ArrayNotes;
use crate::kernel::Kernel;
use crate::memory::Slice;
use crate::ring::{RingOp, RingToken};
use block::errno::EIO;
use block::{BLOCK_BYTES, Caps, Command, DiskId, Outcome, Tag, Time};
use sched::array::Geometry;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// A disk of an array, and the first of its tags.
struct Member {
    unit: Box<dyn LiveDevice>,
    first: u32,
}

/// Several devices, of which each command names one by its tag.
pub struct Members {
    geometry: Geometry,
    members: Vec<Member>,
    /// Whose turn it is to be asked first what has come back.
    turn: usize,
    /// What the disks know of the array, where it lasts.
    notes: Option<ArrayNotes>,
    /// Disks that were given up; on which nothing could be noted; commands that were not given to a disk for that.
    gone: Vec<DiskId>,
    refused: VecDeque<DiskId>,
    done: VecDeque<Done>,
    /// Whether what is known is still to be written down.
    unwritten: bool,
}

impl Members {
    /// The disks of an array, in its order: as many as the geometry has, none smaller than it needs.
    #[must_use]
    pub fn new(geometry: Geometry, units: Vec<Box<dyn LiveDevice>>) -> Members {
        debug_assert_eq!(usize::from(geometry.disks()), units.len());
        let mut next = 0;
        let mut member = |unit: Box<dyn LiveDevice>| {
            let first = next;
            next += u32::from(unit.caps().depth);
            Member { unit, first }
        };
        let members = units.into_iter().map(&mut member).collect();
        let (refused, done) = (VecDeque::new(), VecDeque::new());
        Members { geometry, members, turn: 0, notes: None, gone: Vec::new(), refused, done, unwritten: false }
    }

    /// The same, whose disks know of what becomes of it.
    #[must_use]
    pub(crate) fn noting(self, notes: Option<ArrayNotes>) -> Members {
        let mut members = Members { notes, ..self };
        // Both copies, wherever the last ones were.
        members.write_notes();
        members.notes.iter_mut().for_each(ArrayNotes::begin);
        members.write_notes();
        members
    }

    /// Writes down what is known of the array, on each disk that counts; whether any has it.
    fn write_notes(&mut self) -> bool {
        let Some(notes) = &mut self.notes else { return true };
        let mut units: Vec<&mut dyn LiveDevice> =
            self.members.iter_mut().map(|member| &mut *member.unit as &mut dyn LiveDevice).collect();
        let counting = (0..self.geometry.disks()).filter(|disk| notes.counts(DiskId(*disk))).count();
        let refused = notes.write(&mut units);
        let any = refused.len() < counting;
        self.refused.extend(refused);
        self.unwritten = !any;
        any
    }

    /// Whose a tag is, and which of its own.
    fn of(&mut self, tag: Tag) -> Option<(&mut Member, Tag)> {
        let number = self.members.partition_point(|member| member.first <= tag.0).checked_sub(1)?;
        let member = self.members.get_mut(number)?;
        let own = Tag(tag.0 - member.first);
        Some((member, own))
    }
}

/// The kernel, as one of several devices sees it, which knows nothing of the tags of others.
struct Shifted<'a> {
    kernel: &'a mut dyn Kernel,
    first: u32,
}

impl Kernel for Shifted<'_> {
    fn now(&self) -> Time {
        self.kernel.now()
    }

    fn push(&mut self, file: &Rc<OwnedFd>, token: RingToken, op: RingOp) -> io::Result<()> {
        let token = if let RingToken::Unit(tag) = token { RingToken::Unit(self.first + tag) } else { token };
        self.kernel.push(file, token, op)
    }

    fn take(&mut self) -> Option<(RingToken, i32)> {
        self.kernel.take()
    }

    fn sleep(&mut self, until: Option<Time>) -> io::Result<()> {
        self.kernel.sleep(until)
    }

    fn send(&mut self, socket: &OwnedFd, pieces: &[Slice]) -> usize {
        self.kernel.send(socket, pieces)
    }

    fn shut(&mut self, socket: &OwnedFd) {
        self.kernel.shut(socket);
    }
}

impl LiveDevice for Members {
    fn caps(&self) -> Caps {
        let depth = self.members.iter().map(|member| u32::from(member.unit.caps().depth)).sum::<u32>();
        Caps { blocks: self.geometry.blocks(), depth: depth.try_into().unwrap_or(u16::MAX), seek: false }
    }

    fn members(&self) -> Vec<Caps> {
        // A last block that is not whole is of no use to an array.
        let caps = |unit: &dyn LiveDevice| Caps { blocks: unit.bytes() / BLOCK_BYTES, ..unit.caps() };
        self.members.iter().map(|member| caps(&*member.unit)).collect()
    }

    fn is_whole_without(&self, lacking: &[DiskId]) -> bool {
        self.geometry.is_whole_without(|disk| lacking.contains(&disk))
    }

    fn issue(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        kernel: &mut dyn Kernel,
    ) -> io::Result<()> {
        let geometry = self.geometry;
        let marks = |notes: &mut ArrayNotes| command.verb.writes() && notes.mark(&geometry, command.at);
        let news = self.notes.as_mut().is_some_and(marks) || self.unwritten && command.verb.writes();
        if news && !self.write_notes() {
            self.done.push_back(Done::now(now, tag, Outcome::Failed(EIO)));
            return Ok(());
        }
        let Some((member, own)) = self.of(tag) else { return Ok(()) };
        let mut kernel = Shifted { kernel, first: member.first };
        member.unit.issue(now, own, command, memory, &mut kernel)
    }

    fn due(&self) -> Option<Time> {
        self.members.iter().filter_map(|member| member.unit.due()).min()
    }

    fn due_of(&self, disk: DiskId) -> Option<Time> {
        self.members.get(usize::from(disk.0))?.unit.due()
    }

    fn next_completion(&mut self, now: Time) -> Option<Done> {
        if let Some(done) = self.done.pop_front() {
            return Some(done);
        }
        let count = self.members.len();
        for number in (0..count).map(|step| (self.turn + step) % count) {
            let member = &mut self.members[number];
            if let Some(done) = member.unit.next_completion(now) {
                self.turn = (number + 1) % count;
                return Some(Done { tag: Tag(member.first + done.tag.0), ..done });
            }
        }
        None
    }

    fn on_completion(&mut self, now: Time, tag: Tag, result: i32, kernel: &mut dyn Kernel) -> io::Result<()> {
        let Some((member, own)) = self.of(tag) else { return Ok(()) };
        let mut kernel = Shifted { kernel, first: member.first };
        member.unit.on_completion(now, own, result, &mut kernel)
    }

    fn give_up(&mut self, disk: DiskId) -> bool {
        self.gone.push(disk);
        let Some(notes) = self.notes.as_mut().filter(|notes| notes.counts(disk)) else { return true };
        notes.give_up(disk);
        self.write_notes()
    }

    fn next_refusal(&mut self) -> Option<DiskId> {
        self.refused.pop_front()
    }

    fn lacking(&self) -> Vec<DiskId> {
        let noted = |disk: &DiskId| self.notes.as_ref().is_none_or(|notes| notes.counts(*disk));
        let counts = |disk: &DiskId| noted(disk) && !self.gone.contains(disk);
        (0..self.geometry.disks()).map(DiskId).filter(|disk| !counts(disk)).collect()
    }

    fn array_json(&self) -> Option<Value> {
        let lacking = self.lacking();
        let state = |disk: u16| if lacking.contains(&DiskId(disk)) { "given up" } else { "sound" };
        let disks = (0..self.geometry.disks()).map(|disk| json!({ "disk": disk, "state": state(disk) }));
        let disks: Vec<Value> = disks.collect();
        let known = self.notes.as_ref().map(ArrayNotes::json).unwrap_or_default();
        Some(
            json!({ "array": known["array"], "events": known["events"], "dirty_regions": known["dirty"], "disks": disks }),
        )
    }

    fn close(&mut self) {
        if let Some(notes) = &mut self.notes {
            notes.clean();
        }
        self.write_notes();
    }

    fn fault(&mut self, _: Time, _: FaultReach, _: FaultChange, _: &mut dyn Kernel) -> Result<(), String> {
        Err("the volumes of an array have no faults of their own; name a disk of it".into())
    }

    fn fault_disk(
        &mut self,
        now: Time,
        disk: DiskId,
        change: FaultChange,
        kernel: &mut dyn Kernel,
    ) -> Result<(), String> {
        let disks = self.members.len();
        let member = self.members.get_mut(usize::from(disk.0));
        let member = member.ok_or_else(|| format!("there is no disk {}; name one from 0 to {}", disk.0, disks - 1))?;
        let mut kernel = Shifted { kernel, first: member.first };
        member.unit.fault(now, FaultReach::All(0, u64::MAX), change, &mut kernel)
    }
}
