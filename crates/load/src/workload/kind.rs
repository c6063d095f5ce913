//! What a kind of workload says of itself: its name, its keys, and what the rest of the program asks of it.

use super::pattern::Region;
use super::{ScanPlan, Workload};
use crate::draw::Draw;
use block::{At, BadInput, Span};
use config::{About, Section};
use sched::array::Level;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

/// The most requests that a workload keeps outstanding.
pub(super) const MOST_AT_ONCE: u32 = 1 << 20;

/// A workload as an experiment asks for it: the values of the keys of its kind. The file of the kind implements this, and
/// `workload/mod.rs` lists the file.
pub trait Recipe: Clone + Debug + PartialEq + Sized {
    /// What users are told of the kind; of each, where a file has several that differ little.
    const MANUALS: &'static [Manual];

    /// Reads the keys of the kind called `name` from a `[[workload]]`; files that it names are relative to `folder`.
    ///
    /// # Errors
    /// Bad input with file, line and mend.
    fn read(name: &str, section: &Section, folder: &Path) -> Result<Self, BadInput>;

    /// The source of the requests of the workload called `name`, on a drive of `blocks` blocks.
    ///
    /// # Errors
    /// When it does not fit the drive, or its trace cannot be read; and of processes, which only a system can run.
    fn build(&self, name: &str, blocks: u64, draw: Draw) -> Result<Box<dyn Workload>, BadInput> {
        let _ = (blocks, draw);
        let place = format!("workload '{name}'");
        Err(BadInput::new(place, At::File, "processes need processors", "let a system run them"))
    }

    /// Blocks of its longest request; where that is not known, a length that such requests often have.
    fn longest(&self) -> u32;

    /// Blocks of each of its requests, where all are alike.
    fn length(&self) -> Option<u32> {
        None
    }

    /// Requests of an operation, of which each is asked for when the one before has ended; 1 where each is for itself.
    fn cascade(&self) -> u32 {
        1
    }

    /// The deadline of its requests, where its own keys say one.
    fn deadline(&self) -> Option<Span> {
        None
    }

    /// Whether it goes on until something else ends the run.
    fn is_endless(&self) -> bool;

    /// Whether its requests arrive no matter how many are outstanding.
    fn is_open(&self) -> bool {
        false
    }

    /// The requests that it keeps outstanding, where a completion is what makes it ask again.
    fn outstanding(&self) -> Option<u32> {
        None
    }

    /// How many of its requests are each followed by another when it ends, for as long as the run lasts, and after what time.
    fn renewal(&self) -> Option<(u32, Span)> {
        self.outstanding().map(|requests| (requests, Span::ZERO))
    }

    /// Whether it repairs an array.
    fn repairs(&self) -> bool {
        false
    }

    /// Whether it has an array grow by a disk.
    fn grows(&self) -> bool {
        false
    }

    /// Tells it what array it asks: its level, disks and stripe unit in blocks.
    fn lie_on(&mut self, level: Level, disks: u16, unit: u32) {
        let _ = (level, disks, unit);
    }

    /// The scan that it is, where it wants blocks in any order and asks for none.
    fn scan(&self) -> Option<&ScanPlan> {
        None
    }

    /// Whether it is a whole recorded machine, whose processors are all taken.
    fn is_machine(&self) -> bool {
        false
    }

    /// The files that it reads.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Keeps its requests to a part of the drive, where its kind has the key `volume`.
    fn confine(&mut self, region: Region) {
        let _ = region;
    }
}

/// What users are told of a kind of workload.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// What it is called in a file.
    pub name: &'static str,
    /// What it asks, when, and where it comes from.
    pub text: &'static str,
    /// Its keys in `[[workload]]`, besides those of every workload.
    pub keys: &'static [About],
    /// Those of its keys that go with some values of another.
    pub only: &'static [Only],
    /// Lines of `[[workload]]` that ask for it.
    pub example: &'static str,
    /// Whether its requests are those of processes, which run on a `[system]`.
    pub processes: bool,
}

/// A key that is of use only with some values of another.
#[derive(Clone, Copy, Debug)]
pub struct Only {
    /// The key that is restricted.
    pub key: &'static str,
    /// The other, which takes words.
    pub with: &'static str,
    /// The values of it that this kind takes.
    pub values: &'static [&'static str],
}
