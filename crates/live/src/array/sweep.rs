//! How far a pass over an array has come: what of it is asked for next, what has ended, what could not be had.
//!
//! Places are blocks of the array. With parity the first column of a row stands for all of it.

use block::Extent;
use sched::array::Geometry;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// One pass from a row to the last.
pub(super) struct Sweep {
    geometry: Geometry,
    /// Blocks of a request at most, as far as rows can be cut.
    most: u64,
    next: u64,
    /// All before this was repaired; and beyond it these parts, by where they begin.
    until: u64,
    beyond: BTreeMap<u64, u64>,
    /// What could not be repaired; and what of that is tried once more.
    failed: Vec<(u64, u64)>,
    again: VecDeque<(u64, u64)>,
    /// Parts that are passed over, in order, and all their blocks.
    over: VecDeque<(u64, u64)>,
    passed: u64,
}

impl Sweep {
    /// One that passes over some rows.
    pub(super) fn new(geometry: Geometry, most: u32, from_row: u64, over: &[Range<u64>]) -> Sweep {
        // Of the last row at least something is asked: it tells that all is there.
        let (last, row) = (geometry.rows().saturating_sub(1), geometry.row_blocks());
        let from = from_row.min(last) * row;
        let over = over.iter().map(|rows| (rows.start * row, rows.end.min(last) * row));
        let over: VecDeque<(u64, u64)> = over.filter(|(start, end)| start < end).collect();
        let mut sweep = Sweep {
            geometry,
            most: u64::from(most.max(1)),
            next: from,
            until: from,
            beyond: over.iter().filter(|(_, end)| *end > from).copied().collect(),
            failed: Vec::new(),
            again: VecDeque::new(),
            passed: over.iter().map(|(start, end)| end - start).sum(),
            over,
        };
        sweep.join();
        sweep.pass_over();
        sweep
    }

    /// What is next is nothing that is passed over.
    fn pass_over(&mut self) {
        while let Some((_, end)) = self.over.front().copied().filter(|(start, _)| *start <= self.next) {
            self.next = self.next.max(end);
            self.over.pop_front();
        }
    }

    /// Whether something is left that was not asked for.
    pub(super) fn has_more(&self) -> bool {
        !self.again.is_empty() || self.next < self.geometry.blocks()
    }

    /// What is asked for next: the request, and the part of the array that it stands for.
    pub(super) fn take(&mut self) -> Option<(Extent, (u64, u64))> {
        if !self.has_more() {
            return None;
        }
        let part = self.again.pop_front().unwrap_or_else(|| {
            let end = self.over.front().map_or(self.geometry.blocks(), |(start, _)| *start);
            let part = self.part(self.next, end);
            self.next = part.1;
            self.pass_over();
            part
        });
        Some((self.request(part), part))
    }

    /// What had failed is to be asked for once more.
    pub(super) fn retry(&mut self) {
        self.again.extend(self.failed.drain(..));
    }

    /// The part from a place on that one request may stand for.
    fn part(&self, from: u64, end: u64) -> (u64, u64) {
        let row = self.geometry.row_blocks();
        let within = from % row;
        if within == 0 && row <= self.most {
            let rows = self.most / row;
            return (from, (from + rows * row).min(end));
        }
        if !self.geometry.has_parity() {
            return (from, (from + self.most).min(from - within + row).min(end));
        }
        // A part of the first column, and with the last of that all the rest.
        let unit = u64::from(self.geometry.unit());
        let to = within + self.most;
        (from, if to < unit { from + self.most } else { from - within + row })
    }

    /// The request for a part.
    fn request(&self, (from, to): (u64, u64)) -> Extent {
        let row = self.geometry.row_blocks();
        let unit = u64::from(self.geometry.unit());
        let (within, blocks) = (from % row, to - from);
        let blocks = if self.geometry.has_parity() && blocks <= row && within < unit {
            blocks.min(unit - within)
        } else {
            blocks
        };
        Extent::new(from, blocks as u32)
    }

    /// A part has ended, repaired or not.
    pub(super) fn end(&mut self, (from, to): (u64, u64), repaired: Repaired) {
        if repaired == Repaired::No {
            return self.failed.push((from, to));
        }
        self.beyond.insert(from, to);
        self.join();
    }

    /// What has come to be together with all before it is no more beyond.
    fn join(&mut self) {
        while let Some((start, end)) = self.beyond.first_key_value().map(|(start, end)| (*start, *end))
            && start <= self.until
        {
            self.beyond.remove(&start);
            self.until = end.max(self.until);
        }
    }

    /// Rows before which all was repaired.
    pub(super) fn rows(&self) -> u64 {
        self.until / self.geometry.row_blocks()
    }

    /// Parts that could not be repaired.
    pub(super) fn count_failed(&self) -> usize {
        self.failed.len()
    }

    /// What part of it was looked through, of what is not passed over: 0 to 1.
    pub(super) fn share(&self) -> f64 {
        let beyond: u64 = self.beyond.iter().map(|(start, end)| end - start).sum();
        let all = self.geometry.blocks() - self.passed;
        (self.until + beyond).saturating_sub(self.passed).min(all) as f64 / all.max(1) as f64
    }

