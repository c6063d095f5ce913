//! What holds of every drive, with nothing to compare it with: of the catalogue, made up, and lying beside the repository.
//!
//! `HALFTURN_SEED=N` begins the made-up ones with another.

mod exclusive;
mod more;
mod play;
mod streams;

use crate::dice::Dice;
use crate::kinds::{self, Level};
use block::{Span, Verb};
use disk::{Queue, Sheet, catalogue};
use play::{Load, Run, play};

const FUA: Verb = Verb::Write { fua: true };
const WRITE: Verb = Verb::Write { fua: false };

/// The drives of [`drives`], each with the seed of what is asked of it. Another drive in the catalogue changes no seed, so that it
/// leaves all the others as they are.
fn seeded(made_up: u64, depth: u16) -> impl Iterator<Item = (u64, (String, Sheet))> {
    // Above those of the catalogue as it was when these were found to hold.
    let mut made = 20..;
    drives(made_up, depth).into_iter().map(move |(name, sheet)| {
        let known = catalogue::names().any(|known| known == name);
        let of_name = || name.bytes().fold(0, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let seed = if known { of_name() } else { made.next().expect("there is no end of them") };
        (seed, (name, sheet))
    })
}

/// The made-up drive of a seed.
fn made_up(seed: u64) -> Sheet {
    kinds::drive(&mut Dice(seed), Level::Queued).drive("made-up").unwrap().sheet
}

/// So many drives, with room for `depth` commands: of the catalogue, then made up.
fn drives(count: u64, depth: u16) -> Vec<(String, Sheet)> {
    let first = std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let known = catalogue::names().map(|name| (name.to_string(), catalogue::find(name).unwrap().sheet));
    let made = (first..first + count).map(|seed| (format!("seed {seed}"), made_up(seed)));
    let queue = |sheet: &Sheet| Queue { depth, ..sheet.queue };
    known.chain(made).map(|(name, sheet)| (name, Sheet { queue: queue(&sheet), ..sheet })).collect()
}

/// The longest a command of so many blocks may take once it has the arm.
fn longest(sheet: &Sheet, blocks: u32) -> Span {
    let mechanics = &sheet.mechanics;
    let seeks = mechanics.seek.ns().iter().chain(mechanics.seek_write.iter().flat_map(|table| table.ns()));
    let seek = u64::from(seeks.copied().max().unwrap_or(0)) + sheet.overheads.least_seek.0;
    let switches = &mechanics.switches;
    let moves = [switches.head, switches.head_write, switches.cylinder, switches.cylinder_write];
    let switch = moves.iter().map(|span| span.0).max().unwrap_or(0).max(seek);
    let turn = mechanics.rotation.period().0;
    let least = (0..mechanics.layout.zones()).map(|zone| mechanics.layout.track_sectors(zone)).min().unwrap_or(1);
    let sectors = u64::from(blocks) >> mechanics.layout.sector_shift();
    // A spare may lie between any two tracks: away and back.
    let tracks = sectors / u64::from(least) + 2;
    let each = [sheet.overheads.read, sheet.overheads.write, sheet.overheads.hit, sheet.overheads.buffered];
    let overheads: u64 = each.iter().map(|it| it.read.0.max(it.write.0)).sum();
    let bus = sheet.bus.mb_s.map_or(0.0, |rate| f64::from(blocks) * 512.0 / rate * 1e3) as u64;
    Span((tracks + 3) * (3 * turn + 3 * (switch + switches.write_settle.0)) + 4 * overheads + bus + 10_000_000)
}

fn mixed(dice: &mut Dice) -> Load {
    Load {
        verbs: [
            (Verb::Read, dice.below(100)),
            (WRITE, dice.below(100)),
            (FUA, dice.below(30)),
            (Verb::Flush, dice.below(3)),
        ],
        sequential: dice.one_of(&[0, 50, 90]),
        sizes: dice.one_of(&[[1, 8, 64], [8, 8, 8], [128, 256, 16]]),
        commands: 300,
    }
}

#[test]
fn every_command_ends_and_none_waits_longer_than_its_age_and_what_may_go_before_it() {
    for (i, (name, sheet)) in seeded(300, 16) {
        let mut dice = Dice(i);
        let load = mixed(&mut dice);
        let run: Run = play(&sheet, i, 16, &load, &mut dice);
        assert_eq!(run.ended, load.commands, "{name}: commands that never end");
        // Before it go what is older, what the buffer must write for those, and what they had begun.
        let most = *load.sizes.iter().max().unwrap_or(&1);
        let extents = if sheet.cache.write_buffer > 0 { 2 * (load.commands as u64).min(1024) } else { 0 };
        let bound = sheet.queue.age_limit.0 + longest(&sheet, most).0 * (2 * 16 + 2 + extents);
        assert!(run.longest.0 <= bound, "{name}: {:?} of at most {bound} ns", run.longest);
    }
}

#[test]
fn the_time_of_each_command_and_of_the_arm_adds_up_and_so_does_littles_law() {
    for (i, (name, sheet)) in seeded(300, 8) {
        let mut dice = Dice(100 + i);
        let load = mixed(&mut dice);
        let run = play(&sheet, i, 8, &load, &mut dice);
        assert_eq!(run.apart, 0, "{name}: commands whose parts do not add up");
        assert_eq!(run.backwards, 0, "{name}: completions that go back in time");
        let account = run.account;
        assert_eq!(account.parts.total(), account.busy, "{name}: {account:?}");
        assert_eq!(account.busy + account.background + account.idle(), account.span(), "{name}");
        // Always some command is in the drive, so that it is busy all the time; and as many as there are take their time.
        assert_eq!(account.busy, account.span(), "{name}: {account:?}");
        let inside = run.inside as f64;
        let responses = run.responses.0 as f64;
        assert!((inside / responses - 1.0).abs() < 1e-9, "{name}: {inside} in the drive, {responses} of responses");
    }
}

#[test]
fn a_drive_left_alone_ends_what_it_does_by_itself_and_then_does_nothing() {
    for (i, (name, sheet)) in seeded(300, 4) {
        let mut dice = Dice(200 + i);
        let load = Load { commands: 60, ..mixed(&mut dice) };
        let mut run = play(&sheet, i, 4, &load, &mut dice);
        let most = *load.sizes.iter().max().unwrap_or(&1);
        let blocks = most.max(sheet.cache.segment).max(sheet.mechanics.layout.longest_track() * 64);
        let enough = Span(longest(&sheet, blocks).0 * (load.commands as u64 + 2));
        let first = run.drive.take_account(run.now + enough);
        assert!(first.background <= enough, "{name}: {first:?}");
        let later = run.drive.take_account(run.now + enough + Span(100_000_000_000));
        assert_eq!((later.background, later.busy, later.commands), (Span::ZERO, Span::ZERO, 0), "{name}");
        let flush = play::command(&mut run.drive, run.now + enough + Span(100_000_000_000), Verb::Flush, (0, 0));
        let overhead = sheet.overheads.write;
        assert!(flush <= overhead.read.max(overhead.write), "{name}: {flush:?} to flush what is not there");
    }
}

/// The first command that ends at another time on a drive with a queue that is not used.
fn differs(name: &str, seed: u64, sheet: &Sheet) -> Option<String> {
    let with = |depth| Sheet { queue: Queue { depth, ..sheet.queue }, ..sheet.clone() };
    let load = mixed(&mut Dice(300 + seed));
    let ends = |sheet: &Sheet| play(sheet, seed, 1, &load, &mut Dice(400 + seed)).ends;
    let (alone, queued) = (ends(&with(1)), ends(&with(32)));
    let first = alone.iter().zip(&queued).position(|((one, _), (other, _))| one != other)?;
    let [(one, parts), (other, there)] = [alone[first], queued[first]];
    let late = other.0 as i64 - one.0 as i64;
    let habits = format!("{:?} {:?} {:?}", sheet.cache, sheet.overheads, sheet.mechanics.access);
    Some(format!("{name}: command {first} {late:+} ns with a queue\n  {parts:?}\n  {there:?}\n  {habits}"))
}

/// Made-up drives that once differed by a queue that was not used, each with the seed of the load under which it did.
const ONCE_DIFFERED: [(u64, u64); 11] = [
    (16, 37),
    (1131, 198),
    (1214, 142),
    (1265, 281),
    (2198, 118),
    (2237, 157),
    (3026, 46),
    (4183, 303),
    (5106, 25),
    (5291, 217),
    (6112, 132),
];

#[test]
fn a_queue_that_is_not_used_changes_nothing() {
    let once = ONCE_DIFFERED.map(|(seed, load)| (load, (format!("seed {seed}"), made_up(seed))));
    let drives = seeded(300, 1).chain(once);
    let differ: Vec<_> = drives.filter_map(|(seed, (name, sheet))| differs(&name, seed, &sheet)).collect();
    assert!(differ.is_empty(), "{} drives:\n{}", differ.len(), differ.join("\n"));
}
