//! What the columns of a table mean: the names that tell it, and a mapping where the names are somebody else's.

use std::str::FromStr;

use crate::lines::wrong_columns;
use crate::number::TimeUnit::{Ms, Ns, S, Us};
use crate::number::{TimeUnit, quote, whole};
use crate::reader::Fault;
use ColumnKind::{Device, Length, Op, OpDigit, Response, Start, Time};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// Arrival time, in the given unit.
    Time(TimeUnit),
    /// Part of the device's name; adjacent parts are taken together.
    Device,
    /// The operation as a word: r, read, w, write, f, flush, in any case; empty for others.
    Op,
    /// The operation as a digit or a word: 0 or false reads, 1 or true writes.
    OpDigit,
    /// Where the request begins, in units of so many bytes.
    Start(u32),
    /// How long it is, in units of so many bytes.
    Length(u32),
    /// Measured response time; may be empty.
    Response(TimeUnit),
    /// A column that is not read.
    Ignored,
}

/// Names a column may have, and what it then holds.
pub(crate) const NAMES: [(&str, ColumnKind); 21] = [
    ("time", Time(S)),
    ("time_s", Time(S)),
    ("time_ms", Time(Ms)),
    ("time_us", Time(Us)),
    ("time_ns", Time(Ns)),
    ("op", Op),
    ("is_write", OpDigit),
    ("offset", Start(1)),
    ("offset_bytes", Start(1)),
    ("lbn", Start(512)),
    ("lba", Start(512)),
    ("sector", Start(512)),
    ("size", Length(1)),
    ("size_bytes", Length(1)),
    ("blocks", Length(512)),
    ("sectors", Length(512)),
    ("device", Device),
    ("response_s", Response(S)),
    ("response_ms", Response(Ms)),
    ("response_us", Response(Us)),
    ("response_ns", Response(Ns)),
];

/// What stands between columns; where several fit, the former does.
pub(crate) const DELIMITERS: [u8; 5] = [b',', b';', b'\t', b'|', b' '];

/// What is to be done about a header that lacks something.
const HEADER_MEND: &str = "begin the file with a header such as time,op,offset,size,device (seconds and bytes; time_ms, \
                           time_us, time_ns, lbn and blocks are in those units), or say which column is what with --columns";

/// What the column of this name in a header holds.
pub(crate) fn column_named(name: &[u8]) -> ColumnKind {
    let name = bare(name);
    let found = NAMES.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(name));
    found.map_or(ColumnKind::Ignored, |(_, column)| *column)
}

/// A name or a word without what may stand around it.
pub(crate) fn bare(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")).unwrap_or(field)
}

/// Sees that each thing a request needs is in one column; says which is not, and in how many.
fn check_needed(columns: impl Iterator<Item = ColumnKind> + Clone) -> Result<(), (&'static str, usize)> {
    type Is = fn(&ColumnKind) -> bool;
    let needed: [(&str, Is); 4] = [
        ("time", |column| matches!(column, Time(_))),
        ("op", |column| matches!(column, Op | OpDigit)),
        ("offset", |column| matches!(column, Start(_))),
        ("size", |column| matches!(column, Length(_))),
    ];
    for (name, is) in needed {
        let count = columns.clone().filter(is).count();
        if count != 1 {
            return Err((name, count));
        }
    }
    Ok(())
}

/// Sees that a table with these columns has each thing a request needs once.
pub(crate) fn check_table(columns: &[ColumnKind]) -> Result<(), Fault> {
    check_needed(columns.iter().copied()).map_err(|(name, count)| {
        let said = if count == 0 { "no column" } else { "more than one column for" };
        Fault::with_mend(format!("the header names {said} '{name}'"), HEADER_MEND)
    })
}

