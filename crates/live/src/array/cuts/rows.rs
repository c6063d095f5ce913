//! What the disks of an array hold, row by row: each block as it was before or after, and all that agree.

use super::disk::Held;
use super::{ANYTHING, BLOCK, History, Outside, content};
use block::DiskId;
use sched::array::Geometry;
use sched::array::field::Factor;
use std::collections::BTreeMap;

/// What the disks hold, of as many rows of each as it holds what it should.
pub(super) struct Rows<'a> {
    pub(super) geometry: Geometry,
    pub(super) outside: &'a Outside,
    pub(super) held: Vec<u64>,
    /// What is on the log, by block of the array.
    pub(super) logged: BTreeMap<u64, Held>,
}

impl Rows<'_> {
    /// Whether a row that has not moved has a block that has.
    fn is_moved(&self, row: u64, block: u64, border: u64) -> bool {
        self.geometry.growth().is_some_and(|(_, moved)| row >= moved && block < border)
    }

    /// What a disk holds there, where it holds what it should.
    fn of(&self, disk: DiskId, row: u64, within: u32) -> Option<Held> {
        let at = self.geometry.on_disk(row, within, 1).start.0;
        let disk = usize::from(disk.0);
        (row < self.held[disk]).then(|| self.outside.platter(disk).borrow().holds(at))
    }

    /// The sum of columns that a parity is.
    fn sum(&self, columns: &[Option<Held>], parity: u16) -> Held {
        let mut sum = [0; BLOCK];
        for (column, held) in (0..).zip(columns) {
            let times = if parity == 0 { Factor::ONE } else { Factor::power(column) };
            held.iter().for_each(|held| times.add_multiple(held, &mut sum));
        }
        sum
    }

    /// What columns that are missing are told to hold by the parities that are there.
    fn recover(&self, columns: &mut [Option<Held>], parities: &[Option<Held>]) {
        let missing: Vec<u16> = (0..).zip(&*columns).filter(|(_, held)| held.is_none()).map(|(at, _)| at).collect();
        let rest = |parity: usize| {
            let mut rest = self.sum(columns, parity as u16);
            Factor::ONE.add_multiple(&parities[parity].expect("it is there"), &mut rest);
            rest
        };
        let (mut one, mut other) = ([0; BLOCK], [0; BLOCK]);
        match missing[..] {
            [] => {}
            [column] => {
                let parity = parities.iter().position(Option::is_some).expect("a parity");
                let times = if parity == 0 { Factor::ONE } else { Factor::power(column) };
                (Factor::ONE / times).add_multiple(&rest(parity), &mut one);
                columns[usize::from(column)] = Some(one);
            }
            // x + y = p and f x + g y = q: y = (f p + q) / (f + g).
            [first, second] => {
                let (p, q, f, g) = (rest(0), rest(1), Factor::power(first), Factor::power(second));
                (f / (f + g)).add_multiple(&p, &mut other);
                (Factor::ONE / (f + g)).add_multiple(&q, &mut other);
                [p, other].iter().for_each(|part| Factor::ONE.add_multiple(part, &mut one));
                (columns[usize::from(first)], columns[usize::from(second)]) = (Some(one), Some(other));
            }
            _ => panic!("more is missing than may be"),
        }
    }

    /// Looks at the blocks of a row at one place of its units: each is as it was before or after, and all agree.
    pub(super) fn check(&self, row: u64, within: u32, blocks: &mut [History]) {
        let geometry = self.geometry;
        let number = |column| geometry.block(row, column, within).0 as usize;
        let mut columns: Vec<Option<Held>> = Vec::new();
        for column in 0..geometry.columns_of(row) {
            let copies: Vec<Held> =
                geometry.copies_of(row, column).filter_map(|disk| self.of(disk, row, within)).collect();
            let differ = copies.iter().any(|copy| *copy != copies[0]);
            assert!(!differ, "copies of block {} differ", number(column));
            columns.push(copies.first().copied());
        }
        let slot = |parity| geometry.disk_of_slot(row, geometry.columns_of(row) + parity);
        let parities: Vec<_> =
            (0..geometry.layout_of(row).parities()).map(|parity| self.of(slot(parity), row, within)).collect();
        self.recover(&mut columns, &parities);
        let border = geometry.next_rows(0).start.0;
        for (column, held) in (0..).zip(&columns) {
            let block = number(column);
            if self.is_moved(row, block as u64, border) {
                continue;
            }
            let held = self.logged.get(&(block as u64)).copied().unwrap_or(held.expect("a content"));
            let may: Vec<u64> = blocks[block].iter().map(|(stamp, _)| *stamp).collect();
            let is = may.iter().copied().find(|stamp| content(*stamp) == held);
            let unknown = may.contains(&ANYTHING);
            let Some(is) = is.or(unknown.then_some(ANYTHING)) else { panic!("block {block} holds none of {may:?}") };
            blocks[block] = vec![(is, true)];
        }
        for (parity, held) in (0..).zip(&parities) {
            let agrees = held.is_none_or(|held| held == self.sum(&columns, parity));
            assert!(agrees, "parity {parity} of row {row} does not agree");
        }
    }
}
