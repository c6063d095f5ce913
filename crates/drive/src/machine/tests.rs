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

/// What a plain drive does without a test for what is off is what it would do with one.
#[test]
fn a_plain_drive_does_as_one_that_asks_for_every_habit() {
    let truth = Truth { seek_noise: Span(200_000), ..Truth::default() };
    let (mut misses, mut plain) = (0, 0);
    for (i, sheet) in (0..).zip(plain_sheets()) {
        let sheet = Sheet { queue: disk::Queue { depth: 1, ..sheet.queue }, ..sheet };
        let (mut drive, mut draw) = (Drive::new(&sheet, &truth, i), draws(i + 1));
        if !drive.is_plain {
            continue;
        }
        plain += 1;
        let mut other = Drive { is_plain: false, ..drive.clone() };
        let (blocks, mut now, mut last) = (drive.caps().blocks, Time::ZERO, Extent::new(0, 1));
        for step in 0..3000 {
            let command = command(&mut draw, last, blocks);
            last = command.at;
            drive.issue(now, Tag(0), command);
            other.issue(now, Tag(0), command);
            misses += u32::from(command.verb == Verb::Read && drive.filling.is_some());
            assert_eq!(drive.next(), other.next(), "sheet {i}, step {step}: {command:?}");
            let (done, same) = (drive.finish().expect("it ends"), other.finish().expect("it ends"));
            assert_eq!(done, same, "sheet {i}, step {step}: {command:?}");
            now = done.0 + Span([0, 0, draw(300_000), draw(30_000_000)][draw(4) as usize]);
            if draw(50) == 0 {
                assert_eq!(drive.take_account(now), other.take_account(now), "sheet {i}, step {step}");
            }
            assert_eq!((drive.track, drive.free, drive.held), (other.track, other.free, other.held));
        }
    }
    assert!(misses > 10_000 && plain >= 12, "{misses} of {plain}");
}
