//! What of the arms' time each class caused, from the drives' own account of each command.
//!
//! Of a command the drive says what its time went to; the core, for whom it is. What a command waited for the drive to write
//! back, and what the drive wrote back while it had no command, is billed to the classes whose writes were written back since
//! the command before, in proportion to how long each took; where none was completed, to those whose writes are buffered, by
//! blocks. So all bills together are the time with a command in service, that of probes apart, and the time of write-back
//! without one. Reading ahead without a command is nobody's: the drive gives it up at once.
//!
//! A class that is alone caused all of it: the accounts of the arms say what that was, and no command is billed.

use super::{Drives, Measured};
use block::{Command, Direction, Extent, Span, Tag, Time, Verb};
use drive::{Account, Machine, Parts};
use load::{ArmPart, Bills, divide};
use sched::{Bill, Cause};
use std::collections::VecDeque;

/// Writes of which it is remembered whose they are: as many as a drive's buffer holds, and more.
const REMEMBERED: usize = 2048;

/// A command in a drive.
#[derive(Clone, Copy, Debug)]
struct Billed {
    bill: Bill,
    /// What it may leave in the write buffer.
    buffers: Option<Extent>,
}

/// What one arm is doing, and who pays for it.
#[derive(Clone, Debug, Default)]
struct Arm {
    /// Until when its time is billed.
    until: Time,
    /// The time of write-back without a command that is billed.
    wrote: Span,
    /// Blocks in the write buffer by class, as far as is known.
    dirty: Vec<u64>,
    /// What was buffered of late, and for which class; the last first.
    recent: VecDeque<(Extent, u8)>,
    /// The time of the write-backs completed since some were billed, by class.
    backs: Vec<u64>,
    bills: Bills,
}

fn add_at(all: &mut Vec<u64>, class: u8, more: u64) {
    if all.len() <= usize::from(class) {
        all.resize(usize::from(class) + 1, 0);
    }
    all[usize::from(class)] += more;
}

impl Arm {
    /// Takes note of whose writes the drive has written back.
    fn see_writes(&mut self, drive: &mut impl Machine) {
        let Arm { recent, backs, .. } = self;
        drive.take_writes(&mut |last, took| {
            let whose = recent.iter().find(|(at, _)| at.start <= last && last < at.end());
            if let Some((_, class)) = whose {
                add_at(backs, *class, took.0);
            }
        });
    }

    /// Bills write-back. Says whether anyone has written.
    fn bill_writes(&mut self, span: Span) -> bool {
        let Arm { dirty, backs, bills, .. } = self;
        let by = if backs.iter().any(|span| *span > 0) { &*backs } else { &*dirty };
        let any = by.iter().any(|weight| *weight > 0);
        if any && span > Span::ZERO {
            divide(span, by, |class, span| bills.add(class as u8, ArmPart::WriteBack, span));
            backs.clear();
        }
        any
    }

