//! The rows of a sweep as a dataset of Parquet: one file, or one for each combination of values of some labels, in folders that are named
//! as Hive names them (`model=nl20/policy=satf/rows.parquet`), which pandas, polars, DuckDB and Spark read as one table.

use super::table::{flatten, show_value};
use crate::requests::{BatchFile, BatchFormat};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde_json::{Map, Value, from_str};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What each file of the dataset is called.
const FILE: &str = "rows.parquet";
/// Rows in memory at once.
const BATCH: usize = 1024;

/// Where a row stands in the file of all: its place, and how long it is.
type Place = (u64, usize);

/// A sweep's rows, looked through once.
pub struct RowsDataset {
    rows: File,
    /// In the order in which they first appear.
    columns: Vec<(String, CellType)>,
    /// The rows of each folder.
    parts: BTreeMap<PathBuf, Vec<Place>>,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellType {
    Truth,
    Whole,
    Number,
    Text,
}

impl CellType {
    fn of(value: &Value) -> CellType {
        match value {
            Value::Bool(_) => CellType::Truth,
            Value::Number(number) if number.is_i64() => CellType::Whole,
            Value::Number(_) => CellType::Number,
            _ => CellType::Text,
        }
    }

    /// The type that holds values of both.
    fn join(self, other: CellType) -> CellType {
        match (self, other) {
            (a, b) if a == b => a,
            (CellType::Whole, CellType::Number) | (CellType::Number, CellType::Whole) => CellType::Number,
            _ => CellType::Text,
        }
    }

    fn arrow(self) -> DataType {
        match self {
            CellType::Truth => DataType::Boolean,
            CellType::Whole => DataType::Int64,
            CellType::Number => DataType::Float64,
            CellType::Text => DataType::Utf8,
        }
    }

    /// A column of cells; what a row has not got is null.
    fn array(self, cells: &[Option<Value>]) -> ArrayRef {
        let cells = || cells.iter().map(Option::as_ref);
        match self {
            CellType::Truth => Arc::new(cells().map(|cell| cell.and_then(Value::as_bool)).collect::<BooleanArray>()),
            CellType::Whole => Arc::new(cells().map(|cell| cell.and_then(Value::as_i64)).collect::<Int64Array>()),
            CellType::Number => Arc::new(cells().map(|cell| cell.and_then(Value::as_f64)).collect::<Float64Array>()),
            CellType::Text => Arc::new(cells().map(|cell| cell.map(show_value)).collect::<StringArray>()),
        }
    }
}

impl RowsDataset {
    /// Looks through a file of rows, to be parted by these labels.
    ///
    /// # Errors
    /// When it cannot be read, or a row has not got such a label.
    pub fn open(rows: &Path, by: &[String]) -> io::Result<RowsDataset> {
        let rows = File::open(rows)?;
        let mut dataset = RowsDataset { rows: rows.try_clone()?, columns: Vec::new(), parts: BTreeMap::new() };
        let mut known = BTreeMap::<String, usize>::new();
        let (mut reader, mut line, mut at) = (BufReader::new(rows), String::new(), 0);
        loop {
            line.clear();
            let bytes = reader.read_line(&mut line)?;
            if bytes == 0 {
                return Ok(dataset);
            }
            let row: Value = from_str(&line)?;
            dataset.parts.entry(part_folder(&row, by)?).or_default().push((at, bytes));
            at += bytes as u64;
            let columns = &mut dataset.columns;
            flatten("", &row, &mut |column, cell| {
                let kind = CellType::of(cell);
                let place = *known.entry(column.clone()).or_insert(columns.len());
                match columns.get_mut(place) {
                    Some((_, before)) => *before = before.join(kind),
                    None => columns.push((column, kind)),
                }
            });
        }
    }

