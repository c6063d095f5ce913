//! Predictors: what the scheduler believes of a device. One file each.
//!
//! **Truth and belief.** `drive` knows phase, true rpm, noise and cache; `sched` gets a `disk::Sheet` and the times
//! at which commands come back. The phase of the platter at time zero is drawn from the seed, so that nobody can know
//! it. Both use `disk::Mechanics` for the arithmetic. `Profile` tracks the phase with a phase-locked loop over
//! completions and learns how often an arrival that leaves a given wait comes too late; that expected loss is part of
//! a candidate's cost, so no safety margin has to be set. The oracle lives in `sim` and says so in its results.
//!
//! **A spot and a mark.** A predictor maps a request once, when it arrives (`Spot`, kept with the job). The search
//! index holds only a key — place along the stroke, then angle — and a few bytes beside it (`Mark`).

mod distance;
mod in_use;
mod kind;
pub mod mimic;
mod oracle;
pub(crate) mod profile;

pub use distance::Distance;
pub use in_use::InUse;
pub use kind::{Knowledge, Manual, Recipe, Taker, Tells};
pub use mimic::Mimic;
pub use profile::{PROFILE, Profile};

use block::{Command, Direction, Extent, Lbn, Outcome, SeekBy, Span, Time, Verb};
use config::{Word, Words};

/// Makes of the files of predictors one type, [`Choice`], and the list of all: first those made of what is known of a device,
/// then those that only a world can make.
macro_rules! predictors {
    ($($made:ident: $kind:ident,)* | $($file:ident: $other:ident,)*) => {
        /// A predictor as an experiment asks for it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Choice {
            $(#[doc = concat!("See `predict/", stringify!($made), "`.")] $kind,)*
            $(#[doc = concat!("See `predict/", stringify!($file), "`.")] $other,)*
        }

        /// What users are told of each predictor, in the order in which they are explained.
        pub const ALL: &[Manual] = &[$(<$kind as Recipe>::MANUAL,)* $($file::MANUAL,)*];

        impl Words for Choice {
            const WORDS: &'static [Word<Choice>] = &[
                $(Word::new(<$kind as Recipe>::MANUAL.name, Choice::$kind, <$kind as Recipe>::MANUAL.text),)*
                $(Word::new($file::MANUAL.name, Choice::$other, $file::MANUAL.text),)*
            ];
        }

        impl Choice {
            /// What users are told of it.
            #[must_use]
            pub fn manual(self) -> Manual {
                match self {
                    $(Choice::$kind => <$kind as Recipe>::MANUAL,)*
                    $(Choice::$other => $file::MANUAL,)*
                }
            }

            /// Has something done with its type; gives it back where only a world can make the predictor.
            ///
            /// # Errors
            /// What was to be done.
            pub fn with<T: Taker>(self, taker: T) -> Result<T::Output, T> {
                match self {
                    $(Choice::$kind => Ok(taker.take::<$kind>()),)*
                    $(Choice::$other => Err(taker),)*
                }
            }
        }
    };
}

predictors! {
    profile: Profile, mimic: Mimic, distance: Distance, in_use: InUse, | oracle: Oracle,
}

/// The step of numbers that are stirred: 2⁶⁴ parted by the golden ratio.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Stirs a number, so that those that are steps apart seem drawn: but for its last step, SplitMix64 (Steele, Lea and Flood, 2014).
fn stir(number: u64) -> u64 {
    let stirred = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (stirred ^ (stirred >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB)
}

/// The cost of what is not known: more than anything else costs.
pub const UNKNOWN: u64 = 1 << 61;

/// Ticks of a revolution where keys hold an angle, as a power of two, and of one of its 512 parts by which it is known how far the arm
/// gets.
pub(crate) const TURN_BITS: u32 = 28;
pub(crate) const STEP_BITS: u32 = TURN_BITS - 9;

/// How the head stands to what comes round, and how far the arm gets meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Swing<'p> {
    /// The cylinder that the arm is on.
    pub cylinder: u32,
    /// The angle under the head, where it is known.
    pub phase: u64,
    /// Whether it is known: else costs tell of distance alone.
    pub turns: bool,
    /// Ticks before the arm leaves; where the phase is not known, with what every wait is taken to be.
    pub leaves: u64,
    /// The key of what neither the arm nor the angle has a part in.
    pub apart: u64,
    /// Cylinders that the arm crosses at most by the end of each step after it left, ever more.
    pub reach: &'p [u32],
}

impl Swing<'_> {
    /// As far as anything lies.
    pub(crate) const EVERYWHERE: u32 = 1 << 30;

    /// Cylinders that the arm crosses at most in so many ticks, to the end of the step.
    #[inline(always)]
    pub(crate) fn reach(&self, ticks: u64) -> u32 {
        self.reach.get((ticks >> STEP_BITS) as usize).copied().unwrap_or(Swing::EVERYWHERE)
    }
}

