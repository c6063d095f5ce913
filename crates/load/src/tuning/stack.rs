//! What people run a disk under today, and what may be set there: so that advice can be had for it, too, in its own words.

use super::{Knob, KnobChoice, SettingGoal, is_over_all, raise};
use crate::experiment::{ArrayChoice, Experiment, Kind, RepairPlan};
use block::{At, BLOCK_BYTES, BadInput, Mark, nearest};
use config::Document;
use disk::{DurationLimit, LimitPolicy};
use sched::array::Level;
use sched::policy;
use std::fmt;
use std::str::FromStr;

/// Software above a disk that has its own policy and its own settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stack {
    /// The block layer: `mq-deadline`, `bfq`, `kyber` or `none`, and how many commands the drive is given.
    Linux,
    /// The queues that OpenZFS has for each disk.
    Zfs,
    /// mClock as Ceph's OSDs have it.
    Ceph,
    /// An array of Linux's: what of it is repaired in a second, over the block layer of each disk.
    Md,
}

impl Stack {
    /// All stacks that can be advised for.
    pub const ALL: [Stack; 4] = [Stack::Linux, Stack::Zfs, Stack::Ceph, Stack::Md];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Stack::Linux => "linux",
            Stack::Zfs => "zfs",
            Stack::Ceph => "ceph",
            Stack::Md => "md",
        }
    }

    /// The policies that are this stack's; the first is how it comes.
    fn policies(self) -> &'static [&'static str] {
        match self {
            Stack::Linux | Stack::Md => &["mq-deadline", "bfq", "kyber"],
            Stack::Zfs => &["zfs"],
            Stack::Ceph => &["dmclock"],
        }
    }

    /// Makes an experiment one of this stack as it comes, unless the experiment has one of its policies already: its settings
    /// count then.
    pub(super) fn put_into(self, document: &mut Document, experiment: &Experiment) -> Result<(), BadInput> {
        if self == Stack::Md {
            put_speeds_into(document, experiment)?;
        }
        if self.policies().contains(&experiment.scheduler.policy.manual().name) {
            return Ok(());
        }
        document.take_out_of_root("scheduler");
        document.take_out("drive", &["queue"]);
        document.set(&format!("scheduler.policy=\"{}\"", self.policies()[0]))
    }

    /// What may be set in it, but for the drive's queue.
    pub(super) fn knobs(self, experiment: &Experiment) -> Vec<Knob> {
        match self {
            Stack::Linux => of_linux(experiment),
            Stack::Zfs => of_zfs(),
            Stack::Ceph => of_ceph(experiment),
            Stack::Md => of_md(experiment),
        }
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stack::Linux => "Linux",
            Stack::Zfs => "ZFS",
            Stack::Ceph => "Ceph",
            Stack::Md => "md",
        })
    }
}

impl FromStr for Stack {
    type Err = String;

    fn from_str(word: &str) -> Result<Stack, String> {
        let words = || Stack::ALL.iter().map(|stack| stack.word());
        let found = Stack::ALL.into_iter().find(|stack| stack.word() == word);
        found.ok_or_else(|| {
            let like = nearest(word, words()).map_or_else(String::new, |word| format!("did you mean {word}? "));
            format!("'{word}' is none of those known; {like}there are {}", words().collect::<Vec<_>>().join(", "))
        })
    }
}

/// A knob of a stack: each value with how it is set there.
fn knob(key: &str, values: &[&str], words: impl Fn(&str) -> String) -> Knob {
    let choice = |value: &&str| KnobChoice {
        takes_out: Vec::new(),
        sets: vec![format!("{key}={value}")],
        words: vec![words(value)],
    };
    Knob { name: key.into(), choices: [vec![KnobChoice::default()], values.iter().map(choice).collect()].concat() }
}

