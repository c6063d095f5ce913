//! At which angle blocks lie, drawn from the reads of late.
//!
//! Over many tracks of one zone the angle of a block grows evenly with its number: by a track's length in a revolution, and by the
//! skew from track to track. What is left is a saw: even within a track, with a jump at its end. So a piece of the chart is a slope
//! that a periodogram of a window of neighbouring reads finds, drawn on for as long as further reads agree; then a saw whose tooth
//! is a track, and one whose tooth is a cylinder, where they make what is left smaller.

mod drawing;
pub(in crate::predict::in_use) use drawing::ChartDrawing;

use super::sample::{REVOLUTION, Sample, share_of_turn, sine};

/// Reads in the window in which a slope is found.
const WINDOW: usize = 56;

/// Teeth are sought among so many reads at most.
const TEETH: usize = 768;

/// A piece tells angles while reads end no farther from it on average, in revolutions; by chance it is a quarter.
const TOLD: f32 = 0.12;
/// Reads over which that mean is taken, about.
const LATELY: f32 = 32.0;

/// A read belongs to a piece from which it ends no farther, in revolutions; to a fit, and to a saw.
const BELONGS: f32 = 0.17;
const FITS: f64 = 0.25;
const SAWN: f32 = 0.4;

/// All of its blocks but one of so many are nearly all that a piece has.
const NEARLY: u64 = 16;

/// A read that is farther from a piece is rather not of it; so few of neither are no gap.
const STRANGE: f32 = 0.1;
const GAP: usize = 2;

/// Reads of which a line is drawn, at least.
const FEWEST: f64 = 8.0;

/// A saw: each tooth of so many blocks falls by `height`, from the middle up to the middle down.
#[derive(Clone, Copy, Debug, Default)]
struct Saw {
    tooth: u64,
    from: u64,
    height: f32,
}

impl Saw {
    /// The one whose first tooth begins there that is nearest to what reads are off by, and what it leaves of that, squared.
    fn fit_height(tooth: u64, from: u64, rest: &[(u64, f32)]) -> (f32, Saw) {
        let unit = Saw { tooth, from, height: 1.0 };
        let [mut across, mut square, mut all] = [0.0f32; 3];
        for (blocks, off) in rest {
            let part = unit.at(*blocks);
            (across, square, all) = (across + part * off, square + part * part, all + off * off);
        }
        let height = across / square.max(f32::MIN_POSITIVE);
        (all - height * across, Saw { height, ..unit })
    }

    /// Its part of an angle, in revolutions.
    #[inline]
    fn at(&self, blocks: u64) -> f32 {
        if self.tooth == 0 {
            return 0.0;
        }
        let along = ((blocks + self.tooth - self.from) % self.tooth) as f32 / self.tooth as f32;
        self.height * (0.5 - along)
    }
}

/// Blocks whose angles are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChartPiece {
    pub(super) first: u64,
    pub(super) end: u64,
    /// What each block turns by, skews included, in 2⁻⁶⁴ revolutions, and the angle behind the first.
    slope: u64,
    angle: u32,
    saws: [Saw; 2],
    /// How far angles are from it, of late: 0.25 revolutions if it tells nothing.
    pub(super) astray: f32,
    /// Revolutions of all blocks before, in 1/256.
    before: u64,
}

impl ChartPiece {
    /// The angle behind a block.
    #[inline]
    fn behind(&self, block: u64) -> u32 {
        let blocks = block - self.first;
        let even = self.angle.wrapping_add((blocks.wrapping_mul(self.slope) >> 32) as u32);
        let saw = self.saws[0].at(blocks) + self.saws[1].at(blocks);
        even.wrapping_add((saw * REVOLUTION as f32) as i64 as u32)
    }

    /// Lets it begin at another block, before or behind its first, and tell the same angles.
    fn begin_at(&mut self, block: u64) {
        let on = block.wrapping_sub(self.first);
        self.angle = self.angle.wrapping_add((on.wrapping_mul(self.slope) >> 32) as u32);
        for saw in self.saws.iter_mut().filter(|saw| saw.tooth > 0) {
            saw.from = (saw.from as i64 - on as i64).rem_euclid(saw.tooth as i64) as u64;
        }
        self.first = block;
    }

