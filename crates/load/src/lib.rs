//! What is asked of a core and how its answers are counted: experiment files, workloads, trace replay,
//! metrics and results. It knows nothing of how a drive or a scheduler works.

mod bills;
pub mod capture;
mod cascades;
mod draw;
pub mod experiment;
mod fit;
pub mod goal;
mod json;
pub mod learned;
pub mod manual;
mod meter;
mod mix;
pub mod origin;
pub mod points;
pub mod requests;
pub mod results;
mod scan;
pub mod schedule;
pub mod series;
mod slices;
mod tally;
pub mod tuning;
mod wait;
pub mod workload;

pub use bills::{ARM_PARTS, ArmPart, Bills, PART_NAMES, divide, divide_believed, share_bound, share_note};
pub use draw::Draw;
pub use fit::{Fitting, Footprint};
pub use json::json;
pub use meter::{Meter, Served};
pub use mix::{Load, Mix};
pub use scan::ScanProgress;
pub use tally::{Tally, interval};
pub use wait::expected_wait;
