//! What of the arms' time each class caused, from the drives' own account of each command.
//!
//! Of a command the drive says what its time went to; the core, for whom it is. What a command waited for the drive to write
//! back, and what the drive wrote back while it had no command, is billed to the classes whose writes it has buffered, in
//! proportion to their blocks: the drive says how many blocks there are, not whose. So all bills together are the time with a
//! command in service, that of probes apart, and the time of write-back without one. Reading ahead without a command is nobody's:
//! the drive gives it up at once.

use block::{Command, Span, Tag, Time, Verb};
use drive::{Account, Machine, Parts};
use load::{ArmPart, Bills, divide};
use sched::{Bill, Cause};

/// A command in a drive.
#[derive(Clone, Copy, Debug)]
struct Billed {
    bill: Bill,
    /// Blocks that it may leave in the write buffer.
    buffers: u64,
}

/// One arm.
#[derive(Clone, Debug, Default)]
struct Arm {
    /// Until when its time is billed.
    until: Time,
    /// The time of write-back without a command that is billed.
    wrote: Span,
    /// Blocks in the write buffer by class, as far as is known.
    dirty: Vec<u64>,
    bills: Bills,
}

/// What is billed so far.
#[derive(Clone, Debug)]
pub(crate) struct Billing {
    depth: usize,
    arms: Vec<Arm>,
    /// By drive and tag.
    inside: Vec<Option<Billed>>,
    /// For the command issued next.
    next: Option<Bill>,
}

impl Arm {
    /// Bills the parts of a command.
    fn add(&mut self, Bill { class, cause, .. }: Bill, parts: Parts) {
        let Parts { queued, overhead, external, seek, switch, settle, rotation, transfer, bus } = parts;
        let moves = queued + overhead + seek + switch + settle;
        let dirty = &self.dirty;
        let writes = dirty.iter().any(|blocks| *blocks > 0);
        if writes {
            divide(external, dirty, |class, span| self.bills.add(class as u8, ArmPart::WriteBack, span));
        }
        // What else keeps the arm is reading ahead, up to the end of a sector.
        let turns = if writes { rotation } else { rotation + external };
        let passes = transfer + bus;
        match cause {
            Cause::Slack => self.bills.add(class, ArmPart::Slack, moves + turns + passes),
            Cause::Resumed(by) => {
                self.bills.add(by, ArmPart::Detour, moves + turns);
                self.bills.add(class, ArmPart::Transfer, passes);
            }
            Cause::Request => {
                self.bills.add(class, ArmPart::Seek, moves);
                self.bills.add(class, ArmPart::Rotation, turns);
                self.bills.add(class, ArmPart::Transfer, passes);
            }
        }
    }
}

impl Billing {
    pub(crate) fn new(drives: usize, depth: usize) -> Billing {
        let (arms, inside) = (vec![Arm::default(); drives], vec![None; drives * depth]);
        Billing { depth, arms, inside, next: None }
    }

    /// The account of an arm begins anew.
    pub(crate) fn begin(&mut self, disk: usize, now: Time) {
        let arm = &mut self.arms[disk];
        (arm.until, arm.wrote, arm.bills) = (now, Span::ZERO, Bills::default());
    }

    /// Who pays for the command issued next.
    pub(crate) fn told(&mut self, bill: Bill) {
        self.next = Some(bill);
    }

    /// A command was given to a drive.
    pub(crate) fn issued(&mut self, disk: usize, tag: Tag, command: &Command, drive: &impl Machine) {
        let buffers = if command.verb == (Verb::Write { fua: false }) { command.at.blocks.into() } else { 0 };
        self.inside[disk * self.depth + tag.0 as usize] = self.next.take().map(|bill| Billed { bill, buffers });
        self.settle(disk, drive.buffered());
    }

    /// A command came back.
    pub(crate) fn done(&mut self, disk: usize, tag: Tag, issued: Time, now: Time, parts: Parts, drive: &impl Machine) {
        let arm = &mut self.arms[disk];
        let before = arm.until.since(issued);
        arm.until = arm.until.max(now);
        let Some(Billed { bill, buffers }) = self.inside[disk * self.depth + tag.0 as usize].take() else { return };
        let class = usize::from(bill.class);
        let parts = if before == Span::ZERO { parts } else { parts.after(before) };
        arm.add(bill, parts);
        // What the arm has had to do for it is not in the buffer.
        if buffers > 0 && parts.transfer == Span::ZERO {
            if arm.dirty.len() <= class {
                arm.dirty.resize(class + 1, 0);
            }
            arm.dirty[class] += buffers;
        }
        self.settle(disk, drive.buffered());
    }

    /// A drive has so many blocks in its write buffer, and has written back for so long without a command.
    fn settle(&mut self, disk: usize, (blocks, wrote): (u64, Span)) {
        let arm = &mut self.arms[disk];
        if wrote > arm.wrote {
            let more = wrote - arm.wrote;
            arm.wrote = wrote;
            if arm.dirty.iter().all(|blocks| *blocks == 0) {
                // Buffered before anything was billed, by whoever writes.
                arm.dirty = vec![1];
            }
            divide(more, &arm.dirty, |class, span| arm.bills.add(class as u8, ArmPart::WriteBack, span));
        }
        let known: u64 = arm.dirty.iter().sum();
        if known > blocks {
            arm.dirty
                .iter_mut()
                .for_each(|dirty| *dirty = (u128::from(*dirty) * u128::from(blocks) / u128::from(known)) as u64);
        }
    }

    /// The measured time is over, with these accounts of the arms: what each class caused.
    pub(crate) fn close(&mut self, accounts: &[Account]) -> Bills {
        let mut all = Bills::default();
        for (disk, account) in accounts.iter().enumerate() {
            self.settle(disk, (0, account.writing));
            all.merge(&self.arms[disk].bills);
        }
        all
    }
}
