//! What the time of the disks went to: of the measured time, and of nothing before it.

#[test]
fn what_the_arm_did_before_the_measured_time_is_not_counted() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    // A hundred reads in five seconds, and one at the fifteenth.
    let read = |ms: u64| format!("{ms}.0 0 {} 8 1\n", ms * 977 % 1_000_000);
    let text: String = (0..100).map(|i| 50 * i).chain([15_000]).map(read).collect();
    let file = folder.join("before.trace");
    std::fs::write(&file, text).unwrap();
    let experiment = |warmup: &str| {
        let text = format!(
            "[drive]\nmodel = \"atlas10k\"\n[scheduler]\npolicy = \"fcfs\"\n[[workload]]\nname = \"few\"\nkind = \"trace\"\n\
             file = \"{}\"\nformat = \"disksim\"\nreplay = \"open\"\n[run]\nwarmup = \"{warmup}\"\nduration = \"20s\"\n",
            file.display()
        );
        load::experiment::parse("before", &text, &[], None).unwrap_or_else(|error| panic!("{error}"))
    };
    let disk = |warmup| {
        let run = sim::simulate(&experiment(warmup), &sim::Unwatched).unwrap().runs.remove(0);
        (run.requests, run.disks[0].busy, run.disks[0].idle)
    };
    // One read of some 10 ms in the ten seconds that count, of which the last come to an end with it.
    let (requests, busy, idle) = disk("10s");
    assert!(requests == 1 && busy < 0.005 && idle > 0.99, "{requests} {busy} {idle}");
    let (requests, busy, _) = disk("0s");
    assert!(requests == 101 && busy > 0.02, "{requests} {busy}");
}
