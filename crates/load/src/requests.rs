//! The record of each request of a run: what was asked, when, what its time went to and what it waited for.
//!
//! [`COLUMNS`] is the one definition of a record: its names, units and meanings, in the order in which every writer gives them.
//! Times are whole nanoseconds since the run began. Of every record, the waits and the parts add up to `end_ns` − `arrival_ns`.

#[cfg(feature = "arrow")]
mod batch;
#[cfg(feature = "parquet")]
mod file;
mod ledger;

#[cfg(feature = "arrow")]
pub use arrow_array::RecordBatch;
#[cfg(feature = "arrow")]
pub use batch::{BATCH_ROWS, BatchSchema, Batcher};
#[cfg(feature = "parquet")]
pub use file::{BatchFile, BatchFormat, BatchStream};
pub use ledger::Ledger;

use crate::experiment::{Case, DriveChoice, Experiment, Live};
use block::{BadInput, DiskId, Ending, Extent, Op, Qos, Span, Time};
use sched::Wait;
use std::io::{self, Write};
use std::path::Path;

/// Kinds of what a command's time is spent on: those that a drive tells apart, in its order, and `device`.
pub const PARTS: usize = 10;

/// The last of the parts: what a device does not tell apart.
pub const DEVICE: usize = PARTS - 1;

/// What a request was, and what became of it.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// What was varied in a sweep, and its value.
    pub case: &'a str,
    /// The replication, from 1.
    pub replication: u32,
    /// Its number among those of its run, from 1, in the order in which they were submitted.
    pub request: u64,
    /// The device it was asked of.
    pub device: &'a str,
    /// The service class it belongs to.
    pub class: &'a str,
    /// What it was promised.
    pub qos: Qos,
    /// Whether it read or wrote.
    pub op: Op,
    /// The blocks it asked for.
    pub at: Extent,
    /// How it ended; nothing where it was outstanding when the run was given up.
    pub ending: Option<Ending>,
    /// Whether the results count it.
    pub counted: bool,
    /// When it came, its turn came, and it ended.
    pub arrival: Time,
    /// When its turn came.
    pub start: Time,
    /// The time of its end.
    pub end: Time,
    /// Commands issued for it.
    pub commands: u64,
    /// Time without a command of it in flight, by what it waited for.
    pub waits: [Span; Wait::KINDS],
    /// Time with a command of it in flight, by what the device spent it on.
    pub parts: [Span; PARTS],
}

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnValue<'a> {
    /// A number without fraction.
    Number(u64),
    /// A word without commas or quotes.
    Word(&'a str),
}

/// A column of the record.
pub struct Column {
    /// Its name, which ends in its unit where it has one.
    pub name: &'static str,
    /// What it says, in a line.
    pub about: &'static str,
    /// What stands in it.
    pub value: for<'a> fn(&'a Record<'a>) -> ColumnValue<'a>,
}

const fn column(
    name: &'static str,
    about: &'static str,
    value: for<'a> fn(&'a Record<'a>) -> ColumnValue<'a>,
) -> Column {
    Column { name, about, value }
}

/// All columns, in their order.
pub const COLUMNS: [Column; 29] = [
    column("case", "the values of what was varied, `key=value` with `; ` between", |it| ColumnValue::Word(it.case)),
    column("replication", "which replication, from 1", |it| ColumnValue::Number(it.replication.into())),
    column("request", "its number in the order of submission, from 1", |it| ColumnValue::Number(it.request)),
    column("device", "the device as the user sees it: the drive, or the array as a whole", |it| {
        ColumnValue::Word(it.device)
    }),
    column("class", "its service class", |it| ColumnValue::Word(it.class)),
    column("op", "`read`, `write`, `write-fua` (on the medium), `flush` or `repair`", |it| {
        ColumnValue::Word(op(it.op))
    }),
    column("block", "its first block, of 512 bytes", |it| ColumnValue::Number(it.at.start.0)),
    column("blocks", "how many blocks", |it| ColumnValue::Number(it.at.blocks.into())),
    column(
        "ending",
        "`finished`, `failed`, `dropped` (at its deadline), or `outstanding` (when the run was given up)",
        |it| ColumnValue::Word(ending(it.ending)),
    ),
    column(
        "counted",
        "1 if the results count it, 0 if not: it came in the warm-up, or after the last that counts",
        |it| ColumnValue::Number(it.counted.into()),
    ),
    column("arrival_ns", "when it arrived", |it| ColumnValue::Number(it.arrival.0)),
    column(
        "start_ns",
        "when its turn came: its first command, but for the slack before; its end if it had none",
        |it| ColumnValue::Number(it.start.0),
    ),
    column("end_ns", "when it ended", |it| ColumnValue::Number(it.end.0)),
    column("commands", "drive commands issued for it", |it| ColumnValue::Number(it.commands)),
    column("wait_admission_ns", "waiting for room in the scheduler's bounded queue or an array's write buffer", |it| {
        wait_value(it, Wait::Admission)
    }),
    column("wait_overlap_ns", "held until an earlier request that it overlaps had ended", |it| {
        wait_value(it, Wait::Overlap)
    }),
    column("wait_queue_ns", "waiting in the scheduler's queue", |it| wait_value(it, Wait::Queue)),
    column("wait_slack_ns", "its turn had come, its just-in-time seek was put off", |it| wait_value(it, Wait::Slack)),
    column("wait_preempted_ns", "interrupted by another request", |it| wait_value(it, Wait::Preempted)),
    column("queued_ns", "in the drive's own queue", |it| part(it, 0)),
    column("overhead_ns", "command overhead", |it| part(it, 1)),
    column("external_ns", "waiting for the arm while it did the drive's own work: read-ahead, write-back", |it| {
        part(it, 2)
    }),
    column("seek_ns", "seeking", |it| part(it, 3)),
    column("switch_ns", "switching heads, and crossing to following tracks", |it| part(it, 4)),
    column("settle_ns", "settling before a write", |it| part(it, 5)),
    column("rotation_ns", "rotational delay", |it| part(it, 6)),
    column("transfer_ns", "blocks passing under the head", |it| part(it, 7)),
    column("bus_ns", "waiting for the host's bus", |it| part(it, 8)),
    column("device_ns", "at a device that does not tell its time apart, or whose command had not come back", |it| {
        part(it, DEVICE)
    }),
];

