//! The process-flow model (004 §4): processors, processes, the dispatcher and the buffer cache around the I/O.
//!
//! A [`ProcessSystem`] is a [`load::Load`]: it asks a core for I/O because its processes do, says how much each request matters
//! ([`Criticality`]), and says it again when someone waits for one after all. It promises that every processor's time is
//! told apart: computing, switching, interrupts, idle with nothing to do, and *false idle*, with nothing to do because
//! processes wait for I/O. Times are integers, and the same programs and completions give the same events. It must never
//! know what serves the requests: a disk, an array, which order they are served in.

mod account;
mod asks;
mod cache;
mod cpu;
mod events;
mod kernel;
mod limits;
mod locks;
mod ordered;
mod picture;
mod pictured;
mod process;
mod program;
pub mod recorded;
mod requests;
mod setup;
mod system;

pub use account::SystemAccount;
pub use events::{ModelEvent, ModelEventKind};
pub use picture::{Activity, Doing, IssuedRequest, Picture, PictureScope, ProcessHistory, ProcessorWork};
pub use process::{Pid, ProcessStep, ProcessTimes, Program};
pub use program::{Compression, Synthetic, machine};
pub use requests::Criticality;
pub use setup::MachineSetup;
pub use system::ProcessSystem;
