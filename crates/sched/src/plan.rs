//! How one request becomes a sequence of short drive commands (Virtual IO, Sections 3.1 to 3.3), and who may step in
//! between.

pub use crate::preemption::Preemption;

use crate::policy::{Chosen, IopsClaim};
use crate::shares::Claim;
use crate::turns::ShareRules;
use crate::value::Worth;
use block::{BLOCK_BYTES, Mark, Span};
use config::{Word, Words};
use disk::Sheet;

/// How requests are served: in commands of a chunk, the seek just in time, long seeks split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Most blocks of a command.
    pub chunk: u32,
    /// How it is longer while the host is late, so that the device goes on meanwhile; nothing: it never is.
    pub late: Option<LatePlan>,
    /// Whether the seek is put off until just in time: the slack before it can be used or given up.
    pub jit: bool,
    /// How much sooner than need be the arm should arrive: what a prediction may be off. Nothing: as much as the
    /// predictor finds it takes.
    pub offset: Option<Span>,
    /// What to do where there is less slack than `offset`.
    pub short: Short,
    /// When a long seek is made in parts.
    pub split: Split,
    /// A seek over more than this share of the cylinders is long.
    pub split_beyond: f64,
    /// Into so many parts.
    pub split_parts: u32,
    /// When the slack is used to read on after what was read last.
    pub prefetch: Prefetch,
    /// At most so many chunks at once.
    pub prefetch_most: u32,
    /// How long before the seek reading on must have ended.
    pub prefetch_margin: Span,
    /// Most blocks of a command that writes.
    pub write_chunk: WriteChunk,
    /// Whether the last command of a write completes on the medium (force unit access), so that none waits later for
    /// the drive to write back.
    pub last_fua: LastFua,
}

/// What commands that are longer while the host is late depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatePlan {
    /// What the bus takes for a block.
    pub bus: Span,
    /// The most blocks of one: where the drive reads on no further than this, longer ones gain nothing.
    pub most: u32,
}

impl LatePlan {
    /// Where nothing is known of the device: commands of up to 2 MiB, and a bus of 550 MB/s.
    pub const USUAL: LatePlan = LatePlan { bus: Span(931), most: 4096 };

    /// For a drive of this sheet.
    #[must_use]
    pub fn of(sheet: &Sheet) -> LatePlan {
        let bus = sheet.bus.mb_s.map_or(Span::ZERO, |rate| Span((BLOCK_BYTES as f64 * 1e3 / rate) as u64));
        LatePlan { bus, most: sheet.cache.segment }
    }
}

/// Where the last command of a write completes that need not be on the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastFua {
    /// In the device's buffer, however full that is.
    Never,
    /// On the medium, always.
    Always,
    /// In the device's buffer, which holds no more than pays where someone urgent may come.
    #[default]
    Auto,
}

/// The most that a command writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteChunk {
    /// What any command transfers.
    #[default]
    AsRead,
    /// At most so many blocks.
    Blocks(u32),
    /// Equal parts of what passes in most of a revolution, or in less where a write goes on behind the one before.
    Turn,
}

/// What to do where the wait for the sector is shorter than the offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Short {
    /// Go: what comes too late costs a revolution.
    #[default]
    AtOnce,
    /// Take the sector when it comes round next; until then anything may step in.
    NextRevolution,
}

impl Words for Short {
    const WORDS: &'static [Word<Short>] = &[
        Word::new("at-once", Short::AtOnce, "go; what comes too late costs a revolution"),
        Word::new(
            "next-revolution",
            Short::NextRevolution,
            "wait for the sector to come round again; until then anything may step in",
        ),
    ];
}

/// When a long seek is split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Long seeks are never split.
    #[default]
    Never,
    /// Long seeks are always split.
    Always,
    /// When the slack is long enough that it costs nothing.
    Masked,
}

impl Words for Split {
    const WORDS: &'static [Word<Split>] = &[
        Word::new("never", Split::Never, "never"),
        Word::new("always", Split::Always, "always"),
        Word::new("masked", Split::Masked, "in as many parts as slack hides, so that it costs nothing"),
    ];
}

/// When slack is used to read ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Prefetch {
    /// Nothing is read ahead.
    #[default]
    Never,
    /// After a read that continued another of its class.
    Streams,
    /// Reading goes on after any read.
    Always,
}

impl Words for Prefetch {
    const WORDS: &'static [Word<Prefetch>] = &[
        Word::new("never", Prefetch::Never, "never"),
        Word::new("streams", Prefetch::Streams, "after a read that continued another of its class"),
        Word::new("always", Prefetch::Always, "after any read"),
    ];
}

impl Plan {
    /// The prototype of Virtual IO on its disk of 2001: chunks of 50 blocks, an offset of 1.5 ms, seeks of more than
    /// half the disk in two.
    ///
    /// What the paper does not say is as its tables suggest: the next revolution where the slack is short, at most
    /// four chunks of free prefetching, over a millisecond before the seek.
    pub const VIRTUAL_IO_2002: Plan = Plan {
        chunk: 50,
        late: None,
        jit: true,
        offset: Some(Span(1_500_000)),
        short: Short::NextRevolution,
        split: Split::Always,
        split_beyond: 0.5,
        split_parts: 2,
        prefetch: Prefetch::Never,
        prefetch_most: 4,
        prefetch_margin: Span(1_000_000),
        write_chunk: WriteChunk::AsRead,
        last_fua: LastFua::Always,
    };

