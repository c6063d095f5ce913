//! What is known of test programs from the run before: a program that was not built again is not timed again.

use super::compile::Binary;
use super::suite::Test;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// A test as it was timed.
#[derive(Debug, Clone)]
pub enum TimedTests {
    Passed(Test),
    /// It takes more than the gate has for one test.
    Slow(u64),
}

/// The tests of each program by name. A test that failed is not kept: what was wrong may have been mended.
#[derive(Debug, Default)]
pub struct KnownTimes {
    file: PathBuf,
    programs: BTreeMap<String, BTreeMap<String, TimedTests>>,
}

impl KnownTimes {
    /// Reads what the last run wrote; nothing, where it wrote nothing that can be read.
    pub fn read(file: PathBuf) -> KnownTimes {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        let tests = |of: &Value| -> BTreeMap<String, TimedTests> {
            let named = |(name, value): (&String, &Value)| Some((name.clone(), from_json(name, value)?));
            of.as_object().into_iter().flatten().filter_map(named).collect()
        };
        let programs = value.as_object().into_iter().flatten().map(|(stamp, of)| (stamp.clone(), tests(of)));
        KnownTimes { file, programs: programs.collect() }
    }

    /// What is known of a test of this program; of one that is too slow, only for the same limit.
    pub fn of(&self, binary: &Binary, number: usize, name: &str, longest_seconds: u64) -> Option<TimedTests> {
        match self.programs.get(&stamp(&binary.path)?)?.get(name)? {
            TimedTests::Passed(test) if test.cpu.as_secs() < longest_seconds => {
                Some(TimedTests::Passed(Test { binary: number, ..test.clone() }))
            }
            TimedTests::Slow(most) if *most == longest_seconds => Some(TimedTests::Slow(*most)),
            _ => None,
        }
    }

    /// Writes what is known now; of programs that are gone nothing.
    pub fn write(mut self, binaries: &[Binary], tests: &[Test], slow: &[(usize, String)], longest_seconds: u64) {
        let mut add = |number: usize, name: &str, timed: TimedTests| {
            if let Some(stamp) = stamp(&binaries[number].path) {
                self.programs.entry(stamp).or_default().insert(name.to_owned(), timed);
            }
        };
        tests.iter().for_each(|test| add(test.binary, &test.name, TimedTests::Passed(test.clone())));
        slow.iter().for_each(|(number, name)| add(*number, name, TimedTests::Slow(longest_seconds)));
        let there = |of: &str| of.rsplitn(3, ' ').nth(2).and_then(|path| stamp(Path::new(path))).as_deref() == Some(of);
        let kept = self.programs.iter().filter(|(of, _)| there(of));
        let programs: BTreeMap<&String, Value> = kept.map(|(of, tests)| (of, to_json(tests))).collect();
        // Where it cannot be written, the next run takes longer.
        let _ = std::fs::write(&self.file, json!(programs).to_string());
    }
}

fn to_json(tests: &BTreeMap<String, TimedTests>) -> Value {
    let value = |timed: &TimedTests| match timed {
        TimedTests::Passed(test) => {
            let times = [test.took, test.cpu].map(|time| time.as_micros() as u64);
            json!({"times": times, "reached": test.reached})
        }
        TimedTests::Slow(most) => json!({"slow": most}),
    };
    tests.iter().map(|(name, timed)| (name.clone(), value(timed))).collect()
}

fn from_json(name: &str, value: &Value) -> Option<TimedTests> {
    if let Some(most) = value["slow"].as_u64() {
        return Some(TimedTests::Slow(most));
    }
    let time = |n: usize| value["times"][n].as_u64().map(Duration::from_micros);
    let reached = value["reached"].as_array()?.iter().filter_map(|number| number.as_u64()?.try_into().ok());
    Some(TimedTests::Passed(Test {
        binary: 0,
        name: name.into(),
        took: time(0)?,
        cpu: time(1)?,
        reached: reached.collect(),
    }))
}

/// A program as it was built: its path, when, and its length.
fn stamp(path: &Path) -> Option<String> {
    let found = std::fs::metadata(path).ok()?;
    let built = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", path.display(), built.as_nanos(), found.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_timed_is_known_until_the_program_is_built_again() {
        let folder = std::env::temp_dir().join(format!("timed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let program = folder.join("program");
        std::fs::write(&program, "a").unwrap();
        let binaries = [Binary { krate: "a".into(), target: "a".into(), path: program.clone() }];
        let [took, cpu] = [7, 2].map(Duration::from_secs);
        let test = Test { binary: 0, name: "quick".into(), took, cpu, reached: [3, 9].into() };
        let file = folder.join("timed.json");
        KnownTimes::read(file.clone()).write(&binaries, &[test], &[(0, "slow".into())], 20);
        let known = KnownTimes::read(file);
        let of = |name, most| known.of(&binaries[0], 5, name, most);
        let Some(TimedTests::Passed(found)) = of("quick", 20) else { panic!("it is known") };
        assert_eq!((found.binary, found.took, found.cpu, found.reached), (5, took, cpu, [3, 9].into()));
        assert!(of("quick", 2).is_none(), "by another limit it may be too slow");
        assert!(matches!(of("slow", 20), Some(TimedTests::Slow(20))));
        assert!(of("slow", 30).is_none() && of("other", 20).is_none());
        std::fs::write(&program, "ab").unwrap();
        assert!(of("quick", 20).is_none(), "it was built again");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
