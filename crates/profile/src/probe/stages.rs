//! Stages of buffered writes (BCW, FAST 2020): whether now and then one takes much longer, each time after as many blocks.
//!
//! Writes go where none is beside another, so that a full buffer has nearly all of them wait. A slow stage is one write by itself.

use super::buffer::{MOST_BLOCKS, PLAIN};
use super::field::Field;
use crate::bench::ProbeBench;
use crate::estimate::median;
use block::{BadInput, Device, Span};
use disk::WriteStages;

/// Blocks of a write.
const PIECE: u64 = 128;
/// Two that wait with fewer between them wait for room.
const APART: usize = 8;
/// As many slow ones tell how far apart they are.
const FEW: usize = 3;
/// One that takes longer by this share of a revolution waits.
const WAITS: f64 = 1.0 / 8.0;
/// Slow ones are alike but for this share, or for what waits.
const ALIKE: f64 = 0.1;
/// For how long no write comes before they are fast anew: it is not tried.
pub(crate) const REST: Span = Span(100_000_000);

/// Learns the stages, with the buffer empty: nothing where none shows.
///
/// # Errors
/// As [`ProbeBench::write`].
pub fn learn<D: Device>(
    bench: &mut ProbeBench<D>,
    field: &Field,
    period: f64,
) -> Result<Option<WriteStages>, BadInput> {
    let sectors = PIECE >> bench.shift;
    let places = (field.end - field.first) / sectors.max(1);
    if sectors == 0 || places == 0 {
        return Ok(None);
    }
    let mut row = WriteRow { waits: WAITS * period, ..WriteRow::default() };
    let writes = MOST_BLOCKS / PIECE;
    for count in 0..writes {
        // 617 has no divisor in common with them, so that each place comes once, far from the last.
        let place = if places < writes { count * 617 % places } else { count * 617 % writes * (places / writes) };
        let Some(reply) = bench.write(PLAIN, field.first + place * sectors, sectors)? else {
            break;
        };
        if !row.add(reply.response().0 as f64) {
            break;
        }
    }
    Ok(row.stages())
}

/// What so many writes of a piece took, one after another, ns.
#[derive(Default)]
struct WriteRow {
    took: Vec<f64>,
    /// What one takes longer that waits.
    waits: f64,
    /// Those that waited, and what they took longer.
    slow: Vec<(usize, f64)>,
}

impl WriteRow {
    /// Adds one; whether the buffer still has room.
    fn add(&mut self, ns: f64) -> bool {
        let usual = median(&self.took[self.took.len().saturating_sub(APART)..]);
        self.took.push(ns);
        let (count, longer) = (self.took.len(), ns - usual);
        if count < APART || longer < self.waits {
            return true;
        }
        if self.slow.last().is_some_and(|(last, _)| count - last < APART) {
            // Both wait for room.
            self.slow.pop();
            return false;
        }
        self.slow.push((count, longer));
        true
    }

    /// The stages that show.
    fn stages(mut self) -> Option<WriteStages> {
        let slow = median(&self.slow.iter().map(|(_, longer)| *longer).collect::<Vec<_>>());
        let off = (ALIKE * slow).max(self.waits);
        // The host was late with the others.
        self.slow.retain(|(_, longer)| (longer - slow).abs() < off);
        let [(first, _), .., (last, _)] = self.slow[..] else { return None };
        let between = (last - first) as f64 / (self.slow.len() - 1) as f64;
        let is_even = |pair: &[(usize, f64)]| (((pair[1].0 - pair[0].0) as f64) - between).abs() <= 1.0;
        if self.slow.len() < FEW || !self.slow.windows(2).all(is_even) {
            return None;
        }
        let blocks = |pieces: f64| (pieces * PIECE as f64) as u32;
        let fast = (first as f64 - between).max(0.0);
        let (at_first, later) = self.took.split_at(fast as usize);
        let mid = if at_first.is_empty() { 0.0 } else { (median(later) - median(at_first)).max(0.0) };
        Some(WriteStages {
            fast: blocks(fast),
            mid: Span(mid as u64),
            between: blocks(between),
            slow: Span((slow + mid) as u64),
            rest: REST,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::ProbeDraw;

    /// A row of writes to a drive of such stages, and a buffer of so many pieces.
    fn row(stages: &WriteStages, room: usize, seed: u64) -> WriteRow {
        let mut draw = ProbeDraw::new(seed);
        let mut row = WriteRow { waits: WAITS * 8e6, ..WriteRow::default() };
        for count in 0..1024 {
            let longer = stages.longer(count * PIECE, PIECE).0 as f64;
            let wait = if count as usize >= room { 1e6 + 9e6 * draw.unit() } else { 0.0 };
            if !row.add(180_000.0 + 2_000.0 * draw.unit() + longer.max(wait)) {
                break;
            }
        }
        row
    }

    #[test]
    fn slow_writes_as_far_apart_are_a_stage() {
        for seed in 0..300 {
            let mut draw = ProbeDraw::new(seed);
            let pieces =
                |draw: &mut ProbeDraw, least, most: u64| (least + draw.below(most - least)) as u32 * PIECE as u32;
            let (fast, between) = (pieces(&mut draw, 0, 300), pieces(&mut draw, 9, 120));
            let slow = Span(3_000_000 + draw.below(20_000_000));
            let mid = Span(draw.below(400_000));
            let drive = WriteStages { fast, mid, between, slow, rest: REST };
            let found = row(&drive, 1000, seed).stages().expect("three slow ones are told");
            assert_eq!((found.fast, found.between), (fast, between), "seed {seed}: {drive:?}");
            let beyond = |stages: &WriteStages| stages.slow.0 as f64 - stages.mid.0 as f64;
            assert!((beyond(&found) - beyond(&drive)).abs() < 4_000.0, "seed {seed}: {found:?} {drive:?}");
            // Where hardly any is fast, nothing tells by how much others are slower.
            assert!(fast < 8 * PIECE as u32 || (found.mid.0 as f64 - mid.0 as f64).abs() < 4_000.0, "seed {seed}");
            let full = row(&drive, 1 + draw.below(u64::from(fast + between) / PIECE) as usize, seed);
            assert_eq!(full.stages(), None, "seed {seed}: the buffer is full before");
        }
    }
}
