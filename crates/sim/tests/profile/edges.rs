//! Zone borders and skews of a layout, found against true.

use crate::whole::angle;
use block::Lbn;
use disk::Layout;
use profile::estimate::signed_fraction;

/// Places at which sectors are held against those before them.
const PLACES: u64 = 100_000;
/// Edges of tracks looked at.
const EDGES: u64 = 10_000;

/// Where tracks begin to hold more or fewer sectors all round: of the true ones, how many were found; others that were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Borders {
    /// True ones.
    pub all: usize,
    /// Found at their sector.
    pub exact: usize,
    /// Found within a track of it, the exact ones included.
    pub near: usize,
    /// Found where there is none.
    pub made_up: usize,
}

/// A sector's width, 2⁻⁶⁴ revolutions.
fn width(layout: &Layout, sector: u64) -> u64 {
    layout.sector_angle(layout.locate(Lbn(sector << layout.sector_shift())).track.zone)
}

fn is_elsewhere(layout: &Layout, sector: u64) -> bool {
    layout.locate(Lbn(sector << layout.sector_shift())).remapped
}

/// Sectors that are wider or narrower than the one before.
fn borders(layout: &Layout) -> Vec<u64> {
    let all = layout.blocks() >> layout.sector_shift();
    let mut found = Vec::new();
    let mut before = 0;
    for i in 1..=PLACES {
        let place = i * (all - 1) / PLACES;
        if is_elsewhere(layout, place) {
            continue;
        }
        while width(layout, before) != width(layout, place) {
            let (mut low, mut high) = (before, place);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                let middle = if is_elsewhere(layout, middle) { low + 1 } else { middle };
                if width(layout, middle) == width(layout, before) { low = middle } else { high = middle }
            }
            found.push(high);
            before = high;
        }
        before = place;
    }
    found
}

/// The borders of a layout held against the true ones.
pub fn compare(real: &Layout, ours: &Layout) -> Borders {
    let (real_ones, ours_ones) = (borders(real), borders(ours));
    let apart = |borders: &[u64], at: u64| {
        let next = borders.partition_point(|border| *border < at);
        let near = [next.checked_sub(1), Some(next)].into_iter().flatten().filter_map(|i| borders.get(i));
        near.map(|border| border.abs_diff(at)).min().unwrap_or(u64::MAX)
    };
    let track = |at: u64| u64::MAX / width(real, at).max(1);
    let near = |borders: &[u64], at: u64| apart(borders, at) <= track(at);
    Borders {
        all: real_ones.len(),
        exact: real_ones.iter().filter(|at| apart(&ours_ones, **at) == 0).count(),
        near: real_ones.iter().filter(|at| near(&ours_ones, **at)).count(),
        made_up: ours_ones.iter().filter(|at| !near(&real_ones, **at)).count(),
    }
}

/// The share of tracks whose turn to the next is right to the sector.
pub fn skews(real: &Layout, ours: &Layout) -> f64 {
    let (shift, all) = (real.sector_shift(), real.blocks());
    let (mut right, mut asked) = (0, 0);
    for i in 0..EDGES {
        let lbn = Lbn(((i * 2_654_435_761 + 17) % (all >> shift)) << shift);
        let edge = real.track_bounds(lbn).1.0 >> shift;
        if edge << shift >= all || is_elsewhere(real, edge) || is_elsewhere(real, edge - 1) {
            continue;
        }
        let turn = |layout: &Layout| angle(layout, edge) - angle(layout, edge - 1);
        let sectors =
            signed_fraction(turn(ours) - turn(real)) * 18_446_744_073_709_551_616.0 / width(real, edge) as f64;
        asked += 1;
        right += u64::from(sectors.abs() < 0.5);
    }
    right as f64 / asked.max(1) as f64
}
