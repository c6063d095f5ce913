//! A device read once through, in whatever order costs least, and handed on as it is found.
//!
//! The core has nothing but a set of blocks that are wanted (`sched::free`). What a command for many blocks did not bring is tried
//! in ever smaller ones, unit by unit in the end.

use crate::bench::unreachable_server;
use crate::claim::Use;
use crate::make::{self, Made};
use crate::memory::Slice;
use crate::serve::kernel_error;
use crate::unit::{Far, LiveDevice};
use crate::world::{Hands, RequestSource};
use crate::{Clock, Host, LiveWorld, Remote};
use block::{At, BLOCK_BYTES, BadInput, Ending, Extent, Lbn, RequestId, Span, Time, units};
use load::ScanProgress;
use load::experiment::{DriveChoice, IoBackend};
use nbd::Uri;
use sched::plan::Rules;
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Core, Found, FreePlan, Input, Wanted, run};
use std::io;

/// Blocks of a command: nobody else waits for it, and the device is at its best from here on.
const CHUNK: u32 = 2048;
/// A command that failed is given once more so often.
const RETRIES: u8 = 2;
/// A device of which so many units in a row cannot be read answers no more.
const UNREADABLE: u64 = 4096;
/// A command that takes longer hangs.
const PATIENCE: Span = Span(120_000_000_000);

/// Who takes what is read.
pub trait BlockSink {
    /// These bytes were read, from this one of the device on.
    ///
    /// # Errors
    /// When they cannot be kept: the scan then ends.
    fn take(&mut self, from: u64, bytes: &[u8]) -> io::Result<()>;

    /// So many bytes cannot be read.
    ///
    /// # Errors
    /// When that cannot be kept.
    fn lose(&mut self, from: u64, bytes: u64) -> io::Result<()>;

    /// How far it has come.
    fn tell(&mut self, _: &ScanProgress) {}
}

/// A device that is to be read.
pub struct OpenScan {
    name: String,
    unit: Box<dyn LiveDevice>,
    /// What is still to be read.
    wanted: Wanted,
    /// How long it is.
    pub bytes: u64,
    /// What a user must know of it.
    pub notes: Vec<String>,
}

/// Why a scan ended before all was read.
pub enum ScanFailure {
    /// The device could not be had, or could not be read.
    Device(BadInput),
    /// Who takes what is read.
    Sink(io::Error),
}

impl OpenScan {
    /// A device that is read whole, in units of so many blocks, where it is not too long for that.
    fn new(
        name: &str,
        unit: Box<dyn LiveDevice>,
        unit_blocks: u32,
        bytes: u64,
        notes: Vec<String>,
    ) -> Result<OpenScan, BadInput> {
        let blocks = unit.caps().blocks;
        if !Wanted::fits(blocks, unit_blocks) {
            let most = Wanted::MOST_UNITS * u64::from(unit_blocks);
            let what = format!("it has {}, more than a scan can remember to have read", units::show_blocks(blocks));
            let mend = format!("scan what has {} at most", units::show_blocks(most));
            return Err(BadInput::new(name, At::File, what, mend));
        }
        let mut wanted = Wanted::nothing(blocks, unit_blocks);
        wanted.want(Lbn(0), Lbn(blocks));
        Ok(OpenScan { name: name.into(), unit, wanted, bytes, notes })
    }

    /// A device as `path` in `[drive]` names it, to be read in units of so many blocks.
    ///
    /// # Errors
    /// When there is none, or it is in use.
    pub fn of_device(name: &str, choice: &DriveChoice, unit_blocks: u32) -> Result<OpenScan, BadInput> {
        let Made { unit, notes, .. } = make::device(choice, Use::Reads, false, 0)?;
        let bytes = unit.bytes();
        OpenScan::new(name, unit, unit_blocks, bytes, notes)
    }

    /// An export of an NBD server, to be read in units of so many blocks.
    ///
    /// # Errors
    /// When it is not to be had, or its last block is not whole.
    pub fn of_server(name: &str, uri: &Uri, unit_blocks: u32) -> Result<OpenScan, BadInput> {
        let remote = Remote::connect(uri).map_err(|error| unreachable_server(uri, &error))?;
        let bytes = remote.session.size;
        if bytes % BLOCK_BYTES != 0 {
            let what = format!("its {bytes} bytes end within a block of {BLOCK_BYTES}");
            return Err(BadInput::new(name, At::File, what, "read the file or device itself"));
        }
        let unit = Far::new(vec![(0, remote)]).map_err(|error| unreachable_server(uri, &error))?;
        OpenScan::new(name, Box::new(unit.keeping()), unit_blocks, bytes, Vec::new())
    }

    /// What was read before is not read again: so many bytes from this one on, of whole units.
    pub fn skip(&mut self, from: u64, bytes: u64) {
        let (first, end) = (from / BLOCK_BYTES, (from + bytes).div_ceil(BLOCK_BYTES));
        let mut at = first;
        while at < end {
            let blocks = (end - at).min(1 << 30);
            self.wanted.remove_read(Extent { start: Lbn(at), blocks: blocks as u32 });
            at += blocks;
        }
    }

