//! The oracle, as far as users are told of it. It is a shadow of the simulated drive itself, which this crate does not know: the
//! world that simulates the drive makes it (`sim/src/oracle.rs`).

use super::{Manual, Tells};

pub(super) const MANUAL: Manual = Manual {
    name: "oracle",
    text: "Asks a shadow of the simulated drive itself. No real scheduler knows so much; where nothing is written, its results are a bound.",
    keys: &[],
    table: None,
    example: "predictor = \"oracle\"",
    tells: Tells::Way,
};