/// The parts of a command that a drive tells apart, in its order.
#[must_use]
pub fn parts(told: impl IntoIterator<Item = (&'static str, Span)>) -> [Span; PARTS] {
    let mut all = [Span::ZERO; PARTS];
    all[..DEVICE].iter_mut().zip(told).for_each(|(all, (_, span))| *all = span);
    all
}

fn wait_value(it: &Record, wait: Wait) -> ColumnValue<'static> {
    ColumnValue::Number(it.waits[wait as usize].0)
}

fn part(it: &Record, part: usize) -> ColumnValue<'static> {
    ColumnValue::Number(it.parts[part].0)
}

fn op(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write { fua: false } => "write",
        Op::Write { fua: true } => "write-fua",
        Op::Discard(_) => "discard",
        Op::Flush => "flush",
        Op::Repair => "repair",
        Op::Move => "move",
    }
}

fn ending(ending: Option<Ending>) -> &'static str {
    match ending {
        Some(Ending::Finished) => "finished",
        Some(Ending::Failed(_)) => "failed",
        Some(Ending::Dropped) => "dropped",
        None => "outstanding",
    }
}

/// A command that came back.
#[derive(Clone, Copy, Debug)]
pub struct CommandNote {
    /// The device that had it.
    pub disk: DiskId,
    /// The class of the request it was for, if it was for one.
    pub class: Option<u8>,
    /// When the device was given it.
    pub issued: Time,
    /// What the device spent its time on.
    pub parts: [Span; PARTS],
}

/// Where records go, in the order in which their requests end.
pub trait Records: Send {
    /// One more.
    ///
    /// # Errors
    /// When it cannot be written.
    fn put(&mut self, record: &Record) -> Result<(), BadInput>;

    /// A device was given a command for a request of a class, or for none.
    fn begin_command(&mut self, _: Time, _: DiskId, _class: Option<u8>) {}

    /// A command that a device was given came back.
    ///
    /// # Errors
    /// When that cannot be written.
    fn end_command(&mut self, _: Time, _: &CommandNote) -> Result<(), BadInput> {
        Ok(())
    }

    /// So many bytes were read for free.
    ///
    /// # Errors
    /// When that cannot be written.
    fn add_free(&mut self, _: Time, _bytes: u64) -> Result<(), BadInput> {
        Ok(())
    }

    /// The run went on until then, whether or not anything happened.
    fn end_run(&mut self, _: Time) {}

    /// There are no more of this run.
    ///
    /// # Errors
    /// When what was put cannot be written.
    fn close(&mut self) -> Result<(), BadInput>;
}

/// The line with the names of the columns.
///
/// # Errors
/// When it cannot be written.
pub fn write_csv_header(out: &mut impl Write) -> io::Result<()> {
    let names = COLUMNS.map(|column| column.name);
    writeln!(out, "{}", names.join(","))
}

/// A record as a line of comma-separated values (RFC 4180, with a line feed).
///
/// # Errors
/// When it cannot be written.
pub fn write_csv(record: &Record, out: &mut impl Write) -> io::Result<()> {
    for (i, column) in COLUMNS.iter().enumerate() {
        if i > 0 {
            out.write_all(b",")?;
        }
        match (column.value)(record) {
            ColumnValue::Number(number) => write!(out, "{number}")?,
            ColumnValue::Word(word) => write_csv_word(word, out)?,
        }
    }
    out.write_all(b"\n")
}

