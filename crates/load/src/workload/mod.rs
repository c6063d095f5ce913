//! Workloads: who asks for what, and when. One file each.

mod closed;
mod open;
mod pattern;
mod replay;
mod sweep;
mod trace;
mod week;

pub use pattern::Addresses;

use crate::draw::Draw;
use crate::experiment::{Kind, Workload as Description};
use block::{At, BadInput, Extent, Op, Time};

/// A request about to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draft {
    /// When it arrives.
    pub arrives: Time,
    /// What it does.
    pub op: Op,
    /// Where.
    pub at: Extent,
}

/// A source of requests.
pub trait Workload {
    /// When its next request arrives; nothing if that depends on one that has not ended, or never.
    fn due(&self) -> Option<Time>;

    /// The request that is due. The caller guarantees that one is.
    ///
    /// # Errors
    /// Bad input, where requests are read from a file; nothing more is due then.
    fn make(&mut self) -> Result<Draft, BadInput>;

    /// A request it made has ended.
    fn ended(&mut self, now: Time, at: Extent);

    /// What a reader of the results must know.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The workload described, for a drive of `blocks` blocks.
///
/// # Errors
/// When it does not fit the drive, or its trace cannot be read.
pub fn build(what: &Description, blocks: u64, draw: Draw) -> Result<Box<dyn Workload>, BadInput> {
    Ok(match &what.kind {
        Kind::Open { rate, arrivals, pattern } => {
            let pattern = pattern::Addresses::new(&what.name, pattern, blocks, draw)?;
            Box::new(open::Open::new(*rate, *arrivals, pattern))
        }
        Kind::Closed { depth, think, pattern } => {
            let pattern = pattern::Addresses::new(&what.name, pattern, blocks, draw)?;
            Box::new(closed::Closed::new(*depth, *think, pattern))
        }
        Kind::Repair { blocks: size, depth, start, again, rate } => {
            Box::new(sweep::Sweep::new(*depth, *start, blocks, *size, *again, *rate))
        }
        Kind::Trace(choice) => Box::new(replay::Replay::new(trace::Recorded::open(choice, blocks)?, &choice.pace)?),
        Kind::Compression(_) | Kind::Processes(_) | Kind::Recorded(_) => {
            let mend = "let a system run them";
            return Err(BadInput::new(
                format!("workload '{}'", what.name),
                At::File,
                "processes need processors",
                mend,
            ));
        }
        Kind::MadeUp { like, days, region, pace } => {
            let week = week::Week::new(&what.name, *like, *days, *region, blocks, draw)?;
            Box::new(replay::Replay::new(week, pace)?)
        }
    })
}
