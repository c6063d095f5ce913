//! The server's side, byte by byte as the document has it.

use super::*;
use crate::export::{BlockSize, Context};
use crate::flags::Flags;

const FIXED: &[u8] = b"\0\0\0\x01";
const NO_ZEROES: &[u8] = b"\0\0\0\x03";
/// How a reply to an option begins.
const REPLY: &[u8] = b"\0\x03\xe8\x89\x04\x55\x65\xa9";

fn exports() -> Vec<Export> {
    let block = BlockSize { minimum: 512, preferred: 4096, maximum: 1 << 25 };
    let flags = Flags::SEND_FLUSH.with(Flags::SEND_FUA).with(Flags::SEND_DF).with(Flags::ROTATIONAL);
    let bulk =
        Export { name: "bulk".into(), description: "recordings".into(), size: 1 << 30, block, flags, secured: false };
    vec![bulk, Export { name: "db".into(), size: 512, flags: Flags::READ_ONLY, ..Export::default() }]
}

/// All that a server says after its greeting, and its last step; what it takes is gone from the bytes.
fn fed(bytes: &mut &[u8]) -> (Vec<u8>, HandshakeStep) {
    let mut out = Vec::new();
    let mut server = Handshake::new(exports(), &mut out);
    assert_eq!(out, b"NBDMAGICIHAVEOPT\0\x03");
    out.clear();
    let mut last = HandshakeStep::More;
    while !bytes.is_empty() && last == HandshakeStep::More {
        last = server.feed(bytes, &mut out);
    }
    (out, last)
}

fn said(mut bytes: &[u8]) -> (Vec<u8>, HandshakeStep) {
    let answer = fed(&mut bytes);
    assert!(bytes.is_empty());
    answer
}

fn option(number: u8, data: &[u8]) -> Vec<u8> {
    [b"IHAVEOPT\0\0\0", &[number][..], &(data.len() as u32).to_be_bytes(), data].concat()
}

fn reply(number: u8, kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    [REPLY, b"\0\0\0", &[number], kind, &(data.len() as u32).to_be_bytes(), data].concat()
}

fn string(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text].concat()
}

/// Kinds of the replies to one option after the flags.
fn kinds(before: &[u8], number: u8, data: &[u8]) -> Vec<u32> {
    let (out, _) = said(&[NO_ZEROES, before, &option(number, data)].concat());
    let mut fields = MessageFields(&out);
    let mut kinds = Vec::new();
    while let Some(_magic) = fields.u64() {
        let (of, kind) = (fields.u32().unwrap(), fields.u32().unwrap());
        fields.string().unwrap();
        kinds.extend((of == u32::from(number)).then_some(kind));
    }
    kinds
}

const ACK: &[u8; 4] = b"\0\0\0\x01";
const ERR: u32 = 1 << 31;

#[test]
fn export_name_is_answered_with_size_flags_and_zeroes() {
    let bulk = b"\0\0\0\0\x40\0\0\0\0\x1d";
    let (out, step) = said(&[FIXED, &option(1, b"bulk")].concat());
    assert_eq!(out, [&bulk[..], &[0; 124]].concat());
    let HandshakeStep::Ready(session) = step else { panic!("{step:?}") };
    assert_eq!((session.export, session.size, session.structured), (0, 1 << 30, false));
    assert_eq!(said(&[NO_ZEROES, &option(1, b"")].concat()).0, bulk, "the first export is the default");
    assert_eq!(said(&[NO_ZEROES, &option(1, b"db")].concat()).0, b"\0\0\0\0\0\0\x02\0\0\x03");
    assert_eq!(said(&[FIXED, &option(1, b"dB")].concat()), (vec![], HandshakeStep::Closed(CloseReason::NoSuchExport)));
}

