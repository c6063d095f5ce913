//! Fixed newstyle negotiation, as the client leads it.

use super::Broken;
use crate::export::{BlockSize, Contexts, Session};
use crate::flags::Flags;
use crate::limits::{MAX_LISTED, MAX_OPTION_BYTES};
use crate::wire::{
    FIXED_NEWSTYLE, Gathered, MessageFields, NBD_MAGIC, NO_ZEROES, OPTION_MAGIC, OPTION_REPLY_MAGIC, answer, info,
    option,
};

/// What a client wants of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientGoal {
    /// An export, by its name; the default one if the name is empty.
    Go(String),
    /// To know what there is.
    List,
}

/// An export in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedExport {
    /// How to ask for it.
    pub name: String,
    /// For people; may be empty.
    pub description: String,
}

/// How far a handshake is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientStep {
    /// More bytes are needed.
    More,
    /// What follows is TLS: what comes out of it goes on here after [`ClientHandshake::secure`].
    StartTls,
    /// Requests may be sent.
    Ready(Session),
    /// What there is; the server has been told that the client goes.
    Listed(Vec<ListedExport>),
}

/// A connection on which nothing is agreed yet.
#[derive(Debug)]
pub struct ClientHandshake {
    wish: ClientGoal,
    /// Whether the server is to speak TLS first.
    tls: bool,
    awaits: ReplyAwaited,
    gathered: Gathered,
    session: Session,
    listed: Vec<ListedExport>,
}

#[derive(Clone, Copy, Debug)]
enum ReplyAwaited {
    Greeting,
    Answer { option: u32 },
    Data { option: u32, kind: u32, length: u32 },
}

impl ClientHandshake {
    /// A client with a wish; the server speaks first.
    #[must_use]
    pub fn new(wish: ClientGoal) -> ClientHandshake {
        let session = Session {
            export: 0,
            size: 0,
            block: BlockSize::default(),
            flags: Flags::default(),
            structured: false,
            extended: false,
            contexts: Contexts::default(),
        };
        let (awaits, gathered) = (ReplyAwaited::Greeting, Gathered::default());
        ClientHandshake { wish, tls: false, awaits, gathered, session, listed: Vec::new() }
    }

    /// The same, which tells nothing but within TLS.
    #[must_use]
    pub fn with_tls(self) -> ClientHandshake {
        ClientHandshake { tls: true, ..self }
    }

    /// The connection is private from here on: `out` gets what is to be sent within.
    pub fn secure(&mut self, out: &mut Vec<u8>) {
        self.begin(out);
    }

    /// Takes bytes of the server and appends what is to be sent. Of what follows the handshake it takes nothing.
    ///
    /// # Errors
    /// When the server does not speak the protocol, or refuses.
    pub fn feed(&mut self, bytes: &mut &[u8], out: &mut Vec<u8>) -> Result<ClientStep, Broken> {
        loop {
            match self.awaits {
                ReplyAwaited::Greeting => {
                    let Some(greeting) = self.gathered.whole(18, bytes) else { return Ok(ClientStep::More) };
                    self.greet(MessageFields(&greeting), out)?;
                }
                ReplyAwaited::Answer { option } => {
                    let Some(header) = self.gathered.whole(20, bytes) else { return Ok(ClientStep::More) };
                    self.awaits = data_of(option, MessageFields(&header))?;
                }
                ReplyAwaited::Data { option, kind, length } => {
                    let Some(data) = self.gathered.whole(length as usize, bytes) else { return Ok(ClientStep::More) };
                    self.awaits = ReplyAwaited::Answer { option };
                    if let Some(step) = self.take(option, kind, &data, out)? {
                        return Ok(step);
                    }
                }
            }
        }
    }

    fn greet(&mut self, mut greeting: MessageFields, out: &mut Vec<u8>) -> Result<(), Broken> {
        let magic = (greeting.u64(), greeting.u64());
        let flags = greeting.u16().unwrap_or_default();
        if magic != (Some(NBD_MAGIC), Some(OPTION_MAGIC)) || flags & FIXED_NEWSTYLE == 0 {
            return Err(Broken::NotNbd);
        }
        out.extend(u32::from(flags & (FIXED_NEWSTYLE | NO_ZEROES)).to_be_bytes());
        if self.tls {
            self.ask(option::STARTTLS, &[], out);
        } else {
            self.begin(out);
        }
        Ok(())
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        match self.wish {
            ClientGoal::Go(_) => self.ask(option::STRUCTURED_REPLY, &[], out),
            ClientGoal::List => self.ask(option::LIST, &[], out),
        }
    }

