//! What an experiment is about, in a few lines: title, drive, load, scheduler, run. What is varied is left to the table.

use super::number;
use block::{Span, Time, units};
use load::experiment::{
    AddressPattern, ArrayChoice, Arrivals, Believed, Bound, Case, ClosedPlan, CodedRepairPlan, Experiment, Fit,
    GrowPlan, Kind, Like, MadeUpPlan, OpenPlan, PAGE, Pace, Pattern, Predictor, Region, RepairPlan, ReplayTiming,
    ScanPlan, Sizes, StreamsPlan, TraceChoice, Workload, ZoneWrites,
};
use sched::array::Level;
use sched::plan::Preemption;
use std::path::Path;

/// The lines above the table.
pub fn setting(cases: &[Case]) -> String {
    let Some(first) = cases.first() else { return String::new() };
    let mut text = format!(" {}\n\n", first.experiment.title);
    let mut line = |name: &str, words: Vec<String>| {
        if !words.is_empty() {
            text += &format!(" {name:<9}  {}\n", words.join(", "));
        }
    };
    line("drive", constant(cases, drive));
    for index in 0..first.experiment.workloads.len() {
        let several = first.experiment.workloads.len() > 1;
        line(
            if index == 0 { "load" } else { "" },
            constant(cases, |experiment| workload(&experiment.workloads[index], several)),
        );
    }
    line("scheduler", constant(cases, scheduler));
    line("run", constant(cases, run));
    text
}

/// The words of the first case that all cases share.
fn constant(cases: &[Case], words: impl Fn(&Experiment) -> Vec<String>) -> Vec<String> {
    let all: Vec<Vec<String>> = cases.iter().map(|case| words(&case.experiment)).collect();
    all[0].iter().filter(|word| all.iter().all(|words| words.contains(word))).cloned().collect()
}

fn drive(experiment: &Experiment) -> Vec<String> {
    let choice = &experiment.drive;
    let title = disk::catalogue::model(&choice.model).map_or(choice.model.clone(), |model| model.title().to_owned());
    // A device need not say what it is.
    let mut words: Vec<String> = Some(title).filter(|title| !title.is_empty()).into_iter().collect();
    words.extend(choice.changes.iter().map(|changes| {
        let keys: Vec<&str> = changes.root().keys().collect();
        format!("with another {}", keys.join(", "))
    }));
    let off = [
        (choice.noise, "without noise"),
        (choice.read_cache, "read cache off"),
        (choice.write_buffer, "write buffer off"),
    ];
    words.extend(off.into_iter().filter(|(on, _)| !on).map(|(_, word)| word.to_owned()));
    words.extend(choice.seek_noise.map(|by| format!("seeks vary by {:.3} ms (standard deviation)", by.as_ms())));
    words.extend(experiment.array.iter().flat_map(array));
    words.extend(choice.drift.map(|drift| {
        format!("from {:.0} s on seeks take {:+.0} %", drift.at.since(Time::ZERO).as_secs(), drift.seek * 100.0)
    }));
    words
}

fn array(array: &ArrayChoice) -> Vec<String> {
    let copies =
        if let Level::Mirrored { copies } = array.level { format!(" of {copies} copies") } else { String::new() };
    let level = format!("RAID {}{copies}", array.level.number());
    let unit = units::show_blocks(u64::from(array.unit));
    let others: Vec<&str> = array.members.chunk_by(|a, b| a.model == b.model).map(|disks| &*disks[0].model).collect();
    let disks = match others.is_empty() {
        true => format!("{} of it", array.disks),
        false => format!("{} disks ({})", array.disks, others.join(", ")),
    };
    let mut words = vec![format!("{disks} as a {level} in units of {unit}")];
    words.extend(
        (array.plan.buffer > 0).then(|| format!("a write buffer of {}", units::show_blocks(array.plan.buffer))),
    );
    let cache = array.plan.read_cache;
    words.extend((cache > 0).then(|| format!("a read cache of {}", units::show_blocks(cache))));
    words.extend(array.fails.iter().map(|failure| {
        let replaced = if failure.replaced { " and is replaced" } else { "" };
        format!("disk {} fails after {}{replaced}", failure.disk, span(failure.at))
    }));
    words
}

