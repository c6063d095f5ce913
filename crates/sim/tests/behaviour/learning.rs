//! A scheduler that learns its device is nowhere worse than what it began with, and better where distance tells something.

use crate::files::results;

/// Mean responses of `sstf` and `smtf` with so many requests outstanding.
fn both(model: &str, depth: u32, requests: u32) -> [f64; 2] {
    let text = format!(
        "[drive]\nmodel = \"{model}\"\n[scheduler]\npolicy = [\"sstf\", \"smtf\"]\n[[workload]]\nname = \"reads\"\n\
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
