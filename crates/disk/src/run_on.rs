//! Transfers that run on and on, as a read-ahead and a write-back do: how far they have come by when.

use crate::mechanics::behind;
use crate::{Mechanics, Spin, Spot};
use block::{Direction, Lbn, Time};

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

impl Mechanics {
    /// How far a transfer that had come as far as `since` has come by `now`: it stops at the first sector boundary at or after `now`, or
    /// at block `limit`. O(tracks touched).
    #[must_use]
    pub fn run_on(&self, spin: &impl Spin, since: Progress, limit: Lbn, now: Time, direction: Direction) -> Progress {
        let mut so_far = since;
        self.go_on_by_runs(spin, &mut so_far, limit, now, direction);
        so_far
    }

    /// The same, in place: the hot path of a drive that reads ahead, which most often stops in the sector it is at.
    #[inline]
    pub fn go_on(&self, spin: &impl Spin, so_far: &mut Progress, limit: Lbn, now: Time, direction: Direction) {
        if !self.stop_in_sector(spin, so_far, limit, now) {
            self.go_on_by_runs(spin, so_far, limit, now, direction);
        }
    }

    /// It stops behind the sector it is at, if `now` is while that passes; says whether it does.
    #[inline(always)]
    fn stop_in_sector(&self, spin: &impl Spin, so_far: &mut Progress, limit: Lbn, now: Time) -> bool {
        let (shift, spot) = (self.layout.sector_shift(), &so_far.after);
        let sector = so_far.reached.0 >> shift;
        if spot.left == 0 || so_far.at >= now || sector << shift >= limit.0.min(self.layout.blocks()) {
            return false;
        }
        let width = self.layout.sector_angle(spot.track.zone);
        let begin = spin.reach(so_far.at, spot.angle);
        let end = behind(spin, begin, spot, 1, width);
        let stops = begin < now && now < end;
        if stops {
            *so_far = Progress { reached: Lbn((sector + 1) << shift), at: end, after: spot.on(1, width) };
        }
        stops
    }

    /// The same where it most often goes on beyond the sector it is at, as a write-back does.
    #[inline(never)]
    pub fn go_on_by_runs(&self, spin: &impl Spin, so_far: &mut Progress, limit: Lbn, now: Time, direction: Direction) {
        let shift = self.layout.sector_shift();
        let limit = (limit.0.min(self.layout.blocks()) + (1 << shift) - 1) >> shift;
        loop {
            let sector = so_far.reached.0 >> shift;
            if sector >= limit || so_far.at >= now {
                return;
            }
            let here = u64::from(so_far.after.left).min(limit - sector);
            let (passed, stopped) = if here > 0 { self.go_on_run(spin, so_far, here, now) } else { (0, false) };
            // A start inside a sector is not taken back to the sector's own.
            so_far.reached = so_far.reached.max(Lbn((sector + passed) << shift));
            if stopped || sector + passed >= limit {
                return;
            }
            let Some(crossing) = self.cross(&mut so_far.after, sector + passed, direction) else { return };
            so_far.at += crossing;
        }
    }

    /// The next `here` sectors, without a gap, pass up to `now`. Gives how many do, and whether it has stopped there.
    #[inline(always)]
    fn go_on_run(&self, spin: &impl Spin, so_far: &mut Progress, here: u64, now: Time) -> (u64, bool) {
        let spot = &mut so_far.after;
        let begin = spin.reach(so_far.at, spot.angle);
        if begin > now {
            so_far.at = now;
            return (0, true);
        }
        let width = self.layout.sector_angle(spot.track.zone);
        let end = behind(spin, begin, spot, here, width);
        if end <= now {
            (so_far.at, *spot) = (end, spot.on(here as u32, width));
            return (here, false);
        }
        let elapsed = now.since(begin).0 * here;
        let mut whole = elapsed.div_ceil(end.since(begin).0.max(1)).min(here);
        // Where a sector ends just `now`, by proportion alone it would be one more.
        while whole > 1 && behind(spin, begin, spot, whole - 1, width) >= now {
            whole -= 1;
        }
        // Of what begins just now nothing has passed.
        so_far.at = if whole == 0 { begin } else { behind(spin, begin, spot, whole, width) }.max(now);
        *spot = spot.on(whole as u32, width);
        (whole, true)
    }
}
