//! The formats by name.

use std::fmt;
use std::str::FromStr;

use crate::tables::{TABLES, table};

/// A format of block traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// blktrace's binary files, one a CPU; version 1 or 2.
    Blktrace,
    /// blkparse's text.
    Blkparse,
    /// DiskSim's ASCII, and MQSim's variant of it in nanoseconds.
    DiskSim,
    /// HP SRT 1.x binary.
    Srt,
    /// DiskSim's traces for validation: what a drive did, one request at a time.
    Validate,
    /// fio's iolog, version 2 or 3.
    Iolog,
    /// CloudPhysics vscsi binary; version 1 or 2.
    Vscsi,
    /// A named table of comma-separated columns.
    Table(&'static str),
}

const PLAIN: [Format; 7] =
    [Format::Blktrace, Format::Blkparse, Format::DiskSim, Format::Validate, Format::Iolog, Format::Srt, Format::Vscsi];

impl Format {
    /// Every format.
    pub const ALL: [Format; PLAIN.len() + TABLES.len()] = {
        let mut all = [Format::Blktrace; PLAIN.len() + TABLES.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = if at < PLAIN.len() { PLAIN[at] } else { Format::Table(TABLES[at - PLAIN.len()].name) };
            at += 1;
        }
        all
    };

    /// Its word for `--trace-format`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Format::Blktrace => "blktrace",
            Format::Blkparse => "blkparse",
            Format::DiskSim => "disksim",
            Format::Validate => "validate",
            Format::Iolog => "iolog",
            Format::Srt => "srt",
            Format::Vscsi => "vscsi",
            Format::Table(name) => name,
        }
    }

    /// Every word, for a message.
    pub(crate) fn words() -> String {
        Format::ALL.map(Format::word).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Format {
    type Err = String;

    /// Parses the word of `--trace-format`.
    fn from_str(word: &str) -> Result<Format, String> {
        if let Some(format) = Format::ALL.into_iter().find(|format| format.word().eq_ignore_ascii_case(word)) {
            return Ok(format);
        }
        let meant = block::nearest(word, Format::ALL.map(Format::word))
            .map_or_else(String::new, |meant| format!(", did you mean '{meant}'?"));
        Err(format!("'{word}' is not a trace format{meant} (formats: {})", Format::words()))
    }
}

/// The table of a format; no one outside can make a `Table` of an unknown name by parsing, but can by hand.
pub(crate) fn table_of(name: &str) -> Result<&'static crate::tables::Table, String> {
    table(name).ok_or_else(|| format!("there is no table named '{name}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_parse_back_and_slips_are_named() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
        let error = Format::from_str("blktrac").unwrap_err();
        assert!(
            error
                .starts_with("'blktrac' is not a trace format, did you mean 'blktrace'? (formats: blktrace, blkparse,")
        );
    }
}
