//! What is asked of a core and how its answers are counted: experiment files, workloads, trace replay,
//! metrics and results. It knows nothing of how a drive or a scheduler works.

pub mod results;
