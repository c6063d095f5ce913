//! What someone waits who comes at a random time.

/// The expected wait for whatever cannot be interrupted: ½ΣT² over the sum of those times and of the slack, in which
/// nobody waits (Virtual IO, Eq. 1 for a single T without slack, Eq. 2 for several). Any unit of time; 0 of nothing.
#[must_use]
pub fn expected_wait(times: impl IntoIterator<Item = f64>, slack: f64) -> f64 {
    let (sum, squares) = times.into_iter().fold((0.0, 0.0), |(sum, squares), t| (sum + t, squares + t * t));
    half_square(squares, sum + slack)
}

/// ½ of the sum of the squares of times over the time in which one may come; 0 of none.
pub(crate) fn half_square(squares: f64, all: f64) -> f64 {
    if all > 0.0 { squares / all / 2.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_time_is_met_more_often_than_a_short_one() {
        assert_eq!(expected_wait([122.0], 0.0), 61.0);
        assert_eq!(expected_wait([1.0, 3.0], 0.0), 10.0 / 4.0 / 2.0);
        assert_eq!(expected_wait([1.0], 4.0), 0.1);
        assert_eq!(expected_wait([], 0.0), 0.0);
    }
}
