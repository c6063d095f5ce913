//! Timing diagrams: for each piece of a run three lines, the requests, the commands and what the arm does, in the colours of
//! the parts; and under them what has a value at every time.

use super::figure::{Axis, Figure, Marks, Series};
use super::turns::served_requests;
use block::{Span, Time, Verb};
use published::{PublishedTimeline, TargetFile, Values};
use sim::Step;

/// How high a bar is, in pixels, and how far lines of bars are apart; and what is drawn under them.
const BAR: f64 = 16.0;
const APART: f64 = 20.0;
const VALUES: f64 = 180.0;
/// Above and under all of it.
const MARGINS: f64 = 70.0;
/// Lines of a row, with the gap to the next.
const LINES: f64 = 3.6;
/// How thick the lines of averages are, in pixels.
const AVERAGE: f64 = 2.5;
/// The colours of requests, in turn.
const REQUESTS: [&str; 8] = ["#4c78a8", "#f58518", "#72b7b2", "#e45756", "#54a24b", "#b279a2", "#eeca3b", "#9d755d"];
/// What is drawn on the line of the commands, then on that of the arm, with its colour.
pub const KINDS: [(&str, &str); 11] = [
    ("slack", "#e4e4e4"),
    ("queued", "#8c564b"),
    ("overhead", "#ff7f0e"),
    ("waiting for the arm", "#aec7e8"),
    ("bus", "#333333"),
    ("seek", "#d62728"),
    ("switch", "#e377c2"),
    ("settle", "#bcbd22"),
    ("rotation", "#9467bd"),
    ("transfer", "#2ca02c"),
    ("the drive's own work", "#98df8a"),
];

/// A timing diagram with what was recorded of its rows.
pub struct Diagram<'a> {
    pub file: &'a TargetFile,
    pub timeline: &'a PublishedTimeline,
    /// Names and pieces of runs, from top to bottom.
    pub rows: Vec<(&'a str, sim::Timeline)>,
}

/// Something that went on for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct TimelineSpan {
    kind: &'static str,
    /// On the line of the arm rather than of the commands.
    pub arm: bool,
    pub from: Time,
    pub to: Time,
    /// What the pointer shows.
    pub told: String,
}

impl TimelineSpan {
    /// Where its kind stands among `KINDS`.
    pub fn place(&self) -> usize {
        KINDS.iter().position(|(kind, _)| *kind == self.kind).unwrap_or(0)
    }
}

impl Diagram<'_> {
    pub fn title(&self) -> String {
        format!("{}: {}", self.file.source, self.timeline.title)
    }

    /// How high it is, in pixels.
    pub fn height(&self) -> f64 {
        self.rows.len() as f64 * LINES * APART + MARGINS + self.timeline.values.map_or(0.0, |_| VALUES)
    }

    /// Bars over milliseconds, by their kind.
    pub fn figure(&self) -> Figure {
        let lines = self.rows.len() as f64 * LINES;
        // Its requests, its commands, its arm.
        let at = |row: usize, line: usize| lines - row as f64 * LINES - line as f64;
        let mut series = Vec::new();
        for (row, (_, run)) in self.rows.iter().enumerate() {
            for (i, it) in served_requests(run).iter().enumerate() {
                let told = format!("request {}", i + 1);
                let spans = it.turns.iter().map(|(from, to)| (*from, *to, at(row, 0), told.clone()));
                let colour = REQUESTS[i % REQUESTS.len()];
                series.push(Series { legend: false, ..bars("request", colour, BAR, run.from, spans) });
            }
        }
        let rows: Vec<Vec<TimelineSpan>> = self.rows.iter().map(|(_, row)| pieces(row, &|_| None)).collect();
        for (kind, colour) in KINDS {
            // The legend has a kind once, however many rows have it.
            let mut legend = true;
            for (row, (pieces, (_, run))) in rows.iter().zip(&self.rows).enumerate() {
                let of_kind = pieces.iter().filter(|piece| piece.kind == kind);
                let mut spans = of_kind
                    .map(|piece| (piece.from, piece.to, at(row, 1 + usize::from(piece.arm)), piece.told.clone()))
                    .peekable();
                if spans.peek().is_some() {
                    series.push(Series { legend, ..bars(kind, colour, BAR, run.from, spans) });
                    legend = false;
                }
            }
        }
        let names = self.rows.iter().enumerate().flat_map(|(row, (name, _))| {
            let names = [format!("{name}: requests"), "commands".to_owned(), "arm".to_owned()];
            names.into_iter().enumerate().map(move |(line, name)| (at(row, line), name))
        });
        let range = Some([at(self.rows.len() - 1, 2) - 0.7, lines + 0.7]);
        let upright = Axis { range, ticks: names.collect(), ..Axis::default() };
        let mut figure = Figure { height: self.height(), series, ..Figure::new("", Axis::of("ms"), upright) };
        if let (Some(values), Some((_, run))) = (self.timeline.values, self.rows.first()) {
            let (axis, series) = draw_values(values, run);
            figure.series.extend(series.into_iter().map(|series| Series { under: true, ..series }));
            figure.under = Some((axis, VALUES / (self.height() - MARGINS)));
        }
        figure
    }
}