    /// Reads what is wanted of it, on a clock so many times as fast. How far it came.
    ///
    /// # Errors
    /// When device or sink do not go on.
    pub fn run(self, scale: f64, sink: &mut dyn BlockSink) -> Result<ScanProgress, ScanFailure> {
        let OpenScan { name, unit, wanted, bytes, .. } = self;
        let caps = unit.caps();
        let stopped = |error: io::Error| ScanFailure::Device(kernel_error(&name, &error));
        let unit_blocks = wanted.unit();
        let left: u64 = wanted.runs().map(|(from, until)| until.0 - from.0).sum();
        let plan = FreePlan { wanted, chunk: CHUNK.max(unit_blocks), patience: Span::ZERO, class: 0, retries: RETRIES };
        let policy = || policy::usual("fcfs").make(&Beside::default());
        let core = Core::new(caps, 1, Distance::default(), Rules::default(), Box::new(policy));
        let mut core = core.wanting(plan);
        let host = Host::new(Clock::new(scale), IoBackend::Auto).map_err(stopped)?;
        let progress = ScanProgress::new(caps.blocks, unit_blocks).with_left(left);
        let scanner = Scanner { sink, progress, bytes, failed: None, lost: 0, ends: false, buffer: Vec::new() };
        let mut world = LiveWorld::new(host, unit, scanner, PATIENCE);
        run(&mut core, &mut world);
        let scanner = world.finish().map_err(stopped)?.source;
        match scanner.failed {
            Some(error) => Err(ScanFailure::Sink(error)),
            None if !scanner.progress.is_done() => {
                let what =
                    format!("answers no more, with {:.1} % still to be read", 100.0 * scanner.progress.share_left());
                let mend = "look what the kernel says of the device, and read it again";
                Err(ScanFailure::Device(BadInput::new(name, At::File, what, mend)))
            }
            None => Ok(scanner.progress),
        }
    }
}

/// What a core found goes to a sink.
struct Scanner<'a> {
    sink: &'a mut dyn BlockSink,
    progress: ScanProgress,
    /// Bytes of the device.
    bytes: u64,
    failed: Option<io::Error>,
    /// Units in a row that could not be read.
    lost: u64,
    /// Whether the device answers no more.
    ends: bool,
    buffer: Vec<u8>,
}

impl Scanner<'_> {
    /// Hands on what was read, or that it cannot be.
    fn hand_on(&mut self, at: Extent, read: Option<&Slice>) -> io::Result<()> {
        let from = at.start.0 * BLOCK_BYTES;
        let bytes = at.bytes().min(self.bytes - from);
        let Some(read) = read else { return self.sink.lose(from, bytes) };
        self.buffer.resize(bytes as usize, 0);
        read.buffer.get(read.from, &mut self.buffer);
        self.sink.take(from, &self.buffer)
    }
}