    /// What part of the array is not passed over: 0 to 1.
    pub(super) fn looked_through(&self) -> f64 {
        1.0 - self.passed as f64 / self.geometry.blocks().max(1) as f64
    }
}

/// How a request for a part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repaired {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched::array::Level;

    /// All requests of a pass, and the parts they stand for.
    fn all(geometry: Geometry, most: u32, from: u64) -> Vec<(Extent, (u64, u64))> {
        let mut sweep = Sweep::new(geometry, most, from, &[]);
        std::iter::from_fn(|| sweep.take()).collect()
    }

    #[test]
    fn every_block_is_asked_for_once_and_every_row_by_its_first_column() {
        for (level, disks) in [(Level::Mirrored { copies: 2 }, 4), (Level::Parity, 4), (Level::DoubleParity, 6)] {
            let geometry = Geometry::new(level, disks, 8, 83).expect("a geometry");
            for most in [1, 3, 8, 16, 24, 100, 5000] {
                let asked = all(geometry, most, 0);
                assert!(asked.windows(2).all(|two| two[0].1.1 == two[1].1.0), "{level:?}, {most}: {asked:?}");
                assert_eq!((asked[0].1.0, asked[asked.len() - 1].1.1), (0, geometry.blocks()));
                let mut seen = vec![false; geometry.blocks() as usize];
                for (at, _) in &asked {
                    (at.start.0..at.end().0).for_each(|block| seen[block as usize] = true);
                }
                let wanted = |block: &usize| {
                    let piece = geometry.pieces(Extent::new(*block as u64, 1)).next().expect("a piece");
                    !geometry.has_parity() || piece.column == 0
                };
                assert!((0..seen.len()).filter(wanted).all(|block| seen[block]), "{level:?}, {most}: {asked:?}");
            }
        }
    }

    #[test]
    fn it_has_come_as_far_as_all_before_was_repaired() {
        let geometry = Geometry::new(Level::Parity, 3, 4, 40).expect("a geometry");
        let mut sweep = Sweep::new(geometry, 8, 2, &[]);
        let parts: Vec<_> = std::iter::from_fn(|| sweep.take()).collect();
        assert_eq!((parts.len(), sweep.rows()), (8, 2));
        sweep.end(parts[1].1, Repaired::Yes);
        assert_eq!(sweep.rows(), 2);
        sweep.end(parts[0].1, Repaired::No);
        parts[2..].iter().for_each(|part| sweep.end(part.1, Repaired::Yes));
        assert!(sweep.rows() == 2 && sweep.count_failed() == 1 && !sweep.has_more());
        sweep.retry();
        let (again, part) = sweep.take().expect("it is asked for again");
        assert_eq!((again, part), parts[0]);
        sweep.end(part, Repaired::Yes);
        assert!(sweep.share() >= 1.0 && sweep.rows() == 10 && sweep.count_failed() == 0);
        assert_eq!(all(geometry, 8, 10).len(), 1, "the last row tells that all is there");
    }

    #[test]
    fn what_is_passed_over_is_not_asked_for_and_counts_for_nothing() {
        for (level, disks) in [(Level::Mirrored { copies: 2 }, 4), (Level::Parity, 4), (Level::DoubleParity, 6)] {
            let geometry = Geometry::new(level, disks, 8, 80).expect("a geometry");
            let row = geometry.row_blocks();
            for (over, from, asked) in [
                (vec![(0, 3), (5, 6), (8, 10)], 0, vec![3, 4, 6, 7, 9]),
                (vec![(1, 10)], 0, vec![0, 9]),
                (vec![(0, 10)], 0, vec![9]),
                (vec![(2, 4), (6, 7)], 3, vec![4, 5, 7, 8, 9]),
                (vec![], 8, vec![8, 9]),
            ] {
                for most in [1, 8, 24, 100, 5000] {
                    let rows: Vec<Range<u64>> = over.iter().map(|(from, end)| *from..*end).collect();
                    let mut sweep = Sweep::new(geometry, most, from, &rows);
                    let began = sweep.share();
                    let parts: Vec<_> = std::iter::from_fn(|| sweep.take()).map(|(_, part)| part).collect();
                    let rows = |(from, to): &(u64, u64)| from / row..to.div_ceil(row);
                    let mut seen: Vec<u64> = parts.iter().flat_map(rows).collect();
                    seen.dedup();
                    assert_eq!(seen, asked, "{level:?}, {most}, {over:?} from {from}");
                    for (count, part) in parts.iter().enumerate().rev() {
                        assert!(sweep.rows() < 10 && sweep.share() < 1.0, "{count}");
                        sweep.end(*part, Repaired::Yes);
                    }
                    assert!(sweep.rows() == 10 && sweep.share() >= 1.0, "{level:?}, {most}, {over:?}");
                    assert!(from > 0 || began.abs() < 1e-9, "{began}");
                }
            }
        }
    }
}
