//! The tool against a small workspace whose bugs have known fates: `tests/mutants/fixture`.

use std::path::Path;
use std::process::Command;

/// What it says, and whether the gate is passed.
fn mutate(name: &str, arguments: &[&str]) -> (String, bool) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mutants/fixture");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutants-{name}"));
    let result = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(["mutate", "--verbose", "--root"])
        .arg(root)
        .arg("--out")
        .arg(out)
        .args(arguments)
        .output()
        .unwrap();
    assert_ne!(result.status.code(), Some(2), "{}", String::from_utf8_lossy(&result.stderr));
    (String::from_utf8(result.stdout).unwrap(), result.status.success())
}

/// What became of the mutant that makes this line of that one.
fn fate<'a>(said: &'a str, before: &str, after: &str) -> &'a str {
    let change = format!("\n  - {before}\n  + {after}\n");
    let at = said.find(&change).unwrap_or_else(|| panic!("no {change} in {said}"));
    said[..at].rsplit('\n').next().unwrap().split(": ").nth(3).unwrap()
}

#[test]
fn every_planted_bug_meets_its_fate() {
    let (said, passed) = mutate("all", &[]);
    let fate = |before, after| fate(&said, before, after);
    assert_eq!(fate("value + 2", "value - 2"), "no test reaches it");
    assert_eq!(fate("value * 7", "value / 7"), "1 tests passed it");
    assert_eq!(
        fate("value ^ (value << 3)", "value ^ (value >> 3)"),
        "no test reaches it",
        "golden numbers do not count"
    );
    assert_eq!(
        fate("if value < low && low <= high {", "if value < low || low <= high {"),
        "caught by small/small tests::what_is_outside_becomes_the_bound"
    );
    assert_eq!(
        fate("if value < low && low <= high {", "if value < low && low < high {"),
        "caught by small/small tests::what_is_outside_becomes_the_bound",
        "a mutant inside another"
    );
    assert_eq!(
        fate("None => \"none\", Some(0) => \"zero\",", "None => \"zero\", Some(0) => \"none\","),
        "caught by small/small tests::numbers_have_names"
    );
    assert_eq!(
        fate("from -= 1;", "/* dropped */"),
        "caught by small/small tests::counting_down_takes_so_many_steps (timed out)"
    );
    assert_eq!(
        fate("Meters(self.0 + other.0)", "Meters(self.0 - other.0)"),
        "caught by small/small twice_a_length_is_its_double"
    );
    assert_eq!(fate("if a > b { a } else { b }", "if a >= b { a } else { b }"), "1 tests passed it");
    for never in ["length - length", "10 - 5", "of * 3", "assert_eq"] {
        assert!(!said.contains(never), "{never} is planted: {said}");
    }
    let survived = said.split("survived, and not in").nth(1).unwrap();
    assert!(survived.contains("value / 7"), "{survived}");
    assert!(!survived.contains("if a >= b"), "listed with a reason: {survived}");
    let row: Vec<&str> = said.lines().find(|line| line.starts_with("small ")).unwrap().split_whitespace().collect();
    assert_eq!(row[2], "3", "equivalent: {row:?}");
    assert!(!passed, "a survivor that is not listed fails the gate");
}

#[test]
fn the_same_seed_draws_the_same_and_a_part_is_chosen_by_its_text() {
    let (said, passed) = mutate("part", &["--only", "name: ", "--only", "larger: "]);
    assert!(passed, "{said}");
    assert!(said.contains("crates/small/src/lib.rs:") && !said.contains("unchecked"), "{said}");
    let (sample, _) = mutate("part", &["--sample", "3", "--seed", "5"]);
    assert!(sample.contains("\n3 mutants in "), "{sample}");
    let shown =
        |text: &str| text.lines().filter(|line| line.starts_with("  + ")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(shown(&sample), shown(&mutate("part", &["--sample", "3", "--seed", "5"]).0));
}