fn of_linux(experiment: &Experiment) -> Vec<Knob> {
    // What is tuned is the scheduler the experiment has already, if it has one of Linux's.
    let its = experiment.scheduler.policy.manual();
    let own = Stack::Linux.policies().contains(&its.name);
    let today = if own { its.name } else { Stack::Linux.policies()[0] };
    let keys = || {
        let manual = policy::ALL.iter().find(|manual| manual.name == today);
        manual.map_or_else(Vec::new, |manual| manual.keys.iter().map(|key| key.name).collect())
    };
    let choose = |name: &str, policy: &str, more: Vec<String>| KnobChoice {
        takes_out: vec![("scheduler", keys())],
        sets: [format!("scheduler.policy=\"{policy}\"")].into_iter().chain(more).collect(),
        words: vec![format!("echo {name} > /sys/block/DEV/queue/scheduler")],
    };
    // Without a scheduler nobody goes first; nor does anybody under Kyber.
    let flat = || {
        let first = experiment.workloads.iter().enumerate().filter(|(_, workload)| workload.priority > 0);
        first.map(|(place, _)| format!("workload.{place}.priority=0")).collect()
    };
    let others = Stack::Linux.policies().iter().filter(|name| **name != today);
    let others = others.map(|name| choose(name, name, if *name == "kyber" { flat() } else { Vec::new() }));
    let choices = [KnobChoice::default(), choose("none", "fcfs", flat())].into_iter().chain(others).collect();
    let tunable = |key: &'static str, values: &[&str]| {
        knob(&format!("scheduler.{key}"), values, |value| {
            let plain = value.trim_matches('"').trim_end_matches("ms");
            format!("echo {plain} > /sys/block/DEV/queue/iosched/{key}")
        })
    };
    let mut knobs = vec![Knob { name: "scheduler.policy".into(), choices }];
    knobs.extend(match today {
        "bfq" => {
            vec![tunable("slice_idle", &["\"0ms\"", "\"2ms\""]), tunable("timeout_sync", &["\"30ms\"", "\"60ms\""])]
        }
        "kyber" => Vec::new(),
        _ => vec![
            tunable("read_expire", &["\"50ms\"", "\"100ms\"", "\"250ms\"", "\"2000ms\""]),
            tunable("write_expire", &["\"500ms\"", "\"1000ms\"", "\"20000ms\""]),
            tunable("fifo_batch", &["1", "4", "64"]),
            tunable("writes_starved", &["1", "4", "16"]),
        ],
    });
    knobs
}

/// What the drive is told of the commands of a class, where it heeds that: of one that has a bound, or goes before all others.
///
/// Linux marks commands of the ioprio class RT as of NCQ high priority (`drivers/ata/libata-core.c`), a class that its schedulers heed,
/// too; and gives those with a hint of ioprio a duration limit (since 6.5), which changes no class. A drive has the one or the other.
pub(super) fn mark_knob(experiment: &Experiment, goal: &SettingGoal) -> Option<Knob> {
    let queue = experiment.drive.make_model().ok()?.queue()?;
    let classes = experiment.classes();
    let marked = (0..classes.len()).any(|class| experiment.scheduler.rules.class(class as u8).mark != Mark::Plain);
    let bound = |class: &str| goal.bounds.iter().any(|bound| bound.of.class.as_deref() == Some(class));
    let urgent = |class: &&&str| bound(class) || is_over_all(experiment, class);
    let mut choices = vec![KnobChoice::default()];
    for class in
        classes.iter().filter(urgent).filter(|class| !class.contains(['.', '=']) && classes.len() > 1 && !marked)
    {
        if queue.high_priority {
            let sets = [vec![format!("scheduler.class.{class}.high_priority=true")], raise(experiment, class)].concat();
            let words = vec![
                "echo 1 > /sys/block/DEV/device/ncq_prio_enable".into(),
                format!("the drive serves {class} first: ionice -c 1 for its processes"),
            ];
            choices.push(KnobChoice { sets, words, ..KnobChoice::default() });
        }
        // A drive of an array that gives up commands would be taken for one that fails.
        let is_fit = |limit: DurationLimit| experiment.array.is_none() || limit.policy == LimitPolicy::Late;
        for number in (1..=DurationLimit::MOST as u8).filter(|number| queue.limit(*number).is_some_and(is_fit)) {
            let words = vec![
                "echo 1 > /sys/block/DEV/device/cdl_enable".into(),
                format!("requests of {class} with the hint IOPRIO_HINT_DEV_DURATION_LIMIT_{number} in their ioprio"),
            ];
            let sets = vec![format!("scheduler.class.{class}.duration_limit={number}")];
            choices.push(KnobChoice { sets, words, ..KnobChoice::default() });
        }
    }
    (choices.len() > 1).then(|| Knob { name: "marks".into(), choices })
}

