//! Random draws of a workload: the generator is PCG XSL RR 128/64 (`Pcg64`), named because recorded results
//! depend on it.
//!
//! **Reproducible.** Times and addresses are integers; floating point uses + − × ÷ √ and `libm`; the generator is
//! named (`Pcg64`) and its draws are pinned; no `HashMap` is walked and no clock is read below the command line.

use rand_core::Rng;
use rand_pcg::Pcg64;

/// A stream of draws that depends on its seed and name alone.
#[derive(Clone, Debug)]
pub struct Draw(Pcg64);

impl Draw {
    /// The stream of workload `index` in the replication with this seed.
    #[must_use]
    pub fn new(seed: u64, index: u64) -> Draw {
        Draw(Pcg64::new(u128::from(seed) | 0x4861_6c66_7475_726e << 64, u128::from(index)))
    }

    /// A stream of its own, which its next draws decide.
    pub(crate) fn fork(&mut self) -> Draw {
        Draw(Pcg64::new(u128::from(self.0.next_u64()), u128::from(self.0.next_u64())))
    }

    /// A whole number below `limit`, which is not zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0
    }

    /// An exponentially distributed number with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_pinned() {
        let mut draw = Draw::new(1, 0);
        let got: Vec<u64> = (0..4).map(|_| draw.below(1 << 32)).collect();
        assert_eq!(got, GOLDEN, "a changed generator changes every recorded result");
    }

    const GOLDEN: [u64; 4] = [915105455, 3642053844, 1264352539, 3859889821];

    #[test]
    fn an_exponential_draw_has_mean_one() {
        let mut draw = Draw::new(7, 3);
        let mean = (0..100_000).map(|_| draw.exponential()).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
