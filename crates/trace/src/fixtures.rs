//! Small traces of every format for the tests, and how to read them.

use std::io::{self, Cursor};

use block::BadInput;

use crate::Format;
use crate::feed::Feed;
use crate::reader::{Ledger, Reader, Record};
use crate::source::Source;

/// A read, a write, a request for nothing and a sequential read that goes back in time.
pub(crate) const DISKSIM: &str = "1.250000 0 100 8 1\n2.000001 7 576560 6 0\n2.5 0 0 0 1\n2.0 0 108 8 1b\n";

/// What a drive did, found in every way.
pub(crate) const VALIDATE: &str = "W Hit 4583176 4 663.00000 45422.25000\nW Miss 4583180 4 607 34200.0\n\
    R Doub 3962268 12 6657.0 64047.0\nR Trip 0 1 1 0\n";

/// What fio logs: versions 2 and 3, with every kind of action.
pub(crate) const IOLOGS: [&str; 2] = [
    "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n/dev/sda read 4096 4096\n/dev/sda write 8192 4096\n\
     /dev/sda wait 2500 0\n/dev/sda datasync 0 0\n/dev/sda wait 1000 0\n/dev/sda read 4096 4096\n/dev/sda close\n",
    "fio version 3 iolog\n2 a add\n2 b add\n872 a open\n878 a write 0 16384\n880 a wait 5 0\n888 b read 4100 600\n\
     889 a trim 0 4096\n890 b read 0 0\n891 a sync 0 0\n10001677 a close\n10001677 b close\n",
];

/// A file of every format.
pub(crate) fn every_format() -> Vec<(Format, Vec<u8>)> {
    let queue = |time, flags: u64| (time, 8 * time, 4096, 1 | flags << 16);
    let events =
        [queue(1, 0x11), queue(2, 0x901e), queue(4, 0x2012), (5, 8, 4096, 7 | 1 << 16), (6, 8, 0, 8 | 1 << 16)];
    let all = |write: fn(bool, Raw, &[u8]) -> Vec<u8>, big| events.map(|event| write(big, event, b"pdu")).concat();
    let scsi = |write: fn(u16, u32, u64, u64) -> Vec<u8>| {
        [write(0x28, 512, 7, 3), write(0x35, 0, 0, 4), write(0x2a, 4096, 800, 5), write(0x12, 0, 0, 5)].concat()
    };
    let requests = [srt(0, (0, 5), 8192, 10, 1), srt(1, (1, 5), 512, 11, 0)].concat();
    let mut all = vec![
        (Format::Blktrace, all(blktrace_v1, false)),
        (Format::Blktrace, all(blktrace_v2, true)),
        (Format::Blkparse, BLKPARSE.into()),
        (Format::DiskSim, DISKSIM.into()),
        (Format::Validate, VALIDATE.into()),
        (Format::Iolog, IOLOGS[0].into()),
        (Format::Iolog, IOLOGS[1].into()),
        (Format::Srt, [SRT_HEADER.as_bytes(), &requests].concat()),
        (Format::Vscsi, scsi(vscsi_v1)),
        (Format::Vscsi, scsi(vscsi_v2)),
    ];
    all.extend(TABLES.map(|(name, text)| (Format::Table(name), text.into())));
    all
}

/// A feed of bytes in memory.
pub(crate) fn feed(bytes: impl AsRef<[u8]>) -> Feed {
    try_feed(bytes).unwrap()
}

/// A feed of bytes in memory, which may be compressed and damaged.
pub(crate) fn try_feed(bytes: impl AsRef<[u8]>) -> io::Result<Feed> {
    Source::unpacked("a.trace", Cursor::new(bytes.as_ref().to_vec())).map(Feed::new)
}

/// Every request of a reader, and what it wrote to the ledger.
pub(crate) fn read(
    open: impl FnOnce(&mut Ledger) -> Result<Box<dyn Reader>, BadInput>,
) -> (Result<Vec<Record>, BadInput>, Ledger) {
    let mut ledger = Ledger::default();
    let records = open(&mut ledger).and_then(|mut reader| {
        let mut records = Vec::new();
        while let Some(record) = reader.next(&mut ledger)? {
            records.push(record);
            records.extend(ledger.second.take());
        }
        Ok(records)
    });
    (records, ledger)
}

/// Time, sector, bytes and action of a blktrace event.
pub(crate) type Raw = (u64, u64, u32, u64);

/// A blktrace record of version 1.
pub(crate) fn blktrace_v1(big: bool, (time, sector, bytes, action): Raw, payload: &[u8]) -> Vec<u8> {
    let mut out = Fields { big, bytes: Vec::new() };
    out.u32(0x6561_7407).u32(1).u64(time).u64(sector).u32(bytes).u32(action as u32);
    out.u32(77).u32(7 << 20 | 3).u32(0).u16(0).u16(payload.len() as u16);
    out.bytes.extend_from_slice(payload);
    out.bytes
}

/// A blktrace record of version 2.
pub(crate) fn blktrace_v2(big: bool, (time, sector, bytes, action): Raw, payload: &[u8]) -> Vec<u8> {
    let mut out = Fields { big, bytes: Vec::new() };
    out.u32(0x6561_7408).u32(1).u64(time).u64(sector).u32(bytes).u32(77).u64(action);
    out.u32(7 << 20 | 3).u32(0).u16(0).u16(payload.len() as u16);
    out.bytes.extend_from_slice(&[0; 12]);
    out.bytes.extend_from_slice(payload);
    out.bytes
}