/// Which column of a file is what, for tables whose columns have names of their own.
///
/// Written as `time_us=Timestamp,op=IOType,offset=4,size=Size`: what it is, by a name that a column of csv may have, and the
/// column of the file, by the name in its header or by its number from 1. Columns that are not mentioned are not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMap {
    columns: Vec<(WhichColumn, ColumnKind)>,
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum WhichColumn {
    /// The one its header calls so.
    Named(String),
    /// The one with so many before it.
    Nth(usize),
}

/// More columns than a table of requests has.
const MOST_COLUMNS: usize = 1000;

impl FromStr for ColumnMap {
    type Err = String;

    /// Parses what a user wrote; says what is wrong with it.
    fn from_str(text: &str) -> Result<ColumnMap, String> {
        let mut columns: Vec<(WhichColumn, ColumnKind)> = Vec::new();
        for part in text.split(',') {
            let (what, column) = part.split_once('=').ok_or_else(|| format!("'{}' is not WHAT=COLUMN", part.trim()))?;
            let (what, column) = (what.trim(), column.trim());
            let kind = column_named(what.as_bytes());
            if kind == ColumnKind::Ignored {
                let meant = block::nearest(what, NAMES.iter().map(|(name, _)| *name))
                    .map_or_else(String::new, |meant| format!(", did you mean '{meant}'?"));
                return Err(format!("'{what}' is nothing that a column holds{meant}"));
            }
            let which = match column.parse::<usize>() {
                Ok(number) if (1..=MOST_COLUMNS).contains(&number) => WhichColumn::Nth(number - 1),
                Ok(number) => return Err(format!("there is no column {number}: the first is 1")),
                Err(_) if column.is_empty() => return Err(format!("'{what}=' names no column")),
                Err(_) => WhichColumn::Named(column.into()),
            };
            if columns.iter().any(|(other, _)| *other == which) {
                return Err(format!("column {column} is named twice"));
            }
            columns.push((which, kind));
        }
        let kinds = columns.iter().map(|(_, kind)| *kind);
        for (name, is) in [("device", Device), ("response", Response(S))] {
            let count =
                kinds.clone().filter(|kind| std::mem::discriminant(kind) == std::mem::discriminant(&is)).count();
            if count > 1 {
                return Err(format!("it names more than one column for '{name}'"));
            }
        }
        check_needed(kinds).map_err(|(name, count)| {
            format!("it names {} column for '{name}'", if count == 0 { "no" } else { "more than one" })
        })?;
        Ok(ColumnMap { columns })
    }
}

/// How a file is laid out that a mapping was found to fit.
pub(crate) struct MappedTable {
    pub columns: Vec<ColumnKind>,
    pub delimiter: u8,
    /// Whether the line that was looked at is a header.
    pub has_header: bool,
}

impl ColumnMap {
    /// What each of these columns of a file holds.
    ///
    /// # Errors
    /// When a column that the mapping names is not among them.
    pub(crate) fn kinds(&self, names: &[&str]) -> Result<Vec<ColumnKind>, Fault> {
        let mut kinds = vec![ColumnKind::Ignored; names.len()];
        for (which, kind) in &self.columns {
            let place = match which {
                WhichColumn::Nth(place) => Some(*place).filter(|place| *place < names.len()),
                WhichColumn::Named(name) => names
                    .iter()
                    .position(|other| other == name)
                    .or_else(|| names.iter().position(|other| other.eq_ignore_ascii_case(name))),
            };
            let Some(place) = place else {
                let wanted = match which {
                    WhichColumn::Nth(place) => format!("column {}", place + 1),
                    WhichColumn::Named(name) => format!("column '{name}'"),
                };
                let there: Vec<String> = names.iter().take(40).map(|name| quote(name.as_bytes())).collect();
                let what = format!("there is no {wanted}; the columns are {}", there.join(", "));
                return Err(Fault::with_mend(what, "name columns as the file does, or number them from 1"));
            };
            kinds[place] = *kind;
        }
        Ok(kinds)
    }

