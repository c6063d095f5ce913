//! `[scheduler]`, its part on preemption: `io`, `[scheduler.plan]`, `preemption`, `preempt_at` and
//! `[scheduler.class.NAME]`.

use super::asker::Asker;
use super::varied::{Scope, Varied};
use super::workload::CRITICALITIES;
use super::{DriveChoice, bfq, dmclock, share, value};
use block::{BadInput, Mark, Span};
use config::{Key, Section, Word, Words};
use disk::LimitPolicy;
use sched::Limits;
use sched::plan::{Budget, ClassRule, LastFua, Plan, PreemptAt, Preemption, Prefetch, Rules, Short, Split, WriteChunk};
use sched::planner::Wish;
use sched::policy::{self, Chosen, Manual, Needs};
use sched::preemption::{self as rules, HYSTERESIS};

/// Blocks of a command at most: 64 MiB.
const LONGEST_CHUNK: u64 = 1 << 17;
/// What a request is served in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Io {
    Short,
    Whole,
}

impl Words for Io {
    const WORDS: &'static [Word<Io>] = &[
        Word::new("non-preemptible", Io::Whole, "each request is one drive command"),
        Word::new("semi-preemptible", Io::Short, "many short commands, between which other requests can step in"),
    ];
}

/// Where the settings of a plan begin.
#[derive(Clone, Copy)]
enum Preset {
    VirtualIo2002,
    Plain,
}

impl Words for Preset {
    const WORDS: &'static [Word<Preset>] = &[
        Word::new("virtual-io-2002", Preset::VirtualIo2002, "the prototype of Virtual IO"),
        Word::new("plain", Preset::Plain, "the defaults of the keys below"),
    ];
}

config::keys! {
    /// Preemption: whether requests are served in short commands, and who may interrupt whom.
    pub(super) fn preemption() -> "[scheduler]";

    /// Whether requests are served whole or in short commands.
    IO: Io = word("io").usually("non-preemptible");
    /// Whose requests interrupt others.
    PREEMPTION: Preemption = word("preemption").usually("never");
    /// When the request that steps in takes the drive over.
    PREEMPT_AT: PreemptAt = word("preempt_at").usually("jit");
    /// Whether the results say what of the arm's time each class caused. Of a class that is alone they always do.
    /// With several it makes a simulation take a sixth longer.
    BILLS: bool = bool("bills").else_told("where a class or a volume has a `share`, a `floor` or a `limit`, or something is scanned");
}

config::keys! {
    /// What has to be left so that requests may still interrupt others.
    pub(super) fn budget_keys() -> "[scheduler.budget]";

    /// The share of the last seconds in which the disk had nothing to do, below which nobody interrupts.
    IDLE: f64 = share("idle").usually("0");
    /// The share of the write buffer that is free, below which nobody interrupts.
    FREE: f64 = share("free").usually("0");
}

