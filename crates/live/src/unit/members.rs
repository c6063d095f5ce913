//! The disks of an array, as one device.
//!
//! Each has its own commands: the tags of the first come first, then those of the second, and so on, so that a tag tells whose it
//! is. What the core says of a disk is for that disk alone; where blocks lie, and what is summed, is the core's affair
//! (`sched::array`). Times are not: a disk that answers comes back whatever the others do.
//!
//! A disk that takes the place of another has its tags, but the kernel knows its commands by other numbers: what the one before it
//! still has in flight is not taken for its own, and comes back to nobody.

use super::{Done, FaultChange, FaultReach, LiveDevice};
use crate::array::{
    ArrayNotes, ArrayOrder, BEHIND, Clients, Durable, LOG_NUMBERS, RegionBits, RepairPace, Upkeep, UpkeepErrand,
    WriteLog,
};
use crate::kernel::Kernel;
use crate::memory::Slice;
use crate::ring::{RingOp, RingToken};
use block::{BLOCK_BYTES, Caps, Command, DiskId, Ending, Extent, Tag, Time};
use sched::array::{Geometry, Grown};
use sched::{Action, Health, Mend};
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

use marks::{Noting, WaitingWrite};
use raising::LevelChange;
use room::Room;

mod blank;
mod growing;
mod leaving;
mod logged;
mod marks;
mod orders;
mod places;
mod raising;
mod room;
mod sums;
mod told;
mod trading;

/// Opens what is to take the place of a disk of an array.
pub type MemberOpener = Box<dyn Fn(DiskId, &Path) -> Result<Box<dyn LiveDevice>, String>>;

/// A disk of an array.
struct Member {
    unit: Box<dyn LiveDevice>,
    /// The first of its tags, and how many there are; the first of the numbers by which the kernel knows its commands.
    first: u32,
    depth: u32,
    known: u32,
}

/// A disk that is to take a place, and what it is called.
struct Successor {
    unit: Box<dyn LiveDevice>,
    name: u64,
    path: String,
}

fn list_units(members: &mut [Member]) -> Vec<&mut dyn LiveDevice> {
    members.iter_mut().map(|member| &mut *member.unit as &mut dyn LiveDevice).collect()
}

/// Several devices, of which each command names one by its tag.
pub struct Members {
    geometry: Geometry,
    members: Vec<Member>,
    /// Whose turn it is to be asked first what has come back.
    turn: usize,
    /// What the disks know of the array, where it lasts.
    notes: Option<ArrayNotes>,
    /// Disks that are to be given up, since somebody said so; that were; on which nothing could be noted; commands that were not given
    /// to a disk for that.
    leaving: Vec<DiskId>,
    gone: Vec<DiskId>,
    refused: VecDeque<DiskId>,
    done: VecDeque<Done>,
    /// Disks that are noted to be given up, since nothing could be flushed on them, before the core gave them up.
    foretold: Vec<DiskId>,
    /// Whether what is known is still to be written down.
    unwritten: bool,
    /// Where disks have room for what clients write.
    room: Room,
    /// What it asks for itself.
    upkeep: Upkeep,
    /// How disks are opened while it is served; those that are to take a place, and spares.
    opener: Option<MemberOpener>,
    successors: Vec<(DiskId, Successor)>,
    changes: VecDeque<DiskId>,
    spares: VecDeque<Successor>,
    /// The first number by which the kernel knows no command yet.
    unknown: u32,
    /// Of each disk that is being filled, the regions that were zeros from the beginning; those of which the core is to be told.
    held: Vec<(DiskId, RegionBits)>,
    untold: VecDeque<(DiskId, u64)>,
    /// Disks of which the others know that they hold all that they should; the core does not yet.
    known: VecDeque<DiskId>,
    /// Blocks that were not as they were written; whether any disk is asked for such.
    spoilt: u64,
    sums: bool,
    /// What is being noted while nobody else waits, and writes that are to follow it.
    noting: Option<Noting>,
    waiting: VecDeque<WaitingWrite>,
    /// Regions whose marks are not on a medium yet; by disk, the number by which the kernel knows its notes.
    unmarked: Vec<u64>,
    notes_known: Vec<u32>,
    /// The log of its write buffer.
    log: Option<WriteLog>,
    /// Disks by which it is to grow, as soon as nothing is repaired; whether its disks are to be told how far it has grown; and whether
    /// they have been, of which the core is to hear.
    joining: Vec<Successor>,
    telling: bool,
    told: bool,
    /// What is to become of its level.
    level: LevelChange,
}

