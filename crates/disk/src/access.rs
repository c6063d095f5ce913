//! Zero-latency access: in which order a head takes what it wants of a track.

use block::Direction;

/// Which blocks may be taken as they come under the head, not in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// A read begins wherever the head lands in what is wanted of a track (zero-latency, read on arrival).
    pub reads: bool,
    /// Whether the arm settles as for a write.
    pub writes: bool,
    /// A read also takes what passes of its track before the first block wanted ("read any free blocks").
    pub free: bool,
}

impl Access {
    /// Whether what is wanted from this sector of a track on may be taken from its middle.
    #[must_use]
    pub fn on_arrival(self, direction: Direction, sector: u32) -> bool {
        if direction.writes() { self.writes } else { self.reads || (self.free && sector > 0) }
    }
}
