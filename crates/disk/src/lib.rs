//! What can be known of a drive: its sheet, the arithmetic of its mechanics, and the catalogue.
//!
//! [`Sheet`] is what an outsider may know (a data sheet, a profile); [`Truth`] is what nobody outside knows
//! (noise, quirks). What is no disk ([`Other`]) has neither mechanics nor a sheet. The drive model and the scheduler's belief share the arithmetic here, never each other.
//! Nothing here keeps time or state.

mod access;
pub mod catalogue;
pub mod change;
pub mod datasheet;
mod delivery;
pub mod disksim;
mod divide;
mod layout;
mod mechanics;
pub mod other;
mod plan;
mod published;
mod read;
mod rotation;
mod run_on;
mod seek;
mod sheet;
mod unmeasured;
mod write;

pub use access::Access;
pub use delivery::Delivery;
pub use layout::{
    Beneath, Child, Elsewhere, EntryPlan, Layout, LayoutPlan, ListPlan, ListZone, Order, Parity, SectorRun, Sparing,
    Spot, Track, TrackPlan, TreePlan, ZonePlan,
};
pub use mechanics::{Mechanics, Passage, Piece, Stroke, Switches};
pub use other::Other;
pub use plan::{Confidence, DrivePlan};
pub use published::Published;
pub use read::{Drive, Model, load, parse, tables};
pub use rotation::{Rotation, Spin};
pub use run_on::Progress;
pub use seek::{SeekCurve, SeekTable};
pub use sheet::{
    After, Ahead, Bus, Cache, Disconnect, Drain, Drift, DurationLimit, FreesAt, Large, LimitPolicy, Overheads, Queue,
    Sheet, Truth, Turn, Whole, WriteStages,
};
pub use unmeasured::Unmeasured;
pub use write::write;
