//! What buffered writes take longer once many came, in a drive that takes them in by stages (BCW, FAST 2020).

use crate::state::Drive;
use block::{Span, Time};
use disk::WriteStages;

/// How far a drive is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WriteStage {
    /// Blocks taken in since it rested.
    taken: u64,
    /// When the last of them were.
    last: Time,
}

impl Drive {
    /// What a buffered write of so many blocks that comes at `now` takes longer.
    #[inline]
    pub(crate) fn stage_cost(&self, now: Time, blocks: u32) -> Span {
        let Some(stages) = &self.overheads.stages else { return Span::ZERO };
        stages.longer(self.taken_before(stages, now), u64::from(blocks))
    }

    /// Blocks taken in before `now`: none where nothing came, and nothing waits to be written back, for as long as the drive takes to rest.
    fn taken_before(&self, stages: &WriteStages, now: Time) -> u64 {
        let rested = self.buffer.is_empty() && now >= self.stage.last + stages.rest;
        if rested { 0 } else { self.stage.taken }
    }

    /// Counts a buffered write that came at `now` and is taken in by `end`.
    #[inline]
    pub(crate) fn count_staged(&mut self, now: Time, end: Time, blocks: u32) {
        if let Some(stages) = self.overheads.stages {
            let taken = self.taken_before(&stages, now) + u64::from(blocks);
            self.stage = WriteStage { taken, last: end };
        }
    }

    /// All that was buffered is on the medium.
    pub(crate) fn end_stages(&mut self) {
        self.stage.taken = 0;
    }
}
