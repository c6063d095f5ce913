//! Whole experiments: the same bytes from the same seed, the same drive for every scheduler, belief that is worth its
//! name, traces replayed as their mode says, searches that do not look at everything, and short commands that change
//! nothing but who may step in.

mod belief;
mod determinism;
mod effort;
mod files;
mod plans;
mod replay;
mod short_commands;
