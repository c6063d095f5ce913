//! `halfturn scan`: a device read once through, in whatever order costs least, into an image, a pipe or a list of hashes.

mod checkpoint;

use self::checkpoint::{Checkpoint, ScanIdentity, UNREADABLE};
use super::outputs::{Inputs, OutputFile, PendingFile};
use crate::failure::{VerbFailure, print};
use crate::progress::Scanning;
use block::units::show_bytes;
use block::{At, BadInput};
use clap::Args;
use live::{BlockSink, OpenScan, ScanFailure};
use load::ScanProgress;
use load::experiment;
use nbd::{BadUri, Uri};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Blocks that are hashed together, and of which one that cannot be read loses all.
const HASHED: u32 = 2048;
/// Blocks that one that cannot be read loses where nothing is hashed.
const UNIT: u32 = 8;
/// What a stream begins with, before the bytes of the device.
const MAGIC: &[u8; 8] = b"HTSCAN1\n";
/// Marks the length of what cannot be read, which is not sent.
const LOST: u64 = 1 << 63;

/// Read a device or file once through, in whatever order costs least, and hand its blocks on.
///
/// DEVICE is what `path` in `[drive]` takes: a file, a block device that nothing is mounted from, `emulated:NAME` or
/// `ram:SIZE`; or the URI of an NBD server's export. What cannot be read is told at the end, and is zeros in an image.
///
/// `--out -` writes records, in the order in which blocks are found: after the 8 bytes "HTSCAN1\n" and the size of the device
/// (all numbers have 8 bytes, the lowest first), each has the offset of its first byte, how many there are, and these. A number with
/// its highest bit set counts bytes that cannot be read and do not follow. The last record has the size as its offset, and none.
#[derive(Args)]
#[command(after_help = "Examples:
  halfturn scan /dev/sdb --out sdb.img
  halfturn scan disk.img --hashes before.txt
  halfturn scan /dev/sdb --out sdb.img --resume sdb.scan
  halfturn scan 'nbd+unix:///vm?socket=/tmp/vm.sock' --out - | zstd > vm.scan.zst")]
pub struct ScanArgs {
    /// The device or file; or the URI of a server, nbd://HOST:PORT/EXPORT or nbd+unix:///EXPORT?socket=PATH
    #[arg(value_name = "DEVICE|URI")]
    device: String,
    /// Write an image into this file, or `-` for records on standard output
    #[arg(long, value_name = "FILE|-", required_unless_present = "hashes")]
    out: Option<PathBuf>,
    /// Write a line for each MiB into this file: its offset, its length and its SHA-256, or `unreadable`
    #[arg(long, value_name = "FILE")]
    hashes: Option<PathBuf>,
    /// Keep in this file how far it has come, and go on from there if it is there; it is removed when all is read
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Run the clock, and an emulated drive with it, this many times as fast
    #[arg(long, value_name = "TIMES", default_value = "1", value_parser = super::scale)]
    time_scale: f64,
}

/// A file that is written, beside where it will be.
struct Draft {
    name: OutputFile,
    pending: PendingFile,
    file: File,
}

impl Draft {
    fn new(name: OutputFile, pending: PendingFile) -> Result<Draft, VerbFailure> {
        let file = pending.file().map_err(|error| name.unwritable(&error))?;
        Ok(Draft { name, pending, file })
    }

    fn keep(self) -> Result<(), VerbFailure> {
        self.pending.keep().map_err(|error| self.name.unwritable(&error))
    }
}

/// Where the blocks go.
struct Outputs {
    image: Option<Draft>,
    /// Whether something may stand in the image where zeros belong: some of it was there before.
    goes_on: bool,
    stream: Option<BufWriter<io::Stdout>>,
    hashes: Option<(Draft, BufWriter<File>)>,
    /// What was read so far, where that is kept, and hashed.
    checkpoint: Option<Checkpoint>,
    bar: Scanning,
    /// What cannot be read: how many bytes, and the first of them.
    lost: u64,
    first: Option<u64>,
}

