//! Shortest access time first (SPTF): the waiting request the predictor believes the head can begin soonest.

use super::age::Ageing;
use super::arms::OfArms;
use super::greedy::Greedy;
use super::{Beside, Kind, Manual, Needs, Policy};
use crate::predict::Predictor;
use block::BadInput;
use config::Section;

/// The policy has no keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings;

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "satf",
        text: "Shortest access time first: the waiting request that the predictor believes the head can begin soonest, seek and rotation together. The most requests a second of all orders that look one request ahead; what is awkward to reach may wait long (see `asatf`). Where a device has several arms, the one with the least to do is served.",
        keys: &[],
        example: "policy = \"satf\"",
        needs: Needs::Any,
    };

    fn read(_: &Section) -> Result<Settings, BadInput> {
        Ok(Settings)
    }

    fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>> {
        OfArms::or_one(satf, beside.caps)
    }
}

pub(super) fn satf<P: Predictor>() -> Greedy<P> {
    Greedy::new(Ageing::NONE)
}
