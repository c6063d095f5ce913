//! Addresses and ranges of 512-byte blocks.

/// Bytes in a block.
pub const BLOCK_BYTES: u64 = 512;

/// A logical block number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lbn(pub u64);

/// `blocks` consecutive blocks from `start`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Extent {
    /// The first block, an LBN.
    pub start: Lbn,
    /// How many blocks it covers.
    pub blocks: u32,
}

impl Extent {
    /// `blocks` blocks from block number `start`.
    #[must_use]
    pub const fn new(start: u64, blocks: u32) -> Extent {
        Extent { start: Lbn(start), blocks }
    }

    /// The block after the last one; saturates at the end of the address space.
    #[must_use]
    pub const fn end(self) -> Lbn {
        Lbn(self.start.0.saturating_add(self.blocks as u64))
    }

    /// Whether the two share a block.
    #[must_use]
    pub const fn overlaps(self, other: Extent) -> bool {
        self.start.0 < other.end().0 && other.start.0 < self.end().0
    }

    /// Its length in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.blocks as u64 * BLOCK_BYTES
    }
}
