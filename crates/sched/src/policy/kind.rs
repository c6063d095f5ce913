//! What a policy says of itself: its name, its keys, and how it is made.

use super::Policy;
use super::base::{BaseOrder, Learn};
use crate::predict::Predictor;
use crate::value::Worth;
use block::{BadInput, Caps};
use config::{About, Section};
use std::fmt::Debug;

/// A policy as an experiment asks for it: the values of its keys. Its file implements this, and `policy/mod.rs` lists the file.
pub trait Kind: Copy + Debug + PartialEq + Sized {
    /// What users are told of it.
    const MANUAL: Manual;
    /// Whether it shares out the device among classes by itself.
    const SHARES_OUT: bool = false;
    /// Whether the priority of requests has a say in its order, whoever interrupts.
    const HEEDS_PRIORITY: bool = false;

    /// Reads its keys from `[scheduler]`.
    ///
    /// # Errors
    /// Bad input with file, line and mend.
    fn read(scheduler: &Section) -> Result<Self, BadInput>;

    /// The policy itself, which holds no requests yet.
    fn make<P: Predictor + 'static>(&self, beside: &Beside) -> Box<dyn Policy<P>>;
}

/// What users are told of a policy.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// What it is called in a file.
    pub name: &'static str,
    /// What it does, when it is of use, and where it comes from.
    pub text: &'static str,
    /// Its keys in `[scheduler]`.
    pub keys: &'static [About],
    /// Lines of `[scheduler]` that ask for it.
    pub example: &'static str,
    /// What it must know of times.
    pub needs: Needs,
}

/// What a policy must know of the times that requests take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: it goes by block numbers, those of what waits and of the last command ([`Predictor::arm`]).
    Nothing,
    /// Which of two is shorter: any predictor does.
    Any,
    /// How long they are: a predictor that tells only what is farther does not do.
    Times,
    /// What the Disk Mimic has learned of them.
    Mimic,
    /// Nothing beforehand: what it must know it learns in use, where no other predictor is given.
    Learning,
}

/// What a policy is told that other tables than `[scheduler]` say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Beside {
    /// What requests are worth, by class; a class past the end has the usual.
    pub worths: Vec<Worth>,
    /// What each may have by number of requests, by class; a class past the end has the usual.
    pub claims: Vec<IopsClaim>,
    /// What each weighs, by class; a class past the end weighs 1.
    pub weights: Vec<f64>,
    /// What is done about requests whose time the Disk Mimic does not know.
    pub learn: Learn,
    /// The policy under which it learns.
    pub base: BaseOrder,
    /// By what share of its time another request must be better than what the base would pick.
    pub margin: f64,
    /// What the device can do, where that is known.
    pub caps: Option<Caps>,
}

/// What a class may have by number of requests, each a second: what it is sure of, its weight for the rest, and what it may have at
/// most; 0: nothing reserved, and no limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IopsClaim {
    /// What it is sure of.
    pub reservation: f64,
    /// Its weight for what is not reserved.
    pub weight: f64,
    /// What it may have at most.
    pub limit: f64,
}

impl Default for IopsClaim {
    fn default() -> IopsClaim {
        IopsClaim { reservation: 0.0, weight: 1.0, limit: 0.0 }
    }
}
