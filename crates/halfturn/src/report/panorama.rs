//! What went on in a run for a while, as a chart: a line for each process, each processor and each disk.

use super::chart::{Bar, BarKind, Chart};
use super::number;
use super::page::HtmlPage;
use super::summary::RunsSummary;
use super::timeline;
use block::{Op, Span, Time};
use flow::{Activity, Criticality, Doing, IssuedRequest, Picture, ProcessHistory, ProcessorWork};
use load::experiment::Case;
use sim::Panorama;

/// Processes shown, at most; those that ran or waited most.
const PROCESSES: usize = 20;

const RUNNING: usize = 0;
const READY: usize = 1;
const WAITING: usize = 2;
const ASLEEP: usize = 3;
const COMPUTING: usize = 4;
const SWITCHING: usize = 5;
const INTERRUPT: usize = 6;
const FALSE_IDLE: usize = 7;
const IDLE: usize = 8;
const SERVED: usize = 9;
/// From here on: the parts of commands.
const PARTS: usize = 10;

/// Kinds of bars, but for the parts of commands.
const KINDS: [(&str, &str, &str); PARTS] = [
    ("processes", "running", "#2ca02c"),
    ("processes", "able to run", "#f2c14e"),
    ("processes", "waiting for I/O", "#d62728"),
    ("processes", "asleep", "#eeeeee"),
    ("processors", "computing", "#1f77b4"),
    ("processors", "switching", "#9edae5"),
    ("processors", "interrupt", "#17475e"),
    ("processors", "false idle", "#f7a6a6"),
    ("processors", "idle", "#eeeeee"),
    ("devices", "request", "#7f7f7f"),
];

/// A chart, and what a reader must know of it.
pub struct Pictured {
    chart: Chart,
    notes: Vec<String>,
}

impl Pictured {
    /// Whether the run had ended before.
    pub fn is_empty(&self) -> bool {
        self.chart.from >= self.chart.to
    }

    /// How long the run took, if it is empty.
    pub fn run_length(&self) -> Span {
        self.chart.to.since(Time::ZERO)
    }
}

/// A page with pictures of runs.
pub struct Panoramas<'a> {
    pub title: &'a str,
    /// What comes first, where runs are compared.
    pub summary: Option<&'a RunsSummary<'a>>,
    /// The table as it was printed, for the page to repeat.
    pub text: &'a str,
    /// Each with its heading.
    pub pictures: &'a [(String, Pictured)],
}

impl Panoramas<'_> {
    /// The page as HTML, which opens without a network.
    pub fn page(&self) -> String {
        let mut page = HtmlPage::new(self.title);
        if let Some(summary) = self.summary {
            summary.write(&mut page);
            page.heading("As printed");
        }
        page.text(self.text);
        for (heading, Pictured { chart, notes }) in self.pictures {
            page.heading(heading);
            page.text(&notes.join("\n"));
            page.figure(&chart.figure());
        }
        page.html()
    }
}

/// What went on in a simulated run, and its heading.
pub fn panorama(case: &Case, it: &Panorama) -> (String, Pictured) {
    let labels: Vec<String> = case.labels.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let heading = if labels.is_empty() { "Timeline".to_owned() } else { labels.join(", ") };
    (heading, to_json(it))
}

fn to_json(it: &Panorama) -> Pictured {
    let mut drawing = Drawing::new(it.from, it.to);
    if let Some(machine) = &it.machine {
        drawing.machine(machine);
    }
    for (disk, run) in it.disks.iter().enumerate() {
        let name = if it.disks.len() == 1 { "disk".to_owned() } else { format!("disk {disk}") };
        let made = |number: u32| it.machine.as_ref().and_then(|machine| find(machine, number));
        let pieces = timeline::pieces(run, &|number| made(number).map(matters));
        let [commands, arm] = [false, true].map(|arm| {
            let of_line = pieces.iter().filter(|piece| piece.arm == arm);
            let bars = of_line.map(|piece| (PARTS + piece.place(), piece.from, piece.to, piece.told.clone()));
            bars.collect::<Vec<_>>()
        });
        drawing.line(format!("{name}: commands"), commands);
        drawing.line("arm".into(), arm);
    }
    drawing.finish(it.cut)
}

/// What went on in a recorded machine.
pub fn recorded_picture(it: &Picture) -> Pictured {
    let mut drawing = Drawing::new(it.from, it.to);
    drawing.machine(it);
    for (name, pieces) in &it.devices {
        let told =
            |piece: &Activity<u32>| find(it, piece.what).map_or_else(String::new, |made| request(made, piece.to));
        let bars = pieces.iter().map(|piece| (SERVED, piece.from, piece.to, told(piece)));
        drawing.line(format!("device {name}"), bars.collect());
    }
    drawing.finish(it.cut)
}

struct Drawing {
    chart: Chart,
    notes: Vec<String>,
}

impl Drawing {
    fn new(from: Time, to: Time) -> Drawing {
        let kinds = KINDS.map(|(group, name, colour)| BarKind { group, name, colour });
        let parts = timeline::KINDS.map(|(name, colour)| BarKind { group: "disks", name, colour });
        let chart = Chart { kinds: [&kinds[..], &parts].concat(), lines: Vec::new(), from, to };
        Drawing { chart, notes: Vec::new() }
    }

    /// A line of bars: of which kind, from when to when, and what is told of each. What lies outside is cut off.
    fn line(&mut self, name: String, bars: Vec<(usize, Time, Time, String)>) {
        let Chart { lines, from: begin, to: end, .. } = &mut self.chart;
        let bars = bars.into_iter().filter_map(|(kind, from, to, told)| {
            let (from, to) = (from.max(*begin), to.min(*end));
            (from < to).then_some(Bar { kind, from, to, told })
        });
        lines.push((name, bars.collect()));
    }

