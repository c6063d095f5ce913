//! What has its say while a device is still being learned (The Disk Mimic, Section 6): a policy that needs to know nothing of it.

use super::Policy;
use crate::JobId;
use crate::predict::Predictor;
use block::Lbn;
use config::{Word, Words};

/// What is done about requests whose time is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Learn {
    /// *Online-Set*: what the base would pick, if its time is not known; else the least known.
    #[default]
    Set,
    /// *Online-Priority*: the least known; only where none is known, what the base would pick.
    Priority,
}

/// What orders requests while little is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BaseOrder {
    /// The nearest by block number.
    #[default]
    Sstf,
    /// Upward in order of block number, then from the lowest.
    CLook,
}

impl Words for BaseOrder {
    const WORDS: &'static [Word<BaseOrder>] = &[
        Word::new("sstf", BaseOrder::Sstf, "the nearest by block number"),
        Word::new("c-look", BaseOrder::CLook, "upward in order of block number, then from the lowest"),
    ];
}

/// A policy that says what it would choose, and keeps it.
pub(super) trait Base<P: Predictor>: Policy<P> {
    /// The job it would take for an arm that is behind block `head`; nothing only when it holds none.
    fn choice(&mut self, head: Lbn) -> Option<JobId>;
}