fn of_zfs() -> Vec<Knob> {
    let words = |key: &str, value: &str| format!("echo {value} > /sys/module/zfs/parameters/zfs_vdev_{key}");
    let plain = |key: &str, values: &[&str]| knob(&format!("scheduler.{key}"), values, |value| words(key, value));
    // What is at least in the drive follows what is at most.
    let active = |kind: &str, values: &[&str]| {
        let choice = |value: &&str| {
            let keys = [format!("{kind}_min_active"), format!("{kind}_max_active")];
            KnobChoice {
                takes_out: Vec::new(),
                sets: keys.iter().map(|key| format!("scheduler.{key}={value}")).collect(),
                words: keys.iter().map(|key| words(key, value)).collect(),
            }
        };
        let name = format!("scheduler.{kind}_max_active");
        Knob { name, choices: [vec![KnobChoice::default()], values.iter().map(choice).collect()].concat() }
    };
    vec![
        active("sync_read", &["1", "2", "4", "20"]),
        active("sync_write", &["1", "2", "4", "20"]),
        active("async_read", &["1", "2", "8"]),
        active("async_write", &["1", "4", "8"]),
        plain("scrub_max_active", &["1", "2", "8"]),
        plain("nia_delay", &["1", "20", "100"]),
        plain("nia_credit", &["1", "2", "20"]),
    ]
}

fn of_ceph(experiment: &Experiment) -> Vec<Knob> {
    let claims = [
        ("reservation", ["10", "40", "80", "160"], " requests a second"),
        ("weight", ["2", "4", "8", "16"], ""),
        ("limit", ["5", "20", "40", "80"], " requests a second"),
    ];
    let classes = experiment.classes().into_iter().filter(|class| !class.contains(['.', '=']));
    classes
        .flat_map(|class| {
            claims.map(|(key, values, unit)| {
                let path = format!("scheduler.class.{class}.dmclock.{key}");
                knob(&path, &values, |value| format!("mClock's {key} of {class}: {value}{unit}"))
            })
        })
        .collect()
}

/// `sync_speed_min` and `sync_speed_max` as md comes, in KiB a second of each disk (Linux, `drivers/md/md.c`).
const SPEEDS: [f64; 2] = [1_000.0, 200_000.0];

/// Rebuilds and scrubs of an array, by their places.
fn repairs(experiment: &Experiment) -> Vec<(usize, &RepairPlan)> {
    let all = experiment.workloads.iter().enumerate();
    let plans = all.filter_map(|(place, workload)| match &workload.kind {
        Kind::Repair(plan) => Some((place, plan)),
        _ => None,
    });
    plans.collect()
}

/// Requests of a repair in a second that are so many KiB a second of each disk.
fn requests(array: &ArrayChoice, plan: &RepairPlan, kib: f64) -> f64 {
    let holding = match array.level {
        Level::Mirrored { copies } => f64::from(array.disks) / f64::from(copies),
        level => f64::from(array.disks - level.parities()),
    };
    kib * 1024.0 * holding / (f64::from(plan.blocks) * BLOCK_BYTES as f64)
}

/// Gives repairs the speeds that md comes with, where the experiment says none.
fn put_speeds_into(document: &mut Document, experiment: &Experiment) -> Result<(), BadInput> {
    let plans = repairs(experiment);
    let (Some(array), false) = (&experiment.array, plans.is_empty()) else {
        let what = "there is no [array] with a rebuild or a scrub, of which md sets the speed";
        return Err(BadInput::new(
            "--stack md",
            At::File,
            what,
            "begin with `halfturn example rebuilding`, or take linux",
        ));
    };
    for (place, plan) in plans {
        for (key, given, kib) in [("drain_above", plan.drain_above, SPEEDS[0]), ("rate", plan.rate, SPEEDS[1])] {
            if given.is_none() {
                document.set(&format!("workload.{place}.{key}=\"{}/s\"", requests(array, plan, kib)))?;
            }
        }
    }
    Ok(())
}