impl Outputs {
    fn new(arguments: &ScanArgs, scan: &mut OpenScan) -> Result<Outputs, VerbFailure> {
        let (mut inputs, bytes) = (Inputs::of([&arguments.device]), scan.bytes);
        let inputs = &mut inputs;
        let streams = arguments.out.as_deref() == Some(Path::new("-"));
        if let Some(resume) = arguments.resume.as_ref().filter(|_| streams) {
            let what = "records on standard output are gone when it is stopped";
            let mend = "give `--out` a file, or `--hashes`, or take `--resume` out";
            return Err(BadInput::new(resume.display().to_string(), At::File, what, mend).into());
        }
        let image = OutputFile::if_wanted(arguments.out.as_ref().filter(|_| !streams), inputs)?;
        let hashes = OutputFile::if_wanted(arguments.hashes.as_ref(), inputs)?;
        let (mut lost, mut first) = (0, None);
        let checkpoint = match OutputFile::if_wanted(arguments.resume.as_ref(), inputs)? {
            Some(file) => {
                let of = identity(&arguments.device, bytes, [image.as_ref(), hashes.as_ref()]);
                let opened = Checkpoint::open(file.path(), &of, &checkpoint::boot(), |(from, length, word)| {
                    scan.skip(from, length);
                    if word == UNREADABLE {
                        lost += length;
                        first = Some(first.map_or(from, |first: u64| first.min(from)));
                    }
                });
                Some(opened?)
            }
            None => None,
        };
        let image = match image {
            Some(image) => Some(begin_image(image, bytes, checkpoint.as_ref().map(|(_, there)| *there))?),
            None => None,
        };
        let goes_on = checkpoint.as_ref().is_some_and(|(_, there)| *there);
        let checkpoint = checkpoint.map(|(checkpoint, _)| checkpoint);
        let hashes = match hashes {
            Some(name) => {
                let pending = name.draft()?;
                let draft = Draft::new(name, pending)?;
                let file = draft.pending.file().map_err(|error| draft.name.unwritable(&error))?;
                Some((draft, BufWriter::new(file)))
            }
            None => None,
        };
        let mut stream = streams.then(|| BufWriter::new(io::stdout()));
        if let Some(stream) = &mut stream {
            let head = stream.write_all(MAGIC).and_then(|()| stream.write_all(&bytes.to_le_bytes()));
            head.map_err(VerbFailure::Output)?;
        }
        Ok(Outputs { image, goes_on, stream, hashes, checkpoint, bar: Scanning::new(bytes), lost, first })
    }

    fn record(&mut self, from: u64, length: u64, bytes: &[u8]) -> io::Result<()> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        stream.write_all(&from.to_le_bytes())?;
        stream.write_all(&length.to_le_bytes())?;
        stream.write_all(bytes)
    }

    /// All was handed on.
    fn keep(mut self, bytes: u64) -> Result<(), VerbFailure> {
        self.bar.finish();
        if let Some(mut stream) = self.stream.take() {
            let end = [bytes.to_le_bytes(), [0; 8]].concat();
            stream.write_all(&end).and_then(|()| stream.flush()).map_err(VerbFailure::Output)?;
        }
        if let Some((draft, mut lines)) = self.hashes {
            let listed = self.checkpoint.as_ref().map_or(Ok(()), |checkpoint| checkpoint.list(&mut lines));
            listed.and_then(|()| lines.flush()).map_err(|error| draft.name.unwritable(&error))?;
            draft.keep()?;
        }
        self.image.map_or(Ok(()), Draft::keep)?;
        self.checkpoint.into_iter().for_each(Checkpoint::remove);
        Ok(())
    }

    /// A piece was read, and is where it belongs.
    fn note(&mut self, from: u64, bytes: u64, word: &str) -> io::Result<()> {
        let image = self.image.as_ref().map(|image| &image.file);
        match (&mut self.checkpoint, &mut self.hashes) {
            (Some(checkpoint), _) => checkpoint.add((from, bytes, word), image),
            (None, Some((_, lines))) => writeln!(lines, "{from} {bytes} {word}"),
            (None, None) => Ok(()),
        }
    }

    /// It could not be written: which of them is not told, as one medium has mostly all.
    fn failure(&self, error: io::Error) -> VerbFailure {
        let drafts = self.image.iter().chain(self.hashes.iter().map(|(draft, _)| draft));
        match drafts.into_iter().next() {
            Some(draft) if self.stream.is_none() => draft.name.unwritable(&error),
            _ => VerbFailure::Output(error),
        }
    }
}

