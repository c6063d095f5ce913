//! Volumes as block devices of this machine (ublk): the kernel's programs read and write `/dev/ublkbN`, and this process serves it.
//!
//! **A queue is a client.** Each queue of the device is to the front what an NBD connection is, as a queue of a virtual machine's disk
//! is (`virtio`): the engine's own ring fetches requests and commits answers, many at a time (`line`). What is written is copied out
//! of a request, and what was read into it, by the engine (`UBLK_F_USER_COPY`), so that the memory is the front's as of any client.
//!
//! **It outlives its service.** When the process is killed the kernel keeps the device, and what was asked of it; the next service of
//! the volume takes it over, and what was in flight is done over (`UBLK_F_USER_RECOVERY_REISSUE`). A service that is told to end ends
//! it: while it still answers, so that nothing of what was asked is lost.
//!
//! Setting up and ending is a thread's, one a device (`port`), by commands to `/dev/ublk-control`. The protocol: `linux/ublk_cmd.h`,
//! Documentation/block/ublk.rst of Linux 6.12. All that is unsafe is in `shared`.

#[cfg(test)]
pub(crate) mod imitation;
mod line;
mod port;
mod protocol;
mod shared;

pub(crate) use line::{BlockQueue, BlockQueueLine};
pub(crate) use port::{BlockPort, block_ports};
