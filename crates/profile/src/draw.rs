//! Random draws of the profiler, from a named generator and a given seed.

use rand_core::Rng;
use rand_pcg::Pcg64;

/// Draws of a unit are multiples of this: as fine as a double has them just below 1 (2⁻⁵³).
const FINE: f64 = 1.0 / (1u64 << 53) as f64;

/// A stream of draws.
#[derive(Clone, Debug)]
pub struct ProbeDraw(Pcg64);

impl ProbeDraw {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> ProbeDraw {
        ProbeDraw(Pcg64::new(u128::from(seed), 0x7072_6f66_696c_6572))
    }

    /// A whole number below `limit`, which is not zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// A number in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * FINE
    }
}
