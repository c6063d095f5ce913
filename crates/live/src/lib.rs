//! The world in real time: the core that was simulated serves a file, a block device or an emulate drive.
//!
//! One engine thread has the core, its device and whoever asks it for I/O: NBD clients in transmission, or the workloads
//! of an experiment. The core is the same as in virtual time, and so is its loop; what happens here is a clock that
//! cannot be stopped, memory that the kernel has a share of, and clients of whom nothing can be assumed. It promises
//! that nobody waits for a thread to be woken, that memory and requests are bounded, that a command's memory is used
//! for nothing else before it has come back, and that lateness is measured where it arises. What serves from a disk
//! must never know the truth of one: only an emulated drive has it.
//!
//! **A service is an experiment with clients.** One file has drive, scheduler, volumes and workloads: `simulate` asks
//! the workloads in virtual time, `bench` in real time, `serve` lets clients ask. The core is made by the same code
//! (`load::schedule`), and the loop is the same; `live::Live` is a world whose clock cannot be stopped, and whoever
//! asks is a `Source`: clients, or a mix of workloads.

pub mod array;
mod askers;
mod bell;
mod bench;
mod castagnoli;
mod claim;
mod clock;
pub mod control;
mod desk;
mod direct;
mod door;
mod engine;
mod front;
mod guest;
mod identity;
mod kernel;
mod lateness;
pub mod log;
pub mod make;
pub mod memory;
pub mod metrics;
mod mixed;
mod priority;
mod recorder;
mod remote;
mod ring;
mod scan;
mod serve;
mod socket;
mod sparse;
mod store;
mod threads;
mod tls;
mod ublk;
pub mod unit;
mod virtio;
mod world;

#[doc(hidden)]
pub use array::write_log::hostile::read_log;
#[cfg(feature = "tls")]
#[doc(hidden)]
pub use tls::hostile::Doorstep;
#[cfg(feature = "vhost-user")]
#[doc(hidden)]
pub use virtio::hostile::serve as serve_guest;

pub use bell::Caller;
pub use bench::{Benched, bench, bench_far, place};
pub use claim::Use;
pub use clock::Clock;
pub use desk::{Desk, DeviceCaller};
pub use direct::{Direct, emulate, open};
pub use door::Listener;
pub use engine::ServiceReport;
pub use front::{ConnectedClient, EngineMessage, FaultSetting, Rates, Setting, Undone, VolumeFault, VolumeReport};
pub use identity::{Identity, PeerMatch};
pub use kernel::{Host, Kernel};
pub use lateness::Lateness;
pub use mixed::{Mixed, ProgressFn};
pub use recorder::{Difference, ReplayReport, RunRecorder, replay};
pub use remote::{Answer, Remote};
pub use scan::{BlockSink, OpenScan, ScanFailure};
pub use serve::NbdService;
pub use socket::{SocketName, private};
pub use store::Unwritten;
pub use tls::{Certificates, Reloaded};
pub use world::{LiveWorld, RequestSource};
