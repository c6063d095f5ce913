//! Flash memory, as its file describes it.

use super::keys::{CAPACITY, MB_S, capacity, time};
use super::{Form, Kind};
use block::{BadInput, Span};
use config::Section;
use std::path::Path;

config::keys! {
    /// Commands that are at the memory at once.
    CHANNELS: u32 = within("channels", 1, 4096).usually("1");
    /// From command to data.
    READ: Span = span("read").required();
    /// From data to completion.
    WRITE: Span = span("write").required();
}

pub(super) static FORM: Form = Form {
    word: "flash",
    what: "flash memory",
    keys: &[CAPACITY.about, CHANNELS.about, READ.about, WRITE.about, MB_S.about],
    example: "kind = \"flash\"
title = \"a small SSD\"
capacity = \"80GB\"
channels = 10
read = \"65us\"
write = \"85us\"
mb_s = 250",
    text: "A time for each command wherever it goes, so many at once, and one bus.",
    least_depth: 1,
    read,
};

/// Flash memory: a time for each command wherever it goes, so many at a time, and one bus.
#[derive(Clone, Debug, PartialEq)]
pub struct Flash {
    /// Blocks that a host may address.
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
        channels: root.value(&CHANNELS)? as u16,
        read: time(root, &READ)?,
        write: time(root, &WRITE)?,
        mb_s: root.value(&MB_S)?,
    }))
}
