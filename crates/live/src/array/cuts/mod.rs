//! The power goes while an array is written, or while a disk of it is rebuilt: what was flushed is there when it comes back, every
//! block is as it was before or after, and copies and parities agree, though none but the marked regions were looked at. A rebuild
//! goes on from where it had come, and in the end any disk may be lost.
//!
//! The disks have a cache that forgets what was not flushed; of what is in flight any of its blocks are written, also of a superblock.
//! A disk that takes a place holds rubbish at first. Core, world, and what the disks are told are those of the service.
//!
//! **There is no hole.** With parity, what a disk held that is lacking follows from the rest of its row: it is what it was before or after,
//! too, whatever of the row was being written when the power went, or when the disk failed.

mod asker;
mod disk;
mod growing;
mod logs;
mod making;
mod raising;
mod rows;
mod trading;

use super::assembly::read_label;
use super::label::Superblock;
use super::notes::write_copies;
use super::regions::RegionBits;
use super::resync::Resync;
use super::{
    ArrayNotes, ArrayOrder, ArrayStatus, Former, JOURNAL, Lacking, MemberState, OpenedMember, RepairPace, ScrubOrder,
    create, inspect, regions, resync,
};
use crate::memory::Slice;
use crate::unit::{LiveDevice, MemberOpener, Members, Summed};
use crate::world::LiveWorld;
use asker::{Asker, History, content};
use block::{BLOCK_BYTES, Caps, DiskId, Qos, Span, Time};
use disk::{Disk, Platter, Power, Virtual};
use load::Draw;
use logs::LogFate;
use raising::Raises;
use rows::Rows;
use sched::array::{Array, ArrayPlan, Geometry, Level};
use sched::plan::Rules;
use sched::policy::{self, Beside};
use sched::predict::Distance;
use sched::{Core, run};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

const BLOCK: usize = BLOCK_BYTES as usize;
/// Blocks of a disk, of a stripe unit, and requests together.
const DISK: u64 = super::BEFORE + 40 + super::BEHIND;
const UNIT: u32 = 4;
const TOGETHER: usize = 3;
/// What stands for a content that nobody can know.
const ANYTHING: u64 = u64::MAX;
/// What stands for what nobody needs any more: what was there before, or zeros.
const DISCARDED: u64 = (1 << 61) - 1;

/// What a cut takes away: the power of all disks, or the service alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    Power,
    Service,
}

/// What becomes of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    None,
    /// It fails at some time, and is there again when the power is.
    Fails,
    /// Another takes its place while it is sound; or after it failed.
    Replaced,
    FailsAndReplaced,
    /// It cannot be read in parts, and holds something else in others, until the array is scrubbed.
    Scrubbed,
}

/// The disks that stand in each place: what the file names, and before it what it named earlier.
type Places = Vec<Vec<Rc<RefCell<Platter>>>>;

struct Scene {
    seed: u64,
    level: Level,
    disks: u16,
    requests: u32,
    fate: Fate,
    /// How many disks that becomes of.
    victims: usize,
    /// Whether disks make zeros in no time.
    empties: bool,
    /// Whether they know checksums of their blocks.
    sums: bool,
    /// What becomes of the log of its write buffer.
    log: LogFate,
    /// Whether it grows by a disk, and whether that is the one that something becomes of.
    grows: bool,
    befalls_joined: bool,
    /// Whether it comes to have a second parity, on a disk that joins, or parity in place of copies.
    raises: Raises,
}

/// What there is beside the array.
struct Outside {
    power: Rc<RefCell<Power>>,
    /// Those that were opened to take a place are at the end of what stands there.
    places: Rc<RefCell<Places>>,
    /// What the log is on.
    tape: Rc<RefCell<Platter>>,
    sums: bool,
}

impl Outside {
    fn new(scene: &Scene) -> Outside {
        let draw = Draw::new(scene.seed, 0);
        let power =
            Power { draw, now: Time::ZERO, left: u64::MAX, off: false, empties: scene.empties, stores: Vec::new() };
        let blocks = Outside::blocks(scene.sums);
        let places = (0..scene.disks).map(|_| vec![Platter::holding([0; BLOCK], blocks)]).collect();
        let (power, places) = (Rc::new(RefCell::new(power)), Rc::new(RefCell::new(places)));
        Outside { power, places, tape: scene.make_tape(), sums: scene.sums }
    }

