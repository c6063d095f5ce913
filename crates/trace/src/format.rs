//! A trace format as its own file describes it: name, documentation, examples, how it is recognised, read and written.
//!
//! The formats themselves are the files of `formats/`; whatever lists formats takes them from there.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use block::BadInput;

use crate::feed::TraceFeed;
use crate::formats::ALL;
use crate::reader::{FormatReader, ReadLedger};
use crate::table::{self, DelimitedTable};
use crate::write::Writing;

/// All that is known of one format.
pub(crate) struct FormatEntry {
    /// As a user writes it after `--trace-format`, `--to` and in `format =`.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// A paragraph of Markdown: what records it, how to record one, its columns, the units and the origin of its times.
    pub text: &'static str,
    /// Whole files. Tests recognise, read, convert and damage each; the first is shown in the documentation.
    pub examples: &'static [Example],
    /// How a file is recognised and read.
    pub read: ReadMethod,
    /// Nothing for a format that is only read.
    pub write: Option<Writing>,
}

/// A file of a format.
pub(crate) struct Example {
    pub bytes: &'static [u8],
    /// How many requests are in it.
    pub requests: u64,
}

/// Reads a file of a format; fails where it does not begin as the format does.
pub(crate) type OpenReader = fn(TraceFeed, &mut ReadLedger) -> Result<Box<dyn FormatReader>, BadInput>;

/// How a format is recognised and read.
pub(crate) enum ReadMethod {
    /// By how its files begin.
    Begin { looks: fn(&[u8]) -> bool, open: OpenReader },
    /// The same, of a format with a file for each CPU.
    PerCpu { looks: fn(&[u8]) -> bool, open: fn(Vec<TraceFeed>) -> Box<dyn FormatReader> },
    /// Line by line: `looks` tells whether a line could be of the format.
    Lines { looks: fn(&[u8]) -> bool, open: OpenReader },
    /// Delimited columns, as data.
    Table(DelimitedTable),
}

/// A format of block traces.
#[derive(Clone, Copy)]
pub struct Format(pub(crate) &'static FormatEntry);

/// Every format, in the order of the documentation; where content fits two, the former is taken.
pub fn formats() -> impl DoubleEndedIterator<Item = Format> + Clone {
    ALL.iter().map(|entry| Format(entry))
}

impl Format {
    /// The name that a user writes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// What it is, in a line.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.0.title
    }

    /// Whether a file that begins so shows by that alone that it is of this format.
    pub(crate) fn begins(self, start: &[u8]) -> bool {
        match self.0.read {
            ReadMethod::Begin { looks, .. } | ReadMethod::PerCpu { looks, .. } => looks(start),
            ReadMethod::Lines { .. } | ReadMethod::Table(_) => false,
        }
    }

    /// How many of these lines could be of this format, if it is one of lines.
    pub(crate) fn fitting<'a>(self, lines: impl Iterator<Item = &'a [u8]>) -> usize {
        match &self.0.read {
            ReadMethod::Lines { looks, .. } => lines.filter(|line| looks(line)).count(),
            ReadMethod::Table(table) => table::fitting(self.0.name, table, lines),
            ReadMethod::Begin { .. } | ReadMethod::PerCpu { .. } => 0,
        }
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Format) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Format {}

impl Hash for Format {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Format({})", self.name())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    /// Parses the name of a format.
    fn from_str(name: &str) -> Result<Format, String> {
        if let Some(format) = formats().find(|format| format.name().eq_ignore_ascii_case(name)) {
            return Ok(format);
        }
        let meant = block::nearest(name, formats().map(Format::name))
            .map_or_else(String::new, |meant| format!(", did you mean '{meant}'?"));
        Err(format!("'{name}' is not a trace format{meant} (`halfturn trace --help` lists them)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_parse_back_and_slips_are_named() {
        for format in formats() {
            assert_eq!(format.to_string().parse(), Ok(format));
            assert_eq!(format.name().to_uppercase().parse(), Ok(format));
        }
        let error = Format::from_str("blktrac").unwrap_err();
        assert!(error.starts_with("'blktrac' is not a trace format, did you mean 'blktrace'? ("), "{error}");
    }

    #[test]
    fn every_format_has_a_name_of_its_own_and_documentation() {
        let mut names = BTreeSet::new();
        for entry in ALL {
            assert!(
                names.insert(entry.name) && entry.name.bytes().all(|c| c.is_ascii_alphanumeric()),
                "{}",
                entry.name
            );
            assert!(!entry.title.is_empty() && !entry.title.ends_with('.'), "{}: {}", entry.name, entry.title);
            assert!(entry.text.len() > 80 && entry.text.ends_with('.'), "{}: {}", entry.name, entry.text);
            assert!(!entry.examples.is_empty(), "{}: give an example", entry.name);
        }
    }
}
