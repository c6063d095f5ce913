//! The core: belief, policies and the order in which requests are served.
//!
//! A [`Core`] takes inputs at given times and answers with actions; it holds no clock, no bytes and no thread.
//! What it believes of a device comes from a [`predict::Predictor`]; what it prefers, from a
//! [`policy::Policy`]. It must never know how a drive really behaves. [`run`] is the one loop that joins a core
//! to a [`World`], simulated or live.

mod admission;
mod arbiter;
pub mod array;
mod backlog;
mod beam;
mod billing;
mod bills;
mod board;
mod core;
mod demand;
mod event;
mod fill;
mod fitting;
mod frames;
mod free;
mod idle;
mod inherit;
mod job;
mod leisure;
mod ordered;
mod overlap;
mod owners;
pub mod plan;
pub mod planner;
pub mod policy;
pub mod predict;
pub mod preemption;
mod punctual;
mod queue;
mod shares;
mod short;
mod slab;
mod sorted;
mod tally;
mod tardy;
mod turns;
pub mod value;
mod wanted;
mod whenever;
mod world;

pub use crate::admission::Limits;
pub use crate::array::Array;
pub use crate::core::Core;
pub use bills::{Bill, Cause};
pub use event::{Action, ActionSink, Found, Health, Input, Likeness, LogNews, LogOrder, Mend, Wait};
pub use fill::Fill;
pub use free::FreePlan;
pub use job::{Job, JobId, Jobs};
pub use queue::Maker;
pub use shares::Claim;
pub use tally::{Errors, Pulse, Tally};
pub use turns::ShareRules;
pub use wanted::Wanted;
pub use world::{Scheduler, World, play, run, run_told};
