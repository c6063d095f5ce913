//! Drive-managed shingles: what Skylight saw of them.

use crate::rig::{Dice, WRITE};
use block::{Command, Extent, Outcome, Place, Span, Tag, Time, Verb};
use disk::other::{Kind, Smr};
use disk::{Model, Other, catalogue};
use drive::Machine;

/// The catalogue's, with a media cache that is soon full.
fn small(extents: u32) -> Other {
    let Model::Other(other) = catalogue::model("archive-8tb").unwrap() else { panic!("a disk") };
    let Kind::Smr(smr) = &other.kind else { panic!("not shingled") };
    let smr = Smr { extents, ..(**smr).clone() };
    Other { kind: Kind::Smr(Box::new(smr)), ..*other }.quiet()
}

struct Host {
    machine: Box<dyn Machine>,
    now: Time,
}

impl Host {
    fn new(other: &Other) -> Host {
        Host { machine: drive::other::machine(other, 1), now: Time::ZERO }
    }

    /// What a command takes that comes when the last one has ended.
    fn ask(&mut self, verb: Verb, start: u64, blocks: u32) -> Span {
        let began = self.now;
        self.machine.issue(began, Tag(0), Command::new(verb, Extent::new(start, blocks), Place::Nowhere));
        let (end, _, outcome, parts) = self.machine.finish().expect("it tells at once");
        assert_eq!((outcome, parts.total()), (Outcome::Ok, end.since(began)));
        self.now = end;
        end.since(began)
    }

    /// Writes a second of so many random ones of 4 KiB.
    fn writes_s(&mut self, dice: &mut Dice, count: u32) -> f64 {
        let began = self.now;
        for _ in 0..count {
            let place = dice.below(self.machine.caps().blocks / 8) * 8;
            self.ask(WRITE, place, 8);
        }
        f64::from(count) / self.now.since(began).as_secs()
    }

    /// MB/s of 100 MiB from a block on.
    fn stream_mb_s(&mut self, verb: Verb, start: u64) -> f64 {
        let began = self.now;
        for i in 0..100 {
            self.ask(verb, start + i * 2048, 2048);
        }
        104.8576 / self.now.since(began).as_secs()
    }
}

#[test]
fn random_writes_fall_off_a_cliff_when_the_cache_is_full_and_recover_when_idle() {
    let mut host = Host::new(&small(2000));
    let mut dice = Dice(5);
    let first = host.writes_s(&mut dice, 1900);
    host.writes_s(&mut dice, 110);
    let full = host.writes_s(&mut dice, 100);
    // Each band takes a good half of a second, and there is one for nearly each of the extents.
    host.now += Span(600_000_000_000);
    host.writes_s(&mut dice, 1);
    let some = host.writes_s(&mut dice, 300);
    host.writes_s(&mut dice, 1000);
    let again = host.writes_s(&mut dice, 50);
    host.now += Span(3_600_000_000_000);
    host.writes_s(&mut dice, 1);
    let recovered = host.writes_s(&mut dice, 1900);
    println!(
        "{first:.0}/s, full {full:.1}/s, after 10 min {some:.0}/s, full {again:.1}/s, after an hour {recovered:.0}/s"
    );
    assert!((500.0..560.0).contains(&first) && (some / first - 1.0).abs() < 0.05, "{first} and {some}");
    assert!((0.5..5.0).contains(&full) && (0.5..5.0).contains(&again), "{full} and {again}");
    assert!((recovered / first - 1.0).abs() < 0.05, "{recovered}");
}

#[test]
fn a_short_pause_cleans_nothing_and_a_band_under_cleaning_is_waited_for() {
    let mut host = Host::new(&small(2000));
    host.ask(WRITE, 80_000_000, 8);
    host.now += Span(900_000_000);
    let quick = host.ask(WRITE, 4_000_000_000, 8);
    assert!(quick < Span(3_000_000), "{quick:?}");
    host.now += Span(1_100_000_000);
    let waits = host.ask(Verb::Read, 10_000_000_000, 8);
    assert!(waits > Span(150_000_000), "{waits:?}");
}

#[test]
fn streams_pass_the_cache_by_and_what_is_in_it_is_read_from_there() {
    let mut host = Host::new(&small(2000));
    let place = 16 * 61_440;
    let stream = host.stream_mb_s(WRITE, place);
    assert!(stream > 120.0, "{stream} MB/s");
    host.now += Span(60_000_000_000);
    let whole = host.stream_mb_s(Verb::Read, place);
    let mut dice = Dice(9);
    for _ in 0..200 {
        host.ask(WRITE, place + dice.below(204_800 / 8) * 8, 8);
        // Something between them in the log, or one look into it would read them all.
        host.ask(WRITE, dice.below(10_000) * 1_000_000, 4096);
    }
    let torn = host.stream_mb_s(Verb::Read, place);
    host.now += Span(1_200_000_000_000);
    let mended = host.stream_mb_s(Verb::Read, place);
    println!(
        "written at {stream:.0} MB/s, read at {whole:.0}, {torn:.0} with 200 pieces in the cache, {mended:.0} when cleaned"
    );
    assert!(torn < whole / 4.0 && (mended / whole - 1.0).abs() < 0.05, "{whole}, {torn}, {mended} MB/s");
}

#[test]
fn a_stream_that_ends_in_a_band_has_it_rewritten_before_the_next_write() {
    let mut host = Host::new(&small(2000));
    // Two thirds into the second band it writes.
    let band = 61_440;
    for i in 0..50 {
        host.ask(WRITE, 100 * band - 2048 + i * 2048, 2048);
    }
    let next = host.ask(WRITE, 9_000_000_000, 8);
    assert!(next > Span(300_000_000), "{next:?}");
    let after = host.ask(WRITE, 12_000_000_000, 8);
    assert!(after < Span(5_000_000), "{after:?}");
}
