//! Who pays for the arm's time: the class that a command is for, or the one that caused what it costs.
//!
//! The core knows why it issues a command, and says so; what the command took, and on what, the world knows. A command is
//! billed to the class of its request. What is done in the slack before another's seek is billed to who fills it. The way back
//! to a request that was interrupted is billed to who interrupted it: that is the *detour* of a preemption.

use crate::board::{Board, Errand};
use crate::predict::Predictor;
use block::{Command, Place, Span, Time};

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
    /// The class.
    pub class: u8,
    /// Why.
    pub cause: Cause,
    /// How long the arm is believed to take to get there, and the blocks then to come round; nothing where that is not known.
    pub believed: Option<(Span, Span)>,
}

impl<P: Predictor> Board<P> {
    /// Who pays for a command that is about to be issued; nobody for what the core does to learn the device.
    #[cold]
    pub(crate) fn bill(&mut self, now: Time, errand: Errand, command: &Command, spot: P::Spot) -> Option<Bill> {
        let id = match (errand, command.place) {
            (Errand::Job(id), _) => Some(id),
            (Errand::Seek, Place::Request(request, _)) => self.jobs.find(request),
            _ => None,
        };
        let moves = (self.rules.believes_parts && command.verb.transfers())
            .then(|| self.belief.approach(now, command.at, spot, command.verb.writes()));
        let believed = moves.flatten().map(|way| (way.travel, way.wait));
        let job = id.and_then(|id| self.jobs.get_mut(id));
        let (class, cause) = match job {
            Some(job) if self.fills_slack => (job.qos.class, Cause::Slack),
            Some(job) => {
                let resumed = job.detour.map_or(Cause::Request, Cause::Resumed);
                // A part of the seek does not end the detour.
                job.detour = job.detour.filter(|_| errand == Errand::Seek);
                (job.qos.class, resumed)
            }
            None if matches!(errand, Errand::Frame(_)) => (self.reads_ahead_for, Cause::Slack),
            None if errand == Errand::Free => self.free.as_ref()?.payer(),
            None => return None,
        };
        Some(Bill { class, cause, believed })
    }
}
