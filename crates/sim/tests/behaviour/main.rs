//! Whole experiments: the same bytes from the same seed, the same drive for every scheduler, belief that is worth its
//! name, traces replayed as their mode says, and searches that do not look at everything.

mod belief;
mod determinism;
mod effort;
mod files;
mod plans;
mod replay;
