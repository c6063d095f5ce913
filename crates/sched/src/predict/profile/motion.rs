//! The times of the arm's moves in ticks: fractions of a revolution as the drive really turns.

use block::{Direction, Span};
use disk::{Overheads, Switches};

/// Ticks in a revolution: 2²⁸.
pub(super) const TURN_BITS: u32 = 28;

/// Seek and rotation times in clock ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct Motion {
    /// The revolution they are fractions of, in ns.
    period_ns: f64,
    /// Seek by distance, for reads.
    pub(super) seek: Vec<u32>,
    /// Least seek at this distance or any longer.
    pub(super) floor: Vec<u32>,
    pub(super) head_switch: u64,
    pub(super) write_settle: u64,
    /// Before the arm moves: after a read and after a write, for reads and for writes.
    pub(super) overhead: [[u64; 2]; 2],
    /// Before the first block of a read that is in the cache, after a read and after a write.
    pub(super) hit: [u64; 2],
    /// Before the buffer fills with a write, after a read and after a write.
    pub(super) buffered: [u64; 2],
}

impl Motion {
    /// The moves of a drive whose revolution takes `period_ns`.
    pub(super) fn new(seek_ns: &[u32], switches: &Switches, overheads: &Overheads, period_ns: f64) -> Motion {
        let room = || Vec::with_capacity(seek_ns.len());
        Motion::fill(seek_ns, switches, overheads, period_ns, [room(), room()])
    }

    /// The same moves where a revolution takes `period_ns`; in the memory of the old ones.
    pub(super) fn retime(self, seek_ns: &[u32], switches: &Switches, overheads: &Overheads, period_ns: f64) -> Motion {
        Motion::fill(seek_ns, switches, overheads, period_ns, [self.seek, self.floor])
    }

    fn fill(
        seek_ns: &[u32],
        switches: &Switches,
        overheads: &Overheads,
        period_ns: f64,
        [mut seek, mut floor]: [Vec<u32>; 2],
    ) -> Motion {
        let ticks = |span: Span| ticks(span, period_ns);
        seek.clear();
        seek.extend(seek_ns.iter().map(|ns| ticks(Span(u64::from(*ns))) as u32));
        floor.clear();
        floor.extend_from_slice(&seek);
        for d in (1..floor.len()).rev() {
            floor[d - 1] = floor[d - 1].min(floor[d]);
        }
        Motion {
            period_ns,
            seek,
            floor,
            head_switch: ticks(switches.head),
            write_settle: ticks(switches.write_settle),
            overhead: [Direction::Read, Direction::Write]
                .map(|last| [overheads.read, overheads.write].map(|after| ticks(after.a(last)))),
            hit: [Direction::Read, Direction::Write].map(|last| ticks(overheads.hit.a(last))),
            buffered: [Direction::Read, Direction::Write].map(|last| ticks(overheads.buffered.a(last))),
        }
    }

    /// A span in ticks.
    pub(super) fn ticks(&self, span: Span) -> u64 {
        ticks(span, self.period_ns)
    }

    /// Whether a revolution of `period_ns` is so different that the ticks no longer hold: by an 8192nd, which moves a full stroke of
    /// 20 ms by less than a sector.
    pub(super) fn is_stale(&self, period_ns: f64) -> bool {
        const STALE: f64 = 1.0 / 8192.0;
        (period_ns / self.period_ns - 1.0).abs() > STALE
    }
}

fn ticks(span: Span, period_ns: f64) -> u64 {
    // Signed numbers are converted by one instruction each way; no span is so long that it mattered.
    (span.0 as i64 as f64 / period_ns * f64::from(1u32 << TURN_BITS)) as i64 as u64
}
