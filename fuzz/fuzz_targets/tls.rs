//! A handshake with TLS: bytes of a peer that says anything, and changes of what an honest one says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use live::Doorstep;
use std::path::Path;
use std::sync::LazyLock;

static DOOR: LazyLock<Doorstep> =
    LazyLock::new(|| Doorstep::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/live/tests/certificates")));
const WISH: &[u8] = b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0";

fuzz_target!(|data: &[u8]| {
    let Some((piece, bytes)) = data.split_first() else { return };
    if piece % 2 == 0 {
        let said = if piece % 4 == 0 { bytes.to_vec() } else { [WISH, bytes].concat() };
        assert!(!DOOR.says(&said, usize::from(*piece)), "nobody signed that");
    } else {
        let changes: Vec<(u16, u8)> =
            bytes.chunks_exact(3).map(|it| (u16::from_be_bytes([it[0], it[1]]), it[2])).collect();
        let _ = DOOR.meddle(&changes);
    }
});