#[test]
fn go_tells_what_was_asked_for_and_begins_transmission() {
    let data = [&string(b"bulk")[..], b"\0\x05\0\x03\0\x01\0\x02\0\x03\0\x63"].concat();
    let mut expected = [
        reply(7, b"\0\0\0\x03", b"\0\0\0\0\0\0\x40\0\0\0\0\x1d"),
        reply(7, b"\0\0\0\x03", b"\0\x01bulk"),
        reply(7, b"\0\0\0\x03", b"\0\x02recordings"),
        reply(7, b"\0\0\0\x03", b"\0\x03\0\0\x02\0\0\0\x10\0\x02\0\0\0"),
        reply(7, ACK, b""),
    ]
    .concat();
    let bytes = [NO_ZEROES, &option(7, &data), b"\x25\x60"].concat();
    let mut left = &bytes[..];
    let (out, step) = fed(&mut left);
    assert_eq!(out, expected);
    assert_eq!(left, b"\x25\x60", "a request that follows is left");
    assert!(matches!(step, HandshakeStep::Ready(Session { export: 0, structured: false, extended: false, .. })));
    let (out, step) = said(&[NO_ZEROES, &option(6, &data)].concat());
    for (at, byte) in expected.iter_mut().enumerate() {
        *byte -= u8::from(out[at] == 6 && *byte == 7);
    }
    assert_eq!((out, step), (expected, HandshakeStep::More), "INFO says the same and ends nothing");
}

#[test]
fn nothing_but_size_and_flags_is_told_unasked() {
    let data = [&string(b"db")[..], b"\0\0"].concat();
    let (out, step) = said(&[FIXED, &option(7, &data)].concat());
    assert_eq!(out, [reply(7, b"\0\0\0\x03", b"\0\0\0\0\0\0\0\0\x02\0\0\x03"), reply(7, ACK, b"")].concat());
    assert!(matches!(step, HandshakeStep::Ready(Session { export: 1, .. })));
}

#[test]
fn list_names_and_describes_every_export() {
    let (out, step) = said(&[FIXED, &option(3, b"")].concat());
    let bulk = reply(3, b"\0\0\0\x02", b"\0\0\0\x04bulkrecordings");
    assert_eq!(out, [bulk, reply(3, b"\0\0\0\x02", b"\0\0\0\x02db"), reply(3, ACK, b"")].concat());
    assert_eq!(step, HandshakeStep::More);
}

#[test]
fn abort_is_acknowledged() {
    assert_eq!(
        said(&[FIXED, &option(2, b"bye")].concat()),
        (reply(2, ACK, b""), HandshakeStep::Closed(CloseReason::Aborted))
    );
}

#[test]
fn structured_replies_bring_do_not_fragment() {
    let bytes = [NO_ZEROES, &option(8, b""), &option(1, b"bulk")].concat();
    let (out, step) = said(&bytes);
    assert_eq!(out, [&reply(8, ACK, b"")[..], b"\0\0\0\0\x40\0\0\0\0\x9d"].concat());
    assert!(matches!(step, HandshakeStep::Ready(Session { structured: true, .. })));
}

#[test]
fn one_client_too_many_is_told_so_and_may_ask_again() {
    let mut out = Vec::new();
    let mut server = Handshake::new(exports(), &mut out);
    server.set_full(true);
    out.clear();
    let go = option(7, &[string(b"db"), vec![0, 0]].concat());
    let mut bytes = &[NO_ZEROES, &go].concat()[..];
    while !bytes.is_empty() {
        assert_eq!(server.feed(&mut bytes, &mut out), HandshakeStep::More);
    }
    let mut fields = MessageFields(&out);
    assert_eq!((fields.u64(), fields.u32(), fields.u32()), (Some(0x0003_e889_0455_65a9), Some(7), Some(ERR + 2)));
    assert!(fields.string().is_some_and(|said| said.ends_with(b"try again")));
    server.set_full(false);
    assert!(matches!(server.feed(&mut &go[..], &mut out), HandshakeStep::Ready(Session { export: 1, .. })));
    let mut server = Handshake::new(exports(), &mut out);
    server.set_full(true);
    assert_eq!(server.feed(&mut &NO_ZEROES[..], &mut out), HandshakeStep::More);
    assert_eq!(server.feed(&mut &option(1, b"db")[..], &mut out), HandshakeStep::Closed(CloseReason::Full));
}

#[test]
fn extended_headers_come_with_structured_replies_and_once() {
    let (out, step) = said(&[NO_ZEROES, &option(11, b""), &option(1, b"bulk")].concat());
    assert!(out.starts_with(&reply(11, ACK, b"")));
    assert!(matches!(step, HandshakeStep::Ready(Session { structured: true, extended: true, .. })));
    assert_eq!(kinds(&option(11, b""), 11, b""), [1, ERR + 3], "twice");
    assert_eq!(kinds(&option(11, b""), 8, b""), [ERR + 10], "structured replies are there");
    assert_eq!(kinds(&option(8, b""), 11, b""), [1], "they may be there before");
    assert_eq!(kinds(b"", 11, b"x"), [ERR + 3], "it has no data");
}