config::keys! {
    /// How a request becomes short commands, with `io = "semi-preemptible"`.
    pub(super) fn plan_keys() -> "[scheduler.plan]";

    /// Where the other keys of the table begin.
    PRESET: Preset = word("preset").usually("plain");
    /// The most one command transfers.
    CHUNK: u64 = size("chunk").else_told("what the drive's sheet tells; in an array a whole stripe unit, if it passes in half a revolution");
    /// The expected wait for a command in progress that is wanted: chunk and split are picked, tried and reported, with the
    /// throughput that they cost.
    TARGET_WAIT: Span = span("target_wait");
    /// The longest command that is wanted; chunk and split are picked as for `target_wait`.
    MAX_WAIT: Span = span("max_wait");
    /// Whether seeks start just in time, so that the slack before them can be used.
    JIT: bool = bool("jit").else_told("true");
    /// How much sooner than needed the arm arrives. `auto`: as much as predictions turn out to be off; where too many seeks are
    /// late all the same, requests start at once for a while, and the results say so.
    OFFSET: Option<Span> = span_or("offset", "auto").else_told("auto; 1.5ms of `virtual-io-2002`");
    /// What to do where there is less slack than `offset`.
    SHORT_SLACK: Short = word("short_slack").else_told("at-once; next-revolution of `virtual-io-2002`");
    /// Whether long seeks are made in parts. How the arm is moved for one, `seek_by` of `[drive]` says: of a disk that is served by a
    /// read of one block. Where nothing moves it, seeks are whole.
    SPLIT: Split = word("split").else_told("masked; always of `virtual-io-2002`");
    /// The share of the cylinders beyond which a seek is long.
    SPLIT_BEYOND: f64 = share("split_beyond").else_told("0.5");
    /// Into how many parts a long seek is split.
    SPLIT_PARTS: u32 = within("split_parts", 2, 16).else_told("2");
    /// When slack is used to read on, for requests that wait already or come later. A request that arrives meanwhile waits for
    /// one chunk at most.
    PREFETCH: Prefetch = word("prefetch").else_told("never");
    /// The most chunks that are read ahead at once.
    PREFETCH_MOST: u32 = within("prefetch_most", 1, 64).else_told("4");
    /// The time that must be left before the seek when reading ahead ends.
    PREFETCH_MARGIN: Span = span("prefetch_margin").else_told("1ms");
    /// The most one command writes.
    WRITE_CHUNK: u64 = size("write_chunk").else_told("`chunk`; of a drive that reads between two write-backs, where neither that nor `last_chunk_fua` is given, equal parts of what passes in 7/8 of a revolution, or in 1/16 where a write goes on behind the one before");
    /// Whether the last command of a write completes on the medium (force unit access), so that no later request waits for the
    /// drive's buffer. It costs each write a revolution. `auto`: it never does, and where someone of a higher rank has come, a
    /// write follows only when it is thought to find room in the buffer at once; a drive that writes everything back before it
    /// reads is given only as much as keeps it writing. A write that itself asks for force unit access ends with a flush in any
    /// case.
    LAST_CHUNK_FUA: Option<bool> = bool_or("last_chunk_fua", "auto").else_told("auto; true of `virtual-io-2002`; false in an array");
}

config::keys! {
    /// What differs for the requests of one class.
    pub(super) fn class_keys() -> "[scheduler.class.NAME]";

    /// The policy among the class's own requests, apart from those of others: any but `smtf`, whose keys are those of
    /// `[scheduler]`. Of several such lines of one rank, the one whose oldest request came first is next.
    ORDER: &'static str = one_of("order", || orders().map(|manual| (manual.name, manual.text)).collect())
        .else_told("with the others");
    /// Whether its requests interrupt others.
    PREEMPTS: bool = bool("preempts").else_told("see `preemption`");
    /// Whether its requests can be interrupted.
    PREEMPTIBLE: bool = bool("preemptible").usually("true");
    /// With `preemption = "slo"`: the time in which 99 of 100 of its requests are to be done.
    P99: Span = span("p99");
    /// How often a failed command is given to the drive again before its request fails; flushes never are.
    RETRIES: u32 = within("retries", 0, 100).usually("0");
    /// Whether its commands have NCQ high priority, in a drive that heeds it: `high_priority` of the drive's `[queue]`. Of use with
    /// several commands in the drive. A file or a disk that is served is not told.
    HIGH_PRIORITY: bool = bool("high_priority").usually("false");
    /// The number of the command duration limit that its commands have: one of `limits` of the drive's `[queue]`, the first of which
    /// is 1; 0 is none. Of use with several commands in the drive. A file or a disk that is served is not told.
    DURATION_LIMIT: u32 = within("duration_limit", 0, 7).usually("0");
    /// Whether an array reads parts of one request from several copies at once.
    SPLIT_READS: bool = bool("split_reads").usually("false");
}

