//! The mechanics of a drive worked out for use: where a block lies, how long the arm takes to get there, and
//! when a run of blocks has passed under the heads. Pure arithmetic over a [`Spin`]; no state.

use crate::{Layout, Rotation, SeekTable, Spin, Spot, Track};
use block::{Extent, Lbn, Span, Time};

/// Times of moves that are not seeks, and what writing adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// To another head of the same cylinder.
    pub head: Span,
    /// The same, before writing.
    pub head_write: Span,
    /// To the adjacent cylinder in a sequential transfer.
    pub cylinder: Span,
    /// The same, before writing.
    pub cylinder_write: Span,
    /// What a write adds to a random move of the arm, to settle more finely.
    pub write_settle: Span,
}

/// A move of the arm by its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stroke {
    /// Moving between cylinders.
    pub seek: Span,
    /// What switching heads takes beyond the seek.
    pub switch: Span,
    /// Settling before a write.
    pub settle: Span,
}

impl Stroke {
    /// The whole move.
    #[must_use]
    pub fn total(self) -> Span {
        self.seek + self.switch + self.settle
    }
}

/// A run of blocks passing under the heads; the parts add up to the time from where it was asked to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When the first block came under the heads.
    pub began: Time,
    /// When the last had passed.
    pub end: Time,
    /// Waiting for sectors to come round.
    pub rotation: Span,
    /// Blocks passing.
    pub transfer: Span,
    /// Crossing to following tracks and cylinders.
    pub crossing: Span,
    /// Where it ended: the place after the last block, on the same track.
    pub after: Spot,
}

/// How far a transfer that runs on and on has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The block after the last one passed.
    pub reached: Lbn,
    /// When that one had passed.
    pub at: Time,
    /// The place after it, on the same track.
    pub after: Spot,
}

/// The mechanics of a drive.
#[derive(Clone, Debug)]
pub struct Mechanics {
    /// Where blocks lie.
    pub layout: Layout,
    /// Seek times.
    pub seek: SeekTable,
    /// Nominal rotation.
    pub rotation: Rotation,
    /// Moves that are not seeks.
    pub switches: Switches,
}

impl Mechanics {
    /// The move of the arm to a random access on another track.
    #[must_use]
    pub fn stroke(&self, from: Track, to: Track, write: bool) -> Stroke {
        let seek = self.seek.time(from.cylinder.abs_diff(to.cylinder));
        let switch = if from.head == to.head { Span::ZERO } else { self.switches.head.less(seek) };
        let moves = seek + switch > Span::ZERO;
        let settle = if write && moves { self.switches.write_settle } else { Span::ZERO };
        Stroke { seek, switch, settle }
    }

    /// The time to follow a sequential transfer from one track to the next.
    #[must_use]
    pub fn crossing(&self, from: Track, to: Track, write: bool) -> Span {
        let switches = &self.switches;
        match from.cylinder.abs_diff(to.cylinder) {
            0 if from.head == to.head => Span::ZERO,
            0 if write => switches.head_write,
            0 => switches.head,
            1 if write => switches.cylinder_write,
            1 => switches.cylinder,
            distance => self.seek.time(distance),
        }
    }

    /// The passage of `at`, whose first block lies at `spot`, under heads that are on its track from `now`.
    /// `spot` may also be the place after the last block passed, even at the end of its track. Whole physical
    /// sectors pass. O(tracks touched).
    #[must_use]
    pub fn pass(&self, spin: &impl Spin, now: Time, spot: Spot, at: Extent, write: bool) -> Passage {
        let shift = self.layout.sector_shift();
        let mut left = ((at.end().0 - 1) >> shift) - (at.start.0 >> shift) + 1;
        let mut passage = Passage {
            began: now,
            end: now,
            rotation: Span::ZERO,
            transfer: Span::ZERO,
            crossing: Span::ZERO,
            after: spot,
        };
        loop {
            let here = left.min(self.left_on(passage.after));
            if here > 0 {
                let begin = spin.reach(passage.end, passage.after.angle);
                let end = self.passed(spin, begin, &mut passage.after, here as u32).max(passage.end);
                let moving = begin.max(passage.end);
                if passage.transfer == Span::ZERO {
                    passage.began = moving;
                }
                passage.rotation += moving.since(passage.end);
                passage.transfer += end.since(moving);
                passage.end = end;
                left -= here;
            }
            if left == 0 {
                return passage;
            }
            let Some(crossing) = self.cross(&mut passage.after, write) else { return passage };
            passage.crossing += crossing;
            passage.end += crossing;
        }
    }

    /// How far a transfer that runs on and on has come that had reached block `from`, at `spot`, at `since`: it
    /// stops at the first sector boundary at or after `now`, or at block `limit`. O(tracks touched).
    #[must_use]
    pub fn run_on(&self, spin: &impl Spin, since: Progress, limit: Lbn, now: Time, write: bool) -> Progress {
        let shift = self.layout.sector_shift();
        let Progress { reached, mut at, after: mut spot } = since;
        let mut sector = reached.0 >> shift;
        let limit = (limit.0.min(self.layout.blocks()) + (1 << shift) - 1) >> shift;
        while sector < limit && at < now {
            let here = self.left_on(spot).min(limit - sector);
            if here > 0 {
                let begin = spin.reach(at, spot.angle);
                if begin > now {
                    at = now;
                    break;
                }
                let start = spot;
                let end = self.passed(spin, begin, &mut spot, here as u32);
                if end > now {
                    let elapsed = now.since(begin).0 * here;
                    let whole = elapsed.div_ceil(end.since(begin).0.max(1)).min(here);
                    spot = start;
                    at = self.passed(spin, begin, &mut spot, whole as u32).max(now);
                    sector += whole;
                    break;
                }
                sector += here;
                at = end;
            }
            if sector >= limit {
                break;
            }
            let Some(crossing) = self.cross(&mut spot, write) else { break };
            at += crossing;
        }
        // A start inside a sector is not taken back to the sector's own.
        Progress { reached: Lbn(sector << shift).max(reached), at, after: spot }
    }

    /// Sectors from a place to the end of its track.
    fn left_on(&self, spot: Spot) -> u64 {
        u64::from(self.layout.sectors_on(spot.track) - spot.sector)
    }

    /// `sectors` sectors pass from `begin` on, when their first is under the head; the place moves on. Gives
    /// the end.
    fn passed(&self, spin: &impl Spin, begin: Time, spot: &mut Spot, sectors: u32) -> Time {
        if sectors == 0 {
            return begin;
        }
        let turn = self.layout.sector_angle(spot.track.zone).wrapping_mul(u64::from(sectors));
        spot.sector += sectors;
        spot.angle = spot.angle.wrapping_add(turn);
        spin.correct(begin + spin.turning(turn.wrapping_sub(1)), spot.angle)
    }

    /// On to the beginning of the next track, if there is one; the time that takes.
    fn cross(&self, spot: &mut Spot, write: bool) -> Option<Span> {
        let next = self.layout.next_track(spot.track)?;
        let crossing = self.crossing(spot.track, next.track, write);
        *spot = next;
        Some(crossing)
    }
}
