//! Who asks an array, and knows what each of its blocks may hold.

use super::disk::{Held, Power, bytes_of};
use super::{ANYTHING, BLOCK, DISCARDED};
use crate::array::ArrayOrder;
use crate::memory::{Pool, Slice};
use crate::world::{Hands, RequestSource};
use block::{Discarded, Ending, Extent, Op, Qos, Request, RequestId, Span, Time};
use sched::Input;
use sched::array::{Geometry, Level};
use std::cell::RefCell;
use std::rc::Rc;

/// What a block may hold: the first is there whatever comes, those after it were written since; whether each write was answered.
pub(super) type History = Vec<(u64, bool)>;

/// Of the stamp of a write, that it writes zeros.
const ZEROS: u64 = 1 << 62;

pub(super) struct Asked {
    request: Request,
    memory: Slice,
    stamp: u64,
    /// Of a read, what is to be read; of a flush, what it is to keep.
    wanted: Vec<u64>,
}

/// Who asks, and knows what may be there.
pub(super) struct Asker {
    pub(super) power: Rc<RefCell<Power>>,
    pub(super) blocks: Vec<History>,
    pub(super) asked: Vec<Option<Asked>>,
    pub(super) left: u32,
    pub(super) stamp: u64,
    pub(super) next: Time,
    pub(super) finished: u32,
    /// Blocks of the array that are one region.
    pub(super) region: u64,
    /// Blocks of the array of which it asks for any.
    pub(super) most: u64,
    /// What the array is to be told, and when.
    pub(super) orders: Vec<(ArrayOrder, Time)>,
    /// Whether it stays until that is done, and whether it is.
    pub(super) stays: bool,
    pub(super) is_done: bool,
    /// Disks that the array has when it has grown; 0 where it does not.
    pub(super) disks: u16,
    /// The level that it has then, where that is another.
    pub(super) level: Option<Level>,
    /// What it is told for that, until it has.
    pub(super) change: Option<ArrayOrder>,
    /// Whether what was answered is there from then on.
    pub(super) logs: bool,
}

pub(super) fn content(stamp: u64) -> Held {
    let mut held = [0; BLOCK];
    // What was given up is zeros, once it is.
    let stamp = if stamp == DISCARDED || stamp & ZEROS != 0 { 0 } else { stamp };
    held.chunks_exact_mut(8).for_each(|eight| eight.copy_from_slice(&stamp.wrapping_mul(0x9E37_79B9).to_le_bytes()));
    held
}

impl Asker {
    /// Whether it asks for more. The last is a flush, of all that was asked before.
    fn may_ask(&self) -> bool {
        self.left > 1 || self.left == 1 && self.asked.iter().all(Option::is_none)
    }

    fn submission(&mut self) -> Option<Request> {
        let slot = self.asked.iter().position(Option::is_none).filter(|_| self.may_ask())?;
        self.left -= 1;
        self.stamp = (self.stamp & !ZEROS) + 1;
        let mut power = self.power.borrow_mut();
        let count = self.most;
        let length = 1 + power.draw.below(count.min(10));
        let at = Extent::new(power.draw.below(count - length + 1), length as u32);
        let (op, at) = match power.draw.below(10) {
            _ if self.left == 0 => (Op::Flush, Extent::default()),
            0 => (Op::Flush, Extent::default()),
            1 | 2 => (Op::Read, at),
            // A region, or parts of two.
            8 => {
                let from = at.start.0 / self.region * self.region + power.draw.below(2) * power.draw.below(self.region);
                // Where it grows, what there is ends within a region.
                let from = from.min(count - 1);
                let blocks = self.region.min(count - from) as u32;
                (Op::Discard(Discarded::Anything), Extent::new(from, blocks))
            }
            number => (Op::Write { fua: number == 3 }, at),
        };
        // Now and then what is written is zeros.
        self.stamp |= if power.draw.below(6) == 0 { ZEROS } else { 0 };
        self.next = power.now + Span(power.draw.below(400));
        let request = Request { id: RequestId(slot as u32), op, at, qos: Qos::default() };
        let within = at.start.0 as usize..at.end().0 as usize;
        let memory = Slice::new(at.blocks.max(1) as usize * BLOCK);
        let wanted = match op {
            Op::Flush => {
                // What was discarded may still be what it was.
                let kept = |it: &&(u64, bool)| it.1 && it.0 != DISCARDED;
                self.blocks.iter().map(|it| it.iter().rev().find(kept).map_or(ANYTHING, |it| it.0)).collect()
            }
            _ => self.blocks[within.clone()].iter().map(|it| it[it.len() - 1].0).collect(),
        };
        if matches!(op, Op::Discard(_)) {
            self.blocks[within].iter_mut().for_each(|history| history.push((DISCARDED, true)));
        } else if op.writes() {
            for (number, history) in self.blocks[within].iter_mut().enumerate() {
                history.push((self.stamp, false));
                memory.buffer.put(number * BLOCK, &content(self.stamp));
            }
        }
        self.asked[slot] = Some(Asked { request, memory, stamp: self.stamp, wanted });
        Some(request)
    }

