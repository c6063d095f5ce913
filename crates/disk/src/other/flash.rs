//! Flash memory, as its file describes it.

use super::keys::{capacity, rate, time};
use super::{Form, Kind};
use block::{BadInput, Span};
use config::Section;
use std::path::Path;

pub(super) static FORM: Form = Form {
    word: "flash",
    what: "flash memory",
    keys: "`capacity`, `channels`, `read`, `write`, `mb_s`",
    text: "a time for each command wherever it goes, so many at once, \
           and one bus",
    least_depth: 1,
    read,
};

/// Flash memory: a time for each command wherever it goes, so many at a time, and one bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Flash {
    /// Capacity in blocks.
    pub blocks: u64,
    /// Commands that are at the memory at once; at least 1.
    pub channels: u16,
    /// From command to data.
    pub read: Span,
    /// From data to completion.
    pub write: Span,
    /// Rate of the bus, 10^6 bytes/s.
    pub mb_s: f64,
}

fn read(root: &Section, _: &Path) -> Result<Kind, BadInput> {
    Ok(Kind::Flash(Flash {
        blocks: capacity(root)?,
        channels: root.within("channels", 1, 4096)?.unwrap_or(1) as u16,
        read: time(root, "read")?,
        write: time(root, "write")?,
        mb_s: rate(root)?,
    }))
}