    /// Writes it into a folder, which is not there yet.
    ///
    /// # Errors
    /// When the rows cannot be read again, or it cannot be written.
    pub fn write(&mut self, folder: &Path) -> io::Result<()> {
        let fields: Vec<Field> = self.columns.iter().map(|(name, kind)| Field::new(name, kind.arrow(), true)).collect();
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        for (part, places) in &self.parts {
            let folder = folder.join(part);
            fs::create_dir_all(&folder)?;
            let mut file = BatchFile::create(BatchFormat::Parquet, &schema, File::create_new(folder.join(FILE))?)?;
            for places in places.chunks(BATCH) {
                file.write(&read_batch(&mut self.rows, &self.columns, &schema, places)?)?;
            }
            file.close()?;
        }
        Ok(())
    }
}

fn read_batch(
    rows: &mut File,
    columns: &[(String, CellType)],
    schema: &SchemaRef,
    places: &[Place],
) -> io::Result<RecordBatch> {
    let numbers: BTreeMap<&str, usize> =
        columns.iter().enumerate().map(|(number, (name, _))| (name.as_str(), number)).collect();
    let mut cells = vec![vec![None; places.len()]; columns.len()];
    let mut line = Vec::new();
    for (row, (at, bytes)) in places.iter().enumerate() {
        line.resize(*bytes, 0);
        rows.seek(SeekFrom::Start(*at))?;
        rows.read_exact(&mut line)?;
        flatten("", &serde_json::from_slice(&line)?, &mut |column, cell| {
            cells[numbers[column.as_str()]][row] = Some(cell.clone());
        });
    }
    let arrays = columns.iter().zip(&cells).map(|((_, kind), cells)| kind.array(cells)).collect();
    RecordBatch::try_new(SchemaRef::clone(schema), arrays).map_err(io::Error::other)
}

/// The folder that a row belongs in.
fn part_folder(row: &Value, by: &[String]) -> io::Result<PathBuf> {
    let none = Map::new();
    let labels = row["run"]["labels"].as_object().unwrap_or(&none);
    let part = |key: &String| {
        labels.get(key).map(|value| format!("{}={}", encode(key), encode(&label_name(value)))).ok_or_else(|| {
            let known: Vec<&str> = labels.keys().map(String::as_str).collect();
            let what = format!("has no `{key}` to part its rows by, but {}", known.join(", "));
            io::Error::new(ErrorKind::InvalidInput, what)
        })
    };
    by.iter().map(part).collect()
}

/// A label as people write it: numbers that are whole without a point.
fn label_name(label: &Value) -> String {
    label.as_f64().filter(|number| number.fract() == 0.0).map_or_else(|| show_value(label), |number| number.to_string())
}

/// A text as a part of a folder's name.
fn encode(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'.' if text.bytes().all(|byte| byte == b'.') => out.push_str("%2E"),
            _ if byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte) => out.push(byte.into()),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    const ROWS: &str = r#"{"number":0,"run":{"labels":{"model":"a/b","disk":1},"mean":1,"hist":[[1,2],[3,4]]}}
{"number":1,"run":{"labels":{"model":"..","disk":2},"mean":0.5,"whole":true}}
{"number":2,"run":{"labels":{"model":"a/b","disk":3},"mean":null,"hist":[]}}
"#;

    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("halfturn-dataset-{test}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("rows.jsonl"), ROWS).unwrap();
        folder
    }

    #[test]
    fn each_row_is_in_the_folder_of_its_labels_with_all_its_cells() {
        let folder = folder("parts");
        let mut dataset = RowsDataset::open(&folder.join("rows.jsonl"), &["model".into()]).unwrap();
        dataset.write(&folder.join("set")).unwrap();
        let open = |part: &str| {
            SerializedFileReader::new(File::open(folder.join("set").join(part).join(FILE)).unwrap()).unwrap()
        };
        let (first, second) = (open("model=a%2Fb"), open("model=%2E%2E"));
        let columns = first.metadata().file_metadata().schema_descr().columns().to_vec();
        let names: Vec<&str> = columns.iter().map(|column| column.name()).collect();
        assert!(names.contains(&"run.labels.model") && names.len() == 6, "{names:?}");
        let place = |name: &str| names.iter().position(|known| *known == name).unwrap();
        let rows: Vec<_> = first.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].get_long(place("number")).unwrap(), 2);
        assert_eq!(rows[0].get_long(place("run.labels.disk")).unwrap(), 1);
        assert_eq!(rows[0].get_double(place("run.mean")).unwrap(), 1.0, "a whole number in a column of others");
        assert_eq!(rows[0].get_string(place("run.hist")).unwrap(), "[[1,2],[3,4]]");
        assert!(rows[1].get_double(place("run.mean")).is_err(), "null");
        let rows: Vec<_> = second.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert!(rows.len() == 1 && rows[0].get_bool(place("run.whole")).unwrap());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_label_that_rows_have_not_got_is_told() {
        let folder = folder("label");
        let error = RowsDataset::open(&folder.join("rows.jsonl"), &["policy".into()]).err().expect("no such label");
        assert_eq!(error.to_string(), "has no `policy` to part its rows by, but disk, model");
        fs::remove_dir_all(folder).unwrap();
    }
}
