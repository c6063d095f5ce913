//! Where the time of an arm went, in shares.

use block::Span;
use drive::Account;

/// Where the time of an arm went, over all replications of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArmTime {
    elapsed: Span,
    busy: Span,
    background: Span,
    parts: drive::Parts,
}

impl ArmTime {
    pub(crate) fn add(&mut self, account: &Account) {
        self.elapsed += account.span();
        self.busy += account.busy;
        self.background += account.background;
        self.parts += account.parts;
    }

    /// As shares of the elapsed time.
    pub(crate) fn shares(&self) -> load::results::Disk {
        load::results::Disk::of(self.elapsed, self.busy, self.background, self.parts.name_parts())
    }
}
