//! What a drive's controller does by habit: in which order it serves its queue, when it lets go of arm and bus, how it
//! takes in writes. A drive of the catalogue is given one habit after the other.

use crate::rig::{FUA, Rig, WRITE};
use block::{Command, Extent, Place, Span, Tag, Time, Verb};
use disk::{After, FreesAt, Overheads, Sheet, Truth, Turn, catalogue};
use drive::Drive;

/// The Atlas 10K with a queue of 16 and a bus of 5 MB/s, changed.
fn drive(change: impl FnOnce(&mut Sheet)) -> Drive {
    let mut sheet = catalogue::find("atlas10k").unwrap().sheet;
    (sheet.queue.depth, sheet.queue.age_limit) = (16, disk::Queue::AGELESS);
    (sheet.bus.mb_s, sheet.cache.segments, sheet.cache.write_buffer) = (Some(5.0), 0, 0);
    change(&mut sheet);
    Drive::new(&sheet, &Truth::default(), 1)
}

fn issue(drive: &mut Drive, now: Time, tag: u32, verb: Verb, start: u64, blocks: u32) {
    let at = Extent::new(start, blocks);
    drive.issue(now, Tag(tag), Command::new(verb, at, Place::Nowhere));
}

/// Tags and times of the next `n` completions.
fn ends(drive: &mut Drive, n: usize) -> Vec<(u32, Time)> {
    let each = |_| {
        let (end, tag, ..) = drive.complete();
        (tag.0, end)
    };
    (0..n).map(each).collect()
}

#[test]
fn a_queue_is_served_in_the_order_of_the_drives_file() {
    // The first command is served at once; the others wait, then go by their order.
    let places = [5_000_000, 9_000_000, 4_000_000, 6_000_000, 1_000_000];
    let served = |order| {
        let mut drive = drive(|sheet| sheet.queue.order = order);
        for (tag, start) in places.into_iter().enumerate() {
            issue(&mut drive, Time::ZERO, tag as u32, Verb::Read, start, 8);
        }
        ends(&mut drive, places.len()).into_iter().map(|(tag, _)| tag).collect::<Vec<_>>()
    };
    assert_eq!(served(Turn::Fcfs), [0, 1, 2, 3, 4]);
    assert_eq!(served(Turn::CLook), [0, 3, 1, 4, 2]);
    assert_eq!(served(Turn::Look), [0, 3, 1, 2, 4]);
    assert_eq!(served(Turn::Ascending), [0, 3, 1, 2, 4]);
    assert_eq!(served(Turn::Sstf), [0, 3, 2, 4, 1]);
}

#[test]
fn an_elevator_turns_where_nothing_is_left_and_an_ascending_order_goes_up_again() {
    let served = |order| {
        let mut drive = drive(|sheet| sheet.queue.order = order);
        for (tag, start) in [5_000_000, 4_000_000].into_iter().enumerate() {
            issue(&mut drive, Time::ZERO, tag as u32, Verb::Read, start, 8);
        }
        let first = drive.complete();
        // While it goes down to the second, one above that and one below it come.
        issue(&mut drive, first.0, 2, Verb::Read, 4_500_000, 8);
        issue(&mut drive, first.0, 3, Verb::Read, 1_000_000, 8);
        ends(&mut drive, 3).into_iter().map(|(tag, _)| tag).collect::<Vec<_>>()
    };
    assert_eq!(served(Turn::Look), [1, 3, 2]);
    assert_eq!(served(Turn::Ascending), [1, 2, 3]);
}

#[test]
fn the_arm_goes_on_when_the_file_says() {
    // 200 blocks are 20 ms of bus behind 3 ms of medium: whoever waits for the bus is later by that.
    let second = |at| {
        let mut drive = drive(|sheet| {
            (sheet.queue.frees_at, sheet.queue.order) = (at, Turn::Fcfs);
            sheet.overheads.done = After::either(Span(2_000_000));
        });
        issue(&mut drive, Time::ZERO, 0, Verb::Read, 5_000_000, 200);
        issue(&mut drive, Time::ZERO, 1, Verb::Seek, 1_000_000, 8);
        let ends = ends(&mut drive, 2);
        assert_eq!((ends[0].0, ends[1].0), if at == FreesAt::Medium { (1, 0) } else { (0, 1) });
        ends.iter().find(|(tag, _)| *tag == 1).unwrap().1
    };
    let (medium, message, completion) =
        (second(FreesAt::Medium), second(FreesAt::Message), second(FreesAt::Completion));
    assert!(message.since(medium) > Span(10_000_000), "{medium:?} {message:?}");
    assert_eq!(completion.since(message), Span(2_000_000));
}

