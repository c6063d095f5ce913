//! The power goes while an array is written: what was flushed is there when it comes back, every block is as it was before or after,
//! and copies and parities agree, though none but the marked regions were looked at.
//!
//! The disks have a cache that forgets what was not flushed; of what is in flight any of its blocks are written, also of a superblock.
//! Core, world, and what the disks are told are those of the service.

use super::assembly::Lacking;
use super::{ArrayNotes, MemberState, OpenedMember, create, inspect, resync};
use crate::kernel::Kernel;
use crate::memory::{Pool, Slice};
use crate::ring::{RingOp, RingToken};
use crate::unit::{Done, LiveDevice, Members};
use crate::world::{Hands, LiveWorld, RequestSource};
use block::errno::EIO;
use block::{BLOCK_BYTES, Caps, Command, Ending, Extent, Op, Outcome, Qos, Request, RequestId, Span, Tag, Time, Verb};
use load::Draw;
use sched::array::field::Factor;
use sched::array::{Array, ArrayPlan, Geometry, Level};
use sched::plan::Rules;
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Core, Input, run};
use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

const BLOCK: usize = BLOCK_BYTES as usize;
/// Blocks of a disk, of a stripe unit, and requests together.
const DISK: u64 = super::BEFORE + 40 + super::BEHIND;
const UNIT: u32 = 4;
const TOGETHER: usize = 3;

type Held = [u8; BLOCK];

/// The power, and the clock.
struct Power {
    draw: Draw,
    now: Time,
    /// Blocks that can still be written.
    left: u64,
    off: bool,
}

impl Power {
    /// One more write: whether there is power for it.
    fn spend(&mut self) -> bool {
        self.off |= self.left == 0;
        self.left = self.left.saturating_sub(1);
        !self.off
    }
}

/// What a disk holds, and what only its cache does.
struct Platter {
    medium: Vec<Held>,
    cached: Vec<(u64, Held)>,
}

impl Platter {
    fn holds(&self, block: u64) -> Held {
        let cached = self.cached.iter().rev().find(|(at, _)| *at == block);
        cached.map_or(self.medium[block as usize], |(_, held)| *held)
    }

    /// The cache is gone: of each block any of what was written is left, or what was there before.
    fn cut(&mut self, draw: &mut Draw) {
        for (block, held) in std::mem::take(&mut self.cached) {
            if draw.below(2) == 0 {
                self.medium[block as usize] = held;
            }
        }
    }
}

struct Disk {
    power: Rc<RefCell<Power>>,
    platter: Rc<RefCell<Platter>>,
    flying: Vec<(Time, Tag, Command, Option<Slice>)>,
    /// From when on it fails all it is asked.
    fails: Time,
}

