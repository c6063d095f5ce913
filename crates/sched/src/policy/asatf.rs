//! Aged SATF: score = access time − `age_weight` × time waited; whatever has waited longer than `age_limit`
//! goes first, oldest first.

use super::Knobs;
use super::greedy::{Ageing, Greedy};
use super::satf::AccessTime;
use crate::predict::Predictor;

pub(super) fn asatf<P: Predictor>(knobs: &Knobs) -> Greedy<P, AccessTime> {
    Greedy::new(Ageing { weight: knobs.age_weight, limit: knobs.age_limit })
}