fn scheduler(experiment: &Experiment) -> Vec<String> {
    let scheduler = &experiment.scheduler;
    let mut words = vec![scheduler.policy.manual().name.to_owned()];
    match scheduler.predictor {
        None | Some(Predictor::Profile) => {}
        Some(Predictor::Distance) => words.push("believing in distance alone".into()),
        Some(Predictor::Mimic) if scheduler.mimic.angle => {
            words.push("believing in the times of past distances, and in angles where something turns".into());
        }
        Some(Predictor::Mimic) => words.push("believing in the times of past distances".into()),
        Some(Predictor::InUse) => words.push("learning the device in use".into()),
        Some(Predictor::Oracle) => {
            words.push("with perfect knowledge of the drive (oracle): a bound, not a scheduler".into())
        }
    }
    match scheduler.rules.preemption {
        Preemption::Conservative => words.push("interrupting where both together yield more".into()),
        Preemption::Aggressive => words.push("interrupting where the newcomer yields more for its time".into()),
        Preemption::Lookahead => words.push("interrupting where whole schedules of all that wait yield more".into()),
        Preemption::Slo => words.push("interrupting where else a promise would not be kept".into()),
        Preemption::Never | Preemption::Always | Preemption::Priority => {}
    }
    match &scheduler.profile {
        Believed::Sheet => {}
        Believed::Learned => words.push("believing a profile of another drive of the same make".into()),
        Believed::Drive(model) => words.push(format!("believing {model}")),
    }
    words
}

fn run(experiment: &Experiment) -> Vec<String> {
    let plan = &experiment.run;
    let mut words = Vec::new();
    words.extend(plan.duration.map(span));
    words.extend(plan.requests.map(|requests| format!("{} requests", number::count(requests))));
    if plan.warmup > Span::ZERO {
        words.push(format!("the first {} not counted", span(plan.warmup)));
    }
    if plan.replications > 1 {
        words.push(format!("{} replications", plan.replications));
    }
    words.push(format!("seed {}", plan.seed));
    words
}

fn repair(RepairPlan { blocks, depth, start, again, rate, drain_above }: &RepairPlan) -> Vec<String> {
    let what = if *again { "scrubbing" } else { "rebuilding" };
    let mut words = vec![format!("{what}, {} each, {depth} at once", units::show_blocks(u64::from(*blocks)))];
    words.extend((*start > Span::ZERO).then(|| format!("from {} on", span(*start))));
    words.extend(rate.map(|rate| format!("at most {rate} a second")));
    words.extend(drain_above.map(|above| format!("above {above} a second each waits for those before it")));
    words
}

fn growth(GrowPlan { blocks, start, rate, .. }: &GrowPlan) -> Vec<String> {
    let mut words = vec![format!("growing, {} at a time", units::show_blocks(u64::from(*blocks)))];
    words.extend((*start > Span::ZERO).then(|| format!("from {} on", span(*start))));
    words.extend(rate.map(|rate| format!("at most {rate} a second")));
    words
}

fn coded_repair(plan: &CodedRepairPlan) -> Vec<String> {
    let CodedRepairPlan { code, group, used, within, blocks, lost, .. } = plan;
    let (disks, size) = (number::count(u64::from(*group)), units::show_blocks(u64::from(*blocks)));
    let of = units::show_blocks(*used);
    let (data, parities) = (code.data, code.parities);
    let what = format!("a disk's part in the repair of {lost} of {disks} disks, {of} each within {}", span(*within));
    vec![what, format!("coded {data}+{parities} in parts of {size}")]
}

