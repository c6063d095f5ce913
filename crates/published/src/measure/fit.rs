//! A straight line through points.

/// y = intercept + gradient·x, and how well it fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinearFit {
    pub intercept: f64,
    pub gradient: f64,
    /// R²: 1 if all points lie on it.
    pub straight: f64,
}

/// The line with the least sum of squares of what it misses y by; none through less than two places.
pub(super) fn line(points: &[(f64, f64)]) -> Option<LinearFit> {
    let count = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|point| point.0), mean(&|point| point.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|point| of(point.0 - x, point.1 - y)).sum::<f64>();
    let (xx, xy, yy) = (sum(&|x, _| x * x), sum(&|x, y| x * y), sum(&|_, y| y * y));
    if points.len() < 2 || xx == 0.0 {
        return None;
    }
    let gradient = xy / xx;
    let straight = if yy == 0.0 { 1.0 } else { xy * xy / (xx * yy) };
    Some(LinearFit { intercept: y - gradient * x, gradient, straight })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_a_parabola_is_not_straight() {
        let of = |f: fn(f64) -> f64| line(&[0.0, 1.0, 2.0, 5.0].map(|x| (x, f(x)))).expect("a line");
        let straight = of(|x| 3.0 - 0.5 * x);
        assert!((straight.intercept - 3.0).abs() < 1e-12 && (straight.gradient + 0.5).abs() < 1e-12);
        assert!((straight.straight - 1.0).abs() < 1e-12 && of(|x| x * x).straight < 0.95);
        assert_eq!(line(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }
}
