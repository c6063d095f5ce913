//! How often the 95 % interval of a mean holds the mean of a very long run.

use load::experiment::{Case, Experiment, parse};
use load::results::{Distribution, Results};
use sim::Watch;

/// Nobody watches.
struct Blind;

impl Watch for Blind {
    fn requests(&self, _: u64) {}
    fn replication(&self) {}
}

fn results(cases: &[Case]) -> Results {
    sim::simulate(cases, &Blind).unwrap_or_else(|error| panic!("{error}"))
}

/// What is tried.
struct Scene {
    policy: &'static str,
    load: String,
    run: String,
}

impl Scene {
    fn case(&self) -> Case {
        let text = format!(
            "[drive]\nmodel = \"mimic-base\"\nread_cache = false\n[scheduler]\npolicy = \"{}\"\n[[workload]]\nname = \"a\"\n{}\n\
             size = \"4KiB\"\n[run]\n{}\n",
            self.policy, self.load, self.run
        );
        parse("coverage.toml", &text, &[], None).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0)
    }

    fn with(&self, change: impl Fn(&mut Experiment)) -> Case {
        let mut case = self.case();
        change(&mut case.experiment);
        case
    }

    /// The mean of so many requests, in replications with seeds apart from those of the tries.
    fn truth(&self, replications: u32, requests: u64) -> Distribution {
        let case = self.with(|experiment| {
            experiment.run.seed = 777_777;
            experiment.run.replications = replications;
            experiment.run.duration = None;
            experiment.run.requests = Some(requests);
            experiment.run.warmup = block::Span(100_000_000_000);
            experiment.run.settles = false;
        });
        results(&[case]).runs[0].classes["a"].response_ms.clone()
    }

    fn tries(&self, seeds: std::ops::Range<u64>) -> Vec<Distribution> {
        let cases: Vec<Case> = seeds.map(|seed| self.with(|experiment| experiment.run.seed = seed)).collect();
        let all = results(&cases);
        all.runs.iter().map(|run| run.classes["a"].response_ms.clone()).collect()
    }
}

#[test]
#[ignore]
fn explore() {
    let tries: u64 = std::env::var("TRIES").map_or(300, |it| it.parse().unwrap());
    let loads = std::env::var("LOADS").unwrap_or("1,16,50,200".into());
    let policies = std::env::var("POLICIES").unwrap_or("fcfs,satf,yield".into());
    let runs = std::env::var("RUNS").unwrap_or("requests = 600|replications = 20".into());
    for load in loads.split(',') {
        let kind = if load.contains('/') { format!("kind = \"open\"\nrate = \"{load}\"") } else { format!("kind = \"closed\"\ndepth = {load}") };
        for policy in policies.split(',') {
            let policy: &'static str = policy.to_owned().leak();
            for run in runs.split(';') {
                let scene = Scene { policy, load: kind.clone(), run: run.replace('|', "\n") };
                let truth = scene.truth(40, 25_000);
                let tries = scene.tries(1000..1000 + tries);
                let hits = tries.iter().filter(|it| it.ci95.is_some_and(|ci| (it.mean - truth.mean).abs() <= ci)).count();
                let none = tries.iter().filter(|it| it.ci95.is_none()).count();
                let mean = tries.iter().map(|it| it.mean).sum::<f64>() / tries.len() as f64;
                let width = tries.iter().filter_map(|it| it.ci95).sum::<f64>() / tries.len() as f64;
                let sd = (tries.iter().map(|it| (it.mean - mean).powi(2)).sum::<f64>() / tries.len() as f64).sqrt();
                println!(
                    "{policy:6} {load:8} {run}: {:.1} % hold {:.3} ± {:.3}; none {none}; bias {:+.2} % = {:+.2} sd; ± {:.2} %",
                    hits as f64 / (tries.len() - none).max(1) as f64 * 100.0,
                    truth.mean,
                    truth.ci95.unwrap(),
                    (mean / truth.mean - 1.0) * 100.0,
                    (mean - truth.mean) / sd,
                    width / truth.mean * 100.0
                );
            }
        }
    }
}
