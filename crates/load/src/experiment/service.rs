//! `[scheduler]`, its part on preemption: `io`, `[scheduler.plan]`, `preemption`, `preempt_at` and
//! `[scheduler.class.NAME]`.

use super::asker::Asker;
use super::varied::{Scope, Varied};
use super::workload::CRITICALITIES;
use super::{DriveChoice, value};
use block::{BadInput, Span, units};
use config::Section;
use sched::plan::{Budget, ClassRule, Plan, PreemptAt, Preemption, Prefetch, Rules, Short, Split};
use sched::planner::Wish;
use sched::{Limits, policy};

/// Blocks of a command at most: 64 MiB.
const LONGEST_CHUNK: u64 = 1 << 17;
/// The paper's preset, and none.
const PRESETS: [(&str, Plan); 2] = [("virtual-io-2002", Plan::VIRTUAL_IO_2002), ("plain", Plan::of_chunk(0))];

/// How requests are served. A plan with no `chunk` leaves that to the drive's sheet.
pub(super) fn read(
    scheduler: &Section,
    drive: &DriveChoice,
    limits: Option<&Limits>,
    askers: &[Asker],
    varied: &Varied,
) -> Result<(Rules, Option<Wish>), BadInput> {
    let preemptions = [
        ("never", Preemption::Never),
        ("always", Preemption::Always),
        ("priority", Preemption::Priority),
        ("conservative", Preemption::Conservative),
        ("aggressive", Preemption::Aggressive),
        ("lookahead", Preemption::Lookahead),
        ("slo", Preemption::Slo),
    ];
    let preemption = scheduler.choice("preemption", &preemptions)?.unwrap_or_default();
    let times = [("jit", PreemptAt::Jit), ("command", PreemptAt::Command)];
    let preempt_at = scheduler.choice("preempt_at", &times)?.unwrap_or_default();
    let short = scheduler.choice("io", &[("semi-preemptible", true), ("non-preemptible", false)])?;
    let deep = limits.is_some_and(|limits| limits.latency.is_some());
    if let Some(queue) = drive.queue.filter(|queue| short == Some(true) && *queue > 1 && !deep) {
        let what = format!("requests in short commands are given to the drive one at a time, not {queue}");
        let mend = "take `queue` out of [drive], set io = \"non-preemptible\", or give a `latency` in [scheduler.queue]: \
                    then they are whole, and many at once, while nobody urgent may come";
        return Err(scheduler.error("io", what, mend));
    }
    let section = scheduler.section("plan")?;
    let (plan, wish) = match (short, section) {
        (Some(true), section) => plan(section.as_ref())?,
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
    varied.belongs(
        Scope::Scheduler,
        scheduler,
        "hysteresis",
        "preemption",
        &["conservative", "aggressive", "lookahead"],
    )?;
    let hysteresis = scheduler.f64("hysteresis")?;
    if let Some(times) = hysteresis.filter(|times| !(1.0..=1e6).contains(times)) {
        return Err(scheduler.error("hysteresis", format!("`hysteresis` is {times}"), "give a number from 1 on"));
    }
    let budget = scheduler.section("budget")?.map(|section| budget(&section)).transpose()?;
    let classes = classes(scheduler, askers, preemption, varied)?;
    if preemption == Preemption::Slo && classes.iter().all(|class| class.p99.is_none()) {
        let mend = "give a class a `p99` in [scheduler.class.NAME]";
        return Err(scheduler.error("preemption", "nothing is promised to any class", mend));
    }
    let hysteresis = hysteresis.unwrap_or(1.0);
    Ok((Rules { plan, preemption, preempt_at, hysteresis, budget, keeps_writes: false, tells: false, classes }, wish))
}

/// `[scheduler.budget]`.
fn budget(section: &Section) -> Result<Budget, BadInput> {
    let budget = Budget { idle: section.share("idle")?.unwrap_or(0.0), free: section.share("free")?.unwrap_or(0.0) };
    section.close()?;
    Ok(budget)
}

fn plan(section: Option<&Section>) -> Result<(Option<Plan>, Option<Wish>), BadInput> {
    let Some(section) = section else { return Ok((Some(Plan::of_chunk(0)), None)) };
    let preset = section.choice("preset", &PRESETS)?.unwrap_or(Plan::of_chunk(0));
    let shorts = [("next-revolution", Short::NextRevolution), ("at-once", Short::AtOnce)];
    let splits = [("never", Split::Never), ("always", Split::Always), ("masked", Split::Masked)];
    let prefetches = [("never", Prefetch::Never), ("streams", Prefetch::Streams), ("always", Prefetch::Always)];
    let plan = Plan {
        chunk: chunk(section)?.unwrap_or(preset.chunk),
        jit: section.bool("jit")?.unwrap_or(preset.jit),
        offset: section.quantity("offset", offset)?.unwrap_or(preset.offset),
        short: section.choice("short_slack", &shorts)?.unwrap_or(preset.short),
        split: section.choice("split", &splits)?.unwrap_or(preset.split),
        split_beyond: section.share("split_beyond")?.unwrap_or(preset.split_beyond),
        split_parts: section.within("split_parts", 2, 16)?.unwrap_or(preset.split_parts),
        prefetch: section.choice("prefetch", &prefetches)?.unwrap_or(preset.prefetch),
        prefetch_most: section.within("prefetch_most", 1, 64)?.unwrap_or(preset.prefetch_most),
        prefetch_margin: section.span("prefetch_margin")?.unwrap_or(preset.prefetch_margin),
        last_fua: section.bool("last_chunk_fua")?.unwrap_or(preset.last_fua),
    };
    let wish = match (section.span("target_wait")?, section.span("max_wait")?) {
        (Some(_), Some(_)) => {
            return Err(section.error("max_wait", "both target_wait and max_wait", "keep one of them"));
        }
        (Some(expected), None) => Some(Wish::Expected(expected)),
        (None, longest) => longest.map(Wish::Longest),
    };
    if wish.is_some()
        && let Some(key) = ["chunk", "split", "split_beyond", "split_parts"].iter().find(|key| section.has(key))
    {
        let mend = "take it out, or give no wait that is wanted";
        return Err(section.error(key, format!("`{key}` is picked so that the wait wanted is kept"), mend));
    }
    section.close()?;
    Ok((Some(plan), wish))
}

/// A time, or `auto`.
fn offset(text: &str) -> Result<Option<Span>, String> {
    if text == "auto" { Ok(None) } else { units::span(text).map(Some) }
}

/// Most blocks of a command, where the file says.
fn chunk(section: &Section) -> Result<Option<u32>, BadInput> {
    let Some(blocks) = section.size("chunk")? else { return Ok(None) };
    if blocks == 0 || blocks > LONGEST_CHUNK {
        let what = format!("a chunk of {blocks} blocks");
        return Err(section.error("chunk", what, "give from one block up to 64 MiB"));
    }
    Ok(Some(blocks as u32))
}

/// What of preemption differs by class, in the order in which the classes first appear.
fn classes(
    scheduler: &Section,
    askers: &[Asker],
    preemption: Preemption,
    varied: &Varied,
) -> Result<Vec<ClassRule>, BadInput> {
    let names = names(askers);
    let mut rules: Vec<ClassRule> = names
        .iter()
        .map(|name| ClassRule { preempts: preempts(name, askers, preemption), ..ClassRule::USUAL })
        .collect();
    let Some(section) = scheduler.section("class")? else { return Ok(rules) };
    for (name, rule) in names.iter().zip(&mut rules) {
        let Some(class) = section.section(name)? else { continue };
        rule.order = order(&class)?;
        rule.preempts = class.bool("preempts")?.unwrap_or(rule.preempts);
        rule.preemptible = class.bool("preemptible")?.unwrap_or(rule.preemptible);
        varied.belongs(Scope::Scheduler, &class, "p99", "preemption", &["slo"])?;
        rule.p99 = class.span("p99")?;
        rule.retries = class.within("retries", 0, 100)?.map_or(rule.retries, |times| times as u8);
        rule.splits = class.bool("split_reads")?.unwrap_or(rule.splits);
        rule.worth = value::read(&class, name, askers)?;
        class.close()?;
    }
    section.close()?;
    Ok(rules)
}

/// The policy by which the requests of a class are ordered.
fn order(class: &Section) -> Result<Option<&'static str>, BadInput> {
    // What `smtf` learns under is said once for all.
    let orders: Vec<_> = policy::NAMES.iter().filter(|name| **name != "smtf").map(|name| (*name, *name)).collect();
    class.choice("order", &orders)
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
