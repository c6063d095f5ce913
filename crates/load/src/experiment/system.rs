//! `[system]`: the machine around the disk, for workloads that are processes (the process-flow model, 004 Table 2).

use super::{PAGE, Workload};
use crate::workload::manuals;
use block::{BadInput, Span};
use config::{Key, Section, Word, Words};

/// The most pages of a cache: 64 GiB.
const MOST_PAGES: u64 = 1 << 24;

config::keys! {
    /// The machine around the disk, for workloads that are processes. What the system's own work costs is given for a processor of
    /// speed 1. The defaults here are those of `preset = "plain"`.
    pub(super) fn system() -> "[system]";

    /// The machine whose values hold for the keys that are not given.
    PRESET: SystemPlan = word("preset").else_told("plain; linux for `process-flow`");
    /// How many processors the machine has.
    CPUS: u32 = within("cpus", 1, 1024).else_told("1; for `process-flow` as many as the recorded machine has");
    /// How many times as fast the processors are as the costs below say, or as the recorded ones were.
    SPEED: f64 = number("speed", 1e-6, 1e6).else_told("1");
    /// How long a process runs before another that is ready has its turn.
    SLICE: Span = span("slice").else_told("100ms");
    /// Time from one clock interrupt to the next.
    CLOCK: Span = span("clock").else_told("10ms");
    /// What a clock interrupt costs.
    CLOCK_INTERRUPT: Span = span("clock_interrupt").else_told("0s");
    /// What the interrupt at the end of a request costs.
    IO_INTERRUPT: Span = span("io_interrupt").else_told("0s");
    /// What switching to a process costs.
    SWITCH: Span = span("switch").else_told("0s");
    /// What it costs to block a process and to make it ready again, besides the switches.
    WAKEUP: Span = span("wakeup").else_told("0s");
    /// Whether a process that wakes up takes the processor at once.
    PREEMPT_ON_WAKE: bool = bool("preempt_on_wake").else_told("true");
    /// Whether the process that has had the least processor time runs next, and preempts only then. Otherwise processes take turns.
    FAIR: bool = bool("fair").else_told("false");
    /// Whether requests that somebody waits for, or will, have a deadline: the time by which the system thinks that likely. It drops
    /// none; `policy = "edf"` goes by it.
    LIMITS: bool = bool("limits").else_told("false");
    /// Whether what the holder of a lock waits for is critical as soon as another waits for the lock.
    INHERIT: bool = bool("inherit").else_told("true");
    /// Size of the buffer cache, which holds pages of 4 KiB.
    CACHE: u64 = size("cache").else_told("32MiB");
    /// Size of the pieces of the cache that were used one page after the other before the machine is started, the pieces in no order.
    /// The larger they are, the more dirty pages lie together, and the more are written out at once.
    CACHE_PIECE: u64 = size("cache_piece").else_told("4KiB; pages were used in no order");
    /// How often dirty pages are written out.
    FLUSH_EVERY: Span = span("flush_every").else_told("1s");
    /// Which share of the cache is written out then: one of this many parts.
    FLUSH_PARTS: u32 = within("flush_parts", 1, 1 << 20).else_told("60");
}

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
    /// Whether requests are given the time by which somebody is likely to wait for them.
    pub limits: bool,
    /// Whether waiting for a lock is waiting for what its holder waits for.
    pub inherit: bool,
    /// Pages of the buffer cache.
    pub cache: u32,
    /// Pages of a piece that was used in order before the machine is started.
    pub cache_piece: u32,
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
        limits: false,
        inherit: true,
        cache: 8192,
        cache_piece: 1,
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

impl Words for SystemPlan {
    const WORDS: &'static [Word<SystemPlan>] = &[
        Word::new("plain", SystemPlan::PLAIN, "a machine whose own work costs nothing"),
        Word::new(
            "ncr-3433",
            SystemPlan::NCR_3433,
            "the machine of The Process-Flow Model (1993): a 33 MHz 80486 with a cache of 40 MiB and slices of 300 ms",
        ),
        Word::new("linux", SystemPlan::LINUX, "slices and clock of 4 ms, and `fair`"),
    ];
}

