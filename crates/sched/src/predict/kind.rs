//! What a predictor says of itself: its name, what it tells, and how it is made of what is known of a device.

use super::{Predictor, mimic};
use block::Span;
use config::{About, Table};
use disk::Sheet;
use std::sync::Arc;

/// What users are told of a predictor.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// What it is called in a file.
    pub name: &'static str,
    /// What it believes, and when it is of use.
    pub text: &'static str,
    /// Its keys in `[scheduler]`.
    pub keys: &'static [About],
    /// The table of its other keys.
    pub table: Option<fn() -> Table>,
    /// Lines of `[scheduler]` that ask for it.
    pub example: &'static str,
    /// What it tells of the time that a request takes.
    pub tells: Tells,
}

/// What a predictor tells of the time that a request takes; each tells what the one before it does, and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tells {
    /// Which of two takes longer.
    Order,
    /// How long it takes.
    Times,
    /// Of what that is made up: the seek, and the wait for the sector.
    Way,
}

/// What is known of a device before a run.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// Its mechanics, by whoever's word.
    pub sheet: Option<Arc<Sheet>>,
    /// The mean times of distances, learned before.
    pub times: Option<Arc<mimic::Learned>>,
    /// How times are learned in use.
    pub learning: mimic::Learning,
    /// For how long the device is left alone before it is read to learn it, where that is allowed.
    pub probe_after: Option<Span>,
}

/// A predictor that is made of what is known of a device. Its file implements this, and `predict/mod.rs` lists the file.
pub trait Recipe: Predictor + Sized + 'static {
    /// What users are told of it.
    const MANUAL: Manual;

    /// The predictor for a device of so many blocks; nothing where what it needs is not known.
    fn make(known: &Knowledge, blocks: u64) -> Option<Self>;
}

/// Something done with a predictor, whichever it is.
pub trait Taker {
    /// What comes of it.
    type Output;

    /// Does it with a predictor of this type.
    fn take<P: Recipe>(self) -> Self::Output;
}
