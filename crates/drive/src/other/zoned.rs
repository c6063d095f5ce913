//! Shingled tracks in zones that the host manages (HostZoned Block Commands, INCITS 536).
//!
//! Conventional zones come first and take writes anywhere. Each other zone has a write pointer: a write begins there, is of whole sectors
//! and ends within the zone, or it fails with EIO and changes nothing (UNALIGNED WRITE COMMAND, WRITE BOUNDARY VIOLATION). A discard of
//! whole zones is RESET WRITE POINTER, for there is no other command for it here. Zones are opened by being written to; where that is
//! one more than may be open, the one that was not written to for longest is closed, and opened again by its next write: neither takes
//! time. Reads beyond a write pointer are allowed (URSWRZ) and take what others take.
//!
//! Units: blocks.

use super::Timing;
use super::alone::AloneDisk;
use crate::account::Parts;
use block::errno::EIO;
use block::{Command, Discarded, Extent, Lbn, Span, Time, Verb};
use disk::other::HostManaged;
use std::collections::VecDeque;

/// What a zone is like to whoever writes to it (ZBC, zone condition).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneCondition {
    /// It takes writes anywhere.
    Conventional,
    /// Nothing was written since it was reset.
    Empty,
    /// It takes the next write at its write pointer, and counts among those that are open.
    Open,
    /// The same, and it does not count.
    Closed,
    /// It takes no write until it is reset.
    Full,
}

/// A zone, as a report has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneReport {
    /// The first block of the zone.
    pub start: Lbn,
    /// How many blocks it has.
    pub blocks: u64,
    /// Where the next write must begin; the first block of a conventional zone, the end of a full one.
    pub write_pointer: Lbn,
    /// What it is like.
    pub condition: ZoneCondition,
}

/// Zones as a drive has them; sizes in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneRules {
    /// Size of a zone.
    pub zone: u64,
    /// How many there are.
    pub zones: u64,
    /// How many of these, at the beginning, take writes anywhere.
    pub conventional: u64,
    /// Size of a sector: others take whole ones.
    pub sector: u64,
    /// The most that are open at once; at least 1.
    pub open_zones: u32,
}

impl ZoneRules {
    /// Those of a drive.
    #[must_use]
    pub fn of(drive: &HostManaged) -> ZoneRules {
        let HostManaged { zone, conventional, open_zones, .. } = *drive;
        let sector = 1 << drive.drive.sheet.mechanics.layout.sector_shift();
        ZoneRules { zone, zones: drive.zones(), conventional, sector, open_zones }
    }
}

/// The write pointers of a device, and which of its zones are open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zones {
    rules: ZoneRules,
    /// Blocks written of each zone behind the conventional ones.
    written: Vec<u32>,
    /// Those that are open; the one that was not written to for longest first.
    open: VecDeque<u32>,
}

impl Zones {
    /// Zones that are all empty.
    #[must_use]
    pub fn new(rules: ZoneRules) -> Zones {
        let written = vec![0; rules.zones.saturating_sub(rules.conventional) as usize];
        Zones { rules, written, open: VecDeque::with_capacity(rules.open_zones as usize + 1) }
    }

    /// How many zones are open.
    #[must_use]
    pub fn count_open(&self) -> usize {
        self.open.len()
    }

    /// The zone that a block lies in; nothing behind the last.
    #[must_use]
    pub fn report(&self, block: Lbn) -> Option<ZoneReport> {
        let zone = block.0 / self.rules.zone;
        let start = zone * self.rules.zone;
        let (written, condition) = match zone.checked_sub(self.rules.conventional) {
            None => (0, ZoneCondition::Conventional),
            Some(i) => {
                let written = *self.written.get(i as usize)?;
                let condition = match u64::from(written) {
                    0 => ZoneCondition::Empty,
                    all if all == self.rules.zone => ZoneCondition::Full,
                    _ if self.open.contains(&(i as u32)) => ZoneCondition::Open,
                    _ => ZoneCondition::Closed,
                };
                (written, condition)
            }
        };
        let (start, write_pointer) = (Lbn(start), Lbn(start + u64::from(written)));
        Some(ZoneReport { start, blocks: self.rules.zone, write_pointer, condition })
    }

    /// A command comes: whether it may, and what it changes of the zones.
    ///
    /// # Errors
    /// The errno that it fails with; nothing is changed then.
    pub fn admit(&mut self, verb: Verb, at: Extent) -> Result<(), i32> {
        match verb {
            Verb::Write { .. } => self.write(at),
            Verb::Discard(what) => self.discard(what, at),
            Verb::Read | Verb::Seek | Verb::Flush => Ok(()),
        }
    }

    fn write(&mut self, at: Extent) -> Result<(), i32> {
        let (from, to) = (at.start.0 / self.rules.zone, (at.end().0 - 1) / self.rules.zone);
        if to < self.rules.conventional {
            return Ok(());
        }
        let i = from.checked_sub(self.rules.conventional).ok_or(EIO)? as usize;
        let written = self.written.get_mut(i).ok_or(EIO)?;
        let pointer = from * self.rules.zone + u64::from(*written);
        if from != to || at.start.0 != pointer || !u64::from(at.blocks).is_multiple_of(self.rules.sector) {
            return Err(EIO);
        }
        *written += at.blocks;
        let is_full = u64::from(*written) == self.rules.zone;
        self.open.retain(|open| *open as usize != i);
        if !is_full {
            self.open.push_back(i as u32);
        }
        if self.open.len() > self.rules.open_zones as usize {
            self.open.pop_front();
        }
        Ok(())
    }

    /// Of whole zones it resets them; else it is a hint that is passed over, unless zeros are counted on.
    fn discard(&mut self, what: Discarded, at: Extent) -> Result<(), i32> {
        let (from, to) = (at.start.0 / self.rules.zone, at.end().0 / self.rules.zone);
        let is_whole = at.start.0.is_multiple_of(self.rules.zone) && at.end().0.is_multiple_of(self.rules.zone);
        if !is_whole || from < self.rules.conventional {
            return if what == Discarded::Anything { Ok(()) } else { Err(block::errno::EOPNOTSUPP) };
        }
        let reset = (from - self.rules.conventional) as usize..(to - self.rules.conventional) as usize;
        self.open.retain(|open| !reset.contains(&(*open as usize)));
        self.written[reset].fill(0);
        Ok(())
    }
}

/// The device that the host manages.
pub(super) struct HostZoned {
    disk: AloneDisk,
    zones: Zones,
    /// What a command takes that fails.
    refusal: Span,
}

impl HostZoned {
    pub(super) fn new(drive: &HostManaged, seed: u64) -> HostZoned {
        let refusal = drive.drive.sheet.overheads.write.write;
        HostZoned { disk: AloneDisk::new(&drive.drive, seed), zones: Zones::new(ZoneRules::of(drive)), refusal }
    }
}

impl Timing for HostZoned {
    fn admit(&mut self, command: Command) -> Result<(), (i32, Span)> {
        self.zones.admit(command.verb, command.at).map_err(|errno| (errno, self.refusal))
    }

    fn serve(&mut self, now: Time, Command { verb, at, .. }: Command) -> Parts {
        let mut parts = Parts { queued: self.disk.free.since(now), ..Parts::default() };
        self.disk.free = self.disk.free.max(now);
        parts += self.disk.ask(verb, at.start.0, at.blocks.into());
        parts
    }
}
