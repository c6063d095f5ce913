//! The profiler against simulated drives as black boxes: what it finds, beside what is true.
//!
//! The whole catalogue, as a table: `cargo test --release -p halfturn-sim --test profile -- --ignored --nocapture`; with
//! `HALFTURN_DRIVES=FILE,FILE` of these drives or parameter files instead, with `HALFTURN_QUICK=1` in less time, with
//! `HALFTURN_LATE_NS=N` behind a host that is late by so much on the mean, with `HALFTURN_SEED=N` of other draws.

mod chunks;
mod delivery;
mod drawn;
mod edges;
mod habits;
mod likeness;
mod made;
mod oddities;
mod queue;
mod resume;
mod rotation;
mod whole;
mod writes;

use profile::{DriveProfile, ProfileOptions, Thoroughness};

/// The drives of a table: those of `HALFTURN_DRIVES`, or the catalogue.
fn names() -> Vec<String> {
    let given = std::env::var("HALFTURN_DRIVES").unwrap_or_default();
    match given.is_empty() {
        true => disk::catalogue::names().map(str::to_owned).collect(),
        false => given.split(',').map(str::to_owned).collect(),
    }
}

/// A drive of the catalogue, or of a parameter file.
fn drive(name: &str) -> disk::Drive {
    if name.contains('/') {
        disk::disksim::load(std::path::Path::new(name), None).expect("it is there").drive
    } else {
        disk::catalogue::find(name).expect("it is in the catalogue")
    }
}

/// Profiles a device thoroughly.
fn profiled(name: &str, device: &mut impl block::Device) -> Result<DriveProfile, block::BadInput> {
    profiled_with(name, Thoroughness::Thorough, device)
}

/// A number of the environment.
fn number<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok().and_then(|number| number.parse().ok())
}

/// The seed of a profile, and of its drive but for a few.
fn seed() -> u64 {
    number("HALFTURN_SEED").unwrap_or(1)
}

/// How late the host is on the mean, ns.
fn late_ns() -> f64 {
    number("HALFTURN_LATE_NS").unwrap_or(0.0)
}

/// Profiles a drive behind a host with other work, if it is late by so many ns on the mean.
fn profiled_behind(
    name: &str,
    effort: Thoroughness,
    drive: drive::Drive,
    late_ns: f64,
) -> Result<DriveProfile, block::BadInput> {
    let device = sim::Bench::new(drive);
    match late_ns {
        0.0 => profiled_with(name, effort, &mut { device }),
        late => profiled_with(name, effort, &mut oddities::Troubled::busy(device, late)),
    }
}

/// Profiles a device.
fn profiled_with(
    name: &str,
    effort: Thoroughness,
    device: &mut impl block::Device,
) -> Result<DriveProfile, block::BadInput> {
    let options = ProfileOptions { name: name.into(), seed: seed(), effort, scratch: None };
    profile::profile(device, &options, &mut ())
}

/// What a quick profile finds of a drive that turns.
fn known_in_short(sheet: &disk::Sheet, truth: &disk::Truth) -> profile::DriveKnowledge {
    let mut device = sim::Bench::new(drive::Drive::new(sheet, truth, 7));
    let profile = profiled_with("it", Thoroughness::Quick, &mut device).expect("it is learned");
    let profile::ProfileOutcome::Disk(known) = profile.outcome else { panic!("it turns") };
    *known
}
