//! Our client against our server, in memory.

use crate::random::check;
use nbd::client::{self, Body, Broken, ClientGoal};
use nbd::{ClientRequest, CommandFlags, Handshake, HandshakeStep, RequestType, Session, TlsPolicy};
use proptest::collection::vec;
use proptest::prelude::*;

/// The last step of either side; the server then has what the client sent last, and nothing is under way.
fn meet(wish: ClientGoal, piece: usize) -> (Result<client::ClientStep, Broken>, HandshakeStep) {
    meet_by(client::ClientHandshake::new(wish), TlsPolicy::Absent, piece)
}

/// The same of a client and a server that may want TLS, which here changes no byte.
fn meet_by(
    mut client: client::ClientHandshake,
    policy: TlsPolicy,
    piece: usize,
) -> (Result<client::ClientStep, Broken>, HandshakeStep) {
    let exports = crate::exports();
    let mut to_client = Vec::new();
    let mut server = Handshake::new(&exports[..], &mut to_client).with_tls(policy);
    let (mut ours, mut theirs) = (Ok(client::ClientStep::More), HandshakeStep::More);
    while !to_client.is_empty() {
        let mut to_server = Vec::new();
        for mut bytes in std::mem::take(&mut to_client).chunks(piece) {
            ours = client.feed(&mut bytes, &mut to_server);
            assert!(bytes.is_empty(), "{ours:?}");
            if ours == Ok(client::ClientStep::StartTls) {
                client.secure(&mut to_server);
            }
        }
        let mut bytes = &to_server[..];
        while !bytes.is_empty() {
            theirs = server.feed(&mut bytes, &mut to_client);
            if theirs == HandshakeStep::StartTls {
                server.secure(|_| true);
            }
        }
        if theirs == HandshakeStep::Closed(nbd::CloseReason::Aborted) {
            break;
        }
    }
    (ours, theirs)
}

