//! A scheduler that learns its device is nowhere worse than what it began with, and better where distance tells something.

use crate::files::results;

/// Mean responses of `sstf` and `smtf` with so many requests outstanding.
fn both(model: &str, depth: u32, requests: u32) -> [f64; 2] {
    let text = format!(
        "[drive]\nmodel = \"{model}\"\nqueue = 1\n[scheduler]\npolicy = [\"sstf\", \"smtf\"]\n[[workload]]\nname = \"reads\"\n\
         kind = \"closed\"\ndepth = {depth}\nsize = \"4KiB\"\n[run]\nrequests = {requests}\n"
    );
    let results = results(&text);
    [0, 1].map(|run| results.runs[run].classes["reads"].response_ms.mean)
}

#[test]
fn what_learns_is_nowhere_worse_than_its_base() {
    for model in ["atlas10k", "nl20", "mimic-3", "mirror-atlas10k", "flash-x25m", "store-block", "tape-lto5"] {
        let requests = if model == "tape-lto5" { 4000 } else { 40_000 };
        let [sstf, smtf] = both(model, 50, requests);
        assert!(smtf <= 1.01 * sstf, "{model}: {smtf} ms, its base {sstf} ms");
    }
}

#[test]
fn what_learns_is_better_where_distance_tells_something() {
    for (model, depth, requests, share) in [("mimic-2", 200, 60_000, 0.95), ("tape-lto5", 50, 8000, 0.8)] {
        let [sstf, smtf] = both(model, depth, requests);
        assert!(smtf <= share * sstf, "{model}: {smtf} ms, its base {sstf} ms");
    }
}

/// Mean response of 4-KiB reads in 50 MB, 50 outstanding; counted are so many that come after `warmup`.
fn drifting(model: &str, drift: &str, mimic: &str, warmup: u32, requests: u32) -> f64 {
    let text = format!(
        "[drive]\nmodel = \"{model}\"\n{drift}\n[scheduler]\npolicy = \"smtf\"\nmimic = {{ grain = \"4KiB\", {mimic} }}\n\
         [[workload]]\nname = \"reads\"\nkind = \"closed\"\ndepth = 50\nsize = \"4KiB\"\nregion = \"400MiB..450MiB\"\n\
         [run]\nwarmup = \"{warmup}s\"\nrequests = {requests}\n"
    );
    results(&text).runs[0].classes["reads"].response_ms.mean
}

const IN_USE: &str = "learn = \"online-set\"";
const OFF_LINE: &str = "learn = \"off-line\", reach = \"64MiB\"";

/// From `drift` seconds on seeks take a fifth longer; `after` more, and what was learned in use is within 5 % of what is
/// learned as `fresh` of the drive as it is now, after `warmup`. A table of the drive as it was is not.
fn is_back(model: &str, drift: u32, after: u32, fresh: &str, warmup: u32) {
    let later = format!("drift = {{ at = \"{drift}s\", seek = 0.2 }}");
    let fresh = drifting(model, "drift = { at = \"0s\", seek = 0.2 }", fresh, warmup, 20_000);
    let old = drifting(model, &later, OFF_LINE, drift + 10, 8000);
    let at_once = drifting(model, &later, IN_USE, drift, 2000);
    let then = drifting(model, &later, IN_USE, drift + after, 20_000);
    let requests = f64::from(after) * 50e3 / then;
    println!(
        "{model}: {then:.1} ms {after} s or some {requests:.0} requests after the drift, {at_once:.1} ms at once; a fresh table \
         {fresh:.1} ms, the old one {old:.1} ms"
    );
    assert!(then <= 1.05 * fresh, "{model}: {then} ms, a fresh table {fresh} ms");
    assert!(at_once > 1.1 * fresh && old > 1.15 * fresh, "{model}: the drift is nothing to learn");
}

#[test]
fn what_is_learned_in_use_follows_a_drive_that_drifts() {
    is_back("ibm-9lzx", 400, 60, OFF_LINE, 10);
}

#[test]
fn what_was_never_tried_is_tried_where_that_may_pay() {
    let table = drifting("mimic-2", "", OFF_LINE, 10, 20_000);
    let [soon, later] = [100, 600].map(|warmup| drifting("mimic-2", "", IN_USE, warmup, 20_000) / table);
    println!("{soon:.3} of a table learned before after 100 s, {later:.3} after 600 s");
    assert!(soon < 1.3 && later < 1.08, "{soon}, then {later} of a table learned before");
}

#[test]
#[ignore = "a minute: longer, and on other drives"]
fn what_is_learned_in_use_follows_other_drives_that_drift() {
    is_back("ibm-9lzx", 1000, 60, OFF_LINE, 10);
    is_back("mimic-base", 1000, 60, OFF_LINE, 10);
    // Where seeks hardly count, all of some 25,000 distances are worth trying.
    is_back("mimic-2", 1000, 200, OFF_LINE, 10);
}

#[test]
fn where_the_drive_reads_ahead_of_a_hot_spot_learning_in_use_is_better_than_before() {
    for (model, share) in [("atlas10k", 1.15), ("st318437lw", 1.15)] {
        let rate = |learn: &str| {
            let text = format!(
                "[drive]\nmodel = \"{model}\"\n[scheduler]\npolicy = \"smtf\"\nmimic = {{ grain = \"4KiB\", learn = \"{learn}\" }}\n\
                 [[workload]]\nname = \"hot\"\nkind = \"closed\"\ndepth = 16\nsize = \"4KiB\"\nregion = \"400MiB..408MiB\"\n\
                 [run]\nwarmup = \"100s\"\nrequests = 20000\n"
            )
            .replace("learn = \"off-line\"", OFF_LINE);
            results(&text).runs[0].classes["hot"].response_ms.mean
        };
        let (online, before) = (rate("online-set"), rate("off-line"));
        println!("{model}: {online:.1} ms learned in use, {before:.1} ms before");
        assert!(online * share <= before, "{model}: {online} ms in use, {before} ms before");
    }
}