    /// How a table is laid out whose first line is `line`.
    ///
    /// # Errors
    /// When the mapping fits no way of taking it apart.
    pub(crate) fn lay_out(&self, line: &[u8]) -> Result<MappedTable, Fault> {
        let text = String::from_utf8_lossy(line);
        let mut wrong: Option<(usize, Fault)> = None;
        for delimiter in DELIMITERS {
            let fields = text.split(char::from(delimiter)).filter(|field| delimiter != b' ' || !field.is_empty());
            let names: Vec<&str> =
                fields.map(|field| std::str::from_utf8(bare(field.as_bytes())).unwrap_or(field)).collect();
            match self.kinds(&names) {
                Ok(columns) => {
                    let has_header = self.is_header(&names, &columns);
                    return Ok(MappedTable { columns, delimiter, has_header });
                }
                // Taken apart into the most columns it is told best.
                Err(fault) if wrong.as_ref().is_none_or(|(most, _)| names.len() > *most) => {
                    wrong = Some((names.len(), fault));
                }
                Err(_) => {}
            }
        }
        Err(wrong.map_or_else(|| wrong_columns(0, "those of the mapping"), |(_, fault)| fault))
    }

    /// Whether a line names columns: always where one is asked for by its name, else where no number stands for the offset.
    fn is_header(&self, names: &[&str], columns: &[ColumnKind]) -> bool {
        let by_name = self.columns.iter().any(|(which, _)| matches!(which, WhichColumn::Named(_)));
        let offset = names.iter().zip(columns).find(|(_, kind)| matches!(kind, Start(_)));
        by_name || offset.is_some_and(|(name, _)| whole("offset", name.as_bytes()).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<ColumnMap, String> {
        text.parse()
    }

    #[test]
    fn what_is_wrong_with_a_mapping_is_said() {
        let told = |text: &str| parsed(text).unwrap_err();
        assert_eq!(told("time=a,op=b,offset=c"), "it names no column for 'size'");
        assert_eq!(told("time=a,time_ms=b,op=c,offset=d,size=e"), "it names more than one column for 'time'");
        assert_eq!(told("tiem=a"), "'tiem' is nothing that a column holds, did you mean 'time'?");
        assert_eq!(told("time"), "'time' is not WHAT=COLUMN");
        assert_eq!(told("time="), "'time=' names no column");
        assert_eq!(told("time=0"), "there is no column 0: the first is 1");
        assert_eq!(told("time=a,op=a"), "column a is named twice");
        let twice = "time=a,op=b,offset=c,size=d,response_ms=e,response_s=f";
        assert_eq!(told(twice), "it names more than one column for 'response'");
    }

    #[test]
    fn a_mapping_finds_its_columns_whatever_stands_between_them() {
        let map = parsed("time_us=Stamp, is_write=W, offset=Where, size=Bytes").unwrap();
        for delimiter in [",", ";", "\t", "|", " ", "  "] {
            let line = ["id", "stamp", "\"Where\"", "Bytes", "W"].join(delimiter);
            let found = map.lay_out(line.as_bytes()).unwrap_or_else(|fault| panic!("{delimiter:?}: {}", fault.what));
            assert!(found.has_header);
            assert_eq!(found.columns, [ColumnKind::Ignored, Time(Us), Start(1), Length(1), OpDigit], "{delimiter:?}");
        }
        let fault = map.lay_out(b"id,stamp,Bytes,W").err().expect("'Where' is not there");
        assert_eq!(fault.what, "there is no column 'Where'; the columns are id, stamp, Bytes, W");
    }

    #[test]
    fn a_mapping_by_numbers_tells_a_header_from_a_row() {
        let map = parsed("time=1,op=2,lbn=3,blocks=5").unwrap();
        assert!(!map.lay_out(b"0.5;r;100;x;8;y").unwrap().has_header);
        assert!(map.lay_out(b"when;what;where;x;how much").unwrap().has_header);
        assert!(map.lay_out(b"1;2;3;4").is_err(), "there is no fifth");
    }
}
