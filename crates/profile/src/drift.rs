//! A map that is off everywhere by a little, since the platter's speed wandered while it was made.
//!
//! A read that ends at another angle than the map has tells nothing of the arm: it came from memory, or was held up. Where speed wandered, most
//! reads end a little beside their angles. So once trials tell nothing, and most of them came near, those that come near are taken to
//! come where they should: what they tell is then off by as little.

use crate::clock::PhaseClock;
use crate::estimate::signed_fraction;
use crate::map::SectorPlace;

/// What comes so far from its angle, in revolutions, lies elsewhere than the map has it; less is what speed does that wanders.
pub(crate) const ELSEWHERE: f64 = 1.0 / 32.0;
/// Completions are as late as this by chance, in standard deviations.
const BY_CHANCE: f64 = 6.0;

/// How far from its angle, in revolutions, a read of a sector may end by chance where the map has it right: by half the sector, and by what
/// completions vary.
pub(crate) fn off_by_chance(there: &SectorPlace, clock: &PhaseClock) -> f64 {
    0.5 * there.width() + BY_CHANCE * clock.noise
}

/// Whether reads come by beside the angles that a map has.
#[derive(Debug, Default)]
pub(crate) struct MapDrift {
    /// Reads that told nothing since trials began, and those of them that came near their angles.
    silent: u32,
    near: u32,
    /// Whether what comes near tells.
    is_found: bool,
}

impl MapDrift {
    /// Whether a read tells anything that ended so many revolutions off its angle, where it may be off by so much by chance.
    pub(crate) fn tells(&mut self, off: f64, chance: f64) -> bool {
        let off = signed_fraction(off).abs();
        let is_near = off < ELSEWHERE;
        let tells = off < chance || (self.is_found && is_near);
        self.silent += u32::from(!tells);
        self.near += u32::from(!tells && is_near);
        tells
    }

    /// Trials begin, of which none has told anything yet.
    pub(crate) fn begin(&mut self) {
        (self.silent, self.near) = (0, 0);
    }

    /// Whether it is found just now to be why trials told nothing.
    pub(crate) fn find(&mut self) -> bool {
        let is_new = !self.is_found && 2 * self.near > self.silent;
        self.is_found |= is_new;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_near_its_angle_tells_once_most_that_told_nothing_did() {
        const CHANCE: f64 = 0.001;
        let (near, far) = (ELSEWHERE / 2.0, 0.3);
        for (offs, found) in [(&[near, 1.0 - near, far][..], true), (&[near, far, -far], false), (&[], false)] {
            let mut drift = MapDrift::default();
            assert!(drift.tells(0.9 * CHANCE, CHANCE) && !offs.iter().any(|off| drift.tells(*off, CHANCE)), "{offs:?}");
            assert_eq!(drift.find(), found, "{offs:?}");
            assert_eq!([near, -near, far].map(|off| drift.tells(off, CHANCE)), [found, found, false], "{offs:?}");
        }
    }

    #[test]
    fn it_is_found_once_and_by_the_trials_that_began_last() {
        let mut drift = MapDrift::default();
        assert!(!drift.tells(0.01, 0.001));
        drift.begin();
        assert!(!drift.find());
        assert!(!drift.tells(0.01, 0.001));
        assert_eq!([drift.find(), drift.find()], [true, false]);
    }
}
