//! Damaged and made-up streams: whatever comes, a peer is answered or hung up on, and costs no more than it may.

pub mod peer;

use crate::random::check;
use proptest::collection::vec;
use proptest::prelude::*;

/// What a client and what a server may send, in the order that leads furthest.
fn phrases() -> Vec<Vec<u8>> {
    let option = |number: u32, data: &[u8]| {
        [&b"IHAVEOPT"[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
    };
    let answer = |number: u32, kind: u32, data: &[u8]| {
        let magic = 0x0003_e889_0455_65a9_u64.to_be_bytes();
        [&magic[..], &number.to_be_bytes(), &kind.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
    };
    let mut phrases = vec![
        b"\0\0\0\x03".to_vec(),
        option(8, b""),
        option(10, b"\0\0\0\x02db\0\0\0\x01\0\0\0\x0fbase:allocation"),
        option(3, b""),
        option(7, b"\0\0\0\x04bulk\0\x02\0\x03\0\x01"),
        option(99, &[0; 40_000]),
        b"NBDMAGICIHAVEOPT\0\x03".to_vec(),
        answer(8, 1, b""),
        answer(7, 3, b"\0\0\0\0\0\0\0\0\x10\0\0\x01"),
        answer(7, 3, b"\0\x03\0\0\0\0\0\0\0\0\0\0\0\0"),
        answer(7, 1, b""),
        answer(3, 2, b"\0\0\0\x02dbx"),
        nbd::reply::data(1, 0, 512, nbd::reply::Chunk::More).to_vec(),
        nbd::reply::hole(1, 0, 512, nbd::reply::Chunk::Last).to_vec(),
        b"nbd+unix:///%41?socket=/a".to_vec(),
    ];
    for command in 0..9u8 {
        let header = [&b"\x25\x60\x95\x13\0\0\0"[..], &[command], &[0; 18], b"\x02\0"].concat();
        phrases.push(header);
    }
    phrases
}

/// Phrases in a row, some of them damaged, and noise.
fn streams() -> impl Strategy<Value = (Vec<u8>, usize)> {
    let phrases = phrases();
    let phrase = (0..phrases.len()).prop_map(move |n| phrases[n].clone());
    let damaged = (phrase.clone(), any::<prop::sample::Index>(), any::<u8>()).prop_map(|(mut phrase, at, byte)| {
        let at = at.index(phrase.len());
        phrase[at] = byte;
        phrase
    });
    let part = prop_oneof![6 => phrase, 3 => damaged, 1 => vec(any::<u8>(), 0..64)];
    (vec(part, 0..12).prop_map(|parts| parts.concat()), 1usize..200)
}

#[test]
fn no_peer_makes_anybody_panic_or_ask_for_too_much() {
    let exports = crate::exports();
    check(40_000, streams(), |(bytes, piece)| {
        peer::meet(&exports, &bytes, piece);
        Ok(())
    });
}

#[test]
fn no_client_makes_a_handshake_keep_more_than_an_option() {
    use nbd::limits::MAX_OPTION_BYTES;
    let exports = crate::exports();
    let option = |number: u32, length: u32| [&b"IHAVEOPT"[..], &number.to_be_bytes(), &length.to_be_bytes()].concat();
    for (length, repeat) in [(MAX_OPTION_BYTES, 50), (1 << 20, 5), (0, 10_000)] {
        let one = [option(7, length), vec![0; length as usize]].concat();
        let bytes = [b"\0\0\0\x03".to_vec(), one.repeat(repeat)].concat();
        let mut out = Vec::with_capacity(4096);
        let used = allocation_counter::measure(|| {
            let mut server = nbd::Handshake::new(&exports[..], &mut out);
            let mut left = &bytes[..];
            while !left.is_empty() {
                out.clear();
                assert_eq!(server.feed(&mut left, &mut out), nbd::HandshakeStep::More);
            }
        });
        let most = 2 * u64::from(MAX_OPTION_BYTES);
        assert!(used.bytes_max <= most, "{} bytes kept for options of {length}", used.bytes_max);
    }
}
