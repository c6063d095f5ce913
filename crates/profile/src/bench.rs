//! One command at a time: what a probe may do with a device, and the count of what it did.

use crate::draw::Draw;
use block::{At, BadInput, Command, Device, Extent, Outcome, Place, Span, Tag, Time, Verb};

/// A command that has not come back after so long never will.
const LOST: Span = Span(60_000_000_000);
/// A reply that took so long says nothing of the mechanics.
const STALL: Span = Span(500_000_000);
/// Reads that fail, at most, before the device is given up.
const FAILURES: u64 = 10_000;

/// A command and how it came back.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// When it was given.
    pub issued: Time,
    /// When it came back.
    pub end: Time,
    /// Whether it was done.
    pub done: bool,
}

impl Reply {
    /// Its response time.
    #[must_use]
    pub fn response(self) -> Span {
        self.end.since(self.issued)
    }
}

/// What answers from the device's memory look like, and what drives them out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// The response of a one-block read from memory: no less and no more.
    pub hit: Option<(Span, Span)>,
    /// Reads from elsewhere after which nothing is left of a read.
    pub forgotten_after: u32,
}

/// A device on the bench.
#[derive(Debug)]
pub struct Bench<'d, D> {
    device: &'d mut D,
    name: String,
    /// The generator of everything drawn.
    pub draw: Draw,
    /// What is known of its memory.
    pub memory: Memory,
    /// Blocks of a physical sector, as a power of two.
    pub shift: u32,
    /// Commands given.
    pub commands: u64,
    /// Sectors that could not be read, in the order met.
    pub unreadable: Vec<u64>,
    /// Replies that stalled.
    pub stalls: u64,
}

impl<'d, D: Device> Bench<'d, D> {
    /// A device by the name its errors give it.
    pub fn new(name: &str, device: &'d mut D, seed: u64) -> Bench<'d, D> {
        Bench {
            device,
            name: name.into(),
            draw: Draw::new(seed),
            memory: Memory::default(),
            shift: 0,
            commands: 0,
            unreadable: Vec::new(),
            stalls: 0,
        }
    }

    /// Its capacity in physical sectors.
    pub fn sectors(&self) -> u64 {
        self.device.caps().blocks >> self.shift
    }

    /// Its capacity in blocks.
    pub fn blocks(&self) -> u64 {
        self.device.caps().blocks
    }

    /// The time now.
    pub fn now(&self) -> Time {
        self.device.now()
    }

    /// Does nothing for a while.
    pub fn idle(&mut self, span: Span) {
        let until = self.device.now() + span;
        let _ = self.device.next(until);
    }

    /// An error about the device.
    pub fn error(&self, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        BadInput::new(self.name.clone(), At::File, what, mend)
    }

    /// Gives a command and waits for it.
    ///
    /// # Errors
    /// When it does not come back within a minute.
    pub fn command(&mut self, verb: Verb, at: Extent) -> Result<Reply, BadInput> {
        let issued = self.device.now();
        self.commands += 1;
        self.device.issue(Tag(0), Command { verb, at, place: Place::Nowhere });
        match self.device.next(issued + LOST) {
            Some((end, _, outcome)) => Ok(Reply { issued, end, done: outcome == Outcome::Ok }),
            None => {
                Err(self.error("a command did not come back within a minute", "see whether the device still works"))
            }
        }
    }

    /// Reads one block of a physical sector, from wherever it comes. Nothing if it cannot be read.
    ///
    /// # Errors
    /// When the device is lost, or reads fail all over it.
    pub fn read(&mut self, sector: u64) -> Result<Option<Reply>, BadInput> {
        for _ in 0..4 {
            let reply = self.command(Verb::Read, Extent::new(sector << self.shift, 1))?;
            if !reply.done {
                self.unreadable.push(sector);
                if self.unreadable.len() as u64 > FAILURES {
                    let what = format!("{FAILURES} reads failed, the last of block {}", sector << self.shift);
                    return Err(self.error(what, "profile a device that can be read"));
                }
                return Ok(None);
            }
            if reply.response() < STALL {
                return Ok(Some(reply));
            }
            self.stalls += 1;
        }
        let what = format!("reads of block {} take longer than {} ms each time", sector << self.shift, STALL.as_ms());
        Err(self.error(what, "profile a device that answers"))
    }

    /// One block of a sector, by this verb, as it comes; nothing if that fails or stalls.
    ///
    /// # Errors
    /// As [`Bench::command`].
    pub fn one(&mut self, verb: Verb, sector: u64) -> Result<Option<Reply>, BadInput> {
        let reply = self.command(verb, Extent::new(sector << self.shift, 1))?;
        Ok((reply.done && reply.response() < STALL).then_some(reply))
    }

    /// Reads one block of a sector from the medium: what memory answers is driven out and asked again. Nothing if it
    /// cannot be read.
    ///
    /// # Errors
    /// As [`Bench::read`].
    pub fn read_medium(&mut self, sector: u64) -> Result<Option<Reply>, BadInput> {
        for _ in 0..3 {
            let Some(reply) = self.read(sector)? else { return Ok(None) };
            if !self.is_hit(reply.response()) {
                return Ok(Some(reply));
            }
            self.forget(sector)?;
        }
        self.read(sector)
    }

    /// Whether a response may have come from memory.
    pub fn is_hit(&self, response: Span) -> bool {
        self.memory.hit.is_some_and(|(least, most)| (least..=most).contains(&response))
    }

    /// Reads around a sector until nothing of it is left in the device's memory.
    ///
    /// # Errors
    /// As [`Bench::read`].
    pub fn forget(&mut self, sector: u64) -> Result<(), BadInput> {
        let (all, reach) = (self.sectors(), 1u64 << 17);
        let low = sector.saturating_sub(reach).min(all.saturating_sub(2 * reach));
        let span = (2 * reach).min(all);
        let (mut left, mut tries) = (self.memory.forgotten_after, 4 * self.memory.forgotten_after);
        while left > 0 && tries > 0 {
            tries -= 1;
            let other = low + self.draw.below(span);
            if let Some(reply) = self.read(other)?
                && !self.is_hit(reply.response())
            {
                left -= 1;
            }
        }
        Ok(())
    }
}
