//! What distances like this one take: a smooth curve, to which the mean of few samples is drawn.
//!
//! Times of one distance scatter by a revolution, and the least of many noisy means is the luckiest, not the best. So a
//! mean counts for as much as it is worth: after `n` samples of a distance it is `m + n/(n + k)·(mean − m)`, where `m` is
//! what distances of about this size take and `k` the variance within a distance over that between distances
//! (empirical Bayes). Where distance tells nothing but the seek, as on a drive with many zones, only the curve is left.

use super::point::Point;

/// Cells of an octave of distances.
const CELLS: usize = 8;
const OCTAVES: usize = 32;
/// Cells of one direction.
const SIDE: usize = CELLS * OCTAVES;
/// Samples before a cell tells anything.
const FEWEST: f32 = 8.0;
/// Samples beyond which a cell's mean moves no more slowly.
const MOST: f32 = 4096.0;

/// Samples the curve counts for at most.
const MOST_WEIGHT: f32 = 1e3;

/// A stretch of distances that is fitted alone.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    samples: f32,
    mean: f32,
    /// Of single times about the mean.
    variance: f32,
    /// Of the means of distances about it: from how two times of one distance vary together.
    between: f32,
    pairs: f32,
}

impl Cell {
    /// Samples the curve counts for against those of a distance.
    fn weight(&self) -> f32 {
        let between = self.between();
        let least = self.variance / MOST_WEIGHT;
        if between <= least { MOST_WEIGHT } else { ((self.variance - between) / between).clamp(0.0, MOST_WEIGHT) }
    }

    /// How much the means of distances vary, beyond what chance alone would show between them.
    fn between(&self) -> f32 {
        (self.between - self.variance / self.pairs.max(1.0).sqrt()).clamp(0.0, self.variance)
    }
}

/// What the curve is learned from.
#[derive(Clone, Debug)]
pub(super) struct Smooth {
    cells: Vec<Cell>,
}

impl Default for Smooth {
    fn default() -> Smooth {
        Smooth { cells: vec![Cell::default(); 2 * SIDE + 1] }
    }
}

/// The cell of a distance: in order of distance, zero in the middle.
fn cell(distance: i32) -> usize {
    let size = distance.unsigned_abs();
    if size == 0 {
        return SIDE;
    }
    let octave = size.ilog2();
    let part = ((u64::from(size) * CELLS as u64) >> octave) as usize - CELLS;
    let offset = octave as usize * CELLS + part;
    if distance > 0 { SIDE + 1 + offset } else { SIDE - 1 - offset }
}

/// The distance in the middle of a cell.
fn centre(cell: usize) -> f32 {
    if cell == SIDE {
        return 0.0;
    }
    let offset = if cell > SIDE { cell - SIDE - 1 } else { SIDE - 1 - cell };
    let octave = offset / CELLS;
    let size = (CELLS + offset % CELLS) as f32 + 0.5;
    let size = (size * (1u64 << octave) as f32 / CELLS as f32).max(1.0);
    if cell > SIDE { size } else { -size }
}

/// So many random distances of each cell up to `reach`, by `draw`, which draws a number below another; all there are where
/// a cell has no more.
pub(super) fn sample_distances(reach: i32, count: u32, draw: &mut dyn FnMut(u32) -> u32) -> Vec<i32> {
    let mut distances = vec![0];
    for octave in 0..reach.max(1).ilog2() + 1 {
        for part in 0..CELLS as u32 {
            let edge = |part: u32| (u64::from(CELLS as u32 + part) << octave).div_ceil(CELLS as u64);
            let (low, high) = (edge(part), edge(part + 1).min(reach as u64 + 1));
            let width = high.saturating_sub(low) as u32;
            for sign in [1, -1] {
                let mut add = |offset: u32| distances.push(sign * (low as i64 + i64::from(offset)) as i32);
                if width <= count { (0..width).for_each(&mut add) } else { (0..count).for_each(|_| add(draw(width))) }
            }
        }
    }
    distances
}