fn sessions(name: &str) -> (Session, Session) {
    match meet(ClientGoal::Go(name.into()), 7) {
        (Ok(client::ClientStep::Ready(ours)), HandshakeStep::Ready(theirs)) => (ours, theirs),
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_agree_on_an_export() {
    for (name, number) in [("bulk", 0), ("", 0), ("db", 1)] {
        let (ours, theirs) = sessions(name);
        assert_eq!(theirs.export, number);
        assert!(theirs.structured);
        assert_eq!(ours, Session { export: 0, ..theirs });
        assert_eq!(ours.size, crate::exports()[number].size);
    }
}

#[test]
fn both_agree_on_tls_before_all_else() {
    let client = || client::ClientHandshake::new(ClientGoal::Go("db".into()));
    for policy in [TlsPolicy::Offered, TlsPolicy::Required] {
        let met = meet_by(client().with_tls(), policy, 5);
        assert!(matches!(met, (Ok(client::ClientStep::Ready(_)), HandshakeStep::Ready(_))), "{met:?}");
    }
    let refused = |met: (Result<_, Broken>, _)| met.0.expect_err("it is refused").to_string();
    assert!(refused(meet_by(client().with_tls(), TlsPolicy::Absent, 5)).contains("does not speak TLS"));
    assert!(refused(meet_by(client(), TlsPolicy::Required, 5)).contains("needs TLS"));
}

#[test]
fn a_client_learns_what_there_is_and_goes() {
    let (ours, theirs) = meet(ClientGoal::List, 1000);
    let Ok(client::ClientStep::Listed(found)) = ours else { panic!("{ours:?}") };
    let found: Vec<(&str, &str)> = found.iter().map(|one| (&*one.name, &*one.description)).collect();
    assert_eq!(found, [("bulk", "recordings"), ("db", "")]);
    assert_eq!(theirs, HandshakeStep::Closed(nbd::CloseReason::Aborted));
}

#[test]
fn a_client_is_told_that_there_is_no_such_export() {
    let (ours, theirs) = meet(ClientGoal::Go("none".into()), 1);
    assert_eq!(ours, Err(Broken::Refused("there is no export of this name".into())));
    assert_eq!(theirs, HandshakeStep::More);
}

#[test]
fn replies_are_understood_as_they_were_meant() {
    let (_, structured) = sessions("bulk");
    let simple = Session { structured: false, ..structured };
    let read =
        ClientRequest { command: RequestType::Read, flags: CommandFlags(0), cookie: 5, offset: 4096, length: 512 };
    let body = |mut bytes: &[u8]| {
        for short in 0..bytes.len() {
            assert_eq!(client::reply(&mut &bytes[..short]), Ok(None), "of {short} bytes");
        }
        let reply = client::reply(&mut bytes).unwrap().unwrap();
        assert_eq!((reply.cookie, bytes), (5, &[][..]));
        reply.body
    };
    assert_eq!(body(&structured.data(&read)), Body::Data { offset: 4096, length: 512 });
    assert_eq!(body(&simple.data(&read)), Body::Done);
    assert_eq!(body(&structured.success(&read)), Body::Done);
    assert_eq!(body(&nbd::reply::none(5)), Body::None);
    let hole = nbd::reply::hole(5, 0, 512, nbd::reply::Chunk::More);
    assert_eq!(body(&hole), Body::Hole { offset: 0, length: 512 });
    for (session, said) in [(structured, "no"), (simple, "")] {
        let mut out = Vec::new();
        session.error((5, 4096), nbd::Errno::NoSpc, "no", &mut out);
        assert_eq!(body(&out), Body::Failed { error: nbd::Errno::NoSpc, message: said.into() });
    }
    let mut out = Vec::new();
    nbd::reply::error(5, nbd::Errno::Io, "at", Some(4096), nbd::reply::Chunk::Last, &mut out);
    assert_eq!(body(&out), Body::Failed { error: nbd::Errno::Io, message: "at".into() });
}

#[test]
fn a_server_that_breaks_the_protocol_is_left() {
    let fed =
        |bytes: &[u8]| client::ClientHandshake::new(ClientGoal::Go("x".into())).feed(&mut &bytes[..], &mut Vec::new());
    let greeting = b"NBDMAGICIHAVEOPT\0\x03";
    let answer = |option: u8, kind: u8, data: &[u8]| {
        let head = [b"\0\x03\xe8\x89\x04\x55\x65\xa9\0\0\0", &[option][..], &[0, 0, 0, kind]].concat();
        [&head[..], &(data.len() as u32).to_be_bytes(), data].concat()
    };
    assert_eq!(fed(b"NBDMAGIC\0\0\x42\x02\x81\x86\x12\x53\0\0"), Err(Broken::NotNbd), "oldstyle");
    assert_eq!(fed(b"NBDMAGICIHAVEOPT\0\0"), Err(Broken::NotNbd), "not fixed");
    for wrong in [
        vec![0; 20],
        answer(3, 1, b""),
        [answer(8, 1, b""), answer(7, 1, b"")].concat(),
        [answer(8, 1, b""), answer(7, 3, b"\0\0\0")].concat(),
        [answer(8, 1, b""), answer(7, 2, b"")].concat(),
        [answer(8, 1, b""), answer(7, 3, b"\0\x03\0\0\0\0\0\0\x10\0\0\0\x10\0")].concat(),
        answer(8, 1, &[0; 20_000]),
    ] {
        let step = fed(&[greeting, &wrong[..]].concat());
        assert!(matches!(step, Err(Broken::Unexpected(_))), "{step:?}");
    }
    let chunk = |flags: u8, kind: u8, length: u8| {
        [b"\x66\x8e\x33\xef\0", &[flags, 0, kind][..], &[0; 11], &[length], &[0; 32]].concat()
    };
    for (flags, kind, length) in [(0, 0, 0), (1, 0, 1), (0, 1, 8), (0, 2, 11), (0, 3, 0)] {
        let wrong = chunk(flags, kind, length);
        assert!(client::reply(&mut &wrong[..]).is_err(), "kind {kind}, {length} bytes");
    }
    assert!(client::reply(&mut &b"\x67\x44\x66\x99"[..]).is_err());
}

#[test]
fn in_whatever_pieces_it_comes_the_answer_is_the_same() {
    let options = vec((0u8..12, vec(0u8..4, 0..40)), 0..6);
    let values = (options, vec(any::<prop::sample::Index>(), 0..12), any::<bool>());
    check(500, values, |(options, cuts, go)| {
        let option = |number: u8, data: &[u8]| {
            [b"IHAVEOPT\0\0\0", &[number][..], &(data.len() as u32).to_be_bytes(), data].concat()
        };
        let mut bytes = b"\0\0\0\x03".to_vec();
        options.iter().for_each(|(number, data)| bytes.extend(option(*number, data)));
        bytes.extend(if go { option(7, b"\0\0\0\x02db\0\x01\0\x03") } else { option(10, &[0; 20_000]) });
        bytes.extend(b"and more");
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let whole = said([&bytes[..]]);
        prop_assert_eq!(said(cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]])), whole.clone());
        prop_assert_eq!(said(bytes.chunks(1)), whole);
        Ok(())
    });
}

/// What a server says, its last step, and how many bytes it left.
fn said<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<u8>, HandshakeStep, usize) {
    let exports = crate::exports();
    let mut out = Vec::new();
    let mut server = Handshake::new(&exports[..], &mut out);
    let (mut last, mut left) = (HandshakeStep::More, 0);
    for mut piece in pieces {
        while !piece.is_empty() && last == HandshakeStep::More {
            last = server.feed(&mut piece, &mut out);
        }
        left += piece.len();
    }
    (out, last, left)
}

#[test]
fn a_list_of_exports_has_an_end() {
    let listed = |count: usize| {
        let mut client = client::ClientHandshake::new(ClientGoal::List);
        let mut bytes = b"NBDMAGICIHAVEOPT\0\x03".to_vec();
        let one = b"\0\x03\xe8\x89\x04\x55\x65\xa9\0\0\0\x03\0\0\0\x02\0\0\0\x05\0\0\0\x01a";
        (0..count).for_each(|_| bytes.extend_from_slice(one));
        bytes.extend_from_slice(b"\0\x03\xe8\x89\x04\x55\x65\xa9\0\0\0\x03\0\0\0\x01\0\0\0\0");
        let (mut left, mut step) = (&bytes[..], Ok(client::ClientStep::More));
        while !left.is_empty() && step == Ok(client::ClientStep::More) {
            step = client.feed(&mut left, &mut Vec::new());
        }
        step
    };
    for count in [0, 1, nbd::limits::MAX_LISTED] {
        let Ok(client::ClientStep::Listed(found)) = listed(count) else { panic!("{count} are not listed") };
        assert!(found.len() == count && found.iter().all(|one| one.name == "a"));
    }
    assert_eq!(listed(nbd::limits::MAX_LISTED + 1), Err(Broken::Unexpected("a list without end")));
}
