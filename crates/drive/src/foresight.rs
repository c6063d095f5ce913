//! What a decision among many foresees once for all of them, and by which most are passed over.

use crate::noise::SeekSpread;
use crate::state::{Beginning, CommandOrigin, Drive, Waiting};
use block::{Direction, Span, Time, Verb};
use disk::{Spin, Track, Turn};

/// What is the same for most that a decision weighs, worked out once: where the arm will be, and from when on, if something could
/// move it from that time on, and by how much the next seek is off.
pub(crate) struct ArmForesight {
    /// The overheads of a read that the host gives, and of one that waited.
    given: Span,
    waited: Span,
    /// The time last asked of, and from when on the arm is free then, and where.
    ready: Time,
    pub(crate) free: Time,
    pub(crate) track: Track,
    pub(crate) spread: SeekSpread,
    /// Whether of most reads the way of the arm is all that counts, and then an angle tells when it next comes round.
    goes_by_way: bool,
    is_even: bool,
    /// Whether what waited behind others has less overhead before it.
    has_waited: bool,
}

impl ArmForesight {
    pub(crate) fn new(drive: &Drive) -> ArmForesight {
        let overhead = |origin| drive.overhead(drive.overheads.read, origin);
        ArmForesight {
            given: overhead(CommandOrigin::Host),
            waited: overhead(CommandOrigin::Queue),
            ready: Time::NEVER,
            free: Time::NEVER,
            track: drive.track,
            spread: drive.noise.spread(drive.ordinal),
            goes_by_way: drive.rules.order == Turn::Soonest && !drive.bus.exclusive && !drive.holds_writes(),
            is_even: drive.spindle.is_even(),
            has_waited: drive.overheads.queued.is_some(),
        }
    }

    /// Whether the way of the arm, or that and the angle where it begins, tells that a read costs no less than `below`. The hot path of
    /// a decision among many: most are passed over by it.
    #[inline(always)]
    pub(crate) fn is_beyond(&mut self, drive: &Drive, now: Time, waiting: &Waiting, below: u64) -> bool {
        let Some(Beginning { spot, region, .. }) = &waiting.begins else { return false };
        if !self.goes_by_way || waiting.command.verb != Verb::Read || drive.segments.may_have(*region) {
            return false;
        }
        let ready = self.read_ready(now, waiting.issued, self.origin_of(drive, waiting));
        self.look(drive, ready);
        let stroke = drive.mechanics.stroke(self.track, spot.track, Direction::Read);
        let soonest = self.free + drive.noise.least(stroke.seek, &self.spread) + stroke.switch;
        if soonest.since(now).0 >= below || !self.is_even {
            return soonest.since(now).0 >= below;
        }
        let (at, spindle) = (waiting.command.at, &drive.spindle);
        let least = drive.mechanics.least_latency(spindle, soonest, spot, at, Direction::Read);
        (soonest + least).since(now).0 >= below
    }

    /// Which overhead a command that waits has before it.
    #[inline(always)]
    pub(crate) fn origin_of(&self, drive: &Drive, waiting: &Waiting) -> CommandOrigin {
        let has_waited = self.has_waited && drive.is_behind(waiting);
        if has_waited { CommandOrigin::Queue } else { CommandOrigin::Host }
    }

    /// From when on the arm could move for a read, as [`Drive::ready_at`] has it.
    #[inline(always)]
    pub(crate) fn read_ready(&self, now: Time, issued: Time, origin: CommandOrigin) -> Time {
        match origin {
            CommandOrigin::Host => (issued + self.given).max(now),
            CommandOrigin::Queue => now + self.waited,
        }
    }

    /// Looks at what could move it from `ready` on.
    #[inline(always)]
    pub(crate) fn look(&mut self, drive: &Drive, ready: Time) {
        if self.ready != ready {
            let (free, track) = drive.foresee_arm(ready);
            (self.ready, self.free, self.track) = (ready, free.max(ready), track);
        }
    }
}

/// The least cost found so far, in ns, and what it is as a turn of the spindle: a read that costs less has its first block come round
/// before that. Where the pace is not even angles tell nothing.
pub(crate) struct TurnBar {
    pub(crate) below: u64,
    /// The angle under the heads now.
    phase: u64,
    /// The largest where it is a revolution or more, or where angles tell nothing.
    turn: u64,
    /// The turn of the spindle in a nanosecond.
    rate: u64,
    is_even: bool,
}

impl TurnBar {
    /// A bar while nothing is found yet.
    pub(crate) fn new(drive: &Drive, now: Time) -> TurnBar {
        let (phase, rate) = (drive.spindle.phase(now), drive.spindle.rotation().rate());
        TurnBar { below: u64::MAX, phase, turn: u64::MAX, rate, is_even: drive.spindle.is_even() }
    }

    /// One was found that costs less.
    #[inline(always)]
    pub(crate) fn lower(&mut self, drive: &Drive, below: u64) {
        self.below = below;
        if self.is_even {
            // What rounding may have taken off a wait.
            self.turn = drive.spindle.rotation().turn_in(Span(below.saturating_add(2)));
        }
    }

    /// By how much the spindle turns until its first block has passed so far that it can no longer be caught.
    #[inline(always)]
    fn turn_until_passed(&self, begins: &Beginning) -> u64 {
        begins.spot.angle.wrapping_add(begins.caught).wrapping_sub(self.phase)
    }

