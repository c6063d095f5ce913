//! The sheet of a drive and the truth about it.

use crate::Mechanics;
use block::Span;
use std::sync::Arc;

/// What can be known of a drive from outside.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Catalogue name.
    pub name: String,
    /// What it is, in words.
    pub title: String,
    /// Where the numbers come from.
    pub sources: Vec<String>,
    /// Numbers no source prints.
    pub assumed: Vec<String>,
    /// Mechanics, shared between all drives of the kind.
    pub mechanics: Arc<Mechanics>,
    /// Time a command takes outside the mechanics.
    pub overheads: Overheads,
    /// Buffer memory.
    pub cache: Cache,
}

/// Time a command takes outside the mechanics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overheads {
    /// Before the arm moves for a read.
    pub read: Span,
    /// Before the arm moves, or the buffer fills, for a write.
    pub write: Span,
    /// Before a read answered from the cache.
    pub hit: Span,
    /// Host transfer rate, 10^6 bytes/s; none means no limit.
    pub bus_mb_s: Option<f64>,
}

/// The drive's buffer memory; zeros mean there is none. Sizes in blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cache {
    /// Read segments.
    pub segments: u32,
    /// Size of a segment.
    pub segment: u32,
    /// How far the drive reads on after a read.
    pub read_ahead: u32,
    /// Size of the write buffer; a write that fits completes when it is in it (immediate report).
    pub write_buffer: u32,
}

impl Cache {
    /// The same with reading, writing or both switched off.
    #[must_use]
    pub fn switched(self, read_cache: bool, write_buffer: bool) -> Cache {
        let Cache { segments, segment, read_ahead, .. } = if read_cache { self } else { Cache::default() };
        let write_buffer = if write_buffer { self.write_buffer } else { 0 };
        Cache { segments, segment, read_ahead, write_buffer }
    }
}

/// What nobody outside knows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Truth {
    /// Standard deviation of a seek's time.
    pub seek_noise: Span,
    /// Share of seeks that fail to settle at once.
    pub late_share: f64,
    /// What such a seek takes longer.
    pub late_by: Span,
    /// How far the rotation is off nominal, as a fraction.
    pub rpm_offset: f64,
    /// How far it wanders about that, as a fraction.
    pub rpm_wander: f64,
    /// Period of the wander.
    pub wander_period: Span,
}
