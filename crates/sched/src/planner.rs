//! Picking a plan that keeps the wait for a command in progress short at the least loss of throughput.
//!
//! From the sheet alone: requests of one size, anywhere on the drive, one after the other. The expected wait is Eq. 2
//! of Virtual IO over their commands and slack. What late seeks cost is not known beforehand: who picks tries the plan, and
//! wishes for less where it falls short.

use crate::plan::{Plan, Split, chunk_for};
use block::{Extent, Lbn, Span, Time};
use disk::Sheet;

/// What is wanted of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// That an arrival expects to wait no longer for the command in progress.
    Expected(Span),
    /// That no command takes longer, unless its seek comes too late, which costs a revolution.
    Longest(Span),
}

impl Wish {
    /// The time that is wanted.
    #[must_use]
    pub fn span(self) -> Span {
        match self {
            Wish::Expected(span) | Wish::Longest(span) => span,
        }
    }

    /// The same wish for so much of the time.
    #[must_use]
    pub fn scaled(self, share: f64) -> Wish {
        let span = Span((self.span().0 as f64 * share) as u64);
        match self {
            Wish::Expected(_) => Wish::Expected(span),
            Wish::Longest(_) => Wish::Longest(span),
        }
    }

    /// What of a pick it is about, ms.
    fn of(self, pick: &Pick) -> f64 {
        match self {
            Wish::Expected(_) => pick.expected_ms,
            Wish::Longest(_) => pick.longest_ms,
        }
    }
}

/// A plan, and what it is thought to come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pick {
    /// The plan.
    pub plan: Plan,
    /// The expected wait for the command in progress, ms.
    pub expected_ms: f64,
    /// The longest command, ms.
    pub longest_ms: f64,
    /// Share of the throughput lost against requests in single commands.
    pub loss: f64,
    /// Whether the wish is met.
    pub met: bool,
}

/// Distances and waits that stand for all.
const DISTANCES: u32 = 48;
const WAITS: u32 = 16;
/// The offset assumed where it is to be found, as a share of a revolution.
const FOUND: f64 = 1.0 / 12.0;

/// The drive in milliseconds, for requests of one size.
struct Model<'a> {
    sheet: &'a Sheet,
    blocks: f64,
    /// A block of a long transfer, at the medium and on the bus.
    block: f64,
    bus: f64,
    turn: f64,
}

/// Sums over the commands of one request: of their times, of the squares, and the slack; and the longest.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    time: f64,
    squares: f64,
    slack: f64,
    longest: f64,
}

impl Sums {
    fn commands(&mut self, count: f64, each: f64) {
        self.time += count * each;
        self.squares += count * each * each;
        if count > 0.0 {
            self.longest = self.longest.max(each);
        }
    }
}

