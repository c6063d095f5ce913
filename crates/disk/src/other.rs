//! Devices that are not a disk: what their file says of them.
//!
//! They have no sheet of mechanics, so that what schedules them knows addresses and past times alone. What they do in
//! time is in the crate `drive`.

use crate::Drive;
use block::Span;

/// A device that is not a disk.
#[derive(Clone, Debug)]
pub struct Other {
    /// Catalogue name.
    pub name: String,
    /// What it is, in words.
    pub title: String,
    /// Where the numbers come from.
    pub sources: Vec<String>,
    /// Numbers no source prints.
    pub assumed: Vec<String>,
    /// Commands in it at once; at least 1.
    pub depth: u16,
    /// What it is.
    pub kind: Kind,
}

/// The kinds of device that are not a disk.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Two drives that hold the same.
    Mirror(Box<Drive>),
    /// Flash memory.
    Flash(Flash),
    /// A store behind a network.
    Store(Store),
    /// A tape, written to and fro.
    Tape(Tape),
}

/// Flash memory: a time for each command wherever it goes, so many at a time, and one bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Flash {
    /// Capacity in blocks.
    pub blocks: u64,
    /// Commands that are at the memory at once; at least 1.
    pub channels: u16,
    /// From command to data.
    pub read: Span,
    /// From data to completion.
    pub write: Span,
    /// Rate of the bus, 10^6 bytes/s.
    pub mb_s: f64,
}

/// A store behind a network: a time that varies, and the network's rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Store {
    /// Capacity in blocks.
    pub blocks: u64,
    /// The least time of a command, its transfer apart.
    pub latency: Span,
    /// Median of what it takes longer, which is log-normal.
    pub jitter: Span,
    /// Standard deviation of the logarithm of that.
    pub sigma: f64,
    /// Share of commands that are held up besides.
    pub tail_share: f64,
    /// For so long.
    pub tail: Span,
    /// Rate of the network, 10^6 bytes/s.
    pub mb_s: f64,
}

/// A tape whose wraps run to and fro along its length: the first from the beginning, the second back.
#[derive(Clone, Debug, PartialEq)]
pub struct Tape {
    /// Capacity in blocks.
    pub blocks: u64,
    /// Wraps; all hold the same, but for the last.
    pub wraps: u32,
    /// From one end to the other without a transfer.
    pub full_length: Span,
    /// To another wrap, at the ends or in between.
    pub wrap_change: Span,
    /// Until a tape that stood or ran elsewhere streams.
    pub start: Span,
    /// How long it goes on streaming, from its buffer, when nothing comes.
    pub stops_after: Span,
    /// Rate of streaming, 10^6 bytes/s.
    pub mb_s: f64,
}

impl Other {
    /// Capacity in blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        match &self.kind {
            Kind::Mirror(drive) => drive.sheet.mechanics.layout.blocks(),
            Kind::Flash(flash) => flash.blocks,
            Kind::Store(store) => store.blocks,
            Kind::Tape(tape) => tape.blocks,
        }
    }

    /// The same without what varies.
    #[must_use]
    pub fn quiet(mut self) -> Other {
        match &mut self.kind {
            Kind::Mirror(drive) => drive.truth = crate::Truth::default(),
            Kind::Store(store) => (store.jitter, store.tail_share) = (Span::ZERO, 0.0),
            Kind::Flash(_) | Kind::Tape(_) => {}
        }
        self
    }

    /// The same with the caches of the disks in it switched off, as [`crate::Cache::switched`] does.
    #[must_use]
    pub fn switched(mut self, read_cache: bool, write_buffer: bool) -> Other {
        if let Kind::Mirror(drive) = &mut self.kind {
            drive.sheet.cache = drive.sheet.cache.switched(read_cache, write_buffer);
        }
        self
    }
}

impl Tape {
    /// Blocks of a wrap.
    #[must_use]
    pub fn wrap_blocks(&self) -> u64 {
        self.blocks.div_ceil(u64::from(self.wraps))
    }
}