/// The way to a request, were the arm to leave for it now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approach {
    /// Until the arm is there, command overhead included.
    pub travel: Span,
    /// The part of that for which it is believed to be at what was written before.
    pub busy: Span,
    /// From then until the first block comes under the head.
    pub wait: Span,
    /// The time of one revolution.
    pub turn: Span,
    /// How many cylinders the arm crosses.
    pub distance: u32,
    /// How many cylinders the disk has.
    pub cylinders: u32,
}

/// Tells by a key alone how much more than the least of its range it costs at least: by the part of it that has to come round.
#[derive(Clone, Copy, Debug)]
pub struct Sieve {
    /// The key that comes round just when the least is paid.
    pub origin: u64,
    /// The bits of a key that come round.
    pub bits: u64,
}

impl Sieve {
    /// Lets every key through.
    pub const OPEN: Sieve = Sieve { origin: 0, bits: 0 };

    /// How much more than the least a key costs at least.
    #[inline(always)]
    pub fn beyond(self, key: u64) -> u64 {
        key.wrapping_sub(self.origin) & self.bits
    }
}

/// A command chosen, and by when the arm has to be on its track so that it comes back as if it were given at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal<S> {
    /// The blocks it is about to transfer.
    pub at: Extent,
    /// Where the first of them lies.
    pub spot: S,
    /// Which way its data goes.
    pub direction: Direction,
    /// When the arm has to be there at the latest, after a move.
    pub by: Time,
    /// The same where it need not move.
    pub by_still: Time,
    /// When it comes back.
    pub end: Time,
    /// When the arm may leave for a read given now, and from where.
    pub leaves: (Time, S),
    /// No more blocks can be had before on any other track than that of the goal and that which the arm is on.
    pub elsewhere: u64,
}

/// A command that waits in the device for the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Follower {
    /// When it is to be given, for the device to be through with it by the time it has its turn.
    pub due: Time,
    /// When one would be given to an idle device that is served as this one.
    pub given: Time,
}

/// The memory in which a device keeps writes that are not on the medium yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferBelief {
    /// How much fits, in blocks.
    pub blocks: u32,
    /// How many writes fit at most.
    pub extents: u32,
    /// Whether all of it is written back before anything is read from the medium.
    pub goes_first: bool,
}

/// What can be had of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// The blocks that pass while the arm can be there, in the order in which they do; either may be empty.
    pub ranges: [(Lbn, Lbn); 2],
    /// As many as could pass in that time.
    pub blocks: u64,
    /// The most blocks that are read in one command without loss.
    pub longest: u32,
    /// The block after the last one of the track.
    pub track_end: Lbn,
}

/// What a predictor that learns in use knows of its device by now, and how sure it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grasp {
    /// One revolution; nothing is known to turn while it is zero.
    pub turn: Span,
    /// Of a thousand blocks, those at whose angles it is known when they pass.
    pub known: u16,
    /// How far off forecasts of times are of late.
    pub off: Span,
    /// How far off distance alone would be.
    pub usual: Span,
    /// What requests are ordered by.
    pub basis: OrderBasis,
}

/// What waiting requests are ordered by, as far as the device is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderBasis {
    /// Distance: nothing better is known.
    #[default]
    Distance,
    /// Their arrival, since distance gains nothing.
    Arrival,
    /// Forecasts of what they cost.
    Forecasts,
}

/// What the scheduler believes of a device, from a profile or from past times, never from the device itself.
///
/// Costs are in ticks, a unit of the predictor's own, and mean: how long from now until the first block of a
/// request could be transferred.
pub trait Predictor {
    /// Where a request lies: found once, when it arrives, and kept with it.
    type Spot: Copy;
    /// What a decision needs to know of it beyond its key.
    type Mark: Copy;
    /// Where the head is, prepared for one decision.
    type Head: Copy;

    /// Whether costs are waits for angles, which the low half of a key holds: then [`Predictor::swing`] tells how far the arm gets.
    const TURNS: bool = false;

    /// Where a request lies. The caller guarantees that the extent is not empty and within the device,
    /// unless the request is a flush.
    fn spot(&self, at: Extent) -> Self::Spot;

    /// Its place along the stroke, and along the track within that.
    fn key(&self, spot: Self::Spot) -> u64;

    /// What a decision needs to know of it beyond its key.
    fn mark(&self, spot: Self::Spot) -> Self::Mark;

    /// The cylinder it begins on, where cylinders are known.
    fn cylinder(&self, spot: Self::Spot) -> Option<u32> {
        let _ = spot;
        None
    }

    /// Where the head is at `now`, and the key of that place.
    fn head(&self, now: Time) -> (Self::Head, u64);

