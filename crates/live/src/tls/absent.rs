//! What stands for TLS in a build without it.

use super::{CarriedSocket, Carriers, Reloaded};
use block::{At, BadInput};
use load::experiment::TlsPlan;
use nbd::Uri;
use std::convert::Infallible;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::OwnedFd;

const ABSENT: &str = "this halfturn was built without TLS";
const MEND: &str = "build it with `--features tls`, or install a package, which has it";

/// A server that cannot be.
pub(crate) struct TlsServer(Infallible);

/// A session that cannot be.
pub(crate) struct TlsSession(Infallible);

impl TlsServer {
    pub(crate) fn load(plan: &TlsPlan) -> std::result::Result<TlsServer, BadInput> {
        Err(BadInput::new(plan.certificates.display().to_string(), At::File, ABSENT, MEND))
    }

    pub(crate) fn reload(&self) -> std::result::Result<Reloaded, BadInput> {
        match self.0 {}
    }

    pub(crate) fn find_refusal(&self) -> Option<BadInput> {
        match self.0 {}
    }

    pub(crate) fn begin(&self) -> std::result::Result<TlsSession, String> {
        match self.0 {}
    }
}

impl TlsSession {
    pub(crate) fn receive(&mut self, _: &[u8], _: &mut Vec<u8>) -> std::result::Result<(), String> {
        match self.0 {}
    }

    pub(crate) fn say(&mut self, _: &[u8], _: &mut Vec<u8>) {
        match self.0 {}
    }

    pub(crate) fn is_private(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn names(&self) -> Vec<String> {
        match self.0 {}
    }

    pub(crate) fn carry(self, _: OwnedFd, _: &[u8], _: &Carriers) -> Result<CarriedSocket> {
        match self.0 {}
    }
}

pub(crate) fn connect(_: &Uri) -> Result<TlsSession> {
    Err(Error::new(ErrorKind::Unsupported, format!("{ABSENT}; {MEND}")))
}
