//! Requests in flight: what of each is asked of the core now.
//!
//! The device has blocks, and clients may ask for bytes. What begins or ends inside a block is read, changed and written,
//! and meanwhile nothing that shares a block with it goes on: of two that are in flight together neither is first, but
//! what neither of them names must stay.
//!
//! **What has no payload goes in pieces.** A trim, or zeros that the device makes itself, are asked of the core a piece at a
//! time, so that others step between; a piece is as long as the device takes a few milliseconds for, and what it takes is
//! seen from the piece before. Where zeros have to be written they are written so, in shorter pieces.

use crate::memory::{AlignedBuffer, Pool, Slice};
use crate::unit::Zeroes;
use block::{BLOCK_BYTES, Discarded, Extent, Lbn, Op, RequestId, Span, Time};
use nbd::{CommandFlags, RequestType};
use std::collections::VecDeque;
use std::rc::Rc;

/// Zeros are written so many bytes at a time.
const PIECE: u64 = 4 << 20;
/// What is given up at once: at first, at least and at most, in bytes; and how long a piece of it may take, which others wait.
const STRIDE: u64 = 8 << 20;
const LEAST_STRIDE: u64 = 1 << 20;
const LONGEST_STRIDE: u64 = 1 << 30;
const SHORT: Span = Span(500_000);
const LONG: Span = Span(2_000_000);
/// Of a read so many bytes are answered before the others are there.
const PART: usize = if cfg!(test) { 1 << 10 } else { 128 << 10 };

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestStage {
    /// Its payload is still to come.
    Coming,
    /// Others are in its way.
    Held,
    /// The core has it: its blocks are read, to be changed.
    Reading,
    /// The core has it.
    Asked,
    /// All of it is done; the core has a flush, which is to have it on the medium.
    Forcing,
}

/// A request in flight.
pub(crate) struct InFlightRequest {
    pub(super) client: u32,
    pub(crate) request: nbd::ClientRequest,
    pub(super) arrived: Time,
    stage: RequestStage,
    /// Whether it is asked for in several steps: what shares a block with it waits for the last of them.
    alone: bool,
    /// What its blocks are to hold, where the device is to give them up.
    gives_up: Option<Discarded>,
    /// When the device was given what is asked of it now.
    begun: Time,
    /// How many flushes had failed when it came.
    pub(super) failures: u64,
    /// Whether its client was told already that it is not done.
    pub(super) answered: bool,
    /// Bytes that a client sends or gets.
    pub(crate) data: Option<Slice>,
    /// Of a read: bytes of its memory that are there, without a gap, and of `data` that were answered.
    there: usize,
    pub(super) told: usize,
    /// The blocks around them, where they are not whole blocks.
    pub(super) whole: Option<Slice>,
    /// The first byte on the device, and the one after the last; and of the piece that is asked for now, where there are many.
    whole_bytes: (u64, u64),
    bytes: (u64, u64),
}

/// What a request asks of the core.
pub(super) struct Submission {
    pub(super) id: RequestId,
    pub(super) op: Op,
    pub(super) at: Extent,
}

impl InFlightRequest {
    /// The blocks it needs now.
    fn at(&self) -> Extent {
        blocks_of(self.bytes)
    }

    /// Whether it needs a block that another needs, in all.
    fn meets(&self, other: &InFlightRequest) -> bool {
        let blocks = |(from, to): (u64, u64)| (from / BLOCK_BYTES, to.div_ceil(BLOCK_BYTES));
        let (mine, its) = (blocks(self.whole_bytes), blocks(other.whole_bytes));
        mine.0 < its.1 && its.0 < mine.1
    }

    /// Bytes of its first block before it.
    fn lead_bytes(&self) -> usize {
        (self.bytes.0 % BLOCK_BYTES) as usize
    }

    /// Whether it changes part of a block.
    fn is_partial(&self) -> bool {
        let (from, to) = self.bytes;
        self.request.command.writes() && !(from.is_multiple_of(BLOCK_BYTES) && to.is_multiple_of(BLOCK_BYTES))
    }

