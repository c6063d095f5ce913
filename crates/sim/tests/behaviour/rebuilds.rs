//! A rebuild that users do not feel: over all of it they wait no longer than beside a disk that is missing, and it is nearly as fast as alone.
//!
//! `HALFTURN_SCANS=600 cargo test --release -p halfturn-sim --test behaviour rebuilds -- --nocapture` has drives of a 600th of the cylinders
//! in place of a 2,400th.

use crate::files::{Folder, once};
use crate::scans::shrink_nl20;
use sim::Replication;

/// The 99th percentile of one run rests on nine requests or so: their mean is held.
const SEEDS: u64 = 5;

/// What is done of the rebuild, and beside whom.
#[derive(Clone, Copy, PartialEq)]
enum Scene {
    Missing,
    Rebuilt,
    RebuiltAlone,
}

fn play(drive: &str, level: &str, scene: Scene, seconds: f64, seed: u64) -> Replication {
    let replaced = scene != Scene::Missing;
    let users = "[[workload]]\nname = \"users\"\nkind = \"open\"\nrate = \"20/s\"\nsize = \"4KiB\"\n";
    let users = if scene == Scene::RebuiltAlone { "" } else { users };
    // Where the place stays empty nothing is to be rebuilt.
    let rebuild = "[scheduler.class.rebuild]\npreempts = false\n[[workload]]\nname = \"rebuild\"\nkind = \"rebuild\"\nsize = \"2MiB\"\n\
                   depth = 32\n";
    let rebuild = if replaced { rebuild } else { "" };
    once(&format!(
        "[[disk]]\nmodel = \"{drive}\"\ncount = 8\n[array]\nlevel = \"{level}\"\nstripe = \"256KiB\"\n[[array.fails]]\ndisk = 3\nat = \"0s\"\n\
         replaced = {replaced}\n[scheduler]\npolicy = \"c-look\"\nio = \"semi-preemptible\"\npreemption = \"always\"\n\
         plan = {{ last_chunk_fua = false }}\n{rebuild}{users}[run]\nduration = \"{seconds}s\"\nwarmup = \"0s\"\nseed = {seed}\n"
    ))
}

/// Seconds after which all was repaired.
fn end(run: &Replication) -> Option<f64> {
    let told = run.notes.iter().find_map(|note| note.strip_prefix("all of it was repaired after "))?;
    told.split(' ').next()?.parse().ok()
}

/// The users' mean and 99th percentile, ms.
fn users(run: &Replication) -> [f64; 2] {
    let (_, users) = run.meter.classes().find(|(name, _)| *name == "users").expect("users");
    [users.response_ms.mean, users.response_ms.p99]
}

#[test]
fn users_do_not_feel_a_rebuild_that_is_nearly_as_fast_as_alone() {
    let folder = Folder::new("rebuilds");
    let asked = std::env::var("HALFTURN_SCANS").ok().and_then(|scale| scale.parse().ok());
    let drive = shrink_nl20(&folder, asked.unwrap_or(2400));
    for level in ["0/1", "5"] {
        let long = 2e6 / asked.unwrap_or(2400) as f64;
        let alone = end(&play(&drive, level, Scene::RebuiltAlone, long, 1)).expect("it ends");
        let mut ratios = [0.0; 2];
        for seed in 1..=SEEDS {
            let took = end(&play(&drive, level, Scene::Rebuilt, long, seed)).expect("it ends");
            // Over as long as it takes, and not the time after it.
            let [with, without] =
                [Scene::Rebuilt, Scene::Missing].map(|it| users(&play(&drive, level, it, took, seed)));
            let ratio = [with[0] / without[0], with[1] / without[1]];
            println!(
                "{level}, seed {seed}: {took:.1} s, alone {alone:.1} s; users' mean and p99 {ratio:.3?} of without it"
            );
            assert!(alone / took >= 0.8, "{level}, seed {seed}: {took} s, alone {alone} s");
            ratios = [ratios[0] + ratio[0], ratios[1] + ratio[1]];
        }
        let [mean, p99] = ratios.map(|sum| sum / SEEDS as f64);
        println!("{level}: {mean:.3} and {p99:.3}");
        assert!(mean <= 1.10 && p99 <= 1.2, "{level}: {mean} {p99}");
    }
}
