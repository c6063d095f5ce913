//! The server's side of fixed newstyle negotiation.

mod closed;
mod options;
mod security;
#[cfg(test)]
mod tests;

pub use closed::CloseReason;
pub use security::TlsPolicy;

use crate::export::{Contexts, Export, Session};
use crate::limits::{MAX_OPTION_BYTES, MAX_OPTIONS, MAX_SKIPPED_BYTES, MAX_STRING};
use crate::wire::{FIXED_NEWSTYLE, Gathered, MessageFields, NBD_MAGIC, NO_ZEROES, OPTION_MAGIC, answer, option};
use options::Refusal;
use security::Security;

/// How far a handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeStep {
    /// It goes on: with what is left of the bytes, or with more of them.
    More,
    /// What follows is TLS, once what was said is sent: what is left of the bytes belongs to it, and what comes out of it goes on
    /// here after [`Handshake::secure`].
    StartTls,
    /// What follows are requests.
    Ready(Session),
    /// The connection is to be closed, once what was said is sent.
    Closed(CloseReason),
}

/// A client that has not chosen its export yet.
#[derive(Debug)]
pub struct Handshake<E> {
    exports: E,
    security: Security,
    awaits: Awaits,
    gathered: Gathered,
    options: u32,
    padded: bool,
    structured: bool,
    extended: bool,
    full: bool,
    /// What the client was last refused for who it is.
    refused: Option<&'static str>,
    /// The export whose contexts the client chose, and which.
    contexts: Option<(usize, Contexts)>,
}

#[derive(Clone, Copy, Debug)]
enum Awaits {
    Flags,
    Option,
    Data { option: u32, length: u32 },
    Skipped { option: u32, left: u32 },
    Nothing,
}

impl<E: AsRef<[Export]>> Handshake<E> {
    /// Begins: `out` gets the greeting. The first export is the default, which a client gets who names none.
    pub fn new(exports: E, out: &mut Vec<u8>) -> Handshake<E> {
        out.extend(NBD_MAGIC.to_be_bytes());
        out.extend(OPTION_MAGIC.to_be_bytes());
        out.extend((FIXED_NEWSTYLE | NO_ZEROES).to_be_bytes());
        Handshake {
            exports,
            security: Security::Plain(TlsPolicy::Absent),
            awaits: Awaits::Flags,
            gathered: Gathered::default(),
            options: 0,
            padded: true,
            structured: false,
            extended: false,
            full: false,
            refused: None,
            contexts: None,
        }
    }

