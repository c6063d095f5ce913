//! A picture of ways to do work in the background: what users wait beside it, by how fast it goes.

use super::Program;
use super::picture::{PANELS, Panel, PanelPoint};
use serde_json::Value;
use std::fmt::Write as _;

/// Whose a way is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// Ours: it is said to beat those of others.
    Beats,
    /// One of others, which is beaten.
    IsBeaten,
    /// Shown beside them, and nothing is said of it.
    Nothing,
}

/// A way: what it is called, its colour, whose it is, and the commands of which each run is a point; if policies are named, each run
/// by one of them.
pub struct Way {
    pub name: &'static str,
    pub colour: &'static str,
    pub claim: Claim,
    pub only: &'static [&'static str],
    pub commands: &'static [&'static [&'static str]],
}

/// A picture of two panels, the mean and the 99th percentile.
pub struct Plane {
    /// The command that all begin with, as far as they do, and the file of this folder that has the rest of them.
    pub command: &'static str,
    pub sets: &'static str,
    /// The classes of the background and of its users, and what the latter are called at the head of a panel.
    pub background: &'static str,
    pub users: &'static str,
    pub title: &'static str,
    /// What the axis of the background is of.
    pub across: &'static str,
    /// What is said where a way is not beaten, and the page that would have to say so.
    pub unbeaten: &'static str,
    pub page: &'static str,
    pub ways: &'static [Way],
}

impl Way {
    fn is_of(&self, run: &Value) -> bool {
        self.only.is_empty() || self.only.iter().any(|policy| run["labels"]["policy"] == **policy)
    }
}

/// How fast the background is, and what users wait beside it: MB/s, mean and 99th percentile in ms.
type PlaneFigures = [f64; 3];

impl Plane {
    /// Draws the picture, as an SVG; not where one of ours fails to beat each point of others.
    pub fn draw(&self, program: &Program) -> Result<String, String> {
        let mut found = Vec::new();
        for way in self.ways {
            let mut points = Vec::new();
            for command in way.commands {
                let json = program.json(&command.join(" "))?;
                let runs = json["runs"].as_array().ok_or_else(|| format!("{}: no runs", way.name))?;
                for run in runs.iter().filter(|run| way.is_of(run)) {
                    points.push(self.find(run).ok_or_else(|| format!("{}: a run without its figures", way.name))?);
                }
            }
            found.push(points);
        }
        let of = |claim| {
            let ways = self.ways.iter().zip(&found).filter(move |(way, _)| way.claim == claim);
            ways.flat_map(|(_, points)| points.iter().copied()).collect::<Vec<_>>()
        };
        match find_unbeaten(&of(Claim::Beats), &of(Claim::IsBeaten)) {
            Some(it) => Err(format!("{}: MB/s, mean and p99 {it:.2?}; say so in {}", self.unbeaten, self.page)),
            None => Ok(self.write(&found)),
        }
    }

    fn find(&self, run: &Value) -> Option<PlaneFigures> {
        let classes = &run["classes"];
        let waits = &classes[self.users]["response_ms"];
        Some([classes[self.background]["throughput_mb_s"].as_f64()?, waits["mean"].as_f64()?, waits["p99"].as_f64()?])
    }

    fn write(&self, found: &[Vec<PlaneFigures>]) -> String {
        let height = 328 + 18 * self.ways.len();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 810 {height}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <!-- {}, with what crates/xtask/src/docs/{} sets -->\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
            self.command, self.sets
        );
        let head = format!("{} mean response", self.title);
        for ((name, at), left) in [(head.as_str(), 1), ("Their 99th percentile", 2)].into_iter().zip(PANELS) {
            let point = |way: &Way, it: &PlaneFigures| PanelPoint {
                x: it[0],
                y: it[at],
                told: format!("{}: {:.0} MB/s, mean {:.2} ms, p99 {:.1} ms", way.name, it[0], it[1], it[2]),
                colour: way.colour,
            };
            let of = |(way, points): (&Way, &Vec<PlaneFigures>)| points.iter().map(|it| point(way, it)).collect();
            let points: Vec<Vec<PanelPoint>> = self.ways.iter().zip(found).map(of).collect();
            Panel { name, left, across: self.across, aside: "ms" }.draw(&mut svg, &points.concat());
        }
        for (line, Way { name, colour, .. }) in self.ways.iter().enumerate() {
            let (x, y) = (PANELS[0], 322.0 + 18.0 * line as f64);
            let _ = writeln!(svg, "<circle cx=\"{}\" cy=\"{}\" r=\"5\" fill=\"{colour}\"/>", x + 5.0, y - 4.0);
            let _ = writeln!(svg, "<text x=\"{}\" y=\"{y}\">{name}</text>", x + 16.0);
        }
        svg + "</svg>\n"
    }
}

/// A point of others that none of ours is better than: as fast to a thousandth, with less to wait in the mean and at the end.
fn find_unbeaten(ours: &[PlaneFigures], others: &[PlaneFigures]) -> Option<PlaneFigures> {
    let beats = |own: &PlaneFigures, it: &PlaneFigures| own[0] >= 0.999 * it[0] && own[1] < it[1] && own[2] < it[2];
    others.iter().find(|it| !ours.iter().any(|own| beats(own, it))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_fast_and_lets_wait_less_beats_another() {
        let ours = [[100.0, 10.0, 20.0], [400.0, 12.0, 30.0]];
        assert_eq!(find_unbeaten(&ours, &[[100.05, 10.5, 20.5], [300.0, 13.0, 31.0]]), None);
        for better in [[500.0, 13.0, 31.0], [300.0, 11.0, 31.0], [300.0, 13.0, 29.0]] {
            assert_eq!(find_unbeaten(&ours, &[better]), Some(better));
        }
    }
}
