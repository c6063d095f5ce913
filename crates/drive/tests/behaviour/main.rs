//! How a drive behaves from outside: every nanosecond is attributed, streams run at the rates of the medium, writes are
//! reported early while there is room and no longer, noise is the same for everyone.

mod accounts;
mod arms;
mod figures;
mod habits;
mod noise;
mod other;
mod queue;
mod random;
mod rig;
mod shingles;
mod streams;
mod writes;
mod zones;
