//! Worlds in virtual time: a core over simulated drives, run as fast as the machine can.
//!
//! The same experiment and seed give the same results on any machine and any number of threads: each
//! replication of each run is a simulation of its own, and they are joined in the order of the sweep. Threads take them one by one
//! (`with_max_len(1)`): of several taken together the rest would wait for the first, though another thread has nothing to do.

mod able;
mod advise;
mod advised;
mod arms;
mod bench;
mod camera;
mod drives;
mod film;
mod learned;
#[cfg(test)]
mod made;
mod moves;
mod oracle;
mod panorama;
mod probes;
mod reel;
mod replication;
mod simulate;
mod stage;
mod tell;
mod timeline;
mod trial;
mod unit;

pub mod validate;

pub use able::ABLE;
pub use advise::{Advice, SearchWatch, advise, draw_candidates, score_all};
pub use advised::{AdviceFigures, AdviceFound, AdvisedMeasure};
pub use bench::Bench;
pub use film::{Ended, Step, Window};
pub use panorama::{Panorama, panorama, panoramas};
pub use replication::{Effort, Replication};
pub use simulate::{
    Opens, TakesRun, Unfinished, Unwatched, Watch, simulate, simulate_and_record, simulate_each, sweep,
};
pub use stage::{check, replicate};
pub use timeline::{Timeline, timeline};
pub use unit::bench;