    /// Tells the array something, now or later.
    fn obey(&mut self, order: ArrayOrder, now: Time, hands: &mut Hands) {
        let was_done = std::mem::replace(&mut self.is_done, false);
        let changes = matches!(order, ArrayOrder::Grow(..) | ArrayOrder::Raise(..) | ArrayOrder::BecomeRaid5);
        let disks = hands.unit.geometry().map_or(0, |geometry| geometry.disks());
        if matches!(order, ArrayOrder::Replace(disk, ..) if disk.0 >= disks) {
            // It has not joined yet, and may never, or was let go.
            if self.stays && self.disks > disks || self.left > 0 {
                self.orders.push((order, now + Span(200)));
            }
            return;
        }
        match hands.unit.order(&order) {
            // Whatever it is refused for: the power is off.
            Err(_) if self.power.borrow().off => {}
            Err(what) if !changes && !what.contains("is being let go") => panic!("{what}"),
            // A RAID 5 has nothing to let go.
            Err(_) if order == ArrayOrder::BecomeRaid5 && self.left > 0 => self.orders.push((order, now + Span(300))),
            // Not while a disk is lacking; as it may have grown in an earlier life.
            Err(_) if self.stays && disks < self.disks => self.orders.push((order, now + Span(500))),
            Err(_) => self.is_done = was_done,
            Ok(()) => {}
        }
    }

    /// From now on a block holds this or something later.
    fn keep(&mut self, block: usize, stamp: u64) {
        let history = &mut self.blocks[block];
        if let Some(first) = history.iter().position(|(its, _)| *its == stamp) {
            history.drain(..first);
        }
    }
}

impl RequestSource for Asker {
    fn due(&self, room: u32) -> Option<Time> {
        let asks = (room > 0 && self.may_ask() && self.asked.iter().any(Option::is_none)).then_some(self.next);
        asks.into_iter().chain(self.orders.iter().map(|(_, at)| *at)).min()
    }

    fn numbers(&self) -> u32 {
        self.asked.len() as u32
    }

    fn ask(&mut self, now: Time, room: u32, hands: &mut Hands) -> Option<Input> {
        if let Some(due) = self.orders.iter().position(|(_, at)| *at <= now) {
            let (order, _) = self.orders.swap_remove(due);
            self.obey(order, now, hands);
            if !self.orders.is_empty() || self.left > 0 {
                return None;
            }
        }
        if self.stays && self.orders.is_empty() {
            let is_whole = hands.unit.filling().is_empty() && hands.unit.lacking().is_empty();
            let array = hands.unit.array_json().expect("an array");
            let is_level = |it: &Geometry| self.level.is_none_or(|level| it.level() == level);
            let ends = |it: Geometry| it.disks() >= self.disks && is_level(&it) && !it.is_growing();
            let has_grown = hands.unit.geometry().is_some_and(ends);
            self.is_done = is_whole && has_grown && array["scrub"]["state"] != "running";
            if !has_grown && array["grow"].is_null() {
                self.orders.extend(self.change.clone().map(|change| (change, now + Span(500))));
            }
        }
        if room == 0 || now < self.next {
            return None;
        }
        self.submission().map(Input::Submit)
    }

    fn memory(&mut self, id: RequestId, from: usize, bytes: usize) -> Option<Slice> {
        let held = &self.asked[id.0 as usize].as_ref()?.memory;
        Some(Slice { buffer: Rc::clone(&held.buffer), from, bytes })
    }

    fn renew_memory(&mut self, _: RequestId, _: &mut Pool) {}

    fn on_end(&mut self, _: Time, id: RequestId, how: Ending, _: &mut Hands) {
        let it = self.asked[id.0 as usize].take().expect("it was asked");
        // After the power went nobody hears.
        if self.power.borrow().off {
            return;
        }
        assert_eq!(how, Ending::Finished, "{:?}", it.request);
        self.finished += 1;
        let within = it.request.at.start.0 as usize..it.request.at.end().0 as usize;
        match it.request.op {
            Op::Read => {
                let is_known = |wanted: u64| wanted != ANYTHING && wanted != DISCARDED;
                for (number, wanted) in it.wanted.iter().enumerate().filter(|(_, wanted)| is_known(**wanted)) {
                    assert!(bytes_of(&it.memory, number) == content(*wanted), "{:?}: block {number}", it.request);
                }
            }
            Op::Flush => it.wanted.iter().enumerate().for_each(|(block, stamp)| self.keep(block, *stamp)),
            Op::Write { fua } => {
                for block in within {
                    let history = &mut self.blocks[block];
                    history.iter_mut().filter(|(stamp, _)| *stamp == it.stamp).for_each(|(_, done)| *done = true);
                    if fua || self.logs {
                        self.keep(block, it.stamp);
                    }
                }
            }
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.left == 0 && self.orders.is_empty() && (self.is_done || !self.stays)
    }
}
