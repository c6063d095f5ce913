//! Diskbench: learns a disk drive from nothing but the times of commands.
//!
//! Whatever is known of a drive here was found through [`block::Device`]: a command goes in, and when it comes back is
//! all there is to see (SYSTEM.md, Section 3; Virtual IO, Section 3.4). Angles are in revolutions, LBNs counted in
//! physical sectors, unless said otherwise; the platter's phase is where the clock of the run began, so that only
//! differences of angles mean anything.

pub mod bench;
pub mod clock;
mod confidence;
mod curve;
mod draw;
mod drift;
mod effort;
pub mod estimate;
pub mod eye;
pub mod journal;
pub mod map;
mod plan;
#[cfg(test)]
mod platter;
pub mod probe;
mod profile;
mod scratch;
mod validate;
mod verdict;
mod written;

pub use effort::Thoroughness;
pub use profile::{
    DriveKnowledge, DriveProfile, ProfileOptions, ProfileOutcome, ProfileStep, ProfiledFile, ProgressWatcher, profile,
};
pub use scratch::Scratch;
pub use validate::Validation;
pub use verdict::Grade;
