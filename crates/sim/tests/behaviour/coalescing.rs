//! What of a request lies side by side on a disk is one command, as it would be were the stripe unit longer.

use crate::files::once;
use sim::Replication;

/// Requests of four units on each of four disks.
fn play(level: &str, stripe: &str, coalescing: &str, read: f64) -> Replication {
    once(&format!(
        "[[disk]]\nmodel = \"nl20\"\ncount = 4\n[array]\nlevel = \"{level}\"\nstripe = \"{stripe}\"\ncoalescing = \"{coalescing}\"\n\
         [scheduler]\npolicy = \"satf\"\nio = \"non-preemptible\"\n[[workload]]\nname = \"users\"\nkind = \"closed\"\ndepth = 4\n\
         size = \"1MiB\"\nalign = \"1MiB\"\nread = {read}\n[run]\nrequests = 2000\n"
    ))
}

fn commands(run: &Replication) -> u64 {
    run.meter.commands().count
}

#[test]
fn units_side_by_side_are_one_command_and_take_as_long_as_one() {
    for read in [1.0, 0.0] {
        let [apart, joined] = ["never", "units"].map(|how| play("0", "64KiB", how, read));
        let whole = play("0", "256KiB", "never", read);
        assert!(commands(&apart) > 15 * apart.meter.requests() && commands(&whole) < 5 * whole.meter.requests());
        assert!(
            commands(&joined).abs_diff(commands(&whole)) <= 64,
            "{} in place of {}",
            commands(&joined),
            commands(&whole)
        );
        let rate = |run: &Replication| run.meter.throughput_mb_s();
        println!("{read}: {:.1}, {:.1}, {:.1} MB/s", rate(&apart), rate(&joined), rate(&whole));
        assert!(rate(&joined) > 1.05 * rate(&apart), "{read}: {} in place of {}", rate(&joined), rate(&apart));
        assert!(rate(&joined) > 0.98 * rate(&whole), "{read}: {}, not {}", rate(&joined), rate(&whole));
    }
}

#[test]
fn copies_are_written_in_as_few() {
    let [apart, joined] = ["never", "units"].map(|how| play("0/1", "64KiB", how, 0.0));
    let each = |run: &Replication| commands(run) as f64 / run.meter.requests() as f64;
    assert!(each(&apart) > 31.0 && each(&joined) < 5.0, "{} in place of {}", each(&joined), each(&apart));
}
