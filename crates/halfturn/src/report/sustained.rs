//! Transfer rates of a zone, by turning the platter.

use block::{BLOCK_BYTES, Direction, Extent, Lbn, Time};
use disk::Mechanics;

/// Tracks a rate is taken over, at most: several bands of a band-serpentine drive.
const TRACKS: u64 = 8192;

/// Rates of a zone in 10^6 bytes a second.
#[derive(Clone, Copy)]
pub struct Rates {
    /// While blocks pass under the head.
    pub media: f64,
    /// Of a long sequential read, switches between tracks included.
    pub sustained: f64,
}

/// The rates of a zone at nominal rotation: from the moment its first block comes under the head to the moment the
/// first block so many tracks later does.
pub fn rates(mechanics: &Mechanics, zone: u32) -> Rates {
    let layout = &mechanics.layout;
    let (first, last) = layout.zone_blocks(zone);
    let sector = 1u64 << layout.sector_shift();
    let track = u64::from(layout.track_sectors(layout.locate(first).track.zone)) * sector;
    let media = (track * BLOCK_BYTES) as f64 * 1e3 / mechanics.rotation.period_ns();
    let tracks = TRACKS.min((last.0 - first.0) / track).min(u64::from(u32::MAX) / track - 1);
    let blocks = tracks * track;
    let came = |from: Time, at: Lbn, blocks: u64| {
        let extent = Extent { start: at, blocks: blocks as u32 };
        mechanics.pass(&mechanics.rotation, from, layout.locate(at), extent, Direction::Read)
    };
    if blocks == 0 {
        return Rates { media, sustained: media };
    }
    let start = came(Time::ZERO, first, sector);
    let whole = came(start.began, first, blocks + sector);
    // The one sector too many is taken off at the end as it is at the beginning.
    let took = whole.end.since(start.end).as_secs();
    Rates { media, sustained: (blocks * BLOCK_BYTES) as f64 / 1e6 / took }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outer_zone_gives_the_rate_its_source_prints() {
        let drive = disk::catalogue::find("st318437lw").expect("it is in the catalogue");
        let mechanics = &drive.sheet.mechanics;
        let (outer, inner) = (rates(mechanics, 0), rates(mechanics, mechanics.layout.zones() - 1));
        // Virtual IO, section 4: 41.7 MB/s outside, 24.3 inside.
        assert!((outer.sustained - 41.7).abs() < 0.1, "{}", outer.sustained);
        assert!((inner.sustained - 24.3).abs() < 0.1, "{}", inner.sustained);
        assert!(outer.media > outer.sustained);
    }
}