    /// The same of an arm that is behind block `block`, where it can tell several arms apart; else where the head is.
    fn head_behind(&self, block: Lbn, now: Time) -> (Self::Head, u64) {
        let _ = block;
        self.head(now)
    }

    /// The cost of going there, to read or to write.
    fn cost(&self, head: &Self::Head, key: u64, mark: Self::Mark, direction: Direction) -> u64;

    /// [`Predictor::cost`] of what is not apart ([`Swing::apart`]), while the phase is known.
    fn cost_of_way(&self, head: &Self::Head, key: u64, mark: Self::Mark, direction: Direction) -> u64 {
        self.cost(head, key, mark, direction)
    }

    /// How the head stands to what comes round; asked only of one that `TURNS`.
    fn swing(&self, head: &Self::Head, direction: Direction) -> Swing<'_> {
        let _ = (head, direction);
        Swing { cylinder: 0, phase: 0, turns: false, leaves: 0, apart: u64::MAX, reach: &[] }
    }

    /// What these keys, all of a range and none costing less than `least`, tell of their costs without a look at what lies there.
    fn sieve(&self, head: &Self::Head, least: u64, keys: &[u64], range: (u64, u64)) -> Sieve {
        let _ = (head, least, keys, range);
        Sieve::OPEN
    }

    /// A lower bound: nothing with a key in `from..=to` costs less. It makes pruning sound.
    fn least(&self, head: &Self::Head, from: u64, to: u64, direction: Direction) -> u64;

    /// A lower bound of all that lies at such a distance or farther, in cylinders, but for what is apart ([`Swing::apart`]).
    fn least_from(&self, head: &Self::Head, distance: u32, direction: Direction) -> u64 {
        let _ = (head, distance, direction);
        0
    }

    /// [`Predictor::least`] of all keys from `from` on: what a search asks at each of its steps.
    fn least_above(&self, head: &Self::Head, from: u64, direction: Direction) -> u64 {
        self.least(head, from, u64::MAX, direction)
    }

    /// [`Predictor::least`] of all keys up to `to`.
    fn least_below(&self, head: &Self::Head, to: u64, direction: Direction) -> u64 {
        self.least(head, 0, to, direction)
    }

    /// Whether [`Predictor::least`] may say more of these keys than of all that lie beyond them, as seen from the head.
    fn is_told_closer(&self, from: u64, to: u64) -> bool {
        let _ = (from, to);
        true
    }

    /// Where a head at `head` is when it has served what lies at `spot`, and the key of that place; of use until the next
    /// `head`.
    fn head_after(&self, head: &Self::Head, at: Extent, spot: Self::Spot, direction: Direction) -> (Self::Head, u64);

    /// How long the transfer of blocks that begin at `spot` takes, from when the first is under the head; nothing where costs
    /// hold it already, or it is not known.
    fn transfer(&self, at: Extent, spot: Self::Spot) -> Span {
        let _ = (at, spot);
        Span::ZERO
    }

    /// The same of blocks that were not found before.
    fn transfer_of(&self, at: Extent) -> Span {
        self.transfer(at, self.spot(at))
    }

    /// What a write without FUA costs wherever it lies, while the device is believed to take it into its buffer at once.
    fn buffered_cost(&self, now: Time) -> Option<u64> {
        let _ = now;
        None
    }

    /// Where what is next written into the buffer should lie near to, by the way of the arm alone: a device writes back what lies
    /// nearest among the oldest few that it has.
    fn buffered_beside(&self) -> (Self::Head, u64) {
        self.head(Time::ZERO)
    }

    /// What takes in writes; nothing where the device is not known to have such.
    fn buffer(&self) -> Option<BufferBelief> {
        None
    }

    /// Whether the last write into the buffer had to wait there for room.
    fn has_waited(&self) -> bool {
        false
    }

    /// Whether it knows what a request at `spot` costs, were it the next.
    fn knows(&self, spot: Self::Spot, direction: Direction) -> bool {
        let _ = (spot, direction);
        true
    }

    /// What waiting requests are to be ordered by: one that learns in use may not know enough yet for its costs to count.
    fn order_basis(&self) -> OrderBasis {
        OrderBasis::Forecasts
    }

    /// What it knows by now; nothing where it does not learn in use.
    fn grasp(&self) -> Option<Grasp> {
        None
    }

    /// Things it remembers of the device, and their memory in bytes; nothing where it does not learn.
    fn memory(&self) -> Option<(usize, usize)> {
        None
    }

    /// How far the times it believed are from those commands took, as distributions; nothing where that is not compared.
    fn demerit(&self) -> Option<Span> {
        None
    }

    /// A span in ticks.
    fn ticks(&self, span: Span) -> u64;

    /// The block after the last one commanded: where policies that know only block numbers take the arm to be.
    fn arm(&self) -> Lbn;

    /// The way to a request that lies at `spot`; nothing where the phase is not known, or the request only goes on
    /// where the last command ended, so that there is nothing to wait for.
    fn approach(&self, now: Time, at: Extent, spot: Self::Spot, direction: Direction) -> Option<Approach> {
        let _ = (now, at, spot, direction);
        None
    }

    /// How much sooner than need be the arm should leave, so that few arrivals come too late.
    fn early(&self) -> Span {
        Span::ZERO
    }

    /// A seek over so many cylinders by itself, command overhead included.
    fn seek_time(&self, distance: u32) -> Span {
        let _ = distance;
        Span::ZERO
    }

    /// A block on the way to `spot`, after the first of so many equal parts.
    fn midway(&self, now: Time, spot: Self::Spot, parts: u32, by: SeekBy) -> Option<Lbn> {
        let _ = (now, spot, parts, by);
        None
    }

    /// By how much a part of a seek to a place takes longer that is a read, if the block is one that passes when the arm is there.
    fn touch_time(&self, spot: Self::Spot) -> Span {
        let _ = spot;
        Span::ZERO
    }

    /// How long a read takes that goes on where the last one ended.
    fn follow_on(&self, now: Time, at: Extent) -> Span {
        let _ = (now, at);
        Span(u64::MAX)
    }

    /// A command that is about to be given, if something else may be read before it while it would wait for its sector; nothing
    /// where that is not known. `still` is how much sooner than need be the arm has to be where it need not move: by how
    /// much the times of commands themselves are off.
    fn goal(&self, now: Time, verb: Verb, at: Extent, spot: Self::Spot, still: Span) -> Option<Goal<Self::Spot>> {
        let _ = (now, verb, at, spot, still);
        None
    }

    /// What passes of the track of a block while the arm can be there, and leave it in time for the goal; without one, in a
    /// revolution.
    fn passing(&self, now: Time, on: Lbn, goal: Option<&Goal<Self::Spot>>, still: Span) -> Option<Passing> {
        let _ = (now, on, goal, still);
        None
    }

    /// The tracks that are had from that of a block by a switch of heads alone.
    fn beneath(&self, on: Lbn) -> Option<disk::Beneath> {
        let _ = on;
        None
    }

    /// When a read given now comes back; nothing where the goal would then be missed, or it is not known.
    fn ending(&self, now: Time, at: Extent, goal: Option<&Goal<Self::Spot>>) -> Option<Time> {
        let _ = (now, at, goal);
        None
    }

    /// About how many blocks the track of a spot has.
    fn track_blocks(&self, spot: Self::Spot) -> u64 {
        let _ = spot;
        1
    }

    /// When the command in flight should come back, where that is known.
    fn completion_time(&self) -> Option<Time> {
        None
    }

    /// From now on a command may be given while another is in service, and then follows it. Says whether it can tell how.
    fn expect_followers(&mut self) -> bool {
        false
    }

    /// How a command would follow the one in flight, where that is known.
    fn follower(&self, now: Time) -> Option<Follower> {
        let _ = now;
        None
    }

    /// A command was issued that waits in the device for the one in flight, and follows it at once.
    fn note_follower(&mut self, now: Time, command: &Command, spot: Self::Spot) {
        self.note_issue(now, command, spot);
    }

    /// The first of two commands came back, the other of which follows it.
    fn note_followed(&mut self, happened: Time, command: &Command, outcome: Outcome) {
        self.note_completion(happened, command, outcome);
    }

    /// One revolution; a device without has none.
    fn turn(&self) -> Span {
        Span(u64::MAX)
    }

    /// How long the device must be left alone before it would have something read to learn from; nothing where it would not.
    fn patience(&self) -> Option<Span> {
        None
    }

    /// What it would have read at `now`, while nobody else needs the device; nothing where it knows enough.
    fn probe(&mut self, now: Time) -> Option<Extent> {
        let _ = now;
        None
    }

    /// A command was issued for a request, or part of one, that lies at `spot`.
    fn note_issue(&mut self, now: Time, command: &Command, spot: Self::Spot);

    /// What was issued just now may be in the drive's cache: when it comes back says nothing of where the platter is.
    fn distrust(&mut self) {}

    /// A command came back.
    fn note_completion(&mut self, happened: Time, command: &Command, outcome: Outcome);

    /// A read that is alone in the device came back well, and that of what lies behind it was issued at once.
    #[inline(always)]
    fn note_further(&mut self, now: Time, before: &Command, next: &Command) {
        self.note_completion(now, before, Outcome::Ok);
        let spot = self.spot(next.at);
        self.note_issue(now, next, spot);
    }
}
