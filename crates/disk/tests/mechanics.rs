//! Blocks passing under the heads: `pass` and `run_on` agree with a walk from sector to sector, cost the same in one
//! piece or in many, and their parts add up exactly.

mod common;

use block::{Direction, Extent, Lbn, Span, Time};
use common::{check, plans};
use disk::{Access, Layout, LayoutPlan, Mechanics, Progress, Rotation, SeekCurve, SeekTable, Switches};
use plans::Sector;
use proptest::prelude::*;

/// What rounding to whole nanoseconds may come to, however long the passage; its parts round on every track.
const ROUNDING: f64 = 3.0;
/// A sector that began to pass so short a while ago, in revolutions, is still caught.
const JUST_PASSED: f64 = 1.0 / 262_144.0;

/// A small drive, with the list of its sectors.
#[derive(Clone)]
struct Small {
    plan: LayoutPlan,
    mechanics: Mechanics,
    list: Vec<Sector>,
    period: f64,
    origin: f64,
}

impl std::fmt::Debug for Small {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (one, far) = (self.mechanics.seek.time(1), self.mechanics.seek.time(60));
        write!(f, "{:?} {:?} {:?} seeks {one:?} {far:?}", self.plan, self.mechanics.switches, self.mechanics.rotation)
    }
}

/// Which way the data of a write goes, or of a read.
fn direction_of(write: bool) -> Direction {
    if write { Direction::Write } else { Direction::Read }
}

fn switches() -> impl Strategy<Value = Switches> {
    let span = || prop_oneof![1 => Just(Span::ZERO), 4 => (0..3_000_000u64).prop_map(Span)];
    (span(), span(), span(), span(), span()).prop_map(|(head, head_write, cylinder, cylinder_write, write_settle)| {
        Switches { head, head_write, cylinder, cylinder_write, write_settle }
    })
}

fn drives() -> impl Strategy<Value = Small> {
    let seek = (0.2..2.0f64, 0.0..0.5f64).prop_map(|(a, b)| SeekCurve::Table(vec![(1, a), (60, a + 60.0 * b)]));
    (prop_oneof![plans::plans(), plans::defective()], seek, switches(), 3.0e6..2.0e7f64, any::<u64>(), 0..3u32)
        .prop_map(|(plan, seek, switches, period, origin, fits)| {
            let mut plan = LayoutPlan { blocks: None, ..plan };
            if fits == 0 {
                // As on most drives: skews just long enough, so that crossings end at the sector's very edge.
                for zone in &mut plan.zones {
                    zone.head_skew = switches.head.0 as f64 / period;
                    zone.cylinder_skew = switches.cylinder.0 as f64 / period;
                }
            }
            let layout = Layout::new(&plan).unwrap();
            let seek = SeekTable::new(&seek, layout.cylinders());
            let rotation = Rotation::new(period, origin);
            let list = plans::sectors(&plan);
            let origin = origin as f64 / 18_446_744_073_709_551_616.0;
            Small {
                plan,
                mechanics: Mechanics { layout, seek, seek_write: None, rotation, switches, access: Access::default() },
                list,
                period,
                origin,
            }
        })
}

/// A walk from sector to sector, in ns with fractions.
struct Walk {
    /// When the first sector began to pass.
    began: f64,
    /// When each sector had passed.
    ends: Vec<f64>,
    rotation: f64,
    transfer: f64,
    crossing: f64,
}

impl Small {
    fn per(&self) -> u64 {
        u64::from(self.plan.sector_blocks)
    }

    /// Whether the transfer stops between two sectors that follow one another in the data.
    fn parts(&self, from: Sector, to: Sector) -> bool {
        (from.zone, from.physical + 1) != (to.zone, to.physical)
            || from.track != to.track
            || from.remapped != to.remapped
    }

    /// The time to follow from one sector to the next.
    fn crossing(&self, from: Sector, to: Sector, write: bool) -> f64 {
        let switches = &self.mechanics.switches;
        if from.remapped || to.remapped {
            // The arm goes to a spare, or back, as to any other place.
            let seek = Span(u64::from(self.mechanics.seek.ns()[from.cylinder.abs_diff(to.cylinder) as usize]));
            let moves = if from.head == to.head { seek } else { seek.max(switches.head) };
            let settle = if write && moves > Span::ZERO { switches.write_settle } else { Span::ZERO };
            return (moves + settle).0 as f64;
        }
        let span = match from.cylinder.abs_diff(to.cylinder) {
            0 if from.head == to.head => Span::ZERO,
            0 => [switches.head, switches.head_write][usize::from(write)],
            1 => [switches.cylinder, switches.cylinder_write][usize::from(write)],
            far => Span(u64::from(self.mechanics.seek.ns()[far as usize])),
        };
        span.0 as f64
    }

