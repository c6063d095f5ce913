//! What the hot path of a plain core does in another way: a command that ends a request is told from it where it is, and the request
//! looked up once.

use super::Core;
use crate::JobId;
use crate::board::Errand;
use crate::event::{Action, ActionSink};
use crate::predict::Predictor;
use block::{Ending, Extent, Op, Outcome, Tag, Time, Verb};

impl<P: Predictor> Core<P> {
    /// A command of a plain core came back. What is not for a request was to learn from.
    #[inline(always)]
    pub(super) fn finish_plain(&mut self, tag: Tag, happened: Time, outcome: Outcome, out: &mut impl ActionSink) {
        let Some((errand, verb, at)) = self.board.land_plain(tag, happened, outcome) else {
            debug_assert!(false, "{tag:?} was not in flight");
            return;
        };
        let Errand::Job(id) = errand else { return };
        match outcome {
            Outcome::Ok => self.progress_plain(id, verb, at, out),
            Outcome::Failed(errno) => out.gather(|out| self.fail(id, verb, errno, out)),
        }
    }

    /// A command of a request came back well, which ends if that was all of it.
    #[inline(always)]
    fn progress_plain(&mut self, id: JobId, verb: Verb, at: Extent, out: &mut impl ActionSink) {
        let board = &mut self.board;
        let Some(job) = board.jobs.get_mut(id) else { return };
        if job.op != Op::Flush {
            let done = job.done + at.blocks;
            let sound = job.op != Op::Write { fua: true } || at == job.at || verb == Verb::Flush;
            if done != job.at.blocks || !sound {
                (job.done, job.failed) = (done, 0);
                return;
            }
        }
        let (request, held) = (job.request, job.first_held);
        board.overlap.remove(job);
        board.jobs.free(id);
        if held.is_some() {
            out.gather(|out| board.release(held, out));
        }
        out.push(Action::Finish(request, Ending::Finished));
    }
}
