//! What is answered to each option.

use super::{CloseReason, Handshake};
use crate::export::{Context, Contexts, Export, Session};
use crate::limits::MAX_STRING;
use crate::wire::{MessageFields, OPTION_REPLY_MAGIC, PADDING, answer, info, option};

/// An error reply and what it tells people.
pub(super) struct Refusal(pub(super) u32, pub(super) &'static str);

pub(super) const UNSUPPORTED: Refusal = Refusal(answer::ERR_UNSUP, "this server does not know the option");
pub(super) const FULL: Refusal =
    Refusal(answer::ERR_POLICY, "as many clients are connected as the server lets in; try again");
pub(super) const NO_TLS: Refusal = Refusal(answer::ERR_UNSUP, "this server does not speak TLS");
pub(super) const NEEDS_TLS: Refusal = Refusal(answer::ERR_TLS_REQD, "this needs TLS: send NBD_OPT_STARTTLS first");
pub(super) const TLS_TWICE: Refusal = Refusal(answer::ERR_INVALID, "TLS is spoken already");
pub(super) const NOT_OPENED: Refusal =
    Refusal(answer::ERR_POLICY, "no name in the client's certificate opens this export");
const DATA: Refusal = Refusal(answer::ERR_INVALID, "the option has no data");
const MALFORMED: Refusal = Refusal(answer::ERR_INVALID, "the option's data are not what their lengths say");
const UNSTRUCTURED: Refusal = Refusal(answer::ERR_INVALID, "structured replies must be chosen first");
const UNKNOWN: Refusal = Refusal(answer::ERR_UNKNOWN, "there is no export of this name");
const EXTENDED: Refusal = Refusal(answer::ERR_EXTENDED, "headers are extended, and replies structured, already");
const TWICE: Refusal = Refusal(answer::ERR_INVALID, "headers are extended already");
const LONG_NAME: Refusal = Refusal(answer::ERR_TOO_BIG, "a name has at most 4096 bytes");

/// Appends a reply to an option.
pub(super) fn reply(option: u32, kind: u32, data: &[u8], out: &mut Vec<u8>) {
    out.extend(OPTION_REPLY_MAGIC.to_be_bytes());
    for number in [option, kind, data.len() as u32] {
        out.extend(number.to_be_bytes());
    }
    out.extend(data);
}

pub(super) fn no_data(data: &[u8]) -> Result<(), Refusal> {
    if data.is_empty() { Ok(()) } else { Err(DATA) }
}

/// Which contexts are asked for, and of which export.
struct Queries<'a> {
    export: &'a [u8],
    /// Those that are named; and those of a namespace that is, or all where nothing is.
    named: Contexts,
    meant: Contexts,
}

impl<'a> Queries<'a> {
    fn read(data: &'a [u8]) -> Result<Queries<'a>, Refusal> {
        let mut fields = MessageFields(data);
        let (Some(export), Some(count)) = (fields.string(), fields.u32()) else { return Err(MALFORMED) };
        let mut queries = Queries { export, named: Contexts::default(), meant: Contexts::default() };
        for _ in 0..count {
            let query = fields.string().ok_or(MALFORMED)?;
            for context in Context::ALL {
                let name = context.name().as_bytes();
                let is_its_space = query.ends_with(b":") && name.starts_with(query);
                queries.named = if query == name { queries.named.with(context) } else { queries.named };
                queries.meant = if is_its_space { queries.meant.with(context) } else { queries.meant };
            }
        }
        if count == 0 {
            queries.meant = Context::ALL.into_iter().fold(queries.meant, Contexts::with);
        }
        if fields.0.is_empty() { Ok(queries) } else { Err(MALFORMED) }
    }
}

impl<E: AsRef<[Export]>> Handshake<E> {
    /// Number and export of a name that the client may have; without a name, the default.
    fn find(&self, name: &[u8]) -> Result<(usize, &Export), Refusal> {
        let mut exports = self.exports.as_ref().iter().enumerate();
        let found = exports.find(|(_, export)| name.is_empty() || export.name.as_bytes() == name);
        let (number, export) = found.ok_or(UNKNOWN)?;
        self.check_access(number, export).map(|()| (number, export))
    }

    fn session(&self, number: usize, export: &Export) -> Session {
        let contexts = self.contexts.filter(|(of, _)| *of == number).map_or(Contexts::default(), |(_, chosen)| chosen);
        Session::new(number, export, (self.structured, self.extended), contexts)
    }