    /// Blocks of a disk, with room for its checksums.
    fn blocks(sums: bool) -> u64 {
        DISK + if sums { 32 } else { 0 }
    }

    /// A disk, with checksums or without.
    fn device(disk: Disk, sums: bool) -> Box<dyn LiveDevice> {
        if sums { Box::new(Summed::new(Box::new(disk))) } else { Box::new(disk) }
    }

    fn below(&self, limit: u64) -> u64 {
        self.power.borrow_mut().draw.below(limit)
    }

    fn platter(&self, disk: usize) -> Rc<RefCell<Platter>> {
        Rc::clone(self.places.borrow()[disk].last().expect("a disk"))
    }

    /// The disks that the file names, of which some fail at some time.
    fn units(&self, fails: &[(usize, Time)]) -> Vec<OpenedMember> {
        let disk = |number: usize| -> OpenedMember {
            let fails = fails.iter().find(|(disk, _)| *disk == number).map_or(Time::NEVER, |(_, at)| *at);
            let (power, platter) = (Rc::clone(&self.power), self.platter(number));
            Ok(Outside::device(Disk { power, platter, flying: Vec::new(), fails }, self.sums))
        };
        let count = self.places.borrow().len();
        (0..count).map(disk).collect()
    }

    /// The same, of which none fails.
    fn boxed(&self) -> Vec<Box<dyn LiveDevice>> {
        self.units(&[]).into_iter().flatten().collect()
    }

    /// There is power again: what was being stored is there in part, and so is what the caches had, where they lost it.
    fn power_up(&self, loss: Loss) {
        let mut power = self.power.borrow_mut();
        power.tear_stores();
        if loss == Loss::Power {
            let places = self.places.borrow();
            places.iter().flatten().for_each(|platter| platter.borrow_mut().cut(&mut power.draw));
        }
        (power.off, power.left) = (false, u64::MAX);
    }

    /// Opens a disk full of rubbish, which may fail where it is the first in its place.
    fn opener(&self, fails: Vec<(usize, Time)>) -> MemberOpener {
        let (power, places, sums) = (Rc::clone(&self.power), Rc::clone(&self.places), self.sums);
        Box::new(move |disk, _| {
            let platter = Platter::holding([0xA5; BLOCK], Outside::blocks(sums));
            let place = usize::from(disk.0);
            let mut places = places.borrow_mut();
            let count = places.len().max(place + 1);
            places.resize_with(count, Vec::new);
            places[place].push(Rc::clone(&platter));
            let is_first = places[place].len() == 1;
            drop(places);
            let fails = fails.iter().find(|(disk, _)| is_first && *disk == place).map_or(Time::NEVER, |(_, at)| *at);
            let disk = Disk { power: Rc::clone(&power), platter, flying: Vec::new(), fails };
            Ok(Outside::device(disk, sums))
        })
    }

    /// Where another disk took a place, the file names that one from now on; where it did not come to that, the one before. A disk
    /// whose place was taken is not had for the one that took it.
    fn settle_places(&self, geometry: &Geometry) {
        // A disk by which the array was to grow, and of which no disk knows.
        self.places.borrow_mut().truncate(geometry.disks().into());
        for disk in 0..usize::from(geometry.disks()) {
            let state = |outside: &Outside| inspect(&mut outside.units(&[]), geometry).disks[disk].clone();
            if self.places.borrow()[disk].len() == 1 {
                continue;
            }
            let taken = matches!(state(self), MemberState::Filling(_) | MemberState::Sound);
            let newest = self.places.borrow_mut()[disk].pop().expect("a disk");
            if taken {
                assert_ne!(state(self), MemberState::Sound, "disk {disk} was replaced");
                self.places.borrow_mut()[disk] = vec![newest];
            }
        }
    }
}

