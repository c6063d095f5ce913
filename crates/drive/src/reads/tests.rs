//! What reading ahead may overwrite, and how far behind that it stays.

use super::*;
use block::{Command, Place, Tag, Verb};
use disk::{Ahead, Sheet, Truth, catalogue};

/// A drive with segments of so many blocks, behind a bus far slower than the medium, which reads ahead as far as a segment reaches.
fn drive(segment: u32, overtakes: bool) -> Drive {
    let mut sheet = catalogue::find("st318437lw").expect("it is in the catalogue").sheet;
    sheet.bus.mb_s = Some(1.0);
    let (segments, read_ahead, ahead) = (3, segment, Ahead::Most);
    sheet.cache = disk::Cache { segments, segment, read_ahead, ahead, overtakes, ..sheet.cache };
    Drive::new(&Sheet { ..sheet }, &Truth::default(), 1)
}

/// What a drive is at: blocks on their way to the host since a time, each as long.
struct OnItsWay {
    at: Extent,
    /// The segment they go from.
    segment: Lookup,
    since: Time,
    end: Time,
}

/// A read that has just been given to a drive, and when its data go over the bus: last, but for its completion.
fn give(drive: &mut Drive, now: Time, at: Extent) -> OnItsWay {
    drive.issue(now, Tag(0), Command::new(Verb::Read, at, Place::Nowhere));
    let end = Time(drive.next().expect("it ends").0 - drive.overheads.done.read.0);
    OnItsWay {
        at,
        segment: drive.segments.look(at),
        since: Time(end.0.saturating_sub(drive.bus_time(at.blocks).0)),
        end,
    }
}

impl OnItsWay {
    /// The first block that has not gone by then.
    fn first_left(&self, drive: &Drive, now: Time) -> Lbn {
        let gone = now.since(self.since).0 / drive.bus_time(1).0.max(1);
        Lbn(self.at.start.0 + gone.min(u64::from(self.at.blocks)))
    }
}

/// Reads one behind the other, now and then elsewhere; what `look` sees of the drive while the data of each go to the host.
fn watch(segment: u32, overtakes: bool, mut look: impl FnMut(&Drive, &OnItsWay, Time)) {
    let mut drive = drive(segment, overtakes);
    let (mut now, mut next, mut state) = (Time::ZERO, 100_000, 5u64);
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..400 {
        if draw(6) == 0 {
            next = draw(1_000_000);
        }
        let at = Extent::new(next, 1 + draw(segment.into()) as u32);
        next = at.end().0 - if draw(4) == 0 { draw(at.blocks.into()) } else { 0 };
        let given = give(&mut drive, now, at);
        let mut times: Vec<u64> =
            (0..12).map(|_| given.since.0 + draw(given.end.since(given.since).0.max(1))).collect();
        times.sort_unstable();
        // Before its data go it may still be on its way from the medium.
        for time in times.into_iter().map(Time).filter(|time| *time > now) {
            drive.advance(time);
            look(&drive, &given, time);
        }
        now = drive.finish().expect("it ends").0 + Span(if draw(3) == 0 { draw(30_000_000) } else { 0 });
        drive.advance(now);
    }
}

/// The segment that data go from, from where to where, while a read-ahead fills it.
fn filled(drive: &Drive, given: &OnItsWay) -> Option<(Lbn, Lbn)> {
    let segment = drive.read_ahead.as_ref()?.segment;
    (given.segment == Lookup::Hit(segment)).then(|| (drive.segments.start_of(segment), drive.segments.end_of(segment)))
}

#[test]
fn what_is_still_to_be_sent_is_not_overwritten_where_the_drive_takes_care() {
    for (segment, overtakes) in [16, 100, 400].into_iter().flat_map(|segment| [(segment, false), (segment, true)]) {
        let (mut seen, mut overwritten) = (0, 0);
        watch(segment, overtakes, |drive, given, now| {
            if let Some((start, _)) = filled(drive, given) {
                seen += 1;
                overwritten += u32::from(start > given.first_left(drive, now));
            }
        });
        println!("segments of {segment}: {overwritten} of {seen} overwritten");
        assert!(seen > 200, "{seen}");
        assert_eq!(overwritten > 0, overtakes, "{overwritten} of {seen} in segments of {segment}");
    }
}

#[test]
fn reading_ahead_takes_the_room_of_what_was_sent_within_two_turns() {
    for segment in [16, 100, 400] {
        let mut seen = 0;
        watch(segment, false, |drive, given, now| {
            let Some(((_, end), ahead)) = filled(drive, given).zip(drive.read_ahead) else { return };
            // In the room of what has just gone blocks pass within a turn, once the arm is there.
            let before = Time(now.0.saturating_sub(2 * drive.mechanics.rotation.period().0));
            if ahead.sent.is_none_or(|sent| sent.from != sent.until) && before > given.since {
                seen += 1;
                let least = Lbn(given.first_left(drive, before).0 + u64::from(segment)).min(ahead.limit);
                assert!(end >= least, "{end:?} at {now:?} of {least:?}, segments of {segment}");
            }
        });
        assert!(segment < 100 || seen > 100, "{seen} in segments of {segment}");
    }
}

#[test]
fn a_read_begins_in_the_segment_that_holds_its_first_block() {
    let mut drive = drive(100, true);
    let segment = drive.segments.fill(Lbn(1000), Lbn(1060));
    for start in 990..1070 {
        for blocks in [1, 5, 200] {
            let at = Extent::new(start, blocks);
            let holds = drive.segments.look(Extent { blocks: 1, ..at }) == Lookup::Hit(segment);
            assert_eq!(drive.begins_in(segment, at), holds, "{at:?}");
        }
    }
}
