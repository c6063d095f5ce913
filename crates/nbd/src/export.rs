//! What a server offers, and what a client and it agreed on.

use crate::flags::Flags;
use crate::limits::MAX_STRING;

/// Constraints on the lengths and offsets of requests, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSize {
    /// Offsets and lengths are multiples of it; a power of two up to 2^16.
    pub minimum: u32,
    /// From here on requests are efficient; a power of two, at least 512 and the minimum.
    pub preferred: u32,
    /// The longest read or write; a multiple of the minimum, or 0xffffffff.
    pub maximum: u32,
}

impl Default for BlockSize {
    /// What holds where nothing was said.
    fn default() -> BlockSize {
        BlockSize { minimum: 1, preferred: 4096, maximum: u32::MAX }
    }
}

/// An export, as a client sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Export {
    /// How a client asks for it.
    pub name: String,
    /// For people; may be empty.
    pub description: String,
    /// The size of the export in bytes.
    pub size: u64,
    /// The block sizes that requests must keep to.
    pub block: BlockSize,
    /// What can be done with it.
    pub flags: Flags,
    /// Whether it is to be had within TLS only.
    pub secured: bool,
}

impl Export {
    /// What of this export the protocol does not allow, if anything.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        let BlockSize { minimum, preferred, maximum } = self.block;
        let text = |text: &str| text.len() <= MAX_STRING && !text.contains('\0');
        let rules = [
            (text(&self.name), "a name has at most 4096 bytes and no NUL"),
            (text(&self.description), "a description has at most 4096 bytes and no NUL"),
            (minimum.is_power_of_two() && minimum <= 1 << 16, "the least block is a power of two up to 64 KiB"),
            (
                preferred.is_power_of_two() && preferred >= minimum.max(512),
                "the preferred block is a power of two, at least 512 bytes and the least block",
            ),
            (
                maximum == u32::MAX || minimum != 0 && maximum.is_multiple_of(minimum),
                "the longest request is a whole number of least blocks",
            ),
            (
                u64::from(maximum) >= u64::from(preferred).min(self.size),
                "the longest request is at least the preferred block",
            ),
            (
                minimum != 0 && self.size.is_multiple_of(u64::from(minimum)),
                "the size is a whole number of least blocks",
            ),
            (self.size <= i64::MAX as u64, "the size is at most 2^63 - 1 bytes"),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map(|(_, rule)| rule)
    }
}

/// What is told of the parts of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// `base:allocation`: where there are data, holes and zeros.
    Allocation,
    /// `halfturn:rate`: how fast it is read from its first byte to its last, in KiB/s; 0 where that is not known.
    Rate,
}

impl Context {
    /// Every context that the server knows.
    pub const ALL: [Context; 2] = [Context::Allocation, Context::Rate];

    /// Its name: a namespace, a colon, and what it is there.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Context::Allocation => "base:allocation",
            Context::Rate => "halfturn:rate",
        }
    }

    /// The number by which it is called in block statuses.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32 + 1
    }
}

/// A set of contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contexts(u8);

impl Contexts {
    /// These contexts, and `context` besides.
    #[must_use]
    pub const fn with(self, context: Context) -> Contexts {
        Contexts(self.0 | 1 << context as u8)
    }

    /// Whether it is among these.
    #[must_use]
    pub const fn has(self, context: Context) -> bool {
        self.0 >> context as u8 & 1 == 1
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Each of these, by number.
    pub fn iter(self) -> impl Iterator<Item = Context> {
        Context::ALL.into_iter().filter(move |context| self.has(*context))
    }
}

/// What was agreed on: by it requests are checked and replies are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    /// Which of the server's exports; 0 at the client.
    pub export: usize,
    /// Its size in bytes.
    pub size: u64,
    /// The block sizes that requests must keep to.
    pub block: BlockSize,
    /// What can be done with it, as the client was told.
    pub flags: Flags,
    /// Whether replies are structured.
    pub structured: bool,
    /// Whether headers are extended: lengths have 64 bits, and all replies are structured.
    pub extended: bool,
    /// What the client chose for block statuses.
    pub contexts: Contexts,
}

impl Session {
    pub(crate) fn new(
        number: usize,
        export: &Export,
        (structured, extended): (bool, bool),
        contexts: Contexts,
    ) -> Session {
        let absent = if structured { Flags::default() } else { Flags::SEND_DF };
        let absent = if extended { absent } else { absent.with(Flags::BLOCK_STATUS_PAYLOAD) };
        Session {
            export: number,
            size: export.size,
            block: export.block,
            flags: export.flags.with(Flags::HAS_FLAGS).without(absent),
            structured,
            extended,
            contexts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_protocol_does_not_allow_is_named() {
        let block = |minimum, preferred, maximum| Export {
            size: 1 << 20,
            block: BlockSize { minimum, preferred, maximum },
            ..Export::default()
        };
        assert_eq!(block(512, 4096, 1 << 25).fault(), None);
        assert_eq!(block(1, 512, u32::MAX).fault(), None);
        for (minimum, preferred, maximum) in
            [(0, 512, 512), (3, 512, 513), (512, 256, 512), (4096, 512, 4096), (512, 4096, 1000), (512, 4096, 2048)]
        {
            assert!(block(minimum, preferred, maximum).fault().is_some(), "{minimum} {preferred} {maximum}");
        }
        assert!(Export { size: 1000, ..block(512, 4096, 1 << 25) }.fault().is_some());
        assert!(Export { name: "a\0".into(), ..Export::default() }.fault().is_some());
        assert!(Export { size: 1 << 63, ..Export::default() }.fault().is_some());
    }

    #[test]
    fn a_session_has_no_flag_that_its_headers_cannot_carry() {
        let all = Flags::SEND_DF.with(Flags::BLOCK_STATUS_PAYLOAD).with(Flags::SEND_FLUSH);
        let export = Export { flags: all, ..Export::default() };
        let has = |negotiated, flag| Session::new(0, &export, negotiated, Contexts::default()).flags.has(flag);
        for (negotiated, df, payload) in
            [((false, false), false, false), ((true, false), true, false), ((true, true), true, true)]
        {
            assert_eq!(has(negotiated, Flags::SEND_DF), df, "{negotiated:?}");
            assert_eq!(has(negotiated, Flags::BLOCK_STATUS_PAYLOAD), payload, "{negotiated:?}");
            assert!(has(negotiated, Flags::SEND_FLUSH) && has(negotiated, Flags::HAS_FLAGS));
        }
    }
}