fn workload(workload: &Workload, named: bool) -> Vec<String> {
    let mut words = match &workload.kind {
        Kind::Trace(trace) => replay(trace),
        Kind::Repair(plan) => repair(plan),
        Kind::Grow(plan) => growth(plan),
        Kind::CodedRepair(plan) => coded_repair(plan),
        Kind::MadeUp(MadeUpPlan { like, days, region, pace }) => {
            let system = if *like == Like::Cello { "cello" } else { "hplajw" };
            let mut words = vec![format!("{days} days like those of {system}, of 1992")];
            words.extend(describe_pace(pace));
            words.extend(region.map(within));
            words
        }
        Kind::Open(plan) => arrivals(plan),
        Kind::Streams(plan) => streams(plan),
        Kind::Compression(plan) => vec![
            processes(plan.processes),
            format!("each compressing {} to {}", pages(plan.input), pages(plan.output)),
            format!("{} of computing a page", span(plan.compute.mean)),
        ],
        Kind::Recorded(plan) => {
            let mut words = vec![format!("the machine recorded in {}", file_name(&plan.file))];
            words.extend(plan.device.map(|(major, minor)| format!("its device {major},{minor}")));
            words.extend(describe_fit(plan.fit));
            words
        }
        Kind::Processes(plan) => {
            let mut words = vec![processes(plan.processes)];
            words.push(format!("each computing {} between requests", span(plan.compute.mean)));
            let shares = [(plan.critical, "critical"), (plan.limited, "time-limited")];
            let shares = shares.iter().filter(|(share, _)| *share > 0.0);
            words.extend(shares.map(|(share, name)| format!("{} % {name}", number::with_decimals(share * 100.0, 0))));
            words.extend(plan.requests.map(|requests| format!("{} requests each", number::count(requests))));
            words.extend(describe_pattern(&plan.pattern));
            words
        }
        Kind::Scan(ScanPlan { unit, region }) => {
            let what = format!("scan in any order, by {}", units::show_blocks(u64::from(*unit)));
            std::iter::once(what).chain((*region != Region::WHOLE).then(|| within(*region))).collect()
        }
        Kind::Zones(ZoneWrites { zone, blocks, writers, region }) => {
            let [zone, blocks] = [zone, blocks].map(|blocks| units::show_blocks(u64::from(*blocks)));
            let mut words =
                vec![format!("{} zones of {zone} written at once, by {blocks}", number::count(u64::from(*writers)))];
            words.extend((*region != Region::WHOLE).then(|| within(*region)));
            words
        }
        Kind::Closed(ClosedPlan { depth, think, pattern, cascade }) => {
            let mut words = vec![outstanding(*depth)];
            if *think > Span::ZERO {
                words.push(format!("each thinking {}", span(*think)));
            }
            words.extend(describe_cascade(*cascade));
            words.extend(describe_pattern(pattern));
            words
        }
    };
    words.extend(workload.deadline.map(|deadline| format!("deadline {}", span(deadline))));
    if named && let Some(first) = words.first_mut() {
        *first = format!("{}: {first}", workload.name);
    }
    words
}

/// Requests that come by themselves.
fn arrivals(plan: &OpenPlan) -> Vec<String> {
    let OpenPlan { rate, arrivals, pattern, cascade } = plan;
    let spacing = match arrivals {
        Arrivals::Poisson => "Poisson",
        Arrivals::Constant => "evenly spaced",
        Arrivals::Uniform => "by uniform gaps",
    };
    let what = if *cascade > 1 { "operations" } else { "requests" };
    let mut words = vec![format!("{rate} {what}/s"), spacing.to_owned()];
    words.extend(describe_cascade(*cascade));
    words.extend(describe_pattern(pattern));
    words
}

fn streams(plan: &StreamsPlan) -> Vec<String> {
    let streams = format!("{} stream{}", number::count(plan.streams.into()), if plan.streams == 1 { "" } else { "s" });
    let mut words = vec![format!("{streams}, each {} requests/s", plan.rate)];
    if plan.jitter > 0.0 {
        words.push(format!("up to {} of a period late", plan.jitter));
    }
    words.extend(describe_pattern(&plan.pattern));
    words
}

fn processes(count: u32) -> String {
    format!("{count} process{}", if count == 1 { "" } else { "es" })
}

/// A size in pages of the buffer cache.
fn pages(count: u64) -> String {
    units::show_blocks(count * u64::from(PAGE))
}

