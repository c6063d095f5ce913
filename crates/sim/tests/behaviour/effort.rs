//! How many waiting requests a decision looks at: far fewer than there are, however they crowd.

use crate::files::once;

/// Depth, where, request size, share of reads, and the most that may be examined in a decision on average: twice what
/// it was when this was written.
const BOUNDS: [(&str, u32, &str, &str, f64, f64); 17] = [
    ("satf", 10, "0%..100%", "4KiB", 1.0, 18.0),
    ("satf", 50, "0%..100%", "4KiB", 1.0, 34.0),
    ("satf", 100, "0%..100%", "4KiB", 1.0, 44.0),
    ("satf", 1000, "0%..100%", "4KiB", 1.0, 60.0),
    ("satf", 10_000, "0%..100%", "4KiB", 1.0, 96.0),
    ("satf", 1000, "50%..51%", "4KiB", 1.0, 200.0),
    ("satf", 10_000, "0B..2004 blocks", "512B", 1.0, 200.0),
    ("satf", 50, "0%..100%", "4KiB", 0.5, 70.0),
    ("satf", 1000, "0%..100%", "4KiB", 0.5, 120.0),
    ("satf", 10_000, "0%..100%", "4KiB", 0.5, 190.0),
    ("asatf", 1000, "0%..100%", "4KiB", 1.0, 120.0),
    ("sstf", 10_000, "0%..100%", "4KiB", 1.0, 60.0),
    ("lookahead", 50, "0%..100%", "4KiB", 1.0, 1700.0),
    ("lookahead", 1000, "0%..100%", "4KiB", 1.0, 5300.0),
    ("smtf", 100, "0%..100%", "4KiB", 1.0, 16.0),
    ("smtf", 1000, "0%..100%", "4KiB", 1.0, 150.0),
    ("smtf", 10_000, "0%..100%", "4KiB", 1.0, 400.0),
];

#[test]
fn a_decision_examines_few_of_many_candidates() {
    let mut wrong = Vec::new();
    println!("policy     depth  region           reads  candidates a decision");
    for (policy, depth, region, size, read, bound) in BOUNDS {
        let requests = 6000 + 3 * depth;
        let effort = once(&format!(
            r#"
            [drive]
            model = "atlas10k"
            write_buffer = false
            [scheduler]
            policy = "{policy}"
            [[workload]]
            name = "random"
            kind = "closed"
            depth = {depth}
            size = "{size}"
            read = {read:?}
            region = "{region}"
            [run]
            requests = {requests}
            "#
        ))
        .effort;
        let each = effort.examined as f64 / effort.decisions as f64;
        println!("{policy:9} {depth:6}  {region:16} {read:4}  {each:6.1}");
        if each > bound {
            wrong.push(format!("{policy} at depth {depth} in {region}: {each:.1}, bound {bound}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
