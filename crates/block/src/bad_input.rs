//! The one shape of an error about what a user gave us: which file, where in it, what is wrong and
//! how to mend it.

use std::fmt;

/// Which part of a file an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The file as a whole.
    File,
    /// A line of text, counted from 1.
    Line(u64),
    /// A record of a binary file, counted from 1.
    Record(u64),
}

/// Bad input: shown as `FILE:LINE: what is wrong` and, on the next line, the mend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadInput {
    /// The file, or whatever else the words came from.
    pub file: String,
    /// The line or record that is wrong, or the whole file.
    pub at: At,
    /// What is wrong, as a clause without a full stop.
    pub what: String,
    /// What to do about it; may be empty.
    pub mend: String,
}

impl BadInput {
    /// An error at a place in a file.
    pub fn new(file: impl Into<String>, at: At, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        BadInput { file: file.into(), at, what: what.into(), mend: mend.into() }
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            At::File => write!(f, "{}: {}", self.file, self.what)?,
            At::Line(line) => write!(f, "{}:{line}: {}", self.file, self.what)?,
            At::Record(record) => write!(f, "{}: record {record}: {}", self.file, self.what)?,
        }
        if self.mend.is_empty() { Ok(()) } else { write!(f, "\n  mend: {}", self.mend) }
    }
}

impl std::error::Error for BadInput {}

/// The name in `known` most like `given`, if any is like enough to be what was meant.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (edits(given, name), name))
        .filter(|(edits, name)| *edits <= 1 + name.len().min(given.len()) / 3)
        .min()
        .map(|(_, name)| name)
}

/// Edit distance between two words, ignoring case, `-` and `_`.
fn edits(a: &str, b: &str) -> usize {
    let plain = |word: &str| -> Vec<char> { word.to_lowercase().chars().filter(|c| !matches!(c, '-' | '_')).collect() };
    let (a, b) = (plain(a), plain(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_a_slip_and_not_a_stranger() {
        assert_eq!(nearest("polcy", ["policy", "predictor"]), Some("policy"));
        assert_eq!(nearest("clook", ["look", "c-look"]), Some("c-look"));
        assert_eq!(nearest("zebra", ["policy", "predictor"]), None);
    }

    #[test]
    fn each_letter_more_less_or_other_is_one_edit() {
        let pairs = [
            ("", "abc"),
            ("abc", ""),
            ("abc", "abc"),
            ("abc", "bc"),
            ("bc", "abc"),
            ("abc", "axc"),
            ("kitten", "sitting"),
        ];
        assert_eq!(pairs.map(|(a, b)| edits(a, b)), [3, 3, 0, 1, 1, 1, 3]);
        assert_eq!(edits("C-Look", "c_look"), 0);
    }

    #[test]
    fn as_many_slips_are_forgiven_as_the_word_is_long() {
        assert_eq!([nearest("xa", ["ab"]), nearest("xy", ["ab"])], [None, None]);
        assert_eq!(
            [nearest("b", ["ab"]), nearest("abcxyz", ["abcdef"]), nearest("abwxyz", ["abcdef"])],
            [Some("ab"), Some("abcdef"), None]
        );
    }

    #[test]
    fn shows_file_line_and_mend() {
        let error = BadInput::new("a.toml", At::Line(3), "no such key", "take it out");
        assert_eq!(error.to_string(), "a.toml:3: no such key\n  mend: take it out");
    }
}
