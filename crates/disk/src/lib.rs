//! What can be known of a drive: its sheet, the arithmetic of its mechanics, and the catalogue.
//!
//! [`Sheet`] is what an outsider may know (a data sheet, a profile); [`Truth`] is what nobody outside knows
//! (noise, quirks). The drive model and the scheduler's belief share the arithmetic here, never each other.
//! Nothing here keeps time or state.

pub mod catalogue;
mod divide;
mod layout;
mod mechanics;
mod read;
mod rotation;
mod seek;
mod sheet;

pub use layout::{Layout, LayoutPlan, Order, Parity, Spot, Track, ZonePlan};
pub use mechanics::{Mechanics, Passage, Progress, Stroke, Switches};
pub use read::{Drive, load, parse};
pub use rotation::{Rotation, Spin};
pub use seek::{SeekCurve, SeekTable};
pub use sheet::{Cache, Overheads, Sheet, Truth};