    /// Whether a read costs no less, since its first block comes round no sooner.
    #[inline(always)]
    pub(crate) fn is_beyond(&self, begins: &Beginning) -> bool {
        self.turn_until_passed(begins).saturating_sub(begins.caught) >= self.turn
    }

    /// Whether it costs no less, since the heads come too late for its first block, though they be there in `least`: they wait for the
    /// next revolution.
    #[inline(always)]
    pub(crate) fn is_missed(&self, begins: &Beginning, least: Span) -> bool {
        // That is a turn later, less by what may be caught. The rate is rounded down: heads that are said to come too late do.
        self.turn <= u64::MAX - begins.caught && least.0.saturating_mul(self.rate) > self.turn_until_passed(begins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Command, Extent, Lbn, Place, Tag};
    use disk::{Truth, catalogue};

    /// When the arm could be there, at the soonest.
    fn soonest(drive: &Drive, begins: &Beginning, arm: &ArmForesight) -> Time {
        let seek = drive.mechanics.stroke(drive.track, begins.spot.track, Direction::Read).seek;
        arm.free + drive.noise.least(seek, &arm.spread)
    }

    /// A cost is told in full, or is no less than what was found already, whichever of the bounds told that.
    #[test]
    fn what_is_passed_over_costs_no_less_than_what_was_found() {
        let (mut passed_over, mut told, mut beyond, mut by_angle, mut missed) = (0, 0, 0, 0, 0);
        for (kind, model) in (0..).zip(["nl20", "atlas10k", "st318437lw", "hp-335h"]) {
            for access in 0..8u64 {
                let mut sheet = catalogue::find(model).expect("it is in the catalogue").sheet;
                let access = disk::Access { reads: access & 1 > 0, writes: access & 2 > 0, free: access & 4 > 0 };
                sheet.mechanics = std::sync::Arc::new(disk::Mechanics { access, ..(*sheet.mechanics).clone() });
                for seed in 0..300 {
                    let mut draws = (0..).map(|what| crate::noise::hash(kind * 300 + seed, what));
                    let mut draw = |below: u64| draws.next().map_or(0, |bits| bits % below);
                    let truth = Truth {
                        seek_noise: Span(draw(2) * draw(400_000)),
                        late_share: draw(3) as f64 / 10.0,
                        late_by: Span(draw(9_000_000)),
                        rpm_offset: draw(2) as f64 / 300.0,
                        ..Truth::default()
                    };
                    let mut drive = Drive::new(&sheet, &truth, seed);
                    let blocks = drive.mechanics.layout.blocks();
                    let now = Time(draw(1 << 50));
                    drive.track = drive.mechanics.layout.locate(Lbn(draw(blocks))).track;
                    drive.free = Time(now.0 + draw(2) * draw(20_000_000));
                    drive.ordinal = draw(1000);
                    let verb = if draw(3) > 0 { Verb::Read } else { Verb::Write { fua: true } };
                    let longest = if draw(2) > 0 { 1900 } else { 16 };
                    let at = Extent::new(draw(blocks - 2000), 1 + draw(longest) as u32);
                    let command = Command::new(verb, at, Place::Nowhere);
                    let begins = drive.beginning_of(command);
                    let issued = Time(now.0 - draw(5_000_000));
                    let waiting = Waiting {
                        tag: Tag(0),
                        issued,
                        command,
                        came: issued,
                        ordinal: 0,
                        behind: false,
                        writing: false,
                        begins,
                        wants_room: false,
                    };
                    let turn = |below| drive.foresee_turn(now, &waiting, &mut ArmForesight::new(&drive), below);
                    let cost = turn(u64::MAX).expect("it has a cost");
                    for below in [
                        cost / 2,
                        cost,
                        cost + 1,
                        cost + draw(1000),
                        cost - draw(cost.min(1000) + 1),
                        draw(2 * cost + 1),
                    ] {
                        let expected = (cost < below).then_some(cost);
                        assert_eq!(turn(below), expected, "{model} {access:?}, seed {seed}: {cost} beside {below}");
                        let is_beyond = ArmForesight::new(&drive).is_beyond(&drive, now, &waiting, below);
                        assert!(!is_beyond || cost >= below, "{model} {access:?}, seed {seed}: {cost} beside {below}");
                        beyond += u32::from(is_beyond);
                        *(if expected.is_some() { &mut told } else { &mut passed_over }) += 1;
                        let Some(begins) = begins.as_ref().filter(|_| verb == Verb::Read) else { continue };
                        let (mut arm, mut bar) = (ArmForesight::new(&drive), TurnBar::new(&drive, now));
                        bar.lower(&drive, below);
                        let told = drive.foresee_read(now, (&waiting, begins), &mut arm, &bar);
                        assert_eq!(told, expected, "{model} {access:?}, seed {seed}: {cost} beside {below}");
                        by_angle += u32::from(bar.is_beyond(begins));
                        missed += u32::from(bar.is_missed(begins, soonest(&drive, begins, &arm).since(now)));
                    }
                }
            }
        }
        assert!(passed_over > 20_000 && told > 20_000 && beyond > 10_000, "{passed_over}, {told}, {beyond}");
        assert!(by_angle > 800 && missed > 2_000, "{by_angle}, {missed}");
    }
}
