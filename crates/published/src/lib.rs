//! What papers published, and whether a simulation agrees: the files under `reproduce/`, what they measure, and the
//! verdict.
//!
//! It promises that a verdict follows from the file alone: published value, measure, tolerance. It runs nothing: it
//! says which cases are to be simulated and judges their results. It knows nothing of drives or schedulers, but for
//! the seek curve a formula may ask for.
//!
//! **A verdict is data.** A target names what is measured in a small closed language (`published::measure`), the
//! published number and the tolerance; no Rust knows a paper's figure. Only runs that a chosen target looks at are
//! simulated. What does not match stays in the file as `known_miss` with its cause, and is printed as not matching.

mod basis;
mod cells;
mod choice;
mod figure;
mod file;
pub mod history;
mod measure;
mod outcome;
mod plan;
mod seeds;
mod shipped;
mod summary;
mod target;
mod timeline;
mod told;
mod tolerance;

pub use basis::{BASES, Basis};
pub use choice::choose;
pub use figure::{PublishedCurve, PublishedFigure};
pub use file::{RunLength, TargetFile};
pub use measure::MeasuredValue;
pub use outcome::{Near, TargetOutcome, Verdict};
pub use plan::{Drawn, MeasuredCurve, TargetPlan};
pub use seeds::{FULL_SEEDS, Seeds};
pub use shipped::{all, names, read_changed};
pub use summary::{Counts, Summary};
pub use target::{Expected, PublishedTarget, PublishedValue};
pub use timeline::{PublishedTimeline, TimelineRow, Values};
pub use told::TargetFigures;
pub use tolerance::Tolerance;
