//! Into what commands a write is cut, and when they follow one another.

use super::{ShortCommands, ShortStage};
use crate::Job;
use crate::backlog::InTurn;
use crate::board::Board;
use crate::plan::{LatePlan, WriteChunk};
use crate::predict::Predictor;
use block::{Op, Span, Time};

/// A write that goes on behind the one before is cut into such parts of a revolution.
const STREAM: u64 = 16;
/// Of a revolution, what a part of any other write leaves for the way to it.
const LEFT_FOR_WAY: u64 = 8;
/// Blocks of a page: parts are cut where pages end.
const PAGE: u32 = 8;
/// What the medium takes for a block where nothing is known of it, at 250 MB/s.
const MEDIUM: Span = Span(2_048);
/// However fast the bus is not, so much of what the medium takes is thought to be there for the host.
const LEAST_SHARE: u64 = 10;
/// Of what a host is late, what heads and tracks take beside that.
const BESIDE: u64 = 8;

impl ShortCommands {
    /// The most blocks of a command that reads: more while the host is late, so that it comes to the next one in time.
    #[inline]
    pub(crate) fn chunk<P: Predictor>(&self, board: &Board<P>, job: &Job<P::Spot>) -> u32 {
        match (self.tardiness.usual(), self.plan.late) {
            (Span::ZERO, _) | (_, None) => self.plan.chunk,
            (late, Some(rule)) => self.lengthen(board, job, late, rule),
        }
    }

    #[cold]
    fn lengthen<P: Predictor>(&self, board: &Board<P>, job: &Job<P::Spot>, late: Span, rule: LatePlan) -> u32 {
        // What the medium takes for a block and the bus does not is there for the host.
        let medium = match board.belief.turn() {
            Span(u64::MAX) => MEDIUM,
            turn => Span(turn.0 / board.belief.track_blocks(job.spot).max(1)),
        };
        let each = medium.less(rule.bus).0.max(medium.0 / LEAST_SHARE).max(1);
        let longer = u64::from(self.plan.chunk) + (late.0 + late.0 / BESIDE) / each;
        longer.min(u64::from(self.plan.chunk.max(rule.most))) as u32
    }

    /// The most blocks of a command of a request.
    pub(super) fn most<P: Predictor>(&self, board: &Board<P>, job: &Job<P::Spot>) -> u32 {
        let blocks = match self.plan.write_chunk {
            _ if !job.op.writes() => self.chunk(board, job),
            WriteChunk::AsRead => self.chunk(board, job),
            WriteChunk::Blocks(blocks) => blocks,
            // A drive that chooses among parts of a write is as likely to begin with the last of them as with the first, and pays
            // for the way to each; parts of one length are the fewest that a reader gains by. Where the first goes on behind what
            // was written before, the drive begins with that.
            WriteChunk::Turn => {
                let turn = board.belief.track_blocks(job.spot);
                let goes_on = self.writes[usize::from(job.qos.class)] == job.at.start;
                let most = if goes_on { turn / STREAM } else { turn - turn / LEFT_FOR_WAY };
                let parts = u64::from(job.at.blocks).div_ceil(most.max(1)).max(1) as u32;
                job.at.blocks.div_ceil(parts).next_multiple_of(PAGE).max(self.chunk(board, job))
            }
        };
        blocks.max(1)
    }

    /// Whether the next command of a request ends in the device's buffer.
    fn is_buffered<P: Predictor>(&self, board: &Board<P>, job: &Job<P::Spot>) -> bool {
        match job.op {
            Op::Write { fua } => !fua || job.at.blocks > self.most(board, job),
            _ => false,
        }
    }

    /// Until when the next command of a write is not to follow, since it, and with it who comes meanwhile, would wait for
    /// what the device has to write back.
    pub(super) fn hold_until<P: Predictor>(&self, board: &Board<P>, now: Time, job: &Job<P::Spot>) -> Option<Time> {
        let backlog = board.backlog.as_ref()?;
        let place = match self.target?.stage {
            ShortStage::Chosen => InTurn::First,
            ShortStage::Moving => InTurn::Later,
            _ => return None,
        };
        let rest = job.rest();
        if rest.blocks == 0 || !self.is_buffered(board, job) || !board.queue.is_outranked(&board.rules, job) {
            return None;
        }
        backlog.holds(&board.belief, now, rest, self.most(board, job), place)
    }
}
