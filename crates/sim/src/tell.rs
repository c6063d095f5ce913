//! Who is told how far a run is, and may end it.

use std::ops::ControlFlow;

/// Told how many more requests have ended, it says whether to go on.
pub(crate) type Tell<'a> = &'a (dyn Fn(u64) -> ControlFlow<()> + Sync);

/// Nobody is told, and the run goes on.
pub(crate) const UNTOLD: Tell = &|_| ControlFlow::Continue(());
