//! What a plain drive goes without.

use super::*;
use block::Place;
use disk::{Ahead, Sheet, Truth, catalogue};

fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |below| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// A command near the last one, at the end of the drive, or anywhere.
fn command(draw: &mut impl FnMut(u64) -> u64, last: Extent, blocks: u64) -> Command {
    let most = if draw(8) == 0 { 3000 } else { 24 };
    let long = 1 + draw(most);
    let start = match draw(5) {
        0 => last.end().0.min(blocks - long),
        1 => (last.start.0.saturating_sub(draw(200)) + draw(400)).min(blocks - long),
        2 => blocks - long - draw(2) * draw(40),
        _ => draw(blocks - long),
    };
    let verb = match draw(14) {
        0 => Verb::Write { fua: draw(2) == 0 },
        1 => Verb::Seek,
        2 => Verb::Flush,
        _ => Verb::Read,
    };
    Command::new(verb, Extent::new(start, long as u32), Place::Nowhere)
}

/// Drives of which most have none of the habits that only some have.
fn plain_sheets() -> Vec<Sheet> {
    let mut sheets = Vec::new();
    for model in ["atlas10k", "hp-335h"] {
        let sheet = catalogue::find(model).expect("it is in the catalogue").sheet;
        let cache = sheet.cache;
        let aheads = [Ahead::Most, Ahead::Nowhere, Ahead::Track, Ahead::Cylinder, Ahead::NextTrack];
        for (ahead, segments) in aheads.into_iter().zip([1, 2, 3, 10, 4]) {
            let cache = disk::Cache { segments, segment: 900, read_ahead: 700, least_ahead: 60, ahead, ..cache };
            sheets.push(Sheet { cache, ..sheet.clone() });
        }
        sheets.push(Sheet { cache: disk::Cache { write_buffer: 2048, resumes: true, ..cache }, ..sheet.clone() });
        sheets.push(sheet);
    }
    sheets
}

/// Drives that take one command at a time and have some habits, drawn.
fn sheets_with_habits() -> Vec<Sheet> {
    let mut draw = draws(5);
    let sheets = plain_sheets().into_iter().flat_map(|sheet| [sheet.clone(), sheet.clone(), sheet]);
    let mut with_some = |mut sheet: Sheet| {
        let mut is = || draw(2) == 0;
        (sheet.cache.ends_at_command, sheet.cache.stops_in_sector) = (is(), is());
        (sheet.cache.overtakes, sheet.cache.forgets, sheet.cache.almost_hits) = (is(), is(), is());
        (sheet.bus.exclusive, sheet.bus.holds_reading) = (is(), is());
        let access = &mut std::sync::Arc::make_mut(&mut sheet.mechanics).access;
        (access.free, access.reads) = (is(), is());
        sheet.bus.watermark = if is() { 0.4 } else { 0.0 };
        sheet.overheads.large = is().then_some(disk::Large { above: 20, read: 0.5, write: 0.7 });
        sheet.queue.frees_at = match (is(), is()) {
            (true, _) => FreesAt::Completion,
            (_, true) => FreesAt::Message,
            _ => FreesAt::Medium,
        };
        sheet
    };
    sheets.map(&mut with_some).collect()
}

/// Whether a drive that takes one command at a time does as one that asks for all there is; of the reads how many were not in its cache.
fn count_misses(sheet: Sheet, seed: u64, path: ReadPath) -> Option<u32> {
    let truth = Truth { seek_noise: Span(200_000), ..Truth::default() };
    let sheet = Sheet { queue: disk::Queue { depth: 1, ..sheet.queue }, ..sheet };
    let (mut drive, mut draw) = (Drive::new(&sheet, &truth, seed), draws(seed + 1));
    if drive.read_path != path {
        return None;
    }
    let mut other = Drive { read_path: ReadPath::Queued, ..drive.clone() };
    let (blocks, mut now, mut last, mut misses) = (drive.caps().blocks, Time::ZERO, Extent::new(0, 1), 0);
    for step in 0..3000 {
        let command = command(&mut draw, last, blocks);
        last = command.at;
        drive.issue(now, Tag(0), command);
        other.issue(now, Tag(0), command);
        misses += u32::from(command.verb == Verb::Read && drive.filling.is_some());
        assert_eq!(drive.next(), other.next(), "sheet {seed}, step {step}: {command:?}");
        let (done, same) = (drive.finish().expect("it ends"), other.finish().expect("it ends"));
        assert_eq!(done, same, "sheet {seed}, step {step}: {command:?}");
        now = done.0 + Span([0, 0, draw(300_000), draw(30_000_000)][draw(4) as usize]);
        if draw(50) == 0 {
            assert_eq!(drive.take_account(now), other.take_account(now), "sheet {seed}, step {step}");
        }
        assert_eq!(
            (drive.track, drive.free, drive.held),
            (other.track, other.free, other.held),
            "sheet {seed}, step {step}"
        );
    }
    Some(misses)
}

/// What a plain drive does without a test for what is off is what it would do with one.
#[test]
fn a_plain_drive_does_as_one_that_asks_for_every_habit() {
    let each: Vec<u32> =
        (0..).zip(plain_sheets()).filter_map(|(i, sheet)| count_misses(sheet, i, ReadPath::Plain)).collect();
    assert!(each.iter().sum::<u32>() > 10_000 && each.len() >= 12, "{each:?}");
}

/// So it is with a drive that has some habits, but no queue.
#[test]
fn a_drive_of_one_command_does_as_one_that_asks_for_a_queue() {
    let each: Vec<u32> =
        (0..).zip(sheets_with_habits()).filter_map(|(i, sheet)| count_misses(sheet, i, ReadPath::Alone)).collect();
    assert!(each.iter().sum::<u32>() > 20_000 && each.len() >= 35, "{each:?}");
}
