//! How one row lies on its disks.

use super::{Level, MOST_DISKS, MOST_WITH_PARITY};
use block::DiskId;

/// How the units of a row lie on its disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLayout {
    level: Level,
    disks: u16,
    /// The last of the disks, which have a parity each.
    fixed: u16,
}

/// The disk with the first parity of a row, which lies on so many.
fn rotate(row: u64, disks: u16) -> u16 {
    disks - 1 - (row % u64::from(disks)) as u16
}

impl RowLayout {
    /// Of an array of so many disks.
    ///
    /// # Errors
    /// What is wrong, and the mend.
    pub(super) fn new(level: Level, disks: u16) -> Result<RowLayout, (String, String)> {
        let fault = |what: String, mend: &str| Err((what, mend.into()));
        if disks == 0 || disks > MOST_DISKS {
            return fault(format!("an array of {disks} disks"), "give from 1 to 512");
        }
        match level {
            Level::Striped => {}
            Level::Mirrored { copies } if copies < 2 => {
                return fault(format!("copies = {copies}"), "give 2 or more, or level = \"0\"");
            }
            Level::Mirrored { copies } if !disks.is_multiple_of(copies) => {
                let what = format!("{copies} copies do not divide {disks} disks");
                return fault(what, "give a number of disks that is a multiple of `copies`");
            }
            Level::Parity if !(3..=MOST_WITH_PARITY).contains(&disks) => {
                return fault(format!("RAID 5 of {disks} disks"), "give from 3 to 64 disks, or another level");
            }
            Level::DoubleParity | Level::SecondOnLast if !(4..=MOST_WITH_PARITY).contains(&disks) => {
                return fault(format!("RAID 6 of {disks} disks"), "give from 4 to 64 disks, or another level");
            }
            Level::Mirrored { .. } | Level::Parity | Level::DoubleParity | Level::SecondOnLast => {}
        }
        Ok(RowLayout { level, disks, fixed: level.fixed_parities() })
    }

    /// How data are kept in it.
    #[must_use]
    pub fn level(self) -> Level {
        self.level
    }

    /// The disks that it lies on: the first ones, so many.
    #[must_use]
    pub fn disks(self) -> u16 {
        self.disks
    }

    /// Copies of a block; 1 with parity.
    #[must_use]
    pub fn copies(self) -> u16 {
        self.level.copies()
    }

    /// How many parities each row has.
    #[must_use]
    pub fn parities(self) -> u16 {
        self.level.parities()
    }

    /// Whether it has parity.
    #[must_use]
    pub fn has_parity(self) -> bool {
        self.parities() > 0
    }

    /// How many units of data each row has.
    #[must_use]
    pub fn columns(self) -> u16 {
        match self.level {
            Level::Striped => self.disks,
            Level::Mirrored { copies } => self.disks / copies,
            Level::Parity | Level::DoubleParity | Level::SecondOnLast => self.disks - self.parities(),
        }
    }

    /// The disks, the first ones, over which columns and parities are rotated.
    fn rotates_over(self) -> u16 {
        self.disks - self.fixed
    }

    /// The disk with the parity of a row, the first of two.
    fn parity(self, row: u64) -> DiskId {
        DiskId(rotate(row, self.rotates_over()))
    }

    /// The disk with a copy of a column of this row.
    #[must_use]
    pub fn disk(self, row: u64, column: u16, copy: u16) -> DiskId {
        DiskId(match self.level {
            Level::Striped | Level::Mirrored { .. } => column + copy * self.columns(),
            Level::Parity | Level::DoubleParity | Level::SecondOnLast => {
                let over = self.rotates_over();
                (rotate(row, over) + self.parities() - self.fixed + column) % over
            }
        })
    }

    /// The disks with the copies of a column of this row; with parity, the one that it is on.
    pub fn copies_of(self, row: u64, column: u16) -> impl Iterator<Item = DiskId> + Clone + use<> {
        let (first, step) = (self.disk(row, column, 0).0, self.columns());
        (0..self.copies()).map(move |copy| DiskId(first + copy * step))
    }

    /// With parity, the disk with a slot of this row.
    pub(in crate::array) fn disk_of_slot(self, row: u64, slot: u16) -> DiskId {
        match slot.checked_sub(self.columns()) {
            Some(1) if self.fixed > 0 => DiskId(self.disks - 1),
            Some(parity) => DiskId((self.parity(row).0 + parity) % self.rotates_over()),
            None => self.disk(row, slot, 0),
        }
    }

    /// With parity, the slot of this row that lies on a disk, which is one of the row's.
    pub(in crate::array) fn slot(self, row: u64, disk: DiskId) -> u16 {
        // Columns come after the parities, which are the last slots.
        let disks = self.rotates_over();
        if disk.0 == disks {
            return self.columns() + 1;
        }
        let after = (disk.0 + disks - self.parity(row).0) % disks;
        (after + self.columns()) % disks
    }

    /// The column of this row that lies on a disk; with parity on it, or nothing of the row, none.
    pub(in crate::array) fn column(self, row: u64, disk: DiskId) -> Option<u16> {
        match self.level {
            _ if disk.0 >= self.disks => None,
            Level::Striped | Level::Mirrored { .. } => Some(disk.0 % self.columns()),
            Level::Parity | Level::DoubleParity | Level::SecondOnLast => {
                Some(self.slot(row, disk)).filter(|slot| *slot < self.columns())
            }
        }
    }

    /// Whether all of every row is still to be had where these disks do not hold what they should.
    pub(in crate::array) fn is_whole_without(self, lacks: impl Fn(DiskId) -> bool) -> bool {
        match self.level {
            // Rows with copies are all alike.
            Level::Striped | Level::Mirrored { .. } => {
                (0..self.columns()).all(|column| self.copies_of(0, column).any(|disk| !lacks(disk)))
            }
            Level::Parity | Level::DoubleParity | Level::SecondOnLast => {
                (0..self.disks).filter(|disk| lacks(DiskId(*disk))).count() <= usize::from(self.parities())
            }
        }
    }
}
