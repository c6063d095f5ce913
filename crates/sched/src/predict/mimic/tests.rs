//! The table against a plain map, and what the Mimic promises of it.

use super::point::Point;
use super::smooth::Smooth;
use super::table::Table;
use super::{DistanceSummary, Known, Learned, Learning, LineCheck, Mimic, Probing};
use crate::predict::{Predictor, UNKNOWN};
use block::{Caps, Command, Device, Direction, Extent, Lbn, Outcome, Place, Tag, Time, Verb};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Distances near and far, seen often and seldom.
fn seen() -> impl Strategy<Value = Vec<(i32, u32)>> {
    let distance = prop_oneof![-40..40i32, -100_000..100_000i32, Just(i32::MAX), Just(-i32::MAX)];
    prop::collection::vec((distance, 1..20_000_000u32), 0..600)
}

proptest! {
    #[test]
    fn without_lines_it_is_a_map_of_means(seen in seen()) {
        let mut table = Table::default();
        let mut naive: BTreeMap<i32, (f64, u32)> = BTreeMap::new();
        for (distance, time) in seen {
            table.observe(distance, time as f32, None);
            let (sum, count) = naive.entry(distance).or_default();
            (*sum, *count) = (*sum + f64::from(time), *count + 1);
        }
        prop_assert_eq!(table.len(), naive.len());
        for (distance, (sum, count)) in &naive {
            let (mean, found) = (sum / f64::from(*count), table.time(*distance, 1).unwrap());
            prop_assert!((f64::from(found) - mean).abs() <= 5e-3 * mean + 1.0, "{distance}: {found}, not {mean}");
            let beside = distance.saturating_add(1);
            prop_assert_eq!(table.time(beside, 1).is_some(), naive.contains_key(&beside));
            prop_assert_eq!(table.time(*distance, 2).is_some(), *count >= 2);
        }
    }

    #[test]
    fn nothing_is_hoped_to_take_less_than_the_least(
        seen in seen(), from in -120_000..120_000i32, width in 0..200_000i32, lines: bool, hope in 0.0..2.0f32,
    ) {
        let mut table = Table::default();
        let mut smooth = Smooth::default();
        for (i, (distance, time)) in seen.iter().enumerate() {
            smooth.see(*distance, *time as f32, table.curve_at(*distance), table.mean_at(*distance));
            if i % 100 == 99 {
                table.draw(Some(smooth.curve(hope)));
            }
            table.observe(*distance, *time as f32, lines.then_some(1));
        }
        let to = from + width;
        let least = table.least(from, to);
        let inside = seen.iter().map(|(distance, _)| *distance).filter(|it| (from..=to).contains(it));
        for distance in inside.chain([from, to, from + width / 2]) {
            let (time, hoped) = (table.time(distance, 1), table.hope_for(distance, 1));
            prop_assert_eq!(time.is_some(), hoped.is_some());
            if let (Some(time), Some(hoped)) = (time, hoped) {
                prop_assert!(least <= hoped * 1.0001 && hoped <= time, "{distance}: {hoped} < {least}, or not below {time}");
            }
        }
    }

    #[test]
    fn points_stay_in_order_and_counted(seen in seen()) {
        let mut table = Table::default();
        for (distance, time) in seen {
            table.observe(distance, time as f32, Some(1));
            if table.len() > 300 {
                table.thin();
            }
        }
        let points: Vec<Point> = table.points().collect();
        prop_assert_eq!(points.len(), table.len());
        prop_assert!(points.is_sorted_by(|one, next| one.distance < next.distance));
        prop_assert!(points.last().is_none_or(|last| !last.leads()));
    }
}

#[test]
fn a_line_takes_the_place_of_what_lies_on_it() {
    let mut table = Table::default();
    for distance in 0..1000 {
        table.observe(distance, 1e6 + 1e3 * distance as f32, Some(1));
    }
    assert!(table.len() < 20, "{} points are kept of a straight line", table.len());
    for distance in 0..1000 {
        let (time, true_time) = (table.time(distance, 1).unwrap(), 1e6 + 1e3 * distance as f32);
        assert!((time - true_time).abs() < 0.02 * true_time, "{distance}: {time}");
    }
    // What does not lie on it breaks it.
    table.observe(501, 9e6, Some(1));
    assert!((table.time(501, 1).unwrap() - 9e6).abs() < 1e4);
}