    /// What a block itself takes, in 2⁻³² revolutions.
    #[inline]
    pub(super) fn width(&self) -> u32 {
        let tooth = self.saws[0].tooth;
        // Without a tooth, an eighth of the slope counts as skew.
        let even = (self.slope / 9 * 8) >> 32;
        u64::from(u32::MAX).checked_div(tooth).unwrap_or(even) as u32
    }

    fn middle(&self) -> u64 {
        self.first + (self.end - self.first) / 2
    }

    /// Revolutions up to a block, in 1/256; a block past the end, too.
    fn turns(&self, block: u64) -> u64 {
        self.before + ((u128::from(block - self.first) * u128::from(self.slope)) >> 56) as u64
    }

    fn knows(&self) -> bool {
        self.astray < TOLD
    }
}

/// The pieces, in the order of their blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct AngleChart {
    pub(super) pieces: Vec<ChartPiece>,
    /// What 1/256 of a revolution is of the stroke, of which all is 2⁵⁶.
    scale: u64,
}

impl AngleChart {
    /// The piece of a block.
    #[inline]
    pub(super) fn piece(&self, block: u64) -> Option<usize> {
        let after = self.pieces.partition_point(|piece| piece.first <= block);
        let at = after.checked_sub(1)?;
        (block < self.pieces[at].end).then_some(at)
    }

    /// None, with room for what so many reads tell.
    pub(super) fn new(reads: usize) -> AngleChart {
        AngleChart { pieces: Vec::with_capacity(reads / WINDOW * 2), scale: 0 }
    }

    /// How far along the stroke a block lies, of all of it as a share of 2³²; nothing where no chart is drawn.
    #[inline]
    pub(super) fn along(&self, block: u64) -> Option<u64> {
        let after = self.pieces.partition_point(|piece| piece.first <= block);
        let piece = self.pieces.get(after.saturating_sub(1))?;
        Some((piece.turns(block.max(piece.first)) * self.scale) >> 24)
    }

    /// The angles before and behind a block, where they are known.
    pub(super) fn angles(&self, block: u64) -> Option<(u32, u32)> {
        let piece = &self.pieces[self.piece(block)?];
        let behind = piece.behind(block);
        piece.knows().then(|| (behind.wrapping_sub(piece.width()), behind))
    }

    /// A read of this block ended at an angle: how far that is from where it should have, and whether that is known well.
    pub(super) fn check(&mut self, block: u64, angle: u32) -> Option<(i32, bool)> {
        let at = self.piece(block)?;
        let piece = &mut self.pieces[at];
        let off = angle.wrapping_sub(piece.behind(block)) as i32;
        piece.astray += (share_of_turn(off) - piece.astray) / LATELY;
        Some((off, piece.knows()))
    }

    /// How far an angle is from where a block ends, in revolutions, where that is known well.
    pub(super) fn off(&self, block: u64, angle: u32) -> Option<f32> {
        let piece = &self.pieces[self.piece(block)?];
        let off = angle.wrapping_sub(piece.behind(block)) as i32;
        piece.knows().then(|| share_of_turn(off))
    }

    /// The share of the blocks whose angles are known.
    pub(super) fn count_known(&self) -> u64 {
        self.pieces.iter().filter(|piece| piece.knows()).map(|piece| piece.end - piece.first).sum()
    }

    /// How far off it is among the blocks of a piece, of late, in revolutions; nothing where it does not know all of them, or nearly.
    fn astray_within(&self, piece: &ChartPiece) -> Option<f32> {
        let from = self.pieces.partition_point(|its| its.end <= piece.first);
        let within = self.pieces[from..].iter().take_while(|its| its.first < piece.end).filter(|its| its.knows());
        let (mut known, mut sum) = (0, 0.0);
        for its in within {
            let blocks = its.end.min(piece.end) - its.first.max(piece.first);
            (known, sum) = (known + blocks, sum + blocks as f32 * its.astray);
        }
        let all = piece.end - piece.first;
        (known > all - all / NEARLY).then(|| sum / known as f32)
    }

