//! Making copies and parities agree again, before they are trusted: after the power went in the middle of writes, and when an array
//! is made of disks that hold anything. What is read is what the data are; copies and parities follow.

use crate::memory::{AlignedBuffer, Slice};
use crate::unit::LiveDevice;
use block::{BLOCK_BYTES, DiskId, Extent};
use sched::array::Geometry;
use sched::array::field::Factor;
use std::io;

/// The disks of an array, of which nothing is asked meanwhile.
pub(super) struct Resync<'a> {
    pub(super) geometry: Geometry,
    pub(super) units: &'a mut [Box<dyn LiveDevice>],
    /// Which of them hold what they should.
    pub(super) sound: Vec<bool>,
}

impl Resync<'_> {
    fn unit_bytes(&self) -> usize {
        self.geometry.unit() as usize * BLOCK_BYTES as usize
    }

    fn read(&mut self, disk: DiskId, at: Extent) -> io::Result<Slice> {
        let memory = Slice::new(self.unit_bytes());
        match self.units[usize::from(disk.0)].peek(at, &memory) {
            true => Ok(memory),
            false => Err(io::Error::other(format!("disk {} cannot be read", disk.0))),
        }
    }

    /// Sees to it that a disk holds this; whether it did not.
    fn keep(&mut self, disk: DiskId, at: Extent, wanted: &Slice) -> io::Result<bool> {
        let held = self.read(disk, at)?;
        if is_same(&held.buffer, &wanted.buffer, self.unit_bytes()) {
            return Ok(false);
        }
        self.units[usize::from(disk.0)].store(at, wanted)?;
        Ok(true)
    }

    /// Has all that was read and written on the media: from then on nothing need be looked at again.
    pub(super) fn sync(&mut self) -> io::Result<()> {
        let sound = self.units.iter_mut().zip(&self.sound).filter(|(_, sound)| **sound);
        sound.map(|(unit, _)| unit).try_for_each(|unit| unit.sync())
    }

    /// Whether all of a row is known to be zeros, without reading it.
    fn is_blank(&mut self, at: Extent) -> bool {
        self.units.iter_mut().all(|unit| {
            let (blocks, data) = unit.alike(at);
            !data && blocks >= u64::from(at.blocks)
        })
    }

    /// Makes the copies and parities of a row agree with its data; how many units did not.
    pub(super) fn row(&mut self, row: u64) -> io::Result<u64> {
        let at = self.geometry.on_disk(row, 0, self.geometry.unit());
        if self.is_blank(at) {
            return Ok(0);
        }
        if self.geometry.has_parity() { self.parities(row, at) } else { self.copies(row, at) }
    }

    fn copies(&mut self, row: u64, at: Extent) -> io::Result<u64> {
        let mut mended = 0;
        for column in 0..self.geometry.columns() {
            let copies = self.geometry.copies_of(row, column).filter(|disk| self.sound[usize::from(disk.0)]);
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

    /// Where a column is missing nothing can be told anew: what the rest tells of it is all there is.
    fn parities(&mut self, row: u64, at: Extent) -> io::Result<u64> {
        let geometry = self.geometry;
        let columns: Vec<DiskId> = (0..geometry.columns()).map(|column| geometry.disk(row, column, 0)).collect();
        if columns.iter().any(|disk| !self.sound[usize::from(disk.0)]) {
            return Ok(0);
        }
        let sums: Vec<Slice> = (0..geometry.parities()).map(|_| Slice::new(self.unit_bytes())).collect();
        for (column, disk) in (0..).zip(columns) {
            let data = self.read(disk, at)?;
            for (parity, sum) in sums.iter().enumerate() {
                let times = if parity == 0 { Factor::ONE } else { Factor::power(column) };
                sum.buffer.add_multiple(0, &data.buffer, 0, self.unit_bytes(), times);
            }
        }
        let mut mended = 0;
        for (parity, sum) in (0..).zip(&sums) {
            let disk = geometry.disk_of_slot(row, geometry.columns() + parity);
            if self.sound[usize::from(disk.0)] {
                mended += u64::from(self.keep(disk, at, sum)?);
            }
        }
        Ok(mended)
    }
}

fn is_same(one: &AlignedBuffer, other: &AlignedBuffer, bytes: usize) -> bool {
    let (mut a, mut b) = (vec![0; bytes], vec![0; bytes]);
    one.get(0, &mut a);
    other.get(0, &mut b);
    a == b
}