impl Members {
    /// The disks of an array, in its order: as many as the geometry has, none smaller than it needs; and where it may grow, behind them what
    /// stands for the disks by which it may.
    #[must_use]
    pub fn new(geometry: Geometry, units: Vec<Box<dyn LiveDevice>>) -> Members {
        debug_assert!(usize::from(geometry.disks()) <= units.len());
        let places = units.len() as u32;
        let mut next = 0;
        let mut member = |unit: Box<dyn LiveDevice>| {
            let (first, depth) = (next, u32::from(unit.caps().depth));
            next += depth;
            Member { unit, first, depth, known: first }
        };
        let members = units.into_iter().map(&mut member).collect();
        Members {
            geometry,
            members,
            turn: 0,
            notes: None,
            leaving: Vec::new(),
            gone: Vec::new(),
            refused: VecDeque::new(),
            done: VecDeque::new(),
            foretold: Vec::new(),
            unwritten: false,
            room: Room::default(),
            upkeep: Upkeep::new(geometry, RepairPace::default(), RepairPace::default()),
            opener: None,
            successors: Vec::new(),
            changes: VecDeque::new(),
            spares: VecDeque::new(),
            unknown: next + places + LOG_NUMBERS,
            held: Vec::new(),
            untold: VecDeque::new(),
            known: VecDeque::new(),
            spoilt: 0,
            sums: false,
            noting: None,
            waiting: VecDeque::new(),
            unmarked: Vec::new(),
            notes_known: (next..next + places).collect(),
            log: None,
            joining: Vec::new(),
            telling: false,
            told: false,
            level: LevelChange::None,
        }
    }

    /// The same, which repairs at this pace, and opens disks so.
    #[must_use]
    pub(crate) fn repairing(self, [rebuild, scrub]: [RepairPace; 2], opener: Option<MemberOpener>) -> Members {
        let mut upkeep = Upkeep::new(self.geometry, rebuild, scrub);
        upkeep.set_growth(&self.geometry);
        Members { upkeep, opener, ..self }
    }

    /// The same, whose disks know of what becomes of it.
    #[must_use]
    pub(crate) fn noting(self, notes: Option<ArrayNotes>) -> Members {
        let mut members = Members { notes, ..self };
        members.set_sum_keys();
        let log = members.log.as_ref().map(WriteLog::name);
        members.notes.iter_mut().for_each(|notes| notes.set_log(log));
        if let Some(notes) = &mut members.notes {
            notes.find_older(&mut list_units(&mut members.members));
        }
        // Both copies, one after the other.
        members.write_notes();
        members.notes.iter_mut().for_each(ArrayNotes::begin);
        if members.refused.is_empty() {
            members.notes.iter_mut().for_each(ArrayNotes::settle_service);
        }
        members.write_notes();
        members.check_log();
        members.fill();
        members
    }

    /// Writes down what is known of the array, on each disk that counts; whether any has it.
    fn write_notes(&mut self) -> bool {
        let Some(notes) = &mut self.notes else { return true };
        let mut units = list_units(&mut self.members);
        let counting = (0..self.geometry.disks()).filter(|disk| notes.counts(DiskId(*disk))).count();
        let refused = notes.write(&mut units);
        let any = refused.len() < counting;
        self.refused.extend(refused);
        self.unwritten = !any;
        any
    }