impl Scene {
    fn geometry(&self) -> Geometry {
        Geometry::within(self.level, self.disks, UNIT, DISK, (super::BEFORE, super::BEHIND)).expect("a geometry")
    }

    fn lacking(&self) -> Lacking {
        if self.fate == Fate::None { Lacking::Refused } else { Lacking::Allowed }
    }

    fn pace(&self) -> RepairPace {
        let draw = &mut Draw::new(self.seed, 7);
        RepairPace {
            blocks: 1 + draw.below(30) as u32,
            depth: 1 + draw.below(3) as u32,
            apart: Span(draw.below(2) * 300),
            floor: None,
            noted_every: Span(draw.below(800)),
            qos: Qos::default(),
        }
    }

    fn make_core(&self, geometry: Geometry, places: usize) -> Array<Distance> {
        let caps = Caps { blocks: DISK, depth: 4, seek: block::SeekBy::Nothing, arms: 1 };
        let policy = || policy::usual("fcfs").make(&Beside::default());
        let core = || Core::new(caps, u32::MAX, Distance::default(), Rules::default(), Box::new(policy));
        let (buffer, logged) = (self.room(), self.log != LogFate::None);
        let read_cache = if (self.seed / 6).is_multiple_of(2) { 512 } else { 0 };
        let journal = Some(JOURNAL);
        let plan = ArrayPlan { comparing: true, journal, buffer, logged, read_cache, ..ArrayPlan::default() };
        let cores = (0..places).map(|_| core()).collect();
        Array::new(geometry, plan, Rules::default(), 8, cores)
    }

    /// Who asks, and knows of nothing yet.
    fn make_asker(&self, outside: &Outside, geometry: Geometry) -> Asker {
        Asker {
            power: Rc::clone(&outside.power),
            blocks: Vec::new(),
            asked: (0..TOGETHER).map(|_| None).collect(),
            left: self.requests,
            stamp: 0,
            next: Time::ZERO,
            finished: 0,
            region: regions::blocks(&geometry, 0).1,
            most: if self.seed % 11 < 4 { regions::blocks(&geometry, 1).1 } else { geometry.blocks() },
            orders: Vec::new(),
            stays: false,
            is_done: true,
            disks: self.disks_wanted(),
            level: self.level_wanted(),
            change: self.list_changes().first().cloned(),
            logs: self.log == LogFate::Kept,
        }
    }

    /// The disks that something becomes of, this one first.
    fn list_victims(&self, first: usize) -> Vec<usize> {
        let one = if self.seed.is_multiple_of(3) { self.disks } else { self.disks_grown() - 1 };
        let joined = self.befalls_joined.then_some(one.into());
        let others = (0..).map(|nth| (first + nth) % usize::from(self.disks));
        joined.into_iter().chain(others).take(self.victims).collect()
    }

    /// What the array is told, where these disks are not what they were.
    fn list_orders(&self, disks: &[usize]) -> Vec<ArrayOrder> {
        let replace = |disk: &usize| ArrayOrder::Replace(DiskId(*disk as u16), "another".into(), Former::Kept);
        match self.fate {
            Fate::Scrubbed => vec![ArrayOrder::Scrub(ScrubOrder::Start)],
            Fate::Replaced | Fate::FailsAndReplaced => disks.iter().map(replace).collect(),
            Fate::None | Fate::Fails => Vec::new(),
        }
    }

    /// What the array is told to become.
    fn list_changes(&self) -> Vec<ArrayOrder> {
        let grows = self.grows.then(|| growing::grow_order(self.geometry().growth_step()));
        grows.into_iter().chain(self.raises.list_orders()).collect()
    }

