//! How long a turn for a floor that is owed lasts.
//!
//! **Rarely or briefly.** Whoever waits when such a turn begins waits for all of it. If those are no more than one in a hundred of the
//! requests that end between two turns, hardly anybody is the wiser, and the longer turns are the fewer there are: so a turn
//! is as long as that takes, where that is hardly longer than a slice. Where more wait at once, each turn is felt, and turns are short:
//! a third of a slice, as they begin where the way there is short ([`super::entry`]).

use super::{Class, Turn, Turns};
use block::Span;

/// A slice for a floor that is owed is this part of another, as it begins where the way there is short; where floors leave so little of
/// the arm, or less, it is as long, since the ways are made in what they leave.
const OWED: f64 = 3.0;
const SCARCE: f64 = 0.05;
/// With so much more left it is as short as that.
const AMPLE: f64 = 0.1;
/// It is no shorter than this, where others are not: the way is to be worth it.
const SHORTEST: Span = Span(80_000_000);

/// One in so many may wait for a turn: a little less than the hundredth that a 99th percentile leaves out.
const RARE: f64 = 101.0;
/// For that it may be longer than a slice by this part.
const MORE: u64 = 16;
/// Of a turn just over, so much is of what is known of those before.
const KEPT: f64 = 0.875;

/// How many wait for turns for floors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waiters {
    /// The class of the last turn, how long that was without the way there, and requests of others that have ended since.
    class: u8,
    last: Span,
    ended: u32,
    /// On the average: how many ended, for each nanosecond of such a turn; how long the way was, ns; and how many waited when a
    /// turn was over.
    per: f64,
    way: f64,
    waited: f64,
}

/// What is known, and what was seen just now.
fn blend(known: f64, seen: f64) -> f64 {
    if known > 0.0 { known * KEPT + seen * (1.0 - KEPT) } else { seen }
}

impl Waiters {
    /// A request of a class has ended.
    pub(super) fn note_end(&mut self, class: u8) {
        self.ended += u32::from(class != self.class);
    }

    /// A turn is over, for which so many waited.
    fn end_turn(&mut self, over: Turn, waited: u32) {
        if self.last > Span::ZERO {
            self.per = blend(self.per, f64::from(self.ended) / self.last.0 as f64);
        }
        self.way = blend(self.way, over.way.0 as f64);
        self.waited = blend(self.waited, f64::from(waited));
        (self.class, self.last, self.ended) = (over.class, over.used.less(over.way), 0);
    }

    /// How long a turn is for which hardly anybody waits.
    fn rare(&self) -> Option<Span> {
        (self.per > 0.0).then(|| Span((self.way + self.waited * RARE / self.per) as u64))
    }
}

impl Turns {
    /// How long a turn for a floor lasts.
    pub(super) fn owed_slice(&self, class: u8) -> Span {
        let ample = ((1.0 - self.blank.sum_floors() - SCARCE) / AMPLE).clamp(0.0, 1.0);
        let slice = self.rules.slice(class);
        let brief = Span((slice.0 as f64 / (1.0 + (OWED - 1.0) * ample)) as u64).max(SHORTEST.min(slice));
        let longest = Span(slice.0 + slice.0 / MORE);
        self.waiters.rare().filter(|rare| *rare <= longest).map_or(brief, |rare| rare.max(brief))
    }

    /// A turn is over: who waited for it, if it was for a floor.
    pub(super) fn note_turn(&mut self, over: Turn) {
        if over.owed {
            let others = (0..).zip(&self.classes).filter(|(class, _)| *class != over.class);
            let waited = others.map(|(_, it): (u8, &Class)| it.waiting + it.inside).sum();
            self.waiters.end_turn(over, waited);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns of 100 ms for which so many waited, between which so many others ended.
    fn length_after(ended: u32, waited: u32) -> Option<Span> {
        let mut waiters = Waiters::default();
        for _ in 0..50 {
            (0..ended).for_each(|_| waiters.note_end(0));
            (0..7).for_each(|_| waiters.note_end(1));
            let over =
                Turn { rank: 0, class: 1, owed: true, first: false, used: Span(110_000_000), way: Span(10_000_000) };
            waiters.end_turn(over, waited);
        }
        waiters.rare()
    }

    #[test]
    fn a_turn_is_as_long_as_hardly_anybody_waits_for_it() {
        for (ended, waited) in [(50, 1), (200, 1), (50, 4)] {
            let length = length_after(ended, waited).expect("it is known").less(Span(10_000_000)).0 as f64 / 100e6;
            // So many ended for each turn as long as that, the way there apart.
            let share = f64::from(waited) / (f64::from(ended) * length);
            assert!((0.0095..0.01).contains(&share), "{ended}, {waited}: {share}");
        }
        assert!(Waiters::default().rare().is_none());
    }
}
