//! TLS within a handshake: who must speak it, and which exports it opens.

use super::options::{self, Refusal};
use super::{Awaits, CloseReason, Handshake};
use crate::export::Export;
use crate::wire::option;

/// What a server does about TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsPolicy {
    /// It does not speak it.
    #[default]
    Absent,
    /// Exports that are not [`Export::secured`] are there without it, too (SELECTIVETLS).
    Offered,
    /// Nothing is to be had without it (FORCEDTLS).
    Required,
}

/// How a connection stands to TLS.
#[derive(Debug)]
pub(super) enum Security {
    /// What is said can be read by others.
    Plain(TlsPolicy),
    /// It was agreed on, and is not there yet.
    Awaited,
    /// It is there, and opens these exports.
    Tls { opened: Vec<bool> },
}

impl<E: AsRef<[Export]>> Handshake<E> {
    /// The same, of a server that speaks TLS.
    #[must_use]
    pub fn with_tls(self, policy: TlsPolicy) -> Handshake<E> {
        Handshake { security: Security::Plain(policy), ..self }
    }

    /// The connection is private from here on, and the client has shown who it is: `opens` says of each export whether it may have
    /// it. Nothing holds any more of what was agreed on before.
    pub fn secure(&mut self, opens: impl Fn(usize) -> bool) {
        if !matches!(self.security, Security::Awaited) {
            return;
        }
        self.security = Security::Tls { opened: (0..self.exports.as_ref().len()).map(opens).collect() };
        (self.structured, self.extended, self.contexts) = (false, false, None);
        self.awaits = Awaits::Option;
    }

    /// Whether TLS was agreed on and is not there yet.
    pub(super) fn awaits_tls(&self) -> bool {
        matches!(self.security, Security::Awaited)
    }

    /// Whether an option is to come within TLS only; one that can be answered by closing alone is.
    pub(super) fn needs_tls(&self, option: u32) -> Result<bool, CloseReason> {
        let needs = matches!(self.security, Security::Plain(TlsPolicy::Required))
            && !matches!(option, option::ABORT | option::STARTTLS);
        if needs && option == option::EXPORT_NAME { Err(CloseReason::NeedsTls) } else { Ok(needs) }
    }

    pub(super) fn start_tls(&mut self, data: &[u8]) -> Result<(), Refusal> {
        options::no_data(data)?;
        match self.security {
            Security::Plain(TlsPolicy::Absent) => Err(options::NO_TLS),
            Security::Plain(_) => {
                self.security = Security::Awaited;
                Ok(())
            }
            Security::Awaited | Security::Tls { .. } => Err(options::TLS_TWICE),
        }
    }

    /// Whether the client may have an export: why not, if not.
    pub(super) fn check_access(&self, number: usize, export: &Export) -> Result<(), Refusal> {
        match &self.security {
            Security::Plain(_) | Security::Awaited if export.secured => Err(options::NEEDS_TLS),
            Security::Tls { opened } if !opened.get(number).is_some_and(|opened| *opened) => Err(options::NOT_OPENED),
            _ => Ok(()),
        }
    }
}
