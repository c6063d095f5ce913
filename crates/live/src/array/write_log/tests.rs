//! A log beside a model of it, through power cuts at any time: what is read again is all that was kept and is not settled, in order and
//! as it was written.

use super::*;
use crate::kernel::PlayedKernel;
use crate::ring::{RingOp, RingToken};
use crate::unit::Done;
use block::{Caps, Command};
use load::Draw;
use std::cell::RefCell;
use std::rc::Rc;

const ARRAY: [u8; 16] = [7; 16];
const BLOCK: usize = BLOCK_BYTES as usize;

/// What a device holds, and what it is writing.
#[derive(Default)]
struct Tape {
    medium: Vec<u8>,
    pending: Vec<(Extent, Vec<u8>, u32)>,
    /// Of how many stores one is done at once; whether it takes none.
    at_once: u64,
    broken: bool,
}

struct Device(Rc<RefCell<Tape>>);

impl LiveDevice for Device {
    fn caps(&self) -> Caps {
        Caps {
            blocks: self.0.borrow().medium.len() as u64 / BLOCK_BYTES,
            depth: 1,
            seek: block::SeekBy::Nothing,
            arms: 1,
        }
    }

    fn issue(&mut self, _: Time, _: Tag, _: &Command, _: Option<Slice>, _: &mut dyn Kernel) -> io::Result<()> {
        panic!("a log is given no commands")
    }

    fn next_completion(&mut self, _: Time) -> Option<Done> {
        None
    }

    fn peek(&mut self, at: Extent, into: &Slice) -> bool {
        let from = at.start.0 as usize * BLOCK;
        into.buffer.put(into.from, &self.0.borrow().medium[from..from + into.bytes]);
        true
    }

    fn store(&mut self, at: Extent, from: &Slice) -> io::Result<()> {
        let first = at.start.0 as usize * BLOCK;
        self.0.borrow_mut().medium[first..first + from.bytes].copy_from_slice(&from.to_vec());
        Ok(())
    }

    fn begin_store(&mut self, at: Extent, from: &Slice, number: u32, _: &mut dyn Kernel) -> io::Result<Stored> {
        assert_eq!(at.bytes() as usize, from.bytes);
        if self.0.borrow().broken {
            return Err(io::ErrorKind::Other.into());
        }
        let is_first = self.0.borrow().pending.is_empty();
        if self.0.borrow().at_once > 0 && is_first && at.start.0.is_multiple_of(self.0.borrow().at_once) {
            return self.store(at, from).map(|()| Stored::Done);
        }
        self.0.borrow_mut().pending.push((at, from.to_vec(), number));
        Ok(Stored::Begun)
    }
}

struct Nothing;

impl PlayedKernel for Nothing {
    fn time(&self) -> Time {
        Time::ZERO
    }

    fn note(&mut self, _: RingToken, _: RingOp) {}
}

/// A log, and all that was ever to be on it.
struct Model {
    draw: Draw,
    tape: Rc<RefCell<Tape>>,
    log: WriteLog,
    room: u64,
    all: Vec<(Extent, Vec<u8>)>,
    /// How many writes there were before the one that has number 1 now; below which all are settled.
    before: u64,
    settled: u64,
}

fn open(tape: &Rc<RefCell<Tape>>, name: Option<LogName>, room: u64) -> Result<WriteLog, LogComplaint> {
    let unit = Box::new(Device(Rc::clone(tape)));
    OpenedLog { unit, path: "a log".into() }.open((ARRAY, name), room)
}

impl Model {
    fn new(seed: u64) -> Model {
        let mut draw = Draw::new(seed, 0);
        let room = 8 * (2 + draw.below(30));
        let tape =
            Tape { medium: vec![0; log_blocks(room) as usize * BLOCK], at_once: draw.below(4), ..Tape::default() };
        let tape = Rc::new(RefCell::new(tape));
        let log = open(&tape, None, room).unwrap_or_else(|(what, _)| panic!("{what}"));
        Model { draw, tape, log, room, all: Vec::new(), before: 0, settled: 1 }
    }

    /// The number of the next write.
    fn next(&self) -> u64 {
        1 + self.all.len() as u64 - self.before
    }