/// The policies by which the requests of one class may be ordered. How the Disk Mimic learns is said once for all classes.
fn orders() -> impl Iterator<Item = &'static Manual> {
    policy::ALL.iter().filter(|manual| manual.needs != Needs::Mimic)
}

/// How requests are served. A plan with no `chunk` leaves that to the drive's sheet.
pub(super) fn read(
    scheduler: &Section,
    drive: &DriveChoice,
    limits: Option<&Limits>,
    askers: &[Asker],
    varied: &Varied,
) -> Result<(Rules, Option<Wish>), BadInput> {
    let preemption = scheduler.value(&PREEMPTION)?;
    let preempt_at = scheduler.value(&PREEMPT_AT)?;
    let io = scheduler.value(&IO)?;
    let deep = limits.is_some_and(|limits| limits.latency.is_some());
    if let Some(queue) = drive.queue.filter(|queue| io == Io::Short && *queue > 1 && !deep) {
        let what = format!("requests in short commands are given to the drive one at a time, not {queue}");
        let mend = "take `queue` out of [drive], set io = \"non-preemptible\", or give a `latency` in [scheduler.queue]: \
                    then they are whole, and many at once, while nobody urgent may come";
        return Err(scheduler.error("io", what, mend));
    }
    let section = scheduler.section("plan")?;
    let (plan, wish) = match (io, section) {
        (Io::Short, section) => plan(section.as_ref())?,
        (_, None) => (None, None),
        (_, Some(section)) => {
            let mend = "add io = \"semi-preemptible\" to [scheduler], or take [scheduler.plan] out";
            return Err(section.here("a plan is of use only where requests are served in short commands", mend));
        }
    };
    if preemption.weighs() && plan.is_none() {
        let what =
            "by value, or for what was promised, requests are interrupted only where they are served in short commands";
        return Err(scheduler.error("preemption", what, "add io = \"semi-preemptible\""));
    }
    for key in rules::ALL.iter().flat_map(|manual| manual.keys) {
        let users = rules::ALL.iter().filter(|manual| manual.keys.iter().any(|its| its.name == key.name));
        let users: Vec<_> = users.map(|manual| manual.name).collect();
        varied.belongs(Scope::Scheduler, scheduler, key.name, PREEMPTION.name(), &users)?;
    }
    let hysteresis = scheduler.value(&HYSTERESIS)?;
    let budget = scheduler.section("budget")?.map(|section| budget(&section)).transpose()?;
    let classes = classes(scheduler, drive, askers, preemption, varied)?;
    let bills = scheduler.get(&BILLS)?.unwrap_or(false);
    if preemption == Preemption::Slo && classes.iter().all(|class| class.p99.is_none()) {
        let mend = "give a class a `p99` in [scheduler.class.NAME]";
        return Err(scheduler.error("preemption", "nothing is promised to any class", mend));
    }
    Ok((
        Rules {
            plan,
            preemption,
            preempt_at,
            hysteresis,
            budget,
            keeps_writes: false,
            tells: false,
            bills,
            classes,
            ..Rules::default()
        },
        wish,
    ))
}

/// Reads `[scheduler.budget]`: how long a decision may take.
fn budget(section: &Section) -> Result<Budget, BadInput> {
    let budget = Budget { idle: section.value(&IDLE)?, free: section.value(&FREE)? };
    section.close()?;
    Ok(budget)
}

