//! Picking a plan that keeps the wait for a command in progress short at the least loss of throughput.
//!
//! From the sheet alone: requests of one size, anywhere on the drive, one after the other. The expected wait is Eq. 2
//! of Virtual IO over their commands and slack. What late seeks cost is not known beforehand: who picks tries the plan, and
//! wishes for less where it falls short.
//!
//! **A plan for a wait.** `sched::planner` works out Eq. 2 and the throughput from the sheet; how often seeks come
//! too late no sheet tells, so `sim::trial` tries what it picked on the drive and wishes for less until it fits.

use crate::plan::{Plan, Split, chunk_for};
use crate::predict::profile::{ReadAhead, Way, go_on};
use block::{Direction, Extent, Span, Time};
use disk::{Sheet, Spin};

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
    pub fn scale(self, share: f64) -> Wish {
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
    /// The plan that was chosen.
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

/// Places that stand for all, and how far apart the first turn of each is looked at.
const PLACES: u64 = 12;
const APART: Span = Span(60_000_000_000);

/// The drive, for requests of one size.
struct Model<'a> {
    sheet: &'a Sheet,
    way: Way,
    blocks: u32,
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
        let turn = sheet.mechanics.rotation.period().as_ms();
        Model { sheet, way: Way::new(sheet), blocks: blocks.max(1), turn }
    }

    fn seek(&self, distance: f64) -> f64 {
        self.sheet.overheads.read.read.as_ms() + self.sheet.mechanics.seek.time(distance as u32).as_ms()
    }

    /// The commands of one request, from when its first block is under the head: how long the first still takes, on the average
    /// over places, and the sums of the others. Each is given when the one before it has come back; meanwhile the drive reads
    /// ahead, as far as it does.
    fn transfer(&self, chunk: u32) -> (f64, Sums) {
        let Sheet { mechanics, cache, overheads, .. } = self.sheet;
        let layout = &mechanics.layout;
        let blocks = u64::from(self.blocks).min(layout.blocks()) as u32;
        let (mut first, mut rest) = (0.0, Sums::default());
        for place in 0..PLACES {
            let start = (layout.blocks() - u64::from(blocks)) * (2 * place + 1) / (2 * PLACES);
            let command = |done: u32| Extent::new(start + u64::from(done), (blocks - done).min(chunk));
            let at = command(0);
            let spot = layout.locate(at.start);
            let begins = mechanics.rotation.reach(Time(0) + Span(APART.0 * (place + 1)), spot.angle);
            let (passage, lag) = self.way.read(mechanics, &mechanics.rotation, begins, spot, at, begins);
            let mut now = passage.end + lag;
            first += now.since(begins).as_ms();
            let mut ahead = ReadAhead::behind(cache, layout, at, &passage);
            let mut done = at.blocks;
            while done < blocks {
                let at = command(done);
                let drive = (&**mechanics, &mechanics.rotation);
                let further = go_on(&ahead, drive, (&self.way, cache, overheads), (now, Direction::Read), at);
                rest.commands(1.0, further.took.as_ms());
                (now, ahead, done) = (now + further.took, further.ahead, done + at.blocks);
            }
        }
        let all = PLACES as f64;
        let (time, squares) = (rest.time / all, rest.squares / all);
        (first / all, Sums { time, squares, ..rest })
    }

    /// One request under a plan whose transfers are these, on the average over distances and waits.
    fn request(&self, plan: &Plan, (first, rest): &(f64, Sums)) -> Sums {
        let cylinders = f64::from(self.sheet.mechanics.layout.cylinders());
        let offset = plan.offset.map_or(self.turn * FOUND, Span::as_ms);
        let mut sums = Sums::default();
        for i in 0..DISTANCES {
            // The distance between two places drawn evenly.
            let share = 1.0 - (1.0 - (f64::from(i) + 0.5) / f64::from(DISTANCES)).sqrt();
            let distance = share * cylinders;
            let whole = self.seek(distance);
            let extra = |parts: u32| f64::from(parts) * self.seek(distance / f64::from(parts)) - whole;
            for j in 0..WAITS {
                let wait = (f64::from(j) + 0.5) / f64::from(WAITS) * self.turn;
                let parts = match plan.split {
                    Split::Never => 1,
                    _ if share <= plan.split_beyond => 1,
                    Split::Always => plan.split_parts,
                    Split::Masked => {
                        (2..=plan.split_parts).rev().find(|parts| wait >= offset + extra(*parts)).unwrap_or(1)
                    }
                };
                let each = self.seek(distance / f64::from(parts));
                let wait = (wait - extra(parts)).rem_euclid(self.turn);
                let slack = if plan.jit { (wait - offset).max(0.0) } else { 0.0 };
                sums.slack += slack;
                sums.commands(f64::from(parts - 1), each);
                sums.commands(1.0, each + wait - slack + first);
            }
        }
        let all = f64::from(DISTANCES * WAITS);
        Sums {
            time: sums.time / all + rest.time,
            squares: sums.squares / all + rest.squares,
            slack: sums.slack / all,
            longest: sums.longest.max(rest.longest),
        }
    }

    /// What a plan comes to, `whole` being the time of a request in a single command.
    fn judge(&self, plan: Plan, transfer: &(f64, Sums), wish: Wish, whole: f64) -> Pick {
        let sums = self.request(&plan, transfer);
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
    let single = Plan { chunk: u32::MAX, jit: false, split: Split::Never, ..base };
    let whole = model.request(&single, &model.transfer(u32::MAX)).time;
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
        let transfer = model.transfer(chunk);
        for (split, split_beyond, split_parts) in &splits {
            let (split, split_beyond, split_parts) = (*split, *split_beyond, *split_parts);
            let plan = Plan { chunk, split, split_beyond, split_parts, ..base };
            let pick = model.judge(plan, &transfer, wish, whole);
            let better = best.is_none_or(|best| {
                let (this, that) = (wanting(&pick), wanting(&best));
                this < that || (this == that && pick.loss < best.loss - 1e-4)
            });
            if better {
                best = Some(pick);
            }
        }
    }
    best.unwrap_or_else(|| model.judge(Plan { chunk: least, ..base }, &model.transfer(least), wish, whole))
}
