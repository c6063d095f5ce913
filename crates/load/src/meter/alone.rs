//! What each replication came to by itself, so that runs of the same seeds can be compared in pairs.

use super::Meter;
use crate::results::ReplicationFigures;
use crate::tally::P99;
use block::NS_PER_MS;

impl Meter {
    /// What each class came to in this replication.
    pub(super) fn figures(&self) -> Vec<ReplicationFigures> {
        let figures = self.classes.iter().map(|class| ReplicationFigures {
            mean_ms: class.response.mean_ns() / NS_PER_MS,
            p50_ms: class.response.quantile_ms(0.5),
            p99_ms: class.response.quantile_ms(P99),
            throughput_mb_s: self.rate(class.bytes),
        });
        figures.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Meter, Served};
    use block::{Ending, Extent, Lbn, Qos, Span, Time};
    use sched::value::Worth;

    const MS: u64 = 1_000_000;

    /// One replication of a second whose requests, of 2 MB each, took so many ms.
    fn replication(times: &[u64]) -> Meter {
        let mut meter = Meter::new([("a".to_owned(), Worth::USUAL)].into_iter(), Time::ZERO);
        meter.begin(Time::ZERO, None, Some(Time(1000 * MS)));
        for ms in times {
            let (arrived, ended) = (Time::ZERO, Time(ms * MS));
            let counts = meter.joins(0, arrived);
            let at = Extent { start: Lbn(0), blocks: 3906 };
            let qos = Qos { class: 0, priority: 0, deadline: None };
            let served = Served { at, arrived, began: arrived, ended, external: Span::ZERO, counts, qos };
            meter.add_ended(&served, Ending::Finished);
        }
        meter.close(Time(1000 * MS));
        meter
    }

    #[test]
    fn each_replication_keeps_its_own_figures_in_order() {
        let mut all = replication(&[2, 4, 9]);
        assert!(all.classes().next().unwrap().1.replications.is_empty(), "one alone has no pairs");
        all.merge(&replication(&[7]));
        all.merge(&replication(&[1, 1]));
        let class = all.classes().next().unwrap().1;
        let means: Vec<f64> = class.replications.iter().map(|one| one.mean_ms).collect();
        assert_eq!(means, [5.0, 7.0, 1.0]);
        let first = class.replications[0];
        assert!((first.p50_ms - 4.0).abs() < 0.01 && (first.p99_ms - 9.0).abs() < 0.01, "{first:?}");
        let rates: Vec<f64> = class.replications.iter().map(|one| (one.throughput_mb_s * 2.0).round() / 2.0).collect();
        assert_eq!(rates, [6.0, 2.0, 4.0]);
    }

    #[test]
    fn requests_that_are_dropped_say_nothing_of_how_sure_the_mean_of_the_others_is() {
        let ci95 = |dropped: u64| {
            let mut meter = Meter::new([("a".to_owned(), Worth::USUAL)].into_iter(), Time::ZERO);
            meter.begin(Time::ZERO, None, Some(Time::NEVER));
            let mut end = |arrived: Time, ended: Time, how: Ending| {
                let counts = meter.joins(0, arrived);
                let at = Extent { start: Lbn(0), blocks: 8 };
                let qos = Qos { class: 0, priority: 0, deadline: None };
                let served = Served { at, arrived, began: arrived, ended, external: Span::ZERO, counts, qos };
                meter.add_ended(&served, how);
            };
            for i in 0..1000u64 {
                let arrived = Time(i * 20 * MS);
                end(arrived, Time(arrived.0 + i * 7919 % 17 * MS), Ending::Finished);
                (0..dropped).for_each(|_| end(arrived, arrived, Ending::Dropped));
            }
            meter.close(Time(20_000 * MS));
            meter.classes().next().unwrap().1.response_ms.ci95.unwrap()
        };
        assert!((ci95(9) - ci95(0)).abs() < 1e-9, "{} of {}", ci95(9), ci95(0));
    }
}
