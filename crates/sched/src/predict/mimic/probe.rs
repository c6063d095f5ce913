//! Learning a device before it is used: each distance is tried from random places.

use super::point::Point;
use super::smooth::{Smooth, sample_distances};
use super::table::{ALLOWED, LOOSEST, Table, between};
use super::{DistanceSummary, Grain};
use block::{Command, Device, Extent, Lbn, Outcome, Place, Span, Tag, Time, Verb};
use rand_core::Rng;
use rand_pcg::Pcg64;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// How a device is learned before it is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probing {
    /// Times each distance is tried (002 §5.2).
    pub samples: u32,
    /// What stands for them.
    pub summary: DistanceSummary,
    /// Whether distances are interpolated where a line tells them, else each one is tried.
    pub interpolate: bool,
    /// Whether means are drawn to what distances like theirs take, and a line is one where chance explains what is off it;
    /// else as in 002: a mean counts whole, and a line is one by the progressive rule of §5.3.
    pub smooth: bool,
    /// Distances are tried up to so many blocks either way; farther ones count as this far. 0: all there are.
    pub reach: u64,
    /// Distances are told apart by so many blocks, as in [`super::Learning`].
    pub grain: u32,
    /// Blocks a probe reads.
    pub blocks: u32,
    /// The part of the device that is probed: its first block, and the first after it.
    pub within: (u64, u64),
    /// What a line has to pass; the progressive rule of 002 Table 2 where there is none.
    pub check: Option<LineCheck>,
    /// How many interpolated distances are tried once all is learned, to tell how true the lines are.
    pub lines_tried: u32,
    /// A distance in blocks of which all samples are kept.
    pub shown: Option<u64>,
    /// Distances kept at most.
    pub most: usize,
    /// The seed of the places tried.
    pub seed: u64,
}

impl Default for Probing {
    /// With the samples of 002 §5.2, in 1 MiB.
    fn default() -> Probing {
        Probing {
            samples: 10,
            summary: DistanceSummary::Mean,
            interpolate: true,
            smooth: true,
            reach: 0,
            grain: super::FINEST,
            blocks: 2,
            within: (0, u64::MAX),
            check: None,
            lines_tried: 0,
            shown: None,
            most: super::points(1 << 20),
            seed: 1,
        }
    }
}

/// What a line between two distances has to pass to stand for those in between (002 §5.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineCheck {
    /// Distances in between that are tried.
    pub points: usize,
    /// How far off the line each may be, as a share of its time.
    pub error: f32,
}

/// What it took to learn a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProbeEffort {
    /// How many commands it took.
    pub commands: u64,
    /// Time of the device.
    pub time: Span,
    /// Share of the distances that are interpolated.
    pub interpolated: f64,
    /// Share of the distances for which memory did not suffice: only their mean is known.
    pub coarse: f64,
    /// Of interpolated distances that were tried, the share that is as near to its line as the check allows.
    pub lines_true: f64,
    /// How far they are off, on average, as a share of their time.
    pub line_error: f64,
}

/// A device being tried.
pub(super) struct Prober<'a> {
    device: &'a mut dyn Device,
    how: Probing,
    grain: Grain,
    dice: Pcg64,
    times: Vec<f32>,
    /// Of each distance, its times where a summary is drawn from them.
    pub(super) spread: BTreeMap<i32, [f32; SPREAD]>,
    pub(super) effort: ProbeEffort,
    pub(super) smooth: Smooth,
    /// The samples of the distance that is to be shown, shortest first.
    pub(super) shown: Vec<Span>,
    began: Time,
}

/// Distances of each cell from which the curve is learned.
const CURVE: u32 = 32;

/// Quantiles that stand for a distribution.
pub(super) const SPREAD: usize = 16;

/// A distance as it was tried.
#[derive(Clone, Copy)]
struct TriedProbe {
    distance: i32,
    time: f32,
    /// The variance of its samples.
    variance: f32,
    samples: u32,
    /// Whether the times up to the next one lie on the line between the two.
    line: bool,
}

