//! DiskSim's ASCII: `time device block blocks flags`, times in milliseconds with six places, flags 1 for a read.

use std::io::{self, BufWriter, Write};

use block::Op;

use crate::reader::Record;
use crate::write::{Form, Lost, Names};

const NS_A_MS: u64 = 1_000_000;

pub(crate) struct DiskSim<W: Write>(BufWriter<W>);

impl<W: Write> DiskSim<W> {
    pub fn new(out: W) -> DiskSim<W> {
        DiskSim(BufWriter::new(out))
    }
}

impl<W: Write> Form for DiskSim<W> {
    fn put(&mut self, record: &Record, device: &str, lost: &mut Lost) -> io::Result<()> {
        lost.far += u64::from(record.at.end().0 > i32::MAX as u64);
        let (ms, ns) = (record.time.0 / NS_A_MS, record.time.0 % NS_A_MS);
        let flags = u8::from(record.op == Op::Read);
        writeln!(self.0, "{ms}.{ns:06} {device} {} {} {flags}", record.at.start.0, record.at.blocks)
    }

    fn end(mut self: Box<Self>, _: &Names) -> io::Result<()> {
        self.0.flush()
    }
}
