//! Where an array's blocks lie: striping, mirrored stripes, rotated parity (Preemptive RAID scheduling, Section 3.2).
//!
//! A *row* is one stripe unit of every disk; a *column* of a row, one of its units of data. Parity is left-symmetric: in row
//! r of N disks on disk N − 1 − (r mod N), a second one on the disk after it, with the columns on the disks after these, as
//! Linux' md has it. Columns, then parities, are the *slots* of a row.
//!
//! A second parity may lie on the last disk alone, and the rest as if that one were not there (md's left-symmetric-6): so a RAID 5
//! becomes a RAID 6 and nothing moves.
//!
//! An array that *grows*, or comes to have parity in place of copies, is two layouts joined at a row: those before it lie as they will,
//! those from it on as they did. A row of a disk is of one of the two, so whoever has a row knows how it lies, and asks that of the row,
//! not of the array. A block of the array lies in the layout with more columns where that has come to hold it; between what both hold
//! there are rows of the former one of which nobody needs anything.

mod growing;
mod layout;
mod raising;
mod trading;

pub use layout::RowLayout;

use block::{DiskId, Extent, Lbn};

/// The most disks of an array.
pub const MOST_DISKS: u16 = 512;
/// The most disks of an array with parity.
pub const MOST_WITH_PARITY: u16 = 64;

/// How an array keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// RAID 0: each block is kept once.
    Striped,
    /// RAID 0/1: so many copies of every stripe.
    Mirrored {
        /// How many copies of each block, 2 or more.
        copies: u16,
    },
    /// RAID 5: with the parity of each row.
    Parity,
    /// RAID 6: with two parities of each row.
    DoubleParity,
    /// RAID 6 that was a RAID 5: the second parity of each row lies on the last disk.
    SecondOnLast,
}

impl Level {
    /// Its number, as users have it.
    #[must_use]
    pub const fn number(self) -> &'static str {
        match self {
            Level::Striped => "0",
            Level::Mirrored { .. } => "0/1",
            Level::Parity => "5",
            Level::DoubleParity | Level::SecondOnLast => "6",
        }
    }

    /// Copies of a block; 1 with parity.
    #[must_use]
    pub const fn copies(self) -> u16 {
        if let Level::Mirrored { copies } = self { copies } else { 1 }
    }

    /// Parities of a row.
    #[must_use]
    pub const fn parities(self) -> u16 {
        match self {
            Level::Striped | Level::Mirrored { .. } => 0,
            Level::Parity => 1,
            Level::DoubleParity | Level::SecondOnLast => 2,
        }
    }

    /// Of these, those that lie on the same disk in every row.
    const fn fixed_parities(self) -> u16 {
        if let Level::SecondOnLast = self { 1 } else { 0 }
    }

    /// How many disks may fail, whichever they are.
    #[must_use]
    pub const fn redundancy(self) -> u16 {
        match self {
            Level::Mirrored { copies } => copies.saturating_sub(1),
            Level::Striped | Level::Parity | Level::DoubleParity | Level::SecondOnLast => self.parities(),
        }
    }
}

/// The arithmetic of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// How its rows lie, before `moved`; where none moves, how all of them do.
    layout: RowLayout,
    /// How rows lie from `moved` on.
    former: RowLayout,
    moved: u64,
    /// Blocks of a stripe unit.
    unit: u32,
    rows: u64,
    /// Blocks of a disk before its first row.
    first: u64,
}

/// A part of an extent that lies in one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The row it lies in.
    pub row: u64,
    /// The column of the stripe that it lies in.
    pub column: u16,
    /// Blocks from the beginning of the unit.
    pub within: u32,
    /// How many blocks it covers.
    pub blocks: u32,
    /// Blocks from the beginning of the extent.
    pub into: u32,
}

impl Geometry {
    /// An array of so many disks of at least `each` blocks, in stripe units of `unit` blocks. What is left of a disk after its
    /// last whole unit is not used.
    ///
    /// # Errors
    /// What is wrong, and the mend.
    pub fn new(level: Level, disks: u16, unit: u32, each: u64) -> Result<Geometry, (String, String)> {
        let fault = |what: String, mend: &str| Err((what, mend.into()));
        let layout = RowLayout::new(level, disks)?;
        if unit == 0 {
            return fault("a stripe of no blocks".into(), "give a size such as 64KiB");
        }
        let rows = each / u64::from(unit);
        if rows == 0 {
            let what = format!("a stripe unit of {unit} blocks on disks of {each}");
            return fault(what, "give a stripe no larger than a disk");
        }
        Ok(Geometry { layout, former: layout, moved: 0, unit, rows, first: 0 })
    }

