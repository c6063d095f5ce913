//! CloudPhysics vscsi traces: fixed little-endian records of SCSI commands, of one virtual disk.
//!
//! Version 1 has 32 bytes (serial, length, scatter-gather entries, command, version, block, time), version 2 has
//! 40 (command, version, serial, length, entries, block, time, response time). Times are microseconds, lengths
//! bytes, blocks 512 bytes.

use block::{BadInput, Extent, Op, Span, Time};

use crate::feed::TraceFeed;
use crate::format::{Example, FormatEntry, ReadMethod};
use crate::number::extent;
use crate::reader::{Fault, FormatReader, ReadLedger, TraceRecord};

pub(crate) static FORMAT: FormatEntry = FormatEntry {
    name: "vscsi",
    title: "CloudPhysics vscsi, version 1 and 2",
    text: "SCSI commands of one virtual disk, as CloudPhysics recorded them in VMware's hypervisor and libCacheSim \
           reads them: little-endian records of 32 bytes (version 1) or 40 (version 2, which adds the response \
           time), with command, bytes, block and time. Times are microseconds, blocks 512 bytes. Commands other than \
           reads, writes and flushes are left out.",
    examples: &[
        Example {
            bytes: b"\x09\0\0\0\0\x02\0\0\x01\0\0\0(\0\0\x01\x07\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\
                \x09\0\0\0\0\0\0\0\x01\0\0\x005\0\0\x01\0\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\
                \x09\0\0\0\0\x10\0\0\x01\0\0\0*\0\0\x01\x20\x03\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\
                \x09\0\0\0\0\0\0\0\x01\0\0\0\x12\0\0\x01\0\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0",
            requests: 3,
        },
        Example {
            bytes: b"(\0\0\x02\x09\0\0\0\0\x02\0\0\x01\0\0\0\x07\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\xdc\x05\0\0\0\0\0\0\
                5\0\0\x02\x09\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\xdc\x05\0\0\0\0\0\0\
                *\0\0\x02\x09\0\0\0\0\x10\0\0\x01\0\0\0\x20\x03\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\xdc\x05\0\0\0\0\0\0\
                \x12\0\0\x02\x09\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\xdc\x05\0\0\0\0\0\0",
            requests: 3,
        },
    ],
    read: ReadMethod::Begin { looks, open: |feed, _| reader(feed) },
    write: None,
};

/// Where the fields of a version are.
struct FieldLayout {
    version: u8,
    bytes: usize,
    command: usize,
    /// Its upper byte is the version.
    version_at: usize,
    length: usize,
    block: usize,
    time: usize,
    response: Option<usize>,
}

const LAYOUTS: [FieldLayout; 2] = [
    FieldLayout { version: 1, bytes: 32, command: 12, version_at: 14, length: 4, block: 16, time: 24, response: None },
    FieldLayout {
        version: 2,
        bytes: 40,
        command: 0,
        version_at: 2,
        length: 8,
        block: 16,
        time: 24,
        response: Some(32),
    },
];

/// Records looked at to recognise a version.
const LOOKED_AT: usize = 8;

/// Whether a file begins like a vscsi trace.
pub(crate) fn looks(start: &[u8]) -> bool {
    layout(start).is_some()
}

/// The layout whose version stands in every one of the first records, or in most of them if one is damaged.
fn layout(start: &[u8]) -> Option<&'static FieldLayout> {
    LAYOUTS.iter().find(|layout| {
        let records = start.chunks_exact(layout.bytes).take(LOOKED_AT);
        let all = records.len();
        let fit = records.filter(|record| layout.fits(record)).count();
        fit > 0 && 2 * fit > all
    })
}

/// Reads a vscsi trace.
pub(crate) fn reader(mut feed: TraceFeed) -> Result<Box<dyn FormatReader>, BadInput> {
    let layout = layout(feed.peek(40 * LOOKED_AT)?).ok_or_else(|| {
        feed.bad_file(
            "no vscsi trace: its first records do not carry version 1 or 2",
            "name the right format with --trace-format",
        )
    })?;
    Ok(Box::new(Vscsi { feed: feed.by_records(), layout }))
}

struct Vscsi {
    feed: TraceFeed,
    layout: &'static FieldLayout,
}

impl FormatReader for Vscsi {
    fn next(&mut self, ledger: &mut ReadLedger) -> Result<Option<TraceRecord>, BadInput> {
        while let Some(record) = self.feed.record(self.layout.bytes)? {
            ledger.counts.records += 1;
            match self.layout.request(record, ledger) {
                Ok(None) => {}
                Ok(request) => return Ok(request),
                Err(fault) => return Err(self.feed.bad(fault)),
            }
        }
        Ok(None)
    }
}