    fn keep(&mut self) {
        let blocks = 1 + self.draw.below(self.room - 8) as u32;
        let blocks = if self.draw.below(3) == 0 { blocks } else { 1 + blocks % 8 };
        let live = self.all[(self.before + self.settled - 1) as usize..].iter();
        let used: u64 = live.map(|(at, _)| logged_blocks(at.blocks)).sum();
        if used + logged_blocks(blocks) > self.room {
            return;
        }
        let number = self.all.len() as u64;
        let bytes: Vec<u8> = (0..blocks as usize * BLOCK).map(|byte| (number as usize * 31 + byte / 7) as u8).collect();
        let at = Extent::new(number * 1000, blocks);
        self.log.keep(at, &Slice::holding(&bytes));
        self.all.push((at, bytes));
        self.log.go_on(Time::ZERO, &mut Nothing);
    }

    /// A part of what is being written is there.
    fn complete(&mut self) {
        let count = self.tape.borrow().pending.len() as u64;
        if count == 0 {
            return;
        }
        let (at, bytes, number) = self.tape.borrow_mut().pending.swap_remove(self.draw.below(count) as usize);
        let first = at.start.0 as usize * BLOCK;
        self.tape.borrow_mut().medium[first..first + bytes.len()].copy_from_slice(&bytes);
        self.log.on_completion(Time::ZERO, Tag(number), bytes.len() as i32, &mut Nothing);
    }

    fn settle(&mut self, below: u64) {
        self.settled = self.settled.max(below);
        self.log.settle(self.settled);
        self.log.go_on(Time::ZERO, &mut Nothing);
    }

    /// The power goes: any blocks of what was being written are there.
    fn cut(&mut self) {
        let kept = self.before + self.log.first_unkept() - 1;
        let mut tape = self.tape.borrow_mut();
        for (at, bytes, _) in std::mem::take(&mut tape.pending) {
            for (block, held) in (at.start.0 as usize..).zip(bytes.chunks(BLOCK)) {
                if self.draw.below(2) == 0 {
                    tape.medium[block * BLOCK..][..BLOCK].copy_from_slice(held);
                }
            }
        }
        drop(tape);
        let name = self.log.name();
        self.log = open(&self.tape, Some(name), self.room).unwrap_or_else(|(what, _)| panic!("{what}"));
        let found: Vec<(Extent, Vec<u8>)> = self.log.replays.drain(..).map(|(at, held)| (at, held.to_vec())).collect();
        let count = found.len() as u64;
        let first = found.first().map_or(kept, |(at, _)| at.start.0 / 1000);
        assert!(first < self.before + self.settled && first + count >= kept, "{first} and {count}: {kept} were kept");
        assert!(found[..] == self.all[first as usize..(first + count) as usize]);
        self.all.truncate((first + count) as usize);
        (self.before, self.settled) = (first, 1);
    }

    fn play(&mut self) {
        for _ in 0..200 {
            match self.draw.below(20) {
                0 => self.cut(),
                1..8 => self.keep(),
                8..12 => {
                    let below = self.settled + self.draw.below(self.next() - self.settled + 1);
                    self.settle(below);
                }
                _ => self.complete(),
            }
            assert!(self.log.first_unkept() <= self.next() && self.log.used_pages() < self.log.label.pages);
        }
        // In the end all is kept, since what was kept is settled.
        for _ in 0..1000 {
            self.complete();
            self.settle(self.log.first_unkept());
        }
        assert_eq!(self.log.first_unkept(), self.next());
        assert!(self.log.is_settled() && self.log.fill().0 == 0);
    }
}

#[test]
fn what_is_kept_is_read_again_wherever_the_power_goes() {
    let seeds = match std::env::var("HALFTURN_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None => 0..400,
    };
    for seed in seeds {
        println!("seed {seed}");
        Model::new(seed).play();
    }
}

/// Writes of which nothing is settled, each in a batch of its own.
fn kept_singly(count: u64) -> Model {
    let mut model = Model::new(3);
    model.tape.borrow_mut().at_once = 1;
    while model.all.len() < count as usize {
        let at = Extent::new(1000 * model.all.len() as u64, 1);
        model.log.keep(at, &Slice::holding(&[1; BLOCK]));
        model.all.push((at, vec![1; BLOCK]));
        model.log.go_on(Time::ZERO, &mut Nothing);
    }
    model
}

