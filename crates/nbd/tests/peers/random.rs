//! Random cases from a fixed seed: `HALFTURN_SEED=N cargo test NAME` runs those of another.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};

/// Tests `cases` values of a strategy; a failure shows the least one found and the seed.
pub fn check<S: Strategy>(cases: u32, values: S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let seed = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let config = Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() };
    if let Err(error) = TestRunner::new(config).run(&values, test) {
        panic!("{error}\nHALFTURN_SEED={seed}");
    }
}