    pub(super) fn export_name(&self, name: &[u8], out: &mut Vec<u8>) -> Result<Session, CloseReason> {
        let (number, export) = self.find(name).map_err(|refusal| match refusal.0 {
            answer::ERR_TLS_REQD => CloseReason::NeedsTls,
            _ => CloseReason::NoSuchExport,
        })?;
        let session = self.session(number, export);
        out.extend(session.size.to_be_bytes());
        out.extend(session.flags.0.to_be_bytes());
        if self.padded {
            out.extend([0; PADDING]);
        }
        Ok(session)
    }

    pub(super) fn list(&self, data: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        no_data(data)?;
        let exports = self.exports.as_ref().iter().enumerate();
        for (_, export) in exports.filter(|(number, export)| self.check_access(*number, export).is_ok()) {
            let length = (export.name.len() as u32).to_be_bytes();
            let server = [&length[..], export.name.as_bytes(), export.description.as_bytes()].concat();
            reply(option::LIST, answer::SERVER, &server, out);
        }
        Ok(())
    }

    /// Extended headers come with structured replies.
    pub(super) fn extended_headers(&mut self, data: &[u8]) -> Result<(), Refusal> {
        no_data(data)?;
        if self.extended {
            return Err(TWICE);
        }
        (self.structured, self.extended) = (true, true);
        Ok(())
    }

    pub(super) fn structured_reply(&mut self, data: &[u8]) -> Result<(), Refusal> {
        no_data(data)?;
        if self.extended {
            return Err(EXTENDED);
        }
        self.structured = true;
        Ok(())
    }

    /// What is known of an export: always its size and flags, the rest where it was asked for.
    pub(super) fn info(&self, option: u32, data: &[u8], out: &mut Vec<u8>) -> Result<Session, Refusal> {
        let mut fields = MessageFields(data);
        let (Some(name), Some(count)) = (fields.string(), fields.u16()) else { return Err(MALFORMED) };
        if fields.0.len() != 2 * usize::from(count) {
            return Err(MALFORMED);
        }
        if name.len() > MAX_STRING {
            return Err(LONG_NAME);
        }
        let (number, export) = self.find(name)?;
        let session = self.session(number, export);
        let mut tell = |kind: u16, about: &[&[u8]]| {
            reply(option, answer::INFO, &[&kind.to_be_bytes(), &about.concat()[..]].concat(), out);
        };
        tell(info::EXPORT, &[&session.size.to_be_bytes(), &session.flags.0.to_be_bytes()]);
        let wanted = |kind: u16| fields.0.chunks_exact(2).any(|asked| asked == kind.to_be_bytes());
        if wanted(info::NAME) {
            tell(info::NAME, &[export.name.as_bytes()]);
        }
        if wanted(info::DESCRIPTION) && !export.description.is_empty() {
            tell(info::DESCRIPTION, &[export.description.as_bytes()]);
        }
        if wanted(info::BLOCK_SIZE) {
            let block = session.block;
            tell(
                info::BLOCK_SIZE,
                &[block.minimum, block.preferred, block.maximum].map(u32::to_be_bytes).each_ref().map(|n| &n[..]),
            );
        }
        Ok(session)
    }

    pub(super) fn list_meta_context(&self, data: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        let queries = self.queries(data)?.0;
        for context in Context::ALL {
            if queries.meant.has(context) || queries.named.has(context) {
                tell_context(option::LIST_META_CONTEXT, 0, context, out);
            }
        }
        Ok(())
    }

    /// What was chosen before is gone, also where this fails.
    pub(super) fn set_meta_context(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(), Refusal> {
        self.contexts = None;
        let (queries, number) = self.queries(data)?;
        self.contexts = Some((number, queries.named));
        for context in queries.named.iter() {
            tell_context(option::SET_META_CONTEXT, context.number(), context, out);
        }
        Ok(())
    }

    fn queries<'a>(&self, data: &'a [u8]) -> Result<(Queries<'a>, usize), Refusal> {
        if !self.structured {
            return Err(UNSTRUCTURED);
        }
        let queries = Queries::read(data)?;
        let (number, _) = self.find(queries.export)?;
        Ok((queries, number))
    }
}

fn tell_context(option: u32, number: u32, context: Context, out: &mut Vec<u8>) {
    reply(option, answer::META_CONTEXT, &[&number.to_be_bytes(), context.name().as_bytes()].concat(), out);
}