    fn filling_disks(&self) -> Vec<(DiskId, u64)> {
        self.notes.as_ref().map(ArrayNotes::filling).unwrap_or_default()
    }

    /// Whether all is to be had without this disk, where it is lacking besides those that are.
    fn can_spare(&self, disk: DiskId) -> bool {
        let filling = self.filling_disks().into_iter().map(|(disk, _)| disk);
        let foretold = self.foretold.iter().copied();
        let lacking: Vec<DiskId> = self.lacking().into_iter().chain(filling).chain(foretold).chain([disk]).collect();
        self.is_whole_without(&lacking)
    }

    /// The disks that it has, without what stands for one by which it may grow.
    fn disks(&self) -> &[Member] {
        &self.members[..usize::from(self.geometry.disks())]
    }

    /// What was filled of a disk, and flushed, is all: it counts like the others.
    fn set_sound(&mut self, disk: DiskId) {
        self.upkeep.forget(disk);
        if self.notes.as_mut().is_some_and(|notes| notes.complete(disk)) {
            if self.write_notes() {
                self.known.push_back(disk);
            }
            eprintln!("disk {} is rebuilt", disk.0);
        }
        self.stop_filling();
    }

    /// So many rows of what is being filled are on its medium.
    fn keep_filled(&mut self, rows: u64) {
        for (disk, _) in self.filling_disks() {
            let unit = &mut *self.members[usize::from(disk.0)].unit;
            if self.notes.as_mut().is_some_and(|notes| notes.keep_filled(disk, rows, unit).is_err()) {
                self.refused.push_back(disk);
            }
        }
    }

    /// By which number the kernel knows a command: whose it is, and its own.
    fn find_known(&mut self, number: Tag) -> Option<(&mut Member, Tag)> {
        let is_of = |member: &&mut Member| (member.known..member.known + member.depth).contains(&number.0);
        let member = self.members.iter_mut().find(is_of)?;
        let own = Tag(number.0 - member.known);
        Some((member, own))
    }

    /// Whose a tag is, and which of its own.
    fn of(&mut self, tag: Tag) -> Option<(&mut Member, Tag)> {
        let number = self.members.partition_point(|member| member.first <= tag.0).checked_sub(1)?;
        let member = self.members.get_mut(number)?;
        let own = Tag(tag.0 - member.first);
        Some((member, own))
    }
}

