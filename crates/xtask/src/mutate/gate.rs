//! What the gate is: `tests/mutants/gate.toml` and `tests/mutants/survivors.toml`.

use super::site::Site;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub seed: u64,
    /// How many mutants in all.
    pub mutants: usize,
    /// How many of each crate at least.
    pub least: usize,
    /// The share to be caught of those that are not equivalent, in percent.
    pub caught_percent: f64,
    /// How much longer than so many times its time without a bug a test may take, in seconds.
    #[serde(default = "grace")]
    pub grace_seconds: f64,
    /// Tests that take more processor time than this count for nothing: they are too slow to be run for each bug.
    #[serde(default = "longest")]
    pub longest_seconds: u64,
    /// Tests of so many seconds of processor time are run for each bug, the fastest first; what they do not find has survived.
    #[serde(default = "patience")]
    pub patience_seconds: f64,
    /// The address space of a test.
    #[serde(default = "memory")]
    pub memory_mib: u64,
    /// Crates whose bugs are planted.
    pub crates: Vec<String>,
    /// Those of them that a sample is of: what they need is built soon.
    #[serde(default)]
    pub sampled: Vec<String>,
    /// Crates whose tests answer for another's code beside its own.
    #[serde(default)]
    pub answer: BTreeMap<String, Vec<String>>,
    /// Tests that count for nothing.
    #[serde(default, rename = "without")]
    pub without: Vec<Without>,
}

fn grace() -> f64 {
    5.0
}

fn longest() -> u64 {
    20
}

fn patience() -> f64 {
    60.0
}

fn memory() -> u64 {
    6 << 10
}

/// Tests that find no bug, only a change, or that read the source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Without {
    #[serde(rename = "crate")]
    pub krate: String,
    /// The test program; any, if none is given.
    pub target: Option<String>,
    /// What their names begin with; any, if none is given.
    #[serde(default)]
    pub tests: Vec<String>,
    /// Crates for whose bugs they count all the same.
    #[serde(default)]
    pub but_for: Vec<String>,
    pub why: String,
}

/// Mutants that are known to survive.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survivors {
    #[serde(default, rename = "survivor")]
    pub list: Vec<Survivor>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Survivor {
    pub file: String,
    pub function: String,
    pub line: String,
    pub becomes: String,
    /// Why no test can tell it from the original.
    pub equivalent: Option<String>,
    /// Why no test does, though it could.
    pub accepted: Option<String>,
}

impl Gate {
    pub fn read(root: &Path) -> Result<(Gate, Survivors), String> {
        let gate: Gate = load(root, "tests/mutants/gate.toml")?;
        let file = "tests/mutants/survivors.toml";
        let survivors: Survivors = if root.join(file).is_file() { load(root, file)? } else { Survivors::default() };
        if let Some(without) = gate.without.iter().find(|without| without.why.is_empty()) {
            let krate = &without.krate;
            return Err(format!(
                "tests/mutants/gate.toml: tests of '{krate}' are left out without a reason\n  mend: write why = \"…\""
            ));
        }
        for survivor in &survivors.list {
            if survivor.equivalent.is_some() == survivor.accepted.is_some() {
                let line = &survivor.line;
                return Err(format!(
                    "{file}: '{line}' needs one reason\n  mend: write equivalent = \"…\" or accepted = \"…\""
                ));
            }
        }
        Ok((gate, survivors))
    }

    /// Whether a test counts for the bugs of no crate.
    pub fn leaves_out(&self, krate: &str, target: &str, test: &str) -> bool {
        self.against(krate, target, test).any(|without| without.but_for.is_empty())
    }

    /// Whether a test that is not left out counts for bugs of this crate.
    pub fn counts(&self, krate: &str, target: &str, test: &str, of: &str) -> bool {
        self.against(krate, target, test).all(|without| without.but_for.iter().any(|name| name == of))
    }

    fn against(&self, krate: &str, target: &str, test: &str) -> impl Iterator<Item = &Without> {
        self.without.iter().filter(move |without| {
            without.krate == krate
                && without.target.as_deref().is_none_or(|of| of == target)
                && (without.tests.is_empty() || without.tests.iter().any(|name| test.starts_with(name)))
        })
    }

    /// The crates whose tests are run for bugs in this one.
    pub fn answering(&self, krate: &str) -> Vec<String> {
        let others = self.answer.get(krate).into_iter().flatten();
        [krate.to_owned()].into_iter().chain(others.cloned()).collect()
    }
}

impl Survivors {
    pub fn of(&self, site: &Site) -> Option<&Survivor> {
        self.list.iter().find(|known| {
            known.file == site.file
                && known.function == site.function
                && known.line == site.before
                && known.becomes == site.after
        })
    }
}

fn load<T: serde::de::DeserializeOwned>(root: &Path, file: &str) -> Result<T, String> {
    let text = std::fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        format!("{file}:{line}: {}\n  mend: see the other entries of the file", error.message())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_may_count_for_the_bugs_of_some_crates_alone() {
        let without = |tests: &[&str], but_for: &[&str]| Without {
            krate: "shell".into(),
            target: Some("cli".into()),
            tests: tests.iter().map(|name| (*name).to_owned()).collect(),
            but_for: but_for.iter().map(|name| (*name).to_owned()).collect(),
            why: "snapshots".into(),
        };
        let mut gate: Gate =
            toml::from_str("seed = 1\nmutants = 1\nleast = 1\ncaught_percent = 95.0\ncrates = []").unwrap();
        gate.without = vec![without(&["output::"], &["shell"]), without(&["readme::"], &[])];
        let left_out = |test| gate.leaves_out("shell", "cli", test);
        assert!(left_out("readme::a") && !left_out("output::a") && !left_out("other::a"));
        let counts = |test, of| gate.counts("shell", "cli", test, of);
        assert!(counts("output::a", "shell") && !counts("output::a", "core") && counts("other::a", "core"));
        assert!(gate.counts("shell", "shell", "output::a", "core"), "another program");
    }
}
