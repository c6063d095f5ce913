//! Recording a run, and having it again.

use crate::log::{LogHead, LogReader, LogRecord, LogWriter};
use crate::make;
use block::{At, BadInput, Time};
use load::experiment;
use sched::{Action, Input, World};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Bytes that are handed to the writer at once, and how often that may wait for a slow disk.
const BLOCK: usize = 64 << 10;
const BLOCKS: usize = 256;

/// A world of which is written down what happens to the core, and what that decides.
pub struct RunRecorder<'a, W> {
    world: &'a mut W,
    writer: LogWriter,
    blocks: SyncSender<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl<'a, W: World> RunRecorder<'a, W> {
    /// Writes down what happens in a world, in a file that is empty.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn new(world: &'a mut W, head: &LogHead, mut file: File) -> io::Result<RunRecorder<'a, W>> {
        let (blocks, filled) = sync_channel::<Vec<u8>>(BLOCKS);
        let write = move || filled.iter().try_for_each(|block| file.write_all(&block));
        let thread = std::thread::Builder::new().name("recorder".into()).spawn(write)?;
        Ok(RunRecorder { world, writer: LogWriter::new(head), blocks, thread })
    }

    /// Ends the log.
    ///
    /// # Errors
    /// When not all of it could be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.end();
        self.hand_on();
        drop(self.blocks);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that wrote it is gone")))
    }

    fn hand_on(&mut self) {
        // Where writing failed, `finish` says why.
        let _ = self.blocks.send(self.writer.take());
    }
}

impl<W: World> World for RunRecorder<'_, W> {
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        let (now, input) = self.world.next(wake, room)?;
        if self.writer.len() >= BLOCK {
            self.hand_on();
        }
        self.writer.input(now, &input);
        Some((now, input))
    }

    fn act(&mut self, now: Time, action: Action) {
        self.writer.action(&action);
        self.world.act(now, action);
    }
}

/// What came of having a run again.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayReport {
    /// What happened to the core, and what it decided then.
    pub inputs: u64,
    /// How many of the inputs are requests.
    pub requests: u64,
    /// How many actions the core decided on.
    pub actions: u64,
    /// How long the run was.
    pub until: Time,
    /// Whether the log tells of the end of the run; else it was cut off, and what is missing is not known.
    pub whole: bool,
    /// The first input after which it now decided otherwise, counted from 1, and what: then and now.
    pub differs: Option<Difference>,
}

/// Where two runs differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// After this input, counted from 1, and what it was.
    pub input: (u64, Time, Input),
    /// What the core decided then.
    pub then: Vec<Action>,
    /// What it decides now.
    pub now: Vec<Action>,
}

/// Has a run again: the same core, fed with the same inputs.
///
/// # Errors
/// When the log cannot be read, or the core cannot be made of what it says.
pub fn replay(path: &Path) -> Result<ReplayReport, BadInput> {
    let unread = |error: io::Error| {
        let what = format!("cannot be read: {error}");
        BadInput::new(path.display().to_string(), At::File, what, "give a file that `halfturn serve --record` wrote")
    };
    let bytes = std::fs::read(path).map_err(unread)?;
    let (head, mut log) = LogReader::new(path, &bytes)?;
    let experiment = experiment::parse_service(&head.name, &head.text, &head.sets)?;
    let mut core = make::core(&experiment, &head.caps, &mut Vec::new())?;
    let mut replayed =
        ReplayReport { inputs: 0, requests: 0, actions: 0, until: Time::ZERO, whole: false, differs: None };
    let (mut now, mut then) = (Vec::new(), Vec::new());
    let mut next = log.read()?;
    while let Some(LogRecord::Input(at, input)) = next {
        replayed.inputs += 1;
        replayed.requests += u64::from(matches!(input, Input::Submit(_)));
        replayed.until = at;
        if matches!(input, Input::Submit(_)) && core.room() == 0 {
            let what = "a request for which this core has no room";
            return Err(BadInput::new(path.display().to_string(), At::Record(replayed.inputs), what, "record it anew"));
        }
        core.handle(at, input, &mut now);
        now.retain(LogWriter::keeps);
        next = log.read()?;
        while let Some(LogRecord::Action(action)) = next {
            then.push(action);
            next = log.read()?;
        }
        // Of the last input of a log that was cut off, some actions may be missing.
        let same = if next.is_none() { now.starts_with(&then) } else { now == then };
        if !same {
            let input = (replayed.inputs, at, input);
            replayed.differs = Some(Difference { input, then, now });
            return Ok(replayed);
        }
        replayed.actions += now.len() as u64;
        now.clear();
        then.clear();
    }
    replayed.whole = log.is_whole();
    Ok(replayed)
}
