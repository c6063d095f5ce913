//! Devices that are not what a profile hopes for.

use crate::profiled;
use block::{Caps, Command, Device, Outcome, Span, Tag, Time};
use drive::Drive;
use profile::Outcome as Found;

/// A device that answers in the same time wherever a block lies.
struct Ram {
    now: Time,
    flying: Option<(Time, Tag)>,
}

impl Device for Ram {
    fn caps(&self) -> Caps {
        Caps { blocks: 1 << 21, depth: 1, seek: false }
    }

    fn now(&self) -> Time {
        self.now
    }

    fn issue(&mut self, tag: Tag, command: Command) {
        // Not quite the same, but nothing turns.
        let some = command.at.start.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50;
        self.flying = Some((self.now + Span(60_000 + some), tag));
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        match self.flying.take() {
            Some((end, tag)) if end <= until => {
                self.now = end;
                Some((end, tag, Outcome::Ok))
            }
            flying => {
                self.flying = flying;
                self.now = self.now.max(until);
                None
            }
        }
    }
}

/// What befalls the commands of a device.
#[derive(Clone, Copy)]
enum Trouble {
    /// Blocks whose number leaves this rest of 997 cannot be read.
    Unreadable(u64),
    /// Every so many commands one is answered a second late.
    Stalls(u64),
    /// The host takes notice up to so many ns late.
    Jitter(u64),
    /// Commands after so many are lost.
    Dies(u64),
}

/// A device in trouble.
struct Troubled<D> {
    device: D,
    trouble: Trouble,
    commands: u64,
    fails: bool,
    late: Option<(Time, Tag, Outcome)>,
}

impl<D: Device> Troubled<D> {
    fn new(device: D, trouble: Trouble) -> Troubled<D> {
        Troubled { device, trouble, commands: 0, fails: false, late: None }
    }
}

impl<D: Device> Device for Troubled<D> {
    fn caps(&self) -> Caps {
        self.device.caps()
    }

    fn now(&self) -> Time {
        self.device.now()
    }

    fn issue(&mut self, tag: Tag, command: Command) {
        self.commands += 1;
        self.fails = matches!(self.trouble, Trouble::Unreadable(rest) if command.at.start.0 % 997 == rest);
        self.device.issue(tag, command);
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        if self.late.is_none() {
            let (end, tag, outcome) = self.device.next(until)?;
            let outcome = if self.fails { Outcome::Failed(5) } else { outcome };
            let late = match self.trouble {
                Trouble::Stalls(every) if self.commands.is_multiple_of(every) => 1_000_000_000,
                Trouble::Jitter(most) => (self.commands.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % most,
                Trouble::Dies(after) if self.commands > after => u64::MAX / 2,
                _ => 0,
            };
            self.late = Some((end + Span(late), tag, outcome));
        }
        let (end, tag, outcome) = self.late.take_if(|late| late.0 <= until).or_else(|| {
            let _ = self.device.next(until);
            None
        })?;
        let _ = self.device.next(end);
        Some((end, tag, outcome))
    }
}

fn base() -> sim::Bench<Drive> {
    let disk::Drive { sheet, truth } = disk::catalogue::find("mimic-base").expect("it is in the catalogue");
    sim::Bench::new(Drive::new(&sheet, &truth, 7))
}

#[test]
fn what_does_not_turn_is_said_not_to() {
    let mut ram = Ram { now: Time::ZERO, flying: None };
    let profile = profiled("ram", &mut ram).expect("it can be read");
    let Found::NoRotation([least, _, most]) = profile.outcome else { panic!("nothing turns") };
    assert!((0.05..0.07).contains(&least) && (0.06..0.09).contains(&most), "{least} to {most}");
    assert!(profile.time < Span::from_ms(10_000.0), "{:?}", profile.time);
}

#[test]
fn a_device_that_stalls_is_known_all_the_same() {
    let profile = profiled("stalls", &mut Troubled::new(base(), Trouble::Stalls(701))).expect("it answers");
    let Found::Disk(known) = &profile.outcome else { panic!("it turns") };
    assert!(profile.stalls > 0 && known.geometry.heads == 10, "{} heads", known.geometry.heads);
    assert!(known.validation.rms_on_time_ms < 0.01, "{}", known.validation.rms_on_time_ms);
}

#[test]
fn sectors_that_cannot_be_read_are_named_or_the_reason_to_stop() {
    match profiled("bad", &mut Troubled::new(base(), Trouble::Unreadable(5))) {
        Ok(profile) => assert!(!profile.unreadable.is_empty() && profile.unreadable.iter().all(|at| at % 997 == 5)),
        Err(error) => assert!(error.to_string().contains("cannot be read"), "{error}"),
    }
}

#[test]
fn a_device_that_dies_is_an_error_and_no_hang() {
    for after in [0, 10, 1000, 3000] {
        let error = profiled("dead", &mut Troubled::new(base(), Trouble::Dies(after))).expect_err("it is dead");
        assert!(error.to_string().contains("did not come back"), "{error}");
    }
}

#[test]
fn jitter_of_the_host_is_seen_through() {
    let profile = profiled("jitter", &mut Troubled::new(base(), Trouble::Jitter(4_000))).expect("it can be read");
    let Found::Disk(known) = &profile.outcome else { panic!("it turns") };
    assert_eq!((known.geometry.heads, known.geometry.map.regions.len()), (10, 1));
}
