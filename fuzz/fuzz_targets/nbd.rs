//! Bytes of an NBD peer, to a server and to a client, in pieces as long as the first byte says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use nbd::{BlockSize, Export, Flags};

#[path = "../../crates/nbd/tests/peers/hostile/peer.rs"]
mod peer;

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    let block = BlockSize { minimum: 512, preferred: 4096, maximum: 1 << 25 };
    let bulk = Export { name: "bulk".into(), size: 1 << 30, block, flags: Flags(0x1fff), ..Export::default() };
    let plain = Export { name: "db".into(), size: 512, ..Export::default() };
    peer::meet(&[bulk, plain], bytes, usize::from(*piece));
});