    /// How long from `at` until an angle comes round; a little below zero where it has only just passed.
    fn wait(&self, at: f64, angle: f64) -> f64 {
        let ahead = angle - self.origin - at / self.period;
        let ahead = ahead - ahead.floor();
        if ahead > 1.0 - JUST_PASSED { (ahead - 1.0) * self.period } else { ahead * self.period }
    }

    fn walk(&self, now: f64, sectors: &[Sector], write: bool) -> Walk {
        let mut walk = Walk { began: 0.0, ends: Vec::new(), rotation: 0.0, transfer: 0.0, crossing: 0.0 };
        let mut at = now;
        for (i, sector) in sectors.iter().enumerate() {
            if i > 0 && self.parts(sectors[i - 1], *sector) {
                let crossing = self.crossing(sectors[i - 1], *sector, write);
                walk.crossing += crossing;
                at += crossing;
            }
            let wait = self.wait(at, sector.angle);
            let width = self.period / f64::from(self.plan.zones[sector.zone as usize].sectors);
            if i == 0 {
                walk.began = at + wait.max(0.0);
            }
            walk.rotation += wait.max(0.0);
            walk.transfer += width + wait.min(0.0);
            at += wait + width;
            walk.ends.push(at);
        }
        walk
    }

    /// The sectors and the extent of `length` sectors from the `first` on, both as shares.
    fn extent(&self, first: f64, length: f64) -> (usize, usize, Extent) {
        let first = (first * self.list.len() as f64) as usize;
        let length = 1 + (length * (self.list.len() - first) as f64) as usize;
        let length = length.min(self.list.len() - first);
        (first, length, Extent::new(first as u64 * self.per(), (length as u64 * self.per()) as u32))
    }
}

fn close(what: &str, got: u64, expected: f64, within: f64) -> Result<(), TestCaseError> {
    prop_assert!((got as f64 - expected).abs() <= within, "{what}: {got}, a walk gives {expected}");
    Ok(())
}

#[test]
fn a_passage_takes_what_a_walk_from_sector_to_sector_takes() {
    let values = (drives(), 0.0..1.0f64, 0.0..1.0f64, 0..1_000_000_000_000u64, any::<bool>());
    check(3000, values, |(drive, first, length, now, write)| {
        let (first, length, at) = drive.extent(first, length);
        let spot = drive.mechanics.layout.locate(at.start);
        let got = drive.mechanics.pass(&drive.mechanics.rotation, Time(now), spot, at, direction_of(write));
        let walk = drive.walk(now as f64, &drive.list[first..first + length], write);
        prop_assert_eq!(got.rotation + got.transfer + got.crossing, got.end.since(Time(now)));
        let latency = drive.mechanics.latency(&drive.mechanics.rotation, Time(now), &spot, at, direction_of(write));
        prop_assert_eq!(latency, got.latency);
        let parts = |i: &usize| drive.parts(drive.list[i - 1], drive.list[*i]);
        let pieces = 1 + (first + 1..first + length).filter(parts).count();
        let rounding = ROUNDING + pieces as f64;
        close("began", got.began.0, walk.began, ROUNDING)?;
        close("end", got.end.0, walk.ends[length - 1], ROUNDING)?;
        close("rotation", got.rotation.0, walk.rotation, rounding)?;
        close("transfer", got.transfer.0, walk.transfer, rounding)?;
        close("crossing", got.crossing.0, walk.crossing, rounding)?;
        let last = drive.list[first + length - 1];
        prop_assert_eq!((got.after.track.cylinder, got.after.track.head), (last.cylinder, last.head));
        prop_assert_eq!(got.after.sector, last.sector + 1);
        let width = 1.0 / f64::from(drive.plan.zones[last.zone as usize].sectors);
        prop_assert!(plans::apart(got.after.angle, last.angle + width) < 1e-9);
        Ok(())
    });
}

/// When all sectors have passed where, on each track, each is taken the first time it comes by.
fn taken_as_they_come(drive: &Small, now: f64, sectors: &[Sector], write: bool) -> f64 {
    let (mut end, mut before) = (now, None);
    for of_track in sectors.chunk_by(|a, b| (a.zone, a.track, a.remapped) == (b.zone, b.track, b.remapped)) {
        let arrived = end + before.map_or(0.0, |before| drive.crossing(before, of_track[0], write));
        let width = drive.period / f64::from(drive.plan.zones[of_track[0].zone as usize].sectors);
        let ends = of_track.iter().map(|sector| arrived + drive.wait(arrived, sector.angle) + width);
        end = ends.fold(arrived, f64::max);
        before = of_track.last().copied();
    }
    end
}