fn replay(trace: &TraceChoice) -> Vec<String> {
    let mut words = vec![file_name(&trace.file)];
    words.extend(trace.device.as_ref().map(|device| format!("device {device}")));
    words.extend(describe_pace(&trace.pace));
    words.extend(describe_fit(trace.fit));
    words
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn describe_fit(fit: Fit) -> Option<String> {
    match fit {
        Fit::Error => None,
        Fit::Scale => Some("addresses scaled to the drive".into()),
        Fit::Wrap => Some("addresses modulo the drive".into()),
        Fit::Compact => Some("untouched parts left out".into()),
    }
}

fn describe_pace(pace: &Pace) -> Vec<String> {
    let mut words = Vec::new();
    match pace.replay {
        ReplayTiming::Open => words.push("each request at its recorded time".into()),
        ReplayTiming::Hold => words.push("each request at its recorded time, repeated ones held".into()),
        ReplayTiming::Closed => {
            words.push("in recorded order, its times left out".into());
            words.push(outstanding(pace.depth));
        }
    }
    if pace.time_scale != 1.0 {
        words.push(format!("{} × recorded speed", pace.time_scale));
    }
    words
}

fn outstanding(depth: u32) -> String {
    format!("{} request{} always outstanding", number::count(u64::from(depth)), if depth == 1 { "" } else { "s" })
}

fn describe_cascade(cascade: u32) -> Option<String> {
    (cascade > 1).then(|| format!("each {} requests one after the other", number::count(cascade.into())))
}

fn describe_pattern(pattern: &Pattern) -> Vec<String> {
    let place = if pattern.at == AddressPattern::Random { "random" } else { "sequential" };
    let what = match pattern.read {
        1.0 => "reads".to_owned(),
        0.0 => "writes".to_owned(),
        read => format!("requests ({} % reads)", (read * 1000.0).round() / 10.0),
    };
    let spread = match pattern.sizes {
        Sizes::Fixed => "each",
        Sizes::Uniform => "on average, uniformly distributed",
        Sizes::Exponential => "on average, exponentially distributed",
    };
    let mut words =
        vec![format!("{place} {what}"), format!("{} {spread}", units::show_blocks(u64::from(pattern.blocks)))];
    if pattern.region != Region::WHOLE {
        words.push(within(pattern.region));
    }
    words
}

fn within(region: Region) -> String {
    format!("from {} to {} of the drive", bound(region.from), bound(region.to))
}

fn bound(bound: Bound) -> String {
    match bound {
        Bound::Percent(percent) => format!("{percent} %"),
        Bound::Blocks(blocks) => units::show_blocks(blocks),
    }
}

fn span(span: Span) -> String {
    let seconds = span.as_secs();
    if seconds.fract() == 0.0 { format!("{} s", number::count(seconds as u64)) } else { number::seconds(seconds) }
}

#[cfg(test)]
mod tests {
    use super::super::rows::tests::short_experiment;
    use super::*;

    #[test]
    fn what_is_believed_and_who_interrupts_is_told_apart() {
        let short = "io = \"semi-preemptible\"\n";
        let yields = |rule: &str| format!("preemption = \"{rule}\"\npredictor = \"profile\"\n{short}");
        let cases: Vec<(String, &str)> = vec![
            (String::new(), "satf"),
            ("predictor = \"distance\"".into(), "distance alone"),
            ("predictor = \"mimic\"".into(), "past distances"),
            ("predictor = \"mimic\"\nmimic.second_key = \"angle\"".into(), "in angles"),
            ("predictor = \"in-use\"".into(), "learning the device"),
            ("predictor = \"oracle\"".into(), "oracle"),
            ("profile = \"learned\"".into(), "another drive"),
            ("profile = \"atlas10k\"".into(), "atlas10k"),
            (yields("conservative"), "both together"),
            (yields("aggressive"), "the newcomer"),
            (yields("lookahead"), "whole schedules"),
        ];
        let told = cases.iter().map(|(lines, _)| {
            let case = short_experiment("\"a\"", &format!("policy = \"satf\"\n{lines}")).remove(0);
            let words = scheduler(&case.experiment).join(", ");
            assert!(setting(&[case]).contains(&words), "{words:?}");
            words
        });
        let told: Vec<String> = told.collect();
        for ((lines, word), words) in cases.iter().zip(&told) {
            assert!(words.contains(word), "{words} of\n{lines}");
            assert_eq!(told.iter().filter(|other| *other == words).count(), 1, "{words}");
        }
        for word in ["in angles", "distance alone", "another drive", "the newcomer", "oracle"] {
            assert_eq!(told.iter().filter(|words| words.contains(word)).count(), 1, "{word}");
        }
    }
}