/// The curve as it was last drawn.
#[derive(Clone, Debug)]
pub(super) struct SmoothCurve {
    /// The lines, one to a cell.
    strokes: Vec<CellTime>,
    /// Nothing on it in a cell takes less, as it is hoped; infinite where it is not known.
    least: Vec<f32>,
}

/// The curve in one cell.
#[derive(Clone, Copy, Debug)]
struct CellTime {
    /// In its middle; where that is not known, what the nearest known one takes, and infinite where there is none.
    time: f32,
    middle: f32,
    /// How it rises before and after the middle.
    before: f32,
    after: f32,
    /// Samples it counts for against those of a distance.
    weight: f32,
    /// How much less a distance of which nothing is known may well take.
    hope: f32,
}

impl SmoothCurve {
    /// What distances like this one take; nothing before a few were seen.
    pub(super) fn time(&self, distance: i32) -> Option<f32> {
        let cell = cell(distance);
        self.least[cell].is_finite().then(|| self.strokes[cell].at(distance))
    }

    /// The same, as it is hoped.
    pub(super) fn hope_for(&self, distance: i32) -> Option<f32> {
        let hope = self.strokes[cell(distance)].hope;
        self.time(distance).map(|time| (time - hope).max(0.0))
    }

    /// What a point tells, where its mean counts for what it is worth.
    pub(super) fn worth(&self, point: Point) -> f32 {
        let stroke = &self.strokes[cell(point.distance)];
        if !stroke.time.is_finite() {
            return point.time();
        }
        let (curve, samples) = (stroke.at(point.distance), f32::from(point.samples()));
        curve + (point.time() - curve) * samples / (samples + stroke.weight)
    }

    /// The same, as it is hoped: the less the more samples there are.
    pub(super) fn hope(&self, point: Point) -> f32 {
        let stroke = &self.strokes[cell(point.distance)];
        if stroke.hope == 0.0 {
            return self.worth(point);
        }
        let doubt = (stroke.weight / (f32::from(point.samples()) + stroke.weight)).sqrt();
        (self.worth(point) - stroke.hope * doubt).max(0.0)
    }

    /// Nothing on it in `from..=to` takes less.
    pub(super) fn least(&self, from: i32, to: i32) -> f32 {
        least(&self.least[cell(from)..=cell(to)])
    }
}

impl CellTime {
    fn at(&self, distance: i32) -> f32 {
        let off = distance as f32 - self.middle;
        self.time + off * if off < 0.0 { self.before } else { self.after }
    }
}

impl Smooth {
    /// Of the deviation of single times the part by which distances differ, where they come again.
    fn differ(&self) -> f32 {
        let (mut samples, mut pairs, mut between, mut all) = (0.0, 0.0, 0.0, 0.0);
        for cell in &self.cells {
            samples += cell.samples;
            pairs += cell.pairs;
            between += cell.pairs * cell.between;
            all += cell.pairs * cell.variance;
        }
        let share = between / all.max(1.0) - 1.0 / f32::max(pairs, 1.0).sqrt();
        share.clamp(0.0, 1.0).sqrt() * pairs / f32::max(samples, 1.0)
    }

