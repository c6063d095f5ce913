//! Disks with a cache that forgets, and the power that goes.

use super::BLOCK;
use crate::kernel::Kernel;
use crate::memory::Slice;
use crate::ring::{RingOp, RingToken};
use crate::unit::{Done, LiveDevice, Stored};
use block::errno::EIO;
use block::{Caps, Command, Extent, Outcome, Span, Tag, Time, Verb};
use load::Draw;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

pub(super) type Held = [u8; BLOCK];

/// The power, and the clock.
pub(super) struct Power {
    pub(super) draw: Draw,
    pub(super) now: Time,
    /// Blocks that can still be written.
    pub(super) left: u64,
    pub(super) off: bool,
    /// Whether disks make zeros in no time.
    pub(super) empties: bool,
    /// What disks are to have on their media, and will tell that they do.
    pub(super) stores: Vec<Storing>,
}

pub(super) struct Storing {
    due: Time,
    number: u32,
    platter: Rc<RefCell<Platter>>,
    at: Extent,
    blocks: Vec<Held>,
}

impl Storing {
    /// Puts it down, all of it or any part.
    fn put(&self, draw: &mut Draw, whole: bool) {
        let mut platter = self.platter.borrow_mut();
        for (block, held) in (self.at.start.0..).zip(&self.blocks) {
            if whole || draw.below(2) == 0 {
                platter.medium[block as usize] = *held;
                platter.cached.retain(|(cached, _)| *cached != block);
            }
        }
    }
}

impl Power {
    /// What was being stored when the power went is there in part.
    pub(super) fn tear_stores(&mut self) {
        for store in std::mem::take(&mut self.stores) {
            store.put(&mut self.draw, false);
        }
    }

    /// The next that is stored by now: its number, and how many bytes.
    fn end_store(&mut self) -> Option<(u32, i32)> {
        let place = self.stores.iter().position(|store| store.due <= self.now)?;
        if !self.spend() {
            return None;
        }
        let store = self.stores.swap_remove(place);
        store.put(&mut self.draw, true);
        Some((store.number, (store.blocks.len() * BLOCK) as i32))
    }

    /// One more write: whether there is power for it.
    fn spend(&mut self) -> bool {
        self.off |= self.left == 0;
        self.left = self.left.saturating_sub(1);
        !self.off
    }
}

/// What a disk holds, and what only its cache does.
pub(super) struct Platter {
    pub(super) medium: Vec<Held>,
    pub(super) cached: Vec<(u64, Held)>,
    /// Blocks that cannot be read until they are written.
    pub(super) bad: BTreeSet<u64>,
}

impl Platter {
    /// One that holds this everywhere.
    pub(super) fn holding(held: Held, blocks: u64) -> Rc<RefCell<Platter>> {
        let medium = vec![held; blocks as usize];
        Rc::new(RefCell::new(Platter { medium, cached: Vec::new(), bad: BTreeSet::new() }))
    }

    fn is_bad(&self, at: Extent) -> bool {
        self.bad.range(at.start.0..at.end().0).next().is_some()
    }

    pub(super) fn holds(&self, block: u64) -> Held {
        let cached = self.cached.iter().rev().find(|(at, _)| *at == block);
        cached.map_or(self.medium[block as usize], |(_, held)| *held)
    }

    /// The cache is gone: of each block any of what was written is left, or what was there before.
    pub(super) fn cut(&mut self, draw: &mut Draw) {
        for (block, held) in std::mem::take(&mut self.cached) {
            if draw.below(2) == 0 {
                self.medium[block as usize] = held;
            }
        }
    }
}

pub(super) struct Disk {
    pub(super) power: Rc<RefCell<Power>>,
    pub(super) platter: Rc<RefCell<Platter>>,
    pub(super) flying: Vec<(Time, Tag, Command, Option<Slice>)>,
    /// From when on it fails all it is asked.
    pub(super) fails: Time,
}

pub(super) fn bytes_of(memory: &Slice, block: usize) -> Held {
    let mut held = [0; BLOCK];
    memory.buffer.get(memory.from + block * BLOCK, &mut held);
    held
}

impl Disk {
    /// What is in flight when the power goes is done in part.
    fn tear(&mut self) {
        let mut power = self.power.borrow_mut();
        for (_, _, command, memory) in self.flying.drain(..) {
            let Some(memory) = memory.filter(|_| command.verb.writes()) else { continue };
            for block in 0..u64::from(command.at.blocks) {
                if power.draw.below(2) == 0 {
                    let held = bytes_of(&memory, block as usize);
                    self.platter.borrow_mut().cached.push((command.at.start.0 + block, held));
                }
            }
        }
    }

    fn carry_out(&mut self, command: &Command, memory: Option<&Slice>) -> Outcome {
        let mut platter = self.platter.borrow_mut();
        let power = self.power.borrow();
        if power.now >= self.fails {
            return Outcome::Failed(EIO);
        }
        if command.verb == Verb::Read && platter.is_bad(command.at) {
            return Outcome::Failed(EIO);
        }
        for number in 0..u64::from(command.at.blocks) {
            let (Some(memory), block) = (memory, command.at.start.0 + number) else { break };
            match command.verb {
                Verb::Read => {
                    memory.buffer.put(memory.from + number as usize * BLOCK, &platter.holds(block));
                }
                Verb::Write { fua } => {
                    let held = bytes_of(memory, number as usize);
                    platter.cached.push((block, held));
                    platter.bad.remove(&block);
                    if fua {
                        platter.medium[block as usize] = held;
                        platter.cached.retain(|(at, _)| *at != block);
                    }
                }
                _ => {}
            }
        }
        if command.verb == Verb::Flush {
            for (block, held) in std::mem::take(&mut platter.cached) {
                platter.medium[block as usize] = held;
            }
        }
        Outcome::Ok
    }
}

