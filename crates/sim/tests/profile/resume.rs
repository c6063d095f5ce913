//! A profile that was stopped and goes on from its journal comes to what one comes to that was not.

use block::{BadInput, Caps, Command, Device, Outcome, Span, Tag, Time};
use drive::Drive;
use profile::journal::{Journal, JournaledDevice, Past};
use profile::{ProfileOptions, ProfileOutcome, Scratch, Thoroughness};
use std::cell::RefCell;

/// A device that is lost after so many commands, and found again.
struct Lost {
    device: sim::Bench<Drive>,
    left: u64,
    /// Whether it was given a command that will not come back.
    asked: bool,
}

impl Device for Lost {
    fn caps(&self) -> Caps {
        self.device.caps()
    }

    fn now(&self) -> Time {
        self.device.now()
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        self.asked = self.left == 0;
        if self.left > 0 {
            self.device.issue(tag, command);
        }
        self.now()
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        if self.left == 0 {
            // A pause is one all the same.
            if !self.asked {
                let _ = self.device.next(until);
            }
            return None;
        }
        let answer = self.device.next(until);
        self.left -= u64::from(answer.is_some());
        answer
    }
}

fn options() -> ProfileOptions {
    let scratch = Some(Scratch { first: 1 << 20, blocks: 1 << 12 });
    ProfileOptions { name: "it".into(), seed: 3, effort: Thoroughness::Quick, scratch }
}

fn device() -> sim::Bench<Drive> {
    let disk::Drive { sheet, truth } = disk::catalogue::find("mimic-base").expect("it is in the catalogue");
    sim::Bench::new(Drive::new(&sheet, &truth, 7))
}

/// Profiles on from a journal: the drive file, or the error, and the journal then.
fn on(device: &mut impl Device, journal: Journal, past: Past) -> (Result<String, BadInput>, Journal) {
    let mut keep = |_: &Journal| {};
    let mut recorder = JournaledDevice::new(device, journal, past, &mut keep);
    let found = profile::profile(&mut recorder, &options(), &mut ());
    let (journal, fault) = recorder.end();
    let found = match fault {
        Some(fault) => Err(fault),
        None => found.map(|profile| match &profile.outcome {
            ProfileOutcome::Disk(known) => disk::write(&known.plan("it", profile.blocks)),
            other => panic!("it is a disk: {other:?}"),
        }),
    };
    (found, journal)
}

fn new() -> Journal {
    Journal::new("it.partial", "a test")
}

fn kept(journal: &Journal) -> Journal {
    Journal::parse("it.partial", "a test", &journal.bytes()).expect("it is whole")
}

#[test]
fn a_profile_stopped_at_random_goes_on_to_the_same_drive() {
    let (whole, _) = on(&mut device(), new(), Past::Again);
    let whole = whole.expect("it can be read");
    let mut state = 12345u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    for past in [Past::Again, Past::Over] {
        let mut left: Vec<u64> = (0..3).map(|_| draw() % 2500).collect();
        left.push(u64::MAX);
        let mut device = Lost { device: self::device(), left: 0, asked: false };
        let mut journal = new();
        for left in left {
            if past == Past::Again {
                device.device = self::device();
            }
            // What is lived through again counts as well.
            (device.left, device.asked) = (left, false);
            let (found, after) = on(&mut device, kept(&journal), past);
            journal = after;
            match found {
                Ok(found) => assert!(found == whole, "{past:?}, stopped by seed 12345: another drive"),
                Err(error) => {
                    assert!(left < u64::MAX && error.to_string().contains("did not come back"), "{error}");
                }
            }
        }
    }
}