    /// Part of what it reads has come: what can be answered of it, if that is much and not the last.
    pub(super) fn take_part(&mut self, memory: &Slice) -> Option<Slice> {
        let data = self.data.as_ref().filter(|_| self.request.command == RequestType::Read && !self.answered)?;
        // What was asked for before by who had this number goes elsewhere.
        if Rc::ptr_eq(&data.buffer, &memory.buffer) && memory.from <= self.there {
            self.there = self.there.max(memory.from + memory.bytes);
        }
        let part = data.after(self.told);
        let there = self.there.saturating_sub(part.from);
        (PART <= there && there < part.bytes).then_some(Slice { bytes: there, ..part })
    }

    /// Whether it is of zeros that may also be written, where the device does not make them.
    pub(super) fn may_be_written(&self) -> bool {
        self.request.command == RequestType::WriteZeroes
            && self.gives_up.is_some()
            && !self.request.flags.has(CommandFlags::FAST_ZERO)
    }

    /// Bytes of memory it takes.
    pub(super) fn weight(&self) -> u64 {
        let around = if self.is_partial() { self.at().bytes() } else { 0 };
        self.data.as_ref().map_or(0, |data| data.bytes as u64 + around)
    }
}

/// All requests in flight.
pub(super) struct Works {
    works: Vec<Option<InFlightRequest>>,
    free: Vec<u32>,
    /// Those that others are in the way of, in the order in which they came.
    held: VecDeque<u32>,
    /// How many are asked for in several steps.
    alone: u32,
    /// As many as the longest piece so far.
    zeros: Rc<AlignedBuffer>,
    /// How much is given up at once.
    stride: u64,
}

impl Works {
    pub(super) fn new() -> Works {
        let zeros = Rc::new(AlignedBuffer::new(0));
        Works { works: Vec::new(), free: Vec::new(), held: VecDeque::new(), alone: 0, zeros, stride: STRIDE }
    }

    /// How many there are, and the number after the last.
    pub(super) fn count(&self) -> (usize, u32) {
        (self.works.len() - self.free.len(), self.works.len() as u32)
    }

