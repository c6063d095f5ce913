//! What the guide shows is there: experiments are those in `examples`, output is what the program prints, commands and options exist.
//!
//! A fenced block says what it is. `toml FILE` is a part of that file. `console` is a command and what it prints, where a line
//! `[...]` stands for any lines. `sh` is commands that a test cannot run: their verbs and options are looked up. In a table a
//! command stands in a row with figures of its output.

use crate::{root, said};

struct Block<'a> {
    page: &'a str,
    kind: &'a str,
    text: &'a str,
}

/// The pages of the guide, by name.
fn pages() -> Vec<(String, String)> {
    let folder = root().join("docs/guide");
    let files = std::fs::read_dir(&folder).expect("the guide").map(|it| it.expect("an entry").path());
    let mut pages: Vec<_> = files
        .map(|path| (path.file_name().expect("a name").to_string_lossy().into_owned(), path))
        .map(|(name, path)| (name, std::fs::read_to_string(path).expect("a page")))
        .collect();
    pages.sort();
    assert!(pages.len() >= 8, "the guide has a page for each task");
    pages
}

fn blocks<'a>(page: &'a str, text: &'a str) -> impl Iterator<Item = Block<'a>> {
    text.split("```").skip(1).step_by(2).map(move |block| {
        let (kind, text) = block.split_once('\n').expect("a block has lines");
        Block { page, kind: kind.trim(), text }
    })
}

/// The words of a command line, quotes taken off.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![];
    let mut quoted = false;
    let mut word = String::new();
    for letter in line.chars() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            letter => word.push(letter),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

fn output(command: &str) -> String {
    let words = words(command);
    let (program, arguments) = words.split_first().expect("a command");
    assert_eq!(program, "halfturn");
    said(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Whether the parts between lines of `[...]` are found in the output, each whole and in order.
fn shows(output: &str, shown: &str) -> bool {
    let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
    let shown: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let mut at = 0;
    shown.split(|line| *line == "[...]").enumerate().all(|(i, part)| {
        let starts: Vec<usize> = if i == 0 { vec![0] } else { (at..=lines.len()).collect() };
        let found = starts.into_iter().find(|start| lines[*start..].starts_with(part));
        at = found.unwrap_or(0) + part.len();
        found.is_some()
    })
}

#[test]
fn parts_of_files_are_in_them() {
    for (name, text) in pages() {
        for Block { page, kind, text } in blocks(&name, &text) {
            let Some(file) = kind.strip_prefix("toml ") else { continue };
            let whole = std::fs::read_to_string(root().join(file)).expect("the file");
            assert!(whole.contains(text.trim()), "{page}: this is not in {file}:\n{text}");
        }
    }
}

#[test]
fn the_output_in_the_guide_is_the_output() {
    let mut all = vec![];
    for (name, text) in pages() {
        for Block { page, kind, text } in blocks(&name, &text).filter(|block| block.kind == "console") {
            let (command, shown) = text.split_once('\n').expect("a command and its output");
            let command = command.strip_prefix("$ ").expect("a command begins with $");
            let output = output(command);
            assert!(shows(&output, shown), "{page}: {kind} of\n$ {command}\nis now\n{output}");
            all.push(shown.lines().filter(|line| *line != "[...]").count());
        }
    }
    assert!(all.len() >= 5 && all.iter().all(|lines| *lines > 3), "blocks show output: {all:?}");
}

#[test]
fn figures_beside_a_command_are_of_its_output() {
    let mut figures = 0;
    for (name, text) in pages() {
        for row in text.lines().filter(|line| line.starts_with('|')) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let command = |cell: &&&str| cell.starts_with("`halfturn ");
            let Some(command) = cells.iter().find(command).map(|cell| cell.trim_matches('`')) else { continue };
            let output = output(command);
            let printed: Vec<&str> = output.split_whitespace().map(|word| word.trim_start_matches('*')).collect();
            for cell in cells.iter().filter(|cell| cell.starts_with(|first: char| first.is_ascii_digit())) {
                let figure = cell.split(' ').next().expect("a figure");
                assert!(printed.contains(&figure), "{name}: {figure} is not in the output of {command}:\n{output}");
                figures += 1;
            }
        }
    }
    assert!(figures >= 8, "{figures}");
}

#[test]
fn commands_in_the_guide_have_these_options() {
    let mut looked_up = 0;
    let mut texts = pages();
    texts.push(("README.md".into(), std::fs::read_to_string(root().join("README.md")).expect("the page")));
    for (name, text) in texts {
        for Block { page, text, .. } in blocks(&name, &text).filter(|block| matches!(block.kind, "sh" | "console" | ""))
        {
            for line in text.lines() {
                let line = line.trim_start_matches("$ ").trim_end_matches('&');
                let Some(rest) = line.strip_prefix("halfturn ") else { continue };
                let rest = rest.split(" # ").next().expect("a command");
                let words = words(rest.split(" -- ").next().expect("a command"));
                let verbs = if matches!(&*words[0], "trace" | "drive" | "volume" | "array") { 2 } else { 1 };
                let mut help: Vec<&str> = words[..verbs].iter().map(String::as_str).collect();
                help.push("--help");
                let help = said(&help);
                for option in words.iter().filter(|word| word.starts_with("--")) {
                    let option = option.split('=').next().unwrap_or(option);
                    assert!(help.contains(option), "{page}: there is no {option}: {line}");
                    looked_up += 1;
                }
            }
        }
    }
    assert!(looked_up >= 20, "{looked_up}");
}

#[test]
fn what_is_left_out_may_be_anything() {
    assert!(shows("a\nb\nc\nd\n", "a\n[...]\nd"));
    assert!(shows("a\nb\nc\nd\n", "[...]\nb\nc\n[...]"));
    assert!(!shows("a\nb\nc\nd\n", "[...]\nc\nb\n[...]"));
    assert!(!shows("a\nb\nc\nd\n", "b\n[...]"));
    assert!(!shows("a\nb\nc\nd\n", "[...]\nd\n[...]\na"));
}
