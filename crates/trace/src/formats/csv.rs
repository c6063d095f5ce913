//! Comma-separated columns that a header names: for traces of one's own making.

use crate::format::{Example, FormatEntry, ReadMethod};
use crate::table::{DelimitedTable, TableHeader};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "csv",
    title: "Comma-separated columns, named by a header",
    text: "A header of names, in any order and of any case, then a row a request. `time` or `time_s`, `time_ms`, `time_us`, \
           `time_ns` is the arrival, from any origin; `op` is r, read, w, write, f, flush, or d, discard, trim, unmap, which are left out, \
           and `is_write` in its place 0 or false, 1 or true; \
           `offset` or `offset_bytes` is in bytes, `lbn`, `lba` or `sector` in blocks of 512; `size` or `size_bytes` in bytes, \
           `blocks` or `sectors` in blocks of 512. Those four are needed. `device` and the measured `response_s`, `response_ms`, \
           `response_us` or `response_ns` may be there; columns of other names are passed over. Commas, semicolons, tabs, bars or \
           blanks stand between columns.\n\nWhere columns have names of their own, or none, a mapping tells which is what: \
           `--columns time_us=Timestamp,op=IOType,offset=Offset,size=Bytes` (in experiments, `columns = \"…\"`) or, by their \
           numbers from 1, `--columns time=1,is_write=4,lbn=2,blocks=3`; left of each `=` stands one of the names above. Only \
           the columns it names are read, of a table in text or in Parquet.",
    examples: &[Example {
        bytes: b"time,op,offset,size,device\n0.25,read,4096,4096,sda\n2.25,write,51200,1536,sdb\n",
        requests: 2,
    }],
    read: ReadMethod::Table(DelimitedTable { header: TableHeader::Names, columns: &[], more: false }),
    write: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::NAMES;

    #[test]
    fn every_name_is_in_the_documentation() {
        assert!(NAMES.iter().all(|(name, _)| FORMAT.text.contains(&format!("`{name}`"))));
    }
}
