//! The truth of a drive: arm, cache, write buffer, noise.
//!
//! A [`Drive`] is a state machine without clock, thread or I/O: given a command at a time, it says when it
//! completes and why. The parts of a command's time add up exactly, and every nanosecond of the arm is
//! accounted for. Noise is a function of (seed, command ordinal), never a stream, so that two schedulers meet
//! the same drive. What is not a disk is in [`other`]. Nothing in a scheduler may know of this crate.

mod account;
mod ahead;
mod buffer;
mod bus;
mod cache;
mod device;
pub mod figures;
mod foresight;
pub mod host;
mod machine;
mod marks;
mod noise;
pub mod other;
mod queue;
mod reads;
mod stages;
mod state;
mod writes;

pub use account::{Account, Parts};
pub use device::Machine;
pub use noise::fraction;
pub use state::Drive;
