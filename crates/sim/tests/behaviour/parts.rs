//! What a part of a striped request is worth: more, the less remains of it (Preemptive RAID scheduling, Eq. 2).

use load::experiment;
use rayon::prelude::*;
use sim::replicate;

/// Large requests, four pieces each, beside small ones, one piece each, on four striped disks.
const STRIPED: &str = "[[disk]]\nmodel = \"atlas10k\"\ncount = 4\n[array]\nlevel = \"0\"\nstripe = \"64KiB\"\n\
    [scheduler]\npolicy = \"POLICY\"\nio = \"semi-preemptible\"\npreemption = \"never\"\n\
    plan = { chunk = \"64KiB\", split = \"never\" }\n\
    [scheduler.class.big]\nyield = \"best-effort\"\nvalue_per = \"PER\"\n\
    [scheduler.class.small]\nyield = \"best-effort\"\nvalue_per = \"PER\"\n\
    [[workload]]\nname = \"big\"\nkind = \"closed\"\ndepth = 4\nsize = \"256KiB\"\nalign = \"64KiB\"\n\
    [[workload]]\nname = \"small\"\nkind = \"closed\"\ndepth = 16\nsize = \"64KiB\"\nalign = \"64KiB\"\n\
    [run]\nduration = \"60s\"\nwarmup = \"5s\"\n";

/// What both classes yield.
fn yields(policy: &str, per: &str) -> [f64; 2] {
    let text = STRIPED.replace("POLICY", policy).replace("PER", per);
    let cases = experiment::parse("parts", &text, &[], None).unwrap_or_else(|error| panic!("{error}"));
    let done = replicate(&cases[0].experiment, 0, &|_| ()).unwrap();
    let of = |class: usize| done.meter.classes().nth(class).map_or(0.0, |(_, class)| class.yield_);
    [of(0), of(1)]
}

fn by_yield_and_satf(per: &str) -> [[f64; 2]; 2] {
    let both: Vec<_> = ["yield", "satf"].par_iter().map(|policy| yields(policy, per)).collect();
    [both[0], both[1]]
}

#[test]
fn requests_that_are_nearly_complete_go_first() {
    // A whole large request is worth as much for its size as a small one: only by what remains of it is a piece preferred.
    let [[big, small], [big_by_satf, small_by_satf]] = by_yield_and_satf("MiB");
    assert!(big > 1.5 * big_by_satf, "{big} MiB of large requests, {big_by_satf} by SATF");
    assert!(small > 0.3 * small_by_satf, "{small} MiB of small requests, {small_by_satf} by SATF");
}

#[test]
fn a_piece_of_a_large_request_is_worth_a_part_of_it() {
    let [by_yield, by_satf] = by_yield_and_satf("request").map(|[big, small]| big + small);
    assert!(by_yield > 1.1 * by_satf, "{by_yield} requests, {by_satf} by SATF");
}
