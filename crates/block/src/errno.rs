//! Why something was not done, in the numbers of Linux.

/// Input/output error: the device did not do it.
pub const EIO: i32 = 5;
/// Invalid argument: there is no such thing to do.
pub const EINVAL: i32 = 22;
/// No space left on device.
pub const ENOSPC: i32 = 28;
/// No data available: what was asked for was not brought, which is no error of the device.
pub const ENODATA: i32 = 61;
/// Its time has passed.
pub const ETIME: i32 = 62;
/// Not supported: the device, or what it lies on, cannot do that.
pub const EOPNOTSUPP: i32 = 95;
/// It took longer than anybody waits.
pub const ETIMEDOUT: i32 = 110;
/// Cancelled: nobody waits for it any more.
pub const ECANCELED: i32 = 125;