    /// Plays it until the power goes after so many writes, and looks at what is left: whether it went before the end.
    fn play(&self, writes: u64) -> bool {
        let (made, outside) = (self.geometry(), Outside::new(self));
        let power = &outside.power;
        create(&mut outside.boxed(), made).expect("an array");
        let mut blocks: Vec<History> = vec![vec![(0, true)]; self.changed().blocks() as usize];
        let (mut stamp, mut cut) = (0, false);
        let victim = outside.below(self.disks.into()) as usize;
        let victims = self.list_victims(victim);
        let fails = matches!(self.fate, Fate::Fails | Fate::FailsAndReplaced);
        let is_replaced = !self.list_orders(&victims).is_empty() && self.fate != Fate::Scrubbed;
        let scrubs = self.fate == Fate::Scrubbed;
        if scrubs {
            self.spoil(&outside, victim, &mut blocks);
        }
        for life in 0..3 {
            // The second life is cut somewhere, the first where it is said, the last nowhere.
            power.borrow_mut().left = [writes, writes / 2, u64::MAX][life];
            let now = power.borrow().now;
            let geometry = self.find(&outside);
            let failing = victims.iter().filter(|_| fails && life == 0);
            let failing: Vec<_> = failing.map(|disk| (*disk, now + Span(outside.below(2000)))).collect();
            let mut members = outside.units(&failing);
            let status = inspect(&mut members, &geometry);
            assert_eq!(status.admit(&geometry, self.lacking()), Ok(()), "{}", status.text());
            let replaced = list_replaced(&status, &victims, life);
            let at = |order| (order, now + Span(outside.below(2500)));
            let known = ArrayNotes::new(&status, 1 + self.seed * 3 + life as u64);
            let log = self.open_log(&outside, &status, self.log_fails(&outside, life));
            if log.is_none() && self.log != LogFate::None {
                cut = true;
                self.restore(&outside, &mut blocks, Loss::Power);
                continue;
            }
            let units = members.into_iter().flatten().chain(self.make_places(&geometry)).collect();
            let unit = Members::new(geometry, units).logging(log);
            let unit = unit.repairing([self.pace(), self.pace()], Some(outside.opener(failing))).noting(known);
            let places = unit.members().len();
            let orders = self.list_orders(&replaced).into_iter().chain(self.list_changes());
            let asker = Asker {
                blocks: std::mem::take(&mut blocks),
                stamp,
                orders: orders.map(at).collect(),
                stays: life == 2 && (is_replaced || self.has_to_grow()) || scrubs,
                ..self.make_asker(&outside, geometry)
            };
            let mut world = LiveWorld::new(Virtual(Rc::clone(power)), Box::new(unit), asker, Span(u64::MAX / 4));
            run(&mut self.make_core(geometry, places), &mut world);
            (blocks, stamp) = (std::mem::take(&mut world.source.blocks), world.source.stamp);
            // At first only the service is killed, now and then: what the caches have is there until the power goes.
            let killed = life == 0 && (self.seed % 4 == 1 || scrubs);
            if let Ok(mut stopped) = world.finish()
                && !killed
            {
                stopped.unit.close();
            }
            cut |= power.borrow().off;
            self.restore(&outside, &mut blocks, if killed { Loss::Service } else { Loss::Power });
            if scrubs {
                assert!(outside.platter(victim).borrow().bad.is_empty(), "it was not written anew");
                break;
            }
            if life == 2 {
                self.check_end(&outside, is_replaced);
            }
        }
        cut
    }

    /// The array is as one of a version that did not note what was never written.
    fn forget_blank(&self, outside: &Outside) {
        for mut unit in outside.units(&[]).into_iter().flatten() {
            let label = read_label(&mut *unit).expect("a label");
            let label = Superblock { blank: RegionBits::default(), ..label };
            write_copies(&mut *unit, Some(&label)).expect("written");
        }
        let status = inspect(&mut outside.units(&[]), &self.geometry());
        assert_eq!(status.written, status.bytes);
    }

