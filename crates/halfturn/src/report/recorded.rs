//! The account of a recorded machine: where its processors' time went, by process, and how much its requests mattered.

use super::number;
use super::table::{Edge, table};
use block::{Span, Time};
use flow::recorded::{MachineAccount, RecordedDevice, RecordedTask, ReplayOutcome};
use serde::Serialize;

/// Processes shown in the table, at most; those that computed most.
const TASKS: usize = 12;

/// What is told of a recorded machine. Units are in the names; times are of all processors together.
#[derive(Serialize)]
pub struct RecordedReport {
    schema: u32,
    file: String,
    format: &'static str,
    events: u64,
    lost_events: u64,
    steps_back: u64,
    processors: usize,
    length_ms: f64,
    busy_ms: f64,
    interrupts_ms: f64,
    false_idle_ms: f64,
    idle_ms: f64,
    switches: u64,
    processes: Vec<ProcessJson>,
    devices: Vec<RequestsJson>,
    replay: Option<ReplayedJson>,
}

/// A replay with the response times recorded of the device with the most requests.
#[derive(Serialize)]
struct ReplayedJson {
    device: String,
    recorded_ms: f64,
    replayed_ms: f64,
    requests: usize,
    in_order: usize,
    /// The same where each processor has the processes that it had, one after the other; and by how much a request or a sleep of a
    /// process was off at most.
    as_dispatched: DispatchedJson,
}

#[derive(Serialize)]
struct DispatchedJson {
    replayed_ms: f64,
    in_order: usize,
    sleeps: usize,
    slept: usize,
    farthest_ms: f64,
}

#[derive(Serialize)]
struct ProcessJson {
    pid: u32,
    name: String,
    busy_ms: f64,
    blocked_ms: f64,
    waits_for_io: u64,
    waited_for_io_ms: f64,
}

#[derive(Serialize)]
struct RequestsJson {
    device: String,
    critical: u64,
    limited_in_time: u64,
    limited_late: u64,
    noncritical: u64,
    access_ms: f64,
    slept_ms: f64,
    late_limit_ms: f64,
    unended: u64,
    unbegun: u64,
}

impl RecordedReport {
    /// What is told of this recording, and of a replay of one device.
    pub fn new(file: &str, it: &MachineAccount, replay: Option<((u32, u32), [ReplayOutcome; 2])>) -> RecordedReport {
        RecordedReport {
            schema: 1,
            file: file.into(),
            format: "ftrace",
            events: it.events,
            lost_events: it.lost,
            steps_back: it.steps_back,
            processors: it.cpus,
            length_ms: it.length.as_ms(),
            busy_ms: it.busy.as_ms(),
            interrupts_ms: it.interrupts.as_ms(),
            false_idle_ms: it.false_idle.as_ms(),
            idle_ms: it.idle.as_ms(),
            switches: it.switches,
            processes: it.tasks.iter().map(process).collect(),
            devices: it.devices.iter().map(requests).collect(),
            replay: replay.map(|(device, [exact, it])| ReplayedJson {
                device: name(device),
                recorded_ms: it.recorded.since(Time::ZERO).as_ms(),
                replayed_ms: it.replayed.since(Time::ZERO).as_ms(),
                requests: it.requests,
                in_order: it.in_order,
                as_dispatched: DispatchedJson {
                    replayed_ms: exact.replayed.since(Time::ZERO).as_ms(),
                    in_order: exact.in_order,
                    sleeps: exact.sleeps,
                    slept: exact.slept,
                    farthest_ms: exact.farthest.as_ms(),
                },
            }),
        }
    }

