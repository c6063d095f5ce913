//! Promises that nobody can keep: a `p99` below what reads take alone, one at a time, on a drive that does nothing else.

use super::{AddressPattern, Experiment, Kind, Sizes};
use crate::results::Class;
use block::{Extent, Lbn, Span};
use disk::Sheet;
use std::collections::BTreeMap;

/// The share of a class's requests that may take longer than was promised: one in a hundred.
pub(super) const LATE: f64 = 0.01;

impl Experiment {
    /// Classes that are promised a p99, and which.
    pub(super) fn promises(&self) -> impl Iterator<Item = (&str, Span)> {
        let rules = &self.scheduler.rules.classes;
        self.classes().into_iter().zip(rules).filter_map(|(name, rule)| Some((name, rule.p99?)))
    }

    /// Classes whose p99 is shorter than seek and rotation allow: more of their reads than the promise leaves begin later, whatever is
    /// interrupted for them. Of reads that follow one another, or fit into the drive's buffer, nothing is said.
    pub(crate) fn promises_too_short(&self, sheet: &Sheet) -> Vec<String> {
        if self.array.is_some() {
            return Vec::new();
        }
        self.promises().filter_map(|(name, p99)| self.too_short(name, p99, sheet)).collect()
    }

    /// Classes that did not have what was promised to them, in what was measured.
    #[must_use]
    pub fn promises_broken(&self, classes: &BTreeMap<String, Class>) -> Vec<String> {
        let told = self.promises().filter_map(|(name, p99)| {
            let had = classes.get(name)?.response_ms.p99;
            let broken = had > p99.as_ms();
            broken.then(|| format!("a p99 of {} ms was promised to '{name}': it was {had:.1} ms", p99.as_ms()))
        });
        told.collect()
    }

    fn too_short(&self, class: &str, p99: Span, sheet: &Sheet) -> Option<String> {
        let of_class = self.workloads.iter().filter(|workload| workload.class == class);
        // Where one of them may be quick nothing is sure.
        let late: Option<Vec<f64>> = of_class.map(|workload| late(&workload.kind, p99, sheet)).collect();
        let least = late?.into_iter().reduce(f64::min).filter(|late| *late > LATE)?;
        Some(format!(
            "the p99 of {} ms promised to '{class}' is not to be kept: alone, one at a time, at least {:.0} % of its requests take longer, for seek and rotation",
            p99.as_ms(),
            100.0 * least
        ))
    }
}

/// The share of a workload's requests that are reads from the medium and take longer than `p99`; nothing where that is not known.
fn late(kind: &Kind, p99: Span, sheet: &Sheet) -> Option<f64> {
    let pattern = match kind {
        Kind::Open(plan) => &plan.pattern,
        Kind::Closed(plan) => &plan.pattern,
        _ => return None,
    };
    let (from, end) = pattern.region.on(sheet.mechanics.layout.blocks());
    let buffer = u64::from(sheet.cache.segments) * u64::from(sheet.cache.segment);
    if pattern.at != AddressPattern::Random || end.saturating_sub(from) <= buffer {
        return None;
    }
    // What is asked for passes under the head, too, where the tracks are longest at the least.
    let blocks = if pattern.sizes == Sizes::Fixed { pattern.blocks } else { 1 };
    let sectors = sheet.mechanics.layout.sectors_of(Extent::new(from, blocks));
    let passes = Span(sheet.mechanics.sector_time(sheet.mechanics.layout.locate(Lbn(from)).track.zone).0 * sectors);
    let begins = p99.less(sheet.overheads.read.read + passes);
    Some(pattern.read * sheet.mechanics.later_than(begins, from, end))
}
