//! Where blocks lie on a drive of which a sheet tells the rates: sectors a track from the rates, cylinders from the capacity.

use super::{Assumptions, DataSheet, refuse};
use block::{BLOCK_BYTES, BadInput};

/// The most zones; measured drives have from 10 to 60.
const ZONES: u32 = 16;
/// Cylinders that a drive may have.
const CYLINDERS: (f64, f64) = (200.0, 2_000_000.0);

/// Tracks on a surface by the 10^6 bytes on its outermost track: a Quantum Atlas 10K of 1999, a Seagate Barracuda 36ES of 2001, drives
/// of 500 GB a surface of 2016, and of 1 TB of 2022.
const TRACKS: [(f64, f64); 4] = [(0.171, 10_042.0), (0.384, 30_196.0), (1.5, 390_000.0), (2.61, 489_400.0)];

/// The zones of a drive, before they are written down.
pub(super) struct SheetGeometry {
    pub(super) heads: u32,
    pub(super) cylinders: u32,
    /// Size of a sector in blocks.
    pub(super) sector: u32,
    /// The capacity that the zones add up to, in blocks.
    pub(super) blocks: u64,
    /// First cylinder, last cylinder, sectors a track.
    pub(super) zones: Vec<(u32, u32, u32)>,
}

/// Whether a track of so many kilobytes is of a drive with tracks so dense that single ones need no seek: from about 2005 on.
pub(super) fn is_dense(track_kb: f64) -> bool {
    track_kb >= 700.0
}

/// Tracks on a surface whose outermost holds so many 10^6 bytes: along a line between what is known, in logarithms.
fn tracks(megabytes: f64) -> f64 {
    let points = TRACKS.map(|(bytes, tracks)| (libm::log(bytes), libm::log(tracks)));
    let at = libm::log(megabytes);
    let i = points[1..3].partition_point(|point| point.0 < at);
    let ((x, y), (to_x, to_y)) = (points[i], points[i + 1]);
    libm::exp(y + (at - x) * (to_y - y) / (to_x - x))
}

/// The layout of the drive of this sheet.
pub(super) fn lay_out(
    sheet: &DataSheet,
    inner_mb_s: f64,
    skew: f64,
    assumed: &mut Assumptions,
) -> Result<SheetGeometry, BadInput> {
    // Sustained is a track a turn and its skew.
    let track_bytes = |mb_s: f64| mb_s * 1e6 * 60.0 / sheet.rpm * (1.0 + skew);
    let outermost = track_bytes(sheet.outer_mb_s);
    // Sectors of 4 KiB came with drives of a terabyte.
    let sector = if sheet.blocks >= 1_900_000_000 && outermost > 4e5 { 8 } else { 1 };
    let sectors = |mb_s: f64| (track_bytes(mb_s) / (u64::from(sector) * BLOCK_BYTES) as f64).round().max(1.0) as u32;
    let (outer, inner) = (sectors(sheet.outer_mb_s), sectors(inner_mb_s));
    if inner < 8 {
        let what = format!("at {} rpm a track would hold {inner} sectors", sheet.rpm);
        return Err(refuse("--outer", what, "give the sustained rate in MB/s (10^6 bytes/s), and the right --rpm"));
    }
    let mean = f64::from(outer + inner) / 2.0;
    let blocks = sheet.blocks / u64::from(sector) * u64::from(sector);
    let held = blocks as f64 / (mean * f64::from(sector));
    let heads = match sheet.heads {
        Some(heads) => heads,
        None => {
            let each = tracks(outermost / 1e6);
            let heads = (held / each).round().clamp(1.0, 64.0);
            let bounds = ((heads / 1.7).floor().max(1.0), (heads * 1.7).ceil());
            assumed.take("heads", heads, bounds, "", "tracks on a surface by bytes on a track, of four drives") as u32
        }
    };
    let cylinders = (held / f64::from(heads)).ceil();
    if !(CYLINDERS.0..=CYLINDERS.1).contains(&cylinders) {
        let what =
            format!("{heads} heads and these rates make {cylinders} cylinders of {:.2} MB tracks", outermost / 1e6);
        let option = if sheet.heads.is_some() { "--heads" } else { "--capacity" };
        return Err(refuse(
            option,
            what,
            "the capacity, the rates and the heads do not go together: look for a wrong unit",
        ));
    }
    let zones = divide(cylinders as u32, (outer, inner), (heads, sector), blocks);
    let cylinders = zones.last().map_or(0, |zone| zone.1 + 1);
    assumed.take("cylinders", f64::from(cylinders), bounds(cylinders), "", "what holds the capacity");
    assumed.take("zones of equal width", zones.len() as f64, (10.0, 60.0), "", "measured drives");
    Ok(SheetGeometry { heads, cylinders, sector, blocks, zones })
}

/// How far the number of cylinders may be off: as far as the heads.
fn bounds(cylinders: u32) -> (f64, f64) {
    (f64::from(cylinders) * 0.8, f64::from(cylinders) * 1.25)
}

/// Zones whose tracks hold fewer and fewer sectors, as many cylinders as hold the blocks.
fn divide(
    cylinders: u32,
    (outer, inner): (u32, u32),
    (heads, sector): (u32, u32),
    blocks: u64,
) -> Vec<(u32, u32, u32)> {
    let count = ZONES.min(outer - inner + 1);
    let sectors = |zone: u32| outer - ((outer - inner) * zone + (count - 1) / 2) / (count - 1).max(1);
    let mut cylinders = cylinders;
    loop {
        let first = |zone: u32| (u64::from(cylinders) * u64::from(zone) / u64::from(count)) as u32;
        let zones: Vec<_> = (0..count).map(|zone| (first(zone), first(zone + 1) - 1, sectors(zone))).collect();
        let held: u64 = zones.iter().map(|(first, last, n)| u64::from(last - first + 1) * u64::from(*n)).sum();
        let missing = blocks.saturating_sub(held * u64::from(heads * sector));
        if missing == 0 {
            return zones;
        }
        let each = u64::from(outer) * u64::from(heads * sector);
        cylinders += (missing.div_ceil(each)) as u32;
    }
}
