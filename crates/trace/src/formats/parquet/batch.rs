//! A column of a Parquet file: its values a batch at a time, whatever they are stored as.

use crate::columns::ColumnKind;
use crate::number::{TimeUnit, quote, time, whole};
use crate::reader::Fault;
use crate::table::RowRequest;
use block::Op;
use parquet::basic::{ConvertedType, LogicalType, TimeUnit as StoredUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::errors::ParquetError;
use parquet::schema::types::ColumnDescriptor;

/// What a column of a table of requests says.
#[derive(Clone, Copy)]
pub(super) enum ColumnUse {
    /// What a column of text may say, too.
    Plain(ColumnKind),
    /// Whether a write must reach the medium.
    Fua,
}

/// A column that is read.
pub(super) struct BatchColumn {
    /// Which of the file's columns it is.
    pub index: usize,
    pub is_for: ColumnUse,
    name: String,
    /// Whole numbers without a sign.
    unsigned: bool,
    /// The level at which a value is there.
    deepest: i16,
    reader: Option<ColumnReader>,
    values: BatchValues,
    /// For each record of the batch, the level at which its value ends.
    levels: Vec<i16>,
    /// BatchValues of the batch that were taken, and records.
    taken: usize,
    passed: usize,
}

#[derive(Default)]
enum BatchValues {
    #[default]
    None,
    Truth(Vec<bool>),
    Short(Vec<i32>),
    Long(Vec<i64>),
    Single(Vec<f32>),
    Double(Vec<f64>),
    Text(Vec<ByteArray>),
    Fixed(Vec<FixedLenByteArray>),
}

/// One value of a column, as it is stored.
#[derive(Debug)]
pub(super) enum StoredValue<'a> {
    Null,
    Truth(bool),
    Whole(u64),
    Negative(i64),
    Real(f64),
    Text(&'a [u8]),
}

impl BatchColumn {
    /// A column of the file, for this.
    ///
    /// # Errors
    /// When its values are of a type that says nothing of requests, or it holds lists.
    pub fn new(index: usize, column: &ColumnDescriptor, is_for: ColumnUse) -> Result<BatchColumn, Fault> {
        let name = column.path().string();
        let values = match column.physical_type() {
            Type::BOOLEAN => BatchValues::Truth(Vec::new()),
            Type::INT32 => BatchValues::Short(Vec::new()),
            Type::INT64 => BatchValues::Long(Vec::new()),
            Type::FLOAT => BatchValues::Single(Vec::new()),
            Type::DOUBLE => BatchValues::Double(Vec::new()),
            Type::BYTE_ARRAY => BatchValues::Text(Vec::new()),
            Type::FIXED_LEN_BYTE_ARRAY => BatchValues::Fixed(Vec::new()),
            Type::INT96 => BatchValues::None,
        };
        let decimal = matches!(column.logical_type_ref(), Some(LogicalType::Decimal(_)))
            || column.converted_type() == ConvertedType::DECIMAL;
        if matches!(values, BatchValues::None) || column.max_rep_level() > 0 || decimal {
            let what = format!("column '{name}' holds neither numbers, words nor timestamps of 64 bits");
            return Err(Fault::with_mend(what, "write the file anew with integers, doubles or strings there"));
        }
        let unsigned = match column.logical_type_ref() {
            Some(LogicalType::Integer(kind)) => !kind.is_signed,
            _ => matches!(
                column.converted_type(),
                ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
            ),
        };
        let is_for = match (is_for, stored_unit(column)) {
            (ColumnUse::Plain(ColumnKind::Time(_)), Some(unit)) => ColumnUse::Plain(ColumnKind::Time(unit)),
            (other, _) => other,
        };
        let deepest = column.max_def_level();
        let (reader, levels) = (None, Vec::new());
        Ok(BatchColumn { index, is_for, name, unsigned, deepest, reader, values, levels, taken: 0, passed: 0 })
    }

    /// Reads from here on.
    pub fn read_from(&mut self, reader: ColumnReader) {
        self.reader = Some(reader);
    }

    /// Reads the values of so many records; they are all there.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn fill(&mut self, records: usize) -> Result<(), ParquetError> {
        let levels = &mut self.levels;
        let read = match (&mut self.reader, &mut self.values) {
            (Some(ColumnReader::BoolColumnReader(reader)), BatchValues::Truth(values)) => {
                take(reader, records, levels, values)
            }
            (Some(ColumnReader::Int32ColumnReader(reader)), BatchValues::Short(values)) => {
                take(reader, records, levels, values)
            }
            (Some(ColumnReader::Int64ColumnReader(reader)), BatchValues::Long(values)) => {
                take(reader, records, levels, values)
            }
            (Some(ColumnReader::FloatColumnReader(reader)), BatchValues::Single(values)) => {
                take(reader, records, levels, values)
            }
            (Some(ColumnReader::DoubleColumnReader(reader)), BatchValues::Double(values)) => {
                take(reader, records, levels, values)
            }
            (Some(ColumnReader::ByteArrayColumnReader(reader)), BatchValues::Text(values)) => {
                take(reader, records, levels, values)
            }
            (Some(ColumnReader::FixedLenByteArrayColumnReader(reader)), BatchValues::Fixed(values)) => {
                take(reader, records, levels, values)
            }
            _ => Err(ParquetError::General("it is stored otherwise than its schema says".into())),
        }?;
        (self.taken, self.passed) = (0, 0);
        let there = match self.deepest {
            0 => records,
            deepest => self.levels.iter().filter(|level| **level == deepest).count(),
        };
        if read != records || self.count() != there {
            return Err(ParquetError::EOF(format!("column '{}' ends too early", self.name)));
        }
        Ok(())
    }

    fn count(&self) -> usize {
        match &self.values {
            BatchValues::None => 0,
            BatchValues::Truth(values) => values.len(),
            BatchValues::Short(values) => values.len(),
            BatchValues::Long(values) => values.len(),
            BatchValues::Single(values) => values.len(),
            BatchValues::Double(values) => values.len(),
            BatchValues::Text(values) => values.len(),
            BatchValues::Fixed(values) => values.len(),
        }
    }

    /// The value of the next record.
    pub fn next(&mut self) -> StoredValue<'_> {
        let record = self.passed;
        self.passed += 1;
        if self.deepest > 0 && self.levels[record] < self.deepest {
            return StoredValue::Null;
        }
        let at = self.taken;
        self.taken += 1;
        let whole = |value: i64| u64::try_from(value).map_or(StoredValue::Negative(value), StoredValue::Whole);
        match &self.values {
            BatchValues::None => StoredValue::Null,
            BatchValues::Truth(values) => StoredValue::Truth(values[at]),
            BatchValues::Short(values) if self.unsigned => StoredValue::Whole(u64::from(values[at] as u32)),
            BatchValues::Short(values) => whole(i64::from(values[at])),
            BatchValues::Long(values) if self.unsigned => StoredValue::Whole(values[at] as u64),
            BatchValues::Long(values) => whole(values[at]),
            BatchValues::Single(values) => StoredValue::Real(f64::from(values[at])),
            BatchValues::Double(values) => StoredValue::Real(values[at]),
            BatchValues::Text(values) => StoredValue::Text(values[at].data()),
            BatchValues::Fixed(values) => StoredValue::Text(values[at].data()),
        }
    }
}