    fn ask(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) {
        out.extend(OPTION_MAGIC.to_be_bytes());
        out.extend(option.to_be_bytes());
        out.extend((data.len() as u32).to_be_bytes());
        out.extend(data);
        self.awaits = ReplyAwaited::Answer { option };
    }

    /// An answer: what was asked next depends on it.
    fn take(&mut self, option: u32, kind: u32, data: &[u8], out: &mut Vec<u8>) -> Result<Option<ClientStep>, Broken> {
        match (option, kind) {
            (option::STARTTLS, answer::ACK) => Ok(Some(ClientStep::StartTls)),
            (option::STRUCTURED_REPLY, answer::ERR_TLS_REQD) => Err(refusal(kind, data)),
            (option::STRUCTURED_REPLY, _) => {
                self.session.structured = kind == answer::ACK;
                self.go(out);
                Ok(None)
            }
            (option::GO, answer::INFO) => self.learn(MessageFields(data)).map(|()| None),
            (option::GO, answer::ACK) if self.session.flags.has(Flags::HAS_FLAGS) => {
                Ok(Some(ClientStep::Ready(self.session)))
            }
            (option::LIST, answer::SERVER) => self.list(MessageFields(data)).map(|()| None),
            (option::LIST, answer::ACK) => {
                self.ask(option::ABORT, &[], out);
                Ok(Some(ClientStep::Listed(std::mem::take(&mut self.listed))))
            }
            _ if kind & answer::ERROR != 0 => Err(refusal(kind, data)),
            _ => Err(Broken::Unexpected("an answer to what was not asked")),
        }
    }

    fn go(&mut self, out: &mut Vec<u8>) {
        let ClientGoal::Go(name) = &self.wish else { return };
        let length = (name.len() as u32).to_be_bytes();
        let asked = [1, info::BLOCK_SIZE].map(u16::to_be_bytes).concat();
        let data = [&length[..], name.as_bytes(), &asked].concat();
        self.ask(option::GO, &data, out);
    }

    fn learn(&mut self, mut fields: MessageFields) -> Result<(), Broken> {
        const SHORT: Broken = Broken::Unexpected("information of a wrong length");
        match fields.u16().ok_or(SHORT)? {
            info::EXPORT => {
                let (Some(size), Some(flags)) = (fields.u64(), fields.u16()) else { return Err(SHORT) };
                (self.session.size, self.session.flags) = (size, Flags(flags));
            }
            info::BLOCK_SIZE => {
                let (Some(minimum), Some(preferred), Some(maximum)) = (fields.u32(), fields.u32(), fields.u32()) else {
                    return Err(SHORT);
                };
                if !minimum.is_power_of_two() || maximum < minimum {
                    return Err(Broken::Unexpected("constraints on blocks that none can keep"));
                }
                self.session.block = BlockSize { minimum, preferred, maximum };
            }
            _ => return Ok(()),
        }
        if fields.0.is_empty() { Ok(()) } else { Err(SHORT) }
    }

    fn list(&mut self, mut fields: MessageFields) -> Result<(), Broken> {
        let name = fields.string().ok_or(Broken::Unexpected("a name longer than its message"))?;
        if self.listed.len() == MAX_LISTED {
            return Err(Broken::Unexpected("a list without end"));
        }
        let [name, description] = [name, fields.0].map(|text| String::from_utf8_lossy(text).into_owned());
        self.listed.push(ListedExport { name, description });
        Ok(())
    }
}

/// What follows the header of an answer.
fn data_of(asked: u32, mut header: MessageFields) -> Result<ReplyAwaited, Broken> {
    let (magic, option, kind, length) = (header.u64(), header.u32(), header.u32(), header.u32());
    let (Some(OPTION_REPLY_MAGIC), Some(option), Some(kind), Some(length)) = (magic, option, kind, length) else {
        return Err(Broken::Unexpected("an answer does not begin like one"));
    };
    if option != asked {
        return Err(Broken::Unexpected("an answer to what was not asked"));
    }
    if length > MAX_OPTION_BYTES {
        return Err(Broken::Unexpected("an answer too long to read"));
    }
    Ok(ReplyAwaited::Data { option, kind, length })
}

fn refusal(kind: u32, data: &[u8]) -> Broken {
    let known = match kind {
        answer::ERR_UNSUP => "it does not know the option",
        answer::ERR_UNKNOWN => "it has no such export",
        answer::ERR_TLS_REQD => "it wants TLS",
        _ => "it says no",
    };
    let said = String::from_utf8_lossy(data);
    Broken::Refused(if said.is_empty() { format!("{known} ({kind:#x})") } else { said.into_owned() })
}
