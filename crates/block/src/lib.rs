//! The vocabulary every other crate speaks: time, extents, requests, drive commands, units and the
//! one shape of an error about bad input.
//!
//! It depends on nothing, and everything on the hot path is `Copy`. A block is 512 bytes everywhere;
//! readers convert. Times are whole nanoseconds.

mod bad_input;
mod command;
mod device;
pub mod errno;
mod extent;
mod request;
mod sorted_extents;
mod time;
pub mod units;

pub use bad_input::{At, BadInput, nearest};
pub use command::{Caps, Command, Direction, DiskId, FrameId, Mark, Outcome, Place, SeekBy, Tag, Verb};
pub use device::Device;
pub use extent::{BLOCK_BYTES, Extent, Lbn};
pub use request::{Change, Discarded, Ending, Op, Qos, Request, RequestId};
pub use sorted_extents::SortedExtents;
pub use time::{NS_PER_MS, Span, Time};