#[test]
fn a_bus_for_one_lets_a_command_in_when_no_data_are_on_their_way() {
    let second = |exclusive: bool| {
        let mut drive = drive(|sheet| {
            (sheet.bus.exclusive, sheet.queue.order) = (exclusive, Turn::Fcfs);
            sheet.queue.frees_at = FreesAt::Completion;
            sheet.overheads.read = After::either(Span(1_000_000));
        });
        issue(&mut drive, Time::ZERO, 0, Verb::Read, 5_000_000, 200);
        let first = drive.next().unwrap();
        // All but the very end of the data is still to go.
        drive.advance(Time(first.0 - 5_000_000));
        issue(&mut drive, Time(first.0 - 5_000_000), 1, Verb::Seek, 1_000_000, 8);
        let ends = ends(&mut drive, 2);
        ends[1].1.since(ends[0].1)
    };
    // Its overhead passes only then.
    assert_eq!(second(true).0, second(false).0 + 1_000_000);
}

/// The same drive with a write buffer.
fn writing(change: impl FnOnce(&mut Sheet)) -> Drive {
    drive(|sheet| {
        (sheet.cache.write_buffer, sheet.cache.drain) = (4096, disk::Drain::InOrder);
        change(sheet);
    })
}

#[test]
fn a_write_waits_for_an_arm_that_is_busy_where_the_drive_takes_none_in_then() {
    let second = |accepts_busy| {
        let mut drive = writing(|sheet| sheet.cache.accepts_busy = accepts_busy);
        issue(&mut drive, Time::ZERO, 0, WRITE, 5_000_000, 8);
        issue(&mut drive, Time(1_000_000), 1, WRITE, 1_000_000, 8);
        ends(&mut drive, 2)[1].1
    };
    assert!(second(true) < Time(4_000_000), "{:?}", second(true));
    assert!(second(false) > second(true) + Span(3_000_000), "{:?} {:?}", second(false), second(true));
}

#[test]
fn the_arm_sets_out_while_data_still_come_and_no_block_is_written_before_it_is_there() {
    // A flush ends when all is on the medium. 20 ms of bus are longer than any seek.
    let flushed = |seeks_early| {
        let mut drive = writing(|sheet| (sheet.cache.seeks_early, sheet.cache.accepts_busy) = (seeks_early, false));
        issue(&mut drive, Time::ZERO, 0, WRITE, 5_000_000, 200);
        issue(&mut drive, Time::ZERO, 1, Verb::Flush, 0, 0);
        let ends = ends(&mut drive, 2);
        (ends[0].1, ends[1].1)
    };
    let ((there, early), (same, late)) = (flushed(true), flushed(false));
    assert_eq!(there, same);
    assert!(early >= there && early < late, "{there:?} {early:?} {late:?}");
}

#[test]
fn writes_that_continue_one_another_lose_a_turn_where_the_drive_does_not_stream_them() {
    let flushed = |streams_writes| {
        let mut drive = writing(|sheet| {
            (sheet.cache.streams_writes, sheet.cache.joins_writes) = (streams_writes, true);
            sheet.bus.mb_s = None;
        });
        for tag in 0..4 {
            issue(&mut drive, Time::ZERO, tag, WRITE, 5_000_000 + 8 * u64::from(tag), 8);
        }
        issue(&mut drive, Time::ZERO, 4, Verb::Flush, 0, 0);
        ends(&mut drive, 5)[4].1
    };
    let turn = catalogue::find("atlas10k").unwrap().sheet.mechanics.rotation.period();
    let lost = flushed(false).since(flushed(true));
    assert!(lost.0 > 2 * turn.0 && lost.0 < 4 * turn.0, "{lost:?}, a turn is {turn:?}");
}

/// A rig of a drive of 4 KiB sectors that reads what it writes only part of, or not.
fn rig_of_512e(merges_sectors: bool) -> Rig {
    let sheet = catalogue::find("nl20").expect("a drive").sheet;
    let cache = disk::Cache { merges_sectors, ..sheet.cache };
    let sheet = Sheet { cache, queue: disk::Queue { depth: 1, ..sheet.queue }, ..sheet };
    Rig { drive: Drive::new(&sheet, &Truth::default(), 1), sheet, now: Time::ZERO }
}

#[test]
fn a_write_of_part_of_a_sector_takes_a_turn_more_and_one_of_whole_sectors_does_not() {
    for (start, blocks, turns) in
        [(80_000, 8, 0), (80_000, 1, 1), (80_003, 2, 1), (80_004, 8, 1), (80_000, 2048, 0), (80_001, 4096, 1)]
    {
        let [plain, merging] = [false, true].map(|merges| {
            let mut rig = rig_of_512e(merges);
            rig.read(9_000_000_000, 8);
            let done = rig.command(FUA, Extent::new(start, blocks));
            assert_eq!(done.parts.total(), done.took);
            (done.took, rig.revolution())
        });
        let more = merging.0.0 as i64 - plain.0.0 as i64;
        assert!((more - turns * plain.1.0 as i64).abs() < 200, "{blocks} blocks at {start}: {more} ns more");
    }
}

