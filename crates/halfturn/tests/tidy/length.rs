//! How long a function and a file may be.

use crate::{Fault, Tree, lexer, line_of};

/// From the line of `fn` to that of its closing brace; tests too.
const FUNCTION_LINES: usize = 70;
const FILE_LINES: usize = 600;

pub fn functions(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.ending(".rs") {
        let code = lexer::code(text);
        for (name, from, to) in bodies(&code) {
            let (first, lines) = (line_of(&code, from), 1 + code[from..to].matches('\n').count());
            if lines > FUNCTION_LINES {
                let what = format!("'{name}' has {lines} lines, {FUNCTION_LINES} are allowed");
                faults.push(Fault::new(path, first, what, "name its steps and make each a function"));
            }
        }
    }
    faults
}

pub fn files(tree: &Tree) -> Vec<Fault> {
    let long = |text: &str| text.lines().count() > FILE_LINES;
    let fault = |(path, text): (&str, &str)| {
        let what = format!("{} lines, {FILE_LINES} are allowed", text.lines().count());
        Fault::new(path, FILE_LINES + 1, what, "give each of its reasons to exist a file")
    };
    tree.ending(".rs").filter(|(_, text)| long(text)).map(fault).collect()
}

/// Name, offset of `fn` and offset of the closing brace of each function with a body.
fn bodies(code: &str) -> Vec<(&str, usize, usize)> {
    let words: Vec<(usize, &str)> = lexer::words(code).collect();
    let mut found = Vec::new();
    for pair in words.windows(2).filter(|pair| pair[0].1 == "fn") {
        let ((at, _), (named, name)) = (pair[0], pair[1]);
        // `fn(u32)` is a type; `fn $name` stands in a macro.
        if !matches!(code[at + 2..named].trim(), "" | "$") {
            continue;
        }
        if let Some(open) = opening(code, named) {
            found.push((name, at, closing(code, open)));
        }
    }
    found
}

/// The brace that opens the body of a signature, unless it ends in `;`.
fn opening(code: &str, from: usize) -> Option<usize> {
    let mut depth = 0;
    for (n, byte) in code.bytes().enumerate().skip(from) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(n),
            b';' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (n, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return n;
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function of so many lines, its braces also in a string, a comment and a character.
    fn function(name: &str, lines: usize) -> String {
        let body = "    let _ = (\"}\", '}'); // }\n".repeat(lines - 2);
        format!("fn {name}(x: [u8; 2], f: fn(u8)) -> [u8; 2] {{\n{body}}}\n")
    }

    #[test]
    fn a_long_function_is_found_where_it_begins() {
        let text = format!("trait T {{ fn f(); }}\n{}\n{}", function("most", 70), function("over", 71));
        let faults = functions(&Tree::of(&[("a.rs", &text)]));
        assert_eq!(crate::places(&faults), ["a.rs:73"]);
        assert_eq!(faults[0].what, "'over' has 71 lines, 70 are allowed");
    }

    #[test]
    fn tests_and_macros_count_too() {
        let inner = function("over", 71).replace("fn over", "fn $name");
        let text =
            format!("#[cfg(test)]\nmod tests {{\n{}}}\nmacro_rules! m {{ () => {{ {inner} }} }}", function("held", 80));
        assert_eq!(crate::places(&functions(&Tree::of(&[("a.rs", &text)]))), ["a.rs:3", "a.rs:84"]);
    }

    #[test]
    fn a_long_file_is_found() {
        let tree = |lines| Tree::of(&[("a.rs", "\n".repeat(lines).as_str())]);
        assert!(files(&tree(600)).is_empty());
        assert_eq!(crate::places(&files(&tree(601))), ["a.rs:601"]);
    }
}