    /// The same ideas for use: nothing that costs throughput without need. A last command on the medium costs a write a
    /// revolution and drains the drive's buffer, and who comes waits no less for it.
    #[must_use]
    pub const fn of_chunk(chunk: u32) -> Plan {
        let plan = Plan { chunk, offset: None, short: Short::AtOnce, ..Plan::VIRTUAL_IO_2002 };
        Plan { split: Split::Masked, last_fua: LastFua::Auto, ..plan }
    }
}

/// What has to be left so that requests may still interrupt others (Preemptive RAID scheduling, Section 4.2.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Of the last seconds, the share in which the disk had nothing to do.
    pub idle: f64,
    /// Of the write buffer, the share that is free.
    pub free: f64,
}

/// When the one that steps in takes over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PreemptAt {
    /// At once when the command in flight has come back; until its own seek the drive does nothing.
    Command,
    /// When its own seek is due; until then the one interrupted goes on.
    #[default]
    Jit,
}

impl Words for PreemptAt {
    const WORDS: &'static [Word<PreemptAt>] = &[
        Word::new(
            "jit",
            PreemptAt::Jit,
            "when its own seek is due; until then the interrupted request keeps the drive",
        ),
        Word::new("command", PreemptAt::Command, "at once after the command in flight"),
    ];
}

/// What differs by class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassRule {
    /// Whether its requests interrupt others.
    pub preempts: bool,
    /// Whether its requests can be interrupted.
    pub preemptible: bool,
    /// The policy by which its requests are ordered, apart from those of others; nothing: with them.
    pub order: Option<Chosen>,
    /// Whether an array reads parts of one request from several copies at once.
    pub splits: bool,
    /// Whether its reads may come back in any order, each piece when it costs no other request anything.
    pub any_order: bool,
    /// How often a command of its requests is given to a device again that did not do it.
    pub retries: u8,
    /// With [`Preemption::Slo`]: in how long 99 % of its requests are to be done.
    pub p99: Option<Span>,
    /// What it may have of the arm's time, where that is said.
    pub claim: Option<Claim>,
    /// The same by number of requests, to policies that count those.
    pub iops: Option<IopsClaim>,
    /// What it weighs, to a policy that shares out turns by weight.
    pub weight: f64,
    /// What its requests are worth.
    pub worth: Worth,
    /// What its commands ask of a drive that orders them.
    pub mark: Mark,
}

impl ClassRule {
    /// What holds where nothing is said.
    pub const USUAL: ClassRule = ClassRule {
        preempts: true,
        preemptible: true,
        order: None,
        splits: false,
        any_order: false,
        retries: 0,
        p99: None,
        claim: None,
        iops: None,
        weight: 1.0,
        worth: Worth::USUAL,
        mark: Mark::Plain,
    };
}

/// How a core serves requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Rules {
    /// Requests in short commands; nothing: each in one.
    pub plan: Option<Plan>,
    /// Which class may interrupt which.
    pub preemption: Preemption,
    /// The points at which it may do so.
    pub preempt_at: PreemptAt,
    /// By value: how many times as much the one must yield as the other; at least 1.
    pub hysteresis: f64,
    /// What has to be left so that any may interrupt.
    pub budget: Option<Budget>,
    /// Whether a write is served even past its hard deadline, since elsewhere half of it may be done.
    pub keeps_writes: bool,
    /// Whether the core says what requests wait for, for a record of them.
    pub tells: bool,
    /// What classes and volumes may have of the arm's time, where that is shared out.
    pub shares: Option<ShareRules>,
    /// Whether the core says who pays for each command.
    pub bills: bool,
    /// Whether it says with that what of a command's time the arm is believed to move and to wait for.
    pub divides: bool,
    /// By class; a class past the end has the default.
    pub classes: Vec<ClassRule>,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            plan: None,
            preemption: Preemption::default(),
            preempt_at: PreemptAt::default(),
            hysteresis: 1.0,
            budget: None,
            keeps_writes: false,
            tells: false,
            shares: None,
            bills: false,
            divides: false,
            classes: Vec::new(),
        }
    }
}

impl Rules {
    /// Whether who interrupts is settled by whole schedules, for which it is counted what classes ask for.
    #[must_use]
    pub(crate) fn weighs_schedules(&self) -> bool {
        self.preemption == Preemption::Lookahead
    }

    /// Whether the commands of any class ask for anything of a drive.
    #[must_use]
    pub(crate) fn marks_commands(&self) -> bool {
        self.classes.iter().any(|class| class.mark != Mark::Plain)
    }

    /// What holds for a class.
    #[must_use]
    pub fn class(&self, class: u8) -> &ClassRule {
        self.classes.get(usize::from(class)).unwrap_or(&ClassRule::USUAL)
    }
}

/// Blocks of the chunk a drive streams in at the medium's pace, command after command: twice what its fastest track
/// turns out in the time of a command's overhead, in whole 4 KiB.
#[must_use]
pub fn chunk_for(sheet: &Sheet) -> u32 {
    let layout = &sheet.mechanics.layout;
    let fastest = layout.longest_track() << layout.sector_shift();
    let a_second = f64::from(fastest) / (sheet.mechanics.rotation.period_ns() / 1e9);
    let bus = sheet.bus.mb_s.map_or(0.0, |rate| BLOCK_BYTES as f64 / 1e6 / rate);
    // What the bus takes is not there for the overhead.
    let share = (1.0 - bus * a_second).clamp(0.1, 1.0);
    let hidden = sheet.overheads.hit.read.as_secs() * a_second / share;
    ((2.0 * hidden / 8.0).ceil() as u32 * 8).max(8)
}
