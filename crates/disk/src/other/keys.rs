//! Keys that several kinds of device have.

use crate::read::positive;
use block::{BadInput, Span};
use config::Section;

/// The longest time of a device, so that sums of a few stay in range.
const LONGEST: Span = Span(86_400_000_000_000);

/// The blocks of a device.
pub(super) fn capacity(root: &Section) -> Result<u64, BadInput> {
    match root.need("capacity", root.size("capacity")?)? {
        0 => Err(root.error("capacity", "`capacity` is zero", "give at least one block of 512 bytes")),
        // As far as the layouts of disks go.
        blocks if blocks >= 1 << 48 => {
            Err(root.error("capacity", "`capacity` is 128 PiB or more", "give a smaller one"))
        }
        blocks => Ok(blocks),
    }
}

/// The rate of data, of at least a kB/s.
pub(super) fn rate(root: &Section) -> Result<f64, BadInput> {
    match positive(root, "mb_s")? {
        rate if rate < 0.001 => Err(root.error("mb_s", format!("mb_s is {rate}"), "give 10^6 bytes a second")),
        rate => Ok(rate),
    }
}

/// A time that must be given.
pub(super) fn time(root: &Section, key: &str) -> Result<Span, BadInput> {
    root.need(key, bounded(root, key)?)
}

/// A time that may be given.
pub(super) fn bounded(root: &Section, key: &str) -> Result<Option<Span>, BadInput> {
    match root.span(key)? {
        Some(span) if span > LONGEST => {
            Err(root.error(key, format!("`{key}` is more than a day"), "give a shorter time"))
        }
        span => Ok(span),
    }
}