    /// The table as it is printed.
    pub fn text(&self) -> String {
        let all = self.busy_ms + self.interrupts_ms + self.false_idle_ms + self.idle_ms;
        let share = |part: f64| number::percent(if all > 0.0 { part / all } else { 0.0 });
        let mut text = format!(
            " {}\n\n {} events of a Linux machine with {} processors in {} s, {} switches\n\n",
            self.file,
            number::count(self.events),
            self.processors,
            number::with_decimals(self.length_ms / 1e3, 3),
            number::count(self.switches),
        );
        text += &format!(
            " processors' time: processes {}, interrupts {}, idle while somebody was blocked {}, idle {}\n\n",
            share(self.busy_ms),
            share(self.interrupts_ms),
            share(self.false_idle_ms),
            share(self.idle_ms),
        );
        text += &self.processes();
        text.push('\n');
        text += &self.requests();
        if let Some(it) = &self.replay {
            let exact = &it.as_dispatched;
            let ms = |ms: f64| number::with_decimals(ms, 1);
            text += &format!(
                "\n replayed with the response times of {}, {} ms recorded until the last process ends:\n  each processor given to \
                 processes as recorded: {} ms; {} of {} requests in the recorded order, {} of {} sleeps, none more than {} ms \
                 off\n  by the model's dispatcher: {} ms; {} of {} requests in the recorded order\n",
                it.device,
                ms(it.recorded_ms),
                ms(exact.replayed_ms),
                number::count(exact.in_order as u64),
                number::count(it.requests as u64),
                number::count(exact.slept as u64),
                number::count(exact.sleeps as u64),
                number::with_decimals(exact.farthest_ms, 3),
                ms(it.replayed_ms),
                number::count(it.in_order as u64),
                number::count(it.requests as u64)
            );
        }
        for (count, what) in [
            (self.lost_events, "events were lost: the account lacks what they tell"),
            (self.steps_back, "lines whose time went back, taken as of the line above"),
        ] {
            if count > 0 {
                text += &format!(" {}: {} {what}\n", self.file, number::count(count));
            }
        }
        text
    }

    fn processes(&self) -> String {
        let heads = heads(&["process", "pid"], &["computing\nms", "blocked\nms", "waits\nfor I/O", "they took\nms"]);
        let row = |it: &ProcessJson| {
            vec![
                it.name.clone(),
                it.pid.to_string(),
                number::with_decimals(it.busy_ms, 1),
                number::with_decimals(it.blocked_ms, 1),
                number::count(it.waits_for_io),
                number::with_decimals(it.waited_for_io_ms, 1),
            ]
        };
        let mut text = table(&heads, &self.processes.iter().take(TASKS).map(row).collect::<Vec<_>>());
        let rest = self.processes.get(TASKS..).unwrap_or_default();
        if !rest.is_empty() {
            let busy = number::with_decimals(rest.iter().map(|it| it.busy_ms).sum(), 1);
            text += &format!(" and {} more, computing {busy} ms\n", rest.len());
        }
        text
    }

    fn requests(&self) -> String {
        let figures =
            ["critical", "limited,\nin time", "limited,\nlate", "non-\ncritical", "access\nms", "slept on\nms"];
        let mut text = String::new();
        let row = |it: &RequestsJson| {
            vec![
                it.device.clone(),
                number::count(it.critical),
                number::count(it.limited_in_time),
                number::count(it.limited_late),
                number::count(it.noncritical),
                number::with_decimals(it.access_ms, 3),
                number::with_decimals(it.slept_ms, 1),
            ]
        };
        text += &table(&heads(&["device"], &figures), &self.devices.iter().map(row).collect::<Vec<_>>());
        text += "\n critical: somebody slept on it; limited: read-ahead, late if somebody slept on it; access: mean\n";
        for it in &self.devices {
            for (count, what) in [(it.unended, "not ended at the end"), (it.unbegun, "ended without an issue")] {
                if count > 0 {
                    text += &format!(" {}: {} requests {what}\n", it.device, number::count(count));
                }
            }
        }
        text
    }
}

fn heads(names: &[&str], figures: &[&str]) -> Vec<(String, Edge)> {
    let names = names.iter().map(|name| ((*name).to_owned(), Edge::Left));
    names.chain(figures.iter().map(|figure| ((*figure).to_owned(), Edge::Right))).collect()
}

/// A device by its major and minor number.
fn name((major, minor): (u32, u32)) -> String {
    format!("{major},{minor}")
}

fn process(it: &RecordedTask) -> ProcessJson {
    ProcessJson {
        pid: it.pid,
        name: it.name.clone(),
        busy_ms: it.busy.as_ms(),
        blocked_ms: it.blocked.as_ms(),
        waits_for_io: it.waits,
        waited_for_io_ms: it.waited.as_ms(),
    }
}

fn requests(it: &RecordedDevice) -> RequestsJson {
    let mean = |sum: Span, count: u64| if count == 0 { 0.0 } else { sum.as_ms() / count as f64 };
    let ended = it.critical + it.in_time + it.late + it.noncritical;
    RequestsJson {
        device: name(it.name),
        critical: it.critical,
        limited_in_time: it.in_time,
        limited_late: it.late,
        noncritical: it.noncritical,
        access_ms: mean(it.access, ended),
        slept_ms: it.slept.as_ms(),
        late_limit_ms: mean(it.limits, it.late),
        unended: it.unended,
        unbegun: it.unbegun,
    }
}