#[test]
fn what_is_joined_in_the_buffer_is_read_once_at_most() {
    let drained = |merges, apart: u64| {
        let mut rig = rig_of_512e(merges);
        for i in 0..64 {
            rig.write(80_000 + i * apart, 1);
        }
        rig.flush().took.as_ms()
    };
    // 64 blocks in a row are eight sectors; 64 blocks far apart are so many turns more.
    let rotation = 60e3 / 7200.0;
    assert!(drained(true, 1) < drained(false, 1) + 1.5 * rotation, "{} and {}", drained(true, 1), drained(false, 1));
    let far = drained(true, 50_000_000) - drained(false, 50_000_000);
    assert!(far > 50.0 * rotation, "{far} ms more");
}

#[test]
fn data_that_come_while_a_command_is_told_let_one_more_command_go_first() {
    // 200 blocks go for 20 ms; the others are told for 1 ms each.
    let first = |others: &[i64]| {
        let mut drive = drive(|sheet| {
            (sheet.bus.exclusive, sheet.queue.order) = (true, Turn::Fcfs);
            sheet.queue.frees_at = FreesAt::Completion;
            sheet.bus.mb_s = Some(5.12);
            sheet.overheads = Overheads { read: After::either(Span(1_000_000)), ..Overheads::default() };
        });
        issue(&mut drive, Time::ZERO, 0, Verb::Read, 5_000_000, 200);
        let alone = drive.next().unwrap();
        for (tag, after) in (1..).zip(others) {
            issue(&mut drive, Time((alone.0 as i64 - 20_000_000 + after) as u64), tag, Verb::Seek, 1_000_000, 8);
        }
        let ends = ends(&mut drive, 1 + others.len());
        ends.iter().find(|(tag, _)| *tag == 0).unwrap().1.since(alone)
    };
    assert_eq!(first(&[-500_000]), Span(500_000));
    assert_eq!(first(&[-500_000, -200_000]), Span(1_500_000));
    // Data that wait already when a command has been told go before the next one.
    assert_eq!(first(&[-500_000, -200_000, 600_000]), Span(1_500_000));
}

#[test]
fn a_command_answered_as_it_comes_has_the_bus_until_its_data_have_gone() {
    let mut drive = drive(|sheet| {
        (sheet.bus.exclusive, sheet.queue.order, sheet.cache.hits_wait) = (true, Turn::Fcfs, true);
        sheet.queue.frees_at = FreesAt::Completion;
        sheet.bus.mb_s = Some(5.12);
        sheet.overheads = Overheads { hit: After::either(Span(300_000)), ..Overheads::default() };
        (sheet.cache.segments, sheet.cache.segment, sheet.cache.read_ahead) = (2, 512, 256);
        sheet.cache.ahead = disk::Ahead::Most;
    });
    issue(&mut drive, Time::ZERO, 0, Verb::Read, 5_000_000, 100);
    let first = drive.next().unwrap();
    issue(&mut drive, Time(first.0 - 1_000_000), 1, Verb::Read, 5_000_000, 10);
    assert_eq!(ends(&mut drive, 1)[0], (0, first));
    // Given at the very moment at which the other one is let in.
    issue(&mut drive, first, 2, Verb::Read, 5_000_010, 10);
    let ends = ends(&mut drive, 2);
    assert_eq!(ends, [(1, first + Span(1_300_000)), (2, first + Span(2_600_000))]);
}

#[test]
fn whatever_came_while_a_write_had_the_bus_is_weighed_when_the_arm_has_written_it() {
    let mut drive = drive(|sheet| {
        (sheet.bus.exclusive, sheet.queue.order) = (true, Turn::Ascending);
        sheet.bus.mb_s = Some(5.12);
        sheet.overheads = Overheads { read: After::either(Span(300_000)), ..Overheads::default() };
        (sheet.cache.write_buffer, sheet.cache.write_extents, sheet.cache.accepts_busy) = (512, 1, false);
    });
    issue(&mut drive, Time::ZERO, 0, WRITE, 5_000_000, 100);
    for (tag, start) in [9_000_000, 6_000_000, 5_500_000].into_iter().enumerate() {
        issue(&mut drive, Time(1_000_000), 1 + tag as u32, Verb::Read, start, 8);
    }
    // The bus is free at 10 ms, and the reads are told long before the arm comes to the end of what was written.
    let served: Vec<u32> = ends(&mut drive, 4).into_iter().map(|(tag, _)| tag).collect();
    assert_eq!(served, [0, 3, 2, 1]);
}
