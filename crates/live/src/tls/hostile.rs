//! A peer that says anything before or within TLS, against the door's side of the handshake. For tests and the fuzzer.

use super::{Carriers, TlsServer, connect};
use crate::guest::{Became, Guard, Guest};
use load::experiment::{TlsNeed, TlsPlan};
use nbd::client::{ClientGoal, ClientHandshake, ClientStep};
use nbd::{Address, Export, TlsPolicy, Uri, UriTls};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

/// Turns of one conversation: far more than a handshake has.
const TURNS: u32 = 1000;

/// The door of a service that wants TLS, with the certificates of a folder.
pub struct Doorstep {
    guard: Guard,
    uri: Uri,
}

impl Doorstep {
    /// Reads the certificates of both sides.
    ///
    /// # Panics
    /// When they are not there.
    #[must_use]
    pub fn new(certificates: &Path) -> Doorstep {
        let plan = TlsPlan { certificates: certificates.to_owned(), needs: TlsNeed::Required, verify_clients: true };
        let exports = [("bob", true), ("all", false)].map(|(name, secured)| Export {
            name: name.into(),
            size: 1 << 20,
            secured,
            ..Export::default()
        });
        let guard = Guard {
            exports: exports.into(),
            sizes: Vec::new(),
            clients: vec![vec!["bob".into()], Vec::new()],
            policy: TlsPolicy::Required,
            tls: Some(TlsServer::load(&plan).unwrap_or_else(|error| panic!("{error}")).into()),
            carriers: Carriers::default(),
        };
        let certificates = Some(certificates.display().to_string());
        let address = Address::Unix("nowhere".into());
        Doorstep { guard, uri: Uri { address, export: "bob".into(), tls: Some(UriTls { certificates }) } }
    }

    fn greet(&self) -> (Guest, UnixStream) {
        let (theirs, ours) = UnixStream::pair().expect("descriptors");
        theirs.set_nonblocking(true).and_then(|()| ours.set_nonblocking(true)).expect("sockets of ours");
        (Guest::greet(theirs.into(), &self.guard, Instant::now()).expect("it is there"), ours)
    }

    /// Says these bytes to the door, in pieces, and goes; whether that let anybody in.
    ///
    /// # Panics
    /// When the door does.
    #[must_use]
    pub fn says(&self, bytes: &[u8], piece: usize) -> bool {
        let (mut guest, mut peer) = self.greet();
        let mut heard = [0; 1 << 16];
        for bytes in bytes.chunks(piece.max(1)) {
            if peer.write_all(bytes).is_err() {
                return false;
            }
            let _ = peer.read(&mut heard);
            match guest.go_on(&self.guard) {
                Became::Waits | Became::Refused(_) => {}
                Became::Gone(_) => return false,
                Became::Client(..) => return true,
            }
        }
        drop(peer);
        assert!(matches!(guest.go_on(&self.guard), Became::Gone(_) | Became::Refused(_)), "nobody is there");
        false
    }

    /// Has an honest client come in, of whose bytes some are changed on the way: at each place, by what is added to it. Whether it
    /// was let in.
    ///
    /// # Panics
    /// When either side does, or never ends.
    #[must_use]
    pub fn meddle(&self, changes: &[(u16, u8)]) -> bool {
        let (mut guest, mut peer) = self.greet();
        let mut handshake = ClientHandshake::new(ClientGoal::Go("bob".into())).with_tls();
        let (mut tls, mut sent) = (None, 0);
        for _ in 0..TURNS {
            let mut said = Vec::new();
            let mut heard = vec![0; 1 << 16];
            let count = peer.read(&mut heard).unwrap_or(0);
            let mut plain = Vec::new();
            match &mut tls {
                None => plain.extend(&heard[..count]),
                Some(session) => {
                    let received = super::TlsSession::receive(session, &heard[..count], &mut plain);
                    if received.is_err() {
                        return false;
                    }
                }
            }
            let mut out = Vec::new();
            match handshake.feed(&mut &plain[..], &mut out) {
                Ok(ClientStep::StartTls) => {
                    tls = Some(connect(&self.uri).expect("certificates"));
                    handshake.secure(&mut out);
                }
                Ok(_) => {}
                Err(_) => return false,
            }
            match &mut tls {
                None => said = out,
                Some(session) => session.say(&out, &mut said),
            }
            for (place, change) in changes {
                let at = usize::from(*place).checked_sub(sent).and_then(|at| said.get_mut(at));
                at.into_iter().for_each(|byte| *byte = byte.wrapping_add(*change));
            }
            sent += said.len();
            if peer.write_all(&said).is_err() {
                return false;
            }
            match guest.go_on(&self.guard) {
                Became::Waits => {}
                Became::Refused(_) | Became::Gone(_) => return false,
                Became::Client(session, _) => {
                    assert_eq!(session.export, 0, "what the client asked for");
                    return true;
                }
            }
            if said.is_empty() && count == 0 {
                // Both wait for what was changed into something longer.
                return false;
            }
        }
        panic!("a handshake without end");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_pcg::Pcg64;

    fn doorstep() -> Doorstep {
        Doorstep::new(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates"))
    }

    #[test]
    fn who_is_not_meddled_with_is_let_in() {
        assert!(doorstep().meddle(&[]));
    }

    #[test]
    fn whatever_is_changed_on_the_way_nobody_comes_in_by_it() {
        let (door, mut random) = (doorstep(), Pcg64::seed_from_u64(24));
        // What a client says: 4 bytes of flags, 16 of the wish for TLS, and then TLS, far beyond this.
        let places = 20..820;
        let mut change = || (random.next_u32() % 255) as u8 + 1;
        let harmless: Vec<u16> = places.filter(|place| door.meddle(&[(*place, change())])).collect();
        // The versions of the first record, and of the one that changes no cipher, which nobody looks at (RFC 8446, 5.1).
        assert!(harmless.len() <= 4, "changed without harm: {harmless:?}");
        assert!(harmless.iter().all(|place| matches!(place, 21 | 22 | 200..300)), "{harmless:?}");
    }

    #[test]
    fn whatever_is_said_nobody_comes_in_by_it() {
        let (door, mut random) = (doorstep(), Pcg64::seed_from_u64(5));
        let wish = b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0";
        for round in 0..400 {
            let mut noise = vec![0; (random.next_u32() % 2000) as usize];
            random.fill_bytes(&mut noise);
            // Some of it looks like a record of TLS, of a handshake or an alert.
            if let [kind, major, minor, high, ..] = &mut noise[..] {
                (*kind, *major, *minor) = (20 + *kind % 5, 3, 3);
                *high %= 8;
            }
            let said = if round % 4 == 0 { noise } else { [&wish[..], &noise].concat() };
            assert!(!door.says(&said, 1 + (random.next_u32() % 100) as usize));
        }
    }
}