    /// Draws the curve; distances may be hoped to take less by so many standard deviations of what is not known of them.
    pub(super) fn curve(&self, hope: f32) -> SmoothCurve {
        let hope = hope * self.differ();
        let told = |at: usize| self.cells.get(at).filter(|cell| cell.samples >= FEWEST).map(|cell| cell.mean);
        let rise = |at: usize, to: Option<usize>| {
            let to = to?;
            Some((told(to)? - told(at)?) / (centre(to) - centre(at)))
        };
        let stroke = |at: usize| CellTime {
            time: told(at).unwrap_or(f32::INFINITY),
            middle: centre(at),
            before: rise(at, at.checked_sub(1)).unwrap_or(0.0),
            after: rise(at, Some(at + 1)).unwrap_or(0.0),
            weight: self.cells[at].weight(),
            hope: hope * self.cells[at].variance.sqrt(),
        };
        let mut strokes: Vec<CellTime> = (0..self.cells.len()).map(stroke).collect();
        // A mean of few samples is no surer where few others are known: it is drawn to what the next nearer takes.
        for at in (SIDE + 1..strokes.len()).chain((0..SIDE).rev()) {
            let nearer = if at > SIDE { at - 1 } else { at + 1 };
            if !strokes[at].time.is_finite() {
                let CellTime { time, weight, hope, .. } = strokes[nearer];
                (strokes[at].time, strokes[at].weight, strokes[at].hope) = (time, weight, hope);
            }
        }
        let times: Vec<f32> = strokes.iter().map(|stroke| stroke.time).collect();
        let low = |at: usize| {
            let near = least(&times[at.saturating_sub(1)..(at + 2).min(times.len())]);
            let known = told(at).is_some() || times[at].is_finite() && hope > 0.0;
            if known { (near - strokes[at].hope).max(0.0) } else { f32::INFINITY }
        };
        let least = (0..strokes.len()).map(low).collect();
        SmoothCurve { strokes, least }
    }

    /// The device is no longer what it was: what comes now weighs more.
    pub(super) fn forget(&mut self) {
        for cell in &mut self.cells {
            (cell.samples, cell.pairs) = (cell.samples.min(FEWEST), cell.pairs.min(FEWEST));
        }
    }

    /// A time was seen where the curve is at `curve`; `before` is the mean of this very distance until now.
    pub(super) fn see(&mut self, distance: i32, time: f32, curve: Option<f32>, before: Option<f32>) {
        let cell = &mut self.cells[cell(distance)];
        let curve = curve.unwrap_or(cell.mean);
        cell.samples = (cell.samples + 1.0).min(MOST);
        cell.mean += (time - cell.mean) / cell.samples;
        if cell.samples >= 2.0 {
            cell.variance += ((time - curve) * (time - curve) - cell.variance) / (cell.samples - 1.0);
        }
        if let Some(mean) = before {
            cell.pairs = (cell.pairs + 1.0).min(MOST);
            cell.between += ((time - curve) * (mean - curve) - cell.between) / cell.pairs;
        }
    }

    /// The mean of so many samples of one distance, and their variance, were seen at once.
    pub(super) fn see_all(&mut self, distance: i32, mean: f32, variance: f32, samples: usize) {
        if samples == 0 {
            return;
        }
        let cell = &mut self.cells[cell(distance)];
        // Each distance counts once, but is sure of more.
        let share = samples as f32 / (cell.samples + samples as f32);
        cell.samples += samples as f32;
        let off = mean - cell.mean;
        cell.mean += off * share;
        // As much is learned of what differs between distances as from this many pairs of single times.
        cell.pairs += (samples * samples) as f32 / 2.0;
        let between = off * (mean - cell.mean) - variance / samples as f32;
        cell.between += (between - cell.between) * share;
        cell.variance += (variance + between.max(0.0) - cell.variance) * share;
    }
}

