//! A recording of a machine in memory: its events, and what to know of them.

use block::{BadInput, Span, Time};
use std::collections::BTreeMap;
use std::path::Path;
use trace::ftrace::{KernelEvent, KernelEventKind, Recording, SwitchState};

/// A recording that was read.
#[derive(Clone, Debug, Default)]
pub struct LoadedRecording {
    /// The file, as errors name it.
    pub file: String,
    /// What happened, in the order of time.
    pub events: Vec<KernelEvent>,
    /// The names of processes.
    pub names: BTreeMap<u32, String>,
    /// Events that were lost, as the file says.
    pub lost: u64,
    /// Lines whose time lies before that of the line above; they count as of its time.
    pub steps_back: u64,
    /// Switches that were not recorded, and follow from who is on a processor afterwards.
    pub unseen: u64,
    /// The command that was recorded, by its process and in words, where the file says.
    pub command: Option<(u32, String)>,
}

impl LoadedRecording {
    /// Reads a recording.
    ///
    /// # Errors
    /// When it cannot be read, or a line not be understood.
    pub fn read(path: &Path) -> Result<LoadedRecording, BadInput> {
        let mut recording = Recording::open(path)?;
        let mut events = Vec::new();
        while let Some(event) = recording.next_event()? {
            events.push(event);
        }
        let Recording { names, lost, steps_back, command, .. } = recording;
        let (events, unseen) = with_unseen_switches(events);
        Ok(LoadedRecording { file: path.display().to_string(), events, names, lost, steps_back, unseen, command })
    }

    /// From the first event to the last.
    #[must_use]
    pub fn length(&self) -> Span {
        self.events.last().map_or(Span::ZERO, |last| last.at.since(Time::ZERO))
    }

    /// The same with no two events at one instant: those of a text of microseconds that has many, a nanosecond apart in its order.
    pub(super) fn one_by_one(&self) -> LoadedRecording {
        let mut tape = self.clone();
        let mut next = Time::ZERO;
        for event in &mut tape.events {
            event.at = event.at.max(next);
            next = Time(event.at.0 + 1);
        }
        tape
    }

    /// The device with the most requests that ended.
    #[must_use]
    pub fn busiest(&self) -> Option<(u32, u32)> {
        let mut ended = BTreeMap::<(u32, u32), u64>::new();
        for event in &self.events {
            if let KernelEventKind::Complete(io) = event.what {
                *ended.entry(io.device).or_default() += 1;
            }
        }
        ended.into_iter().max_by_key(|(_, count)| *count).map(|(device, _)| device)
    }
}

/// Linux does not show every switch away from an idle processor. Where another task is on a processor than was left there, it
/// came right after the event before, which as a rule is the interrupt that woke it.
fn with_unseen_switches(events: Vec<KernelEvent>) -> (Vec<KernelEvent>, u64) {
    // By processor: who is on it, and after which event of it.
    let mut cpus = BTreeMap::<usize, (u32, usize)>::new();
    let mut unseen = Vec::<(usize, KernelEvent)>::new();
    for (i, event) in events.iter().enumerate() {
        let (task, last) = *cpus.get(&event.cpu).unwrap_or(&(event.task, i));
        if task != event.task {
            let what = KernelEventKind::Switch { from: task, left: SwitchState::Unseen, to: event.task };
            unseen.push((last, KernelEvent { what, task, interrupt: false, ..events[last] }));
        }
        let task = if let KernelEventKind::Switch { to, .. } = event.what { to } else { event.task };
        cpus.insert(event.cpu, (task, i));
    }
    let count = unseen.len() as u64;
    unseen.sort_by_key(|(after, _)| *after);
    let mut unseen = unseen.into_iter().peekable();
    let mut all = Vec::with_capacity(events.len() + count as usize);
    for (i, event) in events.into_iter().enumerate() {
        all.push(event);
        while let Some((_, switch)) = unseen.next_if(|(after, _)| *after == i) {
            all.push(switch);
        }
    }
    (all, count)
}
