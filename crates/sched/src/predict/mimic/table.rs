//! Distances and their times: points in order, between some of which times are interpolated.

use super::point::Point;
use super::smooth::{SmoothCurve, least};

/// Points in a leaf at most.
const LEAF: usize = 64;
/// Leaves whose least time is kept together.
const GROUP: usize = 64;

/// What is allowed between a time and the line between its neighbours for the line to stand for the distances in between:
/// so many points checked, and the share of the time each may be off (002 Table 2).
pub(super) const ALLOWED: [(usize, f32); 6] = [(1, 0.01), (2, 0.02), (3, 0.05), (4, 0.10), (5, 0.15), (10, 0.20)];

/// What is checked at most, and allowed at most.
pub(super) const LOOSEST: (usize, f32) = ALLOWED[ALLOWED.len() - 1];

/// Lines are joined to a longer one where what they meet in is off it by no more than this share.
const JOINED: f32 = 0.02;

/// The times of distances, signed and in grains: a mean for some, a line between two of them for others, nothing for
/// the rest.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    leaves: Vec<Vec<Point>>,
    /// The first distance of each leaf; none is below that of the first.
    lows: Vec<i32>,
    /// No time in a leaf, or on the line from it to the next, is less.
    least: Vec<f32>,
    /// The same for each group of leaves.
    groups: Vec<f32>,
    count: usize,
    /// What distances like one another take, to which the means of points are drawn.
    curve: Option<SmoothCurve>,
    /// Points are forgotten when it changes.
    epoch: u8,
}

/// Where a point is.
type Place = (usize, usize);

impl Table {
    /// A table of points in ascending order.
    pub(super) fn of(points: &[Point]) -> Table {
        let mut table = Table {
            leaves: points.chunks(LEAF / 2).map(<[Point]>::to_vec).collect(),
            count: points.len(),
            lows: points.chunks(LEAF / 2).map(|leaf| leaf[0].distance).collect(),
            ..Table::default()
        };
        table.least = vec![0.0; table.leaves.len()];
        for leaf in 0..table.leaves.len() {
            table.least[leaf] = table.least_of(leaf);
        }
        table.regroup(0);
        table
    }

    /// All points in ascending order.
    pub(super) fn points(&self) -> impl Iterator<Item = Point> {
        self.leaves.iter().flatten().copied()
    }