    /// Bills the parts of a command.
    fn add(&mut self, Bill { class, cause, .. }: Bill, parts: Parts) {
        let Parts { queued, overhead, external, seek, switch, settle, rotation, transfer, bus } = parts;
        let moves = queued + overhead + seek + switch + settle;
        // What else keeps the arm is reading ahead, up to the end of a sector.
        let turns = if self.bill_writes(external) { rotation } else { rotation + external };
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

    /// The drive has so many blocks in its write buffer, and has written back for so long without a command.
    fn settle(&mut self, (blocks, wrote): (u64, Span)) {
        if wrote > self.wrote {
            let more = wrote - self.wrote;
            self.wrote = wrote;
            if !self.bill_writes(more) {
                // Buffered before anything was billed: by the class that is there in any case.
                self.bills.add(0, ArmPart::WriteBack, more);
            }
        }
        let known: u64 = self.dirty.iter().sum();
        if known > blocks {
            let left = |dirty: u64| (u128::from(dirty) * u128::from(blocks) / u128::from(known)) as u64;
            self.dirty.iter_mut().for_each(|dirty| *dirty = left(*dirty));
        }
    }
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

impl Billing {
    /// For so many drives that keep what they write back.
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
    pub(crate) fn set_bill(&mut self, bill: Bill) {
        self.next = Some(bill);
    }

    /// A command was given to a drive.
    pub(crate) fn begin_command(&mut self, disk: usize, tag: Tag, command: &Command, drive: &mut impl Machine) {
        let buffers = Some(command.at).filter(|_| command.verb == Verb::Write { fua: false });
        self.inside[disk * self.depth + tag.0 as usize] = self.next.take().map(|bill| Billed { bill, buffers });
        let arm = &mut self.arms[disk];
        arm.see_writes(drive);
        arm.settle(drive.buffer_state());
    }

    /// A command came back.
    pub(crate) fn end_command(
        &mut self,
        disk: usize,
        tag: Tag,
        (issued, now): (Time, Time),
        parts: Parts,
        drive: &mut impl Machine,
    ) {
        let arm = &mut self.arms[disk];
        let before = arm.until.since(issued);
        arm.until = arm.until.max(now);
        let Some(Billed { bill, buffers }) = self.inside[disk * self.depth + tag.0 as usize].take() else { return };
        arm.see_writes(drive);
        arm.add(bill, if before == Span::ZERO { parts } else { parts.after(before) });
        // What the arm has had to do for it is not in the buffer.
        if let Some(at) = buffers.filter(|_| parts.transfer == Span::ZERO) {
            add_at(&mut arm.dirty, bill.class, at.blocks.into());
            arm.recent.push_front((at, bill.class));
            arm.recent.truncate(REMEMBERED);
        }
        arm.settle(drive.buffer_state());
    }

    /// The measured time is over, with these accounts of the arms: what each class caused.
    pub(crate) fn close(&mut self, accounts: &[Account]) -> Bills {
        let mut all = Bills::default();
        for (arm, account) in self.arms.iter_mut().zip(accounts) {
            arm.settle((0, account.writing));
            all.merge(&arm.bills);
        }
        all
    }
}

/// What a class that is alone caused at an arm.
fn of_one(account: &Account, direction: Direction) -> Bills {
    let Parts { queued, overhead, external, seek, switch, settle, rotation, transfer, bus } = account.parts;
    let (turns, write_back) = match direction {
        // What a command waited for was write-back.
        Direction::Write => (Span::ZERO, external),
        Direction::Read => (external, Span::ZERO),
    };
    let moves = queued + overhead + seek + switch + settle;
    Bills::of_one([moves, rotation + turns, transfer + bus, account.writing + write_back])
}

impl<M: Machine, L: Measured> Drives<'_, M, L> {
    /// Has it said who pays for the arms' time.
    pub(crate) fn billing(mut self) -> Self {
        self.lanes.iter_mut().for_each(|lane| lane.machine.keep_writes());
        self.billing = Some(Box::new(Billing::new(self.lanes.len(), self.depth)));
        self
    }

    /// The measured time is over, with these accounts of the arms.
    pub(super) fn close_bills(&mut self, accounts: &[Account]) {
        if let Some(billing) = &mut self.billing {
            self.load.meter_mut().set_bills(billing.close(accounts));
        }
    }

    /// The same, the time of probes apart: a class that is alone caused all of it.
    pub(super) fn bill_only_class(&mut self, accounts: &[Account]) {
        if self.billing.is_none() && self.load.meter().has_one_class() {
            let direction = if self.wrote { Direction::Write } else { Direction::Read };
            let bills = accounts.iter().map(|account| of_one(account, direction));
            let all = bills.fold(Bills::default(), |mut all, bills| {
                all.merge(&bills);
                all
            });
            self.load.meter_mut().set_bills(all);
        }
    }
}