#[test]
fn a_metadata_context_holds_for_the_export_it_was_chosen_for() {
    let chosen = |of: &[u8], go: &[u8]| {
        let queries = [string(of), vec![0, 0, 0, 2], string(b"qemu:dirty"), string(b"base:allocation")].concat();
        let go = [string(go), vec![0, 0]].concat();
        let (out, step) = said(&[NO_ZEROES, &option(8, b""), &option(10, &queries), &option(7, &go)].concat());
        let context = reply(10, b"\0\0\0\x04", b"\0\0\0\x01base:allocation");
        assert!(out.starts_with(&[reply(8, ACK, b""), context, reply(10, ACK, b"")].concat()));
        let HandshakeStep::Ready(session) = step else { panic!("{step:?}") };
        session.contexts
    };
    assert_eq!(chosen(b"db", b"db"), Contexts::default().with(Context::Allocation));
    assert_eq!(chosen(b"", b"bulk"), Contexts::default().with(Context::Allocation));
    assert_eq!(chosen(b"bulk", b"db"), Contexts::default());
}

#[test]
fn metadata_contexts_are_listed_by_name_and_namespace() {
    let structured = option(8, b"");
    let ask = |number, queries: &[&[u8]]| {
        let mut data = [string(b"db"), (queries.len() as u32).to_be_bytes().to_vec()].concat();
        queries.iter().for_each(|query| data.extend(string(query)));
        kinds(&structured, number, &data)
    };
    assert_eq!(ask(9, &[]), [4, 4, 1], "without a query, all there are");
    assert_eq!(ask(9, &[b"halfturn:"]), [4, 1]);
    assert_eq!(ask(9, &[b"half"]), [1], "it is no namespace");
    assert_eq!(ask(10, &[b"halfturn:rate", b"base:allocation"]), [4, 4, 1]);
    assert_eq!(ask(9, &[b"base:"]), [4, 1]);
    assert_eq!(ask(9, &[b"base:allocation", b"base:"]), [4, 1], "each once");
    assert_eq!(ask(9, &[b"base:other", b"x-y:"]), [1]);
    assert_eq!(ask(10, &[]), [1], "without a query, none is chosen");
    assert_eq!(ask(10, &[b"base:"]), [1]);
    let one = [string(b"db"), vec![0, 0, 0, 0]].concat();
    assert_eq!(kinds(b"", 9, &one), [ERR + 3], "structured replies come first");
    assert_eq!(kinds(b"", 10, &one), [ERR + 3]);
    let (chosen, other) = ([string(b"db"), vec![0, 0, 0, 1], string(b"base:allocation")].concat(), string(b"no"));
    let options = [structured, option(10, &chosen), option(10, &[&other[..], &[0; 4]].concat())].concat();
    let (_, step) = said(&[NO_ZEROES, &options, &option(1, b"db")].concat());
    assert!(
        matches!(step, HandshakeStep::Ready(Session { contexts, .. }) if contexts.is_empty()),
        "what fails chooses nothing"
    );
}

#[test]
fn what_is_unknown_or_wrong_is_answered_and_the_next_option_heard() {
    let structured = option(8, b"");
    let go = |name: &[u8], rest: &[u8]| [string(name), rest.to_vec()].concat();
    for (number, data, kind) in [
        (5, b"".to_vec(), ERR + 1),
        (4, b"x".to_vec(), ERR + 1),
        (12, b"".to_vec(), ERR + 1),
        (255, vec![0; 100], ERR + 1),
        (3, b"x".to_vec(), ERR + 3),
        (8, b"x".to_vec(), ERR + 3),
        (7, go(b"none", b"\0\0"), ERR + 6),
        (6, go(b"none", b"\0\0"), ERR + 6),
        (7, go(b"db", b""), ERR + 3),
        (7, go(b"db", b"\0\x01"), ERR + 3),
        (7, go(b"db", b"\0\0\0"), ERR + 3),
        (7, b"\0\0\0\xffdb\0\0".to_vec(), ERR + 3),
        (7, b"\xff\xff\xff\xff".to_vec(), ERR + 3),
        (7, go(&[b'x'; 5000], b"\0\0"), ERR + 9),
        (7, vec![0; 20_000], ERR + 9),
        (9, go(b"db", b"\0\0\0\x01"), ERR + 3),
        (10, go(b"db", b"\0\0\0\0x"), ERR + 3),
        (10, go(b"db", b"\xff\xff\xff\xff"), ERR + 3),
        (10, go(b"none", b"\0\0\0\0"), ERR + 6),
    ] {
        let answers = kinds(&structured, number, &data);
        assert_eq!(answers.last(), Some(&kind), "option {number}, {} bytes", data.len());
        let more = [structured.clone(), option(number, &data)].concat();
        assert_eq!(kinds(&more, 3, b"").last(), Some(&1));
    }
}

