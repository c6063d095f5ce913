//! What became of the machine around the disk: execution time and where the processors' time went.

use super::figures::{Better, FigureColumn};
use super::number;
use super::rows::{CaseRun, assemble, keys, label, rivals};
use load::results::{Process, SystemCounts};

/// Processes shown in the table, at most; those that ran or waited most.
const PROCESSES: usize = 12;

/// A row for each run; nothing where no processes ran.
pub fn table(pairs: &[CaseRun]) -> Option<String> {
    let systems: Vec<&SystemCounts> = pairs.iter().filter_map(|(_, run)| run.system.as_ref()).collect();
    if systems.len() < pairs.len() || systems.is_empty() {
        return None;
    }
    let of = |f: &dyn Fn(&SystemCounts) -> f64| systems.iter().map(|system| f(system)).collect::<Vec<_>>();
    let spreads: Vec<Option<f64>> = systems.iter().map(|it| it.execution_ci95_ms.map(|ms| ms / 1e3)).collect();
    let sure = spreads.iter().any(Option::is_some);
    let head = if sure { "execution s\nmean ± 95 %" } else { "execution\ns" };
    let execution = FigureColumn::new(head, Better::Less, of(&|it| it.execution_ms / 1e3)).decimals(3);
    let columns = [
        if sure { execution.spreads(spreads) } else { execution },
        FigureColumn::new("false idle\ns", Better::Less, of(&|it| it.false_idle_ms / 1e3)).decimals(3),
        FigureColumn::new("false\ncomputation s", Better::Less, of(&|it| it.false_computation_ms / 1e3)).decimals(3),
        FigureColumn::new("switches", Better::Neither, of(&|it| it.context_switches)).decimals(0),
        FigureColumn::new("time limit\nms", Better::Neither, of(&|it| it.time_limit_ms)).decimals(1),
        FigureColumn::new("in time\n%", Better::Neither, of(&|it| it.in_time_fraction * 100.0)).decimals(1),
        FigureColumn::new("buffer\nhits", Better::Neither, of(&|it| it.buffer_hits)).decimals(0),
        FigureColumn::new("last I/O\ns", Better::Less, of(&|it| it.last_io_ms / 1e3)).decimals(3),
    ];
    let keys = keys(pairs);
    let labels: Vec<Vec<String>> = pairs.iter().map(|(case, _)| label(case, &keys)).collect();
    Some(assemble(&keys, labels, &columns, &rivals(pairs)))
}

/// A row for each process of a run; nothing where several runs are compared, or no processes ran.
pub fn processes(pairs: &[CaseRun]) -> Option<String> {
    let [(_, run)] = pairs else { return None };
    let mut processes: Vec<&Process> = run.system.as_ref()?.processes.iter().collect();
    processes.sort_by(|a, b| (b.running_ms + b.blocked_ms).total_cmp(&(a.running_ms + a.blocked_ms)));
    let rest = processes.split_off(PROCESSES.min(processes.len()));
    let of = |f: &dyn Fn(&Process) -> f64| processes.iter().map(|it| f(it)).collect::<Vec<_>>();
    let columns = [
        FigureColumn::new("on a processor\nms", Better::Neither, of(&|it| it.running_ms)).decimals(1),
        FigureColumn::new("able to run\nms", Better::Neither, of(&|it| it.ready_ms)).decimals(1),
        FigureColumn::new("blocked\nms", Better::Neither, of(&|it| it.blocked_ms)).decimals(1),
        FigureColumn::new("waits\nfor I/O", Better::Neither, of(&|it| it.waits)).decimals(0),
    ];
    let labels = processes.iter().map(|it| vec![it.name.clone()]).collect();
    let mut text = assemble(&["process"], labels, &columns, &vec![0; processes.len()]);
    if !rest.is_empty() {
        let running = number::with_decimals(rest.iter().map(|it| it.running_ms).sum(), 1);
        text += &format!(" and {} more, {running} ms on a processor\n", rest.len());
    }
    Some(text)
}