#[test]
fn few_samples_count_for_little_where_distances_differ_by_chance() {
    let mut smooth = Smooth::default();
    let mut table = Table::default();
    // A hundred times of nine tenths of a revolution's spread, in no relation to the distance.
    for i in 0..4000i32 {
        let (distance, time) = (10_000 + i % 500, 3e6 + (i * 7919 % 6000) as f32 * 1e3);
        smooth.see(distance, time, table.curve_at(distance), table.mean_at(distance));
        table.observe(distance, time, None);
        if i % 500 == 499 {
            table.draw(Some(smooth.curve(0.0)));
        }
    }
    table.observe(11_111, 3e6, None);
    let lucky = table.time(11_111, 1).unwrap();
    assert!(lucky > 5.5e6, "one lucky sample is believed: {lucky}");
}

/// A device on which a command takes 2 ms and 1 µs for each block from the last, and then this times that.
struct Ruler {
    now: Time,
    arm: u64,
    pending: Option<(Tag, Time)>,
    times: u64,
    /// Distances so far apart take the same.
    tooth: u64,
}

impl Device for Ruler {
    fn caps(&self) -> Caps {
        Caps { blocks: 1 << 20, depth: 1, seek: block::SeekBy::Nothing, arms: 1 }
    }

    fn now(&self) -> Time {
        self.now
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        let time = 2_000_000 + self.arm.abs_diff(command.at.start.0) % self.tooth * 1000;
        self.arm = command.at.end().0;
        self.pending = Some((tag, Time(self.now.0 + time * self.times)));
        self.now
    }

    fn next(&mut self, _: Time) -> Option<(Time, Tag, Outcome)> {
        let (tag, end) = self.pending.take()?;
        self.now = end;
        Some((end, tag, Outcome::Ok))
    }
}

fn ruler(times: u64) -> Ruler {
    Ruler { now: Time::ZERO, arm: 0, pending: None, times, tooth: u64::MAX }
}

#[test]
fn probes_find_what_a_distance_takes_and_where_lines_are() {
    for smooth in [true, false] {
        let learned = Learned::by_probing(&mut ruler(1), &Probing { smooth, ..Probing::default() }, &mut |_| ());
        assert!(learned.len() < 4000, "{} points for two lines", learned.len());
        assert!(learned.effort.interpolated > 0.9, "{:?}", learned.effort);
        for distance in [-900_000, -5000, -2, 0, 2, 640, 77_776, 900_000i64] {
            let (time, wanted) = (learned.time(distance).unwrap().0, 2_000_000 + distance.unsigned_abs() * 1000);
            assert!(time.abs_diff(wanted) < wanted / 50 + 3000, "{distance}: {time}, not {wanted}");
        }
    }
}

/// A ruler that notes the least and the last block it was asked for.
struct NotedRuler(Ruler, (u64, u64));

impl Device for NotedRuler {
    fn caps(&self) -> Caps {
        self.0.caps()
    }

    fn now(&self) -> Time {
        self.0.now()
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        let (least, last) = self.1;
        self.1 = (least.min(command.at.start.0), last.max(command.at.end().0));
        self.0.issue(tag, command)
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        self.0.next(until)
    }
}

#[test]
fn probes_stay_in_the_part_they_are_to_learn_and_try_all_of_it() {
    let mut device = NotedRuler(ruler(1), (u64::MAX, 0));
    let how = Probing { within: (5000, 9000), ..Probing::default() };
    let learned = Learned::by_probing(&mut device, &how, &mut |_| ());
    let (least, last) = device.1;
    assert!((5000..5008).contains(&least) && (8992..=9000).contains(&last), "{least}..{last}");
    let reach = learned.distances().map(|known| known.distance).max();
    assert!(reach.is_some_and(|reach| (3900..4000).contains(&reach)), "{reach:?}: no farther than the part is long");
}

#[test]
fn a_distance_that_is_shown_has_all_its_samples_in_order() {
    let how = Probing { shown: Some(640), samples: 25, ..Probing::default() };
    let learned = Learned::by_probing(&mut ruler(1), &how, &mut |_| ());
    assert_eq!(learned.shown.len(), 25);
    assert!(learned.shown.is_sorted() && learned.shown[0] == learned.shown[24], "a ruler knows distance only");
    assert_eq!(learned.shown[0].0, 2_640_000);
    let none = Learned::by_probing(&mut ruler(1), &Probing::default(), &mut |_| ());
    assert!(none.shown.is_empty());
}

#[test]
fn a_stricter_check_of_lines_keeps_more_distances_and_lines_that_are_tried_are_true() {
    let learn = |points, error| {
        let check = Some(LineCheck { points, error });
        let how = Probing { check, smooth: false, lines_tried: 200, ..Probing::default() };
        Learned::by_probing(&mut Ruler { tooth: 50_000, ..ruler(1) }, &how, &mut |_| ())
    };
    let (loose, strict) = (learn(1, 0.5), learn(10, 0.001));
    assert!(loose.len() < strict.len(), "{} and {}", loose.len(), strict.len());
    assert!(strict.effort.line_error < 0.01, "{:?}", strict.effort);
    assert!(loose.effort.line_error > strict.effort.line_error, "{:?}", loose.effort);
}

