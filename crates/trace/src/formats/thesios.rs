//! The traces of Google's storage servers that Thesios synthesized (Phothilimthana et al., ASPLOS 2024).

use block::{Op, Span};

use crate::feed::PEEK;
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::lines::{LineParser, Lines, ParsedLine, wrong_columns};
use crate::number::{TimeUnit, quote, time, whole};
use crate::placement::place;
use crate::reader::{Fault, ReadLedger, TraceRecord};
use crate::table::RowFields;

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "thesios",
    title: "Thesios: Google's storage servers (2024)",
    text: "Two months of three clusters, a server with one disk a file, as Thesios synthesized them (ASPLOS 2024): a header of \
           names in any order, then a row a request. Read are `filename`, `file_offset`, `op_type`, `service_class`, `cache_hit`, \
           `request_io_size_bytes`, `disk_io_size_bytes`, `start_time` and, as the measured response, `disk_time`; times are \
           seconds, sizes bytes. Reads that a cache of the server answered never came to the disk and are left out; a write is \
           as large as the request for it. The rows name files, not blocks: a file begins where a hash of its name says, on a \
           whole MiB of 8 TiB. The service class stands as the device, so that two workloads can replay one file as two \
           classes: `device = \"LATENCY_SENSITIVE\"`; `device = \"all\"` takes them together.",
    examples: &[Example {
        bytes: b"filename,file_offset,application,c_time,io_zone,redundancy_type,op_type,service_class,from_flash_cache,cache_hit,\
                request_io_size_bytes,disk_io_size_bytes,response_io_size_bytes,start_time,disk_time,simulated_disk_start_time,\
                simulated_latency\n\
                5d41402a,1048576,bigtable,1705000000,WARM,REPLICATED,READ,LATENCY_SENSITIVE,0,0,65536,65536,65536,\
                1705276800.25,0.0113,1705276800.2504,0.0119\n\
                5d41402a,0,bigtable,1705000000,WARM,REPLICATED,READ,LATENCY_SENSITIVE,0,1,4096,0,4096,1705276800.5,0,0,0.0001\n\
                7d793037,8192,0cc175b9,1705100000,COLD,ERASURE_CODED,WRITE,THROUGHPUT_ORIENTED,0,-1,1048576,0,0,1705276801,0,0,0.004\n",
        requests: 2,
    }],
    read: ReadMethod::Begin {
        looks,
        open: |feed, _| Ok(Box::new(Lines::new(feed, ThesiosRows { columns: Vec::new() }))),
    },
    write: None,
};

/// What is read of a row, by the names of the header.
const NAMES: [&str; COLUMNS] = [
    "filename",
    "file_offset",
    "op_type",
    "service_class",
    "cache_hit",
    "request_io_size_bytes",
    "disk_io_size_bytes",
    "start_time",
    "disk_time",
];
const COLUMNS: usize = 9;

/// Whether a file begins with such a header.
fn looks(start: &[u8]) -> bool {
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.len() < PEEK && find_columns(line).is_ok()
}

/// For each column of the header, which of [`NAMES`] it is.
fn find_columns(header: &[u8]) -> Result<Vec<Option<usize>>, Fault> {
    let place = |field: &[u8]| NAMES.iter().position(|name| name.as_bytes() == field);
    let columns: Vec<_> = RowFields::new(header, b',').map(|field| place(field.text)).collect();
    match (0..COLUMNS).find(|column| columns.iter().filter(|found| **found == Some(*column)).count() != 1) {
        Some(lacking) => Err(Fault::with_mend(
            format!("the header does not name '{}' once", NAMES[lacking]),
            "put the header of Thesios before the rows, or map the columns with --columns",
        )),
        None => Ok(columns),
    }
}

struct ThesiosRows {
    columns: Vec<Option<usize>>,
}

impl LineParser for ThesiosRows {
    fn parse(&mut self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
        if self.columns.is_empty() {
            self.columns = find_columns(line)?;
            return Ok(ParsedLine::Remark);
        }
        let mut values = [&b""[..]; COLUMNS];
        let mut fields = RowFields::new(line, b',');
        for column in &self.columns {
            let Some(field) = fields.next() else {
                let found = RowFields::new(line, b',').count();
                return Err(wrong_columns(found, &format!("{} of the header", self.columns.len())));
            };
            if let Some(column) = column {
                values[*column] = field.text;
            }
        }
        let [file, offset, op, class, hit, asked, done, start, took] = values;
        let (op, bytes, response) = match op {
            b"READ" => {
                let (bytes, took) = (whole("disk_io_size_bytes", done)?, time("disk_time", took, TimeUnit::S)?);
                if hit == b"1" || bytes == 0 {
                    ledger.counts.cached += 1;
                    return Ok(ParsedLine::Skipped);
                }
                (Op::Read, bytes, Some(Span(took)).filter(|took| took.0 > 0))
            }
            b"WRITE" => (Op::Write { fua: false }, whole("request_io_size_bytes", asked)?, None),
            _ => return Err(Fault::new(format!("op_type '{}' is neither READ nor WRITE", quote(op)))),
        };
        if bytes == 0 {
            ledger.counts.empty += 1;
            return Ok(ParsedLine::Skipped);
        }
        let (at, unaligned) = place(file, whole("file_offset", offset)?, bytes)?;
        ledger.counts.unaligned += u64::from(unaligned);
        ledger.counts.placed += 1;
        let device = ledger.devices.intern(class)?;
        let time = crate::number::time("start_time", start, TimeUnit::S)?;
        Ok(ParsedLine::Request(TraceRecord { time: block::Time(time), device, op, at, response }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{feed, read};

    fn rows(text: &[u8]) -> (Result<Vec<TraceRecord>, String>, ReadLedger) {
        let (records, ledger) = read(|_| Ok(Box::new(Lines::new(feed(text), ThesiosRows { columns: Vec::new() }))));
        (records.map_err(|error| error.to_string()), ledger)
    }

    #[test]
    fn what_came_to_the_disk_is_read_and_the_service_class_is_the_device() {
        let (records, ledger) = rows(FORMAT.examples[0].bytes);
        let records = records.unwrap();
        assert_eq!((records[0].op, records[0].at.blocks, records[0].response), (Op::Read, 128, Some(Span(11_300_000))));
        assert_eq!((records[1].op, records[1].at.blocks, records[1].response), (Op::Write { fua: false }, 2048, None));
        assert_eq!(records[1].time.0 - records[0].time.0, 750_000_000);
        assert_eq!(records[0].at, place(b"5d41402a", 1 << 20, 65_536).unwrap().0);
        assert_eq!((ledger.counts.cached, ledger.counts.placed, ledger.counts.records), (1, 2, 3));
        assert_ne!(records[0].device, records[1].device);
    }

    #[test]
    fn a_row_that_lacks_a_column_or_has_another_word_is_an_error() {
        let header = NAMES.join(",");
        let told = |row: &str| rows(format!("{header}\n{row}\n").as_bytes()).0.unwrap_err();
        assert!(told("f,0,READ,OTHER,0,8,8,1").contains("8 columns, not the 9 of the header"));
        assert!(told("f,0,SCAN,OTHER,0,8,8,1,0").contains("op_type 'SCAN' is neither READ nor WRITE"));
        assert!(told("f,x,READ,OTHER,0,8,8,1,0").contains("file_offset 'x' is not a number"));
        assert!(rows(b"filename,file_offset\n").0.unwrap_err().contains("does not name 'op_type' once"));
    }
}
