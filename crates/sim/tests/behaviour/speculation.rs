//! Reads that are asked of another copy, too: users wait less where the disks have time, and where they have none nothing is lost.

use crate::files::once;
use sim::Replication;

/// Users of a mirrored array.
fn play(speculation: &str, placement: &str, load: &str, seconds: u32) -> Replication {
    once(&format!(
        "[[disk]]\nmodel = \"atlas10k\"\ncount = 8\n[array]\nlevel = \"0/1\"\nstripe = \"64KiB\"\nplacement = \"{placement}\"\n\
         speculation = \"{speculation}\"\n[scheduler]\npolicy = \"satf\"\nio = \"semi-preemptible\"\n\
         plan = {{ chunk = \"20KiB\", split = \"never\" }}\n\
         [[workload]]\nname = \"users\"\n{load}\n[run]\nduration = \"{seconds}s\"\nwarmup = \"2s\"\n"
    ))
}

/// The 99th percentile of users' response, ms.
fn p99(run: &Replication) -> f64 {
    run.meter.classes().find(|(name, _)| name == "users").expect("users").1.response_ms.p99
}

#[test]
fn the_slowest_reads_are_faster_where_the_other_copy_is_asked_too() {
    for placement in ["least-finish", "round-robin"] {
        for rate in [20, 100] {
            let load = format!("kind = \"open\"\nrate = \"{rate}/s\"\nsize = \"16KiB\"\nread = 0.9");
            let [without, with] = ["never", "copies"].map(|how| p99(&play(how, placement, &load, 400)));
            println!("{placement}, {rate}/s: {without:.2} ms, {with:.2} ms");
            assert!(with < 0.98 * without, "{placement}, {rate}/s: {with:.2} ms, not {without:.2} ms");
        }
    }
}

#[test]
fn at_saturation_it_costs_next_to_nothing() {
    for depth in [16, 64] {
        for size in ["16KiB", "256KiB"] {
            let load = format!("kind = \"closed\"\ndepth = {depth}\nsize = \"{size}\"");
            let [without, with] =
                ["never", "copies"].map(|how| play(how, "least-finish", &load, 40).meter.requests() as f64);
            println!("depth {depth}, {size}: {:.4}", with / without);
            assert!(with >= 0.98 * without, "depth {depth}, {size}: {with} requests, not {without}");
        }
    }
}
