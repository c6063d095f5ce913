//! Instructions by layer, from what callgrind wrote. Each line of its file names a line of the source and what was spent on it,
//! whichever function it was inlined into, so that layers can be told apart in a program that is one function.

use std::collections::{BTreeMap, HashMap};

/// Instructions by layer. What a request costs is a difference of two runs: below zero where the compiler has what many share count for one
/// layer in the one and for another in the other.
pub type Layers = BTreeMap<String, i64>;

/// Parts of a path, the first that fits, and the layer that has it. What fits none is inlined (the standard library, newtypes)
/// and counts where it stands.
const LAYERS: [(&str, &str); 20] = [
    ("crates/sched/src/policy", "policy"),
    ("crates/sched/src/sorted.rs", "policy"),
    ("crates/sched/src/ordered.rs", "policy"),
    ("crates/sched/src/predict", "predictor"),
    ("crates/sched/src/array", "array"),
    ("crates/sched/", "core"),
    ("crates/load/", "load"),
    ("hdrhistogram", "load"),
    ("rand_pcg", "load"),
    ("rand_core", "load"),
    ("crates/sim/", "world"),
    ("crates/flow/", "world"),
    ("crates/drive/", "drive"),
    ("crates/disk/", "disk"),
    ("crates/trace/", "trace"),
    ("memchr", "trace"),
    ("flate2", "trace"),
    ("crates/config/", "rest"),
    ("malloc", "rest"),
    ("libc", "rest"),
];

/// What no path tells.
const REST: &str = "rest";

/// The layer of a file of the source.
fn layer_of(file: &str) -> Option<&'static str> {
    LAYERS.iter().find(|(part, _)| file.contains(part)).map(|(_, layer)| *layer)
}

/// Names are given in full once, as `(7) name`, and as `(7)` from then on.
#[derive(Default)]
struct FunctionNames(HashMap<String, String>);

impl FunctionNames {
    fn get(&mut self, text: &str) -> String {
        match text.split_once(' ') {
            Some((number, name)) => {
                self.0.insert(number.to_owned(), name.to_owned());
                name.to_owned()
            }
            None => self.0.get(text).cloned().unwrap_or_else(|| text.to_owned()),
        }
    }
}

/// Sums what a file of callgrind's holds by what `name` makes of the file of the source and of where it was inlined.
///
/// # Errors
/// When it is not such a file.
fn sum(text: &str, mut key: impl FnMut(&str) -> Option<String>) -> Result<Layers, String> {
    let mut names = FunctionNames::default();
    let mut sums = BTreeMap::new();
    let mut now = REST.to_owned();
    let mut called = false;
    for line in text.lines() {
        if let Some((word, value)) = line.split_once('=') {
            match word {
                // A function of its own: what it does not say itself is not its caller's.
                "fl" => now = key(&names.get(value)).unwrap_or_else(|| REST.into()),
                "fi" | "fe" => now = key(&names.get(value)).unwrap_or(now),
                // These share the numbers of `fl`.
                "cfl" | "cfi" => drop(names.get(value)),
                // The line after it has what the callee spent, which is told there.
                "calls" => called = true,
                _ => {}
            }
            continue;
        }
        if !line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            continue;
        }
        if std::mem::take(&mut called) {
            continue;
        }
        let cost = line.split(' ').nth(1).and_then(|cost| cost.parse::<i64>().ok());
        *sums.entry(now.clone()).or_default() += cost.ok_or_else(|| format!("'{line}' is no line of callgrind's"))?;
    }
    if sums.is_empty() { Err("callgrind counted nothing".into()) } else { Ok(sums) }
}

/// Instructions by layer.
///
/// # Errors
/// When it is not a file of callgrind's.
pub fn layers(text: &str) -> Result<Layers, String> {
    sum(text, |file| layer_of(file).map(str::to_owned))
}

/// Instructions by file of the workspace, `crate/file.rs`.
///
/// # Errors
/// When it is not a file of callgrind's.
pub fn files(text: &str) -> Result<Layers, String> {
    let short = |file: &str| file.split_once("crates/").map(|(_, rest)| rest.replacen("/src/", "/", 1));
    sum(text, |file| short(file).or_else(|| layer_of(file).map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "\
version: 1
positions: line
events: Ir

fl=(1) /tree/crates/sim/src/drives.rs
fn=(1) replicate
10 5
fi=(2) /tree/crates/sched/src/core.rs
+3 7
fi=(3) /rustc/abc/library/core/src/option.rs
* 2
fe=(1)
-4 1
cfi=(2)
cfn=(2) handle
calls=3 17
12 900

fl=(2)
fn=(2)
17 100
fi=(4) /tree/crates/sched/src/policy/satf.rs
18 10

fl=(5) ./string/memcpy.S
fn=(3) memcpy
20 40
";

    #[test]
    fn what_was_inlined_counts_for_the_layer_whose_line_it_is() {
        let layers = layers(SAMPLE).unwrap();
        let told: Vec<(&str, i64)> = layers.iter().map(|(name, count)| (&**name, *count)).collect();
        assert_eq!(told, [("core", 7 + 2 + 100), ("policy", 10), ("rest", 40), ("world", 5 + 1)]);
    }

    #[test]
    fn files_are_told_by_crate() {
        assert_eq!(files(SAMPLE).unwrap()["sched/policy/satf.rs"], 10);
    }

    #[test]
    fn another_file_is_refused() {
        assert!(layers("a letter\n").is_err());
    }
}
