//! The client's side: to list exports, to choose one, and to understand replies.

mod handshake;
mod replies;

pub use handshake::{ClientGoal, ClientHandshake, ClientStep, ListedExport};
pub use replies::{Body, ServerReply, reply};

use std::fmt;

/// Why a client gives up on a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It does not begin as a server does that speaks fixed newstyle.
    NotNbd,
    /// An answer that the protocol does not allow here.
    Unexpected(&'static str),
    /// It does not offer what was asked for, and says why.
    Refused(String),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::NotNbd => write!(f, "this is no NBD server of fixed newstyle"),
            Broken::Unexpected(what) => write!(f, "the server breaks the protocol: {what}"),
            Broken::Refused(why) => write!(f, "the server refuses: {why}"),
        }
    }
}

impl std::error::Error for Broken {}