    /// Whether there are as many clients as there may be: one more is told so when it has chosen its export.
    pub fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    /// What the client was last refused for who it is, or that there are too many; for a log.
    #[must_use]
    pub fn refusal(&self) -> Option<&'static str> {
        self.refused
    }

    /// Takes bytes of the client and appends what is to be sent. It stops after each option, so that its answer can be
    /// sent before the next is looked at: call again while `bytes` holds some. Of what follows the handshake it takes
    /// nothing.
    pub fn feed(&mut self, bytes: &mut &[u8], out: &mut Vec<u8>) -> HandshakeStep {
        let step = match self.advance(bytes, out) {
            Ok(None) if self.awaits_tls() => HandshakeStep::StartTls,
            Ok(None) => return HandshakeStep::More,
            Ok(Some(session)) => HandshakeStep::Ready(session),
            Err(closed) => HandshakeStep::Closed(closed),
        };
        self.awaits = Awaits::Nothing;
        step
    }

    fn advance(&mut self, bytes: &mut &[u8], out: &mut Vec<u8>) -> Result<Option<Session>, CloseReason> {
        loop {
            self.awaits = match self.awaits {
                Awaits::Flags => {
                    let Some(flags) = self.gathered.whole(4, bytes) else { return Ok(None) };
                    self.take_flags(MessageFields(&flags).u32().unwrap_or_default())?
                }
                Awaits::Option => {
                    let Some(header) = self.gathered.whole(16, bytes) else { return Ok(None) };
                    self.take_header(MessageFields(&header))?
                }
                Awaits::Data { option, length } => {
                    let Some(data) = self.gathered.whole(length as usize, bytes) else { return Ok(None) };
                    self.awaits = Awaits::Option;
                    return self.answer(option, &data, out);
                }
                Awaits::Skipped { option, left } => {
                    let (now, later) = bytes.split_at(bytes.len().min(left as usize));
                    *bytes = later;
                    let left = left - now.len() as u32;
                    self.awaits = if left == 0 { Awaits::Option } else { Awaits::Skipped { option, left } };
                    if left == 0 {
                        options::reply(option, answer::ERR_TOO_BIG, b"the option's data are too long", out);
                    }
                    return Ok(None);
                }
                Awaits::Nothing => return Err(CloseReason::Over),
            };
        }
    }

    fn take_flags(&mut self, flags: u32) -> Result<Awaits, CloseReason> {
        let [fixed, no_zeroes] = [FIXED_NEWSTYLE, NO_ZEROES].map(u32::from);
        if flags & !(fixed | no_zeroes) != 0 {
            return Err(CloseReason::UnknownFlags(flags));
        }
        if flags & fixed == 0 {
            return Err(CloseReason::NotFixedNewstyle);
        }
        self.padded = flags & no_zeroes == 0;
        Ok(Awaits::Option)
    }

    fn take_header(&mut self, mut header: MessageFields) -> Result<Awaits, CloseReason> {
        let (Some(magic), Some(option), Some(length)) = (header.u64(), header.u32(), header.u32()) else {
            return Err(CloseReason::Over);
        };
        self.options += 1;
        if magic != OPTION_MAGIC {
            Err(CloseReason::BadMagic(magic))
        } else if self.options > MAX_OPTIONS {
            Err(CloseReason::TooManyOptions)
        } else if length > MAX_SKIPPED_BYTES || option == option::EXPORT_NAME && length > MAX_STRING as u32 {
            Err(CloseReason::TooLong { option, length })
        } else if length > MAX_OPTION_BYTES {
            Ok(Awaits::Skipped { option, left: length })
        } else {
            Ok(Awaits::Data { option, length })
        }
    }

    /// Answers an option. None of the answers to one client is longer than the table of exports.
    fn answer(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) -> Result<Option<Session>, CloseReason> {
        let answered = match option {
            _ if self.needs_tls(option)? => Err(options::NEEDS_TLS),
            option::EXPORT_NAME if self.full => return Err(CloseReason::Full),
            option::GO if self.full => Err(options::FULL),
            option::EXPORT_NAME => return self.export_name(data, out).map(Some),
            option::ABORT => {
                options::reply(option, answer::ACK, b"", out);
                return Err(CloseReason::Aborted);
            }
            option::GO => self.info(option, data, out).map(Some),
            option::INFO => self.info(option, data, out).map(|_| None),
            option::LIST => self.list(data, out).map(|()| None),
            option::STRUCTURED_REPLY => self.structured_reply(data).map(|()| None),
            option::EXTENDED_HEADERS => self.extended_headers(data).map(|()| None),
            option::LIST_META_CONTEXT => self.list_meta_context(data, out).map(|()| None),
            option::SET_META_CONTEXT => self.set_meta_context(data, out).map(|()| None),
            option::STARTTLS => self.start_tls(data).map(|()| None),
            _ => Err(options::UNSUPPORTED),
        };
        let (kind, message, session) = match answered {
            Ok(session) => (answer::ACK, "", session),
            Err(Refusal(kind, message)) => {
                if matches!(kind, answer::ERR_POLICY | answer::ERR_TLS_REQD) {
                    self.refused = Some(message);
                }
                (kind, message, None)
            }
        };
        options::reply(option, kind, message.as_bytes(), out);
        Ok(session)
    }
}
