//! Recording a run, and having it again.

use crate::log::{LogHead, LogReader, LogRecord, LogWriter};
use crate::make;
use block::{At, BadInput, Time};
use load::experiment;
use sched::{Action, Input, World};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Bytes that are written at once, where there are as many, and how many may wait for a slow disk.
const BLOCK: usize = 64 << 10;
const MOST: usize = 256 * BLOCK;
/// After so long at the latest what there is is written: so much of a run that is killed is lost.
const SOON: Duration = Duration::from_millis(500);

/// A world of which is written down what happens to the core, and what that decides.
pub struct RunRecorder<'a, W> {
    world: &'a mut W,
    shared: Arc<RecordQueue>,
    thread: JoinHandle<io::Result<()>>,
}

/// What the world and the thread that writes have in common.
struct RecordQueue {
    waiting: Mutex<QueuedRecords>,
    /// There is a block to write, or no more to come.
    filled: Condvar,
    /// There is room again.
    taken: Condvar,
}

/// What waits to be written.
struct QueuedRecords {
    writer: LogWriter,
    stage: RecordStage,
}

/// How far a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordStage {
    GoesOn,
    /// There will be no more.
    Ends,
    /// It cannot be written: what comes is dropped.
    Failed,
}

impl RecordQueue {
    fn waiting(&self) -> MutexGuard<'_, QueuedRecords> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what waits into a file, until there is no more to come.
    fn write(&self, file: &mut impl Write) -> io::Result<()> {
        loop {
            let little =
                |waiting: &mut QueuedRecords| waiting.writer.len() < BLOCK && waiting.stage == RecordStage::GoesOn;
            let waited = self.filled.wait_timeout_while(self.waiting(), SOON, little);
            let (mut waiting, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let (bytes, stage) = (waiting.writer.take(), waiting.stage);
            drop(waiting);
            self.taken.notify_one();
            let written = file.write_all(&bytes);
            if written.is_err() {
                self.waiting().stage = RecordStage::Failed;
                self.taken.notify_one();
            }
            if written.is_err() || stage != RecordStage::GoesOn {
                return written;
            }
        }
    }

    /// Adds a record to what waits to be written; where too much does, once some of it has been.
    fn add_record(&self, record: impl FnOnce(&mut LogWriter)) {
        let mut waiting = self.waiting();
        if waiting.writer.len() >= MOST {
            let full =
                |waiting: &mut QueuedRecords| waiting.writer.len() >= MOST && waiting.stage == RecordStage::GoesOn;
            waiting = self.taken.wait_while(waiting, full).unwrap_or_else(PoisonError::into_inner);
        }
        if waiting.stage == RecordStage::GoesOn {
            let before = waiting.writer.len();
            record(&mut waiting.writer);
            // Who writes looks for more before it waits again: to wake it once for a block is enough.
            if before < BLOCK && waiting.writer.len() >= BLOCK {
                self.filled.notify_one();
            }
        }
    }
}

impl<'a, W: World> RunRecorder<'a, W> {
    /// Writes down what happens in a world, in a file that is empty.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub fn new(world: &'a mut W, head: &LogHead, mut file: File) -> io::Result<RunRecorder<'a, W>> {
        let waiting = QueuedRecords { writer: LogWriter::new(head), stage: RecordStage::GoesOn };
        let shared =
            Arc::new(RecordQueue { waiting: Mutex::new(waiting), filled: Condvar::new(), taken: Condvar::new() });
        let theirs = Arc::clone(&shared);
        let write = move || theirs.write(&mut file);
        let thread = std::thread::Builder::new().name("recorder".into()).spawn(write)?;
        Ok(RunRecorder { world, shared, thread })
    }

    /// Ends the log.
    ///
    /// # Errors
    /// When not all of it could be written.
    pub fn finish(self) -> io::Result<()> {
        self.shared.add_record(LogWriter::end);
        let mut waiting = self.shared.waiting();
        if waiting.stage == RecordStage::GoesOn {
            waiting.stage = RecordStage::Ends;
        }
        drop(waiting);
        self.shared.filled.notify_one();
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that wrote it is gone")))
    }
}

impl<W: World> World for RunRecorder<'_, W> {
    fn next(&mut self, wake: Option<Time>, room: u32) -> Option<(Time, Input)> {
        let (now, input) = self.world.next(wake, room)?;
        self.shared.add_record(|writer| writer.input(now, &input));
        Some((now, input))
    }

    fn act(&mut self, now: Time, action: Action) {
        self.shared.add_record(|writer| writer.action(&action));
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::Instant;

    /// A world in which one thing happens, and nothing more until that is in the file.
    struct Quiet {
        path: PathBuf,
        happened: bool,
    }

    impl Quiet {
        fn read(&self) -> Option<LogRecord> {
            let bytes = std::fs::read(&self.path).expect("a file");
            LogReader::new(&self.path, &bytes).ok()?.1.read().expect("a whole record")
        }
    }

    impl World for Quiet {
        fn next(&mut self, _: Option<Time>, _: u32) -> Option<(Time, Input)> {
            if !std::mem::replace(&mut self.happened, true) {
                return Some((Time(7), Input::Wake));
            }
            let since = Instant::now();
            while self.read().is_none() {
                assert!(since.elapsed() < Duration::from_secs(20), "it is not written");
                std::thread::sleep(Duration::from_millis(20));
            }
            None
        }

        fn act(&mut self, _: Time, _: Action) {}
    }

    #[test]
    fn what_happened_is_soon_in_the_file_though_nothing_follows() {
        let path = std::env::temp_dir().join(format!("halfturn-recorder-{}", std::process::id()));
        let file = File::create(&path).expect("a file");
        let mut world = Quiet { path: path.clone(), happened: false };
        let caps = vec![block::Caps { blocks: 8, depth: 1, seek: block::SeekBy::Nothing, arms: 1 }];
        let head = LogHead { name: "a.toml".into(), text: String::new(), sets: Vec::new(), caps };
        let mut recorder = RunRecorder::new(&mut world, &head, file).expect("a thread");
        assert!(recorder.next(None, 1).is_some() && recorder.next(None, 1).is_none());
        recorder.finish().expect("it is written");
        assert_eq!(world.read(), Some(LogRecord::Input(Time(7), Input::Wake)));
        std::fs::remove_file(&path).expect("its file");
    }
}
