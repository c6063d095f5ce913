//! `[system]`: the machine around the disk, for workloads that are processes (the process-flow model, 004 Table 2).

use super::{Kind, Workload};
use block::{BadInput, Span};
use config::Section;

/// Blocks of a page of the buffer cache.
pub const PAGE: u32 = 8;
/// The most pages of a cache: 64 GiB.
const MOST_PAGES: u64 = 1 << 24;
/// The most processors.
const MOST_CPUS: u32 = 1024;

/// Processors, what they spend on the system's own work, and the buffer cache. Times are those of a processor of speed 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SystemPlan {
    /// Processors; at least 1. Where they are not given, those of the machine that was recorded, or one.
    pub cpus: Option<u32>,
    /// How many times as fast they are, in all they do.
    pub speed: f64,
    /// How long a process runs before another that is ready has its turn.
    pub slice: Span,
    /// From one clock interrupt to the next.
    pub clock: Span,
    /// Handling a clock interrupt.
    pub clock_interrupt: Span,
    /// Handling the end of a request.
    pub io_interrupt: Span,
    /// Switching to a process.
    pub switch: Span,
    /// Taking a process that blocks off and enabling it again, besides the switches.
    pub wakeup: Span,
    /// Whether a process that wakes takes over at once.
    pub preempt_on_wake: bool,
    /// Whether who had the processors least is next, and takes over only then; else the processes have their turns.
    pub fair: bool,
    /// Pages of the buffer cache.
    pub cache: u32,
    /// How often dirty pages are written out.
    pub flush_every: Span,
    /// What share of the cache is looked at then: one of so many parts.
    pub flush_parts: u32,
}

impl SystemPlan {
    /// A machine whose own work costs nothing.
    pub const PLAIN: SystemPlan = SystemPlan {
        cpus: None,
        speed: 1.0,
        slice: Span(100_000_000),
        clock: Span(10_000_000),
        clock_interrupt: Span::ZERO,
        io_interrupt: Span::ZERO,
        switch: Span::ZERO,
        wakeup: Span::ZERO,
        preempt_on_wake: true,
        fair: false,
        cache: 8192,
        flush_every: Span(1_000_000_000),
        flush_parts: 60,
    };

    /// The NCR 3433 of 004 Table 2: a 33 MHz 80486 with 44 MB, of which 40 hold the cache. The slice is not printed:
    /// it is fitted on the elevator's context switches in Table 3. The cost of a wake-up is what a further cycle of blocking and
    /// waking costs there, 0.33 ms, less two switches.
    pub const NCR_3433: SystemPlan = SystemPlan {
        slice: Span(300_000_000),
        clock_interrupt: Span(92_000),
        io_interrupt: Span(380_000),
        switch: Span(62_000),
        wakeup: Span(206_000),
        cache: 10_240,
        ..SystemPlan::PLAIN
    };

    /// The clock and the slices of today's Linux, 250 a second; the rest of its work is in what its processes were seen to
    /// compute.
    pub const LINUX: SystemPlan =
        SystemPlan { slice: Span(4_000_000), clock: Span(4_000_000), fair: true, ..SystemPlan::PLAIN };
}

pub(super) fn read(root: &Section, workloads: &[Workload]) -> Result<SystemPlan, BadInput> {
    let recorded = workloads.iter().any(|workload| matches!(workload.kind, Kind::Recorded(_)));
    let usual = if recorded { SystemPlan::LINUX } else { SystemPlan::PLAIN };
    let Some(section) = root.section("system")? else { return Ok(usual) };
    if !workloads.iter().any(|workload| workload.kind.has_processes()) {
        let what = "[system] is of use only where a workload is of processes";
        let mend = "take it out, or add a [[workload]] of kind = \"processes\", \"compression\" or \"process-flow\"";
        return Err(section.here(what, mend));
    }
    let presets = [("plain", SystemPlan::PLAIN), ("ncr-3433", SystemPlan::NCR_3433), ("linux", SystemPlan::LINUX)];
    let preset = section.choice("preset", &presets)?.unwrap_or(usual);
    let plan = SystemPlan {
        cpus: section.within("cpus", 1, MOST_CPUS)?.or(preset.cpus),
        speed: section.f64("speed")?.unwrap_or(preset.speed),
        slice: section.span("slice")?.unwrap_or(preset.slice),
        clock: section.span("clock")?.unwrap_or(preset.clock),
        clock_interrupt: section.span("clock_interrupt")?.unwrap_or(preset.clock_interrupt),
        io_interrupt: section.span("io_interrupt")?.unwrap_or(preset.io_interrupt),
        switch: section.span("switch")?.unwrap_or(preset.switch),
        wakeup: section.span("wakeup")?.unwrap_or(preset.wakeup),
        preempt_on_wake: section.bool("preempt_on_wake")?.unwrap_or(preset.preempt_on_wake),
        fair: section.bool("fair")?.unwrap_or(preset.fair),
        cache: cache(&section)?.unwrap_or(preset.cache),
        flush_every: section.span("flush_every")?.unwrap_or(preset.flush_every),
        flush_parts: section.within("flush_parts", 1, 1 << 20)?.unwrap_or(preset.flush_parts),
    };
    if !(1e-6..=1e6).contains(&plan.speed) {
        let what = format!("`speed` is {}", plan.speed);
        return Err(section.error(
            "speed",
            what,
            "give how many times as fast the processors are, 1 being those of the costs",
        ));
    }
    for (key, span) in [("slice", plan.slice), ("clock", plan.clock), ("flush_every", plan.flush_every)] {
        if span == Span::ZERO {
            return Err(section.error(key, format!("`{key}` is zero: time would stand still"), "give a longer time"));
        }
    }
    section.close()?;
    Ok(plan)
}

fn cache(section: &Section) -> Result<Option<u32>, BadInput> {
    let Some(blocks) = section.size("cache")? else { return Ok(None) };
    let pages = blocks / u64::from(PAGE);
    if !(16..=MOST_PAGES).contains(&pages) {
        let what = format!("a cache of {pages} pages of 4 KiB");
        return Err(section.error("cache", what, "give from 64KiB up to 64GiB"));
    }
    Ok(Some(pages as u32))
}
