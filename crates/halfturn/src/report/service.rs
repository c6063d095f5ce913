//! What serving requests in short commands came to, a row for each run.

use super::figures::{Better, FigureColumn};
use super::rows::{CaseRun, assemble, keys, label, rivals};
use load::results::{Run, Service};

/// The table; nothing where every request was served whole.
pub fn table(pairs: &[CaseRun]) -> Option<String> {
    if pairs.iter().all(|(_, run)| run.service.is_none()) {
        return None;
    }
    let none = Service::default();
    let of = |f: &dyn Fn(&Run, &Service) -> f64| -> Vec<f64> {
        pairs.iter().map(|(_, run)| f(run, run.service.as_ref().unwrap_or(&none))).collect()
    };
    let count = |head: &str, f: &dyn Fn(&Service) -> u64| {
        FigureColumn::new(head, Better::Neither, of(&|_, service| f(service) as f64)).decimals(0)
    };
    let late = |_: &Run, service: &Service| 100.0 * service.late as f64 / service.jit_seeks.max(1) as f64;
    let mut columns = vec![
        FigureColumn::new("expected\nwait ms", Better::Less, of(&|run, _| run.expected_wait_ms)).decimals(2),
        FigureColumn::new("command\nmean ms", Better::Neither, of(&|run, _| run.commands.mean_ms)).decimals(2),
        FigureColumn::new("longest\nms", Better::Neither, of(&|run, _| run.commands.max_ms)),
        FigureColumn::new("slack\n%", Better::Neither, of(&|_, service| service.slack_fraction * 100.0)).decimals(1),
        count("inter-\nrupted", &|service| service.preemptions),
        count("timed\nseeks", &|service| service.jit_seeks),
        FigureColumn::new("late\n%", Better::Neither, of(&late)).decimals(1),
        count("sub-\nseeks", &|service| service.sub_seeks),
    ];
    let ahead = of(&|_, service| service.prefetched_mb_s);
    if ahead.iter().any(|rate| *rate > 0.0) {
        columns.push(FigureColumn::new("read ahead\nMB/s", Better::Neither, ahead).decimals(2));
        columns.push(
            FigureColumn::new("used\nMB/s", Better::Neither, of(&|_, service| service.prefetched_used_mb_s))
                .decimals(2),
        );
    }
    let keys = keys(pairs);
    let labels: Vec<Vec<String>> = pairs.iter().map(|(case, _)| label(case, &keys)).collect();
    Some(assemble(&keys, labels, &columns, &rivals(pairs)))
}

/// What the columns mean.
pub const MEANING: [&str; 2] = [
    "expected wait: what an arrival finds left of the command in progress, slack counted as none (Virtual IO, Eq. 2)",
    "slack: a seek is awaited, and whoever comes is served at once; late: timed seeks that cost a revolution",
];
