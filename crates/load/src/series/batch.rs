//! The rows of series as Arrow's batches, one a run: words are strings, counts and times int64, other numbers doubles.

use super::{RunSeries, SERIES_COLUMNS, SeriesBook, SeriesColumn, SeriesRow, SeriesValue};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// What batches of a series are like.
#[must_use]
pub fn series_schema() -> SchemaRef {
    let cell = Default::default();
    let row = SeriesRow {
        case: "",
        replication: 1,
        class: "",
        from: block::Time::ZERO,
        to: block::Time::ZERO,
        disks: 1,
        cell: &cell,
    };
    let field = |column: &SeriesColumn| {
        let value = (column.value)(&row);
        let kind = match value {
            SeriesValue::Word(_) => DataType::Utf8,
            SeriesValue::Count(_) | SeriesValue::Time(_) => DataType::Int64,
            SeriesValue::Real(_) => DataType::Float64,
        };
        Field::new(column.name, kind, matches!(value, SeriesValue::Time(_)))
    };
    Arc::new(Schema::new(SERIES_COLUMNS.iter().map(field).collect::<Vec<_>>()))
}

/// All rows of a book, a batch for each run.
///
/// # Errors
/// When Arrow refuses them.
pub fn series_batches(book: &SeriesBook) -> Result<Vec<RecordBatch>, ArrowError> {
    let (schema, mut batches) = (series_schema(), Vec::new());
    book.each_run(|run| {
        let columns =
            schema.fields().iter().zip(&SERIES_COLUMNS).map(|(field, column)| array(run, field.data_type(), column));
        batches.push(RecordBatch::try_new(SchemaRef::clone(&schema), columns.collect())?);
        Ok(())
    })
    .map(|()| batches)
}

fn array(run: &RunSeries, kind: &DataType, column: &SeriesColumn) -> ArrayRef {
    // A value may be as long as its row, and no longer.
    match kind {
        DataType::Utf8 => Arc::new(StringArray::from_iter_values(run.rows().map(|row| match (column.value)(&row) {
            SeriesValue::Word(word) => word.to_owned(),
            _ => String::new(),
        }))),
        DataType::Float64 => {
            Arc::new(Float64Array::from_iter_values(run.rows().map(|row| match (column.value)(&row) {
                SeriesValue::Real(real) => real,
                _ => 0.0,
            })))
        }
        _ => Arc::new(Int64Array::from_iter(run.rows().map(|row| match (column.value)(&row) {
            // Those beyond the year 2262 do not come.
            SeriesValue::Count(count) => Some(count as i64),
            SeriesValue::Time(time) => time.map(|time| time.0 as i64),
            _ => None,
        }))),
    }
}