pub(super) fn read(root: &Section, workloads: &[Workload]) -> Result<SystemPlan, BadInput> {
    let recorded = workloads.iter().any(|workload| workload.kind.is_machine());
    let usual = if recorded { SystemPlan::LINUX } else { SystemPlan::PLAIN };
    let Some(section) = root.section(system().name())? else { return Ok(usual) };
    if !workloads.iter().any(|workload| workload.kind.has_processes()) {
        let what = "[system] is of use only where a workload is of processes";
        let kinds: Vec<_> = manuals().filter(|kind| kind.processes).map(|kind| format!("\"{}\"", kind.name)).collect();
        let mend = format!("take it out, or add a [[workload]] of kind = {}", kinds.join(" or "));
        return Err(section.here(what, mend));
    }
    let preset = section.get(&PRESET)?.unwrap_or(usual);
    let time = |key: &Key<Span>, usual| -> Result<Span, BadInput> { Ok(section.get(key)?.unwrap_or(usual)) };
    let plan = SystemPlan {
        cpus: section.get(&CPUS)?.or(preset.cpus),
        speed: section.get(&SPEED)?.unwrap_or(preset.speed),
        slice: time(&SLICE, preset.slice)?,
        clock: time(&CLOCK, preset.clock)?,
        clock_interrupt: time(&CLOCK_INTERRUPT, preset.clock_interrupt)?,
        io_interrupt: time(&IO_INTERRUPT, preset.io_interrupt)?,
        switch: time(&SWITCH, preset.switch)?,
        wakeup: time(&WAKEUP, preset.wakeup)?,
        preempt_on_wake: section.get(&PREEMPT_ON_WAKE)?.unwrap_or(preset.preempt_on_wake),
        fair: section.get(&FAIR)?.unwrap_or(preset.fair),
        limits: section.get(&LIMITS)?.unwrap_or(preset.limits),
        inherit: section.get(&INHERIT)?.unwrap_or(preset.inherit),
        cache: cache(&section)?.unwrap_or(preset.cache),
        cache_piece: piece(&section)?.unwrap_or(preset.cache_piece),
        flush_every: time(&FLUSH_EVERY, preset.flush_every)?,
        flush_parts: section.get(&FLUSH_PARTS)?.unwrap_or(preset.flush_parts),
    };
    for (key, span) in [(SLICE, plan.slice), (CLOCK, plan.clock), (FLUSH_EVERY, plan.flush_every)] {
        if span == Span::ZERO {
            let what = format!("`{}` is zero: time would stand still", key.name());
            return Err(section.error(key.name(), what, "give a longer time"));
        }
    }
    refuse_endless_clock(&section, &plan)?;
    section.close()?;
    Ok(plan)
}

/// Every processor handles every interrupt of the clock: processes have what is left of its time, and must have some.
fn refuse_endless_clock(section: &Section, plan: &SystemPlan) -> Result<(), BadInput> {
    let handling = plan.clock_interrupt.0 as f64 / plan.speed;
    if handling < plan.clock.0 as f64 {
        return Ok(());
    }
    let given = [CLOCK_INTERRUPT.name(), CLOCK.name(), SPEED.name()].into_iter().find(|key| section.has(key));
    let what = format!(
        "a clock interrupt costs {} ms on these processors, and one comes every {} ms: processes would have no time",
        handling / 1e6,
        plan.clock.as_ms()
    );
    let mend = format!("give a longer `{}` or a shorter `{}`", CLOCK.name(), CLOCK_INTERRUPT.name());
    Err(section.error(given.unwrap_or(PRESET.name()), what, mend))
}

/// Pages of the buffer cache, where the file says.
fn cache(section: &Section) -> Result<Option<u32>, BadInput> {
    let Some(blocks) = section.get(&CACHE)? else { return Ok(None) };
    let pages = blocks / u64::from(PAGE);
    if !(16..=MOST_PAGES).contains(&pages) {
        let what = format!("a cache of {pages} pages of 4 KiB");
        return Err(section.error(CACHE.name(), what, "give from 64KiB up to 64GiB"));
    }
    Ok(Some(pages as u32))
}

/// Pages of a piece of the cache, where the file says.
fn piece(section: &Section) -> Result<Option<u32>, BadInput> {
    let Some(blocks) = section.get(&CACHE_PIECE)? else { return Ok(None) };
    let pages = blocks / u64::from(PAGE);
    if pages == 0 {
        let what = "a piece of the cache is less than a page";
        return Err(section.error(CACHE_PIECE.name(), what, "give 4KiB or more"));
    }
    Ok(Some(pages.min(MOST_PAGES) as u32))
}