#[test]
fn who_does_not_keep_to_the_protocol_is_hung_up_on() {
    let long = |number: u8, length: u32| [b"IHAVEOPT\0\0\0", &[number][..], &length.to_be_bytes()].concat();
    for (bytes, closed) in [
        (b"\0\0\0\0".to_vec(), CloseReason::NotFixedNewstyle),
        (b"\0\0\0\x02".to_vec(), CloseReason::NotFixedNewstyle),
        (b"\0\0\0\x05".to_vec(), CloseReason::UnknownFlags(5)),
        ([FIXED, b"GET / HTTP/1.1\r\n"].concat(), CloseReason::BadMagic(u64::from_be_bytes(*b"GET / HT"))),
        ([FIXED, &long(7, 1 << 21)].concat(), CloseReason::TooLong { option: 7, length: 1 << 21 }),
        ([FIXED, &long(99, u32::MAX)].concat(), CloseReason::TooLong { option: 99, length: u32::MAX }),
        ([FIXED, &long(1, 4097)].concat(), CloseReason::TooLong { option: 1, length: 4097 }),
        ([FIXED, &option(3, b"").repeat(MAX_OPTIONS as usize + 1)].concat(), CloseReason::TooManyOptions),
    ] {
        let (_, step) = said(&bytes);
        assert_eq!(step, HandshakeStep::Closed(closed));
        assert!(!closed.to_string().is_empty());
    }
}

#[test]
fn what_comes_after_the_end_is_not_heard() {
    let mut out = Vec::new();
    let mut server = Handshake::new(exports(), &mut out);
    let bytes = [FIXED, &option(2, b"")].concat();
    assert_eq!(server.feed(&mut &bytes[..], &mut out), HandshakeStep::Closed(CloseReason::Aborted));
    assert_eq!(server.feed(&mut &bytes[..], &mut out), HandshakeStep::Closed(CloseReason::Over));
}

/// Numbers of the errors that the protocol answers with.
const TLS_REQUIRED: u32 = ERR + 5;
const POLICY: u32 = ERR + 2;
const INVALID: u32 = ERR + 3;

/// A server of two exports, the second within TLS only, told one option after another; within TLS it opens the second alone.
struct Told(Handshake<Vec<Export>>);

impl Told {
    fn new(policy: TlsPolicy) -> Told {
        let mut exports = exports();
        exports[1].secured = true;
        let mut server = Handshake::new(exports, &mut Vec::new()).with_tls(policy);
        let mut flags = NO_ZEROES;
        assert_eq!(server.feed(&mut flags, &mut Vec::new()), HandshakeStep::More);
        Told(server)
    }

    /// The kinds of answers to an option, and the step.
    fn tell(&mut self, number: u8, data: &[u8]) -> (Vec<u32>, HandshakeStep) {
        let mut out = Vec::new();
        let step = self.0.feed(&mut &option(number, data)[..], &mut out);
        let mut fields = MessageFields(&out);
        let mut kinds = Vec::new();
        while let Some(_magic) = fields.u64() {
            let _of = fields.u32();
            kinds.extend(fields.u32());
            fields.string().unwrap();
        }
        (kinds, step)
    }

    fn secured(policy: TlsPolicy) -> Told {
        let mut told = Told::new(policy);
        assert_eq!(told.tell(5, b""), (vec![1], HandshakeStep::StartTls));
        told.0.secure(|number| number == 1);
        told
    }
}

fn go(name: &[u8]) -> Vec<u8> {
    [&string(name)[..], b"\0\0"].concat()
}

#[test]
fn where_tls_is_required_nothing_is_told_without_it() {
    for number in [3, 6, 7, 8, 9, 10, 11, 99] {
        let (kinds, step) = Told::new(TlsPolicy::Required).tell(number, &go(b"bulk"));
        assert_eq!((kinds, step), (vec![TLS_REQUIRED], HandshakeStep::More), "option {number}");
    }
    let (kinds, step) = Told::new(TlsPolicy::Required).tell(1, b"bulk");
    assert_eq!((kinds, step), (vec![], HandshakeStep::Closed(CloseReason::NeedsTls)));
    let (kinds, step) = Told::new(TlsPolicy::Required).tell(2, b"");
    assert_eq!((kinds, step), (vec![1], HandshakeStep::Closed(CloseReason::Aborted)));
}

