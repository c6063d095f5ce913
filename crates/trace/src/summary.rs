//! The statistics of a trace, as plain data.

use block::{Lbn, Span, Time};

/// Powers of two of blocks that a size can be.
pub(crate) const SIZES: usize = 32;
/// Powers of two of blocks that a distance can be; addresses end at 2^54.
pub(crate) const STEPS: usize = 64;

/// What a whole trace is like.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceSummary {
    /// The arrival time of the earliest request.
    pub first: Time,
    /// The arrival time of the latest request.
    pub last: Time,
    /// How many requests there are.
    pub requests: u64,
    /// How many of them read.
    pub reads: u64,
    /// How many of them write.
    pub writes: u64,
    /// How many of them flush.
    pub flushes: u64,
    /// How many bytes are read.
    pub read_bytes: u64,
    /// How many bytes are written.
    pub write_bytes: u64,
    /// Reads and writes of 2^k to 2^(k+1) - 1 blocks, for each k.
    pub sizes: [u64; SIZES],
    /// The most common sizes in blocks, and how often; among those up to 8,192 blocks (4 MiB).
    pub common_sizes: Vec<(u32, u64)>,
    /// Each device, by its number.
    pub devices: Vec<DeviceSummary>,
    /// The block after the last one touched on any device.
    pub end: Lbn,
    /// Mean time between arrivals, in seconds.
    pub gap_mean: f64,
    /// Squared coefficient of variation of the times between arrivals: variance over squared mean. 0 is a
    /// metronome, 1 a Poisson process, more is bursty. An arrival behind the latest so far is 0 after it.
    pub gap_scv: f64,
    /// Arrivals in windows of 100 ms.
    pub tenths: Windows,
    /// Arrivals in windows of 1 s.
    pub seconds: Windows,
    /// Requests that arrive before the latest arrival so far.
    pub behind: u64,
    /// How far the furthest of them is behind it.
    pub furthest_behind: Span,
    /// Measured response times, if the trace carries any.
    pub responses: Option<MeasuredResponses>,
}

impl TraceSummary {
    /// Time from the earliest arrival to the latest.
    #[must_use]
    pub fn span(&self) -> Span {
        self.last.since(self.first)
    }

    /// Reads among reads and writes.
    #[must_use]
    pub fn read_share(&self) -> f64 {
        share(self.reads, self.writes)
    }

    /// Bytes read among bytes read and written.
    #[must_use]
    pub fn read_byte_share(&self) -> f64 {
        share(self.read_bytes, self.write_bytes)
    }
}

/// What one device is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSummary {
    /// How many requests there are.
    pub requests: u64,
    /// How many of them read.
    pub reads: u64,
    /// How many of them write.
    pub writes: u64,
    /// How many of them flush.
    pub flushes: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// The block after the last one touched.
    pub end: Lbn,
    /// From the end of each transfer to the start of the next.
    pub distances: Distances,
}

/// Distances in blocks from the end of a transfer to the start of the next on the same device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distances {
    /// Those of zero: sequential.
    pub sequential: u64,
    /// Those of 2^k to 2^(k+1) - 1 blocks forward, for each k.
    pub forward: [u64; STEPS],
    /// Those of 2^k to 2^(k+1) - 1 blocks backward, for each k.
    pub backward: [u64; STEPS],
}

impl Default for Distances {
    fn default() -> Distances {
        Distances { sequential: 0, forward: [0; STEPS], backward: [0; STEPS] }
    }
}

impl Distances {
    /// Sequential ones among all.
    #[must_use]
    pub fn sequential_share(&self) -> f64 {
        share(self.sequential, self.forward.iter().chain(&self.backward).sum())
    }
}

/// Arrivals counted in consecutive windows of one length, from the first arrival to the last.
///
/// An arrival behind the latest so far counts in the window of the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Windows {
    /// Length of a window.
    pub length: Span,
    /// How many windows, empty ones included.
    pub count: u64,
    /// Arrivals a window, on average.
    pub mean: f64,
    /// Arrivals in the fullest.
    pub peak: u64,
    /// Index of dispersion: variance of the arrivals in a window over their mean. 1 for a Poisson process.
    pub dispersion: f64,
}

/// The response times that the trace records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredResponses {
    /// Requests that have one.
    pub count: u64,
    /// The mean response time.
    pub mean: Span,
    /// The longest response time.
    pub max: Span,
}

/// `part` of `part + rest`, or nothing of nothing.
fn share(part: u64, rest: u64) -> f64 {
    if part == 0 { 0.0 } else { part as f64 / (part as f64 + rest as f64) }
}
