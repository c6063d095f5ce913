//! What completing a request is worth, as time goes on (Preemptive RAID scheduling, Section 3.2, Eq. 1 and Figure 8).
//!
//! **Worth is one number at one time.** `sched::value` says what completing a request at an instant is worth; the
//! policy `yield`, who interrupts whom (`sched::outbid`) and the meter all ask it. `yield` searches class by class,
//! since what bounds a class is the most that one of its requests is worth: there the search is again that of
//! position. Preemption by value asks about each newcomer once, when it comes: what is not begun is chosen anew, what
//! is moving is weighed by Eq. 5 or by average yields.

use block::{BLOCK_BYTES, Qos, Time};

/// Points of a curve at most.
pub const POINTS: usize = 8;

/// What is left of a value when so much of the time to the deadline has passed: piecewise linear and never rising.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    /// Shares of the time to the deadline, ascending, and what is left from there on: before the first of them all.
    points: [(f64, f64); POINTS],
    count: usize,
}

impl Curve {
    /// Best effort: the same whenever it comes (Figure 8 d).
    pub const BEST_EFFORT: Curve = Curve { points: [(0.0, 1.0); POINTS], count: 0 };

    /// Hard real time: all until the deadline, nothing after it (Figure 8 b).
    pub const HARD: Curve = Curve::of([(1.0, 1.0), (1.0, 0.0)]);

    /// Interactive real time: all until `flat` of the time to the deadline, then less, nothing from the deadline on
    /// (Figure 8 a).
    #[must_use]
    pub const fn interactive_real_time(flat: f64) -> Curve {
        Curve::of([(flat, 1.0), (1.0, 0.0)])
    }

    /// Interactive best effort: less from the beginning on, at the deadline `least`, which it stays (Figure 8 c).
    #[must_use]
    pub const fn interactive_best_effort(least: f64) -> Curve {
        Curve::of([(0.0, 1.0), (1.0, least)])
    }

    const fn of(two: [(f64, f64); 2]) -> Curve {
        let mut points = [(0.0, 1.0); POINTS];
        (points[0], points[1]) = (two[0], two[1]);
        Curve { points, count: 2 }
    }

    /// The curve through these points: shares of the time to the deadline, ascending, and what is left there, from 1 down
    /// to 0. Before the first as much is left as there, after the last too; two of the same share are a step.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn through(given: &[(f64, f64)]) -> Result<Curve, String> {
        if given.is_empty() || given.len() > POINTS {
            return Err(format!("a curve has from 1 to {POINTS} points, not {}", given.len()));
        }
        let mut points = [(0.0, 1.0); POINTS];
        for (i, (share, left)) in given.iter().enumerate() {
            if !(*share >= 0.0 && share.is_finite() && (0.0..=1.0).contains(left)) {
                return Err(format!("at point {}: a share is not below 0, what is left from 0 to 1", i + 1));
            }
            if i > 0 && *share < given[i - 1].0 {
                return Err(format!("at point {}: the shares do not ascend", i + 1));
            }
            if i > 0 && *left > given[i - 1].1 {
                return Err(format!("at point {}: a yield curve that rises", i + 1));
            }
            points[i] = (*share, *left);
        }
        Ok(Curve { points, count: given.len() })
    }

    fn points(&self) -> &[(f64, f64)] {
        &self.points[..self.count]
    }

    /// What is left at a share of the time to the deadline.
    #[must_use]
    #[inline]
    pub fn at(&self, share: f64) -> f64 {
        let points = self.points();
        let Some(after) = points.iter().position(|(at, _)| share <= *at) else {
            return points.last().map_or(1.0, |(_, left)| *left);
        };
        let (to, below) = points[after];
        let Some((from, above)) = after.checked_sub(1).map(|before| points[before]) else { return below };
        // Rounding must not carry it below what it falls to: then it would rise there.
        if to > from { (above + (below - above) * (share - from) / (to - from)).max(below) } else { below }
    }

    /// What is left when no time has passed.
    #[inline]
    fn fresh(&self) -> f64 {
        // No share is below 0, so that the first point is the one that counts.
        self.points[0].1
    }

    /// The share from which on nothing is left, if there is one: a request still waiting then is dropped.
    #[must_use]
    pub fn end(&self) -> Option<f64> {
        let points = self.points();
        let last = points.iter().position(|(_, left)| *left <= 0.0)?;
        Some(points[last].0)
    }

    /// Whether it falls at all, so that it needs a deadline.
    #[must_use]
    pub fn falls(&self) -> bool {
        self.points().last().is_some_and(|(_, left)| *left < 1.0)
    }
}

/// What requests of a class are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// How that changes with time.
    pub curve: Curve,
    /// Of a MiB, or of a request where `whole`: p/P_def of Eq. 1.
    pub value: f64,
    /// Whether every request is worth the same, however long.
    pub whole: bool,
}

