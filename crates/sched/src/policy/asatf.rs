//! Aged SATF: score = access time − `age_weight` × time waited; whatever has waited longer than `age_limit`
//! goes first, oldest first.

use super::age::{AGE_LIMIT, Ageing, age_weight};
use super::arms::OfArms;
use super::greedy::Greedy;
use super::{Beside, Kind, Manual, Needs, Policy};
use crate::predict::Predictor;
use block::BadInput;
use config::{Key, Section};

/// At this weight the longest waits are cut and a few percent of the throughput are lost.
const AGE_WEIGHT: Key<f64> = age_weight("0.006");

/// The values of its keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    ageing: Ageing,
}

impl Kind for Settings {
    const MANUAL: Manual = Manual {
        name: "asatf",
        text: "Shortest access time first with ageing: a request may be overtaken the less, the longer it has waited. Nearly the requests a second of `satf`, without its starved ones. Where a device has several arms, the one with the least to do is served.",
        keys: &[AGE_WEIGHT.about, AGE_LIMIT.about],
        example: "policy = \"asatf\"\nage_weight = 0.01",
        needs: Needs::Any,
    };

    fn read(scheduler: &Section) -> Result<Settings, BadInput> {
        Ok(Settings { ageing: Ageing::read(scheduler, &AGE_WEIGHT)? })
    }

    fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>> {
        OfArms::or_one(|| Greedy::<P>::new(self.ageing), beside.caps)
    }
}