fn plan(section: Option<&Section>) -> Result<(Option<Plan>, Option<Wish>), BadInput> {
    let Some(section) = section else { return Ok((Some(Plan::of_chunk(0)), None)) };
    let preset = match section.value(&PRESET)? {
        Preset::VirtualIo2002 => Plan::VIRTUAL_IO_2002,
        Preset::Plain => Plan::of_chunk(0),
    };
    let plan = Plan {
        chunk: chunk(section, &CHUNK)?.unwrap_or(preset.chunk),
        late: preset.late,
        write_chunk: chunk(section, &WRITE_CHUNK)?.map_or(preset.write_chunk, WriteChunk::Blocks),
        jit: section.get(&JIT)?.unwrap_or(preset.jit),
        offset: section.get(&OFFSET)?.unwrap_or(preset.offset),
        short: section.get(&SHORT_SLACK)?.unwrap_or(preset.short),
        split: section.get(&SPLIT)?.unwrap_or(preset.split),
        split_beyond: section.get(&SPLIT_BEYOND)?.unwrap_or(preset.split_beyond),
        split_parts: section.get(&SPLIT_PARTS)?.unwrap_or(preset.split_parts),
        prefetch: section.get(&PREFETCH)?.unwrap_or(preset.prefetch),
        prefetch_most: section.get(&PREFETCH_MOST)?.unwrap_or(preset.prefetch_most),
        prefetch_margin: section.get(&PREFETCH_MARGIN)?.unwrap_or(preset.prefetch_margin),
        last_fua: section.get(&LAST_CHUNK_FUA)?.map_or(preset.last_fua, last_fua),
    };
    let wish = match (section.get(&TARGET_WAIT)?, section.get(&MAX_WAIT)?) {
        (Some(_), Some(_)) => {
            return Err(section.error("max_wait", "both target_wait and max_wait", "keep one of them"));
        }
        (Some(expected), None) => Some(Wish::Expected(expected)),
        (None, longest) => longest.map(Wish::Longest),
    };
    if wish.is_some()
        && let Some(key) =
            [CHUNK.name(), SPLIT.name(), SPLIT_BEYOND.name(), SPLIT_PARTS.name()].iter().find(|key| section.has(key))
    {
        let mend = "take it out, or give no wait that is wanted";
        return Err(section.error(key, format!("`{key}` is picked so that the wait wanted is kept"), mend));
    }
    section.close()?;
    Ok((Some(plan), wish))
}

/// Where the last command of a write completes: on the medium or not, or wherever it pays.
fn last_fua(said: Option<bool>) -> LastFua {
    match said {
        None => LastFua::Auto,
        Some(true) => LastFua::Always,
        Some(false) => LastFua::Never,
    }
}

/// Most blocks of a command, where the file says.
fn chunk(section: &Section, key: &Key<u64>) -> Result<Option<u32>, BadInput> {
    let Some(blocks) = section.get(key)? else { return Ok(None) };
    if blocks == 0 || blocks > LONGEST_CHUNK {
        let what = format!("a chunk of {blocks} blocks");
        return Err(section.error(key.name(), what, "give from one block up to 64 MiB"));
    }
    Ok(Some(blocks as u32))
}

/// What of preemption differs by class, in the order in which the classes first appear.
fn classes(
    scheduler: &Section,
    drive: &DriveChoice,
    askers: &[Asker],
    preemption: Preemption,
    varied: &Varied,
) -> Result<Vec<ClassRule>, BadInput> {
    let names = names(askers);
    let mut rules: Vec<ClassRule> = names
        .iter()
        .map(|name| ClassRule {
            preempts: preempts(name, askers, preemption),
            worth: value::usual(askers),
            ..ClassRule::USUAL
        })
        .collect();
    let Some(section) = scheduler.section("class")? else { return Ok(rules) };
    for (name, rule) in names.iter().zip(&mut rules) {
        let Some(class) = section.section(name)? else { continue };
        rule.order = order(&class, scheduler)?;
        rule.preempts = class.get(&PREEMPTS)?.unwrap_or(rule.preempts);
        rule.preemptible = class.value(&PREEMPTIBLE)?;
        varied.belongs(Scope::Scheduler, &class, P99.name(), "preemption", &["slo"])?;
        rule.p99 = class.get(&P99)?;
        rule.retries = class.value(&RETRIES)? as u8;
        rule.splits = class.value(&SPLIT_READS)?;
        rule.mark = mark(&class, drive)?;
        rule.claim = share::of_class(&class)?;
        rule.iops = dmclock::read(&class, varied)?;
        rule.weight = bfq::read(&class, varied)?;
        rule.worth = value::read(&class, name, askers)?;
        class.close()?;
    }
    section.close()?;
    Ok(rules)
}

