//! What the drive reads ahead behind a read: what goes on there is answered at once, as it passes, or, where the drive has
//! stopped, only when the next block has come round again.

use super::way::Way;
use super::{Left, NOTHING, Profile};
use crate::predict::Predictor;
use block::{Direction, Extent, Lbn, Span, Time};
use disk::{Cache, Layout, Mechanics, Overheads, Passage, Progress, Spin};

/// A read-ahead, as far as it was worked out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadAhead {
    pub(crate) so_far: Progress,
    /// The first block that is not read ahead.
    limit: Lbn,
}

impl ReadAhead {
    /// One behind a read of `at` that passed like this.
    #[inline]
    pub(crate) fn behind(cache: &Cache, layout: &Layout, at: Extent, passage: &Passage) -> ReadAhead {
        let sector = 1u64 << layout.sector_shift();
        let reached = Lbn(at.end().0.next_multiple_of(sector).min(layout.blocks()));
        let limit = cache.read_ahead_limit_behind(layout, at.start, reached, &passage.after);
        ReadAhead { so_far: Progress { reached, at: passage.end, after: passage.after }, limit }
    }

    /// The first block that is not read ahead.
    pub(crate) fn limit(&self) -> Lbn {
        self.limit
    }

    /// How far it has come when something else is to be done, as soon as it can stop.
    pub(crate) fn stop(&self, mechanics: &Mechanics, spin: &impl Spin, now: Time) -> Progress {
        mechanics.run_on(spin, self.so_far, self.limit, now, Direction::Read)
    }
}

/// A read that goes on where another ended.
pub(crate) struct GoingOn {
    /// How long it takes.
    pub(crate) took: Span,
    /// The read-ahead behind it.
    pub(crate) ahead: ReadAhead,
    /// The angle under the head when its last block has passed, and by how much it comes back later: nothing where it comes back when
    /// the bus or the firmware is through with what had passed before.
    pub(crate) passed: Option<(u64, Span)>,
}

/// A read given at `now` that goes on where another ended.
#[inline(always)]
pub(crate) fn go_on(
    ahead: &ReadAhead,
    (mechanics, spin): (&Mechanics, &impl Spin),
    (way, cache, overheads): (&Way, &Cache, &Overheads),
    (now, last): (Time, Direction),
    at: Extent,
) -> GoingOn {
    let mut so_far = ahead.so_far;
    mechanics.go_on(spin, &mut so_far, ahead.limit, now, Direction::Read);
    let stopped = so_far.reached >= ahead.limit;
    let hit = now + overheads.hit.a(last);
    let all_there = hit + way.time(at.blocks) + overheads.done.read;
    if so_far.reached >= at.end() {
        let limit = if stopped {
            ahead.limit
        } else {
            ahead.limit.max(cache.read_ahead_limit(&mechanics.layout, at.start, at.end()))
        };
        return GoingOn { took: all_there.since(now), ahead: ReadAhead { so_far, limit }, passed: None };
    }
    let rest = Extent { start: so_far.reached, blocks: (at.end().0 - so_far.reached.0) as u32 };
    let begins = if stopped { (now + overheads.read.a(last)).max(so_far.at) } else { so_far.at };
    let (passage, lag) =
        way.read(mechanics, spin, begins, so_far.after, rest, hit + way.time(at.blocks.saturating_sub(rest.blocks)));
    // Firmware that is slow with large commands paces all of this one, not what is still to pass.
    let lag = lag.less(overheads.stall(rest.blocks, Direction::Read, &passage));
    let paced = hit + overheads.pace(at.blocks, rest.blocks, &passage) + overheads.done.read;
    let (end, otherwise) = (passage.end + lag, all_there.max(paced));
    GoingOn {
        took: end.max(otherwise).since(now),
        ahead: ReadAhead::behind(cache, &mechanics.layout, at, &passage),
        passed: (end >= otherwise).then_some((passage.angle, lag)),
    }
}

impl Profile {
    /// A read given now that goes on where the last one ended; nothing if it does not.
    #[inline]
    pub(super) fn go_on(&self, now: Time, at: Extent) -> Option<GoingOn> {
        let ahead = self.left.ahead.filter(|_| self.follows(at, Direction::Read))?;
        let (drive, sheet) = ((&*self.mechanics, &self.phase), (&self.way, &self.cache, &self.overheads));
        Some(go_on(&ahead, drive, sheet, (now, self.last), at))
    }

    /// What the drive reads ahead, behind what it read last: where that begins, and what having it costs.
    #[inline]
    pub(super) fn going_on(&self) -> (u64, u16, u64) {
        let layout = &self.mechanics.layout;
        let Left { next, reading, transferred, .. } = self.left;
        if !(self.reads_ahead && reading && transferred && next.0 < layout.blocks()) {
            return NOTHING;
        }
        // Where it has read to is where it goes on, unless that is the end of a track.
        let spot = match &self.left.ahead {
            Some(ahead) if ahead.so_far.reached == next && ahead.so_far.after.left > 0 => ahead.so_far.after,
            _ => layout.locate(next),
        };
        (self.key(spot), self.mark(spot), self.motion.hit[self.last as usize])
    }

    /// The angle behind which the drive is reading ahead, if it is.
    pub(super) fn ahead_of(&self) -> Option<u64> {
        (self.reads_ahead && self.left.reading).then_some(self.left.angle)
    }
}
