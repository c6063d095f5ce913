//! A drive given one command after the other.

use block::{Command, Extent, Outcome, Place, Span, Tag, Time, Verb};
use disk::{Sheet, Truth, catalogue};
use drive::{Drive, Parts};

/// Which parts of the sheet are switched on.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    pub read_cache: bool,
    pub write_buffer: bool,
}

impl Features {
    pub fn switch_caches(self, cache: disk::Cache) -> disk::Cache {
        let read = if self.read_cache { cache } else { cache.without_read_cache() };
        if self.write_buffer { read } else { read.without_write_buffer() }
    }
}

pub const ALL_ON: Features = Features { read_cache: true, write_buffer: true };
pub const WRITE: Verb = Verb::Write { fua: false };
pub const FUA: Verb = Verb::Write { fua: true };

/// A command that came back.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    pub end: Time,
    pub took: Span,
    pub parts: Parts,
    pub outcome: Outcome,
}

#[derive(Clone)]
pub struct Rig {
    pub drive: Drive,
    pub sheet: Sheet,
    /// When the last command came back, or later.
    pub now: Time,
}

impl Rig {
    /// A drive of the catalogue without noise, everything switched on.
    pub fn quiet(name: &str) -> Rig {
        Rig::new(name, Truth::default(), ALL_ON, 1)
    }

    pub fn new(name: &str, truth: Truth, features: Features, seed: u64) -> Rig {
        let sheet = catalogue::find(name).unwrap().sheet;
        let cache = features.switch_caches(sheet.cache);
        let queue = disk::Queue { depth: 1, ..sheet.queue };
        let drive = Drive::new(&Sheet { cache, queue, ..sheet.clone() }, &truth, seed);
        Rig { drive, sheet, now: Time::ZERO }
    }

    pub fn command(&mut self, verb: Verb, at: Extent) -> Done {
        let now = self.now;
        self.drive.issue(now, Tag(3), Command::new(verb, at, Place::Nowhere));
        let announced = self.drive.next();
        let (end, tag, outcome, parts) = self.drive.finish().expect("one command at a time");
        assert_eq!((announced, tag, self.drive.next()), (Some(end), Tag(3), None));
        assert!(end >= now, "{verb:?} {at:?} issued {now:?} completed {end:?}");
        self.now = end;
        Done { end, took: end.since(now), parts, outcome }
    }

    pub fn read(&mut self, start: u64, blocks: u32) -> Done {
        self.command(Verb::Read, Extent::new(start, blocks))
    }

    pub fn write(&mut self, start: u64, blocks: u32) -> Done {
        self.command(WRITE, Extent::new(start, blocks))
    }

    pub fn flush(&mut self) -> Done {
        self.command(Verb::Flush, Extent::default())
    }

    pub fn pause(&mut self, span: Span) {
        self.now += span;
    }

    pub fn blocks(&self) -> u64 {
        self.sheet.mechanics.layout.blocks()
    }

    pub fn revolution(&self) -> Span {
        self.sheet.mechanics.rotation.period()
    }
}

/// SplitMix64: places that follow no pattern a drive could use.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(limit)) >> 64) as u64
    }
}