    /// Takes from another chart, which has been in use, what that knows better, and what this one does not know.
    pub(super) fn take_better(&mut self, other: &AngleChart) {
        self.pieces.retain(|piece| other.astray_within(piece).is_none_or(|astray| piece.astray < astray));
        let (mut at, mut from) = (0, 0);
        while at <= self.pieces.len() {
            let until = self.pieces.get(at).map_or(u64::MAX, |next| next.first);
            let after = other.pieces.partition_point(|piece| piece.end <= from);
            let within = other.pieces[after..].iter().take_while(|piece| piece.first < until);
            for piece in within.filter(|piece| piece.knows()) {
                if self.pieces.len() == self.pieces.capacity() {
                    return;
                }
                let mut part = *piece;
                part.begin_at(piece.first.max(from));
                part.end = piece.end.min(until);
                self.pieces.insert(at, part);
                at += 1;
            }
            from = self.pieces.get(at).map_or(u64::MAX, |next| next.end);
            at += 1;
        }
    }

    /// All its pieces are drawn: it is of so many blocks.
    pub(super) fn finish(&mut self, blocks: u64) {
        let mut before = 0;
        for i in 0..self.pieces.len() {
            self.pieces[i].before = before;
            let piece = self.pieces[i];
            before = piece.turns(self.pieces.get(i + 1).map_or(blocks, |next| next.first));
        }
        self.scale = (1 << 56) / before.max(1);
    }
}

/// Ends one piece and begins the next where the reads between their middles tell that they do: a piece is drawn on over some that
/// are not its own, and begins with a window that is all its own. How many reads were weighed.
fn place_border(left: &mut ChartPiece, right: &mut ChartPiece, samples: &[Sample]) -> usize {
    let at = |block| samples.partition_point(|sample| sample.block < block);
    let between = &samples[at(left.middle())..at(right.middle())];
    let mut back = *right;
    back.begin_at(left.first);
    // By how much the reads up to each fit the left better than a stranger would, and those behind it the right.
    let gain = |piece: &ChartPiece, sample: &Sample| STRANGE - piece.off(sample).abs();
    let all: f32 = between.iter().map(|sample| gain(&back, sample)).sum();
    let (mut before, mut behind) = (0.0, all);
    let (mut ends, mut begins, mut meet) = ((0.0, 0), (all, 0), (all, 0));
    for (i, sample) in between.iter().enumerate() {
        (before, behind) = (before + gain(left, sample), behind - gain(&back, sample));
        let better = |best: (f32, usize), sum: f32| if sum > best.0 { (sum, i + 1) } else { best };
        (ends, begins, meet) = (better(ends, before), better(begins, behind), better(meet, before + behind));
    }
    if begins.1 <= ends.1 + GAP {
        (ends, begins) = (meet, meet);
    }
    let first = left.middle();
    // Half the way to the next read belongs to the one before.
    let border = |i: usize| match (i.checked_sub(1).map(|last| between[last].block), between.get(i)) {
        (Some(last), Some(next)) => last + (next.block - last) / 2 + 1,
        (Some(last), None) => last + 1,
        (None, _) => first,
    };
    left.end = border(ends.1);
    right.begin_at(border(begins.1));
    between.len()
}

