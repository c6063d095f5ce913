//! The records of a trace: those of the device wanted, made to fit the drive.

use super::kind::{Manual, Recipe};
use super::pace::{self, Pace};
use super::replay::{self, RecordSource};
use super::{Draft, Workload};
use crate::draw::Draw;
use crate::fit::{Fitting, Footprint};
use block::{At, BadInput};
use config::{NamedBy, Section, Word, Words};
use std::path::{Path, PathBuf};
use trace::{ColumnMap, TraceDevice, TraceRecord, TraceReader};

config::keys! {
    /// The trace: a file, plain or compressed.
    FILE: String = text("file").naming(NamedBy::File).required();
    /// The format of the trace.
    FORMAT: &'static str =
        one_of("format", || trace::formats().map(|format| (format.name(), format.title())).collect()).else_told("recognized by the content");
    /// Which column of a table of requests, in text or in Parquet, is what: `time_us=Timestamp,op=IOType,offset=Offset,size=Bytes`,
    /// by the names that columns of `csv` have and those of the file, or their numbers from 1.
    COLUMNS: String = text("columns").else_told("as the format has them");
    /// The device of the trace whose requests are replayed, or `all`.
    DEVICE: String = named("device").else_told("the only one there is");
    /// So many of its requests, from the first on, are left out.
    SKIP: u64 = whole("skip", 0, u64::MAX).usually("0");
    /// So many are replayed, and no more.
    TAKE: u64 = whole("take", 1, u64::MAX).else_told("all that are left");
    /// What becomes of addresses past the end of the drive.
    pub(super) FIT: Fit = word("fit").usually("error");
}

/// Which trace, and how it is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceChoice {
    /// The file; a relative path is relative to the folder of the experiment.
    pub file: PathBuf,
    /// Its format, where it is not to be guessed.
    pub format: Option<trace::Format>,
    /// Which column is what, of a table whose columns have names of their own.
    pub columns: Option<ColumnMap>,
    /// Which of the devices in the trace, by name or `all`; without one, the only one there is.
    pub device: Option<String>,
    /// How many of its first requests are left out.
    pub skip: u64,
    /// How many are replayed at most.
    pub take: Option<u64>,
    /// What becomes of addresses past the end of the drive.
    pub fit: Fit,
    /// When its requests arrive.
    pub pace: Pace,
}

/// What is to be done about a mapping that says nothing.
const MAP_MEND: &str = "write WHAT=COLUMN for time, op, offset and size, such as time_us=Timestamp,op=2,lbn=3,blocks=Count";

/// What becomes of a request past the end of the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// It is an error.
    #[default]
    Error,
    /// All addresses shrink in proportion.
    Scale,
    /// Its address is taken modulo the capacity.
    Wrap,
    /// The parts of the device that the trace touches are moved together.
    Compact,
}

impl Words for Fit {
    const WORDS: &'static [Word<Fit>] = &[
        Word::new("error", Fit::Error, "the run ends with an error"),
        Word::new("scale", Fit::Scale, "all addresses shrink in proportion"),
        Word::new("wrap", Fit::Wrap, "addresses are taken modulo the capacity of the drive"),
        Word::new("compact", Fit::Compact, "the parts of the device that the trace touches are moved together"),
    ];
}

/// How long requests of recorded systems often are at most: 128 KiB.
pub(super) const OFTEN: u32 = 256;

impl Recipe for TraceChoice {
    const MANUALS: &'static [Manual] = &[Manual {
        name: "trace",
        text: "The requests that a trace recorded, at their recorded times or as fast as they are answered.",
        keys: &[
            FILE.about,
            FORMAT.about,
            COLUMNS.about,
            DEVICE.about,
            SKIP.about,
            TAKE.about,
            FIT.about,
            pace::REPLAY.about,
            pace::DEPTH.about,
            pace::TIME_SCALE.about,
        ],
        only: pace::ONLY,
        example: "kind = \"trace\"\nfile = \"web.csv.gz\"\nfit = \"scale\"",
        processes: false,
    }];

    fn read(_: &str, section: &Section, folder: &Path) -> Result<TraceChoice, BadInput> {
        let pace = Pace::read(section)?;
        let columns = section.get(&COLUMNS)?.map(|text| text.parse::<ColumnMap>()).transpose();
        let columns = columns.map_err(|what| section.error("columns", what, MAP_MEND))?;
        if columns.is_some() && section.get(&FORMAT)?.is_some_and(|format| !["csv", "parquet"].contains(&format)) {
            let what = "only tables have columns that can be named: csv and parquet";
            return Err(section.error("columns", what, "leave out `format`, or `columns`"));
        }
        Ok(TraceChoice {
            file: folder.join(section.value(&FILE)?),
            format: section.get(&FORMAT)?.and_then(|name| name.parse().ok()),
            columns,
            device: section.get(&DEVICE)?,
            skip: section.value(&SKIP)?,
            take: section.get(&TAKE)?,
            fit: section.value(&FIT)?,
            pace,
        })
    }

    fn build(&self, _: &str, blocks: u64, _: Draw) -> Result<Box<dyn Workload>, BadInput> {
        Ok(Box::new(replay::Replay::new(Recorded::open(self, blocks)?, &self.pace)?))
    }

    fn longest(&self) -> u32 {
        OFTEN
    }

    fn is_endless(&self) -> bool {
        false
    }

    fn is_open(&self) -> bool {
        self.pace.is_open()
    }

    fn files(&self) -> Vec<PathBuf> {
        trace::files(&self.file)
    }
}

