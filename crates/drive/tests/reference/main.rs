//! A second drive, slow and plain, written from what a disk is and from what the keys of a drive file mean; it shares no arithmetic
//! with the drive. Both are given the same random scenes, and must answer each command at the same nanosecond.
//!
//! `HALFTURN_SEED=N` runs the scene of one seed, `HALFTURN_SCENES=N` so many.

mod bus;
mod compare;
mod dice;
mod kinds;
mod loads;
mod machine;
mod medium;
mod places;
mod queue;
mod reads;
mod segments;
mod spin;
mod writes;

use compare::{Tally, compare, report};
use kinds::Level;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Compares so many scenes of a level.
fn agree(level: Level, scenes: u64) {
    let seeds = match number("HALFTURN_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HALFTURN_SCENES").unwrap_or(scenes),
    };
    let (mut all, mut failed, many) = (Tally::default(), Vec::new(), seeds.end - seeds.start);
    for seed in seeds {
        let scene = loads::scene(seed, level);
        match compare(&scene) {
            Ok(tally) => {
                all.commands += tally.commands;
                all.off += tally.off;
                all.worst = all.worst.max(tally.worst);
            }
            Err(found) => {
                if number("HALFTURN_ALL").is_some() {
                    println!("{seed}: command {} {}", found.step, found.what);
                }
                failed.push((scene, found));
            }
        }
    }
    println!("{level:?}: {many} scenes, {} commands, {} off by up to {} ns", all.commands, all.off, all.worst);
    if let Some((scene, found)) = failed.first() {
        let seeds: Vec<u64> = failed.iter().map(|(scene, _)| scene.seed).take(20).collect();
        panic!("{} of {many} scenes differ, seeds {seeds:?}\n{}", failed.len(), report(scene, found));
    }
}

#[test]
fn bare_mechanics_agree() {
    agree(Level::Bare, 500);
}

#[test]
fn blocks_taken_as_they_come_by_agree() {
    agree(Level::AnyOrder, 500);
}

#[test]
fn the_way_to_the_host_agrees() {
    agree(Level::OnBus, 500);
}

#[test]
fn read_segments_agree() {
    agree(Level::Reads, 500);
}

#[test]
fn the_write_buffer_agrees() {
    agree(Level::Writes, 500);
}

#[test]
fn the_queue_agrees() {
    agree(Level::Queued, 500);
}
