//! The pace at which recorded requests are played, whatever recorded them.

use super::kind::{MOST_AT_ONCE, Only};
use block::BadInput;
use config::{Section, Word, Words};

config::keys! {
    /// When the recorded requests arrive.
    pub(crate) REPLAY: ReplayTiming = word("replay").usually("open");
    /// Requests outstanding at once, with `replay = "closed"`.
    pub(super) DEPTH: u32 = within("depth", 1, MOST_AT_ONCE).usually("1");
    /// How many times faster than recorded the requests arrive: 20 is twenty times faster.
    pub(super) TIME_SCALE: f64 = number("time_scale", f64::MIN_POSITIVE, f64::MAX).usually("1.0");
}

/// What goes with which replay.
pub(super) const ONLY: &[Only] = &[
    Only { key: DEPTH.name(), with: REPLAY.name(), values: &["closed"] },
    Only { key: TIME_SCALE.name(), with: REPLAY.name(), values: &["open", "hold"] },
];

/// How records are played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// What decides when a request arrives.
    pub replay: ReplayTiming,
    /// Of a closed replay: how many are in flight at once; 1 for the others.
    pub depth: u32,
    /// So many times faster than recorded; above 0, and 1 for a closed replay.
    pub time_scale: f64,
}

/// What decides when a recorded request arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplayTiming {
    /// At the times of the recording.
    #[default]
    Open,
    /// Its recorded time, but no sooner than an earlier request for the same extent has ended.
    Hold,
    /// The end of another: [`Pace::depth`] are in flight at once.
    Closed,
}

impl Words for ReplayTiming {
    const WORDS: &'static [Word<ReplayTiming>] = &[
        Word::new("open", ReplayTiming::Open, "at their recorded times"),
        Word::new(
            "hold",
            ReplayTiming::Hold,
            "at their recorded times, but a repeated request waits until the earlier one for the same blocks has ended",
        ),
        Word::new(
            "closed",
            ReplayTiming::Closed,
            "in recorded order, `depth` outstanding, each as soon as another has ended",
        ),
    ];
}

impl Pace {
    /// The pace that the keys of this file tell of.
    pub(super) fn read(section: &Section) -> Result<Pace, BadInput> {
        let (depth, replay) = (section.value(&DEPTH)?, section.value(&REPLAY)?);
        let time_scale = section.value(&TIME_SCALE)?;
        // In a sweep over `replay` the keys of the other values are there too.
        Ok(match replay {
            ReplayTiming::Closed => Pace { replay, depth, time_scale: 1.0 },
            ReplayTiming::Open | ReplayTiming::Hold => Pace { replay, depth: 1, time_scale },
        })
    }

    /// Whether requests arrive no matter how many are outstanding.
    pub(super) fn is_open(&self) -> bool {
        self.replay != ReplayTiming::Closed
    }
}
