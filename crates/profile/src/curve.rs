//! A seek curve between the distances that were measured.

use crate::estimate::round_ns;

/// Points put between two that were measured, at most.
const BETWEEN: u64 = 7;
/// So many times as steep as a piece on the whole, a cubic does not leave it (Fritsch and Carlson, SIAM J. Numer. Anal. 17, 1980).
const STEEPEST: f64 = 3.0;

/// A curve through these points, cylinders and ms, ascending, with more of them between: from point to point a cubic that stays
/// between the two (Fritsch and Butland, SIAM J. Sci. Stat. Comput. 5, 1984). A seek takes as long as the root of its way while the
/// arm speeds up, so that straight lines would lie under it.
pub fn smooth(points: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let step = |i: usize| f64::from(points[i + 1].0 - points[i].0);
    let secant = |i: usize| (points[i + 1].1 - points[i].1) / step(i);
    let last = points.len().saturating_sub(1);
    let slope = |i: usize| match i {
        _ if last < 2 => secant(0),
        0 => at_end((step(0), secant(0)), (step(1), secant(1))),
        // Long seeks grow evenly.
        i if i == last => secant(i - 1),
        i => between((step(i - 1), secant(i - 1)), (step(i), secant(i))),
    };
    let mut all = Vec::with_capacity(points.len() * (BETWEEN as usize + 1));
    for i in 0..last {
        all.push(points[i]);
        let (before, after) = (slope(i), slope(i + 1));
        for part in 1..=BETWEEN {
            let distance = points[i].0 + (u64::from(points[i + 1].0 - points[i].0) * part / (BETWEEN + 1)) as u32;
            if all.last().is_some_and(|point| point.0 < distance) && distance < points[i + 1].0 {
                let x = f64::from(distance - points[i].0) / step(i);
                let (left, right) = (1.0 - x, x);
                let ms = points[i].1 * left * left * (1.0 + 2.0 * right)
                    + points[i + 1].1 * right * right * (1.0 + 2.0 * left)
                    + step(i) * x * left * (before * left - after * right);
                all.push((distance, round_ns(ms)));
            }
        }
    }
    all.extend(points.last());
    all
}

/// The slope at a point between two pieces, each a length and a slope: none where they turn.
fn between((a, before): (f64, f64), (b, after): (f64, f64)) -> f64 {
    if before * after <= 0.0 {
        return 0.0;
    }
    let (near, far) = (2.0 * b + a, b + 2.0 * a);
    (near + far) / (near / before + far / after)
}

/// The slope at an end, by the piece there and the next.
fn at_end((a, here): (f64, f64), (b, next): (f64, f64)) -> f64 {
    let slope = ((2.0 * a + b) * here - a * next) / (a + b);
    if slope * here <= 0.0 {
        0.0
    } else if here * next <= 0.0 {
        slope.abs().min(STEEPEST * here.abs()).copysign(here)
    } else {
        slope
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::ProbeDraw;
    use disk::SeekCurve;

    /// A root and then a line, as seeks go; as smooth where they meet as an arm is, or not at all.
    fn law(draw: &mut ProbeDraw, is_smooth: bool) -> (u32, SeekCurve) {
        let cylinders = 1_000 + draw.below(150_000) as u32;
        let mut part = |least: f64, most: f64| least + (most - least) * draw.below(1 << 20) as f64 / f64::from(1 << 20);
        let (a, full) = (part(0.2, 1.5), part(4.0, 22.0));
        let knee = (f64::from(cylinders) * part(0.1, 0.4)) as u32;
        let (root, rest) = (libm::sqrt(f64::from(knee)), f64::from(cylinders - knee));
        let b = if is_smooth { (full - a) / (root + rest / (2.0 * root)) } else { (full - a) * part(0.35, 0.6) / root };
        let there = a + b * root;
        let e = (full - there) / rest;
        (cylinders, SeekCurve::TwoPiece { first: vec![], a, b, knee, c: there - e * f64::from(knee), e })
    }

    /// Of curves measured at one distance a doubling.
    #[test]
    fn what_lies_between_is_off_by_less_than_straight_lines_are() {
        let mut draw = ProbeDraw::new(1);
        for (is_smooth, share) in [(true, 0.3), (false, 0.6)] {
            let (mut lines, mut curves) = (0.0, 0.0);
            for _ in 0..100 {
                let (cylinders, law) = law(&mut draw, is_smooth);
                let doubled = (0..).map(|i| 8u32 << i).take_while(|distance| *distance < cylinders);
                let measured: Vec<(u32, f64)> =
                    doubled.chain([cylinders]).map(|distance| (distance, law.ms(distance))).collect();
                let curve = SeekCurve::Table(smooth(&measured));
                let line = SeekCurve::Table(measured);
                // Near and far alike.
                let off = |of: &SeekCurve| {
                    let apart = |i: u32| {
                        let distance = (8.0 * libm::pow(f64::from(cylinders) / 8.0, f64::from(i) / 100.0)) as u32;
                        (of.ms(distance) - law.ms(distance)).abs()
                    };
                    (0..100).map(apart).sum::<f64>()
                };
                (lines, curves) = (lines + off(&line), curves + off(&curve));
            }
            assert!(curves < share * lines, "{curves} {lines}");
        }
    }

    #[test]
    fn what_was_measured_stays_and_nothing_overshoots() {
        let mut draw = ProbeDraw::new(2);
        for many in [0, 1, 2, 3, 9, 30].repeat(50) {
            let mut distances: Vec<u32> = (0..many).map(|_| 1 + draw.below(5_000) as u32).collect();
            distances.sort_unstable();
            distances.dedup();
            let points: Vec<(u32, f64)> = distances.iter().map(|d| (*d, draw.below(1 << 20) as f64 / 1e5)).collect();
            let all = smooth(&points);
            assert!(all.is_sorted_by(|a, b| a.0 < b.0) && points.iter().all(|point| all.contains(point)), "{all:?}");
            for ends in points.windows(2) {
                let (low, high) = (ends[0].1.min(ends[1].1), ends[0].1.max(ends[1].1));
                let inside = all.iter().filter(|point| (ends[0].0..=ends[1].0).contains(&point.0));
                assert!(inside.into_iter().all(|point| (low - 1e-6..=high + 1e-6).contains(&point.1)), "{all:?}");
            }
        }
    }
}
