//! The power goes while an array grows by a disk, at any write of it: what was flushed is where it lies by then, in the rows that have
//! moved or in those that have not; and what comes to be there behind it is zeros.

use super::*;
use crate::array::{Absent, find_layout};

impl Scene {
    /// Where the blocks of the array lie, as its disks say.
    pub(super) fn find(&self, outside: &Outside) -> Geometry {
        let found = find_layout(&mut outside.units(&[])).expect("it is on its disks");
        let margins = (crate::array::BEFORE, crate::array::BEHIND);
        let geometry = Geometry::within(self.level, found.disks(), UNIT, DISK, margins).expect("a geometry");
        found.fit(&geometry)
    }

    /// The place of a disk by which it may grow.
    pub(super) fn make_place(&self, geometry: &Geometry) -> Option<Box<dyn LiveDevice>> {
        let absent = || -> Box<dyn LiveDevice> { Box::new(Absent::new(Caps { blocks: DISK, depth: 4, seek: false })) };
        (self.grows && geometry.disks() == self.disks).then(absent)
    }

    /// What was not cut ended well.
    pub(super) fn check_end(&self, outside: &Outside, is_replaced: bool) {
        let geometry = self.find(outside);
        if self.has_to_grow() {
            assert_eq!((geometry.disks(), geometry.is_growing()), (self.disks + 1, false), "it has not grown");
        }
        let status = inspect(&mut outside.units(&[]), &geometry);
        assert!(status.names().is_some_and(|(_, log)| log.is_none()), "it ended well");
        let all_sound = status.disks.iter().all(|state| *state == MemberState::Sound);
        assert!(all_sound || !is_replaced, "{}", status.text());
    }

    /// Whether it has grown in the end: where a disk is lacking for good it does not.
    pub(super) fn has_to_grow(&self) -> bool {
        self.grows && self.fate != Fate::Fails
    }
}

/// To grow by a disk.
pub(super) fn grow_order() -> ArrayOrder {
    ArrayOrder::Grow("another".into(), Former::Kept)
}

fn growing(seed: u64, requests: u32) -> Scene {
    let levels = [(Level::Parity, 3), (Level::DoubleParity, 4), (Level::Striped, 2), (Level::Parity, 4)];
    let (level, disks) = levels[seed as usize % 4];
    let it = scene(seed / 4, requests);
    let fate = if level == Level::Striped { Fate::None } else { it.fate };
    let befalls_joined = fate != Fate::None && (seed / 4) % 2 == 1;
    let victims = if level == Level::DoubleParity && (seed / 8) % 2 == 1 { 2 } else { 1 };
    Scene { seed, level, disks, fate, victims, log: LogFate::None, grows: true, befalls_joined, ..it }
}

/// `HALFTURN_SEED=N` cuts one scene at each of its writes; `HALFTURN_SEEDS=N` takes so many scenes cut anywhere in place of 150.
#[test]
fn wherever_the_power_goes_while_it_grows_what_was_flushed_is_there_and_all_agrees() {
    if let Some(seed) = read_number("HALFTURN_SEED") {
        println!("{} cuts", cut_everywhere(&growing(seed, 30)));
        return;
    }
    let mut cuts: u64 = (0..4).map(|seed| cut_everywhere(&growing(seed, 4))).sum();
    // The disk that has the copy of a first row goes while the others are told of that.
    cuts += u64::from(tell(&growing(1119, 40), 48));
    for seed in 100..100 + read_number("HALFTURN_SEEDS").unwrap_or(150) {
        cuts += u64::from(tell(&growing(seed, 40), Draw::new(seed, 9).below(400)));
    }
    println!("{cuts} cuts");
    assert!(cuts > 300, "{cuts} cuts");
}