/// What has a value at every time of a run, and the axis of it.
fn draw_values(values: Values, run: &sim::Timeline) -> (Axis, Vec<Series>) {
    match values {
        Values::AverageYield => {
            let mut series = Vec::new();
            for (i, it) in served_requests(run).iter().enumerate() {
                let Some((served_requests, transferred)) = it.averages() else { continue };
                let colour = REQUESTS[i % REQUESTS.len()];
                for (spans, average, solid, what) in [
                    (&it.turns, served_requests, true, "average yield"),
                    (&it.transfers, transferred, false, "the same, by transfer"),
                ] {
                    let told = format!("request {}: {what} {average:.1}/s", i + 1);
                    let spans = spans.iter().map(|(from, to)| (*from, *to, average, told.clone()));
                    let mut bars = Series { legend: i == 0, ..bars(what, colour, AVERAGE, run.from, spans) };
                    if let Marks::Bars { dotted, .. } = &mut bars.marks {
                        *dotted = !solid;
                    }
                    series.push(bars);
                }
            }
            (Axis::log("yield a second"), series)
        }
        Values::Writes => {
            let until = run.steps.last().map_or(run.from, |step| step.ended);
            let last = run.weights.last().map(|(_, weight)| (until, *weight));
            let points = run.weights.iter().copied().filter(|(at, _)| *at <= until).chain(last);
            let at = points.map(|(at, y)| (ms(run.from, at.max(run.from)), y)).collect();
            let series = Series::new("what a write counts", "#7f7f7f", Marks::Line { at, steps: true });
            (Axis::log("what a write counts"), vec![series])
        }
    }
}

/// Milliseconds since the beginning of a row.
fn ms(from: Time, time: Time) -> f64 {
    (time.since(from).as_ms() * 1e4).round() / 1e4
}

/// Bars from one time to another, each at a height, with what the pointer shows.
fn bars(
    name: &str,
    colour: &'static str,
    thick: f64,
    begin: Time,
    spans: impl Iterator<Item = (Time, Time, f64, String)>,
) -> Series {
    let (at, told) = spans.map(|(from, to, height, told)| ((ms(begin, from), ms(begin, to), height), told)).unzip();
    Series { told, ..Series::new(name, colour, Marks::Bars { at, thick, dotted: false }) }
}

/// What went on in a piece of a run; how much a request mattered is told by its number, where that is known.
pub fn pieces(run: &sim::Timeline, matters: &dyn Fn(u32) -> Option<String>) -> Vec<TimelineSpan> {
    let mut pieces: Vec<TimelineSpan> = Vec::new();
    let mut put = |kind, arm, from: Time, span: Span, told: &str| {
        let to = from + span;
        if span > Span::ZERO {
            pieces.push(TimelineSpan { kind, arm, from, to, told: format!("{told}: {kind} {:.3} ms", span.as_ms()) });
        }
        to
    };
    // Until when the commands, and what the arm does, are drawn.
    let (mut drawn, mut arm) = (run.from, run.from);
    for Step { request, command, issued, ended, parts, own_until } in run.steps.iter().copied() {
        put("slack", false, drawn.min(issued), issued.since(drawn.min(issued)), "before the command");
        let own = own_until > arm;
        if own {
            arm = put("the drive's own work", true, arm, own_until.since(arm), "arm");
        }
        let mut told = describe_command(command, ended.since(issued));
        if let Some(number) = request {
            let matters = matters(number).map_or_else(String::new, |matters| format!(", {matters}"));
            told = format!("request #{number}{matters}\n{told}");
        }
        let after = put("queued", false, issued, parts.queued, &told);
        let after = put("overhead", false, after, parts.overhead, &told);
        let moving = parts.seek + parts.switch + parts.settle + parts.rotation;
        let wait = parts.external + moving + parts.transfer;
        let bus = put("waiting for the arm", false, after, wait, &told);
        put("bus", false, bus, parts.bus, &told);
        drawn = ended;
        // A read that waits for the read-ahead under way has no work of its own for the arm.
        if moving > Span::ZERO || (parts.transfer > Span::ZERO && !own) {
            let mut at = after + parts.external;
            if own_until == issued && (own || parts.external > Span::ZERO) {
                put("the drive's own work", true, arm.min(at), at.since(arm.min(at)), "arm");
            }
            let of = [parts.seek, parts.switch, parts.settle, parts.rotation, parts.transfer];
            for (kind, span) in ["seek", "switch", "settle", "rotation", "transfer"].into_iter().zip(of) {
                at = put(kind, true, at, span, &told);
            }
            arm = at;
        }
    }
    // The picture ends with the last command.
    let last = run.own_until.min(drawn);
    if last > arm {
        put("the drive's own work", true, arm, last.since(arm), "arm");
    }
    pieces
}