impl FieldLayout {
    fn fits(&self, record: &[u8]) -> bool {
        record[self.version_at + 1] == self.version
    }

    fn request(&self, record: &[u8], ledger: &mut ReadLedger) -> Result<Option<TraceRecord>, Fault> {
        if !self.fits(record) {
            let found = record[self.version_at + 1];
            return Err(Fault::new(format!("version {found} stands where {} should", self.version)));
        }
        let counts = &mut ledger.counts;
        let op = match record[self.command] {
            0x08 | 0x28 | 0xa8 | 0x88 => Op::Read,
            0x0a | 0x2a | 0xaa | 0x8a => Op::Write { fua: false },
            0x35 | 0x91 => Op::Flush,
            0x42 => {
                counts.discards_skipped += 1;
                return Ok(None);
            }
            _ => {
                counts.other_commands += 1;
                return Ok(None);
            }
        };
        let (at, unaligned) = match op {
            Op::Flush => (Extent::default(), false),
            _ => extent(u64_at(record, self.block), 512, u64::from(u32_at(record, self.length)), 1)?,
        };
        if at.blocks == 0 && op != Op::Flush {
            counts.empty += 1;
            return Ok(None);
        }
        counts.unaligned += u64::from(unaligned);
        let time = Time(ns("time", u64_at(record, self.time))?);
        let response = self.response.map(|at| ns("response time", u64_at(record, at)).map(Span)).transpose()?;
        Ok(Some(TraceRecord { time, device: ledger.devices.intern(b"0")?, op, at, response }))
    }
}

fn ns(name: &str, us: u64) -> Result<u64, Fault> {
    us.checked_mul(1000).ok_or_else(|| Fault::new(format!("{name} {us} us is more nanoseconds than 64 bits hold")))
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    record[at..at + 4].iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from(u32_at(record, at + 4)) << 32 | u64::from(u32_at(record, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Fields, feed, read};
    use block::At;

    /// A vscsi record of version 1: SCSI command, bytes, block and microseconds.
    fn vscsi_v1(command: u16, length: u32, block: u64, us: u64) -> Vec<u8> {
        let mut out = Fields::default();
        out.u32(9).u32(length).u32(1).u16(command).u16(1 << 8).u64(block).u64(us);
        out.bytes
    }

    /// A vscsi record of version 2, with a response time of 1,500 us.
    fn vscsi_v2(command: u16, length: u32, block: u64, us: u64) -> Vec<u8> {
        let mut out = Fields::default();
        out.u16(command).u16(2 << 8).u32(9).u32(length).u32(1).u64(block).u64(us).u64(1500);
        out.bytes
    }

    #[test]
    fn both_versions_read_alike_but_for_the_response() {
        for (write, response) in [(vscsi_v1 as fn(_, _, _, _) -> _, None), (vscsi_v2, Some(Span(1_500_000)))] {
            let bytes: Vec<u8> = [
                write(0x2a, 512, 7, 3),
                write(0x35, 0, 0, 4),
                write(0x88, 700, 1 << 40, 5),
                write(0x12, 36, 0, 6),
                write(0x42, 36, 0, 6),
                write(0x28, 0, 0, 6),
            ]
            .concat();
            assert!(looks(&bytes));
            let (records, ledger) = read(|_| reader(feed(&bytes)));
            let records = records.unwrap();
            let seen: Vec<_> = records.iter().map(|record| (record.time.0, record.op, record.at)).collect();
            assert_eq!(
                seen,
                [
                    (3000, Op::Write { fua: false }, Extent::new(7, 1)),
                    (4000, Op::Flush, Extent::default()),
                    (5000, Op::Read, Extent::new(1 << 40, 2))
                ]
            );
            assert!(records.iter().all(|record| record.response == response));
            let counts = &ledger.counts;
            assert_eq!((counts.unaligned, counts.empty), (1, 1));
            assert_eq!((counts.other_commands, counts.discards_skipped, counts.records), (1, 1, 6));
        }
    }

    #[test]
    fn a_flipped_version_and_absurd_times_are_errors() {
        let mut bytes = vscsi_v1(0x2a, 512, 7, 3).repeat(12);
        bytes[10 * 32 + 15] ^= 4;
        assert_eq!(read(|_| reader(feed(&bytes))).0.unwrap_err().at, At::Record(11));
        let bytes = vscsi_v1(0x2a, 512, 7, u64::MAX / 10);
        assert_eq!(read(|_| reader(feed(&bytes))).0.unwrap_err().at, At::Record(1));
    }
}
