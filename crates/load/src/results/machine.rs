//! What processes and processors around the I/O came to.

use crate::tally;
use serde::{Deserialize, Serialize};

/// What a system of processes came to, the mean over replications; times are of all processors together, until the last
/// process has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemCounts {
    /// Until the last process has ended; where the run ends before, until then.
    pub execution_ms: f64,
    /// Half width of its 95 % confidence interval over replications; absent where there is one.
    pub execution_ci95_ms: Option<f64>,
    /// Processor time of processes, ms.
    pub computing_ms: f64,
    /// Time to switch between processes, ms.
    pub switching_ms: f64,
    /// Time to handle interrupts, ms.
    pub interrupts_ms: f64,
    /// Idle while a process waited for I/O.
    pub false_idle_ms: f64,
    /// Idle with nothing to do.
    pub idle_ms: f64,
    /// Spent because processes were blocked: switches, wake-ups, interrupts of useless read-ahead.
    pub false_computation_ms: f64,
    /// Switches to a process.
    pub context_switches: f64,
    /// Requests, as issued: someone waits at once.
    pub critical: f64,
    /// Someone waits if they have not ended by some time.
    pub limited: f64,
    /// Requests that nobody waits for.
    pub noncritical: f64,
    /// Requests that someone came to wait for.
    pub raised: f64,
    /// Mean time from a limited request to when it was needed.
    pub time_limit_ms: f64,
    /// Of limited requests that were needed, the share that had ended by then.
    pub in_time_fraction: f64,
    /// Reads the drive answered without moving the arm or waiting for the platter.
    pub buffer_hits: f64,
    /// Pages found in the system's buffer cache.
    pub cache_hits: f64,
    /// Pages read ahead that nobody used.
    pub useless_read_ahead: f64,
    /// Mean cylinders crossed for a command that was not answered from the drive's buffer.
    pub seek_distance: f64,
    /// Mean seek of such a command.
    pub seek_ms: f64,
    /// When the last request ended.
    pub last_io_ms: f64,
    /// By process, in the order in which they were created.
    pub processes: Vec<Process>,
}

/// Where the time of a process went, the mean over replications.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// What it is called.
    pub name: String,
    /// On a processor, switches to it and interrupts of it among them.
    pub running_ms: f64,
    /// Able to run, while others had the processors.
    pub ready_ms: f64,
    /// Blocked until a request had ended.
    pub blocked_ms: f64,
    /// How often it waited for a request.
    pub waits: f64,
    /// When it had ended; absent where it never did.
    pub ended_ms: Option<f64>,
}

impl SystemCounts {
    fn figures(&mut self) -> [&mut f64; 20] {
        [
            &mut self.execution_ms,
            &mut self.computing_ms,
            &mut self.switching_ms,
            &mut self.interrupts_ms,
            &mut self.false_idle_ms,
            &mut self.idle_ms,
            &mut self.false_computation_ms,
            &mut self.context_switches,
            &mut self.critical,
            &mut self.limited,
            &mut self.noncritical,
            &mut self.raised,
            &mut self.time_limit_ms,
            &mut self.in_time_fraction,
            &mut self.buffer_hits,
            &mut self.cache_hits,
            &mut self.useless_read_ahead,
            &mut self.seek_distance,
            &mut self.seek_ms,
            &mut self.last_io_ms,
        ]
    }

    /// The mean of several; of none, nothing.
    #[must_use]
    pub fn mean(of: &[SystemCounts]) -> Option<SystemCounts> {
        let executions: Vec<f64> = of.iter().map(|one| one.execution_ms).collect();
        let mut mean = SystemCounts { execution_ci95_ms: tally::interval(&executions), ..SystemCounts::default() };
        for mut one in of.iter().cloned() {
            for (sum, figure) in mean.figures().into_iter().zip(one.figures()) {
                *sum += *figure / of.len() as f64;
            }
            Process::gather(&mut mean.processes, one.processes, of.len() as f64);
        }
        (!of.is_empty()).then_some(mean)
    }
}

impl Process {
    /// Adds one of `count` replications to the mean of their processes, which have the same names in each.
    fn gather(mean: &mut Vec<Process>, one: Vec<Process>, count: f64) {
        for process in one {
            let known = mean.iter().position(|sum| sum.name == process.name);
            let at = known.unwrap_or_else(|| {
                let ended_ms = process.ended_ms.map(|_| 0.0);
                mean.push(Process { name: process.name, ended_ms, ..Process::default() });
                mean.len() - 1
            });
            let sum = &mut mean[at];
            sum.running_ms += process.running_ms / count;
            sum.ready_ms += process.ready_ms / count;
            sum.blocked_ms += process.blocked_ms / count;
            sum.waits += process.waits / count;
            sum.ended_ms = sum.ended_ms.zip(process.ended_ms).map(|(sum, ended)| sum + ended / count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(figure: impl Fn(usize) -> f64, processes: &[(&str, f64, Option<f64>)]) -> SystemCounts {
        let process = |&(name, time, ended_ms): &(&str, f64, Option<f64>)| Process {
            name: name.into(),
            running_ms: time,
            ready_ms: 2.0 * time,
            blocked_ms: 3.0 * time,
            waits: 4.0 * time,
            ended_ms,
        };
        let mut system = SystemCounts { processes: processes.iter().map(process).collect(), ..SystemCounts::default() };
        system.figures().into_iter().enumerate().for_each(|(n, it)| *it = figure(n));
        system
    }

    #[test]
    fn a_mean_of_systems_is_that_of_each_figure_and_of_each_process() {
        let one = system(|n| n as f64, &[("a", 2.0, Some(10.0)), ("b", 1.0, Some(5.0))]);
        let other = system(|n| 3.0 * n as f64 + 2.0, &[("b", 3.0, None), ("a", 6.0, Some(30.0))]);
        let mut mean = SystemCounts::mean(&[one, other]).expect("there are two");
        let figures: Vec<f64> = mean.figures().into_iter().map(|it| *it).collect();
        assert_eq!(figures, (0..20).map(|n| f64::from(2 * n + 1)).collect::<Vec<_>>());
        // One that did not end once has no mean end.
        let expected = system(|_| 0.0, &[("a", 4.0, Some(20.0)), ("b", 2.0, None)]);
        assert_eq!(mean.processes, expected.processes);
        assert!(SystemCounts::mean(&[]).is_none());
    }
}
