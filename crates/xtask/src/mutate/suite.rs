//! The tests: how long each takes, and which mutants it passes.

use super::compile::Binary;
use super::gate::Gate;
use super::process::{ChildProcess, End, Most, Took};
use super::timed::{KnownTimes, TimedTests};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

/// A test that can be run by itself.
#[derive(Debug, Clone)]
pub struct Test {
    /// The place of its program in [`Suite::binaries`].
    pub binary: usize,
    pub name: String,
    pub took: Duration,
    /// Processor time, by which the fastest go first.
    pub cpu: Duration,
    pub reached: BTreeSet<u32>,
}

pub struct Suite {
    pub binaries: Vec<Binary>,
    /// The tests, the fastest first.
    pub tests: Vec<Test>,
    /// Those that fail without a bug, so that they cannot find one.
    pub broken: Vec<String>,
    /// Those that take more processor time than the gate has for one test.
    pub slow: Vec<String>,
}

/// Where test programs run and leave things.
pub struct TestPlace<'a> {
    /// The copy of the workspace.
    pub root: &'a Path,
    /// For output and what tests write.
    pub scratch: PathBuf,
    pub jobs: usize,
    pub memory_mib: u64,
    pub grace: Duration,
}

impl TestPlace<'_> {
    /// Runs tests of a program; `worker` tells apart what is written at one time.
    pub fn run(
        &self,
        worker: usize,
        binary: &Binary,
        tests: &[&str],
        variables: &[(&str, String)],
        most: impl Into<Most>,
    ) -> Result<(End, Took), String> {
        let folder = self.root.join("crates").join(&binary.krate);
        let (out, scratch) = (self.output(worker), self.scratch.join(format!("tmp-{worker}")));
        let task = ChildProcess {
            program: &binary.path,
            folder: &folder,
            out: &out,
            scratch: &scratch,
            most: most.into(),
            memory_mib: self.memory_mib,
        };
        let arguments: Vec<&str> = ["--exact", "--test-threads=1"].iter().chain(tests).copied().collect();
        task.run(&arguments, variables).map_err(|error| format!("{}: {error}", binary.path.display()))
    }

    pub fn output(&self, worker: usize) -> PathBuf {
        self.scratch.join(format!("out-{worker}.txt"))
    }

    /// Does this for each item, on all processors.
    pub fn each<T: Sync>(
        &self,
        items: &[T],
        work: impl Fn(usize, &T) -> Result<(), String> + Sync,
    ) -> Result<(), String> {
        let next = Mutex::new(items.iter());
        let take = || next.lock().expect("no worker panics while it takes").next();
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs)
                .map(|worker| {
                    let (take, work) = (&take, &work);
                    scope.spawn(move || {
                        while let Some(item) = take() {
                            work(worker, item)?;
                        }
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "a worker panicked")?)
        })
    }
}

/// How long a test may take that has not been timed yet.
const FIRST: Duration = Duration::from_secs(300);

impl Suite {
    /// Lists all tests but those the gate leaves out, and runs each by itself that is not known from the last run.
    pub fn time(place: &TestPlace, binaries: Vec<Binary>, gate: &Gate) -> Result<Suite, String> {
        std::fs::create_dir_all(&place.scratch).map_err(|error| format!("{}: {error}", place.scratch.display()))?;
        let known = KnownTimes::read(place.scratch.join("timed.json"));
        let (mut tests, mut slow, mut listed) = (Vec::new(), Vec::new(), Vec::new());
        for (n, binary) in binaries.iter().enumerate() {
            for name in list(place, binary)? {
                match known.of(binary, n, &name, gate.longest_seconds) {
                    _ if gate.leaves_out(&binary.krate, &binary.target, &name) => {}
                    Some(TimedTests::Passed(test)) => tests.push(test),
                    Some(TimedTests::Slow(_)) => slow.push((n, name)),
                    None => listed.push((n, name)),
                }
            }
        }
        let done = Mutex::new((tests, Vec::new(), slow));
        let most = Most { elapsed: FIRST, cpu_seconds: Some(gate.longest_seconds) };
        place.each(&listed, |worker, (n, name)| {
            let (end, took, reached) = time_one(place, worker, &binaries[*n], name, most)?;
            let mut done = done.lock().expect("no worker panics while it writes down");
            let test = || Test { binary: *n, name: name.clone(), took: took.elapsed, cpu: took.cpu, reached };
            match end {
                End::Passed => done.0.push(test()),
                End::Failed => done.1.push((*n, name.clone())),
                End::TimedOut => done.2.push((*n, name.clone())),
            }
            Ok(())
        })?;
        let (mut tests, broken, slow) = done.into_inner().expect("no worker panicked");
        known.write(&binaries, &tests, &slow, gate.longest_seconds);
        tests.sort_by(|a, b| (a.cpu, a.binary, &a.name).cmp(&(b.cpu, b.binary, &b.name)));
        let shown = |listed: Vec<(usize, String)>| {
            let show = |(n, name): (usize, String)| format!("{}/{} {name}", binaries[n].krate, binaries[n].target);
            let mut shown: Vec<String> = listed.into_iter().map(show).collect();
            shown.sort();
            shown
        };
        let (broken, slow) = (shown(broken), shown(slow));
        Ok(Suite { binaries, tests, broken, slow })
    }