    /// How many points there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Its memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        let leaves: usize =
            self.leaves.iter().map(|leaf| size_of_val(leaf) + leaf.capacity() * size_of::<Point>()).sum();
        leaves + (self.lows.len() + self.least.len() + self.groups.len()) * size_of::<f32>()
    }

    /// From now on what was learned before weighs no more than one sample.
    pub(super) fn forget(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Forgets what was seen but once, which is the most and tells least.
    pub(super) fn thin(&mut self) {
        let kept: Vec<Point> = self.points().filter(|point| point.samples() > 1 || point.leads()).collect();
        let (epoch, curve) = (self.epoch, self.curve.take());
        *self = Table { epoch, ..Table::of(&kept) };
        self.draw(curve);
    }

    /// The mean time of this very distance in nanoseconds, if it is kept.
    pub(super) fn mean_at(&self, distance: i32) -> Option<f32> {
        let (leaf, at) = self.at_or_before(distance)?;
        let point = self.leaves[leaf][at];
        (point.distance == distance).then(|| point.time())
    }

    /// The time of a distance in nanoseconds: of a point of at least `fewest` samples, from a line, or else from the curve.
    pub(super) fn time(&self, distance: i32, fewest: u8) -> Option<f32> {
        self.told_at(distance, fewest, |point| self.worth(point)).or_else(|| self.curve_at(distance))
    }

    /// The same, as it is hoped, so that what is not known well is tried now and then.
    pub(super) fn hope_for(&self, distance: i32, fewest: u8) -> Option<f32> {
        let told = self.told_at(distance, fewest, |point| self.hope(point));
        told.or_else(|| self.curve.as_ref()?.hope_for(distance))
    }

    /// Samples of a distance, or the fewest of the ends of its line.
    pub(super) fn samples(&self, distance: i32) -> u8 {
        let Some((leaf, at)) = self.at_or_before(distance) else { return 0 };
        let point = self.leaves[leaf][at];
        if point.distance == distance {
            return point.samples();
        }
        let next = self.next((leaf, at)).filter(|_| point.leads());
        next.map_or(0, |next| point.samples().min(next.samples()))
    }

    fn told_at(&self, distance: i32, fewest: u8, worth: impl Fn(Point) -> f32) -> Option<f32> {
        let (leaf, at) = self.at_or_before(distance)?;
        let point = self.leaves[leaf][at];
        if point.distance == distance {
            return (point.samples() >= fewest).then(|| worth(point));
        }
        let next = self.next((leaf, at)).filter(|_| point.leads())?;
        Some(point.line(next).at(distance, worth(point), worth(next)))
    }

    fn worth(&self, point: Point) -> f32 {
        self.curve.as_ref().map_or_else(|| point.time(), |curve| curve.worth(point))
    }

    fn hope(&self, point: Point) -> f32 {
        self.curve.as_ref().map_or_else(|| point.time(), |curve| curve.hope(point))
    }

    /// From now on means are drawn to this curve, or count whole.
    pub(super) fn draw(&mut self, curve: Option<SmoothCurve>) {
        self.curve = curve;
        for leaf in 0..self.leaves.len() {
            self.least[leaf] = self.least_of(leaf);
        }
        self.regroup(0);
    }

    /// What distances like this one take, as the curve has it.
    pub(super) fn curve_at(&self, distance: i32) -> Option<f32> {
        self.curve.as_ref()?.time(distance)
    }

    /// Nothing in `from..=to` takes less; infinite where nothing in it is known.
    pub(super) fn least(&self, from: i32, to: i32) -> f32 {
        let curve = self.curve.as_ref().map_or(f32::INFINITY, |curve| curve.least(from, to));
        if self.leaves.is_empty() {
            return curve;
        }
        let leaf_of = |distance| self.lows.partition_point(|low| *low <= distance).saturating_sub(1);
        let (first, last) = (leaf_of(from), leaf_of(to));
        let (above, below) = (first.div_ceil(GROUP), (last + 1) / GROUP);
        if above >= below {
            return curve.min(least(&self.least[first..=last]));
        }
        let ends = least(&self.least[first..above * GROUP]).min(least(&self.least[below * GROUP..=last]));
        curve.min(ends).min(least(&self.groups[above..below]))
    }

    /// A time was seen. Means of at least `merges` samples are no longer kept where the line between two others tells
    /// them.
    pub(super) fn observe(&mut self, distance: i32, time: f32, merges: Option<u8>) {
        let first = Point::first(distance, time, self.epoch);
        let Some((leaf, at)) = self.at_or_before(distance) else { return self.insert((0, 0), first) };
        let point = self.leaves[leaf][at];
        if point.distance == distance {
            self.leaves[leaf][at].add(time, self.epoch);
            self.tell_least(leaf);
            if at == 0 && leaf > 0 {
                self.tell_least(leaf - 1);
            }
        } else {
            if point.leads() {
                let next = self.next((leaf, at)).expect("a line leads to a point");
                let (_, allowed) = LOOSEST;
                if is_near(between(point, next, distance), time, allowed) {
                    return;
                }
                self.leaves[leaf][at].lead(false);
            }
            self.insert((leaf, at + 1), first);
        }
        if let Some(fewest) = merges {
            self.confirm(distance, fewest);
        }
    }

    /// Looks around a point for a few in a row that the line between those on either side of them tells, and draws it.
    fn confirm(&mut self, distance: i32, fewest: u8) {
        // As many on either side as a line may span.
        let (most, _) = LOOSEST;
        let Some(here) = self.at_or_before(distance) else { return };
        let (mut first, mut before) = (here, 0);
        while before <= most
            && let Some(place) = self.step_back(first)
        {
            (first, before) = (place, before + 1);
        }
        let mut near = [self.leaves[here.0][here.1]; 23];
        let mut count = 0;
        let mut place = Some(first);
        while let Some((leaf, at)) = place.filter(|_| count < before + most + 2) {
            near[count] = self.leaves[leaf][at];
            (count, place) = (count + 1, self.step((leaf, at)));
        }
        for (checked, allowed) in ALLOWED {
            // The point is one of those checked or at an end.
            for left in before.saturating_sub(checked + 1)..=before {
                let right = left + checked + 1;
                if right >= count {
                    break;
                }
                let told =
                    |point: &Point| is_near(between(near[left], near[right], point.distance), point.time(), allowed);
                // Lines are joined only where that is hardly a bend.
                let apart = allowed <= JOINED || near[left..right].iter().all(|point| !point.leads());
                let settled = near[left..=right].iter().all(|point| point.samples() >= fewest);
                if apart && settled && near[left + 1..right].iter().all(told) {
                    for point in &near[left + 1..right] {
                        self.remove(point.distance);
                    }
                    if let Some((leaf, at)) = self.at_or_before(near[left].distance) {
                        self.leaves[leaf][at].lead(true);
                        self.tell_least(leaf);
                    }
                    return;
                }
            }
        }
    }

    /// The last point at or before a distance.
    fn at_or_before(&self, distance: i32) -> Option<Place> {
        let leaf = self.lows.partition_point(|low| *low <= distance).checked_sub(1)?;
        let at = self.leaves[leaf].partition_point(|point| point.distance <= distance);
        Some((leaf, at - 1))
    }

    fn step(&self, (leaf, at): Place) -> Option<Place> {
        if at + 1 < self.leaves[leaf].len() {
            Some((leaf, at + 1))
        } else {
            (leaf + 1 < self.leaves.len()).then_some((leaf + 1, 0))
        }
    }

    fn step_back(&self, (leaf, at): Place) -> Option<Place> {
        if at > 0 { Some((leaf, at - 1)) } else { leaf.checked_sub(1).map(|leaf| (leaf, self.leaves[leaf].len() - 1)) }
    }

    fn next(&self, place: Place) -> Option<Point> {
        self.step(place).map(|(leaf, at)| self.leaves[leaf][at])
    }

    fn insert(&mut self, (leaf, at): Place, point: Point) {
        if self.leaves.is_empty() {
            self.leaves.push(Vec::with_capacity(LEAF));
            self.lows.push(point.distance);
            self.least.push(0.0);
        }
        self.count += 1;
        self.leaves[leaf].insert(at, point);
        self.lows[leaf] = self.leaves[leaf][0].distance;
        if self.leaves[leaf].len() == LEAF {
            let upper = self.leaves[leaf].split_off(LEAF / 2);
            self.lows.insert(leaf + 1, upper[0].distance);
            self.leaves.insert(leaf + 1, upper);
            self.least.insert(leaf + 1, 0.0);
            self.least[leaf + 1] = self.least_of(leaf + 1);
            self.least[leaf] = self.least_of(leaf);
            self.regroup(leaf);
        }
        self.tell_least(leaf);
        if at == 0 && leaf > 0 {
            self.tell_least(leaf - 1);
        }
    }

    fn remove(&mut self, distance: i32) {
        let Some((leaf, at)) = self.at_or_before(distance) else { return };
        self.count -= 1;
        self.leaves[leaf].remove(at);
        if self.leaves[leaf].is_empty() {
            self.leaves.remove(leaf);
            self.lows.remove(leaf);
            self.least.remove(leaf);
            self.regroup(leaf.saturating_sub(1));
        } else {
            self.lows[leaf] = self.leaves[leaf][0].distance;
            self.tell_least(leaf);
        }
        if leaf > 0 {
            self.tell_least(leaf - 1);
        }
    }

    /// The least time of a leaf and of the line from it to the next.
    fn least_of(&self, leaf: usize) -> f32 {
        let own = self.leaves[leaf].iter().map(|point| self.hope(*point)).fold(f32::INFINITY, f32::min);
        self.leaves.get(leaf + 1).map_or(own, |next| own.min(self.hope(next[0])))
    }

    /// The least time of a leaf may have changed.
    fn tell_least(&mut self, leaf: usize) {
        let before = self.least[leaf];
        let now = self.least_of(leaf);
        if before.to_bits() != now.to_bits() {
            self.least[leaf] = now;
            self.regroup_one(leaf / GROUP);
        }
    }

    fn regroup_one(&mut self, group: usize) {
        let end = self.least.len().min((group + 1) * GROUP);
        let least = least(&self.least[group * GROUP..end]);
        if group < self.groups.len() { self.groups[group] = least } else { self.groups.push(least) }
    }

    /// Leaves were added or taken from this one on.
    fn regroup(&mut self, leaf: usize) {
        self.groups.truncate(self.least.len().div_ceil(GROUP));
        for group in leaf / GROUP..self.least.len().div_ceil(GROUP) {
            self.regroup_one(group);
        }
    }
}

/// On the line between two points.
pub(super) fn between(left: Point, right: Point, distance: i32) -> f32 {
    left.line(right).at(distance, left.time(), right.time())
}

/// Whether a line tells a time, off by no more than this share of it.
fn is_near(line: f32, time: f32, allowed: f32) -> bool {
    (line - time).abs() <= allowed * time
}
