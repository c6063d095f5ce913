//! Every TOML file we ship is TOML.

use crate::{BAD, Fault, Tree, line_of};

pub fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.ending(".toml").filter(|(path, _)| !path.starts_with(BAD)) {
        if let Err(error) = text.parse::<toml::Table>() {
            let line = error.span().map_or(1, |span| line_of(text, span.start.min(text.len())));
            faults.push(Fault::new(
                path,
                line,
                error.message(),
                "mend it, or move it under tests/bad if it is wrong on purpose",
            ));
        }
    }
    faults
}

#[test]
fn a_file_that_is_not_toml_is_found() {
    let tree = Tree::of(&[
        ("good.toml", "a = 1\n[b]\n"),
        ("bad.toml", "a = 1\nb = = 2\n"),
        ("twice.toml", "a = 1\n\na = 2\n"),
        ("tests/bad/x/y.toml", "a ="),
    ]);
    assert_eq!(crate::places(&check(&tree)), ["bad.toml:2", "twice.toml:3"]);
}