/// The speeds of repairs, and the scheduler of the disks under it.
fn of_md(experiment: &Experiment) -> Vec<Knob> {
    let Some(array) = &experiment.array else { return Vec::new() };
    let speeds: [(&str, &str, [u32; 4]); 2] = [
        ("rate", "sync_speed_max", [5_000, 20_000, 50_000, 100_000]),
        ("drain_above", "sync_speed_min", [5_000, 20_000, 50_000, 200_000]),
    ];
    let mut knobs = Vec::new();
    for (place, plan) in repairs(experiment) {
        for (key, name, values) in speeds {
            let choice = |kib: u32| KnobChoice {
                takes_out: Vec::new(),
                sets: vec![format!("workload.{place}.{key}=\"{}/s\"", requests(array, plan, f64::from(kib)))],
                words: vec![format!("echo {kib} > /sys/block/MD/md/{name}")],
            };
            let choices = [vec![KnobChoice::default()], values.into_iter().map(choice).collect()].concat();
            knobs.push(Knob { name: format!("workload.{place}.{key}"), choices });
        }
    }
    knobs.extend(of_linux(experiment));
    knobs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Case, read};
    use std::path::Path;

    /// An experiment of a level with so many disks, whose rebuild says this besides.
    fn rebuilding(level: &str, disks: u32, more: &str) -> (Document, Experiment) {
        let text = format!(
            "[[disk]]\nmodel = \"atlas10k\"\ncount = {disks}\n[array]\nlevel = \"{level}\"\n[[array.fails]]\ndisk = 0\nat = \"0s\"\n\
             replaced = true\n[scheduler]\npolicy = \"satf\"\n[[workload]]\nname = \"users\"\nkind = \"open\"\nrate = \"9/s\"\n\
             size = \"4KiB\"\n[[workload]]\nname = \"rebuild\"\nkind = \"rebuild\"\nsize = \"1MiB\"\n{more}[run]\nduration = \"9s\"\n"
        );
        let document = Document::parse("r.toml", &text).expect("TOML");
        let mut cases: Vec<Case> = read(document.clone(), Path::new("r.toml"), &[], None).expect("an experiment");
        (document, cases.remove(0).experiment)
    }

    #[test]
    fn speeds_of_md_are_those_of_each_disk() {
        // 1,024 KiB of each disk a second are so many requests of 1 MiB as disks hold data of their own.
        for (level, disks, holding) in [("5", 5, 4.0), ("6", 5, 3.0), ("0/1", 4, 2.0)] {
            let (_, experiment) = rebuilding(level, disks, "");
            let (array, plan) = (experiment.array.as_ref().expect("an array"), repairs(&experiment)[0].1);
            assert_eq!(requests(array, plan, 1024.0), holding, "{level}");
        }
    }

    #[test]
    fn md_comes_with_its_speeds_unless_the_experiment_has_some() {
        let put = |more: &str| {
            let (mut document, experiment) = rebuilding("5", 5, more);
            Stack::Md.put_into(&mut document, &experiment).expect("it goes with md");
            read(document, Path::new("r.toml"), &[], None).expect("an experiment").remove(0).experiment
        };
        let speeds =
            |experiment: &Experiment| repairs(experiment).first().map(|(_, plan)| [plan.drain_above, plan.rate]);
        let each = 4.0 / 1024.0;
        let usual = put("");
        assert_eq!(speeds(&usual), Some([Some(1_000.0 * each), Some(200_000.0 * each)]));
        assert_eq!(usual.scheduler.policy.manual().name, "mq-deadline");
        assert_eq!(speeds(&put("rate = \"3/s\"\n")), Some([Some(1_000.0 * each), Some(3.0)]));
        let knobs = Stack::Md.knobs(&usual);
        let told: Vec<&String> = knobs.iter().flat_map(|knob| &knob.choices).flat_map(|choice| &choice.words).collect();
        for name in ["sync_speed_min", "sync_speed_max", "queue/scheduler"] {
            assert!(told.iter().any(|words| words.contains(name)), "{name} of {told:?}");
        }
    }

    #[test]
    fn md_needs_an_array_that_is_repaired() {
        let text = "[drive]\nmodel = \"nl20\"\n[scheduler]\npolicy = \"satf\"\n[[workload]]\nname = \"a\"\nkind = \"closed\"\n\
                    depth = 1\nsize = \"4KiB\"\n[run]\nrequests = 9\n";
        let mut document = Document::parse("a.toml", text).expect("TOML");
        let experiment = read(document.clone(), Path::new("a.toml"), &[], None).expect("one").remove(0).experiment;
        let told = Stack::Md.put_into(&mut document, &experiment).expect_err("there is no array").to_string();
        assert!(told.contains("no [array] with a rebuild or a scrub") && told.contains("halfturn example"), "{told}");
    }

    #[test]
    fn a_word_that_is_none_is_told_with_those_there_are() {
        assert_eq!("zfs".parse(), Ok(Stack::Zfs));
        let told = "lunix".parse::<Stack>().unwrap_err();
        assert!(told.contains("did you mean linux") && told.ends_with("linux, zfs, ceph, md"), "{told}");
    }
}
