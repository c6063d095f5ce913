//! Every Rust file is compiled, and none is a leftover.

use crate::{Fault, Tree, lexer, line_of};
use std::collections::BTreeSet;

/// Ends of names that tell of an earlier or a later version.
const LEFTOVERS: [&str; 4] = ["_old", "_new", "_bak", "_orig"];

/// Rust files of the crates that no `mod` declares, and `#[path]`, which hides where a module lies.
pub fn dead(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut reached = BTreeSet::new();
    let files = || tree.ending(".rs").filter(|(path, _)| path.starts_with("crates/"));
    let mut next: Vec<String> = files().map(|(path, _)| path).filter(|path| is_root(path)).map(str::to_owned).collect();
    while let Some(path) = next.pop() {
        let code = lexer::code(tree.text(&path));
        let folder = children(&path);
        for name in declared(&code).into_iter().chain(listed(&code)) {
            let places = [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")];
            next.extend(places.into_iter().filter(|place| tree.has(place) && !reached.contains(place)));
        }
        if let Some(at) = code.find("#[path") {
            faults.push(Fault::new(&path, line_of(&code, at), "#[path] on a module", "keep it where its name says"));
        }
        reached.insert(path);
    }
    for (path, _) in files().filter(|(path, _)| !reached.contains(*path)) {
        let name = path.trim_end_matches("/mod.rs").rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
        let mend = format!("declare it with `mod {name};` in the module above, or remove it");
        faults.push(Fault::new(path, 1, "no module declares this file", mend));
    }
    faults
}

/// Whether cargo compiles this file without being told by another: `crates/NAME/…`.
fn is_root(path: &str) -> bool {
    let inside: Vec<&str> = path.split('/').skip(2).collect();
    matches!(
        *inside,
        ["build.rs"]
            | ["src", "lib.rs" | "main.rs"]
            | ["src", "bin", _]
            | ["src", "bin", _, "main.rs"]
            | ["tests" | "benches" | "examples", _]
            | ["tests" | "benches" | "examples", _, "main.rs"]
    )
}

/// The folder where modules declared in this file lie.
fn children(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if is_root(path) || name == "mod.rs" { folder.into() } else { path.trim_end_matches(".rs").into() }
}

/// Names declared by `mod NAME;`.
fn declared(code: &str) -> Vec<&str> {
    let words: Vec<(usize, &str)> = lexer::words(code).collect();
    let pairs = words.windows(2).filter(|pair| pair[0].1 == "mod");
    pairs
        .map(|pair| pair[1])
        .filter(|(at, name)| code[at + name.len()..].trim_start().starts_with(';'))
        .map(|(_, name)| name)
        .collect()
}

/// Names in the lists given to a macro that declares a module for each: a registry of files.
fn listed(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices("macro_rules! ") {
        let rest = &code[at + "macro_rules! ".len()..];
        let name = rest.split([' ', '{']).next().unwrap_or_default();
        if !braced(rest).contains("mod $") {
            continue;
        }
        let call = format!("\n{name}! {{");
        let calls = code.match_indices(&call).map(|(at, _)| braced(&code[at..]));
        names.extend(calls.flat_map(lexer::words).map(|(_, word)| word));
    }
    names
}

/// What stands between the first brace and the one that closes it.
fn braced(code: &str) -> &str {
    let Some(open) = code.find('{') else { return "" };
    let mut depth = 0;
    for (at, byte) in code[open..].bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &code[open..open + at];
        }
    }
    &code[open..]
}

/// Files of code and prose whose name tells of another version.
pub fn leftovers(tree: &Tree) -> Vec<Fault> {
    let kept = |path: &&str| [".rs", ".md", ".py", ".sh", ".rej", ".orig"].iter().any(|end| path.ends_with(end));
    let mut faults = Vec::new();
    for path in tree.paths().filter(kept) {
        if let Some(part) = path.split('/').find(|part| is_leftover(part)) {
            let mend = "keep one, under the plain name; git keeps the other";
            faults.push(Fault::new(path, 1, format!("'{part}' tells of another version"), mend));
        }
    }
    faults
}

fn is_leftover(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part);
    let version = stem.rsplit_once("_v").is_some_and(|(_, n)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let merged = part.ends_with(".rej") || part.ends_with(".orig");
    version || merged || LEFTOVERS.iter().any(|end| stem.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_nothing_declares_is_dead() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "mod used;\npub(crate) mod folder;\n// mod dead;\nmod inline { }\n"),
            ("crates/a/src/used.rs", "mod below;"),
            ("crates/a/src/used/below.rs", ""),
            ("crates/a/src/folder/mod.rs", "mod beside;"),
            ("crates/a/src/folder/beside.rs", ""),
            ("crates/a/src/dead.rs", "mod deader;"),
            ("crates/a/src/dead/deader.rs", ""),
            ("crates/a/src/inline.rs", ""),
            ("crates/a/src/bin/tool.rs", ""),
            ("crates/a/tests/behaviour.rs", "mod common;"),
            ("crates/a/tests/common/mod.rs", ""),
            ("crates/a/tests/unused/mod.rs", ""),
        ]);
        assert_eq!(
            crate::places(&dead(&tree)),
            [
                "crates/a/src/dead.rs:1",
                "crates/a/src/dead/deader.rs:1",
                "crates/a/src/inline.rs:1",
                "crates/a/tests/unused/mod.rs:1"
            ]
        );
    }

    #[test]
    fn a_file_that_a_registry_lists_is_declared() {
        let list = "macro_rules! kinds { ($($file:ident)*) => { $(mod $file;)* } }\nmacro_rules! other { () => {} }\n\
                    other! { dead }\nkinds! { open closed }\nfn unlisted() {}";
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", list),
            ("crates/a/src/open.rs", ""),
            ("crates/a/src/closed.rs", ""),
            ("crates/a/src/dead.rs", ""),
            ("crates/a/src/unlisted.rs", ""),
        ]);
        assert_eq!(crate::places(&dead(&tree)), ["crates/a/src/dead.rs:1", "crates/a/src/unlisted.rs:1"]);
    }

    #[test]
    fn a_hidden_path_is_refused() {
        let tree = Tree::of(&[("crates/a/src/lib.rs", "\n#[path = \"x.rs\"]\nmod y;\n")]);
        assert_eq!(crate::places(&dead(&tree)), ["crates/a/src/lib.rs:2"]);
    }

    #[test]
    fn a_name_of_another_version_is_a_leftover() {
        let bad =
            ["crates/a/src/look_old.rs", "docs_v2/page.md", "crates/a/src/seek_new.rs", "crates/a/src/seek.rs.rej"];
        let good = ["crates/a/src/threshold.rs", "crates/a/src/renew.rs", "crates/a/src/mov_video.rs", "data_v1.bin"];
        let files: Vec<(&str, &str)> = bad.iter().chain(&good).map(|path| (*path, "")).collect();
        let found: BTreeSet<String> = leftovers(&Tree::of(&files)).into_iter().map(|fault| fault.file).collect();
        assert_eq!(found, bad.iter().map(|path| (*path).to_owned()).collect());
    }
}