/// The least of some times; infinite where there are none. None is negative: their bits are ordered as they are, and a
/// processor compares many at once.
pub(super) fn least(times: &[f32]) -> f32 {
    f32::from_bits(times.iter().map(|time| time.to_bits()).fold(f32::INFINITY.to_bits(), u32::min))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_in_order_of_distance() {
        let mut sizes: Vec<i32> = (0..31).flat_map(|bit| [1 << bit, (1 << bit) + (1 << bit >> 1)]).collect();
        sizes.push(i32::MAX);
        for pair in sizes.windows(2) {
            assert!(cell(pair[0]) <= cell(pair[1]), "{pair:?}");
            assert!(cell(-pair[1]) <= cell(-pair[0]), "{pair:?}");
        }
        for distance in sizes.iter().flat_map(|size| [*size, -*size, 0]).filter(|size| size.abs() > 1 << 12) {
            let middle = centre(cell(distance));
            assert!((middle - distance as f32).abs() <= 0.13 * (distance as f32).abs(), "{distance} {middle}");
        }
    }

    /// What one cell has learned: samples, mean, variance within a distance.
    fn learned(smooth: &Smooth, distance: i32) -> (f32, f32, f32) {
        let cell = smooth.cells[cell(distance)];
        (cell.samples, cell.mean, cell.variance)
    }

    #[test]
    fn a_cell_has_the_mean_of_what_it_saw_and_the_variance_about_its_curve_from_the_second_sample_on() {
        let mut smooth = Smooth::default();
        smooth.see(100, 4.0, None, None);
        assert_eq!(learned(&smooth, 100), (1.0, 4.0, 0.0), "one time tells nothing of how times vary");
        smooth.see(100, 8.0, Some(5.0), None);
        assert_eq!(learned(&smooth, 100), (2.0, 6.0, 9.0));
        smooth.see(100, 3.0, Some(5.0), Some(6.0));
        assert_eq!(learned(&smooth, 100), (3.0, 5.0, 6.5));
        assert_eq!(
            (smooth.cells[cell(100)].pairs, smooth.cells[cell(100)].between),
            (1.0, -2.0),
            "on two sides of the curve"
        );
        assert_eq!(learned(&smooth, -100), (0.0, 0.0, 0.0));
    }

    #[test]
    fn samples_seen_at_once_count_as_so_many_and_none_as_nothing() {
        let mut smooth = Smooth::default();
        smooth.see_all(100, 9.0, 4.0, 0);
        assert_eq!(learned(&smooth, 100), (0.0, 0.0, 0.0));
        smooth.see_all(100, 6.0, 4.0, 4);
        let (samples, mean, _) = learned(&smooth, 100);
        assert_eq!((samples, mean, smooth.cells[cell(100)].pairs), (4.0, 6.0, 8.0));
        smooth.see_all(100, 10.0, 4.0, 12);
        assert_eq!((learned(&smooth, 100).0, learned(&smooth, 100).1), (16.0, 9.0), "the mean of all sixteen");
    }

    #[test]
    fn what_is_forgotten_keeps_its_mean_and_weighs_little() {
        let mut smooth = Smooth::default();
        smooth.see_all(100, 6.0, 4.0, 400);
        smooth.forget();
        assert_eq!((learned(&smooth, 100).0, learned(&smooth, 100).1), (FEWEST, 6.0));
        smooth.see(100, 15.0, None, None);
        assert_eq!(learned(&smooth, 100).1, 7.0);
    }

    #[test]
    fn the_curve_is_known_where_enough_was_seen_and_a_distance_of_many_samples_counts_for_itself() {
        let mut smooth = Smooth::default();
        smooth.see_all(100, 6.0, 4.0, FEWEST as usize - 1);
        assert_eq!(smooth.curve(0.0).time(100), None, "one sample short");
        smooth.see_all(100, 6.0, 4.0, 1);
        smooth.see_all(200, 10.0, 4.0, FEWEST as usize);
        let curve = smooth.curve(0.0);
        assert_eq!((curve.time(200), curve.time(400), curve.hope_for(200)), (Some(10.0), None, Some(10.0)));
        assert_eq!(curve.least(100, 200), curve.least(100, 100).min(10.0), "the least of all that lies between");
        let few = curve.worth(Point::new(200, 20.0, 1));
        let many = curve.worth(Point::new(200, 20.0, 1000));
        assert!(10.0 < few && few < many && many <= 20.0, "{few} {many}");
        let unknown = Point::new(4000, 7.0, 1);
        assert_eq!(Smooth::default().curve(0.0).worth(unknown), 7.0, "nothing else is known");
    }
}
