//! On which tracks something is looked for besides the one that the arm is on and the one that it goes to.

use super::Free;
use crate::predict::Predictor;
use crate::wanted::Wanted;
use block::Lbn;

/// Tracks that are looked at at most, besides the first and the last, of their cylinders and elsewhere; and how far from those they lie,
/// in tracks.
const LOOKS: u32 = 12;
pub(super) const BESIDE: u64 = 4096;
/// The same where nothing was found on any: what is left lies thinly, and each of it has a chance of its own.
const LOOKS_FOR_ANY: u32 = 24;
/// How far on, where something was found already.
const NEAR: u64 = 8;
/// Heads of a drive that are looked at at most.
const HEADS: u32 = 64;

/// What came of a look at a track.
pub(super) enum Looked {
    /// More need not be had.
    Enough,
    /// What the best is worth that is known now.
    Known(u64),
    /// There is no time to be there.
    TooFar,
}

/// Where else something wanted may be had: beside the track of the request and beside that which the arm is on, up and down, and on
/// the way, in turns.
pub(super) struct Others {
    /// From where on it is looked for, and up to where; downwards where that is before.
    searches: [(u64, u64); 6],
    turn: usize,
    /// Which of them found something last.
    last: usize,
    /// Blocks of a track.
    track: u64,
    detour: u32,
}

impl Others {
    pub(super) fn new(wanted: &Wanted, [last, first]: [u64; 2], (track, detour): (u64, u32)) -> Others {
        let up = |at: u64| (at + track, (at + BESIDE * track).min(wanted.blocks()));
        let down = |at: u64| (at.saturating_sub(track), at.saturating_sub(BESIDE * track));
        let (low, high) = (first.min(last), first.max(last));
        let way = |part: u64| (low + (high - low) / 3 * part, low + (high - low) / 3 * (part + 1));
        let searches = [up(last), down(last), up(first), down(first), way(1), (way(1).0, low)];
        Others { searches, turn: 0, last: 0, track, detour }
    }

    /// Nothing is looked for any more where the last was found, and beyond.
    fn turn_back(&mut self) {
        let (from, until) = &mut self.searches[self.last];
        *from = *until;
    }

    /// Where blocks that follow one another and are worth more than this are wanted, on a track that was not looked at yet.
    pub(super) fn next(&mut self, wanted: &Wanted, known: u64) -> Option<Lbn> {
        for _ in 0..self.searches.len() {
            self.last = self.turn;
            let (from, until) = &mut self.searches[self.turn];
            self.turn = (self.turn + 1) % 6;
            let least = wanted.blocks_worth(known, Lbn(*from), self.detour);
            // For something better than what is known nobody goes far.
            let reach = if least == 0 { u64::MAX } else { NEAR * self.track };
            let found = if *from < *until {
                wanted.first_beyond(Lbn(*from), Lbn((*until).min(from.saturating_add(reach))), least)
            } else {
                wanted.last_beyond(Lbn((*until).max(from.saturating_sub(reach))), Lbn(*from), least)
            };
            let Some(found) = found else {
                *from = *until;
                continue;
            };
            *from =
                if *from < *until { (found.0 + self.track).min(*until) } else { found.0.saturating_sub(self.track) };
            return Some(found);
        }
        None
    }
}

impl Free {
    /// Has each track looked at on which more than what is known may be had by the time of a goal, until that is enough.
    pub(super) fn look_elsewhere<P: Predictor>(
        &self,
        belief: &P,
        ends: [Lbn; 2],
        (track, detour): (u64, u32),
        mut known: u64,
        look: &mut impl FnMut(Lbn) -> Looked,
    ) {
        let (wanted, unit) = (&self.plan.wanted, u64::from(self.plan.wanted.unit()));
        // To another head is the shortest way there is.
        let mut left = LOOKS;
        let mut beneath = ends.map(|end| belief.beneath(end));
        for n in 1..HEADS {
            for tracks in &mut beneath {
                let Some(on) = tracks.and_then(|it| it.first_block(n)).filter(|_| left > 0) else {
                    *tracks = None;
                    continue;
                };
                let beyond = wanted.first_beyond(on, Lbn(on.0 + track + unit), wanted.blocks_worth(known, on, detour));
                // Where nothing is known yet, tracks of which nothing is wanted do not count.
                left -= u32::from(known > 0 || beyond.is_some());
                if beyond.is_some() {
                    match look(on) {
                        Looked::Enough => return,
                        Looked::Known(worth) => known = worth,
                        Looked::TooFar => *tracks = None,
                    }
                }
            }
            if beneath == [None, None] {
                break;
            }
        }
        let mut others = Others::new(wanted, ends.map(|end| end.0), (track, detour));
        for looked in 0..LOOKS_FOR_ANY {
            if looked >= LOOKS && known > 0 {
                return;
            }
            let Some(next) = others.next(wanted, known) else { return };
            match look(self.pieces.where_left(wanted, next)) {
                Looked::Enough => return,
                Looked::Known(worth) => known = worth,
                Looked::TooFar => others.turn_back(),
            }
        }
    }
}
