//! Seek time by distance in cylinders.

use block::Span;

/// A seek curve, as sheets and profiles give it. Times in ms, distances in cylinders.
#[derive(Clone, Debug, PartialEq)]
pub enum SeekCurve {
    /// The two-piece form of Ruemmler and Wilkes: `a + b·√d` up to the knee, `c + e·d` beyond.
    TwoPiece {
        /// Constant of the short seeks.
        a: f64,
        /// Coefficient of √d, ms.
        b: f64,
        /// The longest distance the first piece holds for.
        knee: u32,
        /// Constant of the long seeks.
        c: f64,
        /// Coefficient of d, ms.
        e: f64,
        /// The seeks over 1, 2 … cylinders, where they do not follow the form.
        first: Vec<f64>,
    },
    /// The form of Lee: `a·√(d − 1) + b·(d − 1) + c`.
    Lee {
        /// Coefficient of √(d − 1).
        a: f64,
        /// Coefficient of d − 1.
        b: f64,
        /// The seek over one cylinder.
        c: f64,
    },
    /// Measured points (distance, ms) in ascending distance: linear between them, from the origin to the
    /// first, and along the last two beyond the end. Points need not be monotone and are used as they are.
    Table(Vec<(u32, f64)>),
}

impl SeekCurve {
    /// The seek time in ms over `distance` cylinders; no distance, no time.
    #[must_use]
    pub fn ms(&self, distance: u32) -> f64 {
        if distance == 0 {
            return 0.0;
        }
        let d = f64::from(distance);
        match self {
            SeekCurve::TwoPiece { first, .. } if distance as usize <= first.len() => first[distance as usize - 1],
            SeekCurve::Lee { a, b, c } => a * (d - 1.0).sqrt() + b * (d - 1.0) + c,
            SeekCurve::TwoPiece { a, b, knee, .. } if distance <= *knee => a + b * d.sqrt(),
            SeekCurve::TwoPiece { c, e, .. } => c + e * d,
            SeekCurve::Table(points) => {
                let i = points.partition_point(|point| point.0 < distance);
                let (before, after) = match (i.checked_sub(1), points.get(i)) {
                    (_, Some(point)) if point.0 == distance => return point.1,
                    (None, Some(point)) => ((0, 0.0), *point),
                    (Some(before), Some(point)) => (points[before], *point),
                    (Some(last), None) if last > 0 => (points[last - 1], points[last]),
                    (Some(last), None) => ((0, 0.0), points[last]),
                    (None, None) => return 0.0,
                };
                let slope = (after.1 - before.1) / (f64::from(after.0) - f64::from(before.0));
                before.1 + slope * (d - f64::from(before.0))
            }
        }
    }
}

/// A seek curve worked out for every distance of a drive, in ns. Shared between drives of a kind.
#[derive(Clone, Debug)]
pub struct SeekTable {
    ns: Box<[u32]>,
}

impl SeekTable {
    /// The table for a drive of `cylinders` cylinders.
    #[must_use]
    pub fn new(curve: &SeekCurve, cylinders: u32) -> SeekTable {
        let ns = (0..cylinders.max(1)).map(|d| (curve.ms(d).max(0.0) * 1e6 + 0.5) as u32).collect();
        SeekTable { ns }
    }

    /// The time of a seek over `distance` cylinders; past the end of the table, of the full stroke.
    #[must_use]
    #[inline]
    pub fn time(&self, distance: u32) -> Span {
        Span(u64::from(self.ns.get(distance as usize).or(self.ns.last()).copied().unwrap_or(0)))
    }

    /// Seek times in ns by distance in cylinders.
    #[must_use]
    pub fn ns(&self) -> &[u32] {
        &self.ns
    }

    /// Mean over all pairs of cylinders, in ms: each distance d weighs 2(C − d).
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        let cylinders = self.ns.len() as f64;
        let weighted = |d: usize| (cylinders - d as f64) * f64::from(self.ns[d]);
        // From none on, which takes no time: a sum of nothing would be -0.
        let sum: f64 = (0..self.ns.len()).map(weighted).sum();
        2.0 * sum / (cylinders * cylinders) / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pieces_meet_and_the_single_cylinder_may_differ() {
        let curve = SeekCurve::TwoPiece { a: 0.875, b: 0.079057, knee: 6250, c: 4.0, e: 5.0e-4, first: vec![] };
        assert_eq!(curve.ms(0), 0.0);
        assert!((curve.ms(1) - 0.954).abs() < 1e-3);
        assert!((curve.ms(6250) - curve.ms(6251)).abs() < 1e-3);
        assert!((curve.ms(10_000) - 9.0).abs() < 1e-9);
        // DISKS.md §1: uniform-pair mean 8.83 ms.
        assert!((SeekTable::new(&curve, 30_196).mean_ms() - 8.83).abs() < 0.01);
        assert_eq!(format!("{:.2}", SeekTable::new(&curve, 1).mean_ms()), "0.00", "one cylinder");
    }

    #[test]
    fn a_table_interpolates_from_the_origin_and_extrapolates_its_end() {
        let curve = SeekCurve::Table(vec![(2, 1.0), (4, 2.0), (8, 1.5)]);
        let got: Vec<f64> = [0, 1, 2, 3, 4, 6, 8, 16].iter().map(|d| curve.ms(*d)).collect();
        assert_eq!(got, [0.0, 0.5, 1.0, 1.5, 2.0, 1.75, 1.5, 0.5]);
    }
}