/// A piece from the first of these reads on, and how many of them it holds.
fn grow(samples: &[Sample], slope: u64) -> (ChartPiece, usize) {
    let first = samples[0].block;
    let mut piece =
        ChartPiece { first, end: first + 1, slope, angle: 0, saws: [Saw::default(); 2], astray: 0.0, before: 0 };
    piece.angle = mean_angle(&samples[..WINDOW], &piece);
    let mut count = WINDOW;
    piece.fit(&samples[..count]);
    piece.fit(&samples[..count]);
    let mut batch = WINDOW / 4;
    while count < samples.len() {
        let next = &samples[count..(count + batch).min(samples.len())];
        let near = next.iter().filter(|sample| piece.off(sample).abs() < BELONGS).count();
        if near * 10 >= next.len() * 7 {
            count += next.len();
            piece.fit(&samples[..count]);
            batch = (count / 4).max(8);
        } else if batch > 8 {
            batch = (batch / 2).max(8);
        } else {
            break;
        }
    }
    while count > 1 && piece.off(&samples[count - 1]).abs() > BELONGS {
        count -= 1;
    }
    piece.end = samples[count - 1].block + 1;
    let sum: f32 = samples[..count].iter().map(|sample| piece.off(sample).abs()).sum();
    piece.astray = sum / count as f32;
    (piece, count)
}

/// The mean of what angles are off by.
fn mean_angle(samples: &[Sample], piece: &ChartPiece) -> u32 {
    let mut best = (f32::MIN, 0);
    for i in 0..64u32 {
        let angle = i << 26;
        let agree = samples.iter().map(|sample| {
            sine(sample.angle.wrapping_sub(piece.behind(sample.block)).wrapping_sub(angle).wrapping_add(1 << 30))
        });
        let sum: f32 = agree.sum();
        if sum > best.0 {
            best = (sum, angle);
        }
    }
    piece.angle.wrapping_add(best.1)
}

impl ChartPiece {
    /// How far a read ended from where it should have, in revolutions.
    fn off(&self, sample: &Sample) -> f32 {
        (f64::from(sample.angle.wrapping_sub(self.behind(sample.block)) as i32) / REVOLUTION) as f32
    }

    /// Fits slope and angle to reads, by least squares of those that agree.
    fn fit(&mut self, samples: &[Sample]) {
        let middle = (samples[samples.len() - 1].block - self.first) as f64 / 2.0;
        let [mut n, mut sx, mut sy, mut sxx, mut sxy] = [0.0f64; 5];
        for sample in samples {
            let off = f64::from(self.off(sample));
            if off.abs() < FITS {
                let x = (sample.block - self.first) as f64 - middle;
                (n, sx, sy, sxx, sxy) = (n + 1.0, sx + x, sy + off, sxx + x * x, sxy + x * off);
            }
        }
        let spread = sxx * n - sx * sx;
        if n < FEWEST || spread <= 0.0 {
            return;
        }
        let steep = (sxy * n - sx * sy) / spread;
        let level = (sy - steep * sx) / n - steep * middle;
        self.slope = self.slope.wrapping_add_signed((steep * REVOLUTION * REVOLUTION) as i64);
        self.angle = self.angle.wrapping_add((level * REVOLUTION) as i64 as u32);
    }

    /// Moves a saw to where it leaves least of what its reads are off by, and gives it the height that fits them best there.
    fn sharpen_saw(&mut self, which: usize, samples: &[Sample], rest: &mut Vec<(u64, f32)>) {
        let tooth = self.saws[which].tooth;
        if tooth == 0 {
            return;
        }
        self.leave_rest(samples, rest);
        for (blocks, off) in rest.iter_mut() {
            *off += self.saws[which].at(*blocks);
        }
        let mut step = (tooth / 32).max(1);
        let mut best = (f32::MAX, self.saws[which]);
        loop {
            let middle = best.1.from;
            for from in [middle, middle + tooth - step, middle + step] {
                let (left, saw) = Saw::fit_height(tooth, from % tooth, rest);
                if left < best.0 {
                    best = (left, saw);
                }
            }
            if best.1.from == middle {
                if step == 1 {
                    break;
                }
                step /= 2;
            }
        }
        self.saws[which] = best.1;
    }

