//! The layouts of an array whose rows move, joined at a row: one that grows by a disk, or comes to have parity in place of copies.

use super::{Geometry, Level, RowLayout};
use block::{DiskId, Extent};

impl Geometry {
    /// How many disks it grows by at once: one, or as many as there are copies.
    #[must_use]
    pub fn growth_step(&self) -> u16 {
        self.layout.copies()
    }

    /// The same, which begins to grow by a disk, or with copies by one for each.
    ///
    /// # Errors
    /// Why it cannot, and the mend.
    pub fn grow(self) -> Result<Geometry, (String, String)> {
        self.refuse_moving()?;
        let each = self.rows * u64::from(self.unit);
        let disks = self.disks() + self.growth_step();
        let wider = Geometry::new(self.level(), disks, self.unit, each)?;
        if self.rows < u64::from(self.columns()) + u64::from(wider.columns()) {
            let what = format!("{} stripe units of a disk are too few to grow", self.rows);
            return Err((what, "make an array of larger disks or smaller stripe units, and copy".into()));
        }
        Ok(Geometry { layout: wider.layout, ..self })
    }

    /// While rows move they do not begin to move elsewhere: why, and the mend.
    pub(super) fn refuse_moving(self) -> Result<(), (String, String)> {
        match (self.is_growing(), self.traded_level()) {
            (false, _) => Ok(()),
            (true, None) => Err(("the array is growing already".into(), "wait until it has grown".into())),
            (true, Some(_)) => Err(("the array is changing its level already".into(), "wait until it has".into())),
        }
    }

    /// Whether rows move: it has begun to grow, or to have parity in place of copies, and has not ended.
    #[must_use]
    pub fn is_growing(&self) -> bool {
        self.former != self.layout
    }

    /// Where rows move, how they lay, and how many have moved.
    #[must_use]
    pub fn growth(&self) -> Option<(RowLayout, u64)> {
        self.is_growing().then_some((self.former, self.moved))
    }

    /// So many of its rows have moved.
    #[must_use]
    pub fn moved_to(self, rows: u64) -> Geometry {
        if rows < self.rows { Geometry { moved: rows, ..self } } else { self.widest() }
    }

    /// The same of an array whose rows were found to be moving, from this level and so many disks.
    ///
    /// # Errors
    /// Why there is none such, and the mend.
    pub fn moved_from(self, level: Level, disks: u16, rows: u64) -> Result<Geometry, (String, String)> {
        Ok(Geometry { former: RowLayout::new(level, disks)?, ..self }.moved_to(rows))
    }

    /// As it is when all rows have moved. What repairs goes by rows, and by blocks as they lie then.
    #[must_use]
    pub fn widest(self) -> Geometry {
        Geometry { former: self.layout, moved: 0, ..self }
    }

    /// How many rows have moved.
    #[must_use]
    pub fn moved_rows(&self) -> u64 {
        self.growth().map_or(self.rows, |(_, rows)| rows)
    }

    /// The first block that has not moved.
    pub(in crate::array) fn border(&self) -> u64 {
        self.moved * self.row_blocks()
    }

    /// The parts of an extent on either side of the border, of which each lies in one layout.
    pub(in crate::array) fn sides(&self, at: Extent) -> impl Iterator<Item = Extent> + use<> {
        let border = self.border();
        let within = (border > at.start.0 && border < at.end().0).then(|| (border - at.start.0) as u32);
        let (first, rest) = match within {
            None => (at, None),
            Some(before) => (Extent { blocks: before, ..at }, Some(Extent::new(border, at.blocks - before))),
        };
        [Some(first), rest].into_iter().flatten()
    }

    /// How many of the next rows may be overwritten though nobody knows yet that they moved: all that lies there has moved.
    #[must_use]
    pub fn free_rows(&self) -> u64 {
        let from = self.moved * u64::from(self.columns()) / u64::from(self.columns_of(self.moved));
        from.min(self.rows) - self.moved
    }

    /// So many of the next rows, as blocks of the array when all have moved.
    #[must_use]
    pub fn next_rows(&self, rows: u64) -> Extent {
        let each = self.columns() as u32 * self.unit;
        Extent::new(self.border(), each * rows.min(self.rows - self.moved) as u32)
    }

    /// The next rows to be moved at once: as many as have room in `blocks`, and as may be overwritten, but one at least.
    #[must_use]
    pub fn next_move(&self, blocks: u32) -> Extent {
        self.next_rows((u64::from(blocks) / self.row_blocks()).min(self.free_rows()).max(1))
    }

    /// Where the copies of a row that is overwritten lie, on each of the disks by which it grows. That is free until all first rows have
    /// moved.
    #[must_use]
    pub fn copy_place(&self) -> Extent {
        let units = u32::from(self.columns());
        self.on_disk(self.rows - u64::from(units), 0, units * self.unit)
    }

    /// The disks by which it grows.
    pub fn list_joined(&self) -> impl Iterator<Item = DiskId> + use<> {
        (self.former.disks()..self.disks()).map(DiskId)
    }
}
