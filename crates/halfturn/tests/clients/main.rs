//! Clients that others wrote, against `halfturn serve`, over a UNIX socket.
//!
//! A client that is not installed is a loud SKIPPED that names its Debian package, and a failure where `CI` is `true`;
//! `.ci/packages` installs them all. Mounted file systems need root, `/dev/fuse` and loop devices. Every random choice
//! comes from a fixed seed.
//!
//! The kernel's tracer is tried here too, as `halfturn trace capture` uses it; that needs root and tracefs.

mod attended;
mod capture;
#[cfg(feature = "tls")]
mod certificates;
mod checker;
mod cold;
mod copies;
mod crowd;
mod databases;
mod dice;
mod extended;
mod failing;
mod fio;
mod full_log;
#[cfg(feature = "vhost-user")]
mod guest;
mod hostile;
mod mounted;
mod nbdkit;
mod offered;
mod pages;
mod rebuilt;
mod reloaded;
#[cfg(feature = "tls")]
mod secured;
mod served_array;
mod server;
mod tool;
