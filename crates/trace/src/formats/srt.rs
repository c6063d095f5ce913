//! HP SRT 1.x traces, such as those of Ruemmler and Wilkes ("UNIX disk access patterns", 1993).
//!
//! A text header ends with a form feed; then come records of big-endian 32-bit words: size in bytes, version and
//! type, seconds and microseconds since the start, start and stop in microseconds after it, bytes, sector,
//! device, driver, cylinder, flags, information, from version 4 on the queue length, and more for some types.
//! The header gives each disk's sector size, 256 bytes for the disks of 1992, and sectors count in it.

use std::collections::HashMap;

use block::{BadInput, Op, Span, Time};

use crate::feed::{PEEK, TraceFeed};
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::number::extent;
use crate::reader::{Fault, FormatReader, ReadLedger, TraceRecord};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "srt",
    title: "HP SRT 1.x",
    text: "The binary traces of HP's storage group, such as the disks of 1992 in Ruemmler and Wilkes, UNIX disk \
           access patterns (USENIX 1993). After a text header that ends with a form feed come big-endian records: \
           size, version and type, seconds and microseconds since the start, start and stop in microseconds after \
           that, bytes, sector, device and more. Sectors are of the size the header gives for each disk (256 bytes \
           there), else 512; times count from the start of the trace, and the stop time is the response.",
    examples: &[Example {
        bytes: b"$$TR_IOREC-1.3 (test)\0\n\
                version = 1.3;\n\
                description = \"a { 5 -> in quotes\";\n\
                disks = {\n\
                \x200 -> {\n\
                \x20adaptor = 1 -> { hp_ib, 1.2 },\n\
                \x20sectorsize = 256,\n\
                \x20sections = { 8 -> { \"/\" } }\n\
                \x20},\n\
                \x201 -> { rpm = 4002 }\n\
                };\n\
                \x0c\
                \0\0\08\0\x04\0\x01\0\0\0\0\0\0\0\x05\0\0\0d\0\0N\x84\0\0\x20\0\0\0\0\n\x08\0\0\x07\0\0\0\x04\0\0\0\
                \0\0\0\0\x01\0\0\0\0\0\0\0\x01\
                \0\0\08\0\x04\0\x01\0\0\0\x01\0\0\0\x05\0\0\0d\0\0N\x84\0\0\x02\0\0\0\0\x0b\x08\0\x01\x07\0\0\0\x04\
                \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01",
        requests: 2,
    }],
    read: ReadMethod::Begin { looks, open: |feed, _| reader(feed) },
    write: None,
};

const MAGIC: &[u8] = b"$$TR_IOREC-1";
/// A record has at least these 13 words.
const WORDS: usize = 13;
const MOST_WORDS: usize = 32;
/// The type of record (low half of the second word) that is an ordinary request.
const SHORT_IO: u32 = 1;
const FLAG_READ: u32 = 1;
/// The sector size of a disk whose header gives none.
const DEFAULT_SECTOR: u32 = 512;