    /// What some of its reads are off by, of those that are not far off.
    fn leave_rest(&self, samples: &[Sample], rest: &mut Vec<(u64, f32)>) {
        let within = if self.saws[0].tooth == 0 { SAWN } else { BELONGS };
        rest.clear();
        let some = samples.iter().step_by(samples.len().div_ceil(TEETH));
        let offs = some.map(|sample| (sample.block - self.first, self.off(sample)));
        rest.extend(offs.filter(|(_, off)| off.abs() < within));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of a track, of which a piece is drawn.
    const TRACK: u64 = 400;

    fn piece(slope: u64, angle: u32) -> ChartPiece {
        ChartPiece { first: 5000, end: 5001, slope, angle, saws: [Saw::default(); 2], astray: 0.0, before: 0 }
    }

    /// Reads of every so manieth block whose angles are those of a piece, but for what each is off by, in revolutions.
    fn reads(piece: &ChartPiece, count: u64, off: impl Fn(u64) -> f64) -> Vec<Sample> {
        let read = |i: u64| {
            let block = piece.first + 37 * i;
            let astray = (off(i) * REVOLUTION) as i64 as u32;
            Sample { block, at: 0, angle: piece.behind(block).wrapping_add(astray) }
        };
        (0..count).map(read).collect()
    }

    /// A chart of pieces from one block to another, which are so far off.
    fn chart(pieces: &[(u64, u64, f32)], slope: u64) -> AngleChart {
        let mut chart = AngleChart::new(WINDOW * 8);
        let of = |(first, end, astray): &(u64, u64, f32)| ChartPiece {
            first: *first,
            end: *end,
            astray: *astray,
            ..piece(slope, 9)
        };
        chart.pieces.extend(pieces.iter().map(of));
        chart
    }

    #[test]
    fn of_two_charts_what_is_known_better_stays_and_what_one_leaves_out_the_other_tells() {
        let old =
            chart(&[(0, 100, 0.01), (100, 200, 0.08), (200, 300, 0.3), (300, 400, 0.02), (400, 500, 0.02)], 3 << 40);
        let mut new =
            chart(&[(0, 96, 0.05), (110, 190, 0.02), (200, 250, 0.05), (300, 340, 0.01), (350, 420, 0.2)], 5 << 40);
        new.take_better(&old);
        let told = new.pieces.iter().map(|piece| (piece.first, piece.end, piece.slope >> 40));
        let expected = [(0, 100, 3), (100, 110, 3), (110, 190, 5), (190, 200, 3), (200, 250, 5)];
        let rest = [(300, 340, 5), (340, 400, 3), (400, 500, 3)];
        assert_eq!(told.collect::<Vec<_>>(), [&expected[..], &rest[..]].concat());
        for block in [0, 99, 105, 195, 340, 399, 420] {
            assert_eq!(
                new.angles(block).map(|(_, behind)| behind),
                old.angles(block).map(|(_, behind)| behind),
                "{block}"
            );
        }
        // Without room for more, what it has stays.
        let mut full = chart(&[(0, 10, 0.01)], 5 << 40);
        full.pieces.shrink_to_fit();
        full.take_better(&old);
        assert_eq!(full.pieces.len(), full.pieces.capacity());
    }

    #[test]
    fn a_line_is_drawn_through_the_reads_that_agree() {
        let truth = piece(u64::MAX / TRACK, 1 << 30);
        // One in nine is of something else.
        let samples = reads(&truth, 120, |i| if i % 9 == 4 { 0.4 } else { 0.0 });
        let mut drawn = piece(truth.slope + truth.slope / 500, truth.angle + (1 << 28));
        drawn.fit(&samples);
        for sample in samples.iter().enumerate().filter(|(i, _)| i % 9 != 4).map(|(_, sample)| sample) {
            assert!(drawn.off(sample).abs() < 1e-4, "{} at block {}", drawn.off(sample), sample.block);
        }
    }

    #[test]
    fn of_fewer_reads_than_a_line_needs_none_is_drawn() {
        let truth = piece(u64::MAX / TRACK, 1 << 30);
        for agree in 0..FEWEST as u64 {
            // The others are too far off to count.
            let samples = reads(&truth, 40, |i| if i < agree { 0.05 } else { 0.4 });
            let mut drawn = truth;
            drawn.fit(&samples);
            assert_eq!((drawn.slope, drawn.angle), (truth.slope, truth.angle), "by {agree}");
        }
        let mut drawn = truth;
        drawn.fit(&reads(&truth, 40, |i| if i < FEWEST as u64 { 0.05 } else { 0.4 }));
        assert_ne!(drawn.angle, truth.angle, "these are enough");
    }

    #[test]
    fn a_piece_that_begins_elsewhere_tells_the_same_angles() {
        let saws = [Saw { tooth: 300, from: 17, height: 0.2 }, Saw { tooth: 1800, from: 900, height: 0.1 }];
        let truth = ChartPiece { saws, ..piece(u64::MAX / TRACK, 1 << 30) };
        for block in [4000, 5001, 7777, 20_000] {
            let mut moved = truth;
            moved.begin_at(block);
            for there in (block.max(truth.first)..block.max(truth.first) + 5000).step_by(41) {
                let off = moved.behind(there).wrapping_sub(truth.behind(there)) as i32;
                assert!(share_of_turn(off) < 1e-6, "{off} at block {there} from {block} on");
            }
        }
    }

    #[test]
    fn teeth_are_moved_to_where_they_are() {
        let saws = [Saw { tooth: 330, from: 100, height: 0.2 }, Saw::default()];
        let truth = ChartPiece { saws, ..piece(u64::MAX / TRACK, 1 << 30) };
        let samples = reads(&truth, 400, |i| if i % 20 == 7 { 0.35 } else { 0.0 });
        for from in [80, 90, 109, 125] {
            let mut drawn = ChartPiece { saws: [Saw { from, height: 0.15, ..saws[0] }, Saw::default()], ..truth };
            drawn.sharpen_saw(0, &samples, &mut Vec::with_capacity(TEETH));
            let Saw { from: found, height, .. } = drawn.saws[0];
            assert!(found.abs_diff(100) <= 2 && (height - 0.2).abs() < 0.01, "from {from}: {found}, {height}");
        }
    }

    #[test]
    fn a_border_lies_where_the_reads_of_the_next_piece_begin() {
        let left_truth = piece(u64::MAX / TRACK, 1 << 30);
        let right_truth = ChartPiece { first: 12_000, ..piece(u64::MAX / (TRACK - 20), 3 << 29) };
        let blocks = (0..600).map(|i| 5000 + 29 * i);
        let read = |block: u64| {
            let truth = if block < 12_000 { &left_truth } else { &right_truth };
            Sample { block, at: 0, angle: truth.behind(block) }
        };
        let samples: Vec<Sample> = blocks.map(read).collect();
        // One was drawn on too far, and the other begins with a whole window of its own; or one ends too soon.
        for (end, first) in [(13_500, 14_000), (10_000, 12_800), (12_000, 12_000)] {
            let mut left = ChartPiece { end, ..left_truth };
            let mut right = ChartPiece { end: 22_000, ..right_truth };
            right.begin_at(first);
            place_border(&mut left, &mut right, &samples);
            assert!(left.end.abs_diff(12_000) < 29 && right.first == left.end, "{}, {}", left.end, right.first);
        }
        // Of what lies between nothing is known.
        let strange = |sample: &Sample| (9000..15_000).contains(&sample.block);
        let samples: Vec<Sample> = samples
            .iter()
            .map(|sample| {
                if strange(sample) { Sample { angle: (sample.block * 77_777_777) as u32, ..*sample } } else { *sample }
            })
            .collect();
        let (mut left, mut right) = (ChartPiece { end: 9500, ..left_truth }, ChartPiece { end: 22_000, ..right_truth });
        right.begin_at(15_500);
        place_border(&mut left, &mut right, &samples);
        assert!(left.end.abs_diff(9000) < 300 && right.first.abs_diff(15_000) < 300, "{}, {}", left.end, right.first);
    }
}
