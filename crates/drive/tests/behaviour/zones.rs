//! Zones that the host manages: laws of the write pointers, and a plain second account of them.

use crate::rig::{Dice, WRITE};
use block::errno::{EIO, EOPNOTSUPP};
use block::{Command, Discarded, Extent, Lbn, Outcome, Place, Span, Tag, Time, Verb};
use disk::{Model, catalogue};
use drive::Machine;
use drive::other::{ZoneCondition, ZoneRules, Zones};

/// Small zones, of which the first may be conventional.
fn small(conventional: u64, open_zones: u32) -> Zones {
    Zones::new(ZoneRules { zone: ZONE, zones: ALL, conventional, sector: 8, open_zones })
}

/// What the standard says of one zone, told from what was written to it.
#[derive(Clone, Default)]
struct PlainZone {
    written: u64,
    /// The number of the last write to it.
    last: u64,
}

/// Zones of 64 blocks, two of them conventional, of which three may be open.
const ZONE: u64 = 64;
const CONVENTIONAL: u64 = 2;
const MOST_OPEN: usize = 3;
const ALL: u64 = 9;

fn zone_of(block: u64) -> u64 {
    block / ZONE
}

/// Whether a write may be, and where its zone's pointer is.
fn may_write(plain: &[PlainZone], at: Extent) -> bool {
    let (from, to) = (zone_of(at.start.0), zone_of(at.end().0 - 1));
    let is_sequential = from >= CONVENTIONAL;
    let pointer = from * ZONE + plain[from as usize].written;
    match is_sequential {
        true => from == to && at.start.0 == pointer && at.blocks.is_multiple_of(8),
        false => to < CONVENTIONAL,
    }
}

fn draw_command(dice: &mut Dice, zones: &Zones) -> (Verb, Extent) {
    let zone = dice.below(ALL);
    let pointer = zones.report(Lbn(zone * ZONE)).expect("a zone").write_pointer.0;
    let blocks = [8, 16, 24, 64, 3][dice.below(5) as usize];
    let start = match dice.below(10) {
        0 => dice.below(ALL * ZONE - 130),
        _ => pointer.min(ALL * ZONE - 65),
    };
    match dice.below(8) {
        0 => (
            Verb::Discard(Discarded::Anything),
            Extent::new(zone * ZONE, 64 * (1 + dice.below(2.min(ALL - zone)) as u32)),
        ),
        1 => {
            (Verb::Discard(Discarded::Zeros), Extent::new((zone * ZONE + dice.below(2) * 8).min((ALL - 1) * ZONE), 64))
        }
        2 => (Verb::Read, Extent::new(start, blocks)),
        _ => (WRITE, Extent::new(start, blocks)),
    }
}

#[test]
fn write_pointers_keep_the_laws_and_what_fails_changes_nothing() {
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut zones = small(CONVENTIONAL, MOST_OPEN as u32);
        let mut plain = vec![PlainZone::default(); ALL as usize + 2];
        for step in 1..400 {
            let (verb, at) = draw_command(&mut dice, &zones);
            let before = zones.clone();
            let answer = zones.admit(verb, at);
            let place = format!("seed {seed}, step {step}: {verb:?} {at:?}");
            let whole = at.start.0 % ZONE == 0 && zone_of(at.start.0) >= CONVENTIONAL;
            let expected = match verb {
                Verb::Write { .. } if !may_write(&plain, at) => Err(EIO),
                Verb::Discard(Discarded::Zeros) if !whole => Err(EOPNOTSUPP),
                _ => Ok(()),
            };
            assert_eq!(answer, expected, "{place}");
            if answer.is_err() || verb == Verb::Read {
                assert!(zones == before, "{place}: it changed the zones");
                continue;
            }
            for zone in zone_of(at.start.0)..=zone_of(at.end().0 - 1) {
                match verb {
                    Verb::Discard(_) if !whole => {}
                    Verb::Discard(_) => plain[zone as usize] = PlainZone::default(),
                    _ if zone < CONVENTIONAL => {}
                    _ => {
                        plain[zone as usize].written += u64::from(at.blocks);
                        plain[zone as usize].last = step;
                    }
                }
            }
            compare(&zones, &plain, &place);
        }
    }
}

