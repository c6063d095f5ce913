//! An array that grows by a disk, or with copies by one for each, or comes to have parity in place of copies: where its blocks lie,
//! however far it has come.

use block::{DiskId, Extent, Lbn};
use sched::array::{Geometry, Level};
use std::collections::BTreeSet;

fn geometries() -> Vec<Geometry> {
    let mut all = Vec::new();
    for disks in 1..=7 {
        let mirrored = [2, 3].map(|copies| Level::Mirrored { copies });
        let parities = [Level::Parity, Level::DoubleParity, Level::SecondOnLast];
        for level in [Level::Striped, mirrored[0], mirrored[1]].into_iter().chain(parities) {
            for unit in [1, 3] {
                all.extend(Geometry::new(level, disks, unit, 17 * u64::from(unit)).ok());
            }
        }
    }
    all
}

/// Each as it was, and as it begins to be another.
fn list_changes() -> Vec<(Geometry, Geometry)> {
    let mut all = Vec::new();
    for former in geometries() {
        all.push((former, former.grow().expect("it may grow")));
        all.extend(former.trade_copies().ok().map(|trading| (former, trading)));
    }
    let trades = all.iter().filter(|(_, it)| it.traded_level().is_some()).count();
    assert_eq!(trades, 8, "of 3, 4 and 6 disks");
    all
}

fn piece(it: &Geometry, block: u64) -> sched::array::Piece {
    it.pieces(Extent::new(block, 1)).next().expect("a piece")
}

#[test]
fn every_block_has_places_of_its_own_however_far_it_has_grown() {
    for (former, growing) in list_changes() {
        for moved in 0..=former.rows() {
            let it = growing.moved_to(moved);
            let wanted = if moved < former.rows() { former.blocks() } else { growing.widest().blocks() };
            assert_eq!((it.blocks(), it.is_growing()), (wanted, moved < former.rows()), "{it:?}");
            let mut taken = BTreeSet::new();
            for block in 0..it.blocks() {
                let piece = piece(&it, block);
                assert_eq!(it.block(piece.row, piece.column, piece.within), Lbn(block), "{it:?}");
                let at = it.on_disk(piece.row, piece.within, 1);
                for disk in it.copies_of(piece.row, piece.column) {
                    assert!(disk.0 < it.disks_of(piece.row) && piece.row < it.rows(), "{it:?}: {block}");
                    assert_eq!(
                        it.piece_on(disk, at).map(|found| (found.row, found.column)),
                        Some((piece.row, piece.column))
                    );
                    assert!(taken.insert((disk, at.start)), "{it:?}: {block} lies on another");
                }
                for parity in 0..it.layout_of(piece.row).parities() {
                    let slot = it.columns_of(piece.row) + parity;
                    let disk = it.disk_of_slot(piece.row, slot);
                    assert_eq!((it.column(piece.row, disk), it.slot(piece.row, disk)), (None, slot), "{it:?}");
                    assert!(!taken.contains(&(disk, at.start)), "{it:?}: {block} lies on its parity");
                }
            }
        }
    }
}

#[test]
fn what_is_overwritten_has_moved_or_is_what_is_moved() {
    for (former, growing) in list_changes() {
        let columns = u64::from(former.columns());
        for moved in 0..former.rows() {
            let it = growing.moved_to(moved);
            let free = it.free_rows();
            let first =
                if it.traded_level().is_some() { columns.div_ceil(u64::from(it.columns()) - columns) } else { columns };
            assert_eq!(free == 0, moved < first, "{it:?}: the first rows, and no others, overwrite themselves");
            let next = it.next_rows(free.max(1));
            let border = next.start.0;
            // In the wider layout these are the rows that are written.
            let rows: BTreeSet<u64> = (border..next.end().0).map(|block| piece(&growing.widest(), block).row).collect();
            assert_eq!(rows, (moved..moved + free.max(1)).collect(), "{it:?}");
            for block in border..former.blocks() {
                let row = piece(&it, block).row;
                let is_moved = block < next.end().0;
                assert!(row >= moved + free && (!rows.contains(&row) || is_moved), "{it:?}: {block} is lost");
            }
            if it.traded_level().is_some() {
                continue;
            }
            let at = it.copy_place();
            assert!(it.list_joined().eq((former.disks()..growing.disks()).map(DiskId)));
            assert!(at.blocks == it.next_rows(1).blocks.max(at.blocks));
            assert!(at.start >= it.on_disk(columns, 0, 1).start, "{it:?}: the copy lies where first rows will");
            assert!(at.end().0 <= it.rows_on_disk().1, "{it:?}: the copy lies behind the rows");
        }
    }
}