/// Reads values and levels of so many records; how many there were.
fn take<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    records: usize,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> Result<usize, ParquetError> {
    levels.clear();
    values.clear();
    let mut read = 0;
    // It stops where a page ends.
    while read < records {
        let (more, ..) = reader.read_records(records - read, Some(levels), None, values)?;
        if more == 0 {
            break;
        }
        read += more;
    }
    Ok(read)
}

/// The unit of timestamps, which have one of their own.
fn stored_unit(column: &ColumnDescriptor) -> Option<TimeUnit> {
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Timestamp(stamp)), _) => Some(match stamp.unit {
            StoredUnit::MILLIS => TimeUnit::Ms,
            StoredUnit::MICROS => TimeUnit::Us,
            StoredUnit::NANOS => TimeUnit::Ns,
        }),
        (_, ConvertedType::TIMESTAMP_MILLIS) => Some(TimeUnit::Ms),
        (_, ConvertedType::TIMESTAMP_MICROS) => Some(TimeUnit::Us),
        _ => None,
    }
}

impl StoredValue<'_> {
    /// The value of column `name` as a whole number.
    pub fn whole(&self, name: &str) -> Result<u64, Fault> {
        match self {
            StoredValue::Whole(value) => Ok(*value),
            // From 2^53 on not every number can be told.
            StoredValue::Real(value) if *value >= 0.0 && value.fract() == 0.0 && *value <= 9_007_199_254_740_992.0 => {
                Ok(*value as u64)
            }
            StoredValue::Text(text) => whole(name, text.trim_ascii()),
            other => Err(Fault::new(format!("{name} is {}", other.say()))),
        }
    }

    /// The value of column `name` as a time, in nanoseconds.
    pub fn time(&self, name: &str, unit: TimeUnit) -> Result<u64, Fault> {
        let too_long = || Fault::new(format!("{name} is more nanoseconds than 64 bits hold"));
        let scale = 10_u64.pow(unit as u32);
        match self {
            StoredValue::Whole(value) => value.checked_mul(scale).ok_or_else(too_long),
            StoredValue::Real(value) if *value >= 0.0 && value.is_finite() => {
                let (whole, fraction) = (value.trunc(), value.fract());
                if whole >= u64::MAX as f64 {
                    return Err(too_long());
                }
                let whole = (whole as u64).checked_mul(scale).ok_or_else(too_long)?;
                whole.checked_add((fraction * scale as f64).round() as u64).ok_or_else(too_long)
            }
            StoredValue::Text(text) => time(name, text.trim_ascii(), unit),
            StoredValue::Negative(_) => Err(Fault::with_mend(
                format!("{name} is {}", self.say()),
                "if the times start before their origin, shift them all",
            )),
            other => Err(Fault::new(format!("{name} is {}", other.say()))),
        }
    }

    /// What it asks for, as a word or as whether it writes.
    pub fn request(&self, column: ColumnKind) -> Result<RowRequest, Fault> {
        let is_digit = column == ColumnKind::OpDigit;
        match self {
            StoredValue::Text(text) if is_digit => RowRequest::of_digit(text),
            StoredValue::Text(text) => RowRequest::of_word(text),
            StoredValue::Null if !is_digit => Ok(RowRequest::Other),
            StoredValue::Truth(writes) if is_digit => {
                Ok(RowRequest::Do(if *writes { Op::Write { fua: false } } else { Op::Read }))
            }
            StoredValue::Whole(digit) if is_digit => RowRequest::of_digit(digit.to_string().as_bytes()),
            other => Err(Fault::new(format!("the operation is {}", other.say()))),
        }
    }

    /// What stands there, for a message.
    fn say(&self) -> String {
        match self {
            StoredValue::Null => "missing".into(),
            StoredValue::Truth(value) => format!("'{value}'"),
            StoredValue::Whole(value) => format!("'{value}'"),
            StoredValue::Negative(value) => format!("'{value}', which is negative"),
            StoredValue::Real(value) => format!("'{value}', which is no whole number from 0"),
            StoredValue::Text(text) => format!("'{}'", quote(text)),
        }
    }
}
