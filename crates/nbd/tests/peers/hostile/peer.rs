//! A peer that sends anything, to a server and to a client. Also what is fuzzed.

use nbd::limits::{MAX_DRAINED_BYTES, MAX_LISTED, MAX_OPTION_BYTES, MAX_QUERY_BYTES};
use nbd::{
    Context, Contexts, Errno, Export, Flags, Handshake, HandshakeStep, Refused, RequestType, Session, TlsPolicy, Uri,
    client,
};

/// What one message may be answered with, where exports are few.
const MOST_AT_ONCE: usize = 4096;

/// Gives the bytes to whoever reads bytes of a peer: nobody panics, and nobody asks for more than they should.
pub fn meet(exports: &[Export], bytes: &[u8], piece: usize) {
    for policy in [TlsPolicy::Absent, TlsPolicy::Offered, TlsPolicy::Required] {
        server(exports, policy, bytes, piece.max(1));
    }
    read_requests(sessions(exports), bytes);
    for wish in [client::ClientGoal::List, client::ClientGoal::Go("x".into())] {
        lead(client::ClientHandshake::new(wish.clone()), bytes, piece.max(1));
        lead(client::ClientHandshake::new(wish).with_tls(), bytes, piece.max(1));
    }
    read_replies(bytes);
    let text = String::from_utf8_lossy(bytes);
    if let Ok(uri) = text.parse::<Uri>() {
        assert_eq!(uri.to_string().parse(), Ok(uri));
    }
}

/// A handshake, and the requests that may follow it.
fn server(exports: &[Export], policy: TlsPolicy, bytes: &[u8], piece: usize) {
    let mut out = Vec::new();
    let mut server = Handshake::new(exports, &mut out).with_tls(policy);
    let mut is_private = false;
    let mut after = Vec::new();
    let mut last = HandshakeStep::More;
    for mut piece in bytes.chunks(piece) {
        while !piece.is_empty() && last == HandshakeStep::More {
            out.clear();
            last = server.feed(&mut piece, &mut out);
            if last == HandshakeStep::StartTls {
                assert!(!is_private && policy != TlsPolicy::Absent, "TLS where there is none, or twice");
                server.secure(|number| number > 0);
                (is_private, last) = (true, HandshakeStep::More);
            }
            assert!(out.len() <= MOST_AT_ONCE, "{} bytes for one option", out.len());
        }
        after.extend(piece);
    }
    if let HandshakeStep::Ready(session) = last {
        assert!(session.export < exports.len());
        let needs = policy == TlsPolicy::Required || exports[session.export].secured;
        assert!(!needs || is_private, "in the clear");
        assert!(!is_private || session.export > 0, "what was not opened");
        read_requests([session], &after);
    }
}

fn sessions(exports: &[Export]) -> impl Iterator<Item = Session> {
    exports.iter().map(|export| Session {
        export: 0,
        size: export.size,
        block: export.block,
        flags: export.flags,
        structured: export.flags.has(Flags::SEND_DF),
        extended: export.flags.has(Flags::BLOCK_STATUS_PAYLOAD),
        contexts: Contexts::default().with(Context::Rate),
    })
}

fn read_requests(sessions: impl IntoIterator<Item = Session>, bytes: &[u8]) {
    for session in sessions {
        for (header, rest) in (0..bytes.len() / session.request_bytes()).map(|n| {
            let (from, to) = (n * session.request_bytes(), (n + 1) * session.request_bytes());
            (&bytes[from..to], &bytes[to..])
        }) {
            match session.request(header) {
                Ok(request) if request.command == RequestType::BlockStatus && request.payload() > 0 => {
                    assert!(request.payload() <= MAX_QUERY_BYTES);
                    let payload = &rest[..rest.len().min(request.payload() as usize)];
                    if let Ok((query, wanted)) = session.query(&request, payload) {
                        assert!(query.offset + query.length <= session.size && query.payload() == 0);
                        assert!(wanted.iter().all(|context| session.contexts.has(context)));
                    }
                }
                Ok(request) => {
                    let (compact, extended) = (request.encode(), request.encode_extended());
                    assert_eq!(if session.extended { &extended[..] } else { &compact[..] }, header);
                    let none = matches!(request.command, RequestType::Disc | RequestType::Flush);
                    let end = request.offset.checked_add(request.length);
                    assert!(none || end.is_some_and(|end| end <= session.size));
                    assert!(none || request.offset.is_multiple_of(session.block.minimum.into()));
                    assert!(request.payload() <= session.block.maximum.into());
                    answered(&session, request.cookie, request.offset);
                }
                Err(Refused::Error { payload, cookie, offset, .. }) => {
                    assert!(payload <= session.block.maximum.max(MAX_DRAINED_BYTES).into());
                    answered(&session, cookie, offset);
                }
                Err(Refused::Close(closed)) => assert!(!closed.to_string().is_empty()),
            }
        }
    }
}

/// An error as a server sends it is one to a client.
fn answered(session: &Session, cookie: u64, offset: u64) {
    let mut out = Vec::new();
    session.error((cookie, offset), Errno::Io, "lost", &mut out);
    // Our own client does not ask for extended headers.
    if session.extended {
        return assert_eq!((&out[8..16], &out[16..24]), (&cookie.to_be_bytes()[..], &offset.to_be_bytes()[..]));
    }
    let read = client::reply(&mut &out[..]).expect("what we write is right").expect("and whole");
    assert_eq!((read.cookie, matches!(read.body, client::Body::Failed { error: Errno::Io, .. })), (cookie, true));
}

fn lead(mut client: client::ClientHandshake, bytes: &[u8], piece: usize) {
    let mut out = Vec::new();
    for mut piece in bytes.chunks(piece) {
        out.clear();
        match client.feed(&mut piece, &mut out) {
            Ok(client::ClientStep::More) => assert!(piece.is_empty()),
            Ok(client::ClientStep::StartTls) => client.secure(&mut out),
            Ok(client::ClientStep::Listed(found)) => return assert!(found.len() <= MAX_LISTED),
            Ok(client::ClientStep::Ready(session)) => return read_requests([session], bytes),
            Err(broken) => return assert!(!broken.to_string().is_empty()),
        }
        assert!(out.len() <= MAX_OPTION_BYTES as usize);
    }
}

fn read_replies(mut bytes: &[u8]) {
    while let Ok(Some(reply)) = client::reply(&mut bytes) {
        if let client::Body::Data { length, .. } = reply.body {
            let Some(rest) = bytes.get(length as usize..) else { return };
            bytes = rest;
        }
    }
}
