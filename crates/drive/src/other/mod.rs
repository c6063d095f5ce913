//! Devices that are not a disk. One file each.
//!
//! None of them but that with two actuators changes its mind: what a command will take is known when it comes, and depends on nothing
//! that comes later. A `Timing` says what; `Timed` makes a machine of it, with its account.

mod alone;
mod dual;
mod flash;
mod link;
mod mirror;
mod smr;
mod store;
mod tape;
mod zoned;

use crate::Machine;
use crate::account::{Account, Parts};
use crate::noise::hash;
use block::errno::EINVAL;
use block::{Caps, Command, Outcome, Span, Tag, Time, Verb};
use disk::Other;
use disk::other::Kind;
pub use zoned::{ZoneCondition, ZoneReport, ZoneRules, Zones};

/// The machine of a device that is not a disk, at rest; what varies is given by the seed.
#[must_use]
pub fn machine(other: &Other, seed: u64) -> Box<dyn Machine> {
    let arms = if matches!(other.kind, Kind::Dual(_)) { 2 } else { 1 };
    let caps = Caps { blocks: other.blocks(), depth: other.depth, seek: block::SeekBy::Nothing, arms };
    match &other.kind {
        Kind::Dual(half) => Box::new(dual::Dual::new(caps, half, seed)),
        Kind::Smr(smr) => box_device(caps, smr::Shingled::new(smr, seed)),
        Kind::HostManaged(drive) => box_device(caps, zoned::HostZoned::new(drive, seed)),
        Kind::Mirror(drive) => box_device(caps, mirror::Mirror::new(drive, seed)),
        Kind::Flash(flash) => box_device(caps, flash::Flash::new(flash)),
        Kind::Store(store) => box_device(caps, store::Store::new(store, seed)),
        Kind::Tape(tape) => box_device(caps, tape::Tape::new(tape)),
    }
}

fn box_device(caps: Caps, timing: impl Timing + 'static) -> Box<dyn Machine> {
    let flying = Vec::with_capacity(usize::from(caps.depth));
    Box::new(Timed { caps, timing, flying, account: Account::default() })
}

/// The seeds of two disks in one device.
fn split_seed(seed: u64) -> [u64; 2] {
    [seed, hash(seed, 4)]
}

/// Whether a command is of blocks that there are, if it is of any.
fn is_sane(caps: Caps, Command { verb, at, .. }: Command) -> bool {
    verb == Verb::Flush || (at.blocks > 0 && at.end().0 <= caps.blocks)
}

/// What commands take in a device.
trait Timing {
    /// A command that is sane comes: whether it is one that the device does, and else the errno it fails with and what that takes.
    fn admit(&mut self, command: Command) -> Result<(), (i32, Span)> {
        let _ = command;
        Ok(())
    }

    /// The parts of a command given now. The caller guarantees that `now` never goes back, and that a transfer is of at
    /// least a block and within the device.
    fn serve(&mut self, now: Time, command: Command) -> Parts;
}

/// A command whose completion is known.
#[derive(Clone, Copy, Debug)]
struct Flying {
    tag: Tag,
    issued: Time,
    end: Time,
    outcome: Outcome,
    parts: Parts,
}

/// A device whose commands take what they take.
struct Timed<T> {
    caps: Caps,
    timing: T,
    flying: Vec<Flying>,
    account: Account,
}

impl<T: Timing> Machine for Timed<T> {
    fn caps(&self) -> Caps {
        self.caps
    }

    fn issue(&mut self, now: Time, tag: Tag, command: Command) {
        let room = self.flying.len() < usize::from(self.caps.depth);
        assert!(room, "a device takes no more commands than it has room for");
        if self.flying.is_empty() {
            self.account.until = now;
        }
        let sane = is_sane(self.caps, command);
        let admitted = if sane { self.timing.admit(command) } else { Err((EINVAL, Span::ZERO)) };
        let (mut parts, outcome) = match (admitted, command.verb) {
            (Err((errno, external)), _) => (Parts { external, ..Parts::default() }, Outcome::Failed(errno)),
            (Ok(()), Verb::Seek | Verb::Discard(_)) => (Parts::default(), Outcome::Ok),
            (Ok(()), _) => (self.timing.serve(now, command), Outcome::Ok),
        };
        if command.verb == Verb::Flush {
            let last = self.flying.iter().map(|flying| flying.end).max().unwrap_or(now);
            parts.queued += last.since(now + parts.total());
        }
        self.flying.push(Flying { tag, issued: now, end: now + parts.total(), outcome, parts });
    }

    fn next(&self) -> Option<Time> {
        self.flying.iter().map(|flying| flying.end).min()
    }

    fn finish(&mut self) -> Option<(Time, Tag, Outcome, Parts)> {
        let first = (0..self.flying.len()).min_by_key(|i| self.flying[*i].end).expect("a command is in flight");
        let done = self.flying.remove(first);
        self.account.add_command(done.issued, done.end, &done.parts);
        Some((done.end, done.tag, done.outcome, done.parts))
    }

    fn take_account(&mut self, now: Time) -> Account {
        if self.flying.is_empty() {
            self.account.until = now;
        }
        self.account.take(now)
    }
}
