//! JSON as `--format json` prints it: indented, but with the rows of a table on a line each.

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// A value as JSON with a newline at its end: the same bytes for whoever asks.
///
/// # Panics
/// Never of plain data: of what cannot be JSON, such as a map whose keys are no texts.
#[must_use]
pub fn json(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Rows::default());
    value.serialize(&mut serializer).expect("results are plain data");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// Writes a list in a list, which is a row of a table, without line breaks.
#[derive(Default)]
struct Rows {
    pretty: PrettyFormatter<'static>,
    /// Of what is open, from the outside, whether it is a list.
    lists: Vec<bool>,
    /// How many rows are open: what is inside one is on its line.
    rows: usize,
}

impl Rows {
    fn open_list(&mut self) {
        let row = self.rows > 0 || self.lists.last() == Some(&true);
        self.rows += usize::from(row);
        self.lists.push(true);
    }

    fn open_object(&mut self) {
        self.rows += usize::from(self.rows > 0);
        self.lists.push(false);
    }

    /// Whether what is closed was on one line.
    fn close(&mut self) -> bool {
        self.lists.pop();
        let row = self.rows > 0;
        self.rows = self.rows.saturating_sub(1);
        row
    }

    /// What stands between two that are on one line.
    const BETWEEN: [&'static [u8]; 2] = [b", ", b""];
}

impl Formatter for Rows {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open_list();
        if self.rows > 0 { out.write_all(b"[") } else { self.pretty.begin_array(out) }
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.close() { out.write_all(b"]") } else { self.pretty.end_array(out) }
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if self.rows > 0 {
            out.write_all(Rows::BETWEEN[usize::from(first)])
        } else {
            self.pretty.begin_array_value(out, first)
        }
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.rows > 0 { Ok(()) } else { self.pretty.end_array_value(out) }
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open_object();
        if self.rows > 0 { out.write_all(b"{") } else { self.pretty.begin_object(out) }
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.close() { out.write_all(b"}") } else { self.pretty.end_object(out) }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if self.rows > 0 {
            out.write_all(Rows::BETWEEN[usize::from(first)])
        } else {
            self.pretty.begin_object_key(out, first)
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.pretty.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.rows > 0 { Ok(()) } else { self.pretty.end_object_value(out) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json as value};

    #[test]
    fn rows_of_a_table_stand_on_a_line_and_all_is_what_it_was() {
        let whole = value!({
            "rows": [[1, 2.5], [3, [4, {"a": [], "b": {"c": 5, "d": [6]}}]]],
            "none": [], "empty": {}, "list": ["a", {"rows": [[7]]}]
        });
        let text = json(&whole);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), whole);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for line in [
            "[1, 2.5],",
            "[3, [4, {\"a\": [], \"b\": {\"c\": 5, \"d\": [6]}}]]",
            "[7]",
            "\"none\": [],",
            "\"empty\": {},",
        ] {
            assert!(lines.contains(&line), "{line}\n{text}");
        }
        let plain = value!({ "a": { "b": [1, { "c": 2 }] }, "d": [] });
        assert_eq!(json(&plain), serde_json::to_string_pretty(&plain).unwrap() + "\n", "without rows nothing differs");
    }
}