/// What the commands of a class ask of the drive, which must know it.
fn mark(class: &Section, drive: &DriveChoice) -> Result<Mark, BadInput> {
    let high = class.value(&HIGH_PRIORITY)?;
    let number = class.value(&DURATION_LIMIT)? as u8;
    if !high && number == 0 {
        return Ok(Mark::Plain);
    }
    if high && number > 0 {
        let what = "high priority, and a duration limit too: drives take one or the other";
        return Err(class.error(DURATION_LIMIT.name(), what, "keep one of them"));
    }
    let queue = drive.make_model().ok().and_then(|model| model.queue()).unwrap_or_default();
    if high && !queue.high_priority {
        let what = "the drive heeds no high priority";
        return Err(class.error(HIGH_PRIORITY.name(), what, "add high_priority = true to [drive], or take it out"));
    }
    if !high && queue.limit(number).is_none() {
        let what = format!("the drive keeps no limit of number {number}");
        let mend = "add it to [drive], such as limits = [\"inactive 50ms\"], or take it out";
        return Err(class.error(DURATION_LIMIT.name(), what, mend));
    }
    Ok(if high { Mark::High } else { Mark::Limit(number) })
}

/// Refuses commands that a drive of an array may give up: a write that fails is of a disk that fails.
pub(super) fn check_array(root: &Section, drive: &DriveChoice, rules: &Rules) -> Result<(), BadInput> {
    let limit = |class: &ClassRule| if let Mark::Limit(number) = class.mark { Some(number) } else { None };
    let queue = || drive.make_model().ok().and_then(|model| model.queue()).unwrap_or_default();
    let given_up = |number| queue().limit(number).is_some_and(|limit| limit.policy != LimitPolicy::Late);
    if rules.classes.iter().filter_map(limit).any(given_up) {
        let what = "a drive that gives up commands at their duration limit would be taken for one that fails";
        return Err(root.error("array", what, "let the policy of the limit be `late`, or take `duration_limit` out"));
    }
    Ok(())
}

/// The policy by which the requests of a class are ordered; its keys are those of [scheduler].
fn order(class: &Section, scheduler: &Section) -> Result<Option<Chosen>, BadInput> {
    match class.get(&ORDER)? {
        Some(name) => policy::read(name, scheduler),
        None => Ok(None),
    }
}

/// The classes in the order in which they first appear: a class's number is its place here.
pub(super) fn names<'a>(askers: &[Asker<'a>]) -> Vec<&'a str> {
    if askers.iter().any(|asker| asker.processes) {
        return CRITICALITIES.to_vec();
    }
    let mut names: Vec<&str> = Vec::new();
    for asker in askers {
        if !names.contains(&asker.class) {
            names.push(asker.class);
        }
    }
    names
}

/// Whether a class preempts, where the file does not say. By priority all do. With `always`, those of more than the
/// lowest priority; where there is only one priority, those whose requests are all shorter than the longest.
fn preempts(class: &str, askers: &[Asker], preemption: Preemption) -> bool {
    if preemption != Preemption::Always {
        return true;
    }
    if askers.iter().any(|asker| asker.processes) {
        return class != "noncritical";
    }
    let of_class = || askers.iter().filter(|asker| asker.class == class);
    let least = askers.iter().map(|asker| asker.priority).min();
    if askers.iter().any(|asker| Some(asker.priority) > least) {
        return of_class().any(|asker| Some(asker.priority) > least);
    }
    let longest = askers.iter().map(|asker| asker.length).max();
    of_class().all(|asker| Some(asker.length) < longest)
}