    pub(super) fn get(&self, id: u32) -> Option<&InFlightRequest> {
        self.works.get(id as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut InFlightRequest> {
        self.works.get_mut(id as usize)?.as_mut()
    }

    /// Reads that a client waits for.
    pub(super) fn reads_of(&self, client: u32) -> impl Iterator<Item = RequestId> {
        let reads = move |work: &InFlightRequest| work.client == client && work.request.command == RequestType::Read;
        let all = self.works.iter().enumerate();
        all.filter(move |(_, work)| work.as_ref().is_some_and(reads)).map(|(id, _)| RequestId(id as u32))
    }

    /// Those whose clients wait for an answer.
    pub(super) fn waiting(&mut self) -> impl Iterator<Item = &mut InFlightRequest> {
        self.works.iter_mut().flatten().filter(|work| work.stage != RequestStage::Coming && !work.answered)
    }

    /// The device is given what is asked of it for a request.
    pub(super) fn note_start(&mut self, id: u32, now: Time) {
        if let Some(Some(work)) = self.works.get_mut(id as usize) {
            work.begun = now;
        }
    }

    /// Takes a request of a client, of which the volume begins at byte `base` of a device that makes such zeros; its number.
    pub(super) fn take(
        &mut self,
        client: u32,
        request: nbd::ClientRequest,
        (base, zeroes): (u64, Zeroes),
        now: Time,
        pool: &mut Pool,
    ) -> u32 {
        let from = base + request.offset;
        let end = from + request.length;
        let gives_up = match request.command {
            RequestType::Trim => Some(Discarded::Anything),
            RequestType::WriteZeroes if request.flags.has(CommandFlags::NO_HOLE) => {
                zeroes.kept.then_some(Discarded::KeptZeros)
            }
            RequestType::WriteZeroes => zeroes.holes.then_some(Discarded::Zeros),
            _ => None,
        };
        // Only whole blocks are given up for a hint.
        let trims = request.command == RequestType::Trim;
        let (from, end) = if trims { whole_blocks(from, end) } else { (from, end) };
        let bytes = match request.command {
            RequestType::Trim | RequestType::WriteZeroes => self.piece(gives_up, from, end),
            _ => (from, end),
        };
        let mut work = InFlightRequest {
            client,
            request,
            arrived: now,
            stage: RequestStage::Coming,
            alone: gives_up.is_some() || bytes != (from, end),
            gives_up,
            begun: now,
            failures: 0,
            answered: false,
            data: None,
            there: 0,
            told: 0,
            whole: None,
            whole_bytes: (from, end),
            bytes,
        };
        let length = request.length as usize;
        work.data = match request.command {
            // Read into whole blocks, of which the client gets a part.
            RequestType::Read => {
                let buffer = pool.take(work.at().bytes() as usize);
                Some(Slice { buffer, from: work.lead_bytes(), bytes: length })
            }
            RequestType::Write => Some(Slice { buffer: pool.take(length), from: 0, bytes: length }),
            RequestType::WriteZeroes => {
                self.want_zeros(request.length);
                None
            }
            _ => None,
        };
        work.alone |= work.is_partial();
        self.alone += u32::from(work.alone);
        match self.free.pop() {
            Some(id) => {
                self.works[id as usize] = Some(work);
                id
            }
            None => {
                self.works.push(Some(work));
                self.works.len() as u32 - 1
            }
        }
    }

    /// Sees to it that there are zeros to write so many bytes of them, a piece at a time.
    fn want_zeros(&mut self, bytes: u64) {
        let most = bytes.next_multiple_of(BLOCK_BYTES).min(PIECE) as usize;
        if self.zeros.bytes() < most {
            self.zeros = Rc::new(AlignedBuffer::new(most));
        }
    }

    /// The next piece of what is given up, or of zeros that are written.
    fn piece(&self, gives_up: Option<Discarded>, from: u64, end: u64) -> (u64, u64) {
        piece(from, end, if gives_up.is_some() { self.stride } else { PIECE })
    }

    /// What is given up next is longer or shorter, as the last piece took no time or too long.
    fn adapt(&mut self, took: Span) {
        self.stride = match took {
            short if short < SHORT => self.stride * 2,
            long if long > LONG => self.stride / 2,
            _ => self.stride,
        };
        self.stride = self.stride.clamp(LEAST_STRIDE, LONGEST_STRIDE);
    }

    /// The device cannot make such zeros: they are written.
    pub(super) fn write_instead(&mut self, id: u32, pool: &mut Pool) -> Option<Submission> {
        let work = self.get_mut(id)?;
        let (from, end) = (work.bytes.0, work.whole_bytes.1);
        work.gives_up = None;
        work.bytes = piece(from, end, PIECE);
        self.want_zeros(end - from);
        self.ask(id, pool)
    }

    /// All of it is there: what it asks of the core, unless others are in its way.
    pub(super) fn start(&mut self, id: u32, pool: &mut Pool) -> Option<Submission> {
        let work = self.get(id)?;
        let quick = self.alone == 0 && self.held.is_empty();
        if !quick && self.is_held_up(work, self.held.len()) {
            self.works[id as usize].as_mut()?.stage = RequestStage::Held;
            self.held.push_back(id);
            return None;
        }
        self.ask(id, pool)
    }

    /// Whether something is in the way of a request that the core does not have: one it has that does not go together with
    /// it, or one of the first so many held up, which came before.
    fn is_held_up(&self, work: &InFlightRequest, before: usize) -> bool {
        let held = self.held.iter().take(before).filter_map(|id| self.get(*id));
        let asked = self.works.iter().flatten().filter(|other| {
            let asked = matches!(other.stage, RequestStage::Reading | RequestStage::Asked | RequestStage::Forcing);
            asked && (other.alone || work.alone)
        });
        held.chain(asked).any(|other| other.meets(work))
    }

    fn ask(&mut self, id: u32, pool: &mut Pool) -> Option<Submission> {
        let work = self.works[id as usize].as_mut()?;
        let (at, fua) = (work.at(), work.request.fua());
        let op = match work.request.command {
            RequestType::Read => Op::Read,
            RequestType::Flush => Op::Flush,
            _ if work.stage == RequestStage::Forcing => {
                return Some(Submission { id: RequestId(id), op: Op::Flush, at: Extent::default() });
            }
            _ if work.is_partial() && work.stage != RequestStage::Reading => {
                let bytes = at.bytes() as usize;
                work.whole = Some(Slice { buffer: pool.take(bytes), from: 0, bytes });
                work.stage = RequestStage::Reading;
                return Some(Submission { id: RequestId(id), op: Op::Read, at });
            }
            _ => match work.gives_up.filter(|_| !work.is_partial()) {
                Some(what) => Op::Discard(what),
                None => Op::Write { fua },
            },
        };
        work.stage = RequestStage::Asked;
        let at = if op == Op::Flush { Extent::default() } else { at };
        Some(Submission { id: RequestId(id), op, at })
    }

    /// What the core was asked for was done: what it is asked for next, if that was not all.
    pub(super) fn go_on(&mut self, id: u32, now: Time, pool: &mut Pool) -> Option<Submission> {
        let work = self.works.get_mut(id as usize)?.as_mut()?;
        if work.stage == RequestStage::Forcing {
            return None;
        }
        let took = (work.gives_up.is_some() && !work.is_partial()).then(|| now.since(work.begun));
        if work.stage == RequestStage::Reading {
            let (whole, at) = (work.whole.as_ref()?, work.lead_bytes());
            match &work.data {
                Some(data) => whole.buffer.copy(at, &data.buffer, data.from, data.bytes),
                None => whole.buffer.clear(at, (work.bytes.1 - work.bytes.0) as usize),
            }
            return self.ask(id, pool);
        }
        if let Some(whole) = work.whole.take() {
            pool.give(whole.buffer);
        }
        let (next, end, gives_up) = (work.bytes.1, work.whole_bytes.1, work.gives_up);
        if next >= end && !(gives_up.is_some() && work.request.fua()) {
            return None;
        }
        if next >= end {
            work.stage = RequestStage::Forcing;
            return self.ask(id, pool);
        }
        took.into_iter().for_each(|took| self.adapt(took));
        let bytes = self.piece(gives_up, next, end);
        self.get_mut(id)?.bytes = bytes;
        self.ask(id, pool)
    }

    /// The memory in which the core's commands for it move their bytes.
    pub(super) fn memory(&self, id: u32, from: usize, bytes: usize) -> Option<Slice> {
        let work = self.get(id)?;
        let buffer = match (&work.whole, &work.data) {
            (Some(whole), _) => Rc::clone(&whole.buffer),
            (None, Some(data)) => Rc::clone(&data.buffer),
            (None, None) => Rc::clone(&self.zeros),
        };
        Some(Slice { buffer, from, bytes })
    }

    /// The request has ended.
    pub(super) fn release(&mut self, id: u32) -> Option<InFlightRequest> {
        let work = self.works.get_mut(id as usize)?.take()?;
        self.free.push(id);
        self.alone -= u32::from(work.alone);
        self.held.retain(|held| *held != id);
        Some(work)
    }

    /// One of those that were held up, if nothing is in its way any more: what it asks.
    pub(super) fn let_go(&mut self, pool: &mut Pool) -> Option<Submission> {
        for place in 0..self.held.len() {
            let id = self.held[place];
            if !self.is_held_up(self.get(id)?, place) {
                self.held.remove(place);
                return self.ask(id, pool);
            }
        }
        None
    }
}

/// The blocks of which bytes are part.
fn blocks_of((from, to): (u64, u64)) -> Extent {
    let first = from / BLOCK_BYTES;
    Extent { start: Lbn(first), blocks: (to.div_ceil(BLOCK_BYTES) - first) as u32 }
}

/// The whole blocks among bytes; where there are none, nothing at their beginning.
pub(super) fn whole_blocks(from: u64, end: u64) -> (u64, u64) {
    let first = from.next_multiple_of(BLOCK_BYTES);
    (first, (end / BLOCK_BYTES * BLOCK_BYTES).max(first))
}

/// The next bytes that are asked for at once, so many at most: up to where whole blocks begin, whole blocks, the rest.
fn piece(from: u64, end: u64, most: u64) -> (u64, u64) {
    let (first, last) = (from.next_multiple_of(BLOCK_BYTES), end / BLOCK_BYTES * BLOCK_BYTES);
    let to = match from {
        from if from < first => first.min(end),
        from if from < last => last.min(from + most),
        _ => end,
    };
    (from, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nbd::CommandFlags;

    fn request(command: RequestType, offset: u64, length: u32) -> nbd::ClientRequest {
        nbd::ClientRequest { command, flags: CommandFlags::default(), cookie: 0, offset, length: length.into() }
    }

    #[test]
    fn zeros_are_written_in_whole_blocks_but_for_their_ends() {
        let pieces = |from, end| {
            let mut pieces = vec![piece(from, end, PIECE)];
            while pieces.last().is_some_and(|(_, to)| *to < end) {
                pieces.push(piece(pieces[pieces.len() - 1].1, end, PIECE));
            }
            pieces
        };
        assert_eq!(pieces(512, 1024), [(512, 1024)]);
        assert_eq!(pieces(500, 2000), [(500, 512), (512, 1536), (1536, 2000)]);
        assert_eq!(pieces(100, 200), [(100, 200)]);
        assert_eq!(pieces(0, PIECE + 7), [(0, PIECE), (PIECE, PIECE + 7)]);
    }

    #[test]
    fn zeros_in_several_pieces_go_alone_to_their_end() {
        let (mut works, mut pool) = (Works::new(), Pool::default());
        let zeros =
            works.take(0, request(RequestType::WriteZeroes, 500, 1500), (0, Zeroes::default()), Time::ZERO, &mut pool);
        let write = works.take(0, request(RequestType::Write, 0, 1024), (0, Zeroes::default()), Time::ZERO, &mut pool);
        let show =
            |asked: Option<Submission>| asked.map(|asked| (asked.id.0, asked.op, asked.at.start.0, asked.at.blocks));
        let wrote = Op::Write { fua: false };
        assert_eq!(show(works.start(zeros, &mut pool)), Some((zeros, Op::Read, 0, 1)));
        assert_eq!(show(works.start(write, &mut pool)), None);
        for (op, block, blocks) in [(wrote, 0, 1), (wrote, 1, 2), (Op::Read, 3, 1), (wrote, 3, 1)] {
            assert_eq!(show(works.go_on(zeros, Time::ZERO, &mut pool)), Some((zeros, op, block, blocks)));
            assert_eq!(show(works.let_go(&mut pool)), None, "what came later waits for all of it");
        }
        assert_eq!(show(works.go_on(zeros, Time::ZERO, &mut pool)), None);
        works.release(zeros);
        assert_eq!(show(works.let_go(&mut pool)), Some((write, wrote, 0, 2)));
        works.release(write);
        assert_eq!(works.alone, 0);
    }

    #[test]
    fn a_read_is_answered_in_parts_as_far_as_it_is_there() {
        let (mut works, mut pool) = (Works::new(), Pool::default());
        let id = works.take(0, request(RequestType::Read, 100, 4000), (0, Zeroes::default()), Time::ZERO, &mut pool);
        let others = Slice::new(4096);
        let mut came = |from, bytes| {
            let memory = works.memory(id, from, bytes).expect("memory");
            let work = works.get_mut(id).expect("it is there");
            assert!(work.take_part(&others).is_none(), "of somebody who had its number");
            let part = work.take_part(&memory).map(|part| (part.from, part.bytes));
            work.told += part.map_or(0, |(_, bytes)| bytes);
            part
        };
        assert_eq!(came(0, 1024), None, "924 bytes are not much");
        assert_eq!(came(2048, 512), None, "there is a gap before it");
        assert_eq!(came(1024, 1024), Some((100, 1948)));
        assert_eq!(came(1024, 1024), None, "read twice");
        assert_eq!(came(2048, 2560), None, "the last part is answered at the end");
    }

    #[test]
    fn what_changes_part_of_a_block_goes_alone() {
        let (mut works, mut pool) = (Works::new(), Pool::default());
        let mut take = |command, offset, length| {
            let id = works.take(0, request(command, offset, length), (0, Zeroes::default()), Time::ZERO, &mut pool);
            let asked = works.start(id, &mut pool);
            (id, asked.map(|asked| (asked.op, asked.at.start.0, asked.at.blocks)))
        };
        let write = Op::Write { fua: false };
        let (whole, asked) = take(RequestType::Write, 0, 1024);
        assert_eq!(asked, Some((write, 0, 2)));
        let (part, asked) = take(RequestType::Write, 1000, 100);
        assert_eq!(asked, None, "it shares a block with the first");
        let (later, asked) = take(RequestType::Read, 1024, 512);
        assert_eq!(asked, None, "the one before it is held up");
        assert_eq!(take(RequestType::Read, 2048, 512).1, Some((Op::Read, 4, 1)), "this one shares nothing");
        assert!(works.let_go(&mut pool).is_none());
        works.release(whole);
        let asked = works.let_go(&mut pool).map(|asked| (asked.id.0, asked.op, asked.at.start.0, asked.at.blocks));
        assert_eq!(asked, Some((part, Op::Read, 1, 2)));
        assert!(works.let_go(&mut pool).is_none());
        let data = works.get(part).and_then(|work| work.data.clone()).expect("a payload");
        data.buffer.put(0, &[7; 100]);
        let whole = works.memory(part, 0, 1024).expect("the blocks");
        whole.buffer.put(0, &[1; 1024]);
        let asked = works.go_on(part, Time::ZERO, &mut pool).map(|asked| (asked.op, asked.at.blocks));
        assert_eq!(asked, Some((write, 2)));
        let mut bytes = [0; 1024];
        works.memory(part, 0, 1024).expect("the blocks").buffer.get(0, &mut bytes);
        assert_eq!((bytes[487], bytes[488], bytes[587], bytes[588]), (1, 7, 7, 1));
        assert!(works.go_on(part, Time::ZERO, &mut pool).is_none());
        works.release(part);
        assert_eq!(works.let_go(&mut pool).map(|asked| asked.id.0), Some(later));
    }

    #[test]
    fn what_is_given_up_goes_in_pieces_as_long_as_they_may_take_and_is_forced_at_the_end() {
        let (mut works, mut pool) = (Works::new(), Pool::default());
        let trim = nbd::ClientRequest { flags: CommandFlags::FUA, ..request(RequestType::Trim, 100, u32::MAX) };
        let id = works.take(0, trim, (0, Zeroes::default()), Time::ZERO, &mut pool);
        let later =
            works.take(0, request(RequestType::Read, 1 << 31, 512), (0, Zeroes::default()), Time::ZERO, &mut pool);
        let mut asked = works.start(id, &mut pool);
        assert!(works.start(later, &mut pool).is_none(), "it meets what is given up");
        let (mut now, mut next, mut lengths) = (Time::ZERO, 1, Vec::new());
        while let Some(Submission { op: Op::Discard(Discarded::Anything), at, .. }) = asked {
            assert_eq!(at.start.0, next, "of the first block it has a part, which stays");
            next = at.end().0;
            works.note_start(id, now);
            // A byte takes a tenth of a nanosecond.
            now += Span(at.bytes() / 10);
            lengths.push(at.bytes());
            asked = works.go_on(id, now, &mut pool);
        }
        assert_eq!(asked.map(|asked| (asked.op, asked.at)), Some((Op::Flush, Extent::default())));
        assert_eq!(next, (100 + u64::from(u32::MAX)) / BLOCK_BYTES);
        let usual = &lengths[1..lengths.len() - 1];
        assert!(usual.iter().all(|bytes| (8 << 20..=32 << 20).contains(bytes)), "{usual:?}");
        assert!(works.let_go(&mut pool).is_none(), "until it is on the medium");
        assert!(works.go_on(id, now, &mut pool).is_none());
        works.release(id);
        assert_eq!(works.let_go(&mut pool).map(|asked| asked.id.0), Some(later));
    }

    /// A piece may turn out to be several, or a flush may follow: nothing that came later slips in between.
    #[test]
    fn what_is_given_up_in_one_piece_goes_alone_too() {
        let both = Zeroes { holes: true, kept: true };
        for (command, flags) in [
            (RequestType::WriteZeroes, CommandFlags::default()),
            (RequestType::WriteZeroes, CommandFlags::NO_HOLE),
            (RequestType::Trim, CommandFlags::FUA),
        ] {
            let (mut works, mut pool) = (Works::new(), Pool::default());
            let first = nbd::ClientRequest { flags, ..request(command, 0, 8 << 20) };
            let first = works.take(0, first, (0, both), Time::ZERO, &mut pool);
            let later = works.take(0, request(RequestType::Write, 4 << 20, 512), (0, both), Time::ZERO, &mut pool);
            let apart = works.take(0, request(RequestType::Write, 8 << 20, 512), (0, both), Time::ZERO, &mut pool);
            let asked = works.start(first, &mut pool);
            assert!(asked.is_some_and(|asked| matches!(asked.op, Op::Discard(_)) && asked.at.blocks == 16 << 10));
            assert!(works.start(later, &mut pool).is_none(), "it meets what is given up");
            assert!(works.start(apart, &mut pool).is_some());
            if command == RequestType::WriteZeroes {
                assert!(works.write_instead(first, &mut pool).is_some());
            }
            while works.go_on(first, Time::ZERO, &mut pool).is_some() {
                assert!(works.let_go(&mut pool).is_none(), "there is more of it");
            }
            works.release(first);
            assert_eq!(works.let_go(&mut pool).map(|asked| asked.id.0), Some(later));
            assert!([later, apart].into_iter().all(|number| works.release(number).is_some()));
            assert_eq!(works.alone, 0);
        }
    }

    #[test]
    fn zeros_that_a_device_does_not_make_are_written() {
        let (mut works, mut pool) = (Works::new(), Pool::default());
        let both = Zeroes { holes: true, kept: true };
        let show = |asked: Option<Submission>| asked.map(|asked| (asked.op, asked.at.start.0, asked.at.blocks));
        let id = works.take(0, request(RequestType::WriteZeroes, 0, 8 << 20), (0, both), Time::ZERO, &mut pool);
        assert_eq!(show(works.start(id, &mut pool)), Some((Op::Discard(Discarded::Zeros), 0, 16 << 10)));
        let wrote = Op::Write { fua: false };
        assert_eq!(show(works.write_instead(id, &mut pool)), Some((wrote, 0, 8 << 10)));
        assert_eq!(works.memory(id, 0, 4 << 20).map(|memory| memory.bytes), Some(4 << 20));
        assert_eq!(show(works.go_on(id, Time::ZERO, &mut pool)), Some((wrote, 8 << 10, 8 << 10)));
        assert_eq!(show(works.go_on(id, Time::ZERO, &mut pool)), None);
        works.release(id);
        assert_eq!(works.alone, 0);
        let kept = nbd::ClientRequest { flags: CommandFlags::NO_HOLE, ..request(RequestType::WriteZeroes, 0, 512) };
        let id = works.take(0, kept, (0, both), Time::ZERO, &mut pool);
        assert_eq!(show(works.start(id, &mut pool)), Some((Op::Discard(Discarded::KeptZeros), 0, 1)));
    }
}
