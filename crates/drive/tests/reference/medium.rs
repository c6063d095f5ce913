//! Arm, heads and medium: how long a move takes, and sectors passing one by one.

use crate::places::Place;
use crate::spin::{Moment, Spin, TURN};
use disk::{Access, DrivePlan, SeekCurve};
use std::cell::Cell;

/// Where the arm is, and since when, or at which angle.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    pub cylinder: u32,
    pub head: u32,
    pub remapped: bool,
    pub moment: Moment,
}

/// A sector that passed.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    pub began: u64,
    pub end: u64,
    pub sector: u64,
}

pub struct Medium {
    pub places: Vec<Place>,
    pub spin: Spin,
    pub access: Access,
    /// Whether a head ever came so late that by roundings it may have just missed a sector, or just caught it.
    pub just_caught: Cell<bool>,
    plan: DrivePlan,
    cylinders: u32,
}

/// Milliseconds in nanoseconds, to the nearest.
fn ns(ms: f64) -> u64 {
    (ms.max(0.0) * 1e6 + 0.5) as u64
}

/// A seek curve at a distance, by its definition.
fn curve(curve: &SeekCurve, distance: u32) -> u64 {
    let d = f64::from(distance);
    if distance == 0 {
        return 0;
    }
    ns(match curve {
        SeekCurve::TwoPiece { a, b, knee, c, e, first } => match first.get(distance as usize - 1) {
            Some(ms) => *ms,
            None if distance <= *knee => a + b * d.sqrt(),
            None => c + e * d,
        },
        SeekCurve::Lee { a, b, c } => a * (d - 1.0).sqrt() + b * (d - 1.0) + c,
        SeekCurve::Table(points) => {
            // From the origin through the points; past the last one as between the last two.
            let mut line: Vec<(f64, f64)> = vec![(0.0, 0.0)];
            line.extend(points.iter().map(|(x, y)| (f64::from(*x), *y)));
            let i = line.iter().position(|(x, _)| *x >= d).unwrap_or(line.len() - 1);
            let ((x0, y0), (x1, y1)) = (line[i - 1], line[i]);
            if d == x1 { y1 } else { y0 + (y1 - y0) / (x1 - x0) * (d - x0) }
        }
    })
}

impl Medium {
    pub fn new(plan: &DrivePlan, seed: u64) -> Medium {
        Medium {
            places: crate::places::places(&plan.layout),
            spin: Spin::new(plan.rpm, &plan.truth, seed),
            access: plan.access,
            just_caught: Cell::new(false),
            plan: plan.clone(),
            cylinders: plan.layout.zones.last().map_or(1, |zone| zone.last_cylinder + 1),
        }
    }

    fn seek(&self, distance: u32, write: bool) -> u64 {
        let own = self.plan.seek_write.as_ref().filter(|_| write);
        curve(own.unwrap_or(&self.plan.seek), distance.min(self.cylinders - 1))
    }

    /// The longest move there is, to read or to write, and a turn.
    pub fn longest_access(&self) -> u64 {
        let switches = &self.plan.switches;
        let seek = |distance| self.seek(distance, false).max(self.seek(distance, true));
        let moves = (0..self.cylinders).map(seek).max().unwrap_or(0);
        let turn = (60e9 / self.plan.rpm).round() as u64;
        moves.max(switches.head.0).max(switches.head_write.0) + switches.write_settle.0 + turn
    }

    /// The time of a move to a random access: heads are switched while the arm moves; a write settles where anything moved.
    pub fn stroke(&self, head: &Head, to: &Place, write: bool) -> u64 {
        let switches = &self.plan.switches;
        let seek = self.seek(head.cylinder.abs_diff(to.cylinder), write);
        let switch = match (head.head == to.head, write) {
            (true, _) => 0,
            (false, true) => switches.head.0.min(switches.head_write.0),
            (false, false) => switches.head.0,
        };
        let moves = seek.max(switch);
        if write && moves > 0 { moves + switches.write_settle.0 } else { moves }
    }

    /// The time to go on with the next track of a transfer.
    fn crossing(&self, head: &Head, to: &Place, write: bool) -> u64 {
        let switches = &self.plan.switches;
        if head.remapped || to.remapped {
            return self.stroke(head, to, write);
        }
        match (head.cylinder.abs_diff(to.cylinder), write) {
            (0, _) if head.head == to.head => 0,
            (0, false) => switches.head.0,
            (0, true) => switches.head_write.0,
            (1, false) => switches.cylinder.0,
            (1, true) => switches.cylinder_write.0,
            (distance, _) => self.seek(distance, false),
        }
    }

    /// The head on the track of a sector, `after` the moment it was free.
    pub fn arrive(&self, to: &Place, after: u64) -> Head {
        Head { cylinder: to.cylinder, head: to.head, remapped: to.remapped, moment: Moment::Time(after) }
    }

    pub fn time(&self, head: &Head) -> u64 {
        self.spin.time(head.moment)
    }

    /// The head goes on to where `sector` lies, if that is elsewhere.
    pub fn cross(&self, head: &Head, sector: u64, write: bool) -> Head {
        let to = &self.places[sector as usize];
        if (head.cylinder, head.head, head.remapped) == (to.cylinder, to.head, to.remapped) {
            return *head;
        }
        let span = self.crossing(head, to, write);
        if span == 0 {
            return Head { remapped: to.remapped, ..*head };
        }
        self.arrive(to, self.time(head) + span)
    }

