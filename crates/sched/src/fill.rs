//! How full a buffer was over time.

use block::Span;

/// Classes of fill are an eighth of a power of two of blocks each.
const PER_OCTAVE: u32 = 8;
const CLASSES: usize = 256;

/// How full the write buffer of an array was.
#[derive(Clone, Debug)]
pub struct Fill {
    /// The most blocks it may hold.
    pub most: u64,
    /// Writes that had to wait for room.
    pub blocked: u64,
    /// Writes that were buffered and that no disk took: data is lost.
    pub lost: u64,
    /// For how long some did.
    pub full: Span,
    /// For how long each class of fill was there.
    classes: Box<[u64]>,
}

impl Default for Fill {
    fn default() -> Fill {
        Fill { most: 0, blocked: 0, lost: 0, full: Span::ZERO, classes: vec![0; CLASSES].into() }
    }
}

impl Fill {
    fn class(blocks: u64) -> usize {
        let octave = (blocks + 1).ilog2();
        let part = (((blocks + 1) << PER_OCTAVE.ilog2()) >> octave) & u64::from(PER_OCTAVE - 1);
        (octave * PER_OCTAVE) as usize + part as usize
    }

    pub(crate) fn add_span(&mut self, blocks: u64, span: Span) {
        self.classes[Fill::class(blocks).min(CLASSES - 1)] += span.0;
    }

    /// What was in it for that share of the time at most, in blocks, to an eighth.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        let mut left = share * self.classes.iter().sum::<u64>() as f64;
        for (class, time) in (0u32..).zip(&self.classes) {
            left -= *time as f64;
            if left <= 0.0 {
                let (octave, part) = (class / PER_OCTAVE, class % PER_OCTAVE);
                return (((u64::from(PER_OCTAVE + part + 1)) << octave) / u64::from(PER_OCTAVE)).saturating_sub(2);
            }
        }
        self.most
    }

    /// Adds that of another replication.
    pub fn merge(&mut self, other: &Fill) {
        self.most = self.most.max(other.most);
        self.blocked += other.blocked;
        self.lost += other.lost;
        self.full += other.full;
        self.classes.iter_mut().zip(&other.classes).for_each(|(time, more)| *time += more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_is_told_by_share_of_the_time() {
        let mut fill = Fill::default();
        fill.add_span(0, Span(90));
        fill.add_span(1000, Span(9));
        fill.add_span(100_000, Span(1));
        assert_eq!(fill.quantile(0.5), 0);
        assert!((1000..1150).contains(&fill.quantile(0.95)), "{}", fill.quantile(0.95));
        assert!((100_000..115_000).contains(&fill.quantile(0.999)), "{}", fill.quantile(0.999));
    }
}