impl Worth {
    /// Where nothing is said: a MiB is worth 1 until the deadline, if there is one, and nothing after it.
    pub const USUAL: Worth = Worth { curve: Curve::HARD, value: 1.0, whole: false };

    /// What a request of so many blocks is worth when it has just come.
    #[must_use]
    #[inline]
    pub fn fresh(&self, blocks: u32) -> f64 {
        let size = if self.whole { 1.0 } else { f64::from(blocks) * BLOCK_BYTES as f64 / 1_048_576.0 };
        size * self.value
    }

    /// What completing a request of so many blocks is worth at `end` (Eq. 1).
    #[must_use]
    #[inline]
    pub fn at(&self, blocks: u32, qos: &Qos, arrived: Time, end: Time) -> f64 {
        self.fresh(blocks) * self.worth_at(qos, arrived, end)
    }

    /// What is left of its worth at `end`.
    #[must_use]
    #[inline]
    pub fn worth_at(&self, qos: &Qos, arrived: Time, end: Time) -> f64 {
        let Some(deadline) = qos.deadline else { return self.curve.fresh() };
        let (given, taken) = (deadline.since(arrived).0, end.since(arrived).0);
        // Not by a division that rounding could carry past the deadline.
        let share = if taken == given { 1.0 } else { taken as f64 / given.max(1) as f64 };
        self.curve.at(share)
    }

    /// When a request is worth nothing any more, if ever: then it is dropped.
    #[must_use]
    #[inline]
    pub fn end(&self, qos: &Qos, arrived: Time) -> Option<Time> {
        let (deadline, share) = (qos.deadline?, self.curve.end()?);
        let given = deadline.since(arrived).0;
        Some(if share == 1.0 { deadline } else { Time(arrived.0 + (given as f64 * share) as u64) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qos(deadline: u64) -> Qos {
        Qos { deadline: Some(Time(deadline)), ..Qos::default() }
    }

    #[test]
    fn the_four_curves_are_those_of_figure_8() {
        let at = |curve: Curve| [0.0, 0.5, 0.8, 0.9, 1.0, 1.1].map(|share| curve.at(share));
        let near = |a: [f64; 6], b: [f64; 6]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(at(Curve::interactive_real_time(0.8)), [1.0, 1.0, 1.0, 0.5, 0.0, 0.0]));
        assert!(near(at(Curve::HARD), [1.0, 1.0, 1.0, 1.0, 1.0, 0.0]));
        assert!(near(at(Curve::interactive_best_effort(0.1)), [1.0, 0.55, 0.28, 0.19, 0.1, 0.1]));
        assert!(near(at(Curve::BEST_EFFORT), [1.0; 6]));
    }

    #[test]
    fn only_what_ends_at_nothing_is_dropped() {
        let worth = |curve| Worth { curve, ..Worth::USUAL };
        assert_eq!(worth(Curve::HARD).end(&qos(300), Time(100)), Some(Time(300)));
        assert_eq!(worth(Curve::interactive_real_time(0.8)).end(&qos(300), Time(100)), Some(Time(300)));
        assert_eq!(worth(Curve::interactive_best_effort(0.1)).end(&qos(300), Time(100)), None);
        assert_eq!(worth(Curve::BEST_EFFORT).end(&qos(300), Time(100)), None);
        let early = Curve::through(&[(0.25, 1.0), (0.5, 0.0)]).expect("it falls");
        assert_eq!(worth(early).end(&qos(300), Time(100)), Some(Time(200)));
        assert_eq!(worth(Curve::HARD).end(&Qos::default(), Time(100)), None);
    }

    #[test]
    fn a_request_is_worth_its_size_or_itself() {
        let per_mib = Worth { curve: Curve::HARD, value: 5.0, whole: false };
        assert_eq!(per_mib.at(4096, &qos(300), Time(100), Time(300)), 10.0);
        assert_eq!(per_mib.at(4096, &qos(300), Time(100), Time(301)), 0.0);
        assert_eq!(Worth { whole: true, ..per_mib }.at(4096, &qos(300), Time(100), Time(200)), 5.0);
    }

    #[test]
    fn a_curve_that_rises_or_goes_back_is_none() {
        for (points, what) in [
            (vec![], "points"),
            (vec![(0.0, 0.5), (1.0, 0.6)], "rises"),
            (vec![(0.5, 1.0), (0.4, 0.0)], "ascend"),
            (vec![(0.0, 1.5)], "from 0 to 1"),
            (vec![(f64::NAN, 1.0)], "not below 0"),
        ] {
            let error = Curve::through(&points).expect_err("it is none");
            assert!(error.contains(what), "{error}");
        }
    }
}
