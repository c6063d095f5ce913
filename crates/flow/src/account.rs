//! Where the time of a system's processors went, and what came of its requests.

use crate::process::ProcessTimes;
use block::{Span, Time};
use load::results;

/// The account of a system until its processes have ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemAccount {
    /// How many processors the system has.
    pub cpus: u32,
    /// Processors computing for processes, all together.
    pub computing: Span,
    /// Processor time spent switching between processes.
    pub switching: Span,
    /// Processor time spent in interrupt handlers.
    pub interrupts: Span,
    /// Idle while a process waited for I/O.
    pub false_idle: Span,
    /// Idle with nothing to do.
    pub idle: Span,
    /// Spent because processes were blocked: switches away and back, wake-ups, interrupts of useless read-ahead.
    pub false_computation: Span,
    /// Switches to a process.
    pub switches: u64,
    /// When the last process that counts has ended.
    pub ended: Option<Time>,
    /// When the last request has ended.
    pub last_io: Time,
    /// Requests whose process waited at once, that were of use by some time, and that nobody waited for: as issued.
    pub critical: u64,
    /// Requests that were of use by some time (time-limited), as issued.
    pub limited: u64,
    /// Requests that nobody waited for, as issued.
    pub noncritical: u64,
    /// Requests of lesser criticality that someone came to wait for.
    pub raised: u64,
    /// Time limits that came to be known, and their sum.
    pub limits: u64,
    /// The sum of the time limits that came to be known.
    pub limits_sum: Span,
    /// Of these, requests that had ended in time.
    pub in_time: u64,
    /// Pages found in the buffer cache without waiting.
    pub cache_hits: u64,
    /// Pages read ahead that nobody used before they were given up.
    pub useless: u64,
    /// Its processes by name, in the order in which they were created; known at the end.
    pub processes: Vec<(String, ProcessTimes)>,
}

impl SystemAccount {
    /// All processors' time told apart.
    #[must_use]
    pub fn total(&self) -> Span {
        self.computing + self.switching + self.interrupts + self.false_idle + self.idle
    }

    /// As it is printed; what only the device knows is added by others.
    #[must_use]
    pub fn result(&self, end: Time) -> results::SystemCounts {
        let share = |part: u64, of: u64| if of == 0 { 0.0 } else { part as f64 / of as f64 };
        results::SystemCounts {
            execution_ms: Span(self.ended.unwrap_or(end).0).as_ms(),
            computing_ms: self.computing.as_ms(),
            switching_ms: self.switching.as_ms(),
            interrupts_ms: self.interrupts.as_ms(),
            false_idle_ms: self.false_idle.as_ms(),
            idle_ms: self.idle.as_ms(),
            false_computation_ms: self.false_computation.as_ms(),
            context_switches: self.switches as f64,
            critical: self.critical as f64,
            limited: self.limited as f64,
            noncritical: self.noncritical as f64,
            raised: self.raised as f64,
            time_limit_ms: if self.limits == 0 { 0.0 } else { self.limits_sum.as_ms() / self.limits as f64 },
            in_time_fraction: share(self.in_time, self.limits),
            cache_hits: self.cache_hits as f64,
            useless_read_ahead: self.useless as f64,
            last_io_ms: Span(self.last_io.0).as_ms(),
            processes: self.processes.iter().map(process).collect(),
            ..results::SystemCounts::default()
        }
    }
}

fn process((name, times): &(String, ProcessTimes)) -> results::Process {
    results::Process {
        name: name.clone(),
        running_ms: times.running.as_ms(),
        ready_ms: times.ready.as_ms(),
        blocked_ms: times.blocked.as_ms(),
        waits: times.waits as f64,
        ended_ms: times.ended.map(|ended| Span(ended.0).as_ms()),
    }
}
