//! Virtual machines as clients: a volume is a disk of theirs, and its requests lie in memory that they share (vhost-user-blk).
//!
//! **A queue is a client.** Each queue of a virtual disk is to the front what an NBD connection is: what is in flight of it, in which
//! order it goes, of which class it is, how it is flushed, hindered and counted. What is a queue's own is only how a request is read
//! and answered: `ask` reads descriptors, of which nothing can be assumed, `queue` has the rings, `inflight` what a service that was
//! killed has to do over.
//!
//! **The frontend is trusted, its guest is not.** Whoever may open the socket (by its permissions, the user that serves) shares memory
//! with the engine, and can take it away. A guest can write what it likes into that memory: a descriptor that makes no sense fails its
//! request or stops its queue, and nothing else.
//!
//! Setting up is a thread's, one a socket (`port`); it leaves messages for the engine as the door does. From then on the engine hears
//! the queue's bell itself. The protocol: vhost-user of the QEMU project; the disk: virtio 1.2, section 5.2.
//!
//! It is a feature, `vhost-user`: without it, whoever wants a virtual disk is told how to get it.

#[cfg(not(feature = "vhost-user"))]
mod absent;
#[cfg(feature = "vhost-user")]
mod ask;
#[cfg(feature = "vhost-user")]
mod disk;
#[cfg(feature = "vhost-user")]
mod frontend;
#[cfg(feature = "vhost-user")]
#[doc(hidden)]
pub mod hostile;
#[cfg(feature = "vhost-user")]
mod inflight;
#[cfg(feature = "vhost-user")]
mod pacing;
#[cfg(feature = "vhost-user")]
mod port;
#[cfg(feature = "vhost-user")]
mod queue;

#[cfg(not(feature = "vhost-user"))]
pub(crate) use absent::{NoPort as Port, ports};
#[cfg(feature = "vhost-user")]
pub(crate) use port::{Port, QueueOrder, ports};
#[cfg(feature = "vhost-user")]
pub(crate) use queue::{GuestQueue, QueueLine};