impl BlockSink for Outputs {
    fn take(&mut self, from: u64, bytes: &[u8]) -> io::Result<()> {
        if let Some(image) = &self.image
            && (self.goes_on || bytes.iter().any(|byte| *byte != 0))
        {
            image.file.write_all_at(bytes, from)?;
        }
        self.record(from, bytes.len() as u64, bytes)?;
        let unit = HASHED as usize * 512;
        let part = if self.hashes.is_some() { unit } else { bytes.len() };
        for (n, part) in bytes.chunks(part.max(1)).enumerate() {
            let word = checkpoint::word(self.hashes.is_some().then(|| hex(&Sha256::digest(part))));
            self.note(from + (n * unit) as u64, part.len() as u64, &word)?;
        }
        Ok(())
    }

    fn lose(&mut self, from: u64, bytes: u64) -> io::Result<()> {
        self.lost += bytes;
        self.first = Some(self.first.map_or(from, |first| first.min(from)));
        self.note(from, bytes, UNREADABLE)?;
        self.record(from, bytes | LOST, &[])
    }

    fn tell(&mut self, progress: &ScanProgress) {
        self.bar.at(progress);
    }
}

/// What a scan is of, and where its blocks go.
fn identity(device: &str, bytes: u64, outputs: [Option<&OutputFile>; 2]) -> ScanIdentity {
    let [image, hashes] = outputs.map(|file| file.map_or("-".into(), |file| file.path().display().to_string()));
    let said = vec![("device", device.into()), ("bytes", bytes.to_string()), ("image", image), ("hashes", hashes)];
    ScanIdentity { said, bytes }
}

/// The image, of which there may be some already: nothing where no checkpoint is kept, else whether there was one.
fn begin_image(name: OutputFile, bytes: u64, checkpoint: Option<bool>) -> Result<Draft, VerbFailure> {
    let Some(goes_on) = checkpoint else {
        let pending = name.draft()?;
        let draft = Draft::new(name, pending)?;
        draft.file.set_len(bytes).map_err(|error| draft.name.unwritable(&error))?;
        return Ok(draft);
    };
    let (pending, there) = name.lasting_draft()?;
    if goes_on && !there {
        let what = "what was read of it before, a file that ends in .part, is not there any more";
        let mend = "remove the file of `--resume`, and all is read anew";
        return Err(BadInput::new(name.path().display().to_string(), At::File, what, mend).into());
    }
    let draft = Draft::new(name, pending)?;
    let size = if goes_on { Ok(()) } else { draft.file.set_len(0) };
    size.and_then(|()| draft.file.set_len(bytes)).map_err(|error| draft.name.unwritable(&error))?;
    Ok(draft)
}

pub fn run(arguments: &ScanArgs) -> Result<(), VerbFailure> {
    let device = &arguments.device;
    let unit = if arguments.hashes.is_some() { HASHED } else { UNIT };
    let mut scan = match device.contains("://") {
        true => OpenScan::of_server(device, &uri(device)?, unit)?,
        false => {
            let path = serde_json::to_string(device).expect("a text");
            let text = format!(
                "drive = {{ path = {path} }}\nscheduler = {{ policy = \"fcfs\" }}\nrun = {{ duration = \"1s\" }}\n\
                 workload = [{{ name = \"scan\", kind = \"closed\", depth = 1, size = \"4KiB\" }}]"
            );
            let case = experiment::parse("halfturn scan", &text, &[], None)?.remove(0);
            OpenScan::of_device(device, &case.experiment.drive, unit)?
        }
    };
    let bytes = scan.bytes;
    let mut outputs = Outputs::new(arguments, &mut scan)?;
    for note in &scan.notes {
        eprintln!("note: {note}");
    }
    match scan.run(arguments.time_scale, &mut outputs) {
        Ok(_) => {}
        Err(ScanFailure::Device(error)) => return Err(VerbFailure::Undone(error)),
        Err(ScanFailure::Sink(error)) => return Err(outputs.failure(error)),
    }
    let (streams, lost, first) = (outputs.stream.is_some(), outputs.lost, outputs.first);
    outputs.keep(bytes)?;
    if let Some(first) = first {
        let what = format!("{lost} bytes cannot be read, the first at {first}; all others were");
        let mend = "see the list of hashes or the records for which, and replace the drive";
        return Err(VerbFailure::Undone(BadInput::new(device.clone(), At::File, what, mend)));
    }
    if streams { Ok(()) } else { print(&format!("{device}: all {} were read\n", show_bytes(bytes as f64))) }
}

fn uri(text: &str) -> Result<Uri, BadInput> {
    text.parse().map_err(|bad: BadUri| BadInput::new(text, At::File, bad.what, bad.mend))
}

/// Bytes as lower-case hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
