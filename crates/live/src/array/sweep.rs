//! How far a pass over an array has come: what of it is asked for next, what has ended, what could not be had.
//!
//! Places are blocks of the array. With parity the first column of a row stands for all of it.

use block::Extent;
use sched::array::Geometry;
use std::collections::{BTreeMap, VecDeque};

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
}

impl Sweep {
    pub(super) fn new(geometry: Geometry, most: u32, from_row: u64) -> Sweep {
        // Of the last row at least something is asked: it tells that all is there.
        let from = from_row.min(geometry.rows().saturating_sub(1)) * row_blocks(&geometry);
        Sweep {
            geometry,
            most: u64::from(most.max(1)),
            next: from,
            until: from,
            beyond: BTreeMap::new(),
            failed: Vec::new(),
            again: VecDeque::new(),
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
            let part = self.part(self.next, self.geometry.blocks());
            self.next = part.1;
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
        let row = row_blocks(&self.geometry);
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
        let row = row_blocks(&self.geometry);
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
        while let Some((start, end)) = self.beyond.first_key_value().map(|(start, end)| (*start, *end))
            && start <= self.until
        {
            self.beyond.remove(&start);
            self.until = end.max(self.until);
        }
    }

    /// Rows before which all was repaired.
    pub(super) fn rows(&self) -> u64 {
        self.until / row_blocks(&self.geometry)
    }

    /// Parts that could not be repaired.
    pub(super) fn count_failed(&self) -> usize {
        self.failed.len()
    }

    /// What part of it was looked through: 0 to 1.
    pub(super) fn share(&self) -> f64 {
        let beyond: u64 = self.beyond.iter().map(|(start, end)| end - start).sum();
        (self.until + beyond).min(self.geometry.blocks()) as f64 / self.geometry.blocks().max(1) as f64
    }
}

/// How a request for a part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repaired {
    Yes,
    No,
}

/// Blocks of the array in a row.
pub(super) fn row_blocks(geometry: &Geometry) -> u64 {
    u64::from(geometry.columns()) * u64::from(geometry.unit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched::array::Level;

    /// All requests of a pass, and the parts they stand for.
    fn all(geometry: Geometry, most: u32, from: u64) -> Vec<(Extent, (u64, u64))> {
        let mut sweep = Sweep::new(geometry, most, from);
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
        let mut sweep = Sweep::new(geometry, 8, 2);
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
}
