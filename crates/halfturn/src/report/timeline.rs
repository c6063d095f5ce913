//! Timing diagrams: for each piece of a run two lines, the commands and what the arm does, in the colours of the parts.

use block::{Span, Time, Verb};
use plotly::common::{Line, Mode, Title};
use plotly::layout::{Axis, Margin};
use plotly::{Layout, Plot, Scatter};
use published::{File, Timeline};
use sim::Step;

/// How high a bar is, in pixels.
const BAR: f64 = 22.0;
/// What is drawn on the line of the commands, then on that of the arm, with its colour.
const KINDS: [(&str, &str); 11] = [
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
struct Piece {
    kind: &'static str,
    /// On the line of the arm rather than of the commands.
    arm: bool,
    from: Time,
    to: Time,
    /// What the pointer shows.
    told: String,
}

impl Diagram<'_> {
    /// Its heading.
    pub fn title(&self) -> String {
        format!("{}: {}", self.file.source, self.timeline.title)
    }

    /// Bars over milliseconds: a trace for each kind of them, with gaps.
    pub fn plot(&self) -> Plot {
        let lines = self.rows.len() as f64 * 2.5;
        let at = |row: usize, arm: bool| lines - row as f64 * 2.5 - if arm { 1.0 } else { 0.0 };
        let rows: Vec<Vec<Piece>> = self.rows.iter().map(|(_, row)| pieces(row)).collect();
        let mut plot = Plot::new();
        for (kind, colour) in KINDS {
            let (mut x, mut y, mut told) = (Vec::new(), Vec::new(), Vec::new());
            for (row, (pieces, (_, run))) in rows.iter().zip(&self.rows).enumerate() {
                for piece in pieces.iter().filter(|piece| piece.kind == kind) {
                    let ms = |time: Time| Some((time.since(run.from).as_ms() * 1e4).round() / 1e4);
                    x.extend([ms(piece.from), ms(piece.to), None]);
                    y.extend([Some(at(row, piece.arm)); 3]);
                    told.extend([piece.told.clone(), piece.told.clone(), String::new()]);
                }
            }
            if !x.is_empty() {
                let line = Line::new().color(colour).width(BAR).simplify(false);
                plot.add_trace(Scatter::new(x, y).name(kind).mode(Mode::Lines).line(line).hover_text_array(told));
            }
        }
        let both = |row: usize| [at(row, false), at(row, true)];
        let names = self.rows.iter().flat_map(|(name, _)| [format!("{name}: commands"), "arm".to_owned()]);
        let upright = Axis::new()
            .tick_values((0..self.rows.len()).flat_map(both).collect())
            .tick_text(names.collect())
            .range(vec![0.5, lines + 1.0])
            .zero_line(false);
        let across = Axis::new().title(Title::with_text("ms")).zero_line(false);
        plot.set_layout(Layout::new().x_axis(across).y_axis(upright).margin(Margin::new().left(220)));
        plot
    }
}

/// What went on in a piece of a run.
fn pieces(run: &sim::Timeline) -> Vec<Piece> {
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
    for Step { command, issued, ended, parts, own_until } in run.steps.iter().copied() {
        put("slack", false, drawn.min(issued), issued.since(drawn.min(issued)), "before the command");
        let own = own_until > arm;
        if own {
            arm = put("the drive's own work", true, arm, own_until.since(arm), "arm");
        }
        let told = told(command, ended.since(issued));
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
        let run = sim::Timeline { from: Time(40 * US), steps, own_until: Time(186 * US) };
        let pieces = pieces(&run);
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
