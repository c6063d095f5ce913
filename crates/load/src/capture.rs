//! The file of a captured drive: under what conditions it was measured, the drive that was learned, and reads timed beside, to try the
//! drive by. Times are in nanoseconds, lengths in blocks.
//!
//! It is text. The first line is [`MAGIC`]; then a line for each part has its name, its bytes and its SHA-256; then come a line
//! without a letter and the parts: `conditions` (a `key = "value"` a line), `drive` (a drive file) and `trace` (CSV). The sums tell a
//! file that was damaged, cut or edited by oversight; they are no proof against forgery.

use crate::origin::fingerprint;
use block::{At, BadInput, Extent, Lbn, Span, Time};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The first line of each such file.
pub const MAGIC: &str = "halfturn capture 1";
/// Bytes of a file, at most.
pub const LARGEST: usize = 1 << 26;
/// Blocks of a read, at most.
const LONGEST: u32 = 1 << 16;
/// The parts, in their order.
const PARTS: [&str; 3] = ["conditions", "drive", "trace"];
/// The columns of the trace.
const COLUMNS: &str = "time_ns,op,lbn,blocks,response_ns";
/// What becomes of a file that is not as it was written.
const MEND: &str = "fetch the file again from where it was captured, or capture the drive again";

/// One read of the trace. No other was outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedRead {
    /// When it was issued, from the first.
    pub time: Time,
    /// The blocks it read.
    pub at: Extent,
    /// From then until it came back.
    pub response: Span,
}

/// A drive as it was captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveCapture {
    /// Key and value of each condition, in the order of the file. What is not known has the value `unknown`.
    pub conditions: Vec<(String, String)>,
    /// The drive file that was learned.
    pub drive: String,
    /// The reads of the trace, in their order.
    pub reads: Vec<CapturedRead>,
}

impl DriveCapture {
    /// What stands for a condition; `unknown` where nothing does.
    #[must_use]
    pub fn condition(&self, key: &str) -> &str {
        self.conditions.iter().find(|(name, _)| name == key).map_or("unknown", |(_, value)| value)
    }

