//! Making copies and parities agree again, before they are trusted: after the power went in the middle of writes, and when an array
//! is made of disks that hold anything. What is read is what the data are; copies and parities follow.

use super::regions;
use crate::memory::Slice;
use crate::unit::LiveDevice;
use block::{BLOCK_BYTES, DiskId, Extent};
use sched::array::Geometry;
use sched::array::field::Factor;
use std::io;
use std::rc::Rc;

/// The disks of an array, of which nothing is asked meanwhile.
pub(super) struct Resync<'a> {
    pub(super) geometry: Geometry,
    pub(super) units: &'a mut [Box<dyn LiveDevice>],
    /// Of how many rows each holds what it should.
    pub(super) held: Vec<u64>,
}

impl Resync<'_> {
    fn unit_bytes(&self) -> usize {
        self.geometry.unit() as usize * BLOCK_BYTES as usize
    }

    pub(super) fn holds(&self, disk: DiskId, row: u64) -> bool {
        row < self.held[usize::from(disk.0)]
    }

    pub(super) fn read(&mut self, disk: DiskId, at: Extent) -> io::Result<Slice> {
        let memory = Slice::new(at.bytes() as usize);
        match self.units[usize::from(disk.0)].peek(at, &memory) {
            true => Ok(memory),
            false => Err(io::Error::other(format!("disk {} cannot be read", disk.0))),
        }
    }

    /// Sees to it that a disk holds this; whether it did not.
    pub(super) fn keep(&mut self, disk: DiskId, at: Extent, wanted: &Slice) -> io::Result<bool> {
        let held = self.read(disk, at)?;
        if is_same(&held, wanted) {
            return Ok(false);
        }
        self.units[usize::from(disk.0)].store(at, wanted)?;
        Ok(true)
    }

    /// Has all that was read and written on the media: from then on nothing need be looked at again.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let used = self.units.iter_mut().zip(&self.held).filter(|(_, held)| **held > 0);
        used.map(|(unit, _)| unit).try_for_each(|unit| unit.sync())
    }

    /// Whether all of a row is known to be zeros, without reading it.
    fn is_blank(&mut self, at: Extent) -> bool {
        self.units.iter_mut().all(|unit| regions::is_blank(&mut **unit, at))
    }

    /// Whether all of a row is zeros, on all disks.
    pub(super) fn is_zeros(&mut self, row: u64) -> io::Result<bool> {
        let at = self.geometry.on_disk(row, 0, self.geometry.unit());
        if self.is_blank(at) {
            return Ok(true);
        }
        for disk in (0..self.geometry.disks()).map(DiskId) {
            if !self.read(disk, at)?.is_zeros() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the row of an array that grows which was being overwritten, as its copy on this disk has it. Nobody was told of anything in
    /// it since.
    pub(super) fn write_copied(&mut self, row: u64, from: DiskId) -> io::Result<()> {
        let (copy, bytes) = (self.read(from, self.geometry.copy_place())?, self.unit_bytes());
        let start = |column| copy.from + usize::from(column) * bytes;
        let unit = |column| Slice { buffer: Rc::clone(&copy.buffer), from: start(column), bytes };
        self.write_row(row, &(0..self.geometry.columns()).map(unit).collect::<Vec<_>>())
    }

    /// Writes the row which was being overwritten as it came to have parity in place of copies: of what it is made of some lies where it is
    /// to be, and the rest in later rows.
    pub(super) fn write_traded(&mut self, row: u64) -> io::Result<()> {
        let (geometry, Some((former, _))) = (self.geometry, self.geometry.growth()) else { return Ok(()) };
        let (columns, former_columns) = (u64::from(geometry.columns()), u64::from(former.columns()));
        let staying: Vec<(u16, DiskId)> = geometry.list_staying(row).collect();
        let mut data = Vec::new();
        for column in 0..geometry.columns() {
            let unit = row * columns + u64::from(column);
            let (lay, was) = (unit / former_columns, (unit % former_columns) as u16);
            let stays = staying.iter().find(|(other, _)| *other == column).map(|(_, disk)| *disk);
            let from: Vec<DiskId> = match stays {
                Some(disk) => vec![disk],
                None => former.copies_of(lay, was).filter(|disk| self.holds(*disk, lay)).collect(),
            };
            // Beyond what the array held there are zeros.
            data.push(match lay < geometry.rows() {
                true => self.read_any(&from, geometry.on_disk(lay, 0, geometry.unit()))?,
                false => Slice::new(self.unit_bytes()),
            });
        }
        self.write_row(row, &data)
    }

    /// Reads what several disks hold from the first that brings it.
    fn read_any(&mut self, from: &[DiskId], at: Extent) -> io::Result<Slice> {
        let mut last = io::Error::other("no disk has a part of a row");
        for disk in from {
            match self.read(*disk, at) {
                Ok(data) => return Ok(data),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Writes the columns of a row, each unit as it is here, and what follows from them.
    fn write_row(&mut self, row: u64, data: &[Slice]) -> io::Result<()> {
        let (layout, bytes) = (self.geometry.layout_of(row), self.unit_bytes());
        let at = self.geometry.on_disk(row, 0, self.geometry.unit());
        let geometry = self.geometry;
        let disk_of_parity = |parity| geometry.disk_of_slot(row, layout.columns() + parity);
        let mut put = |disk: DiskId, what: &Slice| match self.holds(disk, row) {
            true => self.units[usize::from(disk.0)].store(at, what),
            false => Ok(()),
        };
        for (column, unit) in (0..).zip(data) {
            layout.copies_of(row, column).try_for_each(|disk| put(disk, unit))?;
        }
        for parity in 0..layout.parities() {
            let sum = Slice::new(bytes);
            for (column, unit) in (0..).zip(data) {
                let times = if parity == 0 { Factor::ONE } else { Factor::power(column) };
                sum.buffer.add_multiple(0, &unit.buffer, unit.from, bytes, times);
            }
            put(disk_of_parity(parity), &sum)?;
        }
        Ok(())
    }

    /// Makes the copies and parities of a row agree with its data; how many units did not.
    pub(super) fn row(&mut self, row: u64) -> io::Result<u64> {
        let at = self.geometry.on_disk(row, 0, self.geometry.unit());
        if self.is_blank(at) {
            return Ok(0);
        }
        if self.geometry.layout_of(row).has_parity() { self.parities(row, at) } else { self.copies(row, at) }
    }

    fn copies(&mut self, row: u64, at: Extent) -> io::Result<u64> {
        let mut mended = 0;
        for column in 0..self.geometry.columns_of(row) {
            let copies = self.geometry.copies_of(row, column).filter(|disk| self.holds(*disk, row));
            let copies: Vec<DiskId> = copies.collect();
            let [first, others @ ..] = &copies[..] else { continue };
            if others.is_empty() {
                continue;
            }
            let wanted = self.read(*first, at)?;
            for disk in others {
                mended += u64::from(self.keep(*disk, at, &wanted)?);
            }
        }
        Ok(mended)
    }

    /// Where a column is missing nothing can be told anew, but that of two parities both tell the same of it: what the first does.
    fn parities(&mut self, row: u64, at: Extent) -> io::Result<u64> {
        let geometry = self.geometry;
        let (bytes, columns) = (self.unit_bytes(), geometry.columns_of(row));
        let parity_disk = |parity| geometry.disk_of_slot(row, columns + parity);
        let missing: Vec<u16> =
            (0..columns).filter(|column| !self.holds(geometry.disk(row, *column, 0), row)).collect();
        let both = geometry.parities() == 2 && (0..2).all(|parity| self.holds(parity_disk(parity), row));
        if missing.len() > usize::from(both) {
            return Ok(0);
        }
        let sums: Vec<Slice> = (0..geometry.parities()).map(|_| Slice::new(bytes)).collect();
        let times = |parity: usize, column| if parity == 0 { Factor::ONE } else { Factor::power(column) };
        for column in (0..columns).filter(|column| !missing.contains(column)) {
            let data = self.read(geometry.disk(row, column, 0), at)?;
            for (parity, sum) in sums.iter().enumerate() {
                sum.buffer.add_multiple(0, &data.buffer, 0, bytes, times(parity, column));
            }
        }
        if let [column] = missing[..] {
            // The first sum and the first parity are what is missing; that is in the second sum, too.
            let parity = self.read(parity_disk(0), at)?;
            sums[0].buffer.add_multiple(0, &parity.buffer, 0, bytes, Factor::ONE);
            sums[1].buffer.add_multiple(0, &sums[0].buffer, 0, bytes, times(1, column));
            return Ok(u64::from(self.keep(parity_disk(1), at, &sums[1])?));
        }
        let mut mended = 0;
        for (parity, sum) in (0..).zip(&sums) {
            if self.holds(parity_disk(parity), row) {
                mended += u64::from(self.keep(parity_disk(parity), at, sum)?);
            }
        }
        Ok(mended)
    }
}

/// Whether two pieces of memory, equally long, hold the same.
pub(crate) fn is_same(one: &Slice, other: &Slice) -> bool {
    let (mut a, mut b) = (vec![0; one.bytes], vec![0; one.bytes]);
    one.buffer.get(one.from, &mut a);
    other.buffer.get(other.from, &mut b);
    a == b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unwritten;
    use crate::unit::Ram;
    use sched::array::Level;

    /// What a disk held that is lacking follows from either parity: should another go, both are needed.
    #[test]
    fn of_two_parities_the_second_tells_the_same_of_a_column_that_is_missing() {
        let geometry = Geometry::new(Level::DoubleParity, 5, 4, 40).expect("a geometry");
        let (row, bytes) = (3, 4 * BLOCK_BYTES as usize);
        let at = geometry.on_disk(row, 0, 4);
        let sum = |factors: [Factor; 3]| {
            let sum = Slice::new(bytes);
            for (column, times) in (1..).zip(factors) {
                sum.buffer.add_multiple(0, &Slice::holding(&vec![column * 0x35; bytes]).buffer, 0, bytes, times);
            }
            sum
        };
        let wanted = sum([0, 1, 2].map(Factor::power));
        for missing in 0..3 {
            let mut units: Vec<Box<dyn LiveDevice>> = Vec::new();
            (0..5).for_each(|_| units.push(Box::new(Ram::new(40, Unwritten::Zeros))));
            let mut held = vec![u64::MAX; 5];
            held[usize::from(geometry.disk_of_slot(row, missing).0)] = 0;
            let mut put = |slot, what: &Slice| units[usize::from(geometry.disk_of_slot(row, slot).0)].poke(at, what);
            (0..3).filter(|column| *column != missing).for_each(|column| {
                put(column, &Slice::holding(&vec![(column as u8 + 1) * 0x35; bytes]));
            });
            put(3, &sum([Factor::ONE; 3]));
            put(4, &Slice::holding(&vec![0xEE; bytes]));
            let mut resync = Resync { geometry, units: &mut units, held };
            assert_eq!(resync.row(row).expect("read"), 1, "without column {missing}");
            let second = resync.read(geometry.disk_of_slot(row, 4), at).expect("read");
            assert!(is_same(&second, &wanted), "without column {missing}");
            assert_eq!(resync.row(row).expect("read"), 0, "it agrees");
        }
    }
}
