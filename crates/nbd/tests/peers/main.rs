//! A server and a client, and what either does with a peer that breaks the protocol.

mod both;
mod hostile;
mod random;

use nbd::{BlockSize, Export, Flags};

/// A table of exports as a server might have it.
fn exports() -> Vec<Export> {
    let offered = [Flags::SEND_FLUSH, Flags::SEND_FUA, Flags::SEND_DF, Flags::SEND_TRIM, Flags::SEND_WRITE_ZEROES];
    let flags = offered.into_iter().fold(Flags::ROTATIONAL, Flags::with);
    let block = BlockSize { minimum: 512, preferred: 4096, maximum: 1 << 25 };
    let bulk =
        Export { name: "bulk".into(), description: "recordings".into(), size: 1 << 30, block, flags, secured: false };
    vec![bulk, Export { name: "db".into(), size: 512, flags: Flags::READ_ONLY, ..Export::default() }]
}