fn bytes_of(memory: &Slice, block: usize) -> Held {
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
        for number in 0..u64::from(command.at.blocks) {
            let (Some(memory), block) = (memory, command.at.start.0 + number) else { break };
            match command.verb {
                Verb::Read => {
                    memory.buffer.put(memory.from + number as usize * BLOCK, &platter.holds(block));
                }
                Verb::Write { fua } => {
                    let held = bytes_of(memory, number as usize);
                    platter.cached.push((block, held));
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
        Caps { blocks: DISK, depth: 4, seek: false }
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
        for number in 0..u64::from(at.blocks) {
            let held = self.platter.borrow().holds(at.start.0 + number);
            into.buffer.put(into.from + number as usize * BLOCK, &held);
        }
        true
    }

    fn sync(&mut self) -> io::Result<()> {
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

struct Virtual(Rc<RefCell<Power>>);

impl Kernel for Virtual {
    fn now(&self) -> Time {
        self.0.borrow().now
    }

    fn push(&mut self, _: &Rc<OwnedFd>, _: RingToken, _: RingOp) -> io::Result<()> {
        Ok(())
    }

    fn take(&mut self) -> Option<(RingToken, i32)> {
        None
    }

    fn sleep(&mut self, until: Option<Time>) -> io::Result<()> {
        let mut power = self.0.borrow_mut();
        if power.off {
            return Err(io::Error::other("the power is off"));
        }
        power.now = power.now.max(until.expect("something is due"));
        Ok(())
    }

    fn send(&mut self, _: &OwnedFd, _: &[Slice]) -> usize {
        0
    }

    fn shut(&mut self, _: &OwnedFd) {}
}

/// What a block may hold: the first is there whatever comes, those after it were written since; whether each write was answered.
type History = Vec<(u64, bool)>;

struct Asked {
    request: Request,
    memory: Slice,
    stamp: u64,
    /// Of a read, what is to be read; of a flush, what it is to keep.
    wanted: Vec<u64>,
}

/// Who asks, and knows what may be there.
struct Asker {
    power: Rc<RefCell<Power>>,
    blocks: Vec<History>,
    asked: Vec<Option<Asked>>,
    left: u32,
    stamp: u64,
    next: Time,
    finished: u32,
}

fn content(stamp: u64) -> Held {
    let mut held = [0; BLOCK];
    held.chunks_exact_mut(8).for_each(|eight| eight.copy_from_slice(&stamp.wrapping_mul(0x9E37_79B9).to_le_bytes()));
    held
}

impl Asker {
    fn submission(&mut self) -> Option<Request> {
        let slot = self.asked.iter().position(Option::is_none).filter(|_| self.left > 0)?;
        self.left -= 1;
        self.stamp += 1;
        let mut power = self.power.borrow_mut();
        let count = self.blocks.len() as u64;
        let length = 1 + power.draw.below(10);
        let at = Extent::new(power.draw.below(count - length + 1), length as u32);
        let (op, at) = match power.draw.below(8) {
            0 => (Op::Flush, Extent::default()),
            1 | 2 => (Op::Read, at),
            number => (Op::Write { fua: number == 3 }, at),
        };
        self.next = power.now + Span(power.draw.below(400));
        let request = Request { id: RequestId(slot as u32), op, at, qos: Qos::default() };
        let within = at.start.0 as usize..at.end().0 as usize;
        let memory = Slice::new(at.blocks.max(1) as usize * BLOCK);
        let wanted = match op {
            Op::Flush => {
                self.blocks.iter().map(|it| it.iter().rev().find(|(_, done)| *done).map_or(0, |it| it.0)).collect()
            }
            _ => self.blocks[within.clone()].iter().map(|it| it[it.len() - 1].0).collect(),
        };
        if op.writes() {
            for (number, history) in self.blocks[within].iter_mut().enumerate() {
                history.push((self.stamp, false));
                memory.buffer.put(number * BLOCK, &content(self.stamp));
            }
        }
        self.asked[slot] = Some(Asked { request, memory, stamp: self.stamp, wanted });
        Some(request)
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
    fn due(&self, _: u32) -> Option<Time> {
        (self.left > 0 && self.asked.iter().any(Option::is_none)).then_some(self.next)
    }

    fn ask(&mut self, now: Time, room: u32, _: &mut Hands) -> Option<Input> {
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
                for (number, wanted) in it.wanted.iter().enumerate() {
                    assert!(bytes_of(&it.memory, number) == content(*wanted), "{:?}: block {number}", it.request);
                }
            }
            Op::Flush => it.wanted.iter().enumerate().for_each(|(block, stamp)| self.keep(block, *stamp)),
            Op::Write { fua } => {
                for block in within {
                    let history = &mut self.blocks[block];
                    history.iter_mut().filter(|(stamp, _)| *stamp == it.stamp).for_each(|(_, done)| *done = true);
                    if fua {
                        self.keep(block, it.stamp);
                    }
                }
            }
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.left == 0
    }
}

/// What a cut takes away: the power of all disks, or the service alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    Power,
    Service,
}

struct Scene {
    seed: u64,
    level: Level,
    disks: u16,
    requests: u32,
    /// Whether a disk fails at some time, and is there again when the power is.
    fails: bool,
}

impl Scene {
    fn geometry(&self) -> Geometry {
        Geometry::within(self.level, self.disks, UNIT, DISK, (super::BEFORE, super::BEHIND)).expect("a geometry")
    }

    fn lacking(&self) -> Lacking {
        if self.fails { Lacking::Allowed } else { Lacking::Refused }
    }

    fn units(
        &self,
        power: &Rc<RefCell<Power>>,
        platters: &[Rc<RefCell<Platter>>],
        fails: Option<(usize, Time)>,
    ) -> Vec<OpenedMember> {
        let disk = |(number, platter): (usize, &Rc<RefCell<Platter>>)| -> OpenedMember {
            let fails = fails.filter(|(disk, _)| *disk == number).map_or(Time::NEVER, |(_, at)| at);
            let (power, platter) = (Rc::clone(power), Rc::clone(platter));
            Ok(Box::new(Disk { power, platter, flying: Vec::new(), fails }))
        };
        platters.iter().enumerate().map(disk).collect()
    }

    /// Plays it until the power goes after so many writes, and looks at what is left: whether it went before the end.
    fn play(&self, writes: u64) -> bool {
        let geometry = self.geometry();
        let draw = Draw::new(self.seed, 0);
        let power = Rc::new(RefCell::new(Power { draw, now: Time::ZERO, left: u64::MAX, off: false }));
        let platter = || Platter { medium: vec![[0; BLOCK]; DISK as usize], cached: Vec::new() };
        let platters: Vec<_> = (0..self.disks).map(|_| Rc::new(RefCell::new(platter()))).collect();
        let boxed = |units: Vec<OpenedMember>| units.into_iter().flatten().collect::<Vec<_>>();
        create(&mut boxed(self.units(&power, &platters, None)), geometry).expect("an array");
        let mut blocks: Vec<History> = vec![vec![(0, true)]; geometry.blocks() as usize];
        let (mut stamp, mut cut) = (0, false);
        for life in 0..2 {
            // The second life is cut somewhere, the first where it is said.
            power.borrow_mut().left = if life == 0 { writes } else { writes / 2 };
            let fails = self.fails.then(|| {
                let mut power = power.borrow_mut();
                let at = power.now + Span(power.draw.below(2000));
                (power.draw.below(self.disks.into()) as usize, at)
            });
            let mut members = self.units(&power, &platters, fails);
            let status = inspect(&mut members, &geometry);
            let lacks = |disk: block::DiskId| status.disks[usize::from(disk.0)] != MemberState::Sound;
            assert!(geometry.is_whole_without(lacks), "{}", status.text());
            if status.admit(&geometry, self.lacking()).is_err() || life > 0 && self.fails {
                break;
            }
            let unit = Members::new(geometry, boxed(members)).noting(ArrayNotes::new(&status));
            let asker = Asker {
                power: Rc::clone(&power),
                blocks: std::mem::take(&mut blocks),
                asked: (0..TOGETHER).map(|_| None).collect(),
                left: self.requests,
                stamp,
                next: Time::ZERO,
                finished: 0,
            };
            let mut world = LiveWorld::new(Virtual(Rc::clone(&power)), Box::new(unit), asker, Span(u64::MAX / 4));
            let caps = Caps { blocks: DISK, depth: 4, seek: false };
            let policy = || policy::usual("fcfs").make(&Beside::default());
            let core = || Core::new(caps, u32::MAX, Distance::default(), Rules::default(), Box::new(policy));
            let cores = (0..self.disks).map(|_| core()).collect();
            let mut array = Array::new(geometry, ArrayPlan::default(), Rules::default(), 8, cores);
            run(&mut array, &mut world);
            blocks = std::mem::take(&mut world.source.blocks);
            stamp = world.source.stamp + 1;
            cut |= power.borrow().off;
            drop(world);
            // At first only the service is killed, now and then: what the caches have is there until the power goes.
            let killed = life == 0 && self.seed % 4 == 1;
            self.restore(&power, &platters, &mut blocks, if killed { Loss::Service } else { Loss::Power });
        }
        cut
    }

    /// The power comes back: the array is found and made to agree, and holds what it must.
    fn restore(
        &self,
        power: &Rc<RefCell<Power>>,
        platters: &[Rc<RefCell<Platter>>],
        blocks: &mut [History],
        loss: Loss,
    ) {
        let geometry = self.geometry();
        {
            let mut power = power.borrow_mut();
            if loss == Loss::Power {
                platters.iter().for_each(|platter| platter.borrow_mut().cut(&mut power.draw));
            }
            (power.off, power.left) = (false, u64::MAX);
        }
        let mut members = self.units(power, platters, None);
        let status = inspect(&mut members, &geometry);
        assert_eq!(status.admit(&geometry, self.lacking()), Ok(()), "{}", status.text());
        let mut units: Vec<_> = members.into_iter().flatten().collect();
        resync(&mut units, geometry, &status).expect("it is made to agree");
        let sound = |disk: block::DiskId| status.disks[usize::from(disk.0)] == MemberState::Sound;
        let at = |row, within| geometry.on_disk(row, within, 1).start.0;
        let held = |disk: block::DiskId, row, within| platters[usize::from(disk.0)].borrow().holds(at(row, within));
        for row in 0..geometry.rows() {
            for within in 0..UNIT {
                let mut sums = [[0; BLOCK]; 2];
                for column in 0..geometry.columns() {
                    let block = geometry.block(row, column, within).0 as usize;
                    let copies: Vec<Held> = geometry
                        .copies_of(row, column)
                        .filter(|disk| sound(*disk))
                        .map(|disk| held(disk, row, within))
                        .collect();
                    let first = copies.first().expect("a copy");
                    assert!(copies.iter().all(|copy| copy == first), "copies of block {block} differ");
                    let may: Vec<u64> = blocks[block].iter().map(|(stamp, _)| *stamp).collect();
                    let is = may.iter().copied().find(|stamp| content(*stamp) == *first);
                    let Some(is) = is else { panic!("block {block} holds none of {may:?}") };
                    blocks[block] = vec![(is, true)];
                    Factor::ONE.add_multiple(first, &mut sums[0]);
                    Factor::power(column).add_multiple(first, &mut sums[1]);
                }
                for parity in 0..geometry.parities() {
                    let disk = geometry.disk_of_slot(row, geometry.columns() + parity);
                    let agrees = held(disk, row, within) == sums[usize::from(parity)];
                    assert!(agrees, "parity {parity} of row {row} does not agree");
                }
            }
        }
    }
}

fn scene(seed: u64, requests: u32) -> Scene {
    let levels = [(Level::Mirrored { copies: 2 }, 4), (Level::Parity, 3), (Level::DoubleParity, 5)];
    let (level, disks) = levels[seed as usize % 3];
    Scene { seed, level, disks, requests, fails: seed % 6 == 3 }
}

fn tell(scene: &Scene, writes: u64) -> bool {
    let played = std::panic::catch_unwind(|| scene.play(writes));
    played.unwrap_or_else(|_| panic!("seed {}, {:?}: the power goes after {writes} writes", scene.seed, scene.level))
}

/// `HALFTURN_SEEDS=N` takes so many scenes cut anywhere in place of 300.
#[test]
fn wherever_the_power_goes_what_was_flushed_is_there_and_all_agrees() {
    let mut cuts = 0;
    for seed in 0..12 {
        let scene = scene(seed, 12);
        let mut writes = 0;
        while tell(&scene, writes) {
            (writes, cuts) = (writes + 1, cuts + 1);
            assert!(writes < 10_000, "it does not end");
        }
    }
    let seeds = std::env::var("HALFTURN_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(300);
    let mut draw = Draw::new(1, 0);
    for seed in 100..100 + seeds {
        cuts += u64::from(tell(&scene(seed, 40), draw.below(250)));
    }
    println!("{cuts} cuts");
    assert!(cuts > 300, "{cuts}");
}
