//! The traces of Meta's Tectonic that were released with Baleen (Wong et al., FAST 2024).

use block::{Op, Time};

use crate::format::{Example, FormatEntry, ReadMethod};
use crate::lines::{LineParser, Lines, ParsedLine, words};
use crate::number::{TimeUnit, quote, time, whole};
use crate::placement::place;
use crate::reader::{Fault, ReadLedger, TraceRecord};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "baleen",
    title: "Baleen: Meta's Tectonic (2024)",
    text: "Samples of clusters of Meta's Tectonic from 2019, 2021 and 2023, released with Baleen (FAST 2024): rows of block_id, \
           io_offset, io_size, op_time, op_name and more between blanks; lines before the first row are remarks. Offsets and \
           sizes are bytes of a block of up to 8 MiB, times seconds. Operations 1, 2 and 5 get, 3, 4 and 6 put. The host, where \
           a row names it (the ninth column from the left in 2023, the eighth in 2021), is the device; `device = \"all\"` takes \
           all hosts together. A row names a block of the cluster, not one of a disk: it begins where a hash of its name says, \
           on a whole MiB of 8 TiB.",
    examples: &[Example {
        bytes:
            b"# block_id io_offset io_size op_time op_name user_namespace user_name rs_shard_id op_count host_name\n\
                61070083 0 131072 1678700000.5 2 3 14 0 1 17\n\
                61070083 131072 4096 1678700001 1 3 14 0 1 17\n\
                9920412 0 8388608 1678700001.25 4 1 2 5 1 23\n",
        requests: 3,
    }],
    read: ReadMethod::Lines {
        looks: |line| row(line).is_ok() || line.windows(NAME.len()).any(|part| part == NAME),
        open: |feed, _| Ok(Box::new(Lines::new(feed, BaleenRows { begun: false }))),
    },
    write: None,
};

/// What a header calls the first column.
const NAME: &[u8] = b"block_id";

/// Columns of a row that are always read, and the fewest and most that a row has.
const READ: usize = 5;
const FEWEST: usize = 8;
const MOST: usize = 10;

struct BaleenRows {
    /// Whether a row was met: from then on all lines are rows.
    begun: bool,
}

/// A row without its remarks: block, offset, size, time, whether it puts, and its host.
struct BaleenRow<'a> {
    block: &'a [u8],
    offset: u64,
    bytes: u64,
    time: u64,
    op: Op,
    host: Option<&'a [u8]>,
}

fn row(line: &[u8]) -> Result<BaleenRow<'_>, Fault> {
    let mut columns = [&b""[..]; MOST];
    let mut count = 0;
    for word in words(line) {
        if count < MOST {
            columns[count] = word;
        }
        count += 1;
    }
    if !(FEWEST..=MOST).contains(&count) {
        return Err(Fault::new(format!("{count} columns, not the {FEWEST} to {MOST} of baleen")));
    }
    let [block, offset, bytes, at, op] = *columns.first_chunk::<READ>().expect("there are more");
    whole("block_id", block)?;
    Ok(BaleenRow {
        block,
        offset: whole("io_offset", offset)?,
        bytes: whole("io_size", bytes)?,
        time: time("op_time", at, TimeUnit::S)?,
        op: match op {
            b"1" | b"2" | b"5" => Op::Read,
            b"3" | b"4" | b"6" => Op::Write { fua: false },
            _ => return Err(Fault::new(format!("op_name '{}' is none of 1 to 6", quote(op)))),
        },
        host: match count {
            10 => Some(columns[9]),
            9 => Some(columns[7]),
            _ => None,
        },
    })
}

impl LineParser for BaleenRows {
    fn parse(&mut self, line: &[u8], ledger: &mut ReadLedger) -> Result<ParsedLine, Fault> {
        let begins = line.trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
        if !self.begun && !begins {
            return Ok(ParsedLine::Remark);
        }
        self.begun = true;
        let BaleenRow { block, offset, bytes, time, op, host } = row(line)?;
        if bytes == 0 {
            ledger.counts.empty += 1;
            return Ok(ParsedLine::Skipped);
        }
        let (at, unaligned) = place(block, offset, bytes)?;
        ledger.counts.unaligned += u64::from(unaligned);
        ledger.counts.placed += 1;
        let device = ledger.devices.intern(host.unwrap_or(b"0"))?;
        Ok(ParsedLine::Request(TraceRecord { time: Time(time), device, op, at, response: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{feed, read};

    fn rows(text: &[u8]) -> (Result<Vec<TraceRecord>, String>, ReadLedger) {
        let (records, ledger) = read(|_| Ok(Box::new(Lines::new(feed(text), BaleenRows { begun: false }))));
        (records.map_err(|error| error.to_string()), ledger)
    }

    #[test]
    fn rows_of_every_year_are_read_and_the_host_is_the_device() {
        let (records, ledger) = rows(FORMAT.examples[0].bytes);
        let records = records.unwrap();
        assert_eq!((records[0].op, records[0].at.blocks), (Op::Read, 256));
        assert_eq!(records[1].at.start, records[0].at.end(), "the second goes on where the first ends");
        assert_eq!((records[2].op, records[2].at.blocks), (Op::Write { fua: false }, 16_384));
        assert_eq!(records.iter().map(|record| record.device.0).collect::<Vec<_>>(), [0, 0, 1]);
        assert_eq!((ledger.counts.remarks, ledger.counts.placed), (1, 3));
        let (records, _) = rows(b"title\n1 0 512 5 3 a b h 1\n1 0 512 5 6 a b g 1\n");
        assert_eq!(records.unwrap().iter().map(|record| record.device.0).collect::<Vec<_>>(), [0, 1], "2021");
        let (records, _) = rows(b"1 0 512 5 5 pipe a b\n2 0 0 5 5 pipe a b\n");
        assert_eq!(records.unwrap().len(), 1, "2019; a request for nothing is left out");
    }

    #[test]
    fn a_row_that_is_none_is_an_error() {
        let told = |text: &[u8]| rows(text).0.unwrap_err();
        assert!(told(b"1 0 512 5 7 a b c\n").contains("op_name '7' is none of 1 to 6"));
        assert!(told(b"1 0 512 5 1 a b c\nremark\n").contains("1 columns, not the 8 to 10 of baleen"));
    }
}
