//! Looking ahead is worth what it costs: more than greedy with perfect knowledge, and nobody waits longer for it.

use crate::files::{once, per_second};
use sim::Replication;

fn run(model: &str, policy: &str, noise: bool, depth: u32) -> Replication {
    once(&format!(
        "[drive]\nmodel = \"{model}\"\nqueue = 1\nnoise = {noise}\n[scheduler]\n{policy}\n[[workload]]\nname = \"reads\"\nkind = \"closed\"\n\
         depth = {depth}\nsize = \"512B\"\nalign = \"512B\"\n[run]\nwarmup = \"10s\"\nrequests = 12000\n"
    ))
}

const LOOKAHEAD: &str = "policy = \"lookahead\"";
const SATF: &str = "policy = \"satf\"";
const OPTIMAL: &str = "policy = \"satf\"\npredictor = \"oracle\"";

#[test]
fn it_is_three_percent_above_greedy_optimal_and_never_starves() {
    for model in ["st318437lw", "atlas10k", "nl20"] {
        let [ahead, satf, optimal] = [LOOKAHEAD, SATF, OPTIMAL].map(|policy| run(model, policy, false, 50));
        let [rate, greedy, bound] = [&ahead, &satf, &optimal].map(per_second);
        let [longest, greedy_longest] = [&ahead, &satf].map(longest);
        println!(
            "{model}: {rate:.1}/s, satf {greedy:.1}/s, greedy-optimal {bound:.1}/s; {longest:.0} and {greedy_longest:.0} ms"
        );
        assert!(rate >= 1.03 * greedy && rate >= 1.03 * bound, "{model}: {rate} a second, greedy {greedy} and {bound}");
        assert!(longest < 0.9 * greedy_longest, "{model}: {longest} ms, greedy {greedy_longest} ms");
    }
}

#[test]
fn with_noise_it_is_three_percent_above_greedy_with_the_same_belief() {
    for model in ["st318437lw", "nl20"] {
        let [ahead, satf] = [LOOKAHEAD, SATF].map(|policy| per_second(&run(model, policy, true, 50)));
        assert!(ahead >= 1.03 * satf, "{model}: {ahead} and {satf} a second");
    }
}

fn longest(run: &Replication) -> f64 {
    run.meter.classes().map(|(_, class)| class.response_ms.max).fold(0.0, f64::max)
}
