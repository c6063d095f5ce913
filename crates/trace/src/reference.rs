//! What users are told of the formats: the list of `--help` and the page of the reference.

use std::fmt::Write as _;

use crate::format::{Example, Format, formats};
use crate::formats::ALL;
use crate::write::{endings, targets};

/// Bytes of a binary example that the page shows.
const SHOWN: usize = 256;
const BYTES_A_LINE: usize = 16;

/// The formats, a line each, for `--help`.
#[must_use]
pub fn help() -> String {
    let width = formats().map(|format| format.name().len()).max().unwrap_or_default();
    let list = |names: Vec<Format>| {
        names.iter().fold(String::new(), |text, format| text + &format!("  {format:width$}  {}\n", format.title()))
    };
    let written: Vec<&str> = targets().map(|target| target.name()).collect();
    format!(
        "Trace formats, for --trace-format and `format` of a workload:\n{}\nWritten by trace convert: {}",
        list(formats().collect()),
        written.join(", ")
    )
}

/// The page of the trace formats (Markdown): `docs/reference/trace-formats.md`.
#[must_use]
pub fn reference() -> String {
    let mut page = String::from(
        "# Trace formats\n\n\
         Generated from the files of [crates/trace/src/formats](../../crates/trace/src/formats); do not edit.\n\n\
         A trace is read in one pass and little memory, compressed (gzip, zstd, bzip2, xz) or not. Its format is recognised by \
         content, or named with `--trace-format` (in experiments, `format`). Times become nanoseconds and addresses blocks of \
         512 bytes; what does not fall on whole blocks is widened outward. `halfturn trace info` counts whatever a reader \
         left out.\n\n\
         | name | what it is | written |\n|---|---|---|\n",
    );
    let yes = |it: bool| if it { "yes" } else { "" };
    for entry in ALL {
        let write = yes(entry.write.is_some());
        let _ = writeln!(page, "| [`{0}`](#{0}) | {1} | {write} |", entry.name, entry.title);
    }
    let _ = writeln!(
        page,
        "\n`halfturn trace convert IN OUT` takes the format of OUT from its ending, {}, or from `--to`. What a format \
         cannot hold it leaves out, and says so at the end.",
        endings()
    );
    for entry in ALL {
        let _ = writeln!(page, "\n## {}\n\n{}.\n\n{}", entry.name, entry.title, entry.text);
        if let Some(writing) = &entry.write {
            let _ = writeln!(page, "\n{}", writing.sentence());
        }
        if let Some(Example { bytes, requests }) = entry.examples.first() {
            let _ = writeln!(page, "\nAn example, of {requests} requests:\n\n```text\n{}\n```", show(bytes));
        }
    }
    page
}

/// A file as text or, if it is none, its first bytes as hexadecimal.
fn show(bytes: &[u8]) -> String {
    let plain = |c: char| c == '\n' || c == '\t' || !c.is_control();
    if let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| text.chars().all(plain)) {
        return text.trim_end().replace('\t', "    ");
    }
    let line = |(at, bytes): (usize, &[u8])| {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let text: String =
            bytes.iter().map(|byte| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' }).collect();
        format!("{:08x}  {:47}  {text}", at * BYTES_A_LINE, hex.join(" "))
    };
    let mut lines: Vec<String> = bytes.chunks(BYTES_A_LINE).take(SHOWN / BYTES_A_LINE).enumerate().map(line).collect();
    if bytes.len() > SHOWN {
        lines.push(format!("… and {} bytes more", bytes.len() - SHOWN));
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_in_the_help_and_on_the_page() {
        let (help, page) = (help(), reference());
        for format in formats() {
            assert!(help.contains(&format!("  {format} ")) && help.contains(format.title()), "{help}");
        }
        for entry in ALL {
            assert!(page.contains(&format!("\n## {}\n", entry.name)) && page.contains(entry.text), "{}", entry.name);
        }
    }

    #[test]
    fn text_is_shown_as_it_is_and_other_bytes_in_hexadecimal() {
        assert_eq!(show(b"a\tb\nc\n"), "a    b\nc");
        assert_eq!(show(b"a\0\xff"), "00000000  61 00 ff                                         a..");
        assert!(show(&[0; SHOWN + 3]).ends_with("\n… and 3 bytes more"));
    }
}
