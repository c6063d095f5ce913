//! How thoroughly a drive is learned, and what time that gives.

use crate::bench::LONGEST;
use block::Span;

/// What a quick profile's reaches of the arm may be off by, ms.
const KNOWN: f64 = 0.05;

/// What a short profile leaves for writes, where they are tried.
pub(crate) const FOR_WRITES: Span = Span(80_000_000_000);

/// By then a short profile is to be over, and what follows heads takes so many turns: moves of the arm, the cache, fresh requests.
const ALL: Span = Span(296_000_000_000);
const AFTER_HEADS: u64 = 8_000;

/// Parts of a short profile that end when their time is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimedPart {
    /// How many heads there are.
    Heads,
    /// What moves of the arm take.
    Seeks,
    /// Cylinders without data between regions.
    Borders,
    /// What throughput each size of chunk has.
    Chunks,
    /// What writing to the medium takes.
    Writes,
    /// What throughput each size of chunk of writes has.
    WriteChunks,
    /// Fresh requests, and those that a scheduler would pick.
    Validation,
}

/// How thoroughly a drive is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thoroughness {
    /// All that a profile holds.
    #[default]
    Thorough,
    /// The same in less time, but for what is [given up](Thoroughness::gives_up).
    Quick,
}

impl Thoroughness {
    /// The device time a map may take after so much was spent, so much of all being left for writes.
    pub(crate) fn map_time(self, spent: Span, left: Span) -> Span {
        let seconds = |seconds: u64| Span(seconds * 1_000_000_000);
        match self {
            Thoroughness::Thorough => seconds(6000),
            // Less where a large memory took long to find: all is to stay within five minutes.
            Thoroughness::Quick => seconds(215).less(spent + left).clamp(seconds(60), seconds(180)),
        }
    }

    /// The device time after which it is given up if there is no map by then: where nothing stays where it is, a look at a single track
    /// may take longer than the map is to.
    pub(crate) fn longest_until_mapped(self) -> Span {
        match self {
            Thoroughness::Thorough => LONGEST,
            Thoroughness::Quick => Span(480 * 1_000_000_000),
        }
    }

    /// The device time at which a part ends that begins after so much was spent, whatever it has found by then; sooner by what is left
    /// for writes after it. A `turn` takes so long.
    pub(crate) fn end_of(self, part: TimedPart, spent: Span, left: Span, turn: Span) -> Span {
        let seconds = |seconds: u64| Span(seconds * 1_000_000_000);
        // When it ends, and how long it may take at the least.
        let (end, least) = match (self, part) {
            (Thoroughness::Thorough, _) => return Span(u64::MAX),
            (_, TimedPart::Heads) => (ALL.less(Span(turn.0 * AFTER_HEADS)).min(seconds(255).less(left)), 15),
            (_, TimedPart::Seeks) => (seconds(265).less(left), 40),
            (_, TimedPart::Borders) => (seconds(250).less(left), 0),
            (_, TimedPart::Chunks) => (seconds(262).less(left), 0),
            (_, TimedPart::Writes) => (seconds(285), 40),
            (_, TimedPart::WriteChunks) => (seconds(285), 0),
            (_, TimedPart::Validation) => (ALL, 5),
        };
        end.max(spent + seconds(least))
    }

    /// Trials of a reach end once it is off by no more than this in 95 of 100 cases, ms; at 0 there are as many as a profile ever makes.
    pub(crate) fn enough(self) -> f64 {
        match self {
            Thoroughness::Thorough => 0.0,
            Thoroughness::Quick => KNOWN,
        }
    }

    /// The device time after which the tracks of a head or a cylinder are not looked at one by one any more.
    pub(crate) fn heads_time(self) -> Span {
        match self {
            Thoroughness::Thorough => LONGEST,
            Thoroughness::Quick => Span(40 * 1_000_000_000),
        }
    }

    /// The device time after which no more borders between regions are crossed.
    pub(crate) fn borders_time(self) -> Span {
        match self {
            Thoroughness::Thorough => LONGEST,
            Thoroughness::Quick => Span(20 * 1_000_000_000),
        }
    }

    /// What it gives up, if anything.
    #[must_use]
    pub fn gives_up(self) -> Option<&'static str> {
        match self {
            Thoroughness::Thorough => None,
            Thoroughness::Quick => Some(
                "quick: seeks over one distance an octave instead of three, and over four more where these tell least of the \
                 curve, each within 0.05 ms, so that the curve between may be off by more than 0.1 ms; late seeks not looked for; \
                 throughput by chunk from one run of each size instead of three; \
                 each way of counting heads, and the search for cylinders without data between zones, for less than a minute; \
                 what is left of the overhead of a read that waited in the drive not measured; \
                 what is not mapped within three minutes, less where a large memory took long to find, taken to go on as before; \
                 after five minutes in all nothing more is asked, and what was not looked at to its end is graded less",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_short_profile_end_one_after_the_other_within_five_minutes() {
        use TimedPart::{Borders, Chunks, Heads, Seeks, Validation, WriteChunks, Writes};
        let seconds = |seconds: u64| Span(seconds * 1_000_000_000);
        for (spent, rpm) in (0..400).map(seconds).flat_map(|spent| [4_200, 7_200, 15_000].map(|rpm| (spent, rpm))) {
            let turn = Span(60_000_000_000 / rpm);
            let ends = [Heads, Seeks, Borders, Chunks, Writes, WriteChunks, Validation].map(|part| {
                let [end, before_writes] =
                    [Span(0), FOR_WRITES].map(|left| Thoroughness::Quick.end_of(part, spent, left, turn));
                assert!(end >= spent && before_writes <= end, "{part:?} after {spent:?}");
                assert_eq!(Thoroughness::Thorough.end_of(part, spent, FOR_WRITES, turn), Span(u64::MAX));
                end
            });
            assert!(ends[6] < seconds(300) || spent > seconds(290), "after {spent:?}: {ends:?}");
            assert!(spent > seconds(160) || ends[0] < ends[1] && ends[2..5].is_sorted(), "{ends:?}");
            // What turns faster is asked as much sooner, so that more time is left for heads.
            let slower = Thoroughness::Quick.end_of(Heads, spent, Span(0), Span(2 * turn.0));
            assert!(slower < ends[0] || spent > seconds(140), "after {spent:?}: {ends:?}");
            let [map, before_writes] = [Span(0), FOR_WRITES].map(|left| Thoroughness::Quick.map_time(spent, left));
            assert!(before_writes <= map && before_writes >= seconds(60) && before_writes <= seconds(135), "{spent:?}");
        }
    }
}
