//! Where the head is, what commands are weighed from, and how far it is from there to others.

use super::{NOTHING, Profile, TURN, TURN_BITS, ticks_of};
use block::Direction;
use disk::Track;

/// Where the head is.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    pub(super) cylinder: u32,
    pub(super) surface: u16,
    /// Whether the phase is known, and what a wait is taken to be where it is not: nothing where it is.
    pub(super) locked: bool,
    pub(super) blind: u64,
    /// Angle under the head now, in ticks.
    pub(super) phase: u64,
    /// Ticks before the arm leaves, for reads and for writes.
    pub(super) leaves: [u64; 2],
    /// Ticks of settling before a write.
    pub(super) write_settle: u64,
    /// The key and surface of what the drive reads ahead, and what having it costs.
    pub(super) ahead: (u64, u16, u64),
}

impl Profile {
    /// Whether more commands are in the drive than it is known in which order they are served.
    #[inline(always)]
    pub(super) fn drive_chooses(&self) -> bool {
        self.in_flight > self.in_order
    }

    /// Ticks until the arm is there, overhead included.
    #[inline]
    pub(super) fn travel(&self, head: &Head, cylinder: u32, surface: u16, direction: Direction) -> u64 {
        // Products, not branches: which candidates switch heads cannot be foreseen.
        let distance = head.cylinder.abs_diff(cylinder);
        let switch = u64::from(head.surface != surface) * self.motion.head_switch;
        let moved = self.motion.seek(distance).max(switch);
        let settle = u64::from(direction.writes() && moved > 0) * head.write_settle;
        moved + settle + head.leaves[direction as usize]
    }

    /// Ticks until the arm is at any cylinder at such a distance or farther.
    #[inline(always)]
    pub(super) fn least_travel(&self, head: &Head, distance: u32, direction: Direction) -> u64 {
        let floor = self.motion.least_seek(distance);
        let settle = u64::from(direction.writes() && floor > 0) * head.write_settle;
        floor + settle + head.leaves[direction as usize] + head.blind
    }

    /// The angle from `phase` to the end of the sector in a zone that is being read behind the angle `ahead_of`.
    pub(super) fn stay(&self, zone: u32, ahead_of: u64, phase: u64) -> u64 {
        let sector = self.mechanics.layout.sector_angle(zone);
        sector - phase.wrapping_sub(ahead_of) % sector
    }

    /// The head on a track at an angle, if that is known, after a command of direction `last`, where the drive reads ahead behind
    /// another angle or not, and there is this of what it has read ahead; and the key of the place it is over.
    #[inline(always)]
    pub(super) fn head_on(
        &self,
        track: Track,
        phase: Option<u64>,
        last: Direction,
        ahead_of: Option<u64>,
        ahead: (u64, u16, u64),
    ) -> (Head, u64) {
        let overhead = self.motion.overhead[last as usize];
        let ready = phase.map(|phase| phase.wrapping_add(overhead[0] << (64 - TURN_BITS)));
        let stay = ready.zip(ahead_of).map_or(0, |(ready, ahead_of)| self.stay(track.zone, ahead_of, ready));
        let head = Head {
            cylinder: track.cylinder,
            surface: track.head as u16,
            locked: phase.is_some(),
            blind: if phase.is_some() { 0 } else { TURN / 2 },
            phase: phase.map_or(0, |phase| u64::from(ticks_of(phase))),
            leaves: overhead.map(|overhead| overhead + u64::from(ticks_of(stay))),
            write_settle: self.motion.write_settle,
            ahead,
        };
        (head, u64::from(head.cylinder) << 32 | head.phase)
    }

    /// The head where several commands are in the drive, which chooses among them: from where, at which angle and in which order it
    /// comes to one more nobody knows. So nothing but the way from where the last one ends tells, whatever is asked there.
    #[inline(never)]
    pub(super) fn head_among_several(&self) -> (Head, u64) {
        let track = if self.was_buffered { self.beside } else { self.left.track };
        let (head, key) = self.head_on(track, None, self.last, None, NOTHING);
        (Head { leaves: [0; 2], write_settle: 0, ..head }, key)
    }
}
