//! Predictors: what the scheduler believes of a device. One file each.

mod distance;
mod profile;

pub use distance::Distance;
pub use profile::Profile;

use block::{Command, Extent, Lbn, Outcome, Span, Time};

/// What the scheduler believes of a device, from a profile or from past times, never from the device itself.
///
/// Costs are in ticks, a unit of the predictor's own, and mean: how long from now until the first block of a
/// request could be transferred.
pub trait Predictor {
    /// Where a request lies: found once, when it arrives, and kept with it.
    type Spot: Copy;
    /// What a decision needs to know of it beyond its key.
    type Mark: Copy;
    /// Where the head is, prepared for one decision.
    type Head: Copy;

    /// Where a request lies. The caller guarantees that the extent is not empty and within the device,
    /// unless the request is a flush.
    fn spot(&self, at: Extent) -> Self::Spot;

    /// Its place along the stroke, and along the track within that.
    fn key(&self, spot: Self::Spot) -> u64;

    /// What a decision needs to know of it beyond its key.
    fn mark(&self, spot: Self::Spot) -> Self::Mark;

    /// Where the head is at `now`, and the key of that place.
    fn head(&self, now: Time) -> (Self::Head, u64);

    /// The cost of going there, to read or to write.
    fn cost(&self, head: &Self::Head, key: u64, mark: Self::Mark, write: bool) -> u64;

    /// A lower bound: nothing with a key in `from..=to` costs less. It makes pruning sound.
    fn least(&self, head: &Self::Head, from: u64, to: u64, write: bool) -> u64;

    /// What a write without FUA costs wherever it lies, while the device is believed to take it into its buffer at once.
    fn absorbed(&self) -> Option<u64> {
        None
    }

    /// A span in ticks.
    fn ticks(&self, span: Span) -> u64;

    /// The block after the last one commanded: where policies that know only block numbers take the arm to be.
    fn arm(&self) -> Lbn;

    /// A command was issued for a request, or part of one, that lies at `spot`.
    fn issued(&mut self, now: Time, command: &Command, spot: Self::Spot);

    /// A command came back.
    fn observed(&mut self, happened: Time, command: &Command, outcome: Outcome);
}
