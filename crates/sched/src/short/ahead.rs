//! What was read ahead, and whom it serves: requests that come later, and those that wait already.

use super::{ShortCommands, ShortStage};
use crate::Job;
use crate::arbiter::Arbiter;
use crate::board::{Board, Errand};
use crate::event::Action;
use crate::job::JobState;
use crate::predict::Predictor;
use block::{Command, Ending, Extent, Op, Outcome, Place, Time};

impl ShortCommands {
    /// A request submitted is served as far as it can be from what was read ahead. Says whether that is all of it.
    pub(crate) fn serve_from_frames<P: Predictor>(
        &mut self,
        board: &Board<P>,
        now: Time,
        job: &mut Job<P::Spot>,
        out: &mut Vec<Action>,
    ) -> bool {
        match job.op {
            Op::Write { .. } | Op::Discard(_) => self.frames.invalidate(job.at),
            Op::Read if !board.overlap.writes(job.at) => {
                while let rest = job.rest()
                    && rest.blocks > 0
                    && let Some((frame, into, blocks)) = self.frames.holds(rest.start, rest.blocks)
                {
                    let to = Place::Request(job.request, job.done);
                    out.push(Action::Copy { from: Place::Frame(frame, into), to, blocks });
                    self.count(now, |tally| tally.prefetched_used += u64::from(blocks));
                    job.done += blocks;
                }
                if job.done == job.at.blocks {
                    self.reads[usize::from(job.qos.class)] = job.at.end();
                    return true;
                }
            }
            _ => {}
        }
        false
    }

    /// A command without a request came back. What was read ahead serves those that wait for it already, too.
    pub(crate) fn take_frame<P: Predictor>(
        &mut self,
        board: &mut Board<P>,
        arbiter: &mut dyn Arbiter<P>,
        (errand, command): (Errand, &Command),
        outcome: Outcome,
        now: Time,
        out: &mut Vec<Action>,
    ) {
        let Errand::Frame(frame) = errand else { return };
        let good = self.frames.complete(frame, outcome);
        self.count(now, |tally| tally.prefetched += u64::from(command.at.blocks));
        if good {
            self.serve_waiting_from_frames(board, arbiter, now, command.at, out);
        }
    }

    /// Requests that wait and whose next blocks are among those just read ahead are served from the frames as far as they can
    /// be. What is left of one waits where it lies.
    fn serve_waiting_from_frames<P: Predictor>(
        &mut self,
        board: &mut Board<P>,
        arbiter: &mut dyn Arbiter<P>,
        now: Time,
        read: Extent,
        out: &mut Vec<Action>,
    ) {
        let mut near = std::mem::take(&mut self.near);
        near.extend(board.overlap.near(read));
        near.sort_unstable();
        for (_, id) in near.drain(..) {
            let Some(before) = board.jobs.get(id).copied() else { continue };
            let awaited = self.awaits(id);
            let next = before.rest().start;
            if before.op != Op::Read
                || !(awaited || before.state == JobState::Queued)
                || !(read.start..read.end()).contains(&next)
            {
                continue;
            }
            let mut job = before;
            let all = self.serve_from_frames(board, now, &mut job, out);
            if job.done == before.done {
                continue;
            }
            if !awaited {
                board.dequeue(id, &before);
            }
            if all {
                if awaited {
                    self.target = None;
                }
                arbiter.learn(board, now, &job);
                board.end(id, Ending::Finished, out);
                continue;
            }
            job.spot = board.belief.spot(job.rest());
            if let Some(kept) = board.jobs.get_mut(id) {
                *kept = job;
            }
            if awaited {
                self.stage(ShortStage::Chosen);
            } else {
                board.enqueue(id, &job);
            }
        }
        self.near = near;
    }
}
