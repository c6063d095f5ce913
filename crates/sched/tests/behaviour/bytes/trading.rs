//! Mirrored stripes come to have parity in place of copies while they are written. Disks are lost before, meanwhile and after, and
//! other disks take their places.

use super::raising::check_parities;
use super::{ASKED, Bytes, DISKS, Inside, JOURNAL, Kept, TOGETHER};
use block::{DiskId, Op, Qos, Request, RequestId};
use sched::array::{Geometry, Level};
use sched::{Health, Input, Scheduler};

/// When disks are lost: how much was asked for by then, of [`ASKED`]; and how much when parity comes.
#[derive(Clone, Copy, Debug)]
struct TradeScene {
    traded_at: u32,
    lost_at: u32,
    is_replaced: bool,
    journals: bool,
}

impl Bytes {
    /// From now on rows come to have parity.
    fn trade(&mut self, journals: bool) {
        self.geometry = self.geometry.trade_copies().expect("it becomes a RAID 5");
        self.journals = journals;
        self.handle(Input::Disk(DiskId(0), Health::TradesCopies));
    }

    /// Asks that the next rows be moved, one request after the other.
    fn ask_move(&mut self) {
        let is_moving = self.inside.iter().flatten().any(|it| it.request.op == Op::Move);
        let Some(slot) = self.inside.iter().position(Option::is_none).filter(|_| self.array.room() > 0) else { return };
        if is_moving || !self.geometry.is_growing() {
            return;
        }
        let at = self.geometry.next_move(self.dice.below(4000) as u32);
        let request = Request { id: RequestId(slot as u32), op: Op::Move, at, qos: Qos::default() };
        self.inside[slot] = Some(Inside { request, memory: Vec::new(), expected: Vec::new(), cancelled: false });
        self.handle(Input::Submit(request));
    }

    /// The disks know how far rows have moved; when all have, there is more room.
    fn tell_moved(&mut self) {
        if let Some(rows) = self.moved.take() {
            self.geometry = self.geometry.moved_to(rows);
            self.current.resize(self.geometry.blocks() as usize, 0);
            self.handle(Input::Disk(DiskId(DISKS - 1), Health::Told));
        }
    }

    fn has_ended(&self) -> bool {
        self.flying.is_empty() && self.unknown.is_empty() && self.moved.is_none()
    }

    fn play_trade(&mut self, scene: TradeScene) {
        let (mut asked, mut next, mut is_traded, mut is_lost) = (0, 0, false, false);
        let is_stuck = |it: &Bytes| !scene.is_replaced && !it.failed.is_empty();
        let mut steps = 0;
        self.spare = 0;
        while asked < ASKED || !is_traded || !self.has_ended() || self.filling.is_some() || {
            self.geometry.is_growing() && !is_stuck(self)
        } {
            steps += 1;
            assert!(steps < 1_000_000, "it does not end");
            match self.dice.below(14) {
                0..=3 if asked < ASKED => {
                    self.ask_at_random();
                    asked += 1;
                }
                4 if !is_traded && asked >= scene.traded_at && self.filling.is_none() && self.failed.is_empty() => {
                    is_traded = true;
                    self.trade(scene.journals);
                }
                5 if !is_lost && asked >= scene.lost_at && (is_traded || scene.is_replaced) => {
                    is_lost = true;
                    let disk = DiskId(self.dice.below(DISKS.into()) as u16);
                    self.fail_disk(disk);
                }
                6 => self.tell_known(),
                7 => self.tell_moved(),
                8 if is_lost && scene.is_replaced && self.is_given_up() => {
                    let disk = self.failed.pop().expect("it failed");
                    self.gone.retain(|other| *other != disk);
                    self.handle(Input::Disk(disk, Health::Replaced));
                    self.filling = Some(disk);
                }
                9 if self.failed.is_empty() && self.filling.is_some() => drop(self.fill_on(&mut next)),
                10 if is_traded && self.filling.is_none() && self.failed.is_empty() => self.ask_move(),
                _ if !self.flying.is_empty() => self.complete(),
                _ => {}
            }
        }
        self.read_all();
    }

    /// Whether a disk failed, its commands are back, and the others know.
    fn is_given_up(&self) -> bool {
        let is_back = |disk: &DiskId| !self.flying.iter().any(|(other, ..)| other == disk);
        self.failed.iter().any(|disk| self.gone.contains(disk) && !self.unknown.contains(disk) && is_back(disk))
    }
}

#[test]
fn whoever_reads_gets_what_was_written_last_though_parity_comes_in_place_of_copies() {
    let (mut whole, mut lacking) = (0, 0);
    for seed in 0..300_u64 {
        let scene = TradeScene {
            traded_at: (seed % 30) as u32,
            lost_at: if seed % 4 == 0 { u32::MAX } else { (seed * 7 % 60) as u32 },
            is_replaced: seed % 3 > 0,
            journals: seed % 2 == 1,
        };
        println!("{scene:?}, seed {seed}");
        let journal = scene.journals.then_some(JOURNAL);
        let mut it = Bytes::new(Level::Mirrored { copies: 2 }, Kept { buffer: 0, logged: false, journal }, seed);
        it.play_trade(scene);
        assert!(it.records.is_empty(), "{:?} are not done with", it.records);
        if it.failed.is_empty() {
            let made = Geometry::new(Level::Parity, DISKS, it.geometry.unit(), super::EACH).expect("a geometry");
            assert_eq!(it.geometry, made, "it is a RAID 5 like any other");
            check_parities(&it);
            whole += 1;
        }
        lacking += u32::from(!it.failed.is_empty() && it.geometry.is_growing());
        assert_eq!(it.array.room(), TOGETHER as u32);
    }
    assert!(whole > 100 && lacking > 10, "{whole} {lacking}");
}
