//! The way to a request: what a move of the arm takes, what is left to wait then, and how often that was too little.

use super::{Bearing, HeadAim, InUse};
use crate::predict::TURN_BITS;
use crate::punctual::Arrival;
use block::{Direction, Extent, Time};

/// A command that ended within this share of a revolution of where its last block lies came from there, and not from memory.
const IN_PLACE: f32 = 1.0 / 64.0;

/// A command that began within this share of a revolution of when it was to, or of that and a revolution, was in time, or late.
const NEAR: u64 = 16;

/// An angle holds so many bits more than ticks of a revolution do.
pub(super) const TICK: u32 = 32 - TURN_BITS;

impl InUse {
    /// What a move of the arm to a request takes, and the wait that is left then, in 2⁻³² revolutions, where the angle is known.
    #[inline(always)]
    pub(super) fn approach(&self, head: &HeadAim, mark: Bearing, direction: Direction) -> (u64, Option<u32>) {
        let moved = self.reach[direction as usize].time(head.track.abs_diff(mark.track));
        let phase = head.phase.filter(|_| mark.known && self.turning.rate != 0);
        let there = |phase: u32| phase.wrapping_add((moved.wrapping_mul(self.turning.rate) >> 32) as u32);
        (moved, phase.map(|phase| mark.angle.wrapping_sub(there(phase))))
    }

    /// What passes while the platter turns by so much of 2³² of a revolution, in ns.
    #[inline(always)]
    pub(super) fn turning_by(&self, part: u64) -> u64 {
        (part * self.turning.period()) >> 32
    }

    /// The time until a command may begin, by its distance and angle, and what it is likely to lose by being late.
    #[inline(always)]
    pub(super) fn begin(&self, head: &HeadAim, mark: Bearing, direction: Direction) -> u64 {
        match self.approach(head, mark, direction) {
            (moved, Some(wait)) => {
                let lost = self.lateness.penalty(u64::from(wait) >> TICK) << TICK;
                moved + self.turning_by(u64::from(wait) + lost)
            }
            (moved, None) => moved + self.turning.period() / 2,
        }
    }

    /// What passes of a revolution while these blocks do, in ns.
    pub(super) fn passing(&self, at: Extent) -> u64 {
        let width = self.chart.piece(at.start.0).map_or(0, |piece| self.chart.pieces[piece].width());
        (((u64::from(width) * u64::from(at.blocks)) >> 8) * self.turning.period()) >> 24
    }

    /// A read that was to wait for so long began so much later than expected: in time, or late by a revolution.
    pub(super) fn note_arrival(&mut self, wait: u32, behind: u64) {
        let period = self.turning.period();
        let arrival = match behind {
            _ if behind < period / NEAR => Arrival::InTime,
            _ if behind.abs_diff(period) < period / NEAR => Arrival::Late,
            _ => return,
        };
        self.lateness.add_arrival(u64::from(wait) >> TICK, arrival);
    }

    /// Whether a command came back when its last block had just passed, by the chart.
    pub(super) fn ended_in_place(&self, at: Extent, happened: Time) -> bool {
        self.chart.off(at.end().0 - 1, self.turning.at(happened)).is_some_and(|off| off < IN_PLACE)
    }
}
