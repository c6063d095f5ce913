//! Which crate may use which: a layer uses only what is under it.

use crate::{Fault, Tree};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// What a crate may use of the workspace, in its code and in its tests.
struct Row {
    name: &'static str,
    uses: &'static [&'static str],
    /// Beyond `uses`, in tests only.
    tests_use: &'static [&'static str],
}

const ALL: &[&str] = &[
    "block",
    "config",
    "disk",
    "drive",
    "sched",
    "trace",
    "load",
    "flow",
    "published",
    "profile",
    "sim",
    "nbd",
    "live",
];

const ROWS: [Row; 15] = [
    Row { name: "block", uses: &[], tests_use: &[] },
    Row { name: "config", uses: &["block"], tests_use: &[] },
    Row { name: "nbd", uses: &[], tests_use: &[] },
    Row { name: "disk", uses: &["block", "config"], tests_use: &[] },
    Row { name: "drive", uses: &["block", "disk"], tests_use: &[] },
    Row { name: "sched", uses: &["block", "config", "disk"], tests_use: &[] },
    Row { name: "trace", uses: &["block"], tests_use: &[] },
    Row { name: "load", uses: &["block", "config", "disk", "sched", "trace"], tests_use: &[] },
    Row { name: "flow", uses: &["block", "load", "sched", "trace"], tests_use: &[] },
    Row { name: "published", uses: &["block", "config", "disk", "load"], tests_use: &["sim"] },
    Row { name: "profile", uses: &["block", "disk", "sched"], tests_use: &[] },
    Row { name: "sim", uses: &["block", "disk", "drive", "sched", "load", "flow", "trace", "profile"], tests_use: ALL },
    Row { name: "live", uses: &["block", "disk", "drive", "sched", "load", "nbd"], tests_use: &[] },
    Row { name: "halfturn", uses: ALL, tests_use: ALL },
    Row { name: "xtask", uses: &[], tests_use: &[] },
];

/// The first never reaches the second, by however many steps, in its code or in its tests.
const NEVER: [(&str, &str); 4] = [("sched", "drive"), ("drive", "sched"), ("profile", "drive"), ("sim", "live")];

/// One crate of the workspace uses another.
struct Edge {
    from: String,
    to: String,
    test: bool,
}

/// What cargo says of the workspace.
pub fn metadata() -> Value {
    let out = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(crate::root())
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("cargo writes JSON")
}

/// Edges outside the table, crates without a row, and forbidden reaches.
pub fn check(metadata: &Value, tree: &Tree) -> Vec<Fault> {
    let crates: Vec<&str> = array(&metadata["packages"]).map(|package| short(&package["name"])).collect();
    let edges = edges(metadata, &crates);
    let mut faults = Vec::new();
    for name in &crates {
        if !ROWS.iter().any(|row| row.name == *name) {
            let mend = "give it a row in ROWS of crates/halfturn/tests/tidy/edges.rs, and its layer in ARCHITECTURE.md";
            faults.push(Fault::new(&manifest(name), 1, format!("crate '{name}' has no place among the layers"), mend));
        }
    }
    for edge in &edges {
        let row = ROWS.iter().find(|row| row.name == edge.from);
        let allowed = |row: &Row| row.uses.contains(&&*edge.to) || (edge.test && row.tests_use.contains(&&*edge.to));
        if row.is_some_and(|row| !allowed(row)) {
            faults.push(fault(tree, edge));
        }
    }
    for (from, to) in NEVER {
        if let Some(way) = reach(&edges, from, to) {
            let what = format!("'{from}' reaches '{to}': {}", way.join(" → "));
            faults.push(Fault::new(&manifest(from), 1, what, "cut the way; these two never see each other"));
        }
    }
    faults
}

fn edges(metadata: &Value, crates: &[&str]) -> Vec<Edge> {
    array(&metadata["packages"])
        .flat_map(|package| array(&package["dependencies"]).map(move |used| (short(&package["name"]), used)))
        .filter(|(_, used)| crates.contains(&short(&used["name"])) && used["path"].is_string())
        .map(|(from, used)| Edge { from: from.into(), to: short(&used["name"]).into(), test: used["kind"] == "dev" })
        .collect()
}

