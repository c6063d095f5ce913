//! Records of requests as Arrow's batches: [`COLUMNS`], numbers as int64 and words as codes of a dictionary.
//!
//! The words are known before anything runs, so that all batches of an experiment have the same dictionaries, whichever run they
//! are of: they follow one another in a file, or in a stream, as they are.

use super::{COLUMNS, ColumnValue, Record, label_case};
use crate::experiment::{Case, Experiment};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use block::{At, BadInput, Discarded, Ending, Extent, Op, Qos, Span, Time};
use sched::Wait;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of a batch, at most: what a run keeps in memory of its records, some 15 MB.
pub const BATCH_ROWS: usize = 1 << 16;

/// The words of a column: each with its code, and all in the order of their codes.
#[derive(Debug)]
struct WordCodes {
    codes: BTreeMap<String, i32>,
    array: ArrayRef,
}

/// What batches of an experiment's records are like.
#[derive(Debug)]
pub struct BatchSchema {
    schema: SchemaRef,
    /// Those of each column, where it has words.
    words: Vec<Option<WordCodes>>,
}

impl BatchSchema {
    /// That of the records of these cases, at the devices that `name` says.
    #[must_use]
    pub fn of(cases: &[Case], name: impl Fn(&Experiment) -> String) -> Arc<BatchSchema> {
        let mut seen: Vec<Option<BTreeMap<String, i32>>> = COLUMNS.iter().map(|_| None).collect();
        for case in cases {
            let (label, device) = (label_case(case), name(&case.experiment));
            for class in case.experiment.classes() {
                let record = sample(&label, &device, class);
                for op in OPS {
                    see(&mut seen, &Record { op, ..record });
                }
                for ending in ENDINGS {
                    see(&mut seen, &Record { ending, ..record });
                }
            }
        }
        Arc::new(BatchSchema::new(seen))
    }

    fn new(seen: Vec<Option<BTreeMap<String, i32>>>) -> BatchSchema {
        let words: Vec<Option<WordCodes>> = seen.into_iter().map(|codes| codes.map(WordCodes::new)).collect();
        let code = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let kind = |words: &Option<WordCodes>| if words.is_some() { code.clone() } else { DataType::Int64 };
        let fields = COLUMNS.iter().zip(&words).map(|(column, words)| Field::new(column.name, kind(words), false));
        BatchSchema { schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())), words }
    }

    /// The same as Arrow has it.
    #[must_use]
    pub fn arrow(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

impl WordCodes {
    fn new(codes: BTreeMap<String, i32>) -> WordCodes {
        let mut words: Vec<(&i32, &String)> = codes.iter().map(|(word, code)| (code, word)).collect();
        words.sort_unstable();
        let array = Arc::new(StringArray::from_iter_values(words.into_iter().map(|(_, word)| word)));
        WordCodes { codes, array }
    }
}

/// Gives the words of a record that are new the next codes of their columns.
fn see(seen: &mut [Option<BTreeMap<String, i32>>], record: &Record) {
    for (seen, column) in seen.iter_mut().zip(&COLUMNS) {
        if let ColumnValue::Word(word) = (column.value)(record) {
            let codes = seen.get_or_insert_default();
            let next = codes.len() as i32;
            if !codes.contains_key(word) {
                codes.insert(word.to_owned(), next);
            }
        }
    }
}

/// One of each kind.
const OPS: [Op; 6] = [
    Op::Read,
    Op::Write { fua: false },
    Op::Write { fua: true },
    Op::Flush,
    Op::Repair,
    Op::Discard(Discarded::Anything),
];
const ENDINGS: [Option<Ending>; 4] = [Some(Ending::Finished), Some(Ending::Failed(0)), Some(Ending::Dropped), None];

fn sample<'a>(case: &'a str, device: &'a str, class: &'a str) -> Record<'a> {
    Record {
        case,
        replication: 1,
        request: 1,
        device,
        class,
        qos: Qos::default(),
        op: Op::Read,
        at: Extent::default(),
        ending: None,
        counted: false,
        arrival: Time::ZERO,
        start: Time::ZERO,
        end: Time::ZERO,
        commands: 0,
        waits: [Span::ZERO; Wait::KINDS],
        parts: [Span::ZERO; super::PARTS],
    }
}

/// Rows until they are a batch.
#[derive(Debug)]
pub struct Batcher {
    of: Arc<BatchSchema>,
    rows: usize,
    columns: Vec<Vec<i64>>,
}

impl Batcher {
    /// A batch without any rows.
    #[must_use]
    pub fn new(of: &Arc<BatchSchema>) -> Batcher {
        Batcher { of: Arc::clone(of), rows: 0, columns: COLUMNS.iter().map(|_| Vec::new()).collect() }
    }

    /// One more row; gives a batch when there are enough.
    ///
    /// # Errors
    /// When a word is none of those that the cases have.
    pub fn put(&mut self, record: &Record) -> Result<Option<RecordBatch>, BadInput> {
        for ((values, column), words) in self.columns.iter_mut().zip(&COLUMNS).zip(&self.of.words) {
            values.push(match (column.value)(record) {
                // Those beyond the year 2262 do not come.
                ColumnValue::Number(number) => number as i64,
                ColumnValue::Word(word) => {
                    let code = words.as_ref().and_then(|words| words.codes.get(word));
                    i64::from(*code.ok_or_else(|| refuse_word(column.name, word))?)
                }
            });
        }
        self.rows += 1;
        if self.rows < BATCH_ROWS { Ok(None) } else { self.take() }
    }

