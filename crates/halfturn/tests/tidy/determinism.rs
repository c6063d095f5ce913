//! Same experiment, same seed, same bytes out: no clock and no unordered map below the command line.

use crate::{Fault, Tree, lexer, line_of};

/// Crates that live in real time, or run tools.
const REAL_TIME: [&str; 3] = ["halfturn", "live", "xtask"];

const FORBIDDEN: [(&str, &str); 5] = [
    ("Instant::now", "take the time as an argument, a block::Time"),
    ("SystemTime", "take the time as an argument, a block::Time"),
    ("RandomState", "seed the generator from the experiment"),
    ("HashMap", "use a BTreeMap, or a Vec under dense numbers"),
    ("HashSet", "use a BTreeSet, or a Vec under dense numbers"),
];

/// A file that may hold one of them.
pub struct Exception {
    pub file: &'static str,
    pub word: &'static str,
    /// Why its order can reach no output.
    pub why: &'static str,
}

pub const EXCEPTIONS: [Exception; 4] = [
    Exception {
        file: "crates/trace/src/formats/blktrace.rs",
        word: "HashMap",
        why: "looked up once an event, never walked",
    },
    Exception { file: "crates/trace/src/events.rs", word: "HashSet", why: "looked up once an event, never walked" },
    Exception { file: "crates/trace/src/reader.rs", word: "HashMap", why: "looked up once a record, never walked" },
    Exception {
        file: "crates/trace/src/formats/srt.rs",
        word: "HashMap",
        why: "looked up once a record, never walked",
    },
];

pub fn check(tree: &Tree, exceptions: &[Exception]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut used = vec![false; exceptions.len()];
    let below =
        tree.sources().filter(|(path, _)| !path.split('/').nth(1).is_some_and(|name| REAL_TIME.contains(&name)));
    for (path, text) in below {
        let code = lexer::code(text);
        for (word, mend) in FORBIDDEN {
            let exception = exceptions.iter().position(|entry| entry.file == path && entry.word == word);
            for at in lexer::find(&code, word) {
                match exception {
                    Some(n) => used[n] = true,
                    None => faults.push(Fault::new(
                        path,
                        line_of(&code, at),
                        format!("'{word}' below the command line"),
                        mend,
                    )),
                }
            }
        }
    }
    for (entry, used) in exceptions.iter().zip(used) {
        if !used || entry.why.is_empty() {
            let what = format!("the exception for '{}' is not used or has no reason", entry.word);
            faults.push(Fault::new(entry.file, 1, what, "take it out of crates/halfturn/tests/tidy/determinism.rs"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "use std::collections::HashMap; // a HashSet\nlet t = Instant::now();\nlet s = SystemTime::now();\n";

    #[test]
    fn clocks_and_unordered_maps_are_found() {
        let tree = Tree::of(&[
            ("crates/sched/src/a.rs", TEXT),
            ("crates/halfturn/src/a.rs", TEXT),
            ("crates/sched/tests/a.rs", TEXT),
        ]);
        let lines: Vec<usize> = check(&tree, &[]).iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [2, 3, 1]);
    }

    #[test]
    fn an_exception_holds_for_one_word_of_one_file_and_only_while_used() {
        let tree = Tree::of(&[("crates/trace/src/a.rs", "HashMap HashSet"), ("crates/trace/src/b.rs", "HashMap")]);
        let entry = |file, word| Exception { file, word, why: "never iterated" };
        let entries = [entry("crates/trace/src/a.rs", "HashMap"), entry("crates/trace/src/b.rs", "HashSet")];
        let found: Vec<String> =
            check(&tree, &entries).iter().map(|fault| format!("{} {}", fault.file, fault.what)).collect();
        assert_eq!(
            found,
            [
                "crates/trace/src/a.rs 'HashSet' below the command line",
                "crates/trace/src/b.rs 'HashMap' below the command line",
                "crates/trace/src/b.rs the exception for 'HashSet' is not used or has no reason",
            ]
        );
    }
}
