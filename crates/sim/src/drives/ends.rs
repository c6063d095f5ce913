//! When something next happens in each of several drives, and in which of them first: found in as many steps as the number of
//! drives has digits, in base two.

use block::{Span, Time};

/// For each drive when something next happens in it, [`Time::NEVER`] where nothing does.
#[derive(Clone, Debug)]
pub(super) struct DriveEnds {
    ends: Vec<Time>,
    /// A tournament: the drive that is first of those below each node. The root is at 1, the children of `n` at `2n` and `2n + 1`;
    /// the drives are the nodes from `ends.len()` on.
    winners: Vec<u32>,
    /// The sum of the ends of drives in which something happens, less whole 2⁶⁴, and how many those are.
    sum: u64,
    busy: u64,
}

impl DriveEnds {
    /// Of so many drives, at least one, in which nothing happens.
    pub(super) fn new(drives: usize) -> DriveEnds {
        let mut winners = vec![0; 2 * drives];
        for (node, winner) in winners.iter_mut().enumerate().skip(drives) {
            *winner = (node - drives) as u32;
        }
        // Where nothing happens, the drive of the least number is first.
        for node in (1..drives).rev() {
            winners[node] = winners[2 * node].min(winners[2 * node + 1]);
        }
        DriveEnds { ends: vec![Time::NEVER; drives], winners, sum: 0, busy: 0 }
    }

    /// In one drive something next happens at `end`.
    #[inline(always)]
    pub(super) fn set(&mut self, drive: usize, end: Time) {
        let before = std::mem::replace(&mut self.ends[drive], end);
        if self.ends.len() == 1 {
            return;
        }
        let counted = |end: Time| if end == Time::NEVER { (0, 0) } else { (end.0, 1) };
        let ((less, fewer), (more, others)) = (counted(before), counted(end));
        self.sum = self.sum.wrapping_add(more).wrapping_sub(less);
        self.busy = self.busy + others - fewer;
        let drive = drive as u32;
        let (mut node, mut first) = (drive as usize + self.ends.len(), (end, drive));
        while node > 1 {
            let rival = self.winners[node ^ 1];
            first = first.min((self.ends[rival as usize], rival));
            node /= 2;
            let before = std::mem::replace(&mut self.winners[node], first.1);
            // Where it neither was nor is first nothing changes further up.
            if before != drive && first.1 != drive {
                break;
            }
        }
    }

    /// When something next happens in a drive.
    #[inline(always)]
    pub(super) fn of(&self, drive: usize) -> Time {
        self.ends[drive]
    }

    /// The drive in which something happens first: of several, the one of the least number.
    #[inline(always)]
    pub(super) fn first(&self) -> usize {
        if self.ends.len() == 1 { 0 } else { self.winners[1] as usize }
    }

    /// How long it is from `now` until something happens, on average over the drives; in which nothing does, no time. The caller
    /// guarantees that nothing announced is past.
    #[inline(always)]
    pub(super) fn mean_left(&self, now: Time) -> Span {
        if let [end] = self.ends[..] {
            return if end == Time::NEVER { Span::ZERO } else { end.since(now) };
        }
        // What is left of all together is less than 2⁶⁴: it is what the sums differ by, whatever is less of them.
        Span(self.sum.wrapping_sub(self.busy.wrapping_mul(now.0)) / self.ends.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a look at every drive would have it.
    #[test]
    fn the_first_and_the_mean_are_those_of_a_look_at_all() {
        for drives in [1, 2, 3, 5, 8, 13, 64] {
            let (mut ends, mut all) = (DriveEnds::new(drives), vec![Time::NEVER; drives]);
            let mut state = drives as u64;
            let mut draw = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 33) % below
            };
            for step in 0..3000 {
                let drive = draw(drives as u64) as usize;
                let end = if draw(4) == 0 { Time::NEVER } else { Time(1000 + draw(20)) };
                ends.set(drive, end);
                all[drive] = end;
                assert_eq!(ends.first(), (0..drives).min_by_key(|drive| all[*drive]).unwrap(), "{drives}, step {step}");
                let left: u64 = all.iter().filter(|end| **end != Time::NEVER).map(|end| end.0 - 900).sum();
                assert_eq!(ends.mean_left(Time(900)), Span(left / drives as u64), "{drives}, step {step}");
                assert!((0..drives).all(|drive| ends.of(drive) == all[drive]));
            }
        }
    }
}