#[test]
fn a_journal_of_another_device_or_question_is_refused() {
    let mut stopped = Lost { device: device(), left: 500, asked: false };
    let (_, journal) = on(&mut stopped, new(), Past::Again);
    let disk::Drive { sheet, truth } = disk::catalogue::find("mimic-2").expect("it is in the catalogue");
    let (found, _) = on(&mut sim::Bench::new(Drive::new(&sheet, &truth, 7)), kept(&journal), Past::Again);
    let error = found.expect_err("it is another drive").to_string();
    assert!(error.contains("does not answer as when the journal was kept") && error.contains("mend"), "{error}");
    let mut keep = |_: &Journal| {};
    let mut refused = |device: &mut sim::Bench<Drive>| {
        let mut recorder = JournaledDevice::new(device, kept(&journal), Past::Over, &mut keep);
        let asked = ProfileOptions { seed: 4, ..options() };
        assert!(profile::profile(&mut recorder, &asked, &mut ()).is_err());
        recorder.end().1.expect("it is refused").to_string()
    };
    let error = refused(&mut stopped.device);
    assert!(error.contains("does not fit what is asked"), "{error}");
    let error = refused(&mut device());
    assert!(error.contains("clock has begun anew"), "{error}");
    let error = Journal::parse("it.partial", "another test", &journal.bytes()).expect_err("it is not its journal");
    assert!(error.to_string().contains("of another profile: a test"), "{error}");
}

#[test]
fn a_damaged_journal_is_an_error_and_no_panic() {
    let mut stopped = Lost { device: device(), left: 40, asked: false };
    let (_, journal) = on(&mut stopped, new(), Past::Again);
    let bytes = journal.bytes();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        let error = Journal::parse("it.partial", "a test", &damaged).expect_err("a bit is wrong").to_string();
        assert!(error.contains("damaged") || error.contains("no journal"), "{error}");
        assert!(Journal::parse("it.partial", "a test", &bytes[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn entries_that_are_none_behind_a_right_checksum_are_an_error_and_no_panic() {
    let sum = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0xCBF2_9CE4_8422_2325, |sum: u64, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
    };
    let mut state = 99u64;
    for trial in 0..200 {
        let mut bytes = new().bytes();
        bytes.truncate(bytes.len() - 8);
        for _ in 0..1 + trial % 40 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            bytes.push((state >> 56) as u8);
        }
        bytes.extend(sum(&bytes).to_le_bytes());
        let journal = Journal::parse("it.partial", "a test", &bytes).expect("the checksum fits");
        for past in [Past::Again, Past::Over] {
            let mut device = Lost { device: device(), left: 100, asked: false };
            assert!(on(&mut device, journal.clone(), past).0.is_err(), "seed 99, trial {trial}");
        }
    }
}

/// A device behind a host that takes its time: whenever it looks at the clock, some has passed.
struct Dawdling {
    device: RefCell<sim::Bench<Drive>>,
    flying: bool,
}

impl Device for Dawdling {
    fn caps(&self) -> Caps {
        self.device.borrow().caps()
    }

    fn now(&self) -> Time {
        let mut device = self.device.borrow_mut();
        if !self.flying {
            let until = device.now() + Span(15_000);
            let _ = device.next(until);
        }
        device.now()
    }

    fn issue(&mut self, tag: Tag, command: Command) -> Time {
        let _ = self.now();
        self.flying = true;
        self.device.get_mut().issue(tag, command)
    }

    fn next(&mut self, until: Time) -> Option<(Time, Tag, Outcome)> {
        let answer = self.device.get_mut().next(until);
        self.flying &= answer.is_none();
        answer
    }
}

#[test]
fn a_host_that_takes_its_time_between_looking_and_asking_learns_the_same_recorded_or_not() {
    let learned = |recorded: bool| {
        let mut device = Dawdling { device: RefCell::new(device()), flying: false };
        let mut keep = |_: &Journal| {};
        let found = match recorded {
            true => profile::profile(
                &mut JournaledDevice::new(&mut device, new(), Past::Over, &mut keep),
                &options(),
                &mut (),
            ),
            false => profile::profile(&mut device, &options(), &mut ()),
        };
        match found.expect("it can be read").outcome {
            ProfileOutcome::Disk(known) => known,
            other => panic!("it is a disk: {other:?}"),
        }
    };
    for recorded in [false, true] {
        let known = learned(recorded);
        let found = &known.validation;
        assert!(found.rms_on_time_ms < 1e-3 && found.late < 0.1, "{recorded}: {found:?}");
    }
}