/// The report of each zone is what the plain account makes of it.
fn compare(zones: &Zones, plain: &[PlainZone], place: &str) {
    let mut open: Vec<u64> =
        (CONVENTIONAL..ALL).filter(|zone| (1..ZONE).contains(&plain[*zone as usize].written)).collect();
    // Open are those that were written to last: a zone once closed is only opened by a write.
    open.sort_by_key(|zone| std::cmp::Reverse(plain[*zone as usize].last));
    let mut counted = 0;
    for zone in 0..ALL {
        let report = zones.report(Lbn(zone * ZONE + 5)).expect("a zone");
        let written = plain[zone as usize].written;
        assert_eq!((report.start.0, report.blocks), (zone * ZONE, ZONE), "{place}");
        assert_eq!(report.write_pointer.0, zone * ZONE + written, "{place}: zone {zone}");
        let expected = match written {
            _ if zone < CONVENTIONAL => vec![ZoneCondition::Conventional],
            0 => vec![ZoneCondition::Empty],
            ZONE => vec![ZoneCondition::Full],
            // Of the last written so many may be open; fewer are where one of those was filled or reset since.
            _ if open.iter().position(|it| *it == zone) < Some(MOST_OPEN) => {
                vec![ZoneCondition::Open, ZoneCondition::Closed]
            }
            _ => vec![ZoneCondition::Closed],
        };
        assert!(expected.contains(&report.condition), "{place}: zone {zone} is {:?}", report.condition);
        counted += usize::from(report.condition == ZoneCondition::Open);
    }
    assert_eq!(counted, zones.count_open(), "{place}");
    assert!(counted <= MOST_OPEN, "{place}: {counted} are open");
    let last = open.first().map(|zone| zones.report(Lbn(zone * ZONE)).expect("a zone").condition);
    // What was written to last is open, unless it was closed to make room, which its write would have prevented.
    assert!(last.is_none_or(|it| it == ZoneCondition::Open || it == ZoneCondition::Closed), "{place}");
}

#[test]
fn a_write_opens_its_zone_and_closes_the_one_not_written_to_for_longest() {
    let mut zones = small(0, 2);
    let condition = |zones: &Zones, zone: u64| zones.report(Lbn(zone * ZONE)).expect("a zone").condition;
    for (zone, at) in [(0, 0), (1, 0), (0, 8), (2, 0)] {
        zones.admit(WRITE, Extent::new(zone * ZONE + at, 8)).expect("at its pointer");
    }
    use ZoneCondition::{Closed, Empty, Full, Open};
    assert_eq!([0, 1, 2, 3].map(|zone| condition(&zones, zone)), [Open, Closed, Open, Empty]);
    // A closed one goes on where it was.
    zones.admit(WRITE, Extent::new(ZONE + 8, 56)).expect("at its pointer");
    assert_eq!([0, 1, 2].map(|zone| condition(&zones, zone)), [Open, Full, Open]);
    zones.admit(Verb::Discard(Discarded::Anything), Extent::new(0, 2 * ZONE as u32)).expect("whole zones");
    assert_eq!(([0, 1].map(|zone| condition(&zones, zone)), zones.count_open()), ([Empty, Empty], 1));
}

/// What a command takes that comes when the last has ended, and how it comes back.
fn ask(machine: &mut dyn Machine, now: &mut Time, verb: Verb, start: u64, blocks: u32) -> (Span, Outcome) {
    let began = *now;
    machine.issue(began, Tag(0), Command::new(verb, Extent::new(start, blocks), Place::Nowhere));
    let (end, _, outcome, parts) = machine.finish().expect("it tells at once");
    assert_eq!(parts.total(), end.since(began));
    *now = end;
    (end.since(began), outcome)
}

#[test]
fn zones_are_written_as_fast_as_the_disk_streams_and_unaligned_writes_fail_soon() {
    let Model::Other(other) = catalogue::model("ultrastar-hc620").unwrap() else { panic!("a disk") };
    let mut machine = drive::other::machine(&other.quiet(), 1);
    let (mut now, zone) = (Time::ZERO, 524_288);
    let first = 522 * zone;
    let (_, outcome) = ask(&mut *machine, &mut now, WRITE, first + 8, 8);
    assert_eq!(outcome, Outcome::Failed(EIO));
    assert!(now > Time::ZERO && now < Time(1_000_000), "what fails takes a command's time: {now:?}");
    let began = now;
    for i in 0..256 {
        assert_eq!(ask(&mut *machine, &mut now, WRITE, first + i * 2048, 2048).1, Outcome::Ok);
    }
    assert_eq!(ask(&mut *machine, &mut now, Verb::Flush, 0, 0).1, Outcome::Ok);
    let mb_s = 268.4 / now.since(began).as_secs();
    assert!((200.0..300.0).contains(&mb_s), "{mb_s:.0} MB/s");
    assert_eq!(ask(&mut *machine, &mut now, WRITE, first, 8).1, Outcome::Failed(EIO), "it is full");
    let reset = Verb::Discard(Discarded::Anything);
    assert_eq!(ask(&mut *machine, &mut now, reset, first, zone as u32).1, Outcome::Ok);
    assert_eq!(ask(&mut *machine, &mut now, WRITE, first, 8).1, Outcome::Ok);
    assert_eq!(ask(&mut *machine, &mut now, WRITE, 12_345, 1).1, Outcome::Ok, "a conventional zone takes it anywhere");
    assert_eq!(ask(&mut *machine, &mut now, Verb::Read, first + 4096, 8).1, Outcome::Ok, "beyond the pointer");
}