impl<'a> Model<'a> {
    fn new(sheet: &'a Sheet, blocks: u32) -> Model<'a> {
        let mechanics = &sheet.mechanics;
        let middle = Lbn(mechanics.layout.blocks() / 2);
        let sample = Extent { start: middle, blocks: 1 << 13 };
        let spot = mechanics.layout.locate(middle);
        let passage = mechanics.pass(&mechanics.rotation, Time(1 << 40), spot, sample, false);
        let passed = passage.end.since(passage.began).as_ms();
        Model {
            sheet,
            blocks: f64::from(blocks),
            block: passed / f64::from(sample.blocks),
            bus: sheet.bus.mb_s.map_or(0.0, |rate| 0.512 / rate),
            turn: mechanics.rotation.period().as_ms(),
        }
    }

    fn seek(&self, distance: f64) -> f64 {
        self.sheet.overheads.read.read.as_ms() + self.sheet.mechanics.seek.time(distance as u32).as_ms()
    }

    /// One request under a plan, on the average over distances and waits.
    fn request(&self, plan: &Plan) -> Sums {
        let cylinders = f64::from(self.sheet.mechanics.layout.cylinders());
        let offset = plan.offset.map_or(self.turn * FOUND, Span::as_ms);
        let chunk = f64::from(plan.chunk).min(self.blocks);
        let hit = self.sheet.overheads.hit.read.as_ms();
        let follow = |blocks: f64| (blocks * self.block).max(hit + blocks * self.bus);
        let chunks = ((self.blocks - chunk) / chunk).floor();
        let rest = self.blocks - chunk - chunks * chunk;
        let mut sums = Sums::default();
        for i in 0..DISTANCES {
            // The distance between two places drawn evenly.
            let share = 1.0 - (1.0 - (f64::from(i) + 0.5) / f64::from(DISTANCES)).sqrt();
            let distance = share * cylinders;
            let whole = self.seek(distance);
            for j in 0..WAITS {
                let wait = (f64::from(j) + 0.5) / f64::from(WAITS) * self.turn;
                let parts = f64::from(plan.split_parts);
                let each = self.seek(distance / parts);
                let extra = parts * each - whole;
                let split = match plan.split {
                    Split::Never => false,
                    _ if share <= plan.split_beyond => false,
                    Split::Always => true,
                    Split::Masked => wait >= offset + extra,
                };
                let (parts, each, extra) = if split { (parts, each, extra) } else { (1.0, whole, 0.0) };
                let wait = (wait - extra).rem_euclid(self.turn);
                let slack = if plan.jit { (wait - offset).max(0.0) } else { 0.0 };
                sums.slack += slack;
                sums.commands(parts - 1.0, each);
                sums.commands(1.0, each + wait - slack + chunk * self.block);
                sums.commands(chunks, follow(chunk));
                sums.commands(f64::from(u8::from(rest > 0.0)), follow(rest));
            }
        }
        let all = f64::from(DISTANCES * WAITS);
        Sums { time: sums.time / all, squares: sums.squares / all, slack: sums.slack / all, longest: sums.longest }
    }

    /// What a plan comes to, `whole` being the time of a request in a single command.
    fn judge(&self, plan: Plan, wish: Wish, whole: f64) -> Pick {
        let sums = self.request(&plan);
        let all = sums.time + sums.slack;
        let expected_ms = sums.squares / all / 2.0;
        let mut pick = Pick { plan, expected_ms, longest_ms: sums.longest, loss: 1.0 - whole / all, met: false };
        pick.met = wish.of(&pick) <= wish.span().as_ms();
        pick
    }
}

/// The plan with the least loss that meets the wish for requests of so many blocks; where none does, the one that comes
/// nearest. What `base` says of anything but chunk, split and offset stays.
#[must_use]
pub fn pick(sheet: &Sheet, base: Plan, blocks: u32, wish: Wish) -> Pick {
    let model = Model::new(sheet, blocks);
    let whole = model.request(&Plan { chunk: u32::MAX, jit: false, split: Split::Never, ..base }).time;
    let least = chunk_for(sheet);
    let chunks = (-1..10).map(|power| if power < 0 { least.div_ceil(2) } else { least << power });
    let mut splits = vec![(Split::Never, 1.0, base.split_parts)];
    for split in [Split::Masked, Split::Always] {
        for beyond in [0.5, 0.25, 0.1, 0.03] {
            splits.extend([2, 3, 4, 6].map(|parts| (split, beyond, parts)));
        }
    }
    let wanting = |pick: &Pick| if pick.met { 0.0 } else { wish.of(pick) };
    let mut best: Option<Pick> = None;
    for chunk in chunks.filter(|chunk| *chunk <= blocks.max(least)) {
        for (split, split_beyond, split_parts) in &splits {
            let (split, split_beyond, split_parts) = (*split, *split_beyond, *split_parts);
            let pick = model.judge(Plan { chunk, split, split_beyond, split_parts, ..base }, wish, whole);
            let better = best.is_none_or(|best| {
                let (this, that) = (wanting(&pick), wanting(&best));
                this < that || (this == that && pick.loss < best.loss - 1e-4)
            });
            if better {
                best = Some(pick);
            }
        }
    }
    best.unwrap_or_else(|| model.judge(Plan { chunk: least, ..base }, wish, whole))
}