/// A command in words.
fn describe_command(command: block::Command, took: Span) -> String {
    let at = command.at;
    match command.verb {
        Verb::Seek => format!("seek to block {} ({:.3} ms)", at.start.0, took.as_ms()),
        Verb::Flush => format!("flush ({:.3} ms)", took.as_ms()),
        Verb::Discard(_) => format!("discard of {} blocks at {} ({:.3} ms)", at.blocks, at.start.0, took.as_ms()),
        Verb::Read => format!("read of {} blocks at {} ({:.3} ms)", at.blocks, at.start.0, took.as_ms()),
        Verb::Write { .. } => format!("write of {} blocks at {} ({:.3} ms)", at.blocks, at.start.0, took.as_ms()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Command, Extent, Lbn, Place};

    const US: u64 = 1000;

    fn step(from: u64, to: u64, own_until: u64, parts: &[(&str, u64)]) -> Step {
        let part = |name: &str| Span(parts.iter().find(|(other, _)| *other == name).map_or(0, |(_, span)| *span) * US);
        let [overhead, external, seek, rotation, transfer, bus] =
            ["overhead", "external", "seek", "rotation", "transfer", "bus"].map(part);
        let at = Extent { start: Lbn(7), blocks: 8 };
        let mut step = Step {
            request: None,
            command: Command::new(Verb::Read, at, Place::Nowhere),
            issued: Time(from * US),
            ended: Time(to * US),
            parts: Default::default(),
            own_until: Time(own_until * US),
        };
        (step.parts.overhead, step.parts.external, step.parts.seek) = (overhead, external, seek);
        (step.parts.rotation, step.parts.transfer, step.parts.bus) = (rotation, transfer, bus);
        step
    }

    /// Pieces of one line, without their words.
    fn line(pieces: &[TimelineSpan], arm: bool) -> Vec<(&'static str, u64, u64)> {
        let of_line = pieces.iter().filter(|piece| piece.arm == arm);
        of_line.map(|piece| (piece.kind, piece.from.0 / US, piece.to.0 / US)).collect()
    }

    #[test]
    fn slack_comes_before_a_command_and_the_arm_reads_on_after_it() {
        let first = [("overhead", 3), ("external", 1), ("seek", 50), ("rotation", 20), ("transfer", 5), ("bus", 1)];
        let steps =
            vec![step(100, 180, 60, &first), step(180, 186, 180, &[("overhead", 1), ("transfer", 3), ("bus", 2)])];
        let run = sim::Timeline {
            from: Time(40 * US),
            steps,
            own_until: Time(186 * US),
            begins: Vec::new(),
            ends: Vec::new(),
            weights: Vec::new(),
        };
        let pieces = pieces(&run, &|_| None);
        assert_eq!(
            line(&pieces, false),
            [
                ("slack", 40, 100),
                ("overhead", 100, 103),
                ("waiting for the arm", 103, 179),
                ("bus", 179, 180),
                ("overhead", 180, 181),
                ("waiting for the arm", 181, 184),
                ("bus", 184, 186)
            ]
        );
        assert_eq!(
            line(&pieces, true),
            [
                ("the drive's own work", 40, 60),
                ("seek", 104, 154),
                ("rotation", 154, 174),
                ("transfer", 174, 179),
                ("the drive's own work", 179, 180),
                ("the drive's own work", 180, 186)
            ]
        );
        assert!(pieces[0].told.contains("slack 0.060 ms") && pieces[2].told.starts_with("read of 8 blocks at 7"));
    }

    fn timeline(steps: Vec<Step>, weights: Vec<(Time, f64)>) -> sim::Timeline {
        let own_until = steps.last().map_or(Time::ZERO, |step| step.ended);
        sim::Timeline { from: Time(0), steps, own_until, begins: Vec::new(), ends: Vec::new(), weights }
    }

    #[test]
    fn commands_and_slack_fill_their_line_and_the_arm_does_one_thing_at_a_time() {
        let seed = std::env::var("HALFTURN_SEED").map_or(20, |seed| seed.parse().expect("a number"));
        let mut state: u64 = seed;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let (mut at, mut steps) = (0, Vec::new());
            for _ in 0..4 {
                let issued = at + draw(3);
                let mut one = step(issued, issued, 0, &[]);
                let names = one.parts.name_parts().map(|(name, _)| name);
                let spans = names.map(|_| Span(draw(4) * US));
                let parts = &mut one.parts;
                [parts.queued, parts.overhead, parts.seek, parts.switch] = [spans[0], spans[1], spans[2], spans[3]];
                [parts.settle, parts.rotation, parts.bus] = [spans[4], spans[5], spans[6]];
                parts.transfer = spans[7] + Span(US);
                let took: u64 = parts.name_parts().iter().map(|(_, span)| span.0 / US).sum();
                one.ended = Time((issued + took) * US);
                at = issued + took;
                steps.push(one);
            }
            let run = timeline(steps, Vec::new());
            let pieces = pieces(&run, &|_| None);
            let of_kind = |kind: &str| -> u64 {
                let of_kind = pieces.iter().filter(|piece| piece.kind == kind);
                of_kind.map(|piece| piece.to.since(piece.from).0).sum()
            };
            for (kind, _) in KINDS {
                let on_arm =
                    ["seek", "switch", "settle", "rotation", "transfer", "the drive's own work"].contains(&kind);
                assert!(pieces.iter().all(|piece| piece.kind != kind || piece.arm == on_arm), "seed {seed}: {kind}");
            }
            for (name, _) in run.steps[0].parts.name_parts().iter().filter(|(name, _)| *name != "external") {
                let of_part = |step: &Step| step.parts.name_parts().into_iter().find(|part| part.0 == *name);
                let sum: u64 = run.steps.iter().filter_map(of_part).map(|(_, span)| span.0).sum();
                assert_eq!(of_kind(name), sum, "seed {seed}: {name}");
            }
            let mut until = 0;
            for (_, from, to) in line(&pieces, false) {
                assert_eq!(from, until, "seed {seed}: {:?}", line(&pieces, false));
                until = to;
            }
            assert_eq!(until, at, "seed {seed}");
            let arm = line(&pieces, true);
            assert!(arm.windows(2).all(|pair| pair[0].2 <= pair[1].1), "seed {seed}: {arm:?}");
        }
    }

    #[test]
    fn under_the_rows_the_values_of_the_first_are_drawn() {
        let file = published::all(published::RunLength::Quick).expect("they are read").swap_remove(0);
        let row = |weight| {
            let weights = vec![(Time(0), weight), (Time(50 * US), 2.0 * weight)];
            timeline(vec![step(0, 100, 0, &[("transfer", 100)])], weights)
        };
        let title = String::from("t");
        let published = PublishedTimeline { title, values: Some(Values::Writes), rows: Vec::new() };
        let rows = vec![("one", row(1.0)), ("other", row(8.0))];
        let diagram = Diagram { file: &file, timeline: &published, rows };
        let figure = diagram.figure();
        let under: Vec<&Series> = figure.series.iter().filter(|series| series.under).collect();
        let [Series { marks: Marks::Line { at, steps: true }, .. }] = under[..] else { panic!("one line of steps") };
        assert_eq!(*at, [(0.0, 1.0), (0.05, 2.0), (0.1, 2.0)]);
        let share = figure.under.map(|(_, share)| share);
        assert_eq!(share, Some(VALUES / (diagram.height() - MARGINS)));
        let none = PublishedTimeline { values: None, ..published.clone() };
        let figure = Diagram { timeline: &none, ..diagram }.figure();
        assert!(figure.under.is_none() && figure.series.iter().all(|series| !series.under));
    }
}
