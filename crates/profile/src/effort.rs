//! How thoroughly a drive is learned, and what time that gives.

use crate::bench::LONGEST;
use block::Span;

/// What a quick profile's reaches of the arm may be off by, ms.
const KNOWN: f64 = 0.05;

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
    /// The device time a map may take after so much was spent.
    pub(crate) fn map_time(self, spent: Span) -> Span {
        let seconds = |seconds: u64| Span(seconds * 1_000_000_000);
        match self {
            Thoroughness::Thorough => seconds(6000),
            // Less where a large memory took long to find: all is to stay within five minutes.
            Thoroughness::Quick => seconds(225).less(spent).clamp(seconds(60), seconds(180)),
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
                 heads counted, and cylinders without data looked for between zones, for less than a minute; \
                 what is left of the overhead of a read that waited in the drive not measured; \
                 what is not mapped within three minutes, less where a large memory took long to find, taken to go on as before",
            ),
        }
    }
}