impl<'a> Prober<'a> {
    pub(super) fn new(device: &'a mut dyn Device, grain: Grain, how: &Probing) -> Prober<'a> {
        let began = device.now();
        let dice = Pcg64::new(u128::from(how.seed) << 1 | 1, 0x0A02_BDBF_7BB3_C0A7_AC28_FA16_A64A_BF96);
        Prober {
            device,
            how: *how,
            grain,
            dice,
            times: Vec::new(),
            spread: BTreeMap::new(),
            effort: ProbeEffort::default(),
            smooth: Smooth::default(),
            shown: Vec::new(),
            began,
        }
    }

    /// Learns all distances within reach.
    pub(super) fn learn(&mut self, tell: &mut dyn FnMut(f64)) -> Table {
        let (from, end) = self.part();
        let room = (end - from).saturating_sub(2 * u64::from(self.how.blocks)).max(1);
        let reach = self.grain.of(if self.how.reach == 0 { room } else { self.how.reach.min(room) } as i64);
        if self.how.smooth {
            let dice = &mut self.dice;
            let distances = sample_distances(reach, CURVE, &mut |below| (dice.next_u64() % u64::from(below)) as u32);
            for distance in distances {
                self.attempt(distance);
            }
        }
        let table = if self.how.interpolate { self.by_lines(reach, tell) } else { self.one_by_one(reach, tell) };
        self.try_lines(&table);
        self.show();
        self.effort.time = self.device.now().since(self.began);
        table
    }

    /// The part of the device that is probed.
    fn part(&self) -> (u64, u64) {
        let blocks = self.device.caps().blocks;
        let (from, end) = self.how.within;
        (from.min(blocks), end.min(blocks))
    }

    /// Tries interpolated distances, drawn from all of them, and notes how far off their lines they are.
    fn try_lines(&mut self, table: &Table) {
        let ends: Vec<Point> = table.points().collect();
        let lines: Vec<(Point, Point)> =
            ends.windows(2).filter(|ends| ends[0].leads()).map(|ends| (ends[0], ends[1])).collect();
        let inside = |(left, right): &(Point, Point)| (right.distance - left.distance - 1).max(0) as u64;
        let all: u64 = lines.iter().map(inside).sum();
        let tried = if all == 0 { 0 } else { self.how.lines_tried };
        let allowed = self.how.check.map_or(LOOSEST.1, |check| check.error);
        for _ in 0..tried {
            let mut place = self.dice.next_u64() % all;
            let mut line = lines.iter();
            let Some((left, right)) = line.find(|line| {
                let found = place < inside(line);
                place -= if found { 0 } else { inside(line) };
                found
            }) else {
                break;
            };
            let probe = self.attempt(left.distance + 1 + place as i32);
            let off = ((probe.time - between(*left, *right, probe.distance)) / probe.time).abs();
            self.effort.lines_true += f64::from(u8::from(off <= allowed)) / f64::from(tried);
            self.effort.line_error += f64::from(off) / f64::from(tried);
        }
    }

    /// Keeps all samples of the distance that is to be shown, shortest first.
    fn show(&mut self) {
        let Some(blocks) = self.how.shown else { return };
        let distance = self.grain.of(i64::try_from(blocks).unwrap_or(i64::MAX));
        let samples: Vec<Span> = (0..self.how.samples).filter_map(|_| self.sample(distance)).collect();
        self.shown = samples;
        self.shown.sort_unstable();
    }

    fn one_by_one(&mut self, reach: i32, tell: &mut dyn FnMut(f64)) -> Table {
        let mut tried = Vec::new();
        for distance in -reach..=reach {
            tried.push(self.attempt(distance));
            if distance & 0xFFF == 0 {
                tell(f64::from(distance + reach) / (2.0 * f64::from(reach) + 1.0));
            }
        }
        table(&tried)
    }

    /// Between two distances a few more are tried, until they are seen to lie on the line or not; then the part is cut
    /// where they are. Near distances come first, and of those within an octave the widest parts, so that where memory
    /// ends, it ends for the farthest.
    fn by_lines(&mut self, reach: i32, tell: &mut dyn FnMut(f64)) -> Table {
        let mut all: Vec<TriedProbe> = octaves(reach).map(|distance| self.attempt(distance)).collect();
        let mut parts = BinaryHeap::new();
        let part = |left: usize, right: usize, all: &[TriedProbe]| {
            let (left_at, right_at) = (i64::from(all[left].distance), i64::from(all[right].distance));
            let near = left_at.abs().min(right_at.abs()).max(1).ilog2();
            (right_at - left_at > 1).then_some((Reverse(near), right_at - left_at, Reverse(left), right))
        };
        parts.extend((1..all.len()).filter_map(|right| part(right - 1, right, &all)));
        let mut steps = 0;
        while let Some((_, width, Reverse(left), right)) = parts.pop() {
            if all.len() >= self.how.most {
                self.effort.coarse += (width - 1) as f64;
                all[left].line = !self.how.smooth;
                continue;
            }
            let (checked, line) = self.check(all[left], all[right]);
            if line {
                self.effort.interpolated += (width - 1) as f64;
                all[left].line = true;
                continue;
            }
            let mut ends = vec![left];
            ends.extend((0..checked.len()).map(|i| all.len() + i));
            ends.push(right);
            all.extend(checked);
            parts.extend(ends.windows(2).filter_map(|pair| part(pair[0], pair[1], &all)));
            steps += 1;
            if steps % 64 == 0 {
                tell(all.len() as f64 / self.how.most as f64);
            }
        }
        all.sort_unstable_by_key(|tried| tried.distance);
        let distances = 2.0 * f64::from(reach) + 1.0;
        self.effort.interpolated /= distances;
        self.effort.coarse /= distances;
        table(&all)
    }

    /// Tries distances between two until a line is seen to tell them or not to; what was tried, in order, and whether
    /// it does.
    fn check(&mut self, left: TriedProbe, right: TriedProbe) -> (Vec<TriedProbe>, bool) {
        let inside = i64::from(right.distance) - i64::from(left.distance) - 1;
        let mut checked: Vec<TriedProbe> = Vec::new();
        let fixed = self.how.check.map(|check| [(check.points, check.error)]);
        let checks: &[(usize, f32)] = fixed.as_ref().map_or(&ALLOWED, |fixed| fixed);
        let loosest = checks[checks.len() - 1];
        for (count, allowed) in checks.iter().copied() {
            let count = count.min(inside as usize);
            while checked.len() < count {
                let offset = (self.dice.next_u64() % inside as u64) as i64;
                let distance = (i64::from(left.distance) + 1 + offset) as i32;
                if checked.iter().all(|tried| tried.distance != distance) {
                    checked.push(self.attempt(distance));
                }
            }
            let off = |tried: &TriedProbe| tried.time - between(left.end(), right.end(), tried.distance);
            let last = count == inside as usize || count == loosest.0;
            let told = if self.how.smooth {
                by_chance(&checked, &off, last)
            } else {
                let most = checked.iter().map(|tried| (off(tried) / tried.time).abs()).fold(0.0, f32::max);
                // No number of points more mends what one has shown.
                if most <= allowed { Some(true) } else { (last || most > loosest.1).then_some(false) }
            };
            if let Some(line) = told {
                checked.sort_unstable_by_key(|tried| tried.distance);
                return (checked, line);
            }
        }
        (checked, false)
    }

    /// Takes samples of one distance until their mean is known well enough.
    fn attempt(&mut self, distance: i32) -> TriedProbe {
        let mut times = std::mem::take(&mut self.times);
        times.clear();
        for _ in 0..self.how.samples {
            times.extend(self.sample(distance).map(|time| time.0 as f32));
        }
        times.sort_unstable_by(f32::total_cmp);
        if self.how.summary == DistanceSummary::Probabilistic && !times.is_empty() {
            let quantile = |i: usize| times[i * (times.len() - 1) / (SPREAD - 1)];
            self.spread.insert(distance, std::array::from_fn(quantile));
        }
        let mean = DistanceSummary::Mean.of(&times);
        let variance =
            times.iter().map(|time| (time - mean) * (time - mean)).sum::<f32>() / (times.len().max(2) - 1) as f32;
        let tried = TriedProbe {
            distance,
            time: self.how.summary.of(&times),
            variance,
            samples: times.len() as u32,
            line: false,
        };
        self.smooth.see_all(distance, tried.time, variance, times.len());
        self.times = times;
        tried
    }

    /// The time of a read so far from the end of another, at a random place.
    fn sample(&mut self, distance: i32) -> Option<Span> {
        let ((from, end), length) = (self.part(), i64::from(self.how.blocks));
        let step = self.grain.blocks(distance);
        let start = place((end - from) as i64, length, step, &mut |below| self.dice.next_u64() % below)?;
        let start = start + from as i64;
        self.read(start)?;
        self.read(start + length + step)
    }

    fn read(&mut self, start: i64) -> Option<Span> {
        let at = Extent { start: Lbn(start as u64), blocks: self.how.blocks };
        let began = self.device.now();
        self.device.issue(Tag(0), Command::new(Verb::Read, at, Place::Nowhere));
        let (ended, _, outcome) = self.device.next(Time::NEVER)?;
        self.effort.commands += 1;
        (outcome == Outcome::Ok).then(|| ended.since(began))
    }
}

/// A random place among so many blocks for a read of `length` from which another, `step` from its end, does not leave them.
pub(super) fn place(blocks: i64, length: i64, step: i64, draw: &mut dyn FnMut(u64) -> u64) -> Option<i64> {
    let low = (-step - length).max(0);
    let high = (blocks - length).min(blocks - 2 * length - step);
    (high >= low).then(|| low + draw((high - low + 1) as u64) as i64)
}

/// What is kept of what was tried.
fn table(tried: &[TriedProbe]) -> Table {
    let point = |tried: &TriedProbe| {
        let mut point = tried.end();
        point.lead(tried.line);
        point
    };
    Table::of(&tried.iter().map(point).collect::<Vec<_>>())
}

impl TriedProbe {
    fn end(self) -> Point {
        Point::new(self.distance, self.time, self.samples)
    }
}

/// How far beyond their own noise those that were checked may lie off a line that is believed, at the end of a check: squares that
/// chance alone would make 1. Between 1 and the 2 of a bend as large as the noise itself.
const LINE_FITS: f32 = 1.6;

/// After how many standard errors (of a mean of so many squares, each about 3 by itself) a line is given up while it is still being
/// checked: three, since it is asked again after each sample.
const CERTAINTY: f32 = 9.0;

/// Whether chance explains how far from a line these lie, or nothing yet.
fn by_chance(checked: &[TriedProbe], off: &dyn Fn(&TriedProbe) -> f32, last: bool) -> Option<bool> {
    let count = checked.len() as f32;
    let noise: f32 = checked.iter().map(|tried| tried.variance / tried.samples.max(1) as f32).sum::<f32>() / count;
    // The ends of the line are as uncertain as what is between: that adds two thirds. A hundredth is near enough.
    let square = |tried: &TriedProbe| off(tried).powi(2) / (noise * 5.0 / 3.0 + (0.01 * tried.time).powi(2));
    let excess = checked.iter().map(square).sum::<f32>() / count;
    if last {
        return Some(excess <= LINE_FITS);
    }
    (excess > 1.0 + CERTAINTY / count.sqrt()).then_some(false)
}

/// Powers of two up to `reach`, either way, and zero: in order.
fn octaves(reach: i32) -> impl Iterator<Item = i32> {
    let up = move || (0..31).map(|bit| 1i32 << bit).take_while(move |distance| *distance < reach).chain([reach]);
    let mut down: Vec<i32> = up().map(|distance| -distance).collect();
    down.reverse();
    down.into_iter().chain([0]).chain(up())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many distances that took 10 ms with a variance of 1 over 4 samples.
    fn checked(count: usize) -> Vec<TriedProbe> {
        let tried = |n| TriedProbe { distance: n as i32, time: 10.0, variance: 1.0, samples: 4, line: false };
        (0..count).map(tried).collect()
    }

    #[test]
    fn a_line_is_refused_where_what_lies_off_it_is_more_than_chance_however_many_were_checked() {
        // By chance a mean of four is off by 0.65 with the ends of the line, and a hundredth of 10 ms counts as nothing.
        for count in [4, 16, 64] {
            let off = |by: f32| by_chance(&checked(count), &move |_| by, true);
            assert_eq!((off(0.0), off(0.65), off(2.0)), (Some(true), Some(true), Some(false)), "{count}");
        }
    }

    #[test]
    fn before_the_last_check_only_what_cannot_be_chance_is_refused_and_nothing_is_accepted() {
        let off = |count: usize, by: f32| by_chance(&checked(count), &move |_| by, false);
        assert_eq!([off(4, 0.0), off(4, 1.0), off(4, 2.0)], [None, None, Some(false)]);
        assert_eq!([off(64, 0.65), off(64, 1.5)], [None, Some(false)], "many tell sooner");
    }

    #[test]
    fn octaves_run_from_one_end_to_the_other_through_zero() {
        assert_eq!(octaves(5).collect::<Vec<_>>(), [-5, -4, -2, -1, 0, 1, 2, 4, 5]);
    }

    #[test]
    fn a_pair_of_reads_fits_on_the_device_whichever_way_it_goes() {
        for step in [-300, -100, 0, 37, 800] {
            for last in [false, true] {
                let mut draw = |below: u64| if last { below - 1 } else { 0 };
                let start = place(1000, 100, step, &mut draw).expect("there is room");
                let second = start + 100 + step;
                assert!((0..=900).contains(&start) && (0..=900).contains(&second), "{step}: {start}, {second}");
                assert!(last || start.min(second) == 0, "the first place is at the beginning: {step}");
                assert!(!last || start.max(second) == 900, "the last place is at the end: {step}");
            }
        }
        assert_eq!(place(1000, 100, 801, &mut |_| 0), None, "no room");
    }
}
