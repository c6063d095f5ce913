//! What an array's non-volatile buffer has acknowledged is kept there until it is on the medium of every disk that takes it: a
//! drive's own memory forgets when the power goes.

use crate::toy::Dice;
use block::{Caps, Command, DiskId, Extent, Op, Outcome, Qos, Request, RequestId, Span, Tag, Time, Verb};
use sched::array::{Array, ArrayPlan, Geometry, Level};
use sched::plan::{LastFua, Plan, Rules};
use sched::policy::{Beside, usual};
use sched::predict::Distance;
use sched::{Action, Core, Input, Scheduler};
use std::collections::BTreeSet;

/// Blocks of the buffer, and writes asked for.
const ROOM: u64 = 64;
const WRITES: u32 = 60;

/// A disk: commands in it, when they end, and its blocks in its volatile memory and on the medium.
#[derive(Default)]
struct Disk {
    flying: Vec<(Time, Tag, Command)>,
    volatile: BTreeSet<u64>,
    medium: BTreeSet<u64>,
}

impl Disk {
    fn ended(&mut self, command: &Command) {
        let blocks = command.at.start.0..command.at.end().0;
        match command.verb {
            Verb::Write { fua: true } => self.medium.extend(blocks),
            Verb::Write { fua: false } => self.volatile.extend(blocks),
            Verb::Flush => self.medium.append(&mut self.volatile),
            Verb::Read | Verb::Seek | Verb::Discard(_) => {}
        }
    }
}

/// Writes to blocks of their own go through the array; the most that was acknowledged and would have been lost with the power
/// beyond what the buffer can hold.
fn lost(level: Level, plan: Option<Plan>, trusting: bool, seed: u64) -> u64 {
    let caps = Caps { blocks: 4096, depth: 1, seek: block::SeekBy::Nothing, arms: 1 };
    let geometry = Geometry::new(level, 4, 8, caps.blocks).expect("an array");
    let rules = Rules { plan, ..Rules::default() };
    let core = || {
        let make = || usual("fcfs").make(&Beside::default());
        Core::new(caps, u32::MAX, Distance::default(), rules.clone(), Box::new(make))
    };
    let array = ArrayPlan { buffer: ROOM, trusting, ..ArrayPlan::default() };
    let mut array = Array::new(geometry, array, rules.clone(), WRITES, (0..4).map(|_| core()).collect());
    let mut disks: Vec<Disk> = (0..4).map(|_| Disk::default()).collect();
    let (mut dice, mut now, mut asked, mut worst) = (Dice(seed), Time::ZERO, Vec::<Extent>::new(), 0);
    let (mut acknowledged, mut out) = (BTreeSet::new(), Vec::new());
    loop {
        let next = (0..4).flat_map(|disk| disks[disk].flying.iter().map(move |(end, tag, _)| (*end, disk, *tag))).min();
        let input = match next {
            Some((end, disk, tag)) if asked.len() == WRITES as usize || dice.once_in(2) => {
                now = now.max(end);
                let place = disks[disk].flying.iter().position(|(_, other, _)| *other == tag).expect("it flies");
                let (_, _, command) = disks[disk].flying.remove(place);
                disks[disk].ended(&command);
                Input::Done(DiskId(disk as u16), tag, now, Outcome::Ok)
            }
            None if asked.len() == WRITES as usize => return worst,
            _ => {
                let at = Extent::new(asked.len() as u64 * 32 + dice.below(8), 1 + dice.below(24) as u32);
                asked.push(at);
                let id = RequestId(asked.len() as u32 - 1);
                Input::Submit(Request { id, op: Op::Write { fua: false }, at, qos: Qos::default() })
            }
        };
        array.handle(now, input, &mut out);
        for action in out.drain(..) {
            match action {
                Action::Issue(disk, tag, command) => {
                    let end = now + Span(1 + dice.below(1000));
                    disks[usize::from(disk.0)].flying.push((end, tag, command));
                }
                Action::Finish(request, _) => {
                    acknowledged.insert(request.0);
                }
                _ => {}
            }
        }
        let safe = |at: Extent| {
            geometry.pieces(at).all(|piece| {
                let on = geometry.on_disk(piece.row, piece.within, piece.blocks);
                let mut copies = geometry.copies_of(piece.row, piece.column);
                copies.all(|disk| {
                    (on.start.0..on.end().0).all(|block| disks[usize::from(disk.0)].medium.contains(&block))
                })
            })
        };
        let unsafe_blocks = acknowledged.iter().map(|id| asked[*id as usize]).filter(|at| !safe(*at));
        worst = worst.max(unsafe_blocks.map(|at| u64::from(at.blocks)).sum::<u64>().saturating_sub(ROOM));
    }
}

#[test]
fn what_the_buffer_gives_up_is_on_the_medium() {
    for level in [Level::Striped, Level::Mirrored { copies: 2 }, Level::Parity, Level::DoubleParity] {
        for plan in [None, Some(Plan::of_chunk(3)), Some(Plan { last_fua: LastFua::Never, ..Plan::of_chunk(3) })] {
            for seed in 0..20 {
                assert_eq!(lost(level, plan, false, seed), 0, "{level:?}, {plan:?}, seed {seed}");
            }
        }
        // Who trusts the drives' memory may lose what is there: this is how the test sees it.
        assert!((0..20).any(|seed| lost(level, None, true, seed) > 0), "{level:?}");
    }
}
