//! Whether a device orders the commands in it, and what is left of the overhead of one that waited there.

use crate::drive;
use block::{Caps, Command, Device, Outcome, Span, Tag, Time};
use drive::Drive;
use profile::{DriveKnowledge, ProfileOptions, ProfileOutcome, Thoroughness};
use std::collections::VecDeque;

/// A device that takes several commands and serves them in the order they came.
struct InOrder {
    device: sim::Bench<Drive>,
    waiting: VecDeque<(Tag, Command)>,
}

impl Device for InOrder {
    fn caps(&self) -> Caps {
        Caps { depth: 16, ..self.device.caps() }
    }

    fn now(&self) -> Time {
        self.device.now()
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        if self.waiting.is_empty() {
            self.device.issue(tag, command);
        }
        self.waiting.push_back((tag, command));
        self.now()
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        let done = self.device.next(until)?;
        self.waiting.pop_front();
        if let Some((tag, command)) = self.waiting.front() {
            self.device.issue(*tag, *command);
        }
        Some(done)
    }
}

fn known(device: &mut impl Device) -> (DriveKnowledge, u16) {
    known_by(Thoroughness::Quick, device)
}

fn known_by(effort: Thoroughness, device: &mut impl Device) -> (DriveKnowledge, u16) {
    let options = ProfileOptions { name: "it".into(), seed: 1, effort, scratch: None };
    let profile = profile::profile(device, &options, &mut ()).expect("it can be read");
    let ProfileOutcome::Disk(known) = profile.outcome else { panic!("it turns") };
    let depth = known.plan("it", profile.blocks).queue.depth;
    (*known, depth)
}

#[test]
fn a_queue_that_orders_by_position_is_told_from_one_that_does_not() {
    let disk::Drive { mut sheet, truth } = drive("mimic-base");
    let (one, depth) = known(&mut sim::Bench::new(Drive::new(&sheet, &truth, 7)));
    assert_eq!((one.queue.overtaken, depth), (0.0, 1));
    let device = sim::Bench::new(Drive::new(&sheet, &truth, 7));
    let (in_order, depth) = known(&mut InOrder { device, waiting: VecDeque::new() });
    assert!(in_order.queue.depth == 16 && !in_order.queue.reorders() && depth == 1, "{:?}", in_order.queue);
    sheet.queue.depth = 16;
    let (orders, depth) = known(&mut sim::Bench::new(Drive::new(&sheet, &truth, 7)));
    assert!(orders.queue.reorders() && orders.queue.soonest > 0.9 && depth == 16, "{:?}", orders.queue);
}

#[test]
fn what_is_left_of_the_overhead_of_a_read_that_waited_is_learned() {
    let disk::Drive { mut sheet, truth } = drive("mimic-base");
    sheet.queue.depth = 16;
    // Without one of its own the overhead of what waits has passed meanwhile.
    for (queued, left_ms) in [(Some(0.03), 0.03), (Some(0.06), 0.06), (None, 0.0)] {
        sheet.overheads.queued = queued.map(Span::from_ms);
        let mut device = sim::Bench::new(Drive::new(&sheet, &truth, 7));
        let (it, _) = known_by(Thoroughness::Thorough, &mut device);
        let plan = it.plan("it", device.caps().blocks);
        let learned = plan.overheads.queued.expect("it was measured").as_ms();
        println!("{learned:.4} of {left_ms}, {:.4} by itself", plan.overheads.read.read.as_ms());
        assert!((learned - left_ms).abs() < 0.02, "{learned} of {left_ms}");
    }
    let (in_less_time, _) = known(&mut sim::Bench::new(Drive::new(&sheet, &truth, 7)));
    assert_eq!(in_less_time.queue.overhead, None);
    sheet.queue = disk::Queue::default();
    let (single, _) = known_by(Thoroughness::Thorough, &mut sim::Bench::new(Drive::new(&sheet, &truth, 7)));
    assert_eq!(single.queue.overhead, None);
}
