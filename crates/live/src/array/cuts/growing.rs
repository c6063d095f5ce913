//! The power goes while an array grows by a disk, at any write of it: what was flushed is where it lies by then, in the rows that have
//! moved or in those that have not; and what comes to be there behind it is zeros.

use super::*;
use crate::array::{Absent, find_layout};

impl Scene {
    /// Where the blocks of the array lie, as its disks say.
    pub(super) fn find(&self, outside: &Outside) -> Geometry {
        let found = find_layout(&mut outside.units(&[])).expect("it is on its disks");
        let margins = (crate::array::BEFORE, crate::array::BEHIND);
        let level = if self.raises == Raises::No { self.level } else { found.level() };
        let geometry = Geometry::within(level, found.disks(), UNIT, DISK, margins).expect("a geometry");
        found.fit(&geometry)
    }

    /// The places of disks by which it may grow.
    pub(super) fn make_places(&self, geometry: &Geometry) -> impl Iterator<Item = Box<dyn LiveDevice>> + use<> {
        let absent = |_| -> Box<dyn LiveDevice> {
            Box::new(Absent::new(Caps { blocks: DISK, depth: 4, seek: block::SeekBy::Nothing, arms: 1 }))
        };
        let may_grow = (self.grows || self.raises != Raises::No) && geometry.disks() == self.disks;
        (0..if may_grow { geometry.growth_step() } else { 0 }).map(absent)
    }

    /// Where its blocks lie when it has grown, or has parity in place of copies.
    pub(super) fn changed(&self) -> Geometry {
        let made = self.geometry();
        let changed = match self.raises {
            Raises::Trades => made.trade_copies(),
            _ if self.grows => made.grow(),
            _ => Ok(made),
        };
        changed.expect("it may").widest()
    }

    /// The level that it is to have in the end, where it is one that it did not have.
    pub(super) fn level_wanted(&self) -> Option<Level> {
        Some(Level::Parity).filter(|_| self.raises == Raises::Trades && self.has_to_grow())
    }

    /// What was not cut ended well.
    pub(super) fn check_end(&self, outside: &Outside, is_replaced: bool) {
        let geometry = self.find(outside);
        if self.has_to_grow() {
            assert_eq!((geometry.disks(), geometry.is_growing()), (self.disks_grown(), false), "it has not grown");
            assert!(self.level_wanted().is_none_or(|level| geometry.level() == level), "its level is what it was");
        }
        let status = inspect(&mut outside.units(&[]), &geometry);
        assert!(status.names().is_some_and(|(_, log)| log.is_none()), "it ended well");
        let all_sound = status.disks.iter().all(|state| *state == MemberState::Sound);
        assert!(all_sound || !is_replaced, "{}", status.text());
    }

    /// Disks that it has when it has grown.
    pub(super) fn disks_grown(&self) -> u16 {
        self.disks + if self.raises == Raises::Trades { 0 } else { self.geometry().growth_step() }
    }

    /// As many, where it has to; else none.
    pub(super) fn disks_wanted(&self) -> u16 {
        if self.has_to_grow() { self.disks_grown() } else { 0 }
    }

    /// Whether it has grown in the end: where a disk is lacking for good it does not.
    pub(super) fn has_to_grow(&self) -> bool {
        (self.grows || matches!(self.raises, Raises::Once | Raises::Trades)) && self.fate != Fate::Fails
    }
}

/// To grow by so many disks.
pub(super) fn grow_order(disks: u16) -> ArrayOrder {
    ArrayOrder::Grow((0..disks).map(|_| "another".into()).collect(), Former::Kept)
}

fn growing(seed: u64, requests: u32) -> Scene {
    let levels = [(Level::Parity, 3), (Level::DoubleParity, 4), (Level::Striped, 2), (Level::Parity, 4)];
    // One that came of a RAID 5 now and then.
    let is_raised = seed % 4 == 3 && (seed / 4) % 3 == 1;
    growing_from(seed, requests, if is_raised { (Level::SecondOnLast, 4) } else { levels[seed as usize % 4] })
}

/// By one disk for each copy at once.
fn growing_by_sets(seed: u64, requests: u32) -> Scene {
    let (copies, disks) = if seed % 4 == 1 { (3, 3) } else { (2, 4) };
    growing_from(seed, requests, (Level::Mirrored { copies }, disks))
}

fn growing_from(seed: u64, requests: u32, (level, disks): (Level, u16)) -> Scene {
    let it = scene(seed / 4, requests);
    let fate = if level == Level::Striped { Fate::None } else { it.fate };
    let befalls_joined = fate != Fate::None && (seed / 4) % 2 == 1;
    let victims = if level == Level::DoubleParity && (seed / 8) % 2 == 1 { 2 } else { 1 };
    Scene { seed, level, disks, fate, victims, log: LogFate::None, grows: true, befalls_joined, ..it }
}

/// Cuts scenes anywhere, or one at each of its writes. How often it did.
pub(super) fn cut_many(make: fn(u64, u32) -> Scene) -> u64 {
    let seeds = match choose_seeds(150) {
        Ok(seeds) => seeds,
        Err(seed) => return cut_everywhere(&make(seed, 30)),
    };
    let cuts = seeds.map(|seed| u64::from(tell(&make(seed, 40), Draw::new(seed, 9).below(400))));
    let cuts = cuts.sum::<u64>() + (0..4).map(|seed| cut_everywhere(&make(seed, 4))).sum::<u64>();
    println!("{cuts} cuts");
    assert!(cuts > 300, "{cuts} cuts");
    cuts
}

#[test]
fn wherever_the_power_goes_while_it_grows_what_was_flushed_is_there_and_all_agrees() {
    cut_many(growing);
    // The disk that has the copy of a first row goes while the others are told of that.
    tell(&growing(1119, 40), 48);
}

#[test]
fn wherever_the_power_goes_while_mirrored_stripes_grow_what_was_flushed_is_there_and_all_agrees() {
    cut_many(growing_by_sets);
    // The disk that has the other copy of a column of a first row is gone.
    tell(&growing_by_sets(1458, 40), 72);
}