    /// The file. Quotes, backslashes and control characters of a condition become question marks.
    #[must_use]
    pub fn text(&self) -> String {
        let plain = |letter: char| if letter.is_control() || "\"\\".contains(letter) { '?' } else { letter };
        let (mut conditions, mut trace) = (String::new(), format!("{COLUMNS}\n"));
        for (key, value) in &self.conditions {
            let value: String = value.chars().map(plain).collect();
            let _ = writeln!(conditions, "{key} = \"{value}\"");
        }
        for CapturedRead { time, at, response } in &self.reads {
            let _ = writeln!(trace, "{},r,{},{},{}", time.0, at.start.0, at.blocks, response.0);
        }
        let parts = [&conditions, &self.drive, &trace];
        let mut text = format!("{MAGIC}\n");
        for (name, part) in PARTS.iter().zip(parts) {
            let _ = writeln!(text, "{name} {} {}", part.len(), fingerprint(part));
        }
        text.push('\n');
        text.extend(parts.map(String::as_str));
        text
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, has more than [`LARGEST`] bytes, or is not whole.
    pub fn load(path: &Path) -> Result<DriveCapture, BadInput> {
        let file = path.display().to_string();
        let mut bytes = Vec::new();
        let opened = File::open(path).and_then(|file| file.take(LARGEST as u64 + 1).read_to_end(&mut bytes));
        if let Err(error) = opened {
            return Err(BadInput::new(file, At::File, format!("cannot be read: {error}"), "name a capture"));
        }
        DriveCapture::parse(&file, &bytes)
    }

    /// Takes a file's bytes; `file` is its name in errors.
    ///
    /// # Errors
    /// When it is not whole: the part or line that is not as it was written.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<DriveCapture, BadInput> {
        let bad = |line, what: String| Err(BadInput::new(file, At::Line(line), what, MEND));
        if bytes.len() > LARGEST {
            let what = format!("it has more than {LARGEST} bytes");
            return Err(BadInput::new(file, At::File, what, "name a file that `halfturn drive capture` wrote"));
        }
        let Ok(text) = std::str::from_utf8(bytes) else { return bad(1, "it is no text (UTF-8)".into()) };
        let Some(mut rest) = text.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix('\n')) else {
            return bad(1, format!("a capture begins with the line '{MAGIC}'"));
        };
        let mut told = Vec::new();
        for (line, name) in (2..).zip(PARTS) {
            let (found, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let words: Vec<&str> = found.split(' ').collect();
            let [_, length, hash] = words[..] else { return bad(line, format!("'{name} BYTES SHA-256' stands here")) };
            // One way to write it: no sign, no zero before it.
            let same = |length: &usize| found == format!("{name} {length} {hash}");
            let Some(length) = length.parse::<usize>().ok().filter(same) else {
                return bad(line, format!("'{name} BYTES SHA-256' stands here"));
            };
            told.push((line, name, length, hash));
            rest = after;
        }
        let Some(mut rest) = rest.strip_prefix('\n') else { return bad(5, "an empty line stands here".into()) };
        let (mut parts, mut at) = (Vec::new(), 6);
        for (line, name, length, hash) in told {
            let Some((part, after)) = rest.split_at_checked(length) else {
                return bad(
                    line,
                    format!("'{name}' has {length} bytes, and {} are left: the file was cut", rest.len()),
                );
            };
            if fingerprint(part) != hash {
                return bad(line, format!("'{name}', from line {at}, is not what was written: its SHA-256 is another"));
            }
            parts.push((at, part));
            at += part.matches('\n').count() as u64;
            rest = after;
        }
        if !rest.is_empty() {
            return bad(at, format!("{} bytes follow the trace, the last part", rest.len()));
        }
        let conditions = read_conditions(file, parts[0])?;
        let capture = DriveCapture { conditions, drive: parts[1].1.to_owned(), reads: Vec::new() };
        let Ok(blocks) = capture.condition("blocks").parse() else {
            return bad(6, "no condition 'blocks' has the capacity, in blocks of 512 bytes".into());
        };
        Ok(DriveCapture { reads: read_trace(file, parts[2], blocks)?, ..capture })
    }
}

/// The conditions, from this line.
fn read_conditions(file: &str, (from, part): (u64, &str)) -> Result<Vec<(String, String)>, BadInput> {
    let mut conditions: Vec<(String, String)> = Vec::new();
    for (line, text) in (from..).zip(part.lines()) {
        let bad = |what: &str| Err(BadInput::new(file, At::Line(line), what, MEND));
        let pair = text.split_once(" = \"").and_then(|(key, value)| Some((key, value.strip_suffix('"')?)));
        let Some((key, value)) = pair.filter(|(_, value)| !value.contains(['"', '\\'])) else {
            return bad("a condition is 'key = \"value\"'");
        };
        if conditions.iter().any(|(other, _)| other == key) {
            return bad("this condition stands in an earlier line, too");
        }
        conditions.push((key.to_owned(), value.to_owned()));
    }
    Ok(conditions)
}

