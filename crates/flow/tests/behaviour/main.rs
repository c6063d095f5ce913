//! What a system promises: every processor's time told apart, and waits, wake-ups and slices as they were meant.

mod bench;
mod cache;
mod laws;
mod limits;
mod locks;
mod picture;
mod processors;
mod recorded;
mod recorded_laws;
mod waits;
