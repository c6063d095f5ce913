//! Times that processes compute for, drawn anew each time.

use crate::draw::Draw;
use block::Span;

/// The most processes of a workload.
pub(super) const MOST: u32 = 4096;

/// Times drawn anew each time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// The mean of the distribution.
    pub mean: Span,
    /// How far they lie around it, as a share of it, evenly; without it they are exponentially distributed.
    pub spread: Option<f64>,
}

impl Times {
    /// Draws the next duration, independent of those before.
    pub fn draw(&self, draw: &mut Draw) -> Span {
        let times = match self.spread {
            Some(0.0) => return self.mean,
            Some(spread) => 1.0 + spread * (2.0 * draw.unit() - 1.0),
            None => draw.exponential(),
        };
        Span((self.mean.0 as f64 * times + 0.5) as u64)
    }
}