/// The trace of a drive of so many blocks, from this line.
fn read_trace(file: &str, (from, part): (u64, &str), blocks: u64) -> Result<Vec<CapturedRead>, BadInput> {
    let (mut reads, mut free) = (Vec::new(), 0);
    for (line, text) in (from..).zip(part.lines()) {
        let bad = |what: String| Err(BadInput::new(file, At::Line(line), what, MEND));
        if line == from {
            if text != COLUMNS {
                return bad(format!("the columns of the trace are '{COLUMNS}'"));
            }
            continue;
        }
        let words: Vec<&str> = text.split(',').collect();
        let numbers = match words[..] {
            [time, "r", lbn, length, response] => [time, lbn, length, response].map(|word| word.parse::<u64>().ok()),
            _ => [None; 4],
        };
        let [Some(time), Some(lbn), Some(length), Some(response)] = numbers else {
            return bad(format!("a line of the trace is '{COLUMNS}', whole numbers and 'r'"));
        };
        if !(1..=u64::from(LONGEST)).contains(&length) || lbn.checked_add(length).is_none_or(|end| end > blocks) {
            return bad(format!("no {length} blocks can be read from block {lbn}: the drive has {blocks}"));
        }
        if time < free {
            return bad("it is issued before the one above it has come back".into());
        }
        let Some(end) = time.checked_add(response) else { return bad("its time is past the end of the clock".into()) };
        free = end;
        let at = Extent { start: Lbn(lbn), blocks: length as u32 };
        reads.push(CapturedRead { time: Time(time), at, response: Span(response) });
    }
    if reads.is_empty() {
        return Err(BadInput::new(file, At::Line(from), "no read is in the trace", MEND));
    }
    Ok(reads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> DriveCapture {
        let read = |time, lbn| CapturedRead { time: Time(time), at: Extent::new(lbn, 8), response: Span(90) };
        let conditions = [("model", "ST \u{fc}"), ("blocks", "5000")].map(|(key, value)| (key.into(), value.into()));
        let drive = "title = \"t\"\n".to_owned();
        DriveCapture { conditions: conditions.into(), drive, reads: vec![read(0, 7), read(90, 4992), read(200, 0)] }
    }

    /// What is told of the sample with one place of a part changed and its sum made right.
    fn told(old: &str, new: &str) -> String {
        let text = sample().text();
        let body = text.split_once("\n\n").expect("an empty line").1;
        assert!(body.contains(old), "{old} is there");
        let [conditions, drive] = [body.find("title").expect("a drive"), body.find("time_ns").expect("a trace")];
        let parts = [&body[..conditions], &body[conditions..drive], &body[drive..]].map(|part| part.replace(old, new));
        let head: String = PARTS
            .iter()
            .zip(&parts)
            .map(|(name, part)| format!("{name} {} {}\n", part.len(), fingerprint(part)))
            .collect();
        DriveCapture::parse("a", format!("{MAGIC}\n{head}\n{}", parts.concat()).as_bytes())
            .expect_err("bad")
            .to_string()
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(DriveCapture::parse("a", sample().text().as_bytes()), Ok(sample()));
    }

    #[test]
    fn no_byte_can_be_changed_and_no_end_cut_unseen() {
        let text = sample().text().into_bytes();
        for at in 0..text.len() {
            let mut edited = text.clone();
            edited[at] ^= 1;
            assert!(DriveCapture::parse("a", &edited).is_err(), "byte {at} changed");
            assert!(DriveCapture::parse("a", &text[..at]).is_err(), "cut at byte {at}");
        }
        assert!(DriveCapture::parse("a", &[&text[..], b"\n"].concat()).is_err(), "a byte more");
    }

    #[test]
    fn what_a_right_sum_covers_must_make_sense_too() {
        for (old, new, what) in [
            ("90,r,4992", "89,r,4992", "a:11: it is issued before"),
            ("4992,8", "4993,8", "a:11: no 8 blocks can be read from block 4993: the drive has 5000"),
            ("4992,8", "4992,0", "a:11: no 0 blocks"),
            ("90,r,", "90,w,", "a:11: a line of the trace is"),
            ("200,r,0,8,90", "200,r,0,8,18446744073709551615", "a:12: its time is past"),
            ("blocks = \"5000\"", "blocks = \"many\"", "a:6: no condition 'blocks'"),
            ("model = ", "blocks = ", "a:7: this condition stands in an earlier line"),
            ("time_ns", "time_us", "a:9: the columns"),
        ] {
            let told = told(old, new);
            assert!(told.starts_with(what) && told.contains("mend: "), "{old} to {new}: {told}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_written_the_same(bytes in prop::collection::vec(any::<u8>(), 0..400), at in 0usize..400) {
            let mut text = sample().text().into_bytes();
            let at = at.min(text.len());
            text.splice(at..(at + bytes.len()).min(text.len()), bytes);
            if let Ok(capture) = DriveCapture::parse("a", &text) {
                prop_assert_eq!(capture.text().into_bytes(), text);
            }
        }
    }
}
