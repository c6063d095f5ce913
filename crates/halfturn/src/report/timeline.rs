//! Timing diagrams: for each piece of a run three lines, the requests, the commands and what the arm does, in the colours of
//! the parts; and under them what has a value at every time.

use super::turns::served;
use block::{Span, Time, Verb};
use plotly::common::{DashType, Line, LineShape, Mode, Title};
use plotly::layout::{Axis, AxisType, Margin};
use plotly::{Layout, Plot, Scatter};
use published::{File, Timeline, Values};
use sim::Step;

/// How high a bar is, in pixels, and how far lines of bars are apart; and what is drawn under them.
const BAR: f64 = 16.0;
const APART: f64 = 20.0;
const VALUES: f64 = 180.0;
/// Above and under all of it.
const MARGINS: f64 = 180.0;
/// Lines of a row, with the gap to the next.
const LINES: f64 = 3.6;
/// How wide a letter of a label is at most.
const LABEL: usize = 7;
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
    pub file: &'a File,
    pub timeline: &'a Timeline,
    /// Names and pieces of runs, from top to bottom.
    pub rows: Vec<(&'a str, sim::Timeline)>,
}

/// Something that went on for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    kind: &'static str,
    /// On the line of the arm rather than of the commands.
    pub arm: bool,
    pub from: Time,
    pub to: Time,
    /// What the pointer shows.
    pub told: String,
}

impl Piece {
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

    /// Bars over milliseconds: a trace for each kind of them, with gaps.
    pub fn plot(&self) -> Plot {
        let lines = self.rows.len() as f64 * LINES;
        // Its requests, its commands, its arm.
        let at = |row: usize, line: usize| lines - row as f64 * LINES - line as f64;
        let rows: Vec<Vec<Piece>> = self.rows.iter().map(|(_, row)| pieces(row, &|_| None)).collect();
        let mut plot = Plot::new();
        for (row, (_, run)) in self.rows.iter().enumerate() {
            for (i, it) in served(run).iter().enumerate() {
                let told = format!("request {}", i + 1);
                let bars = it.turns.iter().map(|(from, to)| (*from, *to, at(row, 0), told.clone()));
                plot.add_trace(bar(run.from, "request", REQUESTS[i % REQUESTS.len()], bars).show_legend(false));
            }
        }
        for (kind, colour) in KINDS {
            let mut all = None;
            for (row, (pieces, (_, run))) in rows.iter().zip(&self.rows).enumerate() {
                let of_kind = pieces.iter().filter(|piece| piece.kind == kind);
                let mut bars = of_kind
                    .map(|piece| (piece.from, piece.to, at(row, 1 + usize::from(piece.arm)), piece.told.clone()))
                    .peekable();
                if bars.peek().is_some() {
                    let bars = bar(run.from, kind, colour, bars).legend_group(kind).show_legend(all.is_none());
                    plot.add_trace(bars);
                    all = Some(());
                }
            }
        }
        let three = |row: usize| [at(row, 0), at(row, 1), at(row, 2)];
        let names = self.rows.iter();
        let names = names.flat_map(|(name, _)| [format!("{name}: requests"), "commands".to_owned(), "arm".to_owned()]);
        let upright = Axis::new()
            .tick_values((0..self.rows.len()).flat_map(three).collect())
            .tick_text(names.collect())
            .range(vec![at(self.rows.len() - 1, 2) - 0.7, lines + 0.7])
            .zero_line(false);
        let across = Axis::new().title(Title::with_text("ms")).zero_line(false);
        let longest = self.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let left = LABEL * (longest + ": requests".len());
        let layout = Layout::new().height(self.height() as usize).margin(Margin::new().left(left));
        let layout = match self.timeline.values {
            None => layout.x_axis(across).y_axis(upright),
            Some(values) => {
                // The share of the height for what is drawn under the bars.
                let share = VALUES / (self.height() - MARGINS);
                let axis = self.draw(values, &mut plot).domain(&[0.0, share - 0.05]).zero_line(false);
                let upright = upright.domain(&[share, 1.0]);
                layout.x_axis(across.anchor("y2")).y_axis(upright).y_axis2(axis)
            }
        };
        plot.set_layout(layout);
        plot
    }