#[test]
fn a_head_that_reads_on_arrival_takes_each_sector_the_first_time_it_comes_by() {
    let values = (drives(), 0.0..1.0f64, 0.0..1.0f64, 0..1_000_000_000_000u64);
    check(3000, values, |(mut drive, first, length, now)| {
        drive.mechanics.access = Access { reads: true, ..Access::default() };
        let (first, length, at) = drive.extent(first, length);
        let spot = drive.mechanics.layout.locate(at.start);
        let sectors = &drive.list[first..first + length];
        let got = drive.mechanics.pass(&drive.mechanics.rotation, Time(now), spot, at, Direction::Read);
        let expected = taken_as_they_come(&drive, now as f64, sectors, false);
        let rounding = ROUNDING + length as f64;
        close("end", got.end.0, expected, rounding)?;
        let latency = drive.mechanics.latency(&drive.mechanics.rotation, Time(now), &spot, at, Direction::Read);
        prop_assert_eq!(latency, got.latency);
        // Never later than one sector after the other, and a write is not taken so.
        let walk = drive.walk(now as f64, sectors, false);
        prop_assert!(got.end.0 as f64 <= walk.ends[length - 1] + rounding);
        let written = drive.mechanics.pass(&drive.mechanics.rotation, Time(now), spot, at, Direction::Write);
        close("a write", written.end.0, *drive.walk(now as f64, sectors, true).ends.last().unwrap(), rounding)
    });
}

#[test]
fn cutting_a_passage_anywhere_gains_and_loses_no_revolution() {
    let cuts = prop::collection::vec(0.0..1.0f64, 1..6);
    let values = (drives(), 0.0..1.0f64, 0.0..1.0f64, 0..1_000_000_000_000u64, cuts, any::<bool>());
    check(3000, values, |(drive, first, length, now, cuts, write)| {
        let (_, length, at) = drive.extent(first, length);
        let Mechanics { layout, rotation, .. } = &drive.mechanics;
        let whole = drive.mechanics.pass(rotation, Time(now), layout.locate(at.start), at, direction_of(write));
        let mut ends: Vec<u64> = cuts.iter().map(|cut| (cut * length as f64) as u64).filter(|n| *n > 0).collect();
        ends.push(length as u64);
        ends.sort_unstable();
        ends.dedup();
        let (mut done, mut end, mut after) = (0, Time(now), layout.locate(at.start));
        for next in ends {
            let piece = Extent::new(at.start.0 + done * drive.per(), ((next - done) * drive.per()) as u32);
            let passage = drive.mechanics.pass(rotation, end, after, piece, direction_of(write));
            prop_assert_eq!(passage.rotation + passage.transfer + passage.crossing, passage.end.since(end));
            (done, end, after) = (next, passage.end, passage.after);
        }
        prop_assert!(end.0.abs_diff(whole.end.0) <= 2, "in pieces {end:?}, in one {:?}", whole.end);
        prop_assert_eq!(after, whole.after);
        Ok(())
    });
}

#[test]
fn part_of_a_physical_sector_passes_as_the_whole_of_it() {
    let values = (drives(), 0.0..1.0f64, 0.0..1.0f64, 0..1_000_000_000u64, 0..8u32, 0..8u32);
    check(1000, values, |(drive, first, length, now, head, tail)| {
        let (_, _, whole) = drive.extent(first, length);
        let per = drive.per() as u32;
        let (head, tail) = (head % per, tail % per);
        if whole.blocks <= head + tail {
            return Ok(());
        }
        let part = Extent::new(whole.start.0 + u64::from(head), whole.blocks - head - tail);
        let Mechanics { layout, rotation, .. } = &drive.mechanics;
        let of = |at: Extent| drive.mechanics.pass(rotation, Time(now), layout.locate(at.start), at, Direction::Read);
        prop_assert_eq!(of(part), of(whole));
        Ok(())
    });
}