    /// The sector passes when it next comes by.
    pub fn pass(&self, head: &Head, sector: u64) -> (Passed, Head) {
        let place = &self.places[sector as usize];
        let begin = self.spin.catch(head.moment, place.angle);
        if self.spin.is_just_caught(head.moment, place.angle) {
            self.just_caught.set(true);
        }
        let moment = Moment::Angle(begin + u128::from(place.width));
        let (began, end) = (self.spin.time(Moment::Angle(begin)), self.spin.time(moment));
        (Passed { began, end, sector }, Head { moment, ..*head })
    }

    /// All sectors from `first` up to `end` pass under a head that is on the first one's track. Given in their order.
    pub fn pass_all(&self, head: &Head, first: u64, end: u64, write: bool) -> (Vec<Passed>, Head) {
        let (mut head, mut all, mut next) = (*head, Vec::new(), first);
        while next < end {
            head = self.cross(&head, next, write);
            let track = |s: u64| {
                (self.places[s as usize].cylinder, self.places[s as usize].head, self.places[s as usize].remapped)
            };
            let mut last = next + 1;
            while last < end && track(last) == track(next) {
                last += 1;
            }
            if self.takes_any(next, write) {
                let (some, then) = self.pass_any(&head, next, last);
                all.extend(some);
                head = then;
            } else {
                for sector in next..last {
                    let (passed, then) = self.pass(&head, sector);
                    all.push(passed);
                    head = then;
                }
            }
            next = last;
        }
        (all, head)
    }

    /// Whether what is wanted of a track from sector `next` on passes in whatever order it comes by.
    fn takes_any(&self, next: u64, write: bool) -> bool {
        if write {
            return self.access.writes;
        }
        self.access.reads || (self.access.free && self.places[next as usize].before > 0)
    }

    /// Whether a sector lies on the same track as the next, before it.
    fn is_before(&self, one: u64, other: u64) -> bool {
        let (one, other) = (&self.places[one as usize], &self.places[other as usize]);
        (one.cylinder, one.head, one.remapped) == (other.cylinder, other.head, other.remapped)
    }

    /// Whether a sector lies on the track under a head.
    pub fn is_on(&self, head: &Head, sector: u64) -> bool {
        let place = &self.places[sector as usize];
        (head.cylinder, head.head, head.remapped) == (place.cylinder, place.head, place.remapped)
    }

    /// Sectors right before `first`, on its track, that came by whole between `arrived` and `began`.
    pub fn came_by(&self, arrived: u64, began: u64, first: u64) -> u64 {
        let mut next = first;
        while next > 0 && self.is_before(next - 1, next) {
            let head = Head { moment: Moment::Time(arrived), ..self.arrive(&self.places[next as usize - 1], arrived) };
            let (passed, _) = self.pass(&head, next - 1);
            if passed.end > began {
                break;
            }
            next -= 1;
        }
        first - next
    }

    /// The same where each sector passes when it next comes by once it is `there`.
    pub fn pass_when(&self, head: &Head, first: u64, end: u64, there: impl Fn(u64) -> u64) -> Head {
        let (mut head, mut next) = (*head, first);
        while next < end {
            head = self.cross(&head, next, true);
            let (place, from) = (self.places[next as usize], self.time(&head));
            let on_track = |s: &u64| {
                let it = &self.places[*s as usize];
                (it.cylinder, it.head, it.remapped) == (place.cylinder, place.head, place.remapped)
            };
            let last = (next..end).take_while(on_track).last().unwrap_or(next);
            let ends = (next..=last).map(|sector| {
                let came = there(sector);
                let start = if came > from { Moment::Time(came) } else { head.moment };
                self.pass(&Head { moment: start, ..head }, sector).1
            });
            head = ends.max_by_key(|it| self.time(it)).unwrap_or(head);
            next = last + 1;
        }
        head
    }

    /// Sectors of one track pass in whatever order they come by.
    fn pass_any(&self, head: &Head, first: u64, end: u64) -> (Vec<Passed>, Head) {
        let all: Vec<(Passed, Head)> = (first..end).map(|sector| self.pass(head, sector)).collect();
        let turned = |head: &Head| match head.moment {
            Moment::Angle(turned) => turned,
            Moment::Time(_) => 0,
        };
        let last = all.iter().map(|(_, head)| *head).max_by_key(turned).unwrap_or(*head);
        debug_assert!(all.iter().all(|(_, it)| turned(&last) - turned(it) <= TURN));
        (all.into_iter().map(|(passed, _)| passed).collect(), last)
    }

    /// Of the time from `since` until all that is wanted of the first track has passed, that in which no sector passed.
    pub fn positioning(&self, passed: &[Passed], since: u64) -> u64 {
        let track = |it: &Passed| {
            let place = &self.places[it.sector as usize];
            (place.cylinder, place.head, place.remapped)
        };
        let first: Vec<&Passed> = passed.iter().take_while(|it| track(it) == track(&passed[0])).collect();
        let end = first.iter().map(|it| it.end).max().unwrap_or(since);
        let transfer: u64 = first.iter().map(|it| it.end - it.began).sum();
        (end - since).saturating_sub(transfer)
    }
}