impl RequestSource for Scanner<'_> {
    fn ask(&mut self, _: Time, _: u32, _: &mut Hands) -> Option<Input> {
        None
    }

    fn memory(&mut self, _: RequestId, _: usize, _: usize) -> Option<Slice> {
        None
    }

    fn on_end(&mut self, _: Time, _: RequestId, _: Ending, _: &mut Hands) {}

    fn on_found(&mut self, now: Time, at: Extent, found: Found, read: Option<&Slice>) {
        self.progress.count(at, found);
        self.progress.add(now, at, found);
        self.lost = if read.is_some() { 0 } else { self.lost + 1 };
        self.ends |= self.lost >= UNREADABLE;
        if let Err(error) = self.hand_on(at, read) {
            self.failed.get_or_insert(error);
        }
        self.sink.tell(&self.progress);
    }

    fn hang(&mut self, _: Time) {
        self.ends = true;
    }

    fn is_over(&self) -> bool {
        self.progress.is_done() || self.ends || self.failed.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::unit::Done;
    use block::{Caps, Command, Outcome, Tag, Verb, errno};

    /// A device of so many blocks, each filled with the low byte of its number; of some no command succeeds.
    struct Marked {
        bad: fn(u64) -> bool,
        done: Vec<Done>,
        issued: u32,
        blocks: u64,
    }

    impl LiveDevice for Marked {
        fn caps(&self) -> Caps {
            Caps { blocks: self.blocks, depth: 4, seek: block::SeekBy::Nothing, arms: 1 }
        }

        fn bytes(&self) -> u64 {
            999 * BLOCK_BYTES + 100
        }

        fn issue(
            &mut self,
            now: Time,
            tag: Tag,
            command: &Command,
            memory: Option<Slice>,
            _: &mut dyn Kernel,
        ) -> io::Result<()> {
            assert_eq!(command.verb, Verb::Read);
            assert!(self.done.is_empty(), "one at a time");
            self.issued += 1;
            let blocks = || command.at.start.0..command.at.end().0;
            let outcome = if blocks().any(self.bad) { Outcome::Failed(errno::EIO) } else { Outcome::Ok };
            for (n, block) in blocks().enumerate() {
                let memory = memory.as_ref().expect("memory");
                memory.buffer.put(memory.from + n * BLOCK_BYTES as usize, &[block as u8; BLOCK_BYTES as usize]);
            }
            self.done.push(Done::now(now, tag, outcome));
            Ok(())
        }

        fn next_completion(&mut self, _: Time) -> Option<Done> {
            self.done.pop()
        }
    }

    /// What was read, by block: how often, and whether as it should be.
    #[derive(Default)]
    struct Kept {
        bytes: u64,
        blocks: Vec<u64>,
        lost: Vec<(u64, u64)>,
        full_after: Option<u64>,
    }

    impl BlockSink for Kept {
        fn take(&mut self, from: u64, bytes: &[u8]) -> io::Result<()> {
            if self.full_after.is_some_and(|most| self.bytes >= most) {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            self.bytes += bytes.len() as u64;
            for (n, block) in bytes.chunks(BLOCK_BYTES as usize).enumerate() {
                let number = from / BLOCK_BYTES + n as u64;
                assert!(block.iter().all(|byte| *byte == number as u8), "block {number}");
                self.blocks.push(number);
            }
            Ok(())
        }

        fn lose(&mut self, from: u64, bytes: u64) -> io::Result<()> {
            self.lost.push((from, bytes));
            Ok(())
        }
    }

    fn scan(bad: fn(u64) -> bool, unit: u32, kept: &mut Kept) -> Result<ScanProgress, ScanFailure> {
        let device = Box::new(Marked { bad, done: Vec::new(), issued: 0, blocks: 1000 });
        let bytes = device.bytes();
        OpenScan::new("marked", device, unit, bytes, Vec::new()).map_err(ScanFailure::Device)?.run(1.0, kept)
    }

    #[test]
    fn every_byte_is_handed_on_once() {
        for unit in [1, 8, 2048] {
            let mut kept = Kept::default();
            let progress = scan(|_| false, unit, &mut kept).unwrap_or_else(|_| panic!("all is read"));
            assert!(progress.is_done() && progress.unreadable() == 0);
            kept.blocks.sort_unstable();
            assert_eq!(kept.blocks, (0..1000).collect::<Vec<_>>(), "units of {unit}");
            assert_eq!(kept.bytes, 999 * BLOCK_BYTES + 100);
        }
    }

    #[test]
    fn what_cannot_be_read_costs_its_unit_and_no_other() {
        let mut kept = Kept::default();
        let progress =
            scan(|block| block == 42 || block == 999, 8, &mut kept).unwrap_or_else(|_| panic!("the rest is read"));
        assert_eq!(progress.unreadable(), 16);
        kept.lost.sort_unstable();
        assert_eq!(kept.lost, [(40 * BLOCK_BYTES, 8 * BLOCK_BYTES), (992 * BLOCK_BYTES, 7 * BLOCK_BYTES + 100)]);
        assert_eq!(kept.blocks.len(), 1000 - 16);
    }

    #[test]
    fn what_was_read_before_is_not_read_again() {
        let device = Box::new(Marked { bad: |_| false, done: Vec::new(), issued: 0, blocks: 1000 });
        let (bytes, mut kept) = (device.bytes(), Kept::default());
        let mut scan = OpenScan::new("marked", device, 8, bytes, Vec::new()).expect("it fits");
        scan.skip(16 * BLOCK_BYTES, 24 * BLOCK_BYTES);
        scan.skip(992 * BLOCK_BYTES, 7 * BLOCK_BYTES + 100);
        assert!(scan.run(1.0, &mut kept).is_ok_and(|progress| progress.is_done()));
        kept.blocks.sort_unstable();
        assert_eq!(kept.blocks, (0..16).chain(40..992).collect::<Vec<_>>());
        // And where all was.
        let device = Box::new(Marked { bad: |_| true, done: Vec::new(), issued: 0, blocks: 1000 });
        let mut scan = OpenScan::new("marked", device, 8, bytes, Vec::new()).expect("it fits");
        scan.skip(0, bytes);
        assert!(scan.run(1.0, &mut Kept::default()).is_ok_and(|progress| progress.is_done()));
    }

    #[test]
    fn what_is_too_long_to_be_remembered_is_refused() {
        for (blocks, unit, fits) in [(1 << 54, 8, false), (1 << 54, 2048, false), ((1 << 20) + 1, 8, true)] {
            let device = Box::new(Marked { bad: |_| false, done: Vec::new(), issued: 0, blocks });
            let opened = OpenScan::new("huge", device, unit, blocks * BLOCK_BYTES, Vec::new());
            let told = opened.err().map(|error| error.to_string());
            assert_eq!(told.is_none(), fits, "{blocks} blocks in units of {unit}: {told:?}");
            assert!(told.is_none_or(|told| told.starts_with("huge: it has 9") && told.contains("mend: scan what has")));
        }
    }

    #[test]
    fn a_sink_that_is_full_ends_it() {
        let mut kept = Kept { full_after: Some(0), ..Kept::default() };
        assert!(matches!(scan(|_| false, 8, &mut kept), Err(ScanFailure::Sink(_))));
    }
}