#[test]
fn what_is_needed_and_not_as_it_was_written_is_refused_and_what_was_never_kept_is_not() {
    let model = kept_singly(4);
    let name = Some(model.log.name());
    let spoil = |page: usize| model.tape.borrow_mut().medium[(1 + page) * PAGE_BYTES + 40] ^= 1;
    let judge = || open(&model.tape, name, model.room).map(|log| log.replays.len()).map_err(|(what, _)| what);
    assert_eq!(judge(), Ok(4));
    for page in [1, 2, 3, 4] {
        spoil(page);
        assert!(judge().is_err_and(|what| what.contains("batch")), "page {page}");
        spoil(page);
    }
    // Of the last nobody was told, as far as the log knows.
    spoil(8);
    assert_eq!(judge(), Ok(3));
    spoil(6);
    assert!(judge().is_err(), "two are not whole");
}

#[test]
fn a_log_is_of_one_array_and_one_buffer_and_is_made_of_what_holds_nothing() {
    let model = kept_singly(1);
    let (room, name) = (model.room, Some(model.log.name()));
    let judge = |names, room| {
        let unit = Box::new(Device(Rc::clone(&model.tape)));
        OpenedLog { unit, path: "a log".into() }.check(names, room).map_err(|(what, _)| what)
    };
    let says = |found: Result<(), String>, wanted: &str| {
        assert!(found.as_ref().is_err_and(|what| what.contains(wanted)), "{found:?}: {wanted}");
    };
    assert_eq!(judge((ARRAY, name), room), Ok(()));
    assert_eq!(judge((ARRAY, None), room), Ok(()), "nothing on it is needed");
    says(judge(([8; 16], None), room), "another array, 0707");
    says(judge((ARRAY, Some([1; 16])), room), "last served with");
    says(judge((ARRAY, name), room + 8), "another size");
    says(judge((ARRAY, None), room + 800), "too small");
    model.tape.borrow_mut().medium.truncate(4 * PAGE_BYTES);
    says(judge((ARRAY, name), room), "cut off");
    model.tape.borrow_mut().medium = vec![0; 1 << 20];
    says(judge((ARRAY, name), room), "last served with");
    assert_eq!(judge((ARRAY, None), room), Ok(()));
    model.tape.borrow_mut().medium[(1 << 20) - 5] = 1;
    says(judge((ARRAY, None), room), "holds something");
}

#[test]
fn a_log_that_takes_nothing_more_fails_once_and_keeps_what_it_has() {
    let mut model = kept_singly(2);
    assert!(!model.log.take_failure());
    model.tape.borrow_mut().broken = true;
    model.log.keep(Extent::new(9, 1), &Slice::holding(&[1; BLOCK]));
    model.log.go_on(Time::ZERO, &mut Nothing);
    assert!(model.log.take_failure() && !model.log.take_failure());
    assert_eq!((model.log.first_unkept(), model.log.is_settled()), (3, false));
    model.log.settle(4);
    assert_eq!(
        (model.log.first_unkept(), model.log.is_settled()),
        (3, true),
        "what is on the log may still be written over it"
    );
    model.log.give_up();
    assert!(model.log.first_unkept() > 3);
}

#[test]
fn a_changed_bit_makes_it_none() {
    let label = LogLabel { array: ARRAY, log: [3; 16], pages: 1 << 40 };
    assert_eq!(LogLabel::from_bytes(&label.to_bytes()), Some(label));
    let writes = (0..MOST_WRITES as u64).map(|write| Extent::new(write << 40, 1 + write as u32)).collect();
    let head = BatchHead { log: [3; 16], sequence: 1 << 50, page: 77, oldest: (5, 6), writes, sum: 8 };
    let bytes = head.to_bytes();
    assert_eq!(BatchHead::from_bytes(&bytes), Some(head));
    for at in (0..PAGE_BYTES).step_by(11) {
        let change = |bytes: &[u8]| {
            let mut changed = bytes.to_vec();
            changed[at] ^= 4;
            changed
        };
        assert_eq!(BatchHead::from_bytes(&change(&bytes)), None, "changed at {at}");
        assert_eq!(LogLabel::from_bytes(&change(&label.to_bytes())), None, "changed at {at}");
        assert_eq!(BatchHead::from_bytes(&bytes[..at]), None, "cut at {at}");
    }
}
