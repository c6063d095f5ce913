//! Writes that the device has in its buffer, and who pays for writing them back.
//!
//! A drive takes writes into its buffer at once, and the arm's time for them would be the loss of who has the next turn. They are
//! billed by belief when they are taken in; when the turn passes to another class of the rank, the drive is told to write them back
//! first, and what that takes is billed in place of what was believed. A write that waits for room in the buffer pays off what is
//! owed. What is owed may be paid off too soon, by waiting that had another cause: so it is not by that that a class is known to have
//! writes in the buffer. A turn lasts for what was billed in it. So that it is as long as it is meant to be, the next writes are
//! believed to cost as much more or less as the last ones were found to.

use super::Turns;
use crate::bills::Bill;
use block::{Extent, Lbn, Span};

/// What writing back takes is no more than so many times what is believed of it, and no less than that part; of what was found
/// out just now this part counts.
const MOST_SCALE: f64 = 4.0;
const SCALE_PARTS: f64 = 4.0;

/// The writes of a class that the device has in its buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct BufferedWrites {
    /// What was billed for them and is not paid off, and what was billed too much, ns.
    pub(super) debt: u64,
    pub(super) credit: u64,
    /// What writing back took, over what was believed of it, of late.
    scale: f64,
    /// Where the last of them ended; none where the buffer has none of the class.
    end: Option<Lbn>,
}

impl Default for BufferedWrites {
    fn default() -> BufferedWrites {
        BufferedWrites { debt: 0, credit: 0, scale: 1.0, end: None }
    }
}

impl BufferedWrites {
    /// Whether the device may have any.
    pub(super) fn is_any(&self) -> bool {
        self.end.is_some()
    }

    /// To write them back took so long.
    fn learn(&mut self, took: Span) {
        if self.debt > 0 {
            let ratio = (took.0 as f64 / self.debt as f64).min(MOST_SCALE);
            self.scale = (self.scale * (1.0 + (ratio - 1.0) / SCALE_PARTS)).clamp(1.0 / MOST_SCALE, MOST_SCALE);
        }
    }

    /// They are on the medium: what was billed for that by belief was too much.
    fn forgive(&mut self) {
        self.credit += std::mem::take(&mut self.debt);
        self.end = None;
    }
}

impl Turns {
    /// The class whose turn is over, if writes of it are in the device's buffer and none of a higher rank waits.
    pub(super) fn owes(&self, top: usize) -> Option<u8> {
        let turn = self.turn.filter(|turn| turn.rank >= self.ranks[top].rank)?;
        let others = self.ranks[top]
            .waiting
            .iter()
            .enumerate()
            .any(|(class, waiting)| *waiting > 0 && class != usize::from(turn.class));
        (others && (self.is_draining || self.buffered[usize::from(turn.class)].is_any())).then_some(turn.class)
    }

    /// The class whose writes are to be written back now, before another has its turn.
    pub(crate) fn take_drain(&mut self) -> Option<u8> {
        let class = self.drains.take();
        self.is_draining |= class.is_some();
        class
    }

    /// The device had nothing to do for so long: it may have written back.
    pub(crate) fn rest(&mut self, span: Span) {
        self.settle(span);
    }

    /// What is owed for buffered writes is paid by the device's time, up to so much; how much that is.
    fn settle(&mut self, most: Span) -> Span {
        let owed: Span = self.buffered.iter().map(|it| Span(it.debt)).sum();
        let paid = owed.min(most);
        if paid > Span::ZERO {
            for BufferedWrites { debt, .. } in &mut self.buffered {
                *debt -= (u128::from(*debt) * u128::from(paid.0) / u128::from(owed.0)) as u64;
            }
        }
        paid
    }

    /// Bills a write of these blocks that the device took into its buffer, and what it is believed to cost when it is written
    /// back, the way there and the transfer: that is then paid for. What goes on where the last write ended needs no way.
    pub(crate) fn bill_buffered(&mut self, bill: &Bill, took: Span, at: Extent, (way, transfer): (Span, Span)) {
        let own = took - self.settle(took);
        let writes = &mut self.buffered[usize::from(bill.class)];
        let follows = writes.end.replace(at.end()) == Some(at.start);
        let believed = if follows { transfer } else { way + transfer };
        let on_medium = Span((believed.0 as f64 * writes.scale) as u64);
        writes.debt += on_medium.0;
        self.bill(bill.class, own + on_medium);
    }

    /// Bills a class for writing back what was buffered: nothing of that is owed any more.
    pub(crate) fn bill_drain(&mut self, class: u8, took: Span) {
        self.is_draining = false;
        self.buffered[usize::from(class)].learn(took);
        self.buffered.iter_mut().for_each(BufferedWrites::forgive);
        self.bill(class, took);
    }

    /// Bills a command that came back so much later than was believed: for as much as is owed, it waited for write-back.
    pub(crate) fn bill_late(&mut self, bill: &Bill, (took, passes): (Span, Span), late: Span) {
        let paid = self.settle(late.min(took));
        self.bill_command(bill, took - paid, passes);
    }
}
