//! The rows of a sweep as a table of comma-separated values (RFC 4180, with a line feed): a column for each figure.

use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Seek, Write};

/// These columns, and those of these tables, stand first.
const FIRST: [&str; 3] = ["number", "point", "run.labels."];

/// Writes rows, a JSON object a line, as a table. Tables inside a row, which are histograms, are left out.
///
/// # Errors
/// When they cannot be read, or it cannot be written.
pub fn write_csv(rows: &mut (impl BufRead + Seek), out: &mut dyn Write) -> io::Result<()> {
    let mut known = BTreeSet::new();
    let mut columns: Vec<String> = Vec::new();
    let each = |rows: &mut dyn BufRead,
                take: &mut dyn FnMut(BTreeMap<String, String>, Vec<String>) -> io::Result<()>| {
        for line in rows.lines() {
            let (mut cells, mut order) = (BTreeMap::new(), Vec::new());
            flatten("", &serde_json::from_str(&line?)?, &mut |column, cell| {
                if let Some(cell) = write_cell(cell) {
                    order.push(column.clone());
                    cells.insert(column, cell);
                }
            });
            take(cells, order)?;
        }
        Ok::<(), io::Error>(())
    };
    each(rows, &mut |_, order| {
        columns.extend(order.into_iter().filter(|column| known.insert(column.clone())));
        Ok(())
    })?;
    // The sort is stable: within these they stay as they came.
    let is_of = |column: &str, first: &str| column == first || (first.ends_with('.') && column.starts_with(first));
    columns.sort_by_key(|column| FIRST.iter().position(|first| is_of(column, first)).unwrap_or(FIRST.len()));
    write_line(out, columns.iter().map(String::as_str))?;
    rows.rewind()?;
    each(rows, &mut |cells, _| {
        write_line(out, columns.iter().map(|column| cells.get(column).map_or("", String::as_str)))
    })
}

/// The cells of a row by their paths: what a table holds, or a list of tables, is a cell each, and any other list is one.
pub(super) fn flatten(path: &str, value: &Value, put: &mut dyn FnMut(String, &Value)) {
    let inside = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Null => {}
        Value::Object(fields) => fields.iter().for_each(|(key, value)| flatten(&inside(key), value, put)),
        Value::Array(list) if list.iter().any(Value::is_object) => {
            list.iter().enumerate().for_each(|(i, value)| flatten(&inside(&i.to_string()), value, put));
        }
        cell => put(path.into(), cell),
    }
}

/// A value as it stands in a cell: a word without quotes, anything else as in JSON.
pub(super) fn show_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A cell of the table; none of a histogram.
fn write_cell(cell: &Value) -> Option<String> {
    match cell {
        Value::Array(list) if list.iter().any(Value::is_array) => None,
        Value::Array(list) => Some(list.iter().map(show_value).collect::<Vec<_>>().join("; ")),
        cell => Some(show_value(cell)),
    }
}

fn write_line<'a>(out: &mut dyn Write, cells: impl Iterator<Item = &'a str>) -> io::Result<()> {
    for (i, cell) in cells.enumerate() {
        let quoted = if cell.contains([',', '"', '\n', '\r']) {
            Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\"")))
        } else {
            Cow::Borrowed(cell)
        };
        out.write_all(if i > 0 { b"," } else { b"" })?;
        out.write_all(quoted.as_bytes())?;
    }
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn a_row_has_a_cell_for_each_figure_and_columns_are_those_of_all_rows() {
        let rows = r#"{"points":2,"sweep":"s","number":0,"run":{"labels":{"policy":"a, \"b\""},"mean":0.1,"hist":[[1,2]],"disks":[{"busy":0.5}]}}
{"sweep":"s","number":1,"run":{"labels":{"policy":"c"},"more":null,"extra":true,"notes":["x","y"]}}
"#;
        let mut out = Vec::new();
        write_csv(&mut Cursor::new(rows), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "number,run.labels.policy,points,run.disks.0.busy,run.mean,sweep,run.extra,run.notes");
        assert_eq!(lines[1], "0,\"a, \"\"b\"\"\",2,0.5,0.1,s,,");
        assert_eq!(lines[2], "1,c,,,,s,true,x; y");
    }
}