/// Records looked at before a replay begins, to see whether the trace has several devices.
const LOOKED_AT: usize = 10_000;

/// A trace being read.
struct Recorded {
    file: String,
    trace: TraceReader,
    device: Wanted,
    fitting: Fitting,
    capacity: u64,
    other_devices: u64,
    /// How many requests are still to be replayed.
    left: u64,
}

/// Which device's requests are replayed.
enum Wanted {
    /// Those of the only one there is.
    Only(Option<TraceDevice>),
    /// The records of all devices.
    All,
    /// Those of the one with this name.
    Named(String),
}

impl Recorded {
    fn open(choice: &TraceChoice, capacity: u64) -> Result<Recorded, BadInput> {
        let file = choice.file.display().to_string();
        let device = match choice.device.as_deref() {
            Some("all") => Wanted::All,
            Some(name) => Wanted::Named(name.into()),
            None => Wanted::Only(None),
        };
        let trace = reopen(choice)?;
        let left = choice.take.unwrap_or(u64::MAX);
        let mut recorded = Recorded { file, trace, device, fitting: Fitting::AsIs, capacity, other_devices: 0, left };
        // Addresses are fitted as those of the whole trace, whatever part of it is replayed.
        recorded.look_ahead(choice)?;
        recorded.trace = reopen(choice)?;
        recorded.other_devices = 0;
        for skipped in 0..choice.skip {
            if recorded.read()?.is_none() {
                let what = format!("all of its {skipped} requests are skipped");
                return Err(recorded.error(&what, "give a smaller `skip`"));
            }
        }
        Ok(recorded)
    }

    /// A first pass: over the whole trace where its addresses must be known, else over its beginning.
    fn look_ahead(&mut self, choice: &TraceChoice) -> Result<(), BadInput> {
        let mut footprint = Footprint::default();
        let whole = matches!(choice.fit, Fit::Scale | Fit::Compact);
        let most = if whole { usize::MAX } else { LOOKED_AT };
        let mut found = false;
        for _ in 0..most {
            let Some(record) = self.read()? else { break };
            found = true;
            if whole {
                footprint.add(record.at).map_err(|what| self.error(&what, "check the format of the trace"))?;
            }
        }
        if !found {
            let devices = self.trace.devices().join(", ");
            let mend =
                if devices.is_empty() { "use another trace".into() } else { format!("its devices are {devices}") };
            return Err(self.error("there are no requests to replay", &mend));
        }
        self.fitting = Fitting::new(choice.fit, footprint, self.capacity)
            .map_err(|what| self.error(&what, "use a larger drive, or fit = \"wrap\""))?;
        Ok(())
    }

    /// The next record of the device that is replayed.
    fn read(&mut self) -> Result<Option<TraceRecord>, BadInput> {
        while let Some(record) = self.trace.next() {
            let record = record?;
            let wanted = match &mut self.device {
                Wanted::All => true,
                Wanted::Named(name) => self.trace.devices().get(record.device.0 as usize) == Some(name),
                Wanted::Only(first) => *first.get_or_insert(record.device) == record.device,
            };
            if wanted {
                return Ok(Some(record));
            }
            self.other_devices += 1;
            if let Wanted::Only(_) = self.device {
                let devices = self.trace.devices().join(", ");
                let what = format!("the trace has several devices: {devices}");
                return Err(
                    self.error(&what, "choose one with device = \"NAME\", or replay them as one with device = \"all\"")
                );
            }
        }
        Ok(None)
    }

    /// What a record asks of the drive.
    fn draft(&self, record: TraceRecord) -> Result<Draft, BadInput> {
        let at = self.fitting.map(record.at);
        if at.end().0 > self.capacity {
            let what = format!(
                "request {} ends at block {}, beyond the {} blocks of the drive",
                self.trace.counts().requests,
                record.at.end().0,
                self.capacity
            );
            let mend = "use a larger drive, or fit = \"scale\", \"wrap\" or \"compact\"";
            return Err(self.error(&what, mend));
        }
        Ok(Draft { arrives: record.time, op: record.op, at })
    }

    fn error(&self, what: &str, mend: &str) -> BadInput {
        BadInput::new(&self.file, At::File, what, mend)
    }
}

fn reopen(choice: &TraceChoice) -> Result<TraceReader, BadInput> {
    match &choice.columns {
        Some(columns) => trace::open_mapped(&choice.file, columns),
        None => trace::open(&choice.file, choice.format),
    }
}

impl RecordSource for Recorded {
    fn next(&mut self) -> Result<Option<Draft>, BadInput> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.read()?.map(|record| self.draft(record)).transpose()
    }

    fn name(&self) -> &str {
        &self.file
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.trace.counts().notes();
        if self.other_devices > 0 {
            notes.push(format!("{} requests to other devices left out", self.other_devices));
        }
        notes
    }
}