    /// The tests that pass a mutant of a crate and count for it, the fastest first, as many as the gate has patience for.
    pub fn reaching(&self, mutant: u32, of: &str, gate: &Gate) -> Vec<&Test> {
        let (answering, most) = (gate.answering(of), Duration::from_secs_f64(gate.patience_seconds));
        let answers = |test: &&Test| {
            let Binary { krate, target, .. } = &self.binaries[test.binary];
            answering.contains(krate) && gate.counts(krate, target, &test.name, of)
        };
        let reaching = self.tests.iter().filter(|test| test.reached.contains(&mutant)).filter(answers);
        let mut taken = Duration::ZERO;
        let in_time = |test: &&Test| {
            let first = taken == Duration::ZERO;
            taken += test.cpu;
            first || taken <= most
        };
        reaching.take_while(in_time).collect()
    }

    /// How many tests a crate has, and how long they take.
    pub fn totals(&self) -> BTreeMap<&str, (usize, Duration)> {
        let mut totals = BTreeMap::new();
        for test in &self.tests {
            let total: &mut (usize, Duration) = totals.entry(&*self.binaries[test.binary].krate).or_default();
            *total = (total.0 + 1, total.1 + test.cpu);
        }
        totals
    }
}

/// Runs a test by itself: how it ended, how long it took, and the mutants it passed.
fn time_one(
    place: &TestPlace,
    worker: usize,
    binary: &Binary,
    name: &str,
    most: Most,
) -> Result<(End, Took, BTreeSet<u32>), String> {
    let log = place.scratch.join(format!("reached-{worker}"));
    let _ = std::fs::remove_file(&log);
    let variables = [("MUTANTS_REACHED", log.display().to_string())];
    let (mut end, took) = place.run(worker, binary, &[name], &variables, most)?;
    if end == End::Failed {
        // Writing down what is passed may itself be what it notices.
        end = place.run(worker, binary, &[name], &[], most)?.0;
    }
    Ok((end, took, numbers(&log)))
}

fn list(place: &TestPlace, binary: &Binary) -> Result<Vec<String>, String> {
    let folder = place.root.join("crates").join(&binary.krate);
    let out = place.output(0);
    let scratch = place.scratch.join("tmp-0");
    let task = ChildProcess {
        program: &binary.path,
        folder: &folder,
        out: &out,
        scratch: &scratch,
        most: FIRST.into(),
        memory_mib: place.memory_mib,
    };
    let said = |arguments: &[&str]| -> Result<Vec<String>, String> {
        task.run(arguments, &[]).map_err(|error| format!("{}: {error}", binary.path.display()))?;
        let text = std::fs::read_to_string(&out).unwrap_or_default();
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    };
    let ignored: BTreeSet<String> = said(&["--list", "--format=terse", "--ignored"])?.into_iter().collect();
    Ok(said(&["--list", "--format=terse"])?.into_iter().filter(|name| !ignored.contains(name)).collect())
}

fn numbers(log: &Path) -> BTreeSet<u32> {
    let bytes = std::fs::read(log).unwrap_or_default();
    bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_tests_of_those_that_answer_are_run_as_long_as_there_is_time() {
        let binary = |krate: &str| Binary { krate: krate.into(), target: krate.into(), path: PathBuf::new() };
        let test = |binary, seconds, reached: &[u32]| Test {
            binary,
            name: format!("{seconds}"),
            took: Duration::from_secs(9 * seconds),
            cpu: Duration::from_secs(seconds),
            reached: reached.iter().copied().collect(),
        };
        let suite = Suite {
            binaries: vec![binary("a"), binary("b")],
            tests: vec![test(0, 1, &[7]), test(1, 2, &[7]), test(0, 3, &[8]), test(0, 4, &[7, 8]), test(0, 5, &[7])],
            broken: Vec::new(),
            slow: Vec::new(),
        };
        let names = |mutant, of, seconds: u32| {
            let gate =
                format!("seed = 1\nmutants = 1\nleast = 1\ncaught_percent = 95.0\npatience_seconds = {seconds}.0");
            let gate: Gate = toml::from_str(&format!("{gate}\ncrates = []\n[answer]\nb = [\"a\"]")).unwrap();
            suite.reaching(mutant, of, &gate).iter().map(|test| test.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(7, "a", 5), ["1", "4"]);
        assert_eq!(names(7, "b", 100), ["1", "2", "4", "5"]);
        assert_eq!(names(8, "a", 2), ["3"], "one is always run");
    }
}
