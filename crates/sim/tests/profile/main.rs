//! The profiler against simulated drives as black boxes: what it finds, beside what is true.
//!
//! The whole catalogue, as a table: `cargo test --release -p sim --test profile -- --ignored --nocapture`; with
//! `HALFTURN_DRIVES=FILE,FILE` of these drives or parameter files instead.

mod oddities;
mod rotation;
mod whole;

use profile::{Effort, Options, Profile, Step, Watch};

/// Watches nothing.
struct Quiet;

impl Watch for Quiet {
    fn step(&mut self, _: Step) {}
    fn mapped(&mut self, _: u64, _: u64) {}
}

/// Profiles a device.
fn profiled(name: &str, device: &mut impl block::Device) -> Result<Profile, block::BadInput> {
    let options = Options { name: name.into(), seed: 1, effort: Effort::Thorough };
    profile::profile(device, &options, &mut Quiet)
}
