//! Devices that are not what a profile hopes for.

use crate::profiled;
use block::{Caps, Command, Device, Outcome, Span, Tag, Time};
use drive::Drive;
use profile::{ProfileOptions, ProfileOutcome, Scratch, Thoroughness};

/// A device that answers in the same time wherever a block lies.
struct Ram {
    now: Time,
    flying: Option<(Time, Tag)>,
}

impl Device for Ram {
    fn caps(&self) -> Caps {
        Caps { blocks: 1 << 21, depth: 1, seek: block::SeekBy::Nothing, arms: 1 }
    }

    fn now(&self) -> Time {
        self.now
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        // Not quite the same, but nothing turns.
        let some = command.at.start.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 50;
        self.flying = Some((self.now + Span(60_000 + some), tag));
        self.now
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
    /// Blocks whose number leaves this rest of 499 cannot be read.
    Unreadable(u64),
    /// Every so many commands one is answered a second late.
    Stalls(u64),
    /// The host takes notice up to so many ns late.
    Jitter(u64),
    /// Commands after so many are lost.
    Dies(u64),
    /// Blocks whose number leaves a rest of 97 below this cannot be written.
    Unwritable(u64),
    /// A host with other work: replies late by an exponential of this mean, ns; one in 4,999 by a second more; one command
    /// in 2,999 fails.
    Busy(f64),
}

/// A device in trouble.
pub struct Troubled<D> {
    device: D,
    trouble: Trouble,
    commands: u64,
    fails: bool,
    late: Option<(Time, Tag, Outcome)>,
}

impl<D: Device> Troubled<D> {
    /// A device behind a host with other work.
    pub fn busy(device: D, mean_ns: f64) -> Troubled<D> {
        Troubled::new(device, Trouble::Busy(mean_ns))
    }

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

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        self.commands += 1;
        let at = command.at.start.0;
        self.fails = match self.trouble {
            Trouble::Unreadable(rest) => at % 499 == rest,
            Trouble::Busy(_) => self.commands.is_multiple_of(2_999),
            Trouble::Unwritable(rest) => command.verb.writes() && at % 97 < rest,
            _ => false,
        };
        self.device.issue(tag, command)
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        if self.late.is_none() {
            let (end, tag, outcome) = self.device.next(until)?;
            let outcome = if self.fails { Outcome::Failed(5) } else { outcome };
            let late = match self.trouble {
                Trouble::Stalls(every) if self.commands.is_multiple_of(every) => 1_000_000_000,
                Trouble::Jitter(most) => (self.commands.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % most,
                Trouble::Dies(after) if self.commands > after => u64::MAX / 2,
                Trouble::Busy(mean) => {
                    let bits = self.commands.wrapping_add(77).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    let bits = (bits ^ (bits >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                    let unit = ((bits ^ (bits >> 32)) >> 11) as f64 / 9_007_199_254_740_992.0;
                    let stall = if self.commands.is_multiple_of(4_999) { 1_000_000_000 } else { 0 };
                    (-mean * (1.0 - unit).ln()) as u64 + stall
                }
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
    let ProfileOutcome::NoRotation([least, _, most]) = profile.outcome else { panic!("nothing turns") };
    assert!((0.05..0.07).contains(&least) && (0.06..0.09).contains(&most), "{least} to {most}");
    assert!(profile.time < Span::from_ms(10_000.0), "{:?}", profile.time);
}

#[test]
fn a_device_that_stalls_is_known_all_the_same() {
    let profile = profiled("stalls", &mut Troubled::new(base(), Trouble::Stalls(701))).expect("it answers");
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("it turns") };
    assert!(profile.stalls > 0 && known.geometry.heads == 10, "{} heads", known.geometry.heads);
    assert!(known.validation.rms_on_time_ms < 0.01, "{}", known.validation.rms_on_time_ms);
}

#[test]
fn sectors_that_cannot_be_read_are_named_or_the_reason_to_stop() {
    match profiled("bad", &mut Troubled::new(base(), Trouble::Unreadable(5))) {
        Ok(profile) => assert!(!profile.unreadable.is_empty() && profile.unreadable.iter().all(|at| at % 499 == 5)),
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
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("it turns") };
    assert_eq!((known.geometry.heads, known.geometry.map.regions.len()), (10, 1));
}

/// Of a few tracks that were seen behind such a host, heads and seeks were looked for by the hour.
#[test]
fn behind_a_busy_host_a_short_profile_ends_in_minutes() {
    for (name, mean_ns, unmapped) in
        [("atlas10k", 10_000.0, false), ("atlas10k", 300_000.0, true), ("wd400bb", 300_000.0, true)]
    {
        let disk::Drive { sheet, truth } = disk::catalogue::find(name).expect("it is in the catalogue");
        let mut device = Troubled::busy(sim::Bench::new(Drive::new(&sheet, &truth, 7)), mean_ns);
        let found = crate::profiled_with(name, Thoroughness::Quick, &mut device).expect("it answers");
        let minutes = found.time.as_secs() / 60.0;
        assert!(minutes < 8.1, "{name}, {mean_ns} ns: {minutes:.1} min");
        assert_eq!(matches!(found.outcome, ProfileOutcome::Unmapped(..)), unmapped, "{name}, {mean_ns} ns");
        let file = found.file(name);
        assert_eq!(file.is_err_and(|why| why.contains(" % of it was mapped")), unmapped, "{name}, {mean_ns} ns");
    }
}

/// Profiles with a scratch of 1 MiB in the middle.
fn scratched(device: &mut impl Device) -> Result<profile::DriveProfile, block::BadInput> {
    let scratch = Some(Scratch { first: 1 << 20, blocks: 1 << 11 });
    let options = ProfileOptions { name: "it".into(), seed: 1, effort: Thoroughness::Quick, scratch };
    profile::profile(device, &options, &mut ())
}

#[test]
fn writes_that_fail_are_named_and_the_others_tell() {
    let profile = scratched(&mut Troubled::new(base(), Trouble::Unwritable(5))).expect("most can be written");
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("it turns") };
    assert!(
        !profile.unwritable.is_empty() && profile.unwritable.iter().all(|at| at % 97 < 5),
        "{:?}",
        profile.unwritable
    );
    let (writes, _, _) = known.writes.as_ref().expect("some was written");
    assert!(writes.settle < 0.05 && writes.overhead.is_some(), "{writes:?}");
}

#[test]
fn a_device_that_cannot_be_written_says_so() {
    let profile = scratched(&mut Troubled::new(base(), Trouble::Unwritable(97))).expect("it can be read");
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("it turns") };
    assert!(profile.unwritable.len() as u64 == profile.writes && profile.writes > 0, "{}", profile.writes);
    let notes = known.assumed_of_writes().join("\n");
    assert!(notes.contains("no write came back"), "{notes}");
}

#[test]
fn a_device_that_stalls_is_written_all_the_same() {
    let profile = scratched(&mut Troubled::new(base(), Trouble::Stalls(401))).expect("it answers");
    let ProfileOutcome::Disk(known) = &profile.outcome else { panic!("it turns") };
    let (writes, buffer, _) = known.writes.as_ref().expect("it was written");
    assert!(profile.stalls > 0 && writes.settle < 0.05 && buffer.blocks == 0, "{writes:?} {buffer:?}");
}

#[test]
fn what_does_not_turn_is_not_written() {
    let mut ram = Ram { now: Time::ZERO, flying: None };
    let profile = scratched(&mut ram).expect("it can be read");
    assert!(matches!(profile.outcome, ProfileOutcome::NoRotation(_)) && profile.writes == 0);
}

#[test]
fn a_device_that_dies_while_it_is_written_is_an_error_and_no_hang() {
    let commands = scratched(&mut base()).expect("it can be written").commands;
    for after in [commands * 9 / 10, commands - 700] {
        let error = scratched(&mut Troubled::new(base(), Trouble::Dies(after))).expect_err("it is dead");
        assert!(error.to_string().contains("did not come back"), "{error}");
    }
}
