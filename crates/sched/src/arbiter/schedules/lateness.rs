//! How much longer than foretold transfers take.

/// From about so many transfers it is learned how long they take.
const REMEMBERED: f64 = 64.0;

/// How much longer than foretold transfers take, as sums over the last of them, ns: what the predictor does not know of a
/// device, such as its write buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LatenessSpread {
    foretold: f64,
    took: f64,
    foretold_square: f64,
    off_square: f64,
}

impl LatenessSpread {
    pub(super) fn learn(&mut self, foretold: f64, took: f64) {
        let off = took - self.times() * foretold;
        let learn = |sum: &mut f64, more: f64| *sum += more - *sum / REMEMBERED;
        learn(&mut self.foretold, foretold);
        learn(&mut self.took, took);
        learn(&mut self.foretold_square, foretold * foretold);
        learn(&mut self.off_square, off * off);
    }

    /// How many times as long they take.
    pub(super) fn times(&self) -> f64 {
        if self.foretold > 0.0 { self.took / self.foretold } else { 1.0 }
    }

    /// The variance of that.
    pub(super) fn variance(&self) -> f64 {
        if self.foretold_square > 0.0 { self.off_square / self.foretold_square } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_transfers_take_is_learned_with_its_spread() {
        let mut late = LatenessSpread::default();
        assert_eq!((late.times(), late.variance()), (1.0, 0.0), "nothing is known");
        // Half of them take as long as foretold, half twice as long.
        for i in 0..1000 {
            late.learn(10.0, if i % 2 == 0 { 10.0 } else { 20.0 });
        }
        assert!((late.times() - 1.5).abs() < 0.01, "{}", late.times());
        assert!((late.variance() - 0.25).abs() < 0.01, "{}", late.variance());
    }
}