#[test]
fn of_a_row_that_comes_to_have_parity_what_lies_in_it_stays_on_a_disk_that_has_it() {
    let mut stayed = 0;
    for (_, trading) in list_changes().into_iter().filter(|(_, it)| it.traded_level().is_some()) {
        for moved in 0..trading.rows() {
            let it = trading.moved_to(moved);
            if it.free_rows() > 0 {
                break;
            }
            let stays: Vec<_> = it.list_staying(moved).collect();
            for column in 0..it.columns() {
                let block = it.next_rows(1).start.0 + u64::from(column) * u64::from(it.unit());
                let lies = piece(&it, block);
                let there = stays.iter().find(|(staying, _)| *staying == column);
                assert_eq!(there.is_some(), lies.row == moved, "{it:?}: column {column}");
                let Some((_, disk)) = there else { continue };
                assert!(it.copies_of(moved, lies.column).any(|copy| copy == *disk), "{it:?}: column {column}");
                assert_eq!(it.moved_to(moved + 1).disk(moved, column, 0), *disk);
                stayed += 1;
            }
        }
    }
    assert_eq!(stayed, 20);
}

#[test]
fn what_cannot_have_parity_in_place_of_copies_is_refused_with_the_mend() {
    let made = |level, disks, each| Geometry::new(level, disks, 8, each).expect("a geometry");
    let refused = |it: Geometry| it.trade_copies().unwrap_err().0;
    let mirrored = Level::Mirrored { copies: 2 };
    assert!(refused(made(mirrored, 2, 800)).starts_with("a RAID 5 has 3 disks at least"));
    assert_eq!(refused(made(mirrored, 66, 800)), "RAID 5 of 66 disks");
    assert!(refused(made(mirrored, 4, 16)).starts_with("2 stripe units of a disk are too few"));
    assert!(refused(made(Level::Striped, 4, 800)).contains("level 0, and has no copies"));
    assert!(refused(made(Level::Parity, 4, 800)).contains("level 5, and has no copies"));
    let growing = made(mirrored, 4, 800).grow().expect("it grows");
    assert_eq!(refused(growing), "the array is growing already");
    let trading = made(mirrored, 4, 800).trade_copies().expect("it may");
    assert_eq!((trading.traded_level(), trading.level(), trading.blocks()), (Some(mirrored), Level::Parity, 1600));
    assert_eq!(trading.grow().unwrap_err().0, "the array is changing its level already");
    assert_eq!(trading.widest().traded_level(), None);
    assert_eq!(trading.widest().blocks(), 2400);
}

#[test]
fn what_cannot_grow_is_refused_with_the_mend() {
    let refused = |level, disks, each| Geometry::new(level, disks, 8, each).expect("a geometry").grow().unwrap_err();
    assert_eq!(refused(Level::Mirrored { copies: 2 }, 512, 80_000).0, "an array of 514 disks");
    assert_eq!(refused(Level::Parity, 64, 8000).0, "RAID 5 of 65 disks");
    assert_eq!(refused(Level::Striped, 512, 80_000).0, "an array of 513 disks");
    assert_eq!(refused(Level::Parity, 3, 32).0, "4 stripe units of a disk are too few to grow");
    let growing = Geometry::new(Level::Parity, 3, 8, 40).expect("a geometry").grow().expect("five are enough");
    assert_eq!(growing.grow().unwrap_err().0, "the array is growing already");
}
