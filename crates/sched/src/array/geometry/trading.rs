//! Mirrored stripes that come to have parity in place of copies, on the same disks: a RAID 0/1 that becomes a RAID 5. A row holds more
//! then, and rows move as where an array grows.
//!
//! **What a first row is made of stays where it is.** There is no further disk for a copy of it. But of what lies in a row that overwrites
//! itself, each unit that is to be in it lies, as one of its copies, where it will: the first row's parity is on the last disk, and its
//! columns are on the disks before that, where the first copies are. So these units are the copy, and the others come from later rows.

use super::{Geometry, Level};
use block::DiskId;

/// Rows of an array at least, so that one that overwrites itself is not the last: there are two such at most.
const FEWEST_ROWS: u64 = 3;

impl Geometry {
    /// The same, which begins to have parity in place of copies.
    ///
    /// # Errors
    /// Why it cannot, and the mend.
    pub fn trade_copies(self) -> Result<Geometry, (String, String)> {
        self.refuse_moving()?;
        let Level::Mirrored { .. } = self.level() else {
            let what = format!("the array is of level {}, and has no copies", self.level().number());
            return Err((what, "make an array of level 5, and copy".into()));
        };
        if self.disks() < 3 {
            let what = "a RAID 5 has 3 disks at least, and the array has 2";
            return Err((what.into(), "have it grow by a pair first: halfturn array grow PATH PATH".into()));
        }
        if self.rows < FEWEST_ROWS {
            let what = format!("{} stripe units of a disk are too few to have parity in place of copies", self.rows);
            return Err((what, "make an array of larger disks or smaller stripe units, and copy".into()));
        }
        let traded = Geometry::new(Level::Parity, self.disks(), self.unit, self.rows * u64::from(self.unit))?;
        Ok(Geometry { layout: traded.layout, ..self })
    }

    /// Whether it comes to have parity in place of copies: then the level that it had.
    #[must_use]
    pub fn traded_level(&self) -> Option<Level> {
        let former = self.former.level();
        (former != self.layout.level()).then_some(former)
    }

    /// Of a row that moves, the columns that are made of what lies in that row, each with its disk: where parity comes in place of
    /// copies it is that of a copy.
    pub fn list_staying(&self, row: u64) -> impl Iterator<Item = (u16, DiskId)> + use<> {
        let (layout, former) = (self.layout, u64::from(self.former.columns()));
        let lay_there = move |column: &u16| (row * u64::from(layout.columns()) + u64::from(*column)) / former == row;
        (0..layout.columns()).filter(lay_there).map(move |column| (column, layout.disk(row, column, 0)))
    }
}