/// Whether a file begins like an SRT trace.
pub(crate) fn looks(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Reads an SRT trace.
pub(crate) fn reader(mut feed: TraceFeed) -> Result<Box<dyn FormatReader>, BadInput> {
    let start = feed.peek(PEEK)?;
    if !looks(start) {
        return Err(feed.bad_file(
            "no HP SRT trace: it does not begin with $$TR_IOREC-1",
            "name the right format with --trace-format",
        ));
    }
    let Some(end) = memchr::memchr(0x0c, start) else {
        return Err(
            feed.bad_file("the header of this HP SRT trace has no end (a form feed)", "fetch the file again, whole")
        );
    };
    let sectors = sector_sizes(&start[..end]);
    feed.skip(end + 1);
    Ok(Box::new(Srt { feed: feed.by_records(), sectors }))
}

/// The `sectorsize` of each disk in a header. Disks stand as `N -> { ... }` directly inside `disks = { ... }`;
/// what they contain nests deeper.
fn sector_sizes(header: &[u8]) -> HashMap<u32, u32> {
    let mut sizes = HashMap::new();
    let (mut depth, mut disk) = (0u32, None);
    // The last three tokens, newest last: enough for `N -> {` and `sectorsize = N`.
    let mut seen: [&[u8]; 3] = [b""; 3];
    let mut quote = false;
    let mut rest = header;
    while let Some(first) = rest.first() {
        let word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.iter().take_while(|byte| word(byte)).count().max(1);
        let (token, after) = rest.split_at(length);
        rest = after;
        quote ^= *first == b'"';
        if quote || first.is_ascii_whitespace() || *first == b'>' {
            continue;
        }
        seen = [seen[1], seen[2], token];
        match seen {
            [number, b"-", b"{"] if depth == 1 => disk = number_of(number),
            [b"sectorsize", b"=", size] if depth == 2 => {
                if let (Some(disk), Some(size @ 1..)) = (disk, number_of(size)) {
                    sizes.insert(disk, size);
                }
            }
            _ => {}
        }
        match token {
            b"{" => depth += 1,
            b"}" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    sizes
}

fn number_of(token: &[u8]) -> Option<u32> {
    std::str::from_utf8(token).ok()?.parse().ok()
}

struct Srt {
    feed: TraceFeed,
    sectors: HashMap<u32, u32>,
}

impl FormatReader for Srt {
    fn next(&mut self, ledger: &mut ReadLedger) -> Result<Option<TraceRecord>, BadInput> {
        loop {
            let size = match self.feed.peek(4)?.first_chunk() {
                Some(size) => u32::from_be_bytes(*size) as usize,
                None => 4 * WORDS,
            };
            if size % 4 != 0 || !(WORDS..=MOST_WORDS).contains(&(size / 4)) {
                self.feed.record(4)?;
                return Err(self.feed.bad(Fault::new(format!("a record of {size} bytes; one has 52 to 128"))));
            }
            let Some(record) = self.feed.record(size)? else { return Ok(None) };
            ledger.counts.records += 1;
            match request(record, &self.sectors, ledger) {
                Ok(None) => {}
                Ok(request) => return Ok(request),
                Err(fault) => return Err(self.feed.bad(fault)),
            }
        }
    }
}

fn request(record: &[u8], sectors: &HashMap<u32, u32>, ledger: &mut ReadLedger) -> Result<Option<TraceRecord>, Fault> {
    let word = |at: usize| record[4 * at..4 * at + 4].iter().fold(0, |value, byte| value << 8 | u32::from(*byte));
    // Words are signed; what is negative in any of these is damage.
    let count = |name: &str, at: usize| match word(at) {
        value @ 0..=0x7fff_ffff => Ok(u64::from(value)),
        value => Err(Fault::new(format!("{name} is negative ({})", value as i32))),
    };
    let (version, kind) = (word(1) >> 16, word(1) & 0xffff);
    if !(1..=4).contains(&version) {
        return Err(Fault::new(format!("record version {version} is not known (1 to 4 are)")));
    }
    if kind != SHORT_IO {
        ledger.counts.other_commands += 1;
        return Ok(None);
    }
    let us = count("time", 2)? * 1_000_000 + count("time", 3)?;
    // The device word holds a kernel device number; its second byte from the right is the disk.
    let disk = word(8) >> 8 & 0xff;
    let sector = sectors.get(&disk).copied().unwrap_or(DEFAULT_SECTOR);
    let (at, unaligned) = extent(count("sector", 7)?, sector, count("length", 6)?, 1)?;
    if at.blocks == 0 {
        ledger.counts.empty += 1;
        return Ok(None);
    }
    ledger.counts.unaligned += u64::from(unaligned);
    Ok(Some(TraceRecord {
        time: Time(us * 1000),
        device: ledger.devices.intern(disk.to_string().as_bytes())?,
        op: if word(11) & FLAG_READ != 0 { Op::Read } else { Op::Write { fua: false } },
        at,
        response: Some(Span(count("stop time", 5)? * 1000)),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Fields, feed, read};
    use block::{At, Extent};

    /// The header of an SRT trace whose disk 0 has sectors of 256 bytes and disk 1 of the default size.
    const SRT_HEADER: &str = "$$TR_IOREC-1.3 (test)\0\nversion = 1.3;\ndescription = \"a { 5 -> in quotes\";\n\
    disks = {\n 0 -> {\n adaptor = 1 -> { hp_ib, 1.2 },\n sectorsize = 256,\n sections = { 8 -> { \"/\" } }\n },\n \
    1 -> { rpm = 4002 }\n};\n\x0c";

    /// An SRT record with a queue length.
    fn srt(disk: u32, (sec, us): (u32, u32), bytes: u32, sector: u32, flags: u32) -> Vec<u8> {
        let mut out = Fields { big: true, bytes: Vec::new() };
        out.u32(56).u32(0x0004_0001).u32(sec).u32(us).u32(100).u32(20_100).u32(bytes).u32(sector);
        out.u32(8 << 24 | disk << 8 | 7).u32(4).u32(0).u32(flags).u32(0).u32(1);
        out.bytes
    }

    fn trace(records: &[Vec<u8>]) -> Vec<u8> {
        [SRT_HEADER.as_bytes(), &records.concat()].concat()
    }

    #[test]
    fn sectors_are_of_the_disks_own_size() {
        assert_eq!(sector_sizes(SRT_HEADER.as_bytes()), HashMap::from([(0, 256)]));
        let records = [
            srt(0, (1, 2), 8192, 1056, 0x1b),
            srt(1, (1, 3), 1024, 1056, 0x0a),
            srt(0, (1, 3), 512, 3, 0x0a),
            srt(0, (1, 3), 0, 3, 0x0a),
        ];
        let (all, ledger) = read(|_| reader(feed(trace(&records))));
        let all = all.unwrap();
        let seen: Vec<_> = all.iter().map(|record| (record.time.0, record.op, record.at)).collect();
        let write = Op::Write { fua: false };
        assert_eq!(
            seen,
            [
                (1_000_002_000, Op::Read, Extent::new(528, 16)),
                (1_000_003_000, write, Extent::new(1056, 2)),
                (1_000_003_000, write, Extent::new(1, 2)),
            ]
        );
        assert_eq!(all[0].response, Some(Span(20_100_000)));
        assert_eq!((ledger.counts.unaligned, ledger.counts.empty), (1, 1));
    }

    #[test]
    fn damage_is_found_where_it_is() {
        let one = srt(0, (1, 2), 8192, 1056, 0x1b);
        let error = |bytes: &[u8]| read(|_| reader(feed(bytes))).0.unwrap_err().at;
        let mut bytes = trace(&[one.clone(), one.clone()]);
        assert_eq!(error(&bytes[..bytes.len() - 1]), At::Record(2));
        let second = bytes.len() - one.len();
        bytes[second] = 0x80;
        assert_eq!(error(&bytes), At::Record(2));
        assert_eq!(error(&SRT_HEADER.as_bytes()[..50]), At::File);
        assert_eq!(error(&trace(&[srt(0, (1 << 31, 2), 8192, 0, 0)])), At::Record(1));
    }
}
