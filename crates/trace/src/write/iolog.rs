//! fio's iolog, version 3: `time file action offset length`, times in whole microseconds, places in bytes. A device
//! is added and opened where it first appears, and closed at the end, as fio wants it.

use std::io::{self, BufWriter, Write};

use block::{BLOCK_BYTES, Op};

use crate::iolog::V3;
use crate::reader::Record;
use crate::write::{Form, Lost, Names};

const NS_A_US: u64 = 1_000;

pub(crate) struct Iolog<W: Write> {
    out: BufWriter<W>,
    /// Whether each device is open.
    open: Vec<bool>,
    /// When the last request came.
    last_us: u64,
}

impl<W: Write> Iolog<W> {
    pub fn new(out: W) -> io::Result<Iolog<W>> {
        let mut out = BufWriter::new(out);
        out.write_all(V3)?;
        out.write_all(b"\n")?;
        Ok(Iolog { out, open: Vec::new(), last_us: 0 })
    }
}

impl<W: Write> Form for Iolog<W> {
    fn put(&mut self, record: &Record, device: &str, lost: &mut Lost) -> io::Result<()> {
        lost.rounded += u64::from(!record.time.0.is_multiple_of(NS_A_US));
        let us = record.time.0 / NS_A_US + u64::from(record.time.0 % NS_A_US >= NS_A_US / 2);
        self.last_us = us;
        let index = record.device.0 as usize;
        if index >= self.open.len() {
            self.open.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.open[index], true) {
            writeln!(self.out, "{us} {device} add\n{us} {device} open")?;
        }
        let action = match record.op {
            Op::Read | Op::Repair => "read",
            Op::Write { .. } => "write",
            Op::Flush => "sync",
        };
        let (offset, length) = (record.at.start.0.saturating_mul(BLOCK_BYTES), record.at.bytes());
        lost.long += u64::from(length > u64::from(u32::MAX));
        writeln!(self.out, "{us} {device} {action} {offset} {length}")
    }

    fn end(mut self: Box<Self>, devices: &Names) -> io::Result<()> {
        let us = self.last_us;
        for device in devices.all() {
            writeln!(self.out, "{us} {device} close")?;
        }
        self.out.flush()
    }
}
