//! How late the host is: by how much later than it might it hears of what the device has done, and does what was due.
//!
//! Whoever is late leaves the device without a command between two that follow one another, and begins seeks too late. So while it
//! is late commands are longer and seeks planned earlier, by as much as it mostly is, and who is urgent puts off no seek. How late it
//! was each input tells by itself: the time at which it came beside the one at which it happened, or was to. Where those are the same
//! nothing is known, and nothing changes.

use block::Span;

/// A sample counts for so much of what was learned.
const SHARE: i64 = 32;
/// Beside the mean counts one of so many parts of how far it mostly was from that: who is late now and then, but much, does more harm.
const PART: i64 = 4;
/// What is less than this does no harm: commands are long enough.
const HARMLESS: Span = Span(50_000);

/// How late the host has been of late: a mean, and how far it mostly was from that, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tardiness {
    mean: i64,
    spread: i64,
    /// By how much it is mostly late: asked more often than learned.
    usual: Span,
}

impl Tardiness {
    /// It was so late; not at all says that it is not known.
    #[inline]
    pub(crate) fn add(&mut self, late: Span) {
        if late > Span::ZERO {
            self.learn(late);
        }
    }

    #[inline(never)]
    fn learn(&mut self, late: Span) {
        let off = late.0.min(1 << 40) as i64 - self.mean;
        self.mean += off / SHARE;
        self.spread += (off.abs() - self.spread) / SHARE;
        let usual = Span((self.mean + self.spread / PART).max(0) as u64);
        self.usual = if usual > HARMLESS { usual } else { Span::ZERO };
    }

    /// By how much it is mostly late; nothing where that does no harm.
    #[inline]
    pub(crate) fn usual(self) -> Span {
        self.usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_never_late_or_not_known_to_be_changes_nothing() {
        let mut tardiness = Tardiness::default();
        (0..1000).for_each(|_| tardiness.add(Span::ZERO));
        assert_eq!(tardiness, Tardiness::default());
        (0..1000).for_each(|n| tardiness.add(Span(15_000 + n % 7 * 1000)));
        assert_eq!(tardiness.usual(), Span::ZERO, "{tardiness:?}");
    }

    #[test]
    fn what_is_late_now_and_then_counts_for_more_than_its_mean_and_is_forgotten() {
        let mut tardiness = Tardiness::default();
        (0..1000).for_each(|n| tardiness.add(Span(if n % 5 == 0 { 2_000_000 } else { 1_000 })));
        let usual = tardiness.usual();
        assert!((400_000..900_000).contains(&usual.0), "{usual:?}");
        (0..400).for_each(|_| tardiness.add(Span(1_000)));
        assert_eq!(tardiness.usual(), Span::ZERO, "{tardiness:?}");
    }
}
