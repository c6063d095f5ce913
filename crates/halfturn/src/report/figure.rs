//! Figures of a page: curves, points and bars along time, as `figure.js` draws them. The units are those of their axes.

use serde::Serialize;

/// How high a figure is that does not say so, in pixels.
const HEIGHT: f64 = 480.0;
/// How high a row of a figure of rows is, and the rest of it; a legend needs so many rows.
const ROW: f64 = 26.0;
const REST: f64 = 90.0;
const LEAST_ROWS: usize = 5;
/// Dashes of lines and outlines of dots.
const SHAPES: usize = 4;

/// A figure, with what is drawn in it from back to front.
#[derive(Serialize)]
pub struct Figure {
    pub title: String,
    pub height: f64,
    pub x: Axis,
    pub y: Axis,
    /// The upright axis of a second panel under the first, with its share of the height.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under: Option<(Axis, f64)>,
    pub series: Vec<Series>,
    /// Whether the wheel zooms; a page of many figures scrolls instead.
    pub wheel: bool,
}

/// What an axis means, and what of it is shown at first: all, unless there is a range.
#[derive(Default, Serialize)]
pub struct Axis {
    pub title: String,
    pub log: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// Names of lines instead of numbers. Such an axis is not zoomed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ticks: Vec<(f64, String)>,
}

/// Things of one kind, which the legend shows and hides together.
#[derive(Serialize)]
pub struct Series {
    pub name: String,
    /// The heading in the legend.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub group: &'static str,
    pub colour: &'static str,
    /// In the legend. Others of the same name follow the one that is.
    pub legend: bool,
    /// In the second panel.
    pub under: bool,
    /// Which of several dashes a line has, or which outline a dot, so that colour is not all that tells it apart.
    #[serde(skip_serializing_if = "is_usual")]
    pub shape: u8,
    #[serde(flatten)]
    pub marks: Marks,
    /// What the pointer shows of each mark; the coordinates where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
}

fn is_usual(shape: &u8) -> bool {
    *shape == 0
}

/// How things are drawn.
#[derive(Serialize)]
#[serde(rename_all = "lowercase", tag = "draw")]
pub enum Marks {
    Line {
        at: Vec<(f64, f64)>,
        steps: bool,
    },
    Dots {
        at: Vec<(f64, f64)>,
    },
    /// From one place to another along x, at a height; so many pixels thick.
    Bars {
        at: Vec<(f64, f64, f64)>,
        thick: f64,
        dotted: bool,
    },
}

impl Figure {
    /// A figure with axes and no curves yet.
    pub fn new(title: &str, x: Axis, y: Axis) -> Figure {
        Figure { title: title.into(), height: HEIGHT, x, y, under: None, series: Vec::new(), wheel: false }
    }

    /// One with a named row for each of several things, the first on top.
    pub fn rows(title: &str, across: Axis, names: impl Iterator<Item = String>) -> Figure {
        let ticks: Vec<(f64, String)> = names.enumerate().map(|(row, name)| (row as f64, name)).collect();
        let range = Some([ticks.len() as f64 - 0.4, -0.6]);
        let height = ticks.len().max(LEAST_ROWS) as f64 * ROW + REST;
        Figure { height, ..Figure::new(title, across, Axis { range, ticks, ..Axis::default() }) }
    }

    /// What it shows, in words, for whoever cannot see it.
    pub fn describe(&self) -> String {
        let titles = [&self.y.title, &self.x.title].map(|title| title.as_str());
        let axes: Vec<&str> = titles.into_iter().filter(|title| !title.is_empty()).collect();
        let names: Vec<&str> =
            self.series.iter().filter(|series| series.legend).map(|series| series.name.as_str()).collect();
        let title = if self.title.is_empty() { "Figure" } else { &self.title };
        let shown = if names.is_empty() { String::new() } else { format!("; it shows {}", names.join(", ")) };
        format!("{title}: {}{shown}", axes.join(" over "))
    }
}

impl Axis {
    /// An axis of numbers.
    pub fn of(title: &str) -> Axis {
        Axis { title: title.into(), ..Axis::default() }
    }

    /// The same, by powers of ten.
    pub fn log(title: &str) -> Axis {
        Axis { log: true, ..Axis::of(title) }
    }
}

impl Series {
    /// Things with a line in the legend.
    pub fn new(name: &str, colour: &'static str, marks: Marks) -> Series {
        let told = Vec::new();
        Series { name: name.into(), group: "", colour, legend: true, under: false, shape: 0, marks, told }
    }

    /// The one of this number of several, whose colours and shapes change in turn.
    pub fn distinct(name: &str, number: usize, marks: Marks, colours: &[&'static str]) -> Series {
        let shape = (number % SHAPES) as u8;
        Series { shape, ..Series::new(name, colours[number % colours.len()], marks) }
    }
}
