//! How an array grows by a disk, or with copies by one for each, while it is served.
//!
//! **There is a place for one disk more**, or for one for each copy, from the beginning, with tags and a core of its own, and nothing in
//! it. A disk that is told takes it as soon as nothing is being repaired. Those that join are told first; the others are told before any
//! row moves.
//!
//! **Rows move one request after the other,** while all disks are sound and nothing else is repaired. What the core says of how far that
//! has come is noted without the engine waiting, as marks are.

use super::{Members, Successor};
use crate::array::{self, Clients, Former, RegionBits, UpkeepErrand};
use crate::kernel::Kernel;
use crate::unit::LiveDevice;
use block::{DiskId, Time};
use sched::array::Grown;
use std::io;
use std::path::PathBuf;

impl Members {
    /// Whether all of its disks hold all that they should, and none is about to be another.
    pub(super) fn is_sound(&self) -> bool {
        self.lacking().is_empty()
            && self.filling_disks().is_empty()
            && self.successors.is_empty()
            && self.leaving.is_empty()
            && self.refused.is_empty()
    }

    /// The array is to grow by a disk, or with copies by one for each.
    pub(super) fn grow(&mut self, paths: &[PathBuf], former: Former) -> Result<(), String> {
        let refused = |(what, mend): (String, String)| format!("{what}; {mend}");
        let wider = self.geometry.grow().map_err(refused)?;
        let step = self.geometry.growth_step();
        if paths.len() != usize::from(step) {
            let disks = if step == 1 { "one disk".into() } else { format!("{step} disks, one for each copy,") };
            return Err(format!("the array grows by {disks} at once, and {} were named", paths.len()));
        }
        self.refuse_layout("grow", "grow it")?;
        if !self.is_sound() {
            return Err("a disk is lacking or being rebuilt; replace it, and grow the array when all are sound".into());
        }
        self.refuse_place(wider.disks(), "grow it")?;
        Members::refuse_paths(paths)?;
        let disks = (self.geometry.disks()..).map(DiskId);
        self.joining = disks.zip(paths).map(|(disk, path)| self.open(disk, path, former)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Whether disks are to join, and nothing is in the way.
    pub(super) fn may_join(&self) -> bool {
        !self.joining.is_empty() && self.may_move()
    }

    /// Whether rows may come to lie elsewhere: what is to be repaired or scrubbed is said by rows as they lie now.
    pub(super) fn may_move(&self) -> bool {
        self.upkeep.is_idle() && !self.upkeep.has_spoilt() && !self.upkeep.is_scrubbing()
    }

    /// Disks join now, if any are to: the first of them.
    pub(super) fn join_now(&mut self) -> Option<DiskId> {
        if !self.may_join() {
            return None;
        }
        let mut joining = std::mem::take(&mut self.joining);
        let first = DiskId(self.geometry.disks());
        let paths = joining.iter().map(|disk| disk.path.clone()).collect::<Vec<_>>().join(" and ");
        if !self.is_sound() {
            eprintln!("the array does not grow by {paths}: a disk is lacking");
            return None;
        }
        let zeros = self.find_zeros(&mut joining);
        let (notes, geometry) = (self.notes.as_mut()?, self.geometry.grow().ok()?);
        for (disk, joined) in (first.0..).map(DiskId).zip(&mut joining) {
            joined.unit.set_sum_key(notes.sum_key(disk, Some(joined.name)));
        }
        let (mut names, mut units) = (Vec::new(), Vec::<&mut dyn LiveDevice>::new());
        for Successor { unit, name, path } in &mut joining {
            names.push((*name, path.as_str()));
            units.push(&mut **unit);
        }
        if let Err(error) = notes.join(&names, &zeros, &mut units) {
            eprintln!("the array does not grow by {paths}: {error}");
            return None;
        }
        for (disk, joined) in (first.0..).map(DiskId).zip(joining) {
            self.put_in_place(disk, joined.unit);
        }
        self.geometry = geometry;
        self.room.forget();
        self.upkeep.set_growth(&geometry);
        self.write_notes();
        eprintln!("the array grows by {paths}; {}", array::name_as_last(geometry.growth_step()));
        Some(first)
    }

    /// The regions that were never written, and are zeros on all disks that join.
    fn find_zeros(&self, joining: &mut [Successor]) -> RegionBits {
        let mut zeros = RegionBits::default();
        let Some(notes) = &self.notes else { return zeros };
        for region in notes.blank().list() {
            let part = array::part(&self.geometry, region);
            if part.is_some_and(|at| joining.iter_mut().all(|disk| array::make_blank(&mut *disk.unit, at))) {
                zeros.add(region);
            }
        }
        let all_there = joining.iter_mut().all(|disk| disk.unit.sync().is_ok());
        if all_there { zeros } else { RegionBits::default() }
    }

    /// When rows are to be moved next.
    pub(super) fn move_due(&self, clients: Clients) -> Option<Time> {
        self.upkeep.move_due(clients).filter(|_| self.is_sound())
    }

    /// The rows that are to be moved now.
    pub(super) fn take_move(&mut self, now: Time, clients: Clients) -> Option<UpkeepErrand> {
        if self.is_sound() { self.upkeep.take_move(now, clients) } else { None }
    }

    /// The array has grown so far, and its disks are to know: whatever they are told from now on says so.
    pub(super) fn tell_grown(&mut self, now: Time, grown: Grown, kernel: &mut dyn Kernel) -> io::Result<()> {
        let (geometry, traded) = (self.geometry.moved_to(grown.rows), self.geometry.traded_level());
        let ends = self.geometry.is_growing() && !geometry.is_growing();
        self.geometry = geometry;
        self.upkeep.set_growth(&geometry);
        self.notes.iter_mut().for_each(|notes| notes.set_grown(grown));
        if ends {
            match traded {
                Some(_) => eprintln!("the array is a RAID {}", geometry.level().number()),
                None => eprintln!("the array has grown to {} disks", geometry.disks()),
            }
        }
        self.telling = true;
        if self.noting.is_none() { self.note(now, kernel) } else { Ok(()) }
    }

    /// The last of its disks, where the core is to hear that all were told how far it has grown.
    pub(super) fn take_told(&mut self) -> Option<DiskId> {
        std::mem::take(&mut self.told).then(|| DiskId(self.geometry.disks() - 1))
    }
}