#[test]
fn running_on_stops_at_the_first_sector_boundary_at_or_after_the_instant_asked_for() {
    let values = (drives(), 0.0..1.0f64, 0.0..1.0f64, 0..1_000_000_000u64, 0.0..1.3f64, any::<bool>());
    check(3000, values, |(drive, first, length, since, stop, write)| {
        let (first, length, at) = drive.extent(first, length);
        let walk = drive.walk(since as f64, &drive.list[first..first + length], write);
        let whole = walk.ends[length - 1] - since as f64;
        let now = since + (whole * stop) as u64;
        let start = Progress { reached: at.start, at: Time(since), after: drive.mechanics.layout.locate(at.start) };
        let got = drive.mechanics.run_on(&drive.mechanics.rotation, start, at.end(), Time(now), direction_of(write));
        let passed = ((got.reached.0 - at.start.0) / drive.per()) as usize;
        prop_assert_eq!(got.reached.0 % drive.per(), 0);
        prop_assert!(passed <= length);
        let width = |i: usize| drive.period / f64::from(drive.plan.zones[drive.list[first + i].zone as usize].sectors);
        if passed > 0 {
            let began = walk.ends[passed - 1] - width(passed - 1);
            prop_assert!(began < now as f64 + ROUNDING, "sector {passed} of {length} began {began}, after {now}");
        }
        if passed < length {
            prop_assert!(got.at >= Time(now), "stopped at {:?}, before {now}", got.at);
        } else {
            close("end", got.at.0, walk.ends[length - 1], ROUNDING)?;
        }
        let next = at.start.0 + passed as u64 * drive.per();
        let arrived = passed < length && got.after == drive.mechanics.layout.locate(Lbn(next));
        let parts = passed > 0 && passed < length && {
            let i = first + passed;
            drive.parts(drive.list[i - 1], drive.list[i])
        };
        if passed > 0 && !(parts && arrived) {
            close("at", got.at.0, walk.ends[passed - 1], ROUNDING)?;
        } else if passed < length {
            // It is crossing, or waits where the data go on.
            let begins = walk.ends[passed] - width(passed);
            prop_assert!(got.at.0 as f64 <= begins + ROUNDING, "{:?}, though its sector begins at {begins}", got.at);
        }
        Ok(())
    });
}

#[test]
fn running_on_in_steps_comes_as_far_as_at_once_and_as_a_passage() {
    let steps = prop::collection::vec(0.0..1.1f64, 0..8);
    let values = (drives(), 0.0..1.0f64, 0.0..1.0f64, 0..1_000_000_000u64, steps, any::<bool>());
    check(3000, values, |(drive, first, length, since, mut steps, write)| {
        let (_, _, at) = drive.extent(first, length);
        let Mechanics { layout, rotation, .. } = &drive.mechanics;
        let spot = layout.locate(at.start);
        let passage = drive.mechanics.pass(rotation, Time(since), spot, at, direction_of(write));
        let start = Progress { reached: at.start, at: Time(since), after: spot };
        let finish =
            |from: Progress| drive.mechanics.run_on(rotation, from, at.end(), Time::NEVER, direction_of(write));
        let at_once = finish(start);
        prop_assert_eq!((at_once.reached, at_once.at, at_once.after), (at.end(), passage.end, passage.after));
        steps.sort_by(f64::total_cmp);
        let mut so_far = start;
        for step in steps {
            let now = since + (passage.end.since(Time(since)).0 as f64 * step) as u64;
            let next = drive.mechanics.run_on(rotation, so_far, at.end(), Time(now), direction_of(write));
            prop_assert!(next.at >= so_far.at && next.reached >= so_far.reached);
            so_far = next;
        }
        let in_steps = finish(so_far);
        prop_assert!(in_steps.at.0.abs_diff(passage.end.0) <= 3, "{in_steps:?} but {passage:?}");
        prop_assert_eq!((in_steps.reached, in_steps.after), (at.end(), passage.after));
        Ok(())
    });
}

#[test]
fn a_move_costs_its_seek_or_its_head_switch_and_settles_only_to_write_elsewhere() {
    check(1000, (drives(), 0.0..1.0f64, 0.0..1.0f64), |(drive, from, to)| {
        let place = |share: f64| {
            let lbn = (share * drive.mechanics.layout.blocks() as f64) as u64;
            drive.mechanics.layout.locate(Lbn(lbn)).track
        };
        let (from, to) = (place(from), place(to));
        let distance = from.cylinder.abs_diff(to.cylinder) as usize;
        let seek = u64::from(drive.mechanics.seek.ns()[distance]);
        let head = if from.head == to.head { 0 } else { drive.mechanics.switches.head.0 };
        let read = drive.mechanics.stroke(from, to, Direction::Read);
        prop_assert_eq!((read.seek.0, read.total().0), (seek, seek.max(head)));
        let before_write = seek.max(head.min(drive.mechanics.switches.head_write.0));
        let settle = if before_write > 0 { drive.mechanics.switches.write_settle.0 } else { 0 };
        prop_assert_eq!(drive.mechanics.stroke(from, to, Direction::Write).total().0, before_write + settle);
        Ok(())
    });
}
