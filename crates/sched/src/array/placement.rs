//! Which copy is read.

use super::children::{ChildRequest, Owner, offset};
use super::{Array, Piece, Task};
use crate::core::Core;
use crate::predict::Predictor;
use crate::{Job, JobId};
use block::errno::EIO;
use block::{Direction, DiskId, Ending, Extent, Lbn, Op, Place, Span, Time};
use config::{Word, Words};

/// Places that are looked at to find what positioning takes on average.
const SAMPLES: u64 = 16;
/// What it takes where that is not known.
const USUAL: Span = Span(10_000_000);

/// Parts of a read that is split have at least so many blocks: 64 KiB.
pub(super) const LEAST_PART: u32 = 128;

/// Which copy of what is read is taken; of equals, that of the first disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// That of the disk thought to be done with it first.
    #[default]
    LeastFinish,
    /// Each disk in turn.
    RoundRobin,
    /// That of the disk whose arm is thought to be there first, what waits at it included.
    Nearest,
}

impl Words for Placement {
    const WORDS: &'static [Word<Placement>] = &[
        Word::new("least-finish", Placement::LeastFinish, "the copy on the disk that will be done first"),
        Word::new("round-robin", Placement::RoundRobin, "the copy on each disk in turn"),
        Word::new(
            "nearest",
            Placement::Nearest,
            "the copy on the disk whose arm will be there first, once what waits at that disk is done",
        ),
    ];
}

/// What positioning takes on average on a disk that lies still: the way there and half a revolution.
pub(super) fn positioning<P: Predictor>(disk: &Core<P>) -> Span {
    let each = disk.blocks() / SAMPLES;
    let ways = (0..SAMPLES).filter_map(|i| {
        let at = Extent { start: Lbn(i * each), blocks: 1 };
        let way = disk.belief().approach(Time::ZERO, at, disk.belief().spot(at), Direction::Read)?;
        Some(way.travel.0 + way.turn.0 / 2)
    });
    let (sum, count) = ways.fold((0, 0), |(sum, count), way| (sum + way, count + 1));
    sum.checked_div(count).map_or(USUAL, Span)
}

impl<P: Predictor> Array<P> {
    /// Of the disks that hold a copy, the one to read.
    #[inline]
    pub(super) fn place(&mut self, mut copies: impl Iterator<Item = DiskId> + Clone, at: Extent) -> Option<DiskId> {
        let mut others = copies.clone();
        let first = others.next()?;
        if others.clone().next().is_none() {
            return Some(first);
        }
        match self.plan.placement {
            Placement::RoundRobin => {
                self.turn = self.turn.wrapping_add(1);
                let turn = usize::from(self.turn) % copies.clone().count();
                copies.nth(turn)
            }
            Placement::LeastFinish => {
                let load = |disk: DiskId| self.loads[usize::from(disk.0)];
                let (mut best, mut least, mut alone) = (first, load(first), true);
                for disk in others {
                    match load(disk) {
                        less if less < least => (best, least, alone) = (disk, less, true),
                        same => alone &= same != least,
                    }
                }
                // What the ways are is looked at only where that decides.
                if alone {
                    Some(best)
                } else {
                    copies.filter(|disk| load(*disk) == least).min_by_key(|disk| self.away(*disk, at))
                }
            }
            Placement::Nearest => copies.min_by_key(|disk| self.arm_reaches(*disk, at)),
        }
    }

    /// Reads a piece from one of these copies, or from several; after a read that failed, from the next.
    pub(super) fn read_copy(
        &mut self,
        id: JobId,
        job: &Job<Task>,
        (piece, at, place): (&Piece, Extent, Place),
        after: Option<&ChildRequest>,
        copies: &[DiskId],
    ) {
        if let Some(child) = after {
            let tried = child.tried + 1;
            let next = copies.iter().find(|disk| **disk > child.disk).or(copies.first());
            return match next.filter(|_| tried < self.geometry.layout_of(piece.row).copies()) {
                Some(disk) => self.post(id, Owner::Task, *disk, Op::Read, at, place, tried),
                None => self.trouble(id, Ending::Failed(EIO)),
            };
        }
        let parts = match self.rules.class(job.qos.class).splits {
            true => (piece.blocks / LEAST_PART).clamp(1, copies.len().max(1) as u32),
            false => 1,
        };
        if parts > 1 {
            for (part, disk) in (0..parts).zip(copies) {
                let from = (u64::from(piece.blocks) * u64::from(part) / u64::from(parts)) as u32;
                let to = (u64::from(piece.blocks) * u64::from(part + 1) / u64::from(parts)) as u32;
                let at = Extent::new(at.start.0 + u64::from(from), to - from);
                self.post(id, Owner::Task, *disk, Op::Read, at, offset(place, from), 0);
            }
            return;
        }
        match self.place(copies.iter().copied(), at) {
            Some(disk) if self.rivals.is_some() => self.ask_two(id, disk, copies, at, place),
            Some(disk) => self.post(id, Owner::Task, disk, Op::Read, at, place, 0),
            None => self.trouble(id, Ending::Failed(EIO)),
        }
    }

    /// When a disk's arm is thought to reach a place, once all that waits at it is done; in the predictor's ticks.
    ///
    /// Distance alone would send ever more to the disk that is at work nearby, and diverge while the other copy lies idle.
    fn arm_reaches(&self, disk: DiskId, at: Extent) -> u64 {
        let ticks = self.disks[usize::from(disk.0)].belief().ticks(self.loads[usize::from(disk.0)]);
        ticks.saturating_add(self.away(disk, at))
    }

    /// How long a disk's arm is thought to take to a place, were it idle; in the predictor's ticks.
    fn away(&self, disk: DiskId, at: Extent) -> u64 {
        let belief = self.disks[usize::from(disk.0)].belief();
        let (head, _) = belief.head(self.now);
        let spot = belief.spot(at);
        belief.cost(&head, belief.key(spot), belief.mark(spot), Direction::Read)
    }
}
