//! Charts of bars along time, a line for each of several things at work, to be zoomed into.

use block::{Span, Time};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How high a line is, and the rest of a chart, in pixels.
const LINE: usize = 24;
const REST: usize = 150;
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

    /// What Plotly is to draw: a trace for each kind that occurs, in milliseconds.
    pub fn traces(&self) -> Value {
        let mut bars = BTreeMap::<usize, Vec<(usize, &Bar)>>::new();
        for (line, (_, of_line)) in self.lines.iter().enumerate() {
            of_line.iter().for_each(|bar| bars.entry(bar.kind).or_default().push((line, bar)));
        }
        let mut groups = Vec::new();
        let traces = bars.into_iter().map(|(kind, bars)| {
            let BarKind { group, name, colour } = self.kinds[kind];
            let mut trace = json!({
                "type": "bar", "orientation": "h", "name": name, "legendgroup": group, "width": 0.8, "hoverinfo": "text",
                "marker": { "color": colour, "line": { "width": 0 } },
                "y": bars.iter().map(|(line, _)| *line).collect::<Vec<_>>(),
                "base": bars.iter().map(|(_, bar)| ms(Span(bar.from.0))).collect::<Vec<_>>(),
                "x": bars.iter().map(|(_, bar)| ms(bar.to.since(bar.from))).collect::<Vec<_>>(),
                "hovertext": bars.iter().map(|(_, bar)| bar.told.as_str()).collect::<Vec<_>>(),
            });
            // Plotly wants the heading of a group once.
            if !groups.contains(&group) {
                groups.push(group);
                trace["legendgrouptitle"] = json!({ "text": group });
            }
            trace
        });
        traces.collect()
    }

    /// How Plotly is to draw it: time can be zoomed into, the lines stay.
    pub fn layout(&self) -> Value {
        let names: Vec<&str> = self.lines.iter().map(|(name, _)| name.as_str()).collect();
        json!({
            "barmode": "overlay", "bargap": 0, "hovermode": "closest", "dragmode": "zoom", "height": self.height(),
            "margin": { "l": 190, "r": 20, "t": 20, "b": 60 },
            "hoverlabel": { "align": "left" },
            "legend": { "groupclick": "toggleitem", "traceorder": "grouped" },
            "xaxis": { "title": { "text": "ms" }, "range": [ms(Span(self.from.0)), ms(Span(self.to.0))],
                "zeroline": false, "exponentformat": "none", "separatethousands": true },
            "yaxis": { "tickmode": "array", "tickvals": (0..names.len()).collect::<Vec<_>>(), "ticktext": names,
                "range": [names.len() as f64 - 0.4, -0.6], "fixedrange": true, "zeroline": false, "showgrid": false },
        })
    }
}

/// Milliseconds, to a tenth of a microsecond.
fn ms(span: Span) -> f64 {
    (span.as_ms() * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_of_a_kind_are_one_trace_and_each_group_is_named_once() {
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
        let traces = chart.traces();
        let names: Vec<&Value> = traces.as_array().unwrap().iter().map(|trace| &trace["name"]).collect();
        assert_eq!(names, ["one", "two", "three"]);
        assert_eq!(
            (&traces[0]["y"], &traces[0]["base"], &traces[0]["x"]),
            (&json!([0, 1]), &json!([1.0, 0.0]), &json!([1.5, 1.0]))
        );
        let heads: Vec<bool> =
            traces.as_array().unwrap().iter().map(|it| it.get("legendgrouptitle").is_some()).collect();
        assert_eq!(heads, [true, false, true]);
        assert_eq!(chart.layout()["yaxis"]["ticktext"], json!(["first", "second"]));
    }
}
