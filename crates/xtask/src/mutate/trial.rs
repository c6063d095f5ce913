//! One mutant against the tests that pass it.

use super::compile::Binary;
use super::process::End;
use super::suite::{Suite, Test, TestPlace};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The first test that failed.
    Caught(String),
    /// So many tests passed it, and passed.
    Survived(usize),
    Unreached,
}

/// Tests that take less run together: a process costs as much as they do.
const SHORT: Duration = Duration::from_millis(60);
/// How many times as long as without a bug a test may take.
const MULTIPLE: u32 = 6;

/// Runs the tests, the fastest first, until one fails.
pub fn try_out(
    place: &TestPlace,
    suite: &Suite,
    worker: usize,
    mutant: u32,
    tests: &[&Test],
) -> Result<(Fate, Duration), String> {
    let from = Instant::now();
    if tests.is_empty() {
        return Ok((Fate::Unreached, from.elapsed()));
    }
    let variables = [("MUTANT", mutant.to_string())];
    for (n, names, took) in batches(tests) {
        let binary = &suite.binaries[n];
        let most = took * MULTIPLE + place.grace;
        let (end, _) = place.run(worker, binary, &names, &variables, most)?;
        if end == End::Passed {
            continue;
        }
        let by = if end == End::TimedOut { names.clone() } else { failed_tests(place, worker, &names) };
        // A test that fails without the bug too, on a machine that is busy, has found nothing.
        if place.run(worker, binary, &by, &[], most)?.0 == End::Passed {
            return Ok((Fate::Caught(name(binary, &by, end)), from.elapsed()));
        }
        if place.run(worker, binary, &names, &variables, most)?.0 != End::Passed
            && place.run(worker, binary, &names, &[], most)?.0 == End::Passed
        {
            return Ok((Fate::Caught(name(binary, &by, end)), from.elapsed()));
        }
    }
    Ok((Fate::Survived(tests.len()), from.elapsed()))
}

fn name(binary: &Binary, tests: &[&str], end: End) -> String {
    let hung = if end == End::TimedOut { " (timed out)" } else { "" };
    format!("{}/{} {}{hung}", binary.krate, binary.target, tests.first().unwrap_or(&""))
}

/// The tests of a program that the output says have failed; if it says none, all that ran.
fn failed_tests<'a>(place: &TestPlace, worker: usize, names: &[&'a str]) -> Vec<&'a str> {
    let text = std::fs::read(place.output(worker)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let bad = |name: &&&str| text.lines().any(|line| line.strip_prefix("    ") == Some(**name));
    let found: Vec<&str> = names.iter().filter(bad).copied().take(1).collect();
    if found.is_empty() { names.to_vec() } else { found }
}

/// Short tests by program, then each of the others; with the time they take in all.
fn batches<'a>(tests: &[&'a Test]) -> Vec<(usize, Vec<&'a str>, Duration)> {
    let mut short: BTreeMap<usize, (Vec<&str>, Duration)> = BTreeMap::new();
    for test in tests.iter().filter(|test| test.took < SHORT) {
        let batch = short.entry(test.binary).or_default();
        batch.0.push(&test.name);
        batch.1 += test.took;
    }
    let mut batches: Vec<_> = short.into_iter().map(|(binary, (names, took))| (binary, names, took)).collect();
    batches.sort_by_key(|(_, _, took)| *took);
    let long = tests.iter().filter(|test| test.took >= SHORT);
    batches.extend(long.map(|test| (test.binary, vec![&*test.name], test.took)));
    batches
}
