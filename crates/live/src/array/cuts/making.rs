//! The power goes while an array is made, of disks that hold nothing, rubbish or another array: what is found afterwards is refused, or
//! it is the whole array, new or old, and agrees; and it can be made anew.

use super::*;
use crate::array::BEHIND;
use crate::array::label::LATER;
use crate::memory::Slice;
use block::Extent;

/// What the disks held before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    Rubbish,
    /// An array with something in each block.
    Array,
}

impl Scene {
    /// Has the disks hold something: the name of the array that they were.
    fn prepare(&self, outside: &Outside, before: Before) -> Option<String> {
        let geometry = self.geometry();
        if before == Before::Nothing {
            return None;
        }
        let name = (before == Before::Array).then(|| create(&mut outside.boxed(), geometry).expect("an array"));
        for (row, within) in (0..geometry.rows()).flat_map(|row| (0..UNIT).map(move |within| (row, within))) {
            let at = geometry.on_disk(row, within, 1).start.0 as usize;
            for disk in 0..geometry.disks() {
                let place = outside.platter(disk.into());
                let mut platter = place.borrow_mut();
                let column = geometry.column(row, DiskId(disk)).filter(|_| before == Before::Array);
                platter.medium[at] = match column {
                    Some(column) => content(geometry.block(row, column, within).0 + 1),
                    // Parities follow; of rubbish nothing does.
                    None => content(7000 + u64::from(disk)),
                };
            }
        }
        if name.is_some() {
            self.forget_blank(outside);
            for mut unit in outside.boxed() {
                let label = read_label(&mut *unit).expect("a label");
                let label = Superblock { events: 40, ..label };
                LATER.into_iter().for_each(|at| {
                    let bytes = Slice::holding(&label.to_bytes());
                    unit.store(Extent::new(at, BEHIND as u32), &bytes).expect("written");
                });
            }
            let mut units = outside.boxed();
            let held = vec![u64::MAX; geometry.disks().into()];
            let mut resync = Resync { geometry, units: &mut units, held };
            (0..geometry.rows()).for_each(|row| assert!(resync.row(row).is_ok()));
            resync.sync().expect("it is on the media");
        }
        name
    }

    /// Makes the array until the power goes after so many writes, and looks at what is left: whether it went before the end.
    fn make(&self, before: Before, writes: u64) -> bool {
        let (geometry, outside) = (self.geometry(), Outside::new(self));
        let former = self.prepare(&outside, before);
        outside.power.borrow_mut().left = writes;
        let made = create(&mut outside.boxed(), geometry);
        let cut = outside.power.borrow().off;
        assert!(cut || made.is_ok(), "{made:?}");
        outside.power_up(Loss::Power);
        for lacking in [Lacking::Refused, Lacking::Allowed] {
            let status = inspect(&mut outside.units(&[]), &geometry);
            if status.admit(&geometry, lacking).is_err() {
                assert!(cut, "{}", status.text());
                continue;
            }
            let is_former = status.name == former;
            let held: Vec<u64> = status.disks.iter().map(MemberState::rows_held).collect();
            if geometry.has_parity() && held.iter().filter(|held| **held == 0).count() > 1 {
                continue;
            }
            let stamp = |block| if is_former && former.is_some() { block + 1 } else { ANYTHING };
            let mut blocks: Vec<History> = (0..geometry.blocks()).map(|block| vec![(stamp(block), true)]).collect();
            let row = Rows { geometry, outside: &outside, held, logged: BTreeMap::new() };
            (0..geometry.rows()).for_each(|at| (0..UNIT).for_each(|within| row.check(at, within, &mut blocks)));
        }
        let name = create(&mut outside.boxed(), geometry).expect("it is made anew");
        let status = inspect(&mut outside.units(&[]), &geometry);
        assert_eq!((status.admit(&geometry, Lacking::Refused), status.name), (Ok(()), Some(name)));
        cut
    }
}

#[test]
fn an_array_that_was_half_made_is_none_or_whole_and_is_made_anew() {
    let mut cuts = 0;
    for seed in 0..15 {
        for before in [Before::Nothing, Before::Rubbish, Before::Array] {
            let it = Scene { fate: Fate::None, ..scene(seed, 0) };
            for writes in 0.. {
                let made = std::panic::catch_unwind(|| it.make(before, writes));
                if !made.unwrap_or_else(|_| panic!("seed {seed}, {before:?}: the power goes after {writes} writes")) {
                    break;
                }
                cuts += 1;
            }
        }
    }
    assert!(cuts > 500, "{cuts}");
}
