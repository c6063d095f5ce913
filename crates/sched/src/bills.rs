//! Who pays for the arm's time: the class that a command is for, or the one that caused what it costs.
//!
//! The core knows why it issues a command, and says so; what the command took, and on what, the world knows. A command is
//! billed to the class of its request. What is done in the slack before another's seek is billed to who fills it. The way back
//! to a request that was interrupted is billed to who interrupted it: that is the *detour* of a preemption.

use block::Span;

/// Why a command is issued, as far as that says who pays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// For a request of the class.
    Request,
    /// For one of the class that was interrupted: this class, which interrupted it, pays for the way back.
    Resumed(u8),
    /// The time was there before another's seek was due.
    Slack,
}

/// Who pays for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bill {
    /// The class that pays.
    pub class: u8,
    /// Why the time is spent.
    pub cause: Cause,
    /// How long the arm is believed to take to get there, and the blocks then to come round; nothing where that is not known.
    pub believed: Option<(Span, Span)>,
}