    fn machine(&mut self, it: &Picture) {
        let mut lives: Vec<(usize, &ProcessHistory)> = it.processes.iter().enumerate().collect();
        lives.retain(|(_, life)| !life.name.is_empty() && life.pieces.iter().any(|piece| piece.what != Doing::Asleep));
        lives.sort_by_key(|(place, life)| (std::cmp::Reverse(awake(life)), *place));
        let rest = lives.split_off(PROCESSES.min(lives.len()));
        for (_, life) in &lives {
            let bars =
                life.pieces.iter().map(|piece| (kind(piece.what), piece.from, piece.to, doing(it, life, *piece)));
            self.line(life.name.clone(), bars.collect());
        }
        if !rest.is_empty() {
            let busy: Span = rest.iter().map(|(_, life)| awake(life)).sum();
            let ms = number::with_decimals(busy.as_ms(), 1);
            self.notes.push(format!("{} more processes, which ran and waited {ms} ms, are not shown", rest.len()));
        }
        for (number, pieces) in it.processors.iter().enumerate().filter(|(_, pieces)| !pieces.is_empty()) {
            let bars = pieces.iter().map(|piece| {
                let (kind, told) = work(it, *piece);
                (kind, piece.from, piece.to, told)
            });
            self.line(format!("processor {number}"), bars.collect());
        }
    }

    fn finish(mut self, cut: bool) -> Pictured {
        let Chart { from, to, .. } = self.chart;
        let seconds = |time: Time| number::with_decimals(time.since(Time::ZERO).as_secs(), 3);
        let mut notes = vec![format!("{} s to {} s of the run", seconds(from), seconds(to))];
        if cut {
            notes.push(
                "more went on than the page holds: it is cut off there; --window FROM..TO shows another part".into(),
            );
        }
        notes.append(&mut self.notes);
        Pictured { chart: self.chart, notes }
    }
}

/// What a process had of the time, running or wanting to, or waiting.
fn awake(life: &ProcessHistory) -> Span {
    let awake = life.pieces.iter().filter(|piece| piece.what != Doing::Asleep);
    awake.map(|piece| piece.to.since(piece.from)).sum()
}

fn find(it: &Picture, number: u32) -> Option<&IssuedRequest> {
    let at = it.requests.binary_search_by_key(&number, |made| made.number).ok()?;
    it.requests.get(at)
}

fn kind(what: Doing) -> usize {
    match what {
        Doing::Running => RUNNING,
        Doing::Ready => READY,
        Doing::Waiting(_) => WAITING,
        Doing::Asleep => ASLEEP,
    }
}

/// A piece of a process in words.
fn doing(it: &Picture, life: &ProcessHistory, piece: Activity<Doing>) -> String {
    let took = duration(piece.to.since(piece.from));
    let what = match piece.what {
        Doing::Running => "running".to_owned(),
        Doing::Ready => "able to run".to_owned(),
        Doing::Asleep => "asleep".to_owned(),
        Doing::Waiting(None) => "waiting for I/O that another process tells of".to_owned(),
        Doing::Waiting(Some(number)) => match find(it, number) {
            Some(made) => format!("waiting for {}", request(made, piece.from)),
            None => format!("waiting for request #{number}"),
        },
    };
    let ends = if life.ended == Some(piece.to) { "\nended then" } else { "" };
    format!("{}: {took} {what}{ends}", escape(&life.name))
}

/// A piece of a processor: of which kind, and in words.
fn work(it: &Picture, piece: Activity<ProcessorWork>) -> (usize, String) {
    let took = duration(piece.to.since(piece.from));
    let name = |place: usize| it.processes.get(place).map_or_else(String::new, |life| escape(&life.name));
    match piece.what {
        ProcessorWork::Process(place) => (COMPUTING, format!("{took} computing for {}", name(place))),
        ProcessorWork::Switch(place) => (SWITCHING, format!("{took} switching to {}", name(place))),
        ProcessorWork::Interrupt(None) => (INTERRUPT, format!("{took} in an interrupt")),
        ProcessorWork::Interrupt(Some(number)) => (INTERRUPT, format!("{took} in the interrupt of request #{number}")),
        ProcessorWork::FalseIdle => (FALSE_IDLE, format!("{took} idle while a process waits for I/O")),
        ProcessorWork::Idle => (IDLE, format!("{took} idle")),
    }
}

/// A request in words, as it stood then.
fn request(made: &IssuedRequest, then: Time) -> String {
    let what = match made.op {
        Op::Read => "read",
        Op::Write { .. } => "write",
        Op::Discard(_) => "discard",
        Op::Flush => "flush",
        Op::Repair => "repair",
        Op::Move => "move",
    };
    let at = made.at;
    let place =
        if made.op == Op::Flush { String::new() } else { format!(" of {} blocks at {}", at.blocks, at.start.0) };
    let ago = then.since(made.asked);
    let age = if ago > Span::ZERO { format!("\nasked {} before", duration(ago)) } else { String::new() };
    format!("request #{}: {what}{place}{age}\n{}", made.number, matters(made))
}

/// How much a request mattered.
fn matters(made: &IssuedRequest) -> String {
    let issued = match made.issued_as {
        Criticality::Critical => return "critical".into(),
        Criticality::Limited => "limited",
        Criticality::Noncritical => "non-critical",
    };
    match made.critical {
        Some(since) => format!("{issued}, critical after {}", duration(since.since(made.asked))),
        None => issued.into(),
    }
}

fn duration(span: Span) -> String {
    format!("{:.3} ms", span.as_ms())
}

/// Plotly takes some of HTML for more than text.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
