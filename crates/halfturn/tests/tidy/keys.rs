//! The keys of experiment files and drive files are declared, and read by the declaration: no reader of a value is given a name of
//! its own.

use crate::{Fault, Tree, line_of};

/// Where experiments and drives are read.
const FOLDERS: [&str; 6] = [
    "crates/load/src/experiment/",
    "crates/load/src/workload/",
    "crates/disk/src/read",
    "crates/disk/src/other/",
    "crates/disk/src/published.rs",
    "crates/sched/src/predict/mimic/settings.rs",
];

/// Readers of values that take the name of a key.
const READERS: [&str; 18] = [
    "string", "name", "strings", "bool", "u64", "within", "f64", "f64s", "rows", "share", "size", "span", "spans",
    "rate", "choice", "quantity", "need", "refuse",
];

/// Values that are read by a name written where they are read.
pub fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.ending(".rs").filter(|(path, _)| FOLDERS.iter().any(|folder| path.starts_with(folder))) {
        for reader in READERS {
            for (at, _) in text.match_indices(&format!(".{reader}(\"")) {
                let what = format!("a key is read by its name, with `{reader}`");
                let mend = "declare it with config::keys! and read it with `value` or `get`";
                faults.push(Fault::new(path, line_of(text, at), what, mend));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_read_by_its_name_is_found() {
        let tree = Tree::of(&[
            (
                "crates/load/src/experiment/run.rs",
                "let a = section.value(&SEED)?;\nlet b = section.span(\"warmup\")?;\n",
            ),
            ("crates/load/src/workload/open.rs", "section.need(RATE.name(), None)\n\n  .within(\"depth\", 1, 2)"),
            ("crates/load/src/learned.rs", "section.span(\"time\")"),
        ]);
        let places = ["crates/load/src/experiment/run.rs:2", "crates/load/src/workload/open.rs:3"];
        assert_eq!(crate::places(&check(&tree)), places);
    }
}