    /// Of some rows a disk cannot read its part, of others it holds something else.
    fn spoil(&self, outside: &Outside, disk: usize, blocks: &mut [History]) {
        let geometry = self.geometry();
        // What was never written would not be looked through.
        self.forget_blank(outside);
        for mut unit in outside.units(&[]).into_iter().flatten() {
            let label = read_label(&mut *unit).expect("a label");
            unit.set_sum_key(label.sum_key(label.own_name));
            unit.sum_anew(geometry.on_disk(0, 0, geometry.unit() * geometry.rows() as u32));
            unit.keep_sums().expect("kept");
        }
        for row in 0..geometry.rows() {
            let within = outside.below(UNIT.into()) as u32;
            let at = geometry.on_disk(row, within, 1).start.0;
            let platter = outside.platter(disk);
            match outside.below(3) {
                0 => drop(platter.borrow_mut().bad.insert(at)),
                1 => {
                    platter.borrow_mut().medium[at as usize] = [0x77; BLOCK];
                    // With a checksum it is known what it was.
                    if let Some(column) = geometry.column(row, DiskId(disk as u16)).filter(|_| !self.sums) {
                        blocks[geometry.block(row, column, within).0 as usize] = vec![(ANYTHING, true)];
                    }
                }
                _ => {}
            }
        }
    }

    /// The array is looked at and made to agree: what was found, and whether it was.
    fn make_agree(&self, outside: &Outside, geometry: Geometry) -> (ArrayStatus, io::Result<u64>) {
        let mut members = outside.units(&[]);
        let status = inspect(&mut members, &geometry);
        assert_eq!(status.admit(&geometry, self.lacking()), Ok(()), "{}", status.text());
        let mut units: Vec<_> = members.into_iter().flatten().collect();
        let ended = resync(&mut units, geometry, &status);
        (status, ended)
    }

    /// The power comes back: the array is found and made to agree, and holds what it must.
    fn restore(&self, outside: &Outside, blocks: &mut [History], loss: Loss) {
        outside.power_up(loss);
        let geometry = self.find(outside);
        outside.settle_places(&geometry);
        // In some scenes the power goes again meanwhile.
        let again = (self.seed % 4 == 3).then(|| Draw::new(self.seed, 11).below(12));
        if let Some(writes) = again {
            outside.power.borrow_mut().left = writes;
            let ended = self.make_agree(outside, geometry).1;
            assert!(ended.is_ok() || outside.power.borrow().off, "{ended:?}");
            outside.power_up(Loss::Power);
        }
        let (status, ended) = self.make_agree(outside, geometry);
        ended.expect("it is made to agree");
        let blank = &status.label.as_ref().expect("a label").blank;
        let held: Vec<u64> = status.disks.iter().map(MemberState::rows_held).collect();
        for region in blank.list() {
            for (disk, held) in held.iter().enumerate() {
                let rows = regions::rows(&geometry, region).filter(|row| row < held);
                let mut at = rows.flat_map(|row| (0..UNIT).map(move |within| geometry.on_disk(row, within, 1).start.0));
                let holds = |block| outside.platter(disk).borrow().holds(block);
                assert!(
                    at.all(|block| holds(block) == [0; BLOCK]),
                    "region {region} was never written, says disk {disk}"
                );
            }
        }
        let logged = self.read_log(outside, &status);
        let row = Rows { geometry, outside, held, logged };
        (0..geometry.rows()).for_each(|number| (0..UNIT).for_each(|within| row.check(number, within, blocks)));
    }
}

fn scene(seed: u64, requests: u32) -> Scene {
    let levels = [(Level::Mirrored { copies: 2 }, 4), (Level::Parity, 3), (Level::DoubleParity, 5)];
    let (level, disks) = levels[seed as usize % 3];
    let fates = [Fate::None, Fate::Replaced, Fate::FailsAndReplaced, Fate::Fails];
    let is_twice = level == Level::DoubleParity && (seed / 12) % 2 == 1;
    Scene {
        seed,
        level,
        disks,
        requests,
        fate: fates[(seed / 3) as usize % 4],
        victims: if is_twice { 2 } else { 1 },
        empties: seed % 5 != 4,
        sums: seed % 7 < 3,
        log: LogFate::of(seed),
        grows: false,
        befalls_joined: false,
        raises: Raises::No,
    }
}

/// Those of the victims that are replaced in a life of the service, unless they are being filled already.
fn list_replaced(status: &ArrayStatus, victims: &[usize], life: usize) -> Vec<usize> {
    let is_wanted = |disk: &&usize| match status.disks.get(**disk) {
        Some(MemberState::Filling(_)) => false,
        Some(MemberState::Sound) => life == 0,
        _ => true,
    };
    victims.iter().filter(is_wanted).copied().collect()
}

