//! Where generated requests go: addresses in a region, and the share that reads.

use crate::draw::Draw;
use crate::experiment::{Pattern, Placement};
use block::{At, BadInput, Extent, Op, units};

/// A stream of operations and extents.
pub struct Addresses {
    /// First block of the region, and of the next sequential request.
    first: u64,
    next: u64,
    /// Block after the region.
    end: u64,
    /// Aligned starts in the region.
    starts: u64,
    align: u64,
    blocks: u32,
    read: f64,
    placement: Placement,
    draw: Draw,
}

impl Addresses {
    /// Those of a workload on a drive of so many blocks.
    ///
    /// # Errors
    /// When a request does not fit the region, or that not the drive.
    pub fn new(name: &str, pattern: &Pattern, drive_blocks: u64, draw: Draw) -> Result<Addresses, BadInput> {
        let (from, end) = pattern.region.on(drive_blocks);
        let align = u64::from(pattern.align.max(1));
        let first = from.next_multiple_of(align);
        let size = u64::from(pattern.blocks);
        if end > drive_blocks || first + size > end {
            let what = format!(
                "requests of {} do not fit the region, blocks {from} to {end} of the {drive_blocks} of the drive",
                units::show_blocks(size)
            );
            let mend = "make the region larger or the requests smaller";
            return Err(BadInput::new(format!("workload '{name}'"), At::File, what, mend));
        }
        let starts = (end - first - size) / align + 1;
        let Pattern { blocks, read, at: placement, .. } = *pattern;
        Ok(Addresses { first, next: first, end, starts, align, blocks, read, placement, draw })
    }

    pub(super) fn draw(&mut self) -> &mut Draw {
        &mut self.draw
    }

    /// What is asked for next.
    pub fn draft(&mut self) -> (Op, Extent) {
        let start = match self.placement {
            Placement::Random => self.first + self.align * self.draw.below(self.starts),
            Placement::Sequential => {
                let start = if self.next + u64::from(self.blocks) > self.end { self.first } else { self.next };
                self.next = start + u64::from(self.blocks);
                start
            }
        };
        let reads = self.read >= 1.0 || (self.read > 0.0 && self.draw.unit() < self.read);
        let op = if reads { Op::Read } else { Op::Write { fua: false } };
        (op, Extent::new(start, self.blocks))
    }
}