    /// The same of disks of which so many blocks before its data, and behind, are not the array's to fill.
    ///
    /// # Errors
    /// As of [`Geometry::new`].
    pub fn within(
        level: Level,
        disks: u16,
        unit: u32,
        each: u64,
        (first, last): (u64, u64),
    ) -> Result<Geometry, (String, String)> {
        let left = each.saturating_sub(first + last);
        Ok(Geometry { first, ..Geometry::new(level, disks, unit, left)? })
    }

    /// How this row lies on the disks.
    #[must_use]
    pub fn layout_of(&self, row: u64) -> RowLayout {
        if row < self.moved { self.layout } else { self.former }
    }

    /// How it keeps its data; where rows move, in those that have moved.
    #[must_use]
    pub fn level(&self) -> Level {
        self.layout.level()
    }

    /// Member disks, without spares.
    #[must_use]
    pub fn disks(&self) -> u16 {
        self.layout.disks()
    }

    /// Blocks of a stripe unit.
    #[must_use]
    pub fn unit(&self) -> u32 {
        self.unit
    }

    /// Units of a disk.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Blocks of the array in a row; where rows move, in one that has moved.
    #[must_use]
    pub fn row_blocks(&self) -> u64 {
        u64::from(self.columns()) * u64::from(self.unit)
    }

    /// The most copies of a block; 1 with parity alone.
    #[must_use]
    pub fn copies(&self) -> u16 {
        // No layout that rows move to has more.
        self.former.copies()
    }

    /// Parities of a row; where rows move, of one that has moved.
    #[must_use]
    pub fn parities(&self) -> u16 {
        self.layout.parities()
    }

    /// Whether rows have parity, or come to have it.
    #[must_use]
    pub fn has_parity(&self) -> bool {
        self.layout.has_parity()
    }

    /// Units of data in a row; where rows move, in one that has moved.
    #[must_use]
    pub fn columns(&self) -> u16 {
        self.layout.columns()
    }

    /// The disks that a row lies on.
    #[must_use]
    pub fn disks_of(&self, row: u64) -> u16 {
        self.layout_of(row).disks()
    }

    /// Units of data in this row.
    #[must_use]
    pub fn columns_of(&self, row: u64) -> u16 {
        self.layout_of(row).columns()
    }