/// A word between commas, in quotes where it needs them.
pub(crate) fn write_csv_word(word: &str, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    match word.contains([',', '"', '\n', '\r']) {
        true => write!(out, "\"{}\"", word.replace('"', "\"\"")),
        false => out.write_all(word.as_bytes()),
    }
}

/// A ledger of a case's replication, from 0 on, at a device.
#[must_use]
pub fn ledger(of: &Case, replication: u32, device: String, out: Box<dyn Records>) -> Box<Ledger> {
    let classes = of.experiment.classes().into_iter().map(str::to_owned).collect();
    Box::new(Ledger::new(label_case(of), replication + 1, device, classes, out))
}

/// A case as its column has it.
pub(crate) fn label_case(case: &Case) -> String {
    let labels: Vec<String> = case.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    labels.join("; ")
}

/// The device of an experiment in virtual time as its users see it: the drive, or the array of such drives.
#[must_use]
pub fn name_simulated_device(experiment: &Experiment) -> String {
    // A file is known by its name, wherever it lies.
    let name = |choice: &DriveChoice| {
        let stem = Path::new(&choice.model).file_stem();
        stem.map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
    };
    let drive = name(&experiment.drive);
    let Some(array) = &experiment.array else { return drive };
    let level = array.level.number();
    let alike = array.members.chunk_by(|a, b| a.model == b.model);
    let runs: Vec<String> = alike.map(|disks| format!("{} x {}", disks.len(), name(&disks[0]))).collect();
    match runs.is_empty() {
        true => format!("RAID {level} of {} x {drive}", array.disks),
        false => format!("RAID {level} of {}", runs.join(", ")),
    }
}

/// The same in real time, where a file or memory may stand for a drive.
#[must_use]
pub fn name_served_device(experiment: &Experiment) -> String {
    match &experiment.drive.live {
        Some(Live::File(path)) => path.display().to_string(),
        Some(Live::Ram(_)) => "ram".into(),
        Some(Live::Emulated(_)) | None => name_simulated_device(experiment),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment;

    const NOTHING: Record = Record {
        case: "",
        replication: 1,
        request: 1,
        device: "atlas10k",
        class: "a",
        qos: Qos { class: 0, priority: 0, deadline: None },
        op: Op::Flush,
        at: Extent::new(0, 0),
        ending: None,
        counted: true,
        arrival: Time(1),
        start: Time(2),
        end: Time(3),
        commands: 0,
        waits: [Span::ZERO; Wait::KINDS],
        parts: [Span::ZERO; PARTS],
    };

    #[test]
    fn names_are_unlike_and_tell_the_unit_and_every_column_is_explained() {
        for (i, column) in COLUMNS.iter().enumerate() {
            assert!(COLUMNS[..i].iter().all(|other| other.name != column.name), "{} is there twice", column.name);
            assert!(!column.about.is_empty() && !column.about.ends_with('.'), "{}: {}", column.name, column.about);
        }
        let times = COLUMNS.iter().filter(|column| column.name.ends_with("_ns")).count();
        assert_eq!(times, 3 + Wait::KINDS + PARTS);
    }

    #[test]
    fn every_wait_and_every_part_has_its_own_column() {
        let mut record = NOTHING;
        let spans = record.waits.iter_mut().chain(&mut record.parts);
        spans.zip(1..).for_each(|(span, ns)| *span = Span(ns));
        let shown = COLUMNS.iter().skip(14).map(|column| (column.value)(&record));
        let wanted = (1..).map(ColumnValue::Number).take(Wait::KINDS + PARTS);
        assert_eq!(shown.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
    }

    #[test]
    fn a_word_with_a_comma_or_a_quote_is_quoted() {
        let mut line = Vec::new();
        write_csv(&Record { case: "a=1,2; b=\"x\"", class: "small reads", ..NOTHING }, &mut line).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert!(line.starts_with("\"a=1,2; b=\"\"x\"\"\",1,1,atlas10k,small reads,flush,0,0,outstanding,1,1,2,3,0,0,"));
        assert!(line.ends_with(",0\n"), "{line}");
    }

    #[test]
    fn a_device_is_a_drive_or_the_array_it_is_in() {
        let of = |drive: &str| {
            let text = format!(
                "{drive}\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 1\n\
                 size = \"4KiB\"\n[run]\nrequests = 9\n"
            );
            name_served_device(&experiment::parse("a.toml", &text, &[], None).expect("an experiment")[0].experiment)
        };
        assert_eq!(of("drive = { model = \"atlas10k\" }"), "atlas10k");
        assert_eq!(of("drive = { model = \"../disk/catalogue/nl20.toml\" }"), "nl20");
        let array = "drive = { model = \"atlas10k\" }\narray = { level = \"0/1\", disks = 4 }";
        assert_eq!(of(array), "RAID 0/1 of 4 x atlas10k");
        assert_eq!(of("drive = { path = \"ram:1MiB\" }"), "ram");
    }
}
