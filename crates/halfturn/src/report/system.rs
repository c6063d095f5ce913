//! What became of the machine around the disk: execution time and where the processors' time went.

use super::compare::{Pair, assembled, keys, label, rivals};
use super::figures::{Better, Figures};
use load::results::System;

/// A row for each run; nothing where no processes ran.
pub fn table(pairs: &[Pair]) -> Option<String> {
    let systems: Vec<&System> = pairs.iter().filter_map(|(_, run)| run.system.as_ref()).collect();
    if systems.len() < pairs.len() || systems.is_empty() {
        return None;
    }
    let of = |f: &dyn Fn(&System) -> f64| systems.iter().map(|system| f(system)).collect::<Vec<_>>();
    let columns = [
        Figures::new("execution\ns", Better::Less, of(&|it| it.execution_ms / 1e3)).decimals(3),
        Figures::new("false idle\ns", Better::Less, of(&|it| it.false_idle_ms / 1e3)).decimals(3),
        Figures::new("false\ncomputation s", Better::Less, of(&|it| it.false_computation_ms / 1e3)).decimals(3),
        Figures::new("switches", Better::Neither, of(&|it| it.context_switches)).decimals(0),
        Figures::new("time limit\nms", Better::Neither, of(&|it| it.time_limit_ms)).decimals(1),
        Figures::new("in time\n%", Better::Neither, of(&|it| it.in_time_fraction * 100.0)).decimals(1),
        Figures::new("buffer\nhits", Better::Neither, of(&|it| it.buffer_hits)).decimals(0),
        Figures::new("last I/O\ns", Better::Less, of(&|it| it.last_io_ms / 1e3)).decimals(3),
    ];
    let keys = keys(pairs);
    let labels: Vec<Vec<String>> = pairs.iter().map(|(case, _)| label(case, &keys)).collect();
    Some(assembled(&keys, labels, &columns, &rivals(pairs)))
}