    /// Its capacity in blocks: until all rows have moved, what it was.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.rows * u64::from(self.former.columns()) * u64::from(self.unit)
    }

    /// The disk with a copy of a column.
    #[must_use]
    pub fn disk(&self, row: u64, column: u16, copy: u16) -> DiskId {
        self.layout_of(row).disk(row, column, copy)
    }

    /// With parity, the disk with a slot of a row.
    #[must_use]
    pub fn disk_of_slot(&self, row: u64, slot: u16) -> DiskId {
        self.layout_of(row).disk_of_slot(row, slot)
    }

    /// With parity, the slot of a row that lies on a disk, which is one of the row's.
    #[must_use]
    pub fn slot(&self, row: u64, disk: DiskId) -> u16 {
        self.layout_of(row).slot(row, disk)
    }

    /// The disks with the copies of a column; with parity, the one that it is on.
    pub fn copies_of(&self, row: u64, column: u16) -> impl Iterator<Item = DiskId> + Clone + use<> {
        self.layout_of(row).copies_of(row, column)
    }

    /// Whether every block is still to be had where these disks do not hold what they should.
    #[must_use]
    pub fn is_whole_without(&self, lacks: impl Fn(DiskId) -> bool) -> bool {
        self.former.is_whole_without(&lacks) && (!self.is_growing() || self.layout.is_whole_without(&lacks))
    }

    /// What lies on a disk at an extent within one unit; of parity, nothing.
    #[must_use]
    pub fn piece_on(&self, disk: DiskId, at: Extent) -> Option<Piece> {
        let (row, within) = self.place(at.start.0)?;
        Some(Piece { row, column: self.column(row, disk)?, within, blocks: at.blocks, into: 0 })
    }

    /// The column of a row that lies on a disk; with parity on it, or nothing of the row, none.
    #[must_use]
    pub fn column(&self, row: u64, disk: DiskId) -> Option<u16> {
        self.layout_of(row).column(row, disk)
    }

    /// A part of a row's units, on any of their disks.
    #[must_use]
    pub fn on_disk(&self, row: u64, within: u32, blocks: u32) -> Extent {
        Extent::new(self.first + row * u64::from(self.unit) + u64::from(within), blocks)
    }

    /// The row that a block of a disk is of, and where in its unit it lies; nothing before the first row.
    #[must_use]
    pub fn place(&self, block: u64) -> Option<(u64, u32)> {
        let (block, unit) = (block.checked_sub(self.first)?, u64::from(self.unit));
        Some((block / unit, (block % unit) as u32))
    }

    /// Where the rows of a disk begin, and end.
    #[must_use]
    pub fn rows_on_disk(&self) -> (u64, u64) {
        (self.first, self.first + self.rows * u64::from(self.unit))
    }

    /// The array's block there.
    #[must_use]
    pub fn block(&self, row: u64, column: u16, within: u32) -> Lbn {
        let stripe = row * u64::from(self.columns_of(row)) + u64::from(column);
        Lbn(stripe * u64::from(self.unit) + u64::from(within))
    }

    /// The parts of an extent, in its order.
    pub fn pieces(&self, at: Extent) -> impl Iterator<Item = Piece> + use<> {
        let (unit, border) = (u64::from(self.unit), self.border());
        let [columns, former] = [self.layout, self.former].map(|layout| u64::from(layout.columns()));
        let mut into = 0;
        std::iter::from_fn(move || {
            let left = at.blocks - into;
            if left == 0 {
                return None;
            }
            let block = at.start.0 + u64::from(into);
            let (stripe, within) = (block / unit, block % unit);
            let columns = if block < border { columns } else { former };
            let blocks = u64::from(left).min(unit - within) as u32;
            let piece =
                Piece { row: stripe / columns, column: (stripe % columns) as u16, within: within as u32, blocks, into };
            into += blocks;
            Some(piece)
        })
    }

    /// The part that an extent is where it lies in one unit.
    #[inline]
    #[must_use]
    pub fn only_piece(&self, at: Extent) -> Option<Piece> {
        self.pieces(at).next().filter(|piece| piece.blocks == at.blocks)
    }

    /// What a request on `at` must not meet with one that writes: with parity, the rows of the units it touches, as blocks of
    /// a disk, since who writes one column changes what another is read by when it is missing; else its blocks.
    #[must_use]
    pub fn guarded_extent(&self, at: Extent) -> Extent {
        if self.has_parity() { self.extent_of_rows(at) } else { at }
    }

    /// The rows of the units that an extent touches, as blocks of a disk.
    pub(in crate::array) fn extent_of_rows(&self, at: Extent) -> Extent {
        if at.blocks == 0 {
            return at;
        }
        let first = self.pieces(at).next().map_or(0, |piece| piece.row);
        let last = Extent { start: Lbn(at.end().0 - 1), blocks: 1 };
        let last = self.pieces(last).next().map_or(first, |piece| piece.row);
        let within = self.pieces(at).filter(|_| first == last);
        let (low, high) = within
            .fold((self.unit, 0), |(low, high), piece| (low.min(piece.within), high.max(piece.within + piece.blocks)));
        let (low, high) = if first == last { (low, high) } else { (0, self.unit) };
        let rows = (last - first) as u32;
        Extent { blocks: rows * self.unit + high - low, ..self.on_disk(first, low, 0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn geometries() -> Vec<Geometry> {
        let mut all = Vec::new();
        for disks in 1..=9 {
            for unit in [1, 3, 8] {
                let mirrored = [2, 3].map(|copies| Level::Mirrored { copies });
                let parities = [Level::Parity, Level::DoubleParity, Level::SecondOnLast];
                for level in [Level::Striped, mirrored[0], mirrored[1]].into_iter().chain(parities) {
                    all.extend(Geometry::new(level, disks, unit, 40).ok());
                }
            }
        }
        assert!(all.len() > 50);
        all
    }

    #[test]
    fn rows_lie_between_what_is_kept_free_of_a_disk() {
        let it = Geometry::within(Level::Parity, 3, 8, 100, (16, 5)).expect("a geometry");
        assert_eq!((it.rows(), it.rows_on_disk()), (9, (16, 88)));
        assert_eq!(it.on_disk(2, 3, 4), Extent::new(35, 4));
        assert_eq!((it.place(35), it.place(15)), (Some((2, 3)), None));
        assert_eq!(it.piece_on(DiskId(1), Extent::new(35, 4)).map(|piece| (piece.row, piece.within)), Some((2, 3)));
        assert!(Geometry::within(Level::Parity, 3, 8, 100, (90, 5)).is_err());
    }

    #[test]
    fn an_array_is_whole_as_long_as_every_block_is_to_be_had() {
        let whole = |level, disks, lacking: &[u16]| {
            let it = Geometry::new(level, disks, 8, 64).expect("a geometry");
            it.is_whole_without(|disk| lacking.contains(&disk.0))
        };
        let mirrored = Level::Mirrored { copies: 2 };
        assert!(whole(Level::Striped, 3, &[]) && !whole(Level::Striped, 3, &[2]));
        assert!(whole(mirrored, 6, &[0, 4, 2]), "one of each pair");
        assert!(!whole(mirrored, 6, &[1, 4]), "both of a pair");
        let grows = Geometry::new(mirrored, 4, 8, 64).and_then(Geometry::grow).expect("it grows by a pair");
        let whole_without = |lacking: [u16; 2]| grows.is_whole_without(|disk| lacking.contains(&disk.0));
        assert!(whole_without([0, 1]) && whole_without([0, 5]), "one of each pair, as it was and as it will be");
        assert!(!whole_without([0, 2]) && !whole_without([0, 3]), "both of a pair that there was, or will be");
        assert!(whole(Level::Parity, 5, &[4]) && !whole(Level::Parity, 5, &[0, 4]));
        assert!(whole(Level::DoubleParity, 5, &[0, 4]) && !whole(Level::DoubleParity, 5, &[0, 1, 4]));
    }

    #[test]
    fn every_block_has_places_of_its_own() {
        for it in geometries() {
            let mut taken = BTreeSet::new();
            for block in 0..it.blocks() {
                let piece = it.pieces(Extent::new(block, 1)).next().unwrap();
                assert_eq!(it.block(piece.row, piece.column, piece.within), Lbn(block));
                let at = it.on_disk(piece.row, piece.within, 1);
                for copy in 0..it.copies() {
                    let disk = it.disk(piece.row, piece.column, copy);
                    assert!(disk.0 < it.disks() && at.end().0 <= 40, "{it:?}");
                    assert_eq!(it.piece_on(disk, at), Some(Piece { into: 0, ..piece }), "{it:?}");
                    assert!(taken.insert((disk, at.start)), "{it:?}: {block} lies on another");
                }
                for parity in it.columns()..it.columns() + it.parities() {
                    let disk = it.disk_of_slot(piece.row, parity);
                    assert_eq!((it.column(piece.row, disk), it.slot(piece.row, disk)), (None, parity), "{it:?}");
                    taken.insert((disk, at.start));
                }
            }
            assert_eq!(taken.len() as u64, u64::from(it.disks()) * it.rows() * u64::from(it.unit()));
        }
    }

    #[test]
    fn pieces_are_the_extent_in_its_order() {
        for it in geometries() {
            for start in 0..it.blocks().min(30) {
                let at = Extent::new(start, (it.blocks() - start).min(25) as u32);
                let mut next = 0;
                for piece in it.pieces(at) {
                    assert_eq!(piece.into, next);
                    assert_eq!(it.block(piece.row, piece.column, piece.within).0, start + u64::from(next));
                    assert!(piece.within + piece.blocks <= it.unit());
                    next += piece.blocks;
                }
                assert_eq!(next, at.blocks);
            }
        }
    }

    #[test]
    fn what_is_guarded_meets_where_a_row_s_columns_meet() {
        for it in geometries().into_iter().filter(Geometry::has_parity) {
            let rows = |at: Extent| -> BTreeSet<u64> {
                let blocks = (at.start.0..at.end().0).map(|block| it.pieces(Extent::new(block, 1)).next().unwrap());
                blocks.map(|piece| it.on_disk(piece.row, piece.within, 1).start.0).collect()
            };
            for start in 0..it.blocks().min(40) {
                for blocks in 1..20.min(it.blocks() - start) as u32 {
                    let at = Extent::new(start, blocks);
                    let guarded = it.guarded_extent(at);
                    let (low, high) = (guarded.start.0, guarded.end().0);
                    assert!(rows(at).iter().all(|block| (low..high).contains(block)), "{it:?} {at:?} {guarded:?}");
                }
            }
        }
    }

    #[test]
    fn an_array_that_cannot_be_is_refused() {
        for (level, disks, unit, each, what) in [
            (Level::Striped, 0, 8, 100, "0 disks"),
            (Level::Mirrored { copies: 1 }, 4, 8, 100, "copies = 1"),
            (Level::Mirrored { copies: 3 }, 4, 8, 100, "do not divide"),
            (Level::Parity, 2, 8, 100, "RAID 5 of 2"),
            (Level::DoubleParity, 3, 8, 100, "RAID 6 of 3"),
            (Level::Striped, 2, 0, 100, "no blocks"),
            (Level::Striped, 2, 101, 100, "101 blocks on disks of 100"),
        ] {
            let (found, _) = Geometry::new(level, disks, unit, each).unwrap_err();
            assert!(found.contains(what), "{found}");
        }
    }
}
