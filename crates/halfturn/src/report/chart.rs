//! Charts of bars along time, a line for each of several things at work, to be zoomed into.

use super::figure::{Axis, Figure, Marks, Series};
use block::{Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// How high a line is, how much of it a bar covers, and the rest of a chart, in pixels.
const LINE: usize = 24;
const COVERED: f64 = 0.8;
const REST: usize = 60;
/// How high a kind, and the name of a group, are in the legend.
const LEGEND: (usize, usize) = (20, 34);

/// A kind of bar: its name, the group of kinds it belongs to, and its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BarKind {
    pub group: &'static str,
    pub name: &'static str,
    pub colour: &'static str,
}

/// Something that went on for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Of which kind, by its place among those of the chart.
    pub kind: usize,
    pub from: Time,
    pub to: Time,
    /// What the pointer shows.
    pub told: String,
}

/// Lines from top to bottom, and the kinds of their bars in the order of the legend.
pub struct Chart {
    pub kinds: Vec<BarKind>,
    pub lines: Vec<(String, Vec<Bar>)>,
    pub from: Time,
    pub to: Time,
}

impl Chart {
    /// How high it is, in pixels.
    pub fn height(&self) -> usize {
        let used: BTreeSet<usize> = self.lines.iter().flat_map(|(_, bars)| bars).map(|bar| bar.kind).collect();
        let groups: BTreeSet<&str> = used.iter().map(|kind| self.kinds[*kind].group).collect();
        let legend = used.len() * LEGEND.0 + groups.len() * LEGEND.1;
        (self.lines.len() * LINE).max(legend) + REST
    }

    /// The bars in milliseconds, by kind. Time can be zoomed into, the lines stay.
    pub fn figure(&self) -> Figure {
        let mut bars = BTreeMap::<usize, Vec<(usize, &Bar)>>::new();
        for (line, (_, of_line)) in self.lines.iter().enumerate() {
            of_line.iter().for_each(|bar| bars.entry(bar.kind).or_default().push((line, bar)));
        }
        let series = bars.into_iter().map(|(kind, bars)| {
            let BarKind { group, name, colour } = self.kinds[kind];
            let at = bars.iter().map(|(line, bar)| (ms(bar.from), ms(bar.to), *line as f64)).collect();
            let marks = Marks::Bars { at, thick: LINE as f64 * COVERED, dotted: false };
            let told = bars.iter().map(|(_, bar)| bar.told.clone()).collect();
            Series { group, told, ..Series::new(name, colour, marks) }
        });
        let across = Axis { range: Some([ms(self.from), ms(self.to)]), ..Axis::of("ms") };
        let names = self.lines.iter().enumerate().map(|(line, (name, _))| (line as f64, name.clone()));
        // The first line is on top.
        let range = Some([self.lines.len() as f64 - 0.4, -0.6]);
        let upright = Axis { range, ticks: names.collect(), ..Axis::default() };
        Figure {
            height: self.height() as f64,
            series: series.collect(),
            wheel: true,
            ..Figure::new("", across, upright)
        }
    }
}

/// Milliseconds, to a tenth of a microsecond.
fn ms(time: Time) -> f64 {
    (Span(time.0).as_ms() * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_of_a_kind_are_one_series_in_the_order_of_the_legend() {
        let kind = |group, name| BarKind { group, name, colour: "#123456" };
        let bar = |kind, from: u64, to: u64| Bar { kind, from: Time(from), to: Time(to), told: format!("{kind}") };
        let chart = Chart {
            kinds: vec![kind("a", "one"), kind("a", "unused"), kind("a", "two"), kind("b", "three")],
            lines: vec![
                ("first".into(), vec![bar(0, 1_000_000, 2_500_000), bar(2, 3_000_000, 4_000_000)]),
                ("second".into(), vec![bar(0, 0, 1_000_000), bar(3, 5_000_000, 6_000_000)]),
            ],
            from: Time::ZERO,
            to: Time(6_000_000),
        };
        let figure = chart.figure();
        let names: Vec<(&str, &str)> = figure.series.iter().map(|series| (series.group, &*series.name)).collect();
        assert_eq!(names, [("a", "one"), ("a", "two"), ("b", "three")]);
        let Marks::Bars { at, .. } = &figure.series[0].marks else { panic!("bars") };
        assert_eq!(*at, [(1.0, 2.5, 0.0), (0.0, 1.0, 1.0)]);
        assert_eq!(figure.y.ticks, [(0.0, "first".to_owned()), (1.0, "second".to_owned())]);
    }
}
