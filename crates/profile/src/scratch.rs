//! The scratch: the part of a device that may be written. Whoever gives none has nothing written.
//!
//! **Nothing is written but in the scratch.** `profile`'s bench gives no write that lies outside it, whatever a probe
//! asks. Seeks that end in a write come from anywhere by a read, so that a small scratch shows long ones; a write
//! buffer is filled with two writes back to back, of which the first is known to fit, so that nothing drains in
//! between.

use block::{At, BadInput, Extent, units};
use std::fmt;

/// The part of a device that may be written, in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// The first block that may be written.
    pub first: u64,
    /// How many blocks may be written.
    pub blocks: u64,
}

impl fmt::Display for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} blocks from block {}", self.blocks, self.first)
    }
}

impl Scratch {
    /// Reads `OFFSET+LENGTH`, e.g. `100GiB+1GiB`.
    ///
    /// # Errors
    /// When one of the two is no size, or the length is nothing.
    pub fn parse(text: &str) -> Result<Scratch, String> {
        let (offset, length) = text
            .split_once('+')
            .ok_or_else(|| format!("'{text}' is not OFFSET+LENGTH; write one like 100GiB+1GiB, or 0B+1GiB"))?;
        let (first, blocks) = (units::blocks(offset)?, units::blocks(length)?);
        if blocks == 0 {
            return Err(format!("'{text}' has no length; to write nothing leave it out"));
        }
        Ok(Scratch { first, blocks })
    }

    /// The block after its last.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.first.saturating_add(self.blocks)
    }

    /// Whether all of an extent lies in it.
    #[must_use]
    pub fn holds(&self, at: Extent) -> bool {
        self.first <= at.start.0 && at.end().0 <= self.end()
    }

    /// Makes sure that it lies on a device of so many blocks.
    ///
    /// # Errors
    /// When it does not.
    pub fn check(&self, blocks: u64) -> Result<(), BadInput> {
        if self.end() <= blocks {
            return Ok(());
        }
        let what = format!("{self} end beyond the device, which has {blocks}");
        let most = units::show_blocks(blocks);
        Err(BadInput::new("--scratch", At::File, what, format!("give OFFSET+LENGTH that end within {most}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_is_an_offset_and_a_length_on_the_device() {
        let scratch = Scratch::parse("4KiB+1MiB").expect("it is one");
        assert_eq!(scratch, Scratch { first: 8, blocks: 2048 });
        assert!(scratch.check(2056).is_ok() && scratch.check(2055).is_err());
        assert!(scratch.holds(Extent::new(8, 2048)) && !scratch.holds(Extent::new(7, 1)));
        assert!(!scratch.holds(Extent::new(2055, 2)));
        for bad in ["4KiB", "4KiB+0B", "+1MiB", "4KiB+", "4+4", "1MiB-4KiB"] {
            assert!(Scratch::parse(bad).is_err(), "{bad}");
        }
    }
}