/// The kernel, as one of several devices sees it, which knows nothing of the commands of others.
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
        let depth = self.disks().iter().map(|member| member.depth).sum::<u32>();
        Caps {
            blocks: self.geometry.blocks(),
            depth: depth.try_into().unwrap_or(u16::MAX),
            seek: block::SeekBy::Nothing,
            arms: 1,
        }
    }

    fn members(&self) -> Vec<Caps> {
        // A last block that is not whole is of no use to an array.
        let blocks = |member: &Member| member.unit.bytes() / BLOCK_BYTES;
        let least = self.disks().iter().map(blocks).min().unwrap_or(0);
        let (first, end) = self.geometry.rows_on_disk();
        let margin = if self.notes.is_some() { BEHIND } else { 0 };
        // Where all have more than the array was made of, that is not its either.
        let more = least.saturating_sub(first + margin) / u64::from(self.geometry.unit()) > self.geometry.rows();
        let most = if more { end + margin } else { u64::MAX };
        let caps = |member: &Member| Caps { blocks: blocks(member).min(most), ..member.unit.caps() };
        self.members.iter().map(caps).collect()
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
        if command.verb.writes() && self.must_wait(command, memory.as_ref()) {
            self.waiting.push_back(WaitingWrite { asked: now, tag, command: *command, memory });
            return if self.noting.is_none() { self.note(now, kernel) } else { Ok(()) };
        }
        self.give(now, tag, command, memory, kernel)
    }

    fn due(&self) -> Option<Time> {
        self.members.iter().filter_map(|member| member.unit.due()).min()
    }

    fn due_of(&self, disk: DiskId) -> Option<Time> {
        self.members.get(usize::from(disk.0))?.unit.due()
    }

    fn next_completion(&mut self, now: Time) -> Option<Done> {
        self.hear_spoilt();
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
        if let Some(disk) = self.find_note(tag) {
            return self.end_note(now, disk, result, kernel);
        }
        if let Some(log) = self.log.as_mut().filter(|log| log.is_known(tag)) {
            log.on_completion(now, tag, result, kernel);
            return Ok(());
        }
        let Some((member, own)) = self.find_known(tag) else { return Ok(()) };
        let mut kernel = Shifted { kernel, first: member.known };
        member.unit.on_completion(now, own, result, &mut kernel)
    }

    fn give_up(&mut self, disks: &[DiskId]) -> bool {
        // What was filled and only not flushed yet may be needed now.
        for filled in self.upkeep.list_completed().into_iter().filter(|filled| !disks.contains(filled)) {
            if self.members[usize::from(filled.0)].unit.sync().is_ok() {
                self.set_sound(filled);
            }
        }
        self.gone.extend(disks);
        self.leaving.retain(|leaving| !disks.contains(leaving));
        self.foretold.retain(|foretold| !disks.contains(foretold));
        for disk in disks {
            self.upkeep.forget(*disk);
            self.drop_waiting(*disk);
        }
        let known = self.note_given_up(disks);
        self.stop_filling();
        let left = disks.iter().filter(|disk| disk.0 < self.geometry.disks()).copied().collect::<Vec<_>>();
        left.into_iter().for_each(|disk| self.offer_spare(disk));
        known
    }

    fn go_on(&mut self, now: Time, kernel: &mut dyn Kernel) -> io::Result<()> {
        Members::go_on(self, now, kernel)
    }

    fn keeper(&self, disk: DiskId) -> DiskId {
        self.find_keeper(disk)
    }

    fn filling(&self) -> Vec<(DiskId, u64)> {
        let block = |rows| self.geometry.on_disk(rows, 0, 0).start.0;
        self.filling_disks().into_iter().map(|(disk, rows)| (disk, block(rows))).collect()
    }

    fn order(&mut self, order: &ArrayOrder) -> Result<(), String> {
        self.obey(order)
    }

    fn geometry(&self) -> Option<Geometry> {
        Some(self.geometry)
    }

    fn join(&mut self) -> Option<(DiskId, Health)> {
        let joins = self.join_now().map(|disk| (disk, Health::Joins));
        let joins = joins.or_else(|| self.raise_now().map(|disk| (disk, Health::JoinsForParity)));
        joins.or_else(|| self.trade_now().map(|disk| (disk, Health::TradesCopies)))
    }

    fn note_grown(&mut self, now: Time, grown: Grown, kernel: &mut dyn Kernel) -> io::Result<()> {
        self.tell_grown(now, grown, kernel)
    }

    fn next_change(&mut self) -> Option<DiskId> {
        self.changes.pop_front()
    }

    fn change_disk(&mut self, disk: DiskId) -> bool {
        let Some(place) = self.successors.iter().position(|(other, _)| *other == disk) else { return false };
        let (_, Successor { mut unit, name, path }) = self.successors.remove(place);
        let Some(notes) = &mut self.notes else { return false };
        unit.set_sum_key(notes.sum_key(disk, Some(name)));
        if let Err(error) = notes.replace(disk, name, &mut *unit) {
            eprintln!("{path} does not take the place of disk {}: {error}", disk.0);
            return false;
        }
        self.forget_waiting(disk);
        self.upkeep.forget(disk);
        self.put_in_place(disk, unit);
        self.gone.retain(|gone| *gone != disk);
        self.write_notes();
        self.held.retain(|(other, _)| *other != disk);
        self.fill();
        eprintln!("{path} takes the place of disk {} and is rebuilt; name it in the service file", disk.0);
        true
    }

    fn complete(&mut self, disk: DiskId) {
        self.upkeep.note_complete(disk);
    }

    fn errand_due(&self, clients: Clients) -> Option<Time> {
        match self.may_empty(clients) || !self.changes.is_empty() || self.may_join() || self.has_level_news() {
            true => Some(clients.silent_from),
            false if self.upkeep.is_moving() => None,
            false => [self.upkeep.due(clients), self.move_due(clients)].iter().flatten().min().copied(),
        }
    }

    fn next_errand(&mut self, now: Time, clients: Clients) -> Option<UpkeepErrand> {
        if self.may_empty(clients) {
            self.empty_discarded();
        }
        if self.upkeep.is_moving() {
            return None;
        }
        self.upkeep.take(now, clients).or_else(|| self.take_move(now, clients))
    }

    fn next_health(&mut self) -> Option<(DiskId, Health)> {
        let known = self.known.pop_front().map(|disk| (disk, Health::Known));
        let known = known.or_else(|| self.take_level_news());
        let known = known.or_else(|| self.take_told().map(|disk| (disk, Health::Told)));
        known.or_else(|| self.take_untold().map(|(disk, at)| (disk, Health::Holds(at))))
    }

    fn keep_record(&mut self, action: &Action, memory: Option<&Slice>) {
        self.notes.iter_mut().for_each(|notes| notes.keep_record(action, memory));
    }

    fn note_discard(&mut self, at: Extent) {
        let geometry = self.geometry;
        self.notes.iter_mut().for_each(|notes| notes.note_discard(&geometry, at));
    }

    fn make_room(&mut self, at: Extent) -> Result<(), i32> {
        self.make_room_for(at)
    }

    fn end_errand(&mut self, now: Time, number: u32, how: Ending) {
        self.upkeep.end(now, number, how);
        while let Some(durable) = self.upkeep.next_durable() {
            match durable {
                Durable::Rows(rows) => self.keep_filled(rows),
                Durable::Disk(disk) => self.set_sound(disk),
            }
        }
    }

    fn next_refusal(&mut self) -> Option<DiskId> {
        self.refused.pop_front()
    }

    fn lacking(&self) -> Vec<DiskId> {
        let is_noted = |disk: &DiskId| self.notes.as_ref().is_none_or(|notes| notes.counts(*disk));
        let noted = |disk: &DiskId| is_noted(disk) || self.foretold.contains(disk);
        let counts = |disk: &DiskId| noted(disk) && !self.gone.contains(disk);
        (0..self.geometry.disks()).map(DiskId).filter(|disk| !counts(disk)).collect()
    }

    fn foretold(&self) -> &[DiskId] {
        &self.foretold
    }

    fn write_log(&mut self) -> Option<&mut WriteLog> {
        self.log.as_mut()
    }

    fn give_up_log(&mut self) {
        self.drop_log();
    }

    fn note_mend(&mut self, at: Extent, why: Mend) {
        match why {
            Mend::Doubtful => self.doubt(at),
            Mend::Unreadable | Mend::Unlike => self.upkeep.note_mend(at.blocks, why),
        }
    }

    fn array_json(&self) -> Option<Value> {
        Some(self.json())
    }

    fn close(&mut self) {
        while self.can_empty_discarded() && self.refused.is_empty() {
            self.empty_discarded();
        }
        self.keep_sums();
        let is_settled = self.log.as_ref().is_none_or(|log| log.is_settled() && !log.is_stuck());
        // What a disk refused need not agree with the others.
        if let Some(notes) = self.notes.as_mut().filter(|_| self.refused.is_empty() && is_settled) {
            notes.clean();
            notes.set_log(None);
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
        let disks = usize::from(self.geometry.disks());
        let member = self.members[..disks].get_mut(usize::from(disk.0));
        let member = member.ok_or_else(|| format!("there is no disk {}; name one from 0 to {}", disk.0, disks - 1))?;
        let mut kernel = Shifted { kernel, first: member.known };
        member.unit.fault(now, FaultReach::All(0, u64::MAX), change, &mut kernel)
    }
}

#[cfg(test)]
mod tests;