impl LiveDevice for Disk {
    fn caps(&self) -> Caps {
        Caps { blocks: self.platter.borrow().medium.len() as u64, depth: 4, seek: block::SeekBy::Nothing, arms: 1 }
    }

    fn issue(
        &mut self,
        now: Time,
        tag: Tag,
        command: &Command,
        memory: Option<Slice>,
        _: &mut dyn Kernel,
    ) -> io::Result<()> {
        let took = 1 + self.power.borrow_mut().draw.below(300);
        self.flying.push((now + Span(took), tag, *command, memory));
        Ok(())
    }

    fn due(&self) -> Option<Time> {
        self.flying.iter().map(|(at, ..)| *at).min()
    }

    fn next_completion(&mut self, now: Time) -> Option<Done> {
        let place = self.flying.iter().position(|(at, ..)| *at <= now)?;
        let writes = self.flying[place].2.verb.writes();
        if self.power.borrow().off || writes && !self.power.borrow_mut().spend() {
            return None;
        }
        let (_, tag, command, memory) = self.flying.swap_remove(place);
        Some(Done::now(now, tag, self.carry_out(&command, memory.as_ref())))
    }

    fn peek(&mut self, at: Extent, into: &Slice) -> bool {
        if self.platter.borrow().is_bad(at) {
            return false;
        }
        for number in 0..u64::from(at.blocks) {
            let held = self.platter.borrow().holds(at.start.0 + number);
            into.buffer.put(into.from + number as usize * BLOCK, &held);
        }
        true
    }

    fn alike(&mut self, at: Extent) -> (u64, bool) {
        let platter = self.platter.borrow();
        let zeros = (at.start.0..at.end().0).all(|block| platter.holds(block) == [0; BLOCK]);
        (at.blocks.into(), !zeros)
    }

    fn can_empty(&self) -> bool {
        self.power.borrow().empties
    }

    fn empty(&mut self, at: Extent) -> io::Result<()> {
        let mut power = self.power.borrow_mut();
        if power.off || power.now >= self.fails || !power.empties {
            return Err(io::ErrorKind::Other.into());
        }
        let whole = power.spend();
        let mut platter = self.platter.borrow_mut();
        for block in at.start.0..at.end().0 {
            if whole || power.draw.below(2) == 0 {
                platter.cached.push((block, [0; BLOCK]));
                platter.bad.remove(&block);
            }
        }
        if whole { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
    }

    fn begin_store(&mut self, at: Extent, from: &Slice, number: u32, _: &mut dyn Kernel) -> io::Result<Stored> {
        let mut power = self.power.borrow_mut();
        if power.off || power.now >= self.fails {
            return Err(io::ErrorKind::Other.into());
        }
        let at_once = power.draw.below(3) == 0;
        if !at_once {
            let due = power.now + Span(power.draw.below(600));
            let blocks = (0..at.blocks as usize).map(|block| bytes_of(from, block)).collect();
            power.stores.push(Storing { due, number, platter: Rc::clone(&self.platter), at, blocks });
            return Ok(Stored::Begun);
        }
        drop(power);
        self.store(at, from).map(|()| Stored::Done)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.power.borrow().off || self.power.borrow().now >= self.fails {
            return Err(io::ErrorKind::Other.into());
        }
        let mut platter = self.platter.borrow_mut();
        for (block, held) in std::mem::take(&mut platter.cached) {
            platter.medium[block as usize] = held;
        }
        Ok(())
    }

    fn store(&mut self, at: Extent, from: &Slice) -> io::Result<()> {
        let mut power = self.power.borrow_mut();
        if power.off || power.now >= self.fails {
            return Err(io::ErrorKind::Other.into());
        }
        let whole = power.spend();
        let mut platter = self.platter.borrow_mut();
        for number in 0..u64::from(at.blocks) {
            if whole || power.draw.below(2) == 0 {
                platter.medium[(at.start.0 + number) as usize] = bytes_of(from, number as usize);
                platter.cached.retain(|(block, _)| *block != at.start.0 + number);
            }
        }
        if whole { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.power.borrow().off {
            self.tear();
        }
    }
}

pub(super) struct Virtual(pub(super) Rc<RefCell<Power>>);

impl Kernel for Virtual {
    fn now(&self) -> Time {
        self.0.borrow().now
    }

    fn push(&mut self, _: &Rc<OwnedFd>, _: RingToken, _: RingOp) -> io::Result<()> {
        Ok(())
    }

    fn take(&mut self) -> Option<(RingToken, i32)> {
        let (number, bytes) = self.0.borrow_mut().end_store()?;
        Some((RingToken::Unit(number), bytes))
    }

    fn sleep(&mut self, until: Option<Time>) -> io::Result<()> {
        let mut power = self.0.borrow_mut();
        if power.off {
            return Err(io::Error::other("the power is off"));
        }
        let stored = power.stores.iter().map(|store| store.due);
        power.now = power.now.max(until.into_iter().chain(stored).min().expect("something is due"));
        Ok(())
    }

    fn send(&mut self, _: &OwnedFd, _: &[Slice]) -> usize {
        0
    }

    fn shut(&mut self, _: &OwnedFd) {}
}