fn fault(tree: &Tree, edge: &Edge) -> Fault {
    let file = manifest(&edge.from);
    let section = if edge.test { "dev-dependencies" } else { "dependencies" };
    let lines = tree.text(&file).lines().enumerate();
    let line = lines
        .skip_while(|(_, line)| line.trim() != format!("[{section}]"))
        .find(|(_, line)| line.strip_prefix(edge.to.as_str()).is_some_and(|rest| rest.starts_with(['.', ' ', '='])));
    let what = format!("'{}' may not use '{}' ({section})", edge.from, edge.to);
    let mend = "take the line out; move what is needed into a layer under both, or inject it from above";
    Fault::new(&file, line.map_or(1, |(n, _)| n + 1), what, mend)
}

/// A way from one crate to another: any edge of the first, then what is linked with it.
fn reach(edges: &[Edge], from: &str, to: &str) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut ways = vec![vec![from.to_owned()]];
    while let Some(way) = ways.pop() {
        let last = way.last().expect("never empty").clone();
        if last == to {
            return Some(way);
        }
        for edge in edges.iter().filter(|edge| edge.from == last && (!edge.test || last == from)) {
            if seen.insert(&edge.to) {
                ways.push(way.iter().chain([&edge.to]).cloned().collect());
            }
        }
    }
    None
}

fn manifest(name: &str) -> String {
    format!("crates/{name}/Cargo.toml")
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// A crate's name in the code, and that of its folder: published it is `halfturn-`, and this.
fn short(value: &Value) -> &str {
    let name = word(value);
    name.strip_prefix("halfturn-").unwrap_or(name)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A workspace of these crates; `+` before a name is a dev-dependency.
    fn workspace(crates: &[(&str, &[&str])]) -> Value {
        let used = |name: &&str| {
            let kind = if name.starts_with('+') { json!("dev") } else { Value::Null };
            json!({"name": name.trim_start_matches('+'), "kind": kind, "path": "somewhere"})
        };
        let package = |(name, uses): &(&str, &[&str])| json!({"name": name, "dependencies": uses.iter().map(used).collect::<Vec<_>>()});
        json!({"packages": crates.iter().map(package).collect::<Vec<_>>()})
    }

    fn found(crates: &[(&str, &[&str])]) -> Vec<String> {
        check(&workspace(crates), &Tree::of(&[])).into_iter().map(|fault| fault.what).collect()
    }

    #[test]
    fn allowed_edges_pass() {
        assert!(
            found(&[("block", &[]), ("drive", &["block"]), ("sim", &["drive", "+config"]), ("config", &[])]).is_empty()
        );
    }

    #[test]
    fn an_edge_outside_the_table_is_shown_with_its_line() {
        let tree = Tree::of(&[("crates/drive/Cargo.toml", "[dependencies]\nblock.workspace = true\nconfig = 1\n")]);
        let faults = check(&workspace(&[("drive", &["config"]), ("config", &[])]), &tree);
        assert_eq!(crate::places(&faults), ["crates/drive/Cargo.toml:3"]);
        assert_eq!(faults[0].what, "'drive' may not use 'config' (dependencies)");
    }

    #[test]
    fn tests_of_the_core_do_not_see_the_drive() {
        let faults = found(&[("sched", &["+drive"]), ("drive", &[])]);
        assert_eq!(
            faults,
            ["'sched' may not use 'drive' (dev-dependencies)", "'sched' reaches 'drive': sched → drive"]
        );
    }

    #[test]
    fn a_forbidden_reach_is_found_by_any_way() {
        let faults = found(&[("sched", &["disk"]), ("disk", &["drive"]), ("drive", &[])]);
        assert!(faults.contains(&"'sched' reaches 'drive': sched → disk → drive".into()), "{faults:?}");
        let faults = found(&[("sim", &["load"]), ("load", &["live"]), ("live", &[])]);
        assert!(faults.contains(&"'sim' reaches 'live': sim → load → live".into()), "{faults:?}");
        let faults = found(&[("profile", &["drive"]), ("drive", &[])]);
        assert!(faults.contains(&"'profile' reaches 'drive': profile → drive".into()), "{faults:?}");
    }

    #[test]
    fn what_only_tests_of_another_crate_use_is_not_reached() {
        let faults = found(&[("sched", &["disk"]), ("disk", &["+drive"]), ("drive", &[])]);
        assert_eq!(faults, ["'disk' may not use 'drive' (dev-dependencies)"]);
    }

    #[test]
    fn a_crate_without_a_row_is_named() {
        assert_eq!(found(&[("stray", &[])]), ["crate 'stray' has no place among the layers"]);
    }
}