    /// Draws what has a value at every time in the first row; its axis.
    fn draw(&self, values: Values, plot: &mut Plot) -> Axis {
        let Some((_, run)) = self.rows.first() else { return Axis::new() };
        let under = |trace: Box<Scatter<f64, f64>>| trace.mode(Mode::Lines).y_axis("y2");
        match values {
            Values::AverageYield => {
                for (i, it) in served(run).iter().enumerate() {
                    let Some((served, transferred)) = it.averages() else { continue };
                    let colour = REQUESTS[i % REQUESTS.len()];
                    for (spans, average, dash, what) in [
                        (&it.turns, served, DashType::Solid, "average yield"),
                        (&it.transfers, transferred, DashType::Dot, "the same, by transfer"),
                    ] {
                        let told = format!("request {}: {what} {average:.1}/s", i + 1);
                        let bars = spans.iter().map(|(from, to)| (*from, *to, average, told.clone()));
                        let line = Line::new().color(colour).width(2.5).dash(dash).simplify(false);
                        let trace = bar(run.from, what, colour, bars).line(line).y_axis("y2").legend_group(what);
                        plot.add_trace(trace.show_legend(i == 0));
                    }
                }
                Axis::new().title(Title::with_text("yield a second")).type_(AxisType::Log)
            }
            Values::Writes => {
                let until = run.steps.last().map_or(run.from, |step| step.ended);
                let last = run.weights.last().map(|(_, weight)| (until, *weight));
                let points = run.weights.iter().copied().filter(|(at, _)| *at <= until).chain(last);
                let (x, y): (Vec<f64>, Vec<f64>) = points.map(|(at, y)| (ms(run.from, at.max(run.from)), y)).unzip();
                let line = Line::new().color("#333333").width(2.5).shape(LineShape::Hv);
                plot.add_trace(under(Scatter::new(x, y)).name("what a write counts").line(line));
                Axis::new().title(Title::with_text("what a write counts")).type_(AxisType::Log)
            }
        }
    }
}

/// Milliseconds since the beginning of a row.
fn ms(from: Time, time: Time) -> f64 {
    (time.since(from).as_ms() * 1e4).round() / 1e4
}

/// Bars of a colour from one time to another, at a height, with what the pointer shows.
fn bar(
    begin: Time,
    name: &str,
    colour: &'static str,
    bars: impl Iterator<Item = (Time, Time, f64, String)>,
) -> Box<Scatter<Option<f64>, Option<f64>>> {
    let (mut x, mut y, mut told) = (Vec::new(), Vec::new(), Vec::new());
    for (from, to, height, words) in bars {
        x.extend([Some(ms(begin, from)), Some(ms(begin, to)), None]);
        y.extend([Some(height); 3]);
        told.extend([words.clone(), words, String::new()]);
    }
    let line = Line::new().color(colour).width(BAR).simplify(false);
    Scatter::new(x, y).name(name).mode(Mode::Lines).line(line).hover_text_array(told)
}

/// What went on in a piece of a run; how much a request mattered is told by its number, where that is known.
pub fn pieces(run: &sim::Timeline, matters: &dyn Fn(u32) -> Option<String>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut put = |kind, arm, from: Time, span: Span, told: &str| {
        let to = from + span;
        if span > Span::ZERO {
            pieces.push(Piece { kind, arm, from, to, told: format!("{told}: {kind} {:.3} ms", span.as_ms()) });
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
        let mut told = told(command, ended.since(issued));
        if let Some(number) = request {
            let matters = matters(number).map_or_else(String::new, |matters| format!(", {matters}"));
            told = format!("request #{number}{matters}<br>{told}");
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
fn told(command: block::Command, took: Span) -> String {
    let at = command.at;
    match command.verb {
        Verb::Seek => format!("seek to block {} ({:.3} ms)", at.start.0, took.as_ms()),
        Verb::Flush => format!("flush ({:.3} ms)", took.as_ms()),
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
            command: Command { verb: Verb::Read, at, place: Place::Nowhere },
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
    fn line(pieces: &[Piece], arm: bool) -> Vec<(&'static str, u64, u64)> {
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
}
