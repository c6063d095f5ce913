//! Keys that several kinds of device have.

use block::{BadInput, Span};
use config::{Key, Section};

/// The longest time of a device, so that sums of a few stay in range.
const LONGEST: Span = Span(86_400_000_000_000);

/// The least rate, 10^6 bytes/s: a kB/s.
const SLOWEST: f64 = 0.001;

config::keys! {
    /// How much it holds.
    pub(super) CAPACITY: u64 = size("capacity").required();
    /// Rate of its data, 10^6 bytes/s.
    pub(super) MB_S: f64 = number("mb_s", SLOWEST, f64::MAX).required();
}

/// The blocks of a device.
pub(super) fn capacity(root: &Section) -> Result<u64, BadInput> {
    match root.value(&CAPACITY)? {
        0 => Err(root.error("capacity", "`capacity` is zero", "give at least one block of 512 bytes")),
        // As far as the layouts of disks go.
        blocks if blocks >= 1 << 48 => {
            Err(root.error("capacity", "`capacity` is 128 PiB or more", "give a smaller one"))
        }
        blocks => Ok(blocks),
    }
}

/// A time of at most a day.
pub(super) fn time(root: &Section, key: &Key<Span>) -> Result<Span, BadInput> {
    match root.value(key)? {
        span if span > LONGEST => {
            Err(root.error(key.name(), format!("`{}` is more than a day", key.name()), "give a shorter time"))
        }
        span => Ok(span),
    }
}