#[test]
fn every_summary_is_one_of_the_times() {
    let times = [1.0, 2.0, 3.0, 10.0];
    let of = |summary: DistanceSummary| summary.of(&times);
    assert_eq!(of(DistanceSummary::Mean), 4.0);
    assert_eq!(of(DistanceSummary::Median), 2.5);
    assert_eq!((of(DistanceSummary::Minimum), of(DistanceSummary::Maximum)), (1.0, 10.0));
}

/// Feeds a Mimic what a device answers; the mean error of its last thousand expectations, as a share.
fn follow(mimic: &mut Mimic, device: &mut Ruler, requests: u64) -> f64 {
    let (mut error, mut counted) = (0.0, 0);
    let mut dice = requests;
    for i in 0..requests {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = Extent { start: Lbn((dice >> 44) & !7), blocks: 8 };
        let command = Command::new(Verb::Read, at, Place::Nowhere);
        let (head, key) = mimic.head(device.now());
        assert_eq!(key, mimic.arm().0);
        let expected = mimic.cost(&head, mimic.key(mimic.spot(at)), (), Direction::Read);
        let began = device.now();
        device.issue(Tag(0), command);
        mimic.note_issue(began, &command, at.start);
        let (end, ..) = device.next(Time::NEVER).unwrap();
        mimic.note_completion(end, &command, Outcome::Ok);
        if i + 1000 >= requests && expected < UNKNOWN {
            error += (expected as f64 / end.since(began).0 as f64 - 1.0).abs();
            counted += 1;
        }
    }
    error / f64::from(counted.max(1))
}

#[test]
fn what_changes_is_learned_anew() {
    let mut device = ruler(1);
    let learned = Learned::by_probing(&mut device, &Probing::default(), &mut |_| ());
    let mut mimic = Mimic::knowing(&learned, Learning::default());
    assert!(follow(&mut mimic, &mut device, 20_000) < 0.03);
    device.times = 2;
    assert!(follow(&mut mimic, &mut device, 1000) > 0.2, "nothing changed");
    assert!(follow(&mut mimic, &mut device, 20_000) < 0.05);
}

#[test]
fn what_is_kept_is_the_same_after_it_was_told() {
    let learned = Learned::by_probing(&mut ruler(1), &Probing::default(), &mut |_| ());
    let known: Vec<Known> = learned.distances().collect();
    let again = Learned::of(learned.blocks(), learned.grain(), known.iter().copied(), learned.effort);
    assert_eq!(again.distances().collect::<Vec<_>>(), known);
}

#[test]
fn what_is_kept_of_each_distance_is_counted_as_memory() {
    let bare = Learned::of(100_000, 2, std::iter::empty(), super::ProbeEffort::default());
    let mut full = bare.clone();
    full.spread = std::sync::Arc::new((0..100).map(|distance| (distance, Default::default())).collect());
    // A distance and sixteen times, of four bytes each.
    assert_eq!(full.bytes() - bare.bytes(), 100 * (4 + 16 * 4));
}

#[test]
fn what_was_learned_before_is_compared_and_knows_no_less_for_it() {
    let learned = Learned::by_probing(&mut ruler(1), &Probing::default(), &mut |_| ());
    let off_line = Learning { on: false, ..Learning::default() };
    let mut compared = Mimic::knowing(&learned, Learning { compare: true, ..off_line });
    let mut plain = Mimic::knowing(&learned, off_line);
    let (mut device, mut now) = (ruler(3), Time::ZERO);
    for i in 0..200u64 {
        let command = Command::new(Verb::Read, Extent { start: Lbn(i * 7919 % 100_000), blocks: 8 }, Place::Nowhere);
        compared.note_issue(now, &command, command.at.start);
        plain.note_issue(now, &command, command.at.start);
        for spot in [Lbn(3), Lbn(60_000)] {
            assert_eq!(
                compared.knows(spot, Direction::Read),
                plain.knows(spot, Direction::Read),
                "with a command under way"
            );
        }
        device.issue(Tag(0), command);
        (now, ..) = device.next(Time::NEVER).unwrap();
        compared.note_completion(now, &command, Outcome::Ok);
        plain.note_completion(now, &command, Outcome::Ok);
    }
    assert_eq!(compared.memory(), plain.memory(), "it learns nothing by it");
    assert_eq!(plain.demerit(), None);
    // Each takes three times as long as it was believed to: 4 ms and more off.
    let off = compared.demerit().unwrap();
    assert!(off.0 > 4_000_000, "{off:?}");
}