fn tell(scene: &Scene, writes: u64) -> bool {
    let played = std::panic::catch_unwind(|| scene.play(writes));
    let Scene { seed, level, fate, log, .. } = scene;
    played.unwrap_or_else(|_| {
        panic!("seed {seed}, {level:?}, {fate:?}, log {log:?}: the power goes after {writes} writes")
    })
}

/// What a variable of the environment says.
fn read_number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Cuts a scene after each of its writes in turn: how often.
fn cut_everywhere(scene: &Scene) -> u64 {
    let mut writes = 0;
    while tell(scene, writes) {
        writes += 1;
        assert!(writes < 10_000, "it does not end");
    }
    writes
}

/// The seeds of scenes that are cut anywhere: so many from the hundredth on, unless `HALFTURN_SEEDS=N` says how many. With
/// `HALFTURN_SEED=N` besides they begin there; alone it is the `Err` of the one that is to be cut at each of its writes.
fn choose_seeds(usual: u64) -> Result<std::ops::Range<u64>, u64> {
    match (read_number("HALFTURN_SEED"), read_number("HALFTURN_SEEDS")) {
        (Some(seed), None) => Err(seed),
        (first, many) => {
            let first = first.unwrap_or(100);
            Ok(first..first + many.unwrap_or(usual))
        }
    }
}

#[test]
fn wherever_the_power_goes_what_was_flushed_is_there_and_all_agrees() {
    let seeds = match choose_seeds(300) {
        Ok(seeds) => seeds,
        Err(seed) => {
            let requests = read_number("HALFTURN_REQUESTS").unwrap_or(40) as u32;
            return println!("{} cuts", cut_everywhere(&scene(seed, requests)));
        }
    };
    let mut cuts: u64 = (0..12).map(|seed| cut_everywhere(&scene(seed, 12))).sum();
    // Two disks of a row that was being written go, and the power between the notes of that.
    cuts += u64::from(tell(&Scene { log: LogFate::None, ..scene(3812, 40) }, 18));
    // The last row of a disk is filled while the repair of another goes on that was asked for with it.
    cuts += u64::from(tell(&scene(306, 12), 11));
    for seed in seeds {
        cuts += u64::from(tell(&scene(seed, 40), Draw::new(seed, 9).below(250)));
    }
    let replayed = logs::count_replayed();
    println!("{cuts} cuts, {replayed} writes on a log alone");
    assert!(cuts > 300 && replayed > 300, "{cuts} cuts, {replayed} writes");
}

#[test]
fn a_scrub_writes_anew_what_cannot_be_read_and_what_does_not_agree() {
    for seed in 0..90 {
        assert!(!tell(&Scene { fate: Fate::Scrubbed, log: LogFate::None, ..scene(seed, 40) }, u64::MAX));
    }
}

/// A disk that took a place has a name of its own, and its checksums are of that.
#[test]
fn checksums_that_are_made_anew_are_those_of_the_disk_that_is_there() {
    let scene = Scene { sums: true, ..scene(1, 0) };
    let (geometry, outside) = (scene.geometry(), Outside::new(&scene));
    create(&mut outside.boxed(), geometry).expect("an array");
    for mut unit in outside.boxed() {
        let mut label = read_label(&mut *unit).expect("a label");
        label.names[1] = 77;
        label.own_name = if label.index == 1 { 77 } else { 0 };
        label.blank.remove(0);
        label.dirty.add(0);
        write_copies(&mut *unit, Some(&label)).expect("written");
    }
    let mut units = outside.units(&[]);
    let status = inspect(&mut units, &geometry);
    resync(&mut units.into_iter().flatten().collect::<Vec<_>>(), geometry, &status).expect("it is made to agree");
    let at = geometry.on_disk(0, 0, 1);
    outside.platter(1).borrow_mut().medium[at.start.0 as usize] = [0x77; BLOCK];
    let mut unit = outside.boxed().remove(1);
    unit.set_sum_key(status.label.expect("a label").sum_key(77));
    assert!(!unit.peek(at, &Slice::new(BLOCK)), "it was spoilt since");
}