    /// A batch of the rows there are, if there are any.
    ///
    /// # Errors
    /// When Arrow refuses it.
    pub fn take(&mut self) -> Result<Option<RecordBatch>, BadInput> {
        if self.rows == 0 {
            return Ok(None);
        }
        self.rows = 0;
        let columns = self.columns.iter_mut().map(std::mem::take).zip(&self.of.words);
        let arrays = columns.map(|(values, words)| array(values, words.as_ref())).collect::<Result<Vec<_>, _>>();
        let batch = arrays.and_then(|arrays| RecordBatch::try_new(self.of.arrow(), arrays));
        batch.map(Some).map_err(|error| refuse_word("records", &error.to_string()))
    }
}

fn array(values: Vec<i64>, words: Option<&WordCodes>) -> Result<ArrayRef, ArrowError> {
    let Some(words) = words else { return Ok(Arc::new(Int64Array::from(values))) };
    let codes: Int32Array = values.into_iter().map(|code| Some(code as i32)).collect();
    let (_, codes, _) = codes.into_parts();
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(Int32Array::new(codes, None), Arc::clone(&words.array))?))
}

fn refuse_word(column: &str, what: &str) -> BadInput {
    let what = format!("'{what}' was not expected of records");
    BadInput::new(column.to_owned(), At::File, what, "report it, with the experiment")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;
    use crate::requests::{name_simulated_device, write_csv};
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    fn cases() -> Vec<Case> {
        let text = "[drive]\nmodel = \"atlas10k\"\n[scheduler]\npolicy = [\"fcfs\", \"satf\"]\n[[workload]]\nname = \"a, b\"\n\
                    kind = \"closed\"\ndepth = 1\nsize = \"4KiB\"\n[[workload]]\nname = \"c\"\nkind = \"closed\"\ndepth = 1\n\
                    size = \"4KiB\"\n[run]\nrequests = 9\n";
        experiment::parse("a.toml", text, &[], None).expect("an experiment")
    }

    /// Records that differ in every column, of each operation and ending, and as many as are wanted.
    fn records(cases: &[Case], count: usize) -> Vec<(String, &'static str, Record<'static>)> {
        let labels: Vec<String> = cases.iter().map(label_case).collect();
        (0..count)
            .map(|i| {
                let mut record = sample("", "atlas10k", ["a, b", "c"][i % 2]);
                record.op = OPS[i % OPS.len()];
                record.ending = ENDINGS[i % ENDINGS.len()];
                record.at = Extent::new((1 << 40) + i as u64, i as u32);
                (record.request, record.counted, record.commands) = (i as u64 + 1, i % 3 == 0, i as u64 % 7);
                (record.arrival, record.start, record.end) =
                    (Time(i as u64), Time(2 * i as u64), Time(u64::MAX / 4 + i as u64));
                record
                    .waits
                    .iter_mut()
                    .chain(&mut record.parts)
                    .zip(1..)
                    .for_each(|(span, k)| *span = Span(k * i as u64));
                (labels[i % 2].clone(), record.class, record)
            })
            .collect()
    }

    fn show_row(batch: &RecordBatch, row: usize) -> Vec<String> {
        let cell = |array: &ArrayRef| match array.as_dictionary_opt::<Int32Type>() {
            Some(words) => words.values().as_string::<i32>().value(words.keys().value(row) as usize).to_owned(),
            None => array.as_primitive::<Int64Type>().value(row).to_string(),
        };
        batch.columns().iter().map(cell).collect()
    }

    #[test]
    fn batches_say_what_the_lines_say() {
        let cases = cases();
        let schema = BatchSchema::of(&cases, name_simulated_device);
        let records = records(&cases, BATCH_ROWS + 37);
        let (mut rows, mut batches) = (Batcher::new(&schema), Vec::new());
        for (case, _, record) in &records {
            batches.extend(rows.put(&Record { case, ..*record }).expect("words that are known"));
        }
        batches.extend(rows.take().expect("a batch"));
        assert!(rows.take().expect("nothing is left").is_none());
        assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [BATCH_ROWS, 37]);
        let told = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|row| show_row(batch, row)));
        for (told, (case, class, record)) in told.zip(&records) {
            let mut line = Vec::new();
            write_csv(&Record { case, ..*record }, &mut line).expect("memory");
            let line = String::from_utf8(line).expect("UTF-8").replace(&format!("\"{class}\""), "A_B");
            assert_eq!(told.join(",").replace("a, b", "A_B"), line.trim_end());
        }
    }

    #[test]
    fn dictionaries_have_only_words_of_their_column_and_are_those_of_all_batches() {
        let cases = cases();
        let schema = BatchSchema::of(&cases, name_simulated_device);
        let words = |name: &str| {
            let at = COLUMNS.iter().position(|column| column.name == name).expect("a column");
            let words = schema.words[at].as_ref().expect("of words");
            words.array.as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(words("case"), ["policy=fcfs", "policy=satf"]);
        assert_eq!(words("class"), ["a, b", "c"]);
        assert_eq!(words("op"), ["read", "write", "write-fua", "flush", "repair", "discard"]);
        assert_eq!(words("ending"), ["outstanding", "finished", "failed", "dropped"]);
        let other = Record { class: "d", ..sample("policy=fcfs", "atlas10k", "c") };
        let error = Batcher::new(&schema).put(&other).expect_err("no such class");
        assert_eq!(error.what, "'d' was not expected of records");
    }
}