/// A vscsi record of version 1: SCSI command, bytes, block and microseconds.
pub(crate) fn vscsi_v1(command: u16, length: u32, block: u64, us: u64) -> Vec<u8> {
    let mut out = Fields::default();
    out.u32(9).u32(length).u32(1).u16(command).u16(1 << 8).u64(block).u64(us);
    out.bytes
}

/// A vscsi record of version 2, with a response time of 1,500 us.
pub(crate) fn vscsi_v2(command: u16, length: u32, block: u64, us: u64) -> Vec<u8> {
    let mut out = Fields::default();
    out.u16(command).u16(2 << 8).u32(9).u32(length).u32(1).u64(block).u64(us).u64(1500);
    out.bytes
}

/// The header of an SRT trace whose disk 0 has sectors of 256 bytes and disk 1 of the default size.
pub(crate) const SRT_HEADER: &str = "$$TR_IOREC-1.3 (test)\0\nversion = 1.3;\ndescription = \"a { 5 -> in quotes\";\n\
    disks = {\n 0 -> {\n adaptor = 1 -> { hp_ib, 1.2 },\n sectorsize = 256,\n sections = { 8 -> { \"/\" } }\n },\n \
    1 -> { rpm = 4002 }\n};\n\x0c";

/// An SRT record with a queue length.
pub(crate) fn srt(disk: u32, (sec, us): (u32, u32), bytes: u32, sector: u32, flags: u32) -> Vec<u8> {
    let mut out = Fields { big: true, bytes: Vec::new() };
    out.u32(56).u32(0x0004_0001).u32(sec).u32(us).u32(100).u32(20_100).u32(bytes).u32(sector);
    out.u32(8 << 24 | disk << 8 | 7).u32(4).u32(0).u32(flags).u32(0).u32(1);
    out.bytes
}

/// Writes fields of either byte order.
#[derive(Default)]
struct Fields {
    big: bool,
    bytes: Vec<u8>,
}

impl Fields {
    fn put<const N: usize>(&mut self, mut little: [u8; N]) -> &mut Fields {
        if self.big {
            little.reverse();
        }
        self.bytes.extend_from_slice(&little);
        self
    }

    fn u16(&mut self, value: u16) -> &mut Fields {
        self.put(value.to_le_bytes())
    }

    fn u32(&mut self, value: u32) -> &mut Fields {
        self.put(value.to_le_bytes())
    }

    fn u64(&mut self, value: u64) -> &mut Fields {
        self.put(value.to_le_bytes())
    }
}

/// What blkparse writes: requests of every kind, a pass-through command, a completion out of nowhere, a summary.
pub(crate) const BLKPARSE: &str = "  7,3    0        1     0.000000000 21912  Q  RM 1600 + 8 [(null)]
  7,3    0        2     0.000044672 21912  P   N [(null)]
  7,3    0        3     0.000073656 21912  D  RM 1600 + 8 [a b]
  7,3    1        1     0.000265862     0  C  RM 1600 + 8 [0]
  7,3    0        4     1.000000007 21912  Q FWFSM 1055736 + 8 [jbd2]
  7,3    0        5     1.000000010 21912  D  FN [(null)]
  7,3    1        2     1.000000020     0  C  FN 0 [0]
  7,3    1        3     1.000000030     0  C WSM 1055736 [0]
  7,3    0        6     1.100000000 21912  Q FWS [sync]
  7,3    0        7     1.150000000 21912  Q  DS 4096 + 64 [fstrim]
  7,3    0        8     1.160000000 21912  D   R 36 (12 00 00 00 24 00) [hd]
  7,3    0        9     1.200000000 21912  Q   W 64 + 16 [(null)]
  7,3    0       10     1.200000001 21912  X   W 64 / 72 [(null)]
  7,3    0       11     1.200000002 21912  ?   W 64 + 8 [(null)]
CPU0 (7,3):
 Reads Queued:           1,        4KiB\t Writes Queued:           2,       12KiB
Input file a.blktrace.0 added
";

/// A read of blocks 8 to 15 and, two seconds later on another device, a write of 100 to 102, in every table.
pub(crate) const TABLES: [(&str, &str); 6] = [
    ("msr", "128166385295514663,hm,0,Read,4096,4096,2833\n128166385315514663,hm,1,Write,51200,1536,3\n"),
    ("spc", "0,8,4096,r,0.5\n1,100,1536,W,2.5,9,extra\n"),
    (
        "systor",
        "Timestamp,Response,IOType,LUN,Offset,Size\n1455591804.31,0.006475000,R,0,4096,4096\n1455591806.31,,W,1,51200,1536\n",
    ),
    ("tencent", "1538323200,8,8,0,1058\n1538323202,100,3,1,1063\n"),
    ("alibaba", "419,R,4096,4096,1577808000000046\n725,W,51200,1536,1577808002000046\n"),
    ("csv", "time,op,offset,size,device\n0.25,read,4096,4096,sda\n2.25,write,51200,1536,sdb\n"),
];
