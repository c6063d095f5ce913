//! What no file should hold: paths of one machine, stray whitespace, things left to do, what older compilers do not take.

use crate::{BAD, Fault, Tree, lexer, line_of};

/// Split, so that this file may be read by its own check.
const MACHINE: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// Where whitespace is ours to choose.
const WRITTEN: [&str; 8] = [".rs", ".md", ".toml", ".py", ".sh", ".yml", ".ci/run", ".ci/packages"];

pub fn machine_paths(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.texts() {
        for (at, found) in MACHINE.iter().flat_map(|folder| text.match_indices(folder)) {
            if begins_path(&text[..at]) {
                let mend = "write it relative to the project, or as an argument";
                faults.push(Fault::new(path, line_of(text, at), format!("'{found}' is a path of one machine"), mend));
            }
        }
    }
    faults
}

/// Whether a `/` after this text begins a path, rather than going on with one or with an address.
fn begins_path(before: &str) -> bool {
    before.chars().next_back().is_none_or(|c| !(c.is_alphanumeric() || "_-.~*}])>".contains(c)))
}

pub fn whitespace(tree: &Tree) -> Vec<Fault> {
    let ours = |path: &str| !path.starts_with(BAD) && WRITTEN.iter().any(|end| path.ends_with(end));
    let mut faults = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| ours(path)) {
        for (number, line) in text.split('\n').enumerate() {
            if line.ends_with(char::is_whitespace) {
                faults.push(Fault::new(path, number + 1, "whitespace at the end of the line", "take it out"));
            }
            if path.ends_with(".rs") && line.contains('\t') {
                faults.push(Fault::new(path, number + 1, "a tab", "use spaces; in a string write \\t"));
            }
        }
    }
    faults
}

pub fn left_to_do(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.sources() {
        let code = lexer::code(text);
        let notes = ["TODO", "FIXME", "XXX"].map(|word| (text, word, "do it now, or open an issue"));
        let macros = ["dbg!(", "todo!(", "unimplemented!("].map(|word| (code.as_str(), word, "write what is meant"));
        for (within, word, mend) in notes.into_iter().chain(macros) {
            let fault = |at| Fault::new(path, line_of(text, at), format!("'{word}' in src"), mend);
            faults.extend(lexer::find(within, word).map(fault));
        }
    }
    faults
}

/// Arms of a match under `if let`: compilers took them long after the one that is promised to do, and the present one says nothing.
pub fn newer_guards(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.sources() {
        for (number, line) in lexer::code(text).lines().enumerate() {
            let guard = line.find(" if let ").filter(|at| !line[..*at].trim().is_empty());
            if guard.is_some_and(|at| line[at..].contains("=>")) {
                faults.push(Fault::new(
                    path,
                    number + 1,
                    "`if let` guards an arm of a match",
                    "match what it looks at, too",
                ));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_one_machine_is_found_and_an_address_is_not() {
        let [work, root, home, _] = MACHINE;
        let text = format!(
            "a {work}x\nsee https://a.example{home}y\n\"{home}z\"\n../x{root}y\n{root}\n$DIR{work} ${{DIR}}{work}\n"
        );
        assert_eq!(crate::places(&machine_paths(&Tree::of(&[("a.md", &text)]))), ["a.md:1", "a.md:5", "a.md:3"]);
    }

    #[test]
    fn stray_whitespace_is_found() {
        let tree = Tree::of(&[
            ("a.rs", "x \n\tx\nx\r\n"),
            ("a.md", "x  \n\tx\n"),
            ("a.txt", "x \n"),
            ("tests/bad/a.toml", "x \n"),
        ]);
        assert_eq!(crate::places(&whitespace(&tree)), ["a.md:1", "a.rs:1", "a.rs:2", "a.rs:3"]);
    }

    #[test]
    fn what_is_left_to_do_is_found() {
        let text =
            "// TODO: later\nlet x = dbg!(y);\n// dbg!(z)\n\"FIXME\"\nTODOS XXX\ntodo!();\nlet s = \"todo!()\";\n";
        let tree = Tree::of(&[("crates/a/src/b.rs", text), ("crates/a/tests/b.rs", text)]);
        let lines: Vec<usize> = left_to_do(&tree).iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [1, 4, 5, 2, 6]);
    }

    #[test]
    fn an_arm_under_if_let_is_found_and_a_condition_is_not() {
        let text = "match x {\n    A if let Some(b) = c => d,\n    B => if let Some(b) = c { d } else { e },\n    C if c => d,\n}\n\
                    let x = if let Some(b) = c { d } else { e };\n    if let A = b { c }\n";
        assert_eq!(crate::places(&newer_guards(&Tree::of(&[("crates/a/src/b.rs", text)]))), ["crates/a/src/b.rs:2"]);
    }
}
