//! Figures of a page: curves, points and bars along time, as `figure.js` draws them. The units are those of their axes.

use serde::Serialize;

/// How high a figure is that does not say so, in pixels.
const HEIGHT: f64 = 480.0;

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
    #[serde(flatten)]
    pub marks: Marks,
    /// What the pointer shows of each mark; the coordinates where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<String>,
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
        Series { name: name.into(), group: "", colour, legend: true, under: false, marks, told }
    }
}
