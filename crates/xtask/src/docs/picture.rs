//! The picture of README: what a reader waits beside a bulk stream, and what the stream still gets, by how both are served.

use super::Program;
use serde_json::Value;
use std::fmt::Write as _;

const COMMAND: &str = r#"halfturn simulate examples/stepping-in.toml --set drive.model=["st318437lw","nl20"]"#;
/// The names of its drives.
const DRIVES: [(&str, &str); 2] = [("st318437lw", "ST318437LW, 18 GB, 2001"), ("nl20", "NL20, 20 TB, 2020s")];
/// Ways to serve both: the labels of the run, its name and colour.
const WAYS: [([&str; 3], &str, &str); 4] = [
    (["non-preemptible", "never", "command"], "whole requests, in order of arrival", "#7f7f7f"),
    (["semi-preemptible", "never", "command"], "short commands, in order of arrival", "#1f77b4"),
    (["semi-preemptible", "always", "command"], "short commands, preempted at once", "#ff7f0e"),
    (["semi-preemptible", "always", "jit"], "short commands, preempted just in time", "#d62728"),
];
/// A panel's left edge, width, top and height, in pixels.
pub const PANELS: [f64; 2] = [56.0, 456.0];
const WIDTH: f64 = 330.0;
const TOP: f64 = 40.0;
const HEIGHT: f64 = 220.0;

/// Draws the picture of README, as an SVG.
pub fn draw(program: &Program) -> Result<String, String> {
    let json = program.json(COMMAND)?;
    let runs = json["runs"].as_array().ok_or("no runs")?;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 810 380\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <!-- {} -->\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        COMMAND.replace("--", "- -")
    );
    for ((model, name), left) in DRIVES.into_iter().zip(PANELS) {
        let points = WAYS.map(|(labels, _, _)| find_point(runs, model, labels));
        let points = points.into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| format!("no runs of {model}"))?;
        let points: Vec<PanelPoint> = points
            .into_iter()
            .zip(WAYS)
            .map(|((x, y), (_, way, colour))| PanelPoint {
                x,
                y,
                told: format!("{way}: {x:.1} MB/s, {y:.1} ms"),
                colour,
            })
            .collect();
        let panel = Panel { name, left, across: "bulk stream, MB/s", aside: "reader's mean response, ms" };
        panel.draw(&mut svg, &points);
    }
    for (i, (_, name, colour)) in WAYS.iter().enumerate() {
        let (x, y) = (PANELS[i % 2], 326.0 + 20.0 * (i / 2) as f64);
        let _ = writeln!(svg, "<circle cx=\"{}\" cy=\"{}\" r=\"5\" fill=\"{colour}\"/>", x + 5.0, y - 4.0);
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{y}\">{name}</text>", x + 16.0);
    }
    Ok(svg + "</svg>\n")
}

/// The stream's MB/s and the reader's mean response in ms.
fn find_point(runs: &[Value], model: &str, [io, preemption, at]: [&str; 3]) -> Option<(f64, f64)> {
    let wanted = [("model", model), ("io", io), ("preemption", preemption), ("preempt_at", at)];
    let run = runs.iter().find(|run| wanted.iter().all(|(key, value)| run["labels"][key] == *value))?;
    let classes = &run["classes"];
    Some((classes["stream"]["throughput_mb_s"].as_f64()?, classes["interactive"]["response_ms"]["mean"].as_f64()?))
}

/// A point of a panel, what is told of it, and its colour.
#[derive(Clone)]
pub struct PanelPoint {
    pub x: f64,
    pub y: f64,
    pub told: String,
    pub colour: &'static str,
}

/// A panel: its name, left edge, and what its axes are.
pub struct Panel<'a> {
    pub name: &'a str,
    pub left: f64,
    pub across: &'a str,
    pub aside: &'a str,
}

impl Panel<'_> {
    pub fn draw(&self, svg: &mut String, points: &[PanelPoint]) {
        let Panel { name, left, across, aside } = self;
        let (x_step, x_end) = round_axis(points.iter().map(|point| point.x).fold(0.0, f64::max));
        let (y_step, y_end) = round_axis(points.iter().map(|point| point.y).fold(0.0, f64::max));
        let bottom = TOP + HEIGHT;
        let _ = writeln!(svg, "<text x=\"{left}\" y=\"28\" font-weight=\"bold\">{name}</text>");
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{TOP}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#999\"/>"
        );
        for (step, end, is_across) in [(x_step, x_end, true), (y_step, y_end, false)] {
            for tick in (0..).map(|i| f64::from(i) * step).take_while(|tick| *tick <= end) {
                let (x, y, anchor) = match is_across {
                    true => (left + tick / end * WIDTH, bottom + 15.0, "middle"),
                    false => (left - 5.0, bottom - tick / end * HEIGHT + 4.0, "end"),
                };
                let _ = writeln!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#555\">{tick}</text>"
                );
            }
        }
        let middle = left + WIDTH / 2.0;
        let _ = writeln!(svg, "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{across}</text>", bottom + 32.0);
        let turned = format!("translate({:.0},{:.0}) rotate(-90)", left - 36.0, TOP + HEIGHT / 2.0);
        let _ = writeln!(svg, "<text transform=\"{turned}\" text-anchor=\"middle\">{aside}</text>");
        for PanelPoint { x, y, told, colour } in points {
            let (cx, cy) = (left + x / x_end * WIDTH, bottom - y / y_end * HEIGHT);
            let _ = writeln!(
                svg,
                "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"5\" fill=\"{colour}\"><title>{told}</title></circle>"
            );
        }
    }
}

/// A round step, and the first multiple of it with room above the most.
fn round_axis(most: f64) -> (f64, f64) {
    let step =
        [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0].into_iter().find(|step| most / step <= 6.0).unwrap_or(500.0);
    (step, ((most * 1.05 / step).floor() + 1.0) * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_above_what_it_shows() {
        for most in [0.7, 6.0, 21.2, 74.8, 86.0] {
            let (step, end) = round_axis(most);
            assert!(end > most && end <= most + 2.0 * step && end / step <= 8.0, "{most}: {step}, {end}");
        }
    }
}