#[test]
fn where_tls_is_offered_it_is_needed_for_what_is_secured_alone() {
    let mut plain = Told::new(TlsPolicy::Offered);
    assert_eq!(plain.tell(3, b"").0, [2, 1], "one export is listed");
    assert_eq!(plain.tell(7, &go(b"db")).0, [TLS_REQUIRED]);
    assert_eq!(plain.tell(6, &go(b"db")).0, [TLS_REQUIRED]);
    assert_eq!(Told::new(TlsPolicy::Offered).tell(1, b"db").1, HandshakeStep::Closed(CloseReason::NeedsTls));
    assert!(matches!(plain.tell(7, &go(b"bulk")).1, HandshakeStep::Ready(_)));
}

#[test]
fn within_tls_a_client_has_what_its_certificate_opens() {
    let mut told = Told::secured(TlsPolicy::Required);
    assert_eq!(told.tell(3, b"").0, [2, 1]);
    assert_eq!(told.tell(7, &go(b"bulk")).0, [POLICY]);
    assert_eq!(told.tell(7, &go(b"")).0, [POLICY], "the default export is the first");
    assert_eq!(told.tell(7, &go(b"none")).0, [ERR + 6]);
    assert_eq!(told.tell(5, b"").0, [INVALID], "TLS within TLS");
    let HandshakeStep::Ready(session) = told.tell(7, &go(b"db")).1 else { panic!("it is not let in") };
    assert_eq!(session.export, 1);
    let closed = Told::secured(TlsPolicy::Required).tell(1, b"bulk").1;
    assert_eq!(closed, HandshakeStep::Closed(CloseReason::NoSuchExport));
}

/// What was said before the connection was private may have been said by anybody.
#[test]
fn nothing_that_was_agreed_on_before_tls_holds_within() {
    let mut told = Told::new(TlsPolicy::Offered);
    assert_eq!(told.tell(8, b"").0, [1]);
    assert_eq!(told.tell(5, b"data").0, [INVALID]);
    assert_eq!(told.tell(5, b"").1, HandshakeStep::StartTls);
    told.0.secure(|_| true);
    let HandshakeStep::Ready(session) = told.tell(7, &go(b"db")).1 else { panic!("it is not let in") };
    assert!(!session.structured);
}

#[test]
fn what_comes_behind_the_wish_for_tls_is_left_to_it() {
    let mut told = Told::new(TlsPolicy::Offered);
    let bytes = [option(5, b""), option(7, &go(b"bulk"))].concat();
    let mut left = &bytes[..];
    assert_eq!(told.0.feed(&mut left, &mut Vec::new()), HandshakeStep::StartTls);
    assert_eq!(left, option(7, &go(b"bulk")));
    let closed = told.0.feed(&mut left, &mut Vec::new());
    assert_eq!(closed, HandshakeStep::Closed(CloseReason::Over), "it is not heard without");
}

#[test]
fn the_longest_name_is_had_and_a_longer_one_is_refused_in_every_way_of_asking() {
    let longest = "x".repeat(crate::limits::MAX_STRING);
    let step = |number, data: &[u8]| {
        let mut server =
            Handshake::new(vec![Export { name: longest.clone(), size: 512, ..Export::default() }], &mut Vec::new());
        let bytes = [NO_ZEROES, &option(number, data)].concat();
        let (mut left, mut last) = (&bytes[..], HandshakeStep::More);
        let mut out = Vec::new();
        while !left.is_empty() && last == HandshakeStep::More {
            last = server.feed(&mut left, &mut out);
        }
        // The first reply's kind, behind its magic and option.
        (matches!(last, HandshakeStep::Ready(_)), out.get(12..16).map(<[u8]>::to_vec))
    };
    let longer = format!("{longest}x");
    assert!(step(1, longest.as_bytes()).0 && !step(1, longer.as_bytes()).0);
    assert!(step(7, &go(longest.as_bytes())).0 && !step(7, &go(longer.as_bytes())).0);
    let unknown = step(7, &go(&longest.as_bytes()[1..])).1;
    for number in [6, 7] {
        let (_, kind) = step(number, &go(longer.as_bytes()));
        assert!(kind.is_some() && kind != unknown, "{kind:?}: it is not only unknown");
    }
}
