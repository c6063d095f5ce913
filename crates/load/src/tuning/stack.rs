//! What people run a disk under today, and what may be set there: so that advice can be had for it, too, in its own words.

use super::{Knob, KnobChoice};
use crate::experiment::Experiment;
use block::{BadInput, nearest};
use config::Document;
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
}

impl Stack {
    /// All stacks that can be advised for.
    pub const ALL: [Stack; 3] = [Stack::Linux, Stack::Zfs, Stack::Ceph];

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Stack::Linux => "linux",
            Stack::Zfs => "zfs",
            Stack::Ceph => "ceph",
        }
    }

    /// The policies that are this stack's; the first is how it comes.
    fn policies(self) -> &'static [&'static str] {
        match self {
            Stack::Linux => &["mq-deadline", "bfq", "kyber"],
            Stack::Zfs => &["zfs"],
            Stack::Ceph => &["dmclock"],
        }
    }

    /// Makes an experiment one of this stack as it comes, unless the experiment has one of its policies already: its settings
    /// count then.
    pub(super) fn put_into(self, document: &mut Document, experiment: &Experiment) -> Result<(), BadInput> {
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
        }
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stack::Linux => "Linux",
            Stack::Zfs => "ZFS",
            Stack::Ceph => "Ceph",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_none_is_told_with_those_there_are() {
        assert_eq!("zfs".parse(), Ok(Stack::Zfs));
        let told = "lunix".parse::<Stack>().unwrap_err();
        assert!(told.contains("did you mean linux") && told.ends_with("linux, zfs, ceph"), "{told}");
    }
}
