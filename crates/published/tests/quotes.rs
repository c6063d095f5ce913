//! Quotes and printed cells are in the papers, where these are at hand.

use published::{Basis, PublishedValue};
use std::path::Path;

/// The papers' texts by the beginning of a file's source; their names begin with these numbers.
const PAPERS: [(&str, &str); 6] = [
    ("Virtual IO", "000"),
    ("Preemptive RAID", "001"),
    ("Disk Mimic", "002"),
    ("Semi-preemptible IO", "003"),
    ("The Process-Flow Model", "004"),
    ("Freeblock scheduling", "freeblock"),
];

/// The text of a paper, its white space made one blank each.
fn paper(number: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/papers");
    let entries = std::fs::read_dir(folder).ok()?;
    let mut paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let path = paths.find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(number)))?;
    Some(plain(&std::fs::read_to_string(path).ok()?))
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn quotes_are_the_papers_own_words() {
    let files = published::all(published::RunLength::Quick).expect("they are read");
    for file in &files {
        for target in file.targets.iter().filter(|target| target.basis != Basis::Own) {
            let Some(quote) = &target.quote else { continue };
            let Some((_, number)) = PAPERS.iter().find(|(begin, _)| file.source.starts_with(begin)) else {
                panic!("{}: no paper is known by the source '{}'", file.id, file.source);
            };
            let Some(text) = paper(number) else {
                println!("SKIPPED: the text of paper {number} is not at hand");
                continue;
            };
            assert!(text.contains(&plain(quote)), "{}: its quote is not in paper {number}: {quote}", target.id);
        }
    }
}

#[test]
fn printed_numbers_of_tables_are_in_the_papers_as_written() {
    let files = published::all(published::RunLength::Quick).expect("they are read");
    for file in files.iter().filter(|file| file.id.contains(".table")) {
        let Some((_, number)) = PAPERS.iter().find(|(begin, _)| file.source.starts_with(begin)) else { continue };
        let Some(text) = paper(number) else {
            println!("SKIPPED: the text of paper {number} is not at hand");
            continue;
        };
        let text = text.replace(',', "");
        let numbers: Vec<&str> = text.split(|c: char| !(c.is_ascii_digit() || c == '.')).collect();
        for target in file.targets.iter().filter(|target| target.basis.is_printed() && target.id.contains(".at.")) {
            let PublishedValue::Number { text, .. } = &target.published else { continue };
            assert!(numbers.contains(&text.as_str()), "{}: {text} is not in paper {number}", target.id);
        }
    }
}
