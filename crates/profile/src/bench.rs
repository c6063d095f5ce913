//! One command at a time: what a probe may do with a device, and the count of what it did.

use crate::Thoroughness;
use crate::draw::ProbeDraw;
use crate::effort::{FOR_WRITES, TimedPart};
use crate::scratch::Scratch;
use block::{At, BadInput, Command, Device, Extent, Outcome, Place, Span, Tag, Time, Verb};

/// A command that has not come back after so long never will.
const LOST: Span = Span(60_000_000_000);
/// A reply that took so long says nothing of the mechanics.
const STALL: Span = Span(500_000_000);
/// What is read to drive memory out is no nearer than this, sectors.
const FAR: u64 = 1 << 14;
/// Sectors from one read that drives memory out to the next, at most.
const STRIDE: u64 = 1 << 9;
/// So many reads are worth finding out how they take least.
const MANY: u32 = 32;
/// Reads of a trial of that.
const TRIAL: u32 = 32;
/// Commands that fail, at most, before the device is given up.
const FAILURES: u64 = 10_000;

/// A command and how it came back.
#[derive(Clone, Copy, Debug)]
pub struct TimedCommand {
    /// When it was given.
    pub issued: Time,
    /// When it came back.
    pub end: Time,
    /// Whether it was done.
    pub done: bool,
}

impl TimedCommand {
    /// From submission to completion.
    #[must_use]
    pub fn response(self) -> Span {
        self.end.since(self.issued)
    }
}

/// What answers from the device's memory look like, and what drives them out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Memory {
    /// The response of a one-block read from memory: no less and no more.
    pub hit: Option<(Span, Span)>,
    /// Reads from elsewhere after which nothing is left of a read.
    pub forgotten_after: u32,
}

/// A profile that takes longer than this has come to believe something that is not so.
pub(crate) const LONGEST: Span = Span(3 * 3600 * 1_000_000_000);

/// A device on the bench.
#[derive(Debug)]
pub struct ProbeBench<'d, D> {
    device: &'d mut D,
    began: Time,
    name: String,
    /// The generator of everything drawn.
    pub draw: ProbeDraw,
    /// What is known of its memory.
    pub memory: Memory,
    /// Blocks of a physical sector, as a power of two.
    pub shift: u32,
    /// From which physical sector on nothing is known, where a map was cut short.
    pub unknown: Option<u64>,
    /// What may be written; none: nothing.
    scratch: Option<Scratch>,
    /// Sectors from one read that drives memory out to the next; none if not known yet.
    stride: u64,
    /// How long the device may be busy with our commands before it is given up.
    pub longest: Span,
    /// How long it may be busy until the present part of a profile ends, whatever was found by then.
    pub until: Span,
    /// Parts whose time was over before all of them was asked.
    pub(crate) hurried: Vec<TimedPart>,
    /// How many commands were issued.
    pub commands: u64,
    /// How many of them write.
    pub writes: u64,
    /// Sectors that could not be read, in the order met.
    pub unreadable: Vec<u64>,
    /// Sectors at which a write that failed began, in the order met.
    pub unwritable: Vec<u64>,
    /// Commands that took so long that the device, or the host, must have stalled.
    pub stalls: u64,
}

impl<'d, D: Device> ProbeBench<'d, D> {
    /// A device by the name its errors give it, and what may be written of it.
    pub fn new(name: &str, device: &'d mut D, seed: u64, scratch: Option<Scratch>) -> ProbeBench<'d, D> {
        ProbeBench {
            began: device.now(),
            device,
            name: name.into(),
            draw: ProbeDraw::new(seed),
            memory: Memory::default(),
            shift: 0,
            unknown: None,
            scratch,
            stride: 0,
            longest: LONGEST,
            until: Span(u64::MAX),
            hurried: Vec::new(),
            commands: 0,
            writes: 0,
            unreadable: Vec::new(),
            unwritable: Vec::new(),
            stalls: 0,
        }
    }

    /// Its capacity in physical sectors.
    pub fn sectors(&self) -> u64 {
        self.device.caps().blocks >> self.shift
    }

    /// Physical sectors that are mapped, or will be.
    pub fn mapped_sectors(&self) -> u64 {
        self.unknown.map_or(self.sectors(), |from| from.clamp(64.min(self.sectors()), self.sectors()))
    }

    /// Its capacity in blocks.
    pub fn blocks(&self) -> u64 {
        self.device.caps().blocks
    }

    /// The present, on the device's clock.
    pub fn now(&self) -> Time {
        self.device.now()
    }

    /// How long the device was busy with our commands.
    pub fn busy_time(&self) -> Span {
        self.device.now().since(self.began)
    }

    /// Whether it was busy for longer than it may be.
    pub fn is_overdue(&self) -> bool {
        self.busy_time() > self.longest
    }

    /// Begins a part that may have to end before all of it was asked; a `turn` takes so long.
    pub(crate) fn begin(&mut self, part: TimedPart, effort: Thoroughness, turn: Span) {
        self.until = effort.end_of(part, self.busy_time(), self.left_for_writes(), turn);
    }

    /// What of a short profile's time is left for writes.
    pub(crate) fn left_for_writes(&self) -> Span {
        if self.scratch.is_some() { FOR_WRITES } else { Span(0) }
    }

    /// Ends it: what follows takes the time that it takes.
    pub(crate) fn end_part(&mut self) {
        self.until = Span(u64::MAX);
    }

    /// When half of the time is over that the present part has left.
    pub(crate) fn half_time(&self) -> Time {
        let left = self.until.less(self.busy_time());
        Time(self.now().0.saturating_add(left.0 / 2))
    }

    /// Whether the time of the present part is over.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.busy_time() >= self.until
    }

    /// Does nothing for a while.
    pub fn idle(&mut self, span: Span) {
        let until = self.device.now() + span;
        let _ = self.device.next(until);
    }

    /// An error about the device.
    pub fn error(&self, what: impl Into<String>, mend: impl Into<String>) -> BadInput {
        BadInput::new(self.name.clone(), At::File, what, mend)
    }

    /// The sectors that may be written: the first, and the one after the last.
    pub fn writable(&self) -> Option<(u64, u64)> {
        let scratch = self.scratch?;
        let (first, end) = (scratch.first.div_ceil(1 << self.shift), scratch.end() >> self.shift);
        (first < end).then_some((first, end))
    }

    /// Whether all of an extent may be written.
    pub fn may_write(&self, at: Extent) -> bool {
        self.scratch.is_some_and(|scratch| scratch.holds(at))
    }

    /// Gives a command and waits for it. A write outside what may be written is not given.
    ///
    /// # Errors
    /// When it does not come back within a minute, must not be given, or all took longer than any profile does.
    pub fn command(&mut self, verb: Verb, at: Extent) -> Result<TimedCommand, BadInput> {
        if verb.writes() {
            if !self.may_write(at) {
                let what = format!("a write of {} blocks from block {} was not given", at.blocks, at.start.0);
                return Err(self.error(what, "report it: it lies outside what may be written"));
            }
            self.writes += 1;
        }
        self.commands += 1;
        if self.is_overdue() {
            let minutes = self.longest.0 / 60_000_000_000;
            let what =
                format!("after {minutes} minutes of the device's time its answers do not agree with one another");
            return Err(self.error(what, "profile it from a host with less else to do"));
        }
        let issued = self.device.issue(Tag(0), Command::new(verb, at, Place::Nowhere));
        match self.device.next(issued + LOST) {
            Some((end, _, outcome)) => Ok(TimedCommand { issued, end, done: outcome == Outcome::Ok }),
            None => Err(self.lost_command()),
        }
    }

    /// How many commands the device takes at once.
    pub fn depth(&self) -> u16 {
        self.device.caps().depth
    }

    /// Gives several commands together and waits for all. The caller guarantees that they are no more than the device takes
    /// and that none writes.
    ///
    /// # Errors
    /// When one does not come back within a minute.
    pub fn together(&mut self, verb: Verb, at: &[Extent]) -> Result<Vec<TimedCommand>, BadInput> {
        let place = Place::Nowhere;
        let mut issued = self.device.now();
        for (tag, at) in at.iter().enumerate() {
            issued = self.device.issue(Tag(tag as u32), Command::new(verb, *at, place));
        }
        self.commands += at.len() as u64;
        let mut replies = vec![TimedCommand { issued, end: issued, done: false }; at.len()];
        for _ in at {
            match self.device.next(issued + LOST) {
                Some((end, tag, outcome)) => {
                    replies[tag.0 as usize] = TimedCommand { issued, end, done: outcome == Outcome::Ok };
                }
                None => return Err(self.lost_command()),
            }
        }
        Ok(replies)
    }

    fn lost_command(&self) -> BadInput {
        self.error("a command did not come back within a minute", "see whether the device still works")
    }

    /// Reads one block of a physical sector, from wherever it comes. Nothing if it cannot be read, asked twice.
    ///
    /// # Errors
    /// When the device is lost, or reads fail all over it.
    pub fn read(&mut self, sector: u64) -> Result<Option<TimedCommand>, BadInput> {
        let mut failed = false;
        for _ in 0..4 {
            let reply = self.command(Verb::Read, Extent::new(sector << self.shift, 1))?;
            if !reply.done && !failed {
                failed = true;
                continue;
            }
            if !reply.done {
                self.unreadable.push(sector);
                if self.unreadable.len() as u64 > FAILURES {
                    let what = format!("{FAILURES} reads failed, the last of block {}", sector << self.shift);
                    return Err(self.error(what, "profile a device that can be read"));
                }
                return Ok(None);
            }
            if reply.response() < STALL {
                return Ok(Some(reply));
            }
            self.stalls += 1;
        }
        let what = format!("reads of block {} take longer than {} ms each time", sector << self.shift, STALL.as_ms());
        Err(self.error(what, "profile a device that answers"))
    }

    /// One block of a sector, by this verb, as it comes; the whole sector, if that writes. Nothing if it fails, stalls or
    /// may not be written.
    ///
    /// # Errors
    /// As [`ProbeBench::command`].
    pub fn one(&mut self, verb: Verb, sector: u64) -> Result<Option<TimedCommand>, BadInput> {
        if verb.writes() {
            return self.write(verb, sector, 1);
        }
        let reply = self.command(verb, Extent::new(sector << self.shift, 1))?;
        Ok((reply.done && reply.response() < STALL).then_some(reply))
    }

    /// Writes whole sectors, by this verb. Nothing if that fails, stalls or is more than may be written.
    ///
    /// # Errors
    /// When the device is lost, or writes fail all over it.
    pub fn write(&mut self, verb: Verb, sector: u64, sectors: u64) -> Result<Option<TimedCommand>, BadInput> {
        let Ok(blocks) = u32::try_from(sectors << self.shift) else { return Ok(None) };
        let at = Extent::new(sector << self.shift, blocks);
        if !self.may_write(at) {
            return Ok(None);
        }
        let reply = self.command(verb, at)?;
        if !reply.done {
            self.unwritable.push(sector);
            if self.unwritable.len() as u64 > FAILURES {
                let what = format!("{FAILURES} writes failed, the last at block {}", at.start.0);
                return Err(self.error(what, "profile a device that can be written, or leave --scratch out"));
            }
            return Ok(None);
        }
        let stalled = reply.response() >= STALL;
        self.stalls += u64::from(stalled);
        Ok((!stalled).then_some(reply))
    }

    /// Reads one block of a sector from the medium: what memory answers is driven out and asked again. What as many reads elsewhere as
    /// were thought to drive it out leave there twice takes more of them from then on: a drive may drop most of what it reads
    /// for what it reads ahead, and keep some. Nothing if it cannot be read.
    ///
    /// # Errors
    /// As [`ProbeBench::read`].
    pub fn read_medium(&mut self, sector: u64) -> Result<Option<TimedCommand>, BadInput> {
        loop {
            for _ in 0..3 {
                let Some(reply) = self.read(sector)? else { return Ok(None) };
                if !self.is_hit(reply.response()) {
                    return Ok(Some(reply));
                }
                self.forget(sector)?;
            }
            if self.memory.forgotten_after >= MANY {
                return self.read(sector);
            }
            self.memory.forgotten_after = (2 * self.memory.forgotten_after).max(1);
        }
    }

    /// Whether a response may have come from memory.
    pub fn is_hit(&self, response: Span) -> bool {
        self.memory.hit.is_some_and(|(least, most)| (least..=most).contains(&response))
    }

    /// Reads elsewhere until nothing of a sector is left in the device's memory: one sector after the other, so far apart
    /// that each comes by as soon as it is asked for and none is read ahead.
    ///
    /// # Errors
    /// As [`ProbeBench::read`].
    pub fn forget(&mut self, sector: u64) -> Result<(), BadInput> {
        let all = self.sectors();
        let (mut left, mut tries) = (self.memory.forgotten_after, 4 * self.memory.forgotten_after);
        if self.stride == 0 && left >= MANY {
            self.stride = self.best_stride()?;
        }
        let far = FAR + u64::from(left) * 2 * self.stride.max(1);
        // Before the sector rather than after it, where what comes next is looked for.
        let low = sector.checked_sub(far).unwrap_or((sector + 2 * far) % all);
        let mut next = low.saturating_sub(self.draw.below(FAR));
        while left > 0 && tries > 0 {
            tries -= 1;
            next = if left >= MANY { (next + self.stride) % all } else { low.saturating_sub(self.draw.below(FAR)) };
            if let Some(reply) = self.read(next)?
                && !self.is_hit(reply.response())
            {
                left -= 1;
            }
        }
        Ok(())
    }

    /// The distance at which sectors are read one after the other in the least time, of those at which that drives out what
    /// was read before.
    fn best_stride(&mut self) -> Result<u64, BadInput> {
        let mut found = Vec::new();
        let mut stride = 2;
        while stride <= STRIDE {
            let mut next = self.draw.below(self.sectors());
            let (began, mut hits) = (self.now(), 0);
            for _ in 0..TRIAL {
                next = (next + stride) % self.sectors();
                hits += u32::from(self.read(next)?.is_none_or(|reply| self.is_hit(reply.response())));
            }
            if hits < TRIAL / 8 {
                found.push((self.now().since(began), stride));
            }
            stride += stride.div_ceil(4);
        }
        found.sort_unstable();
        for (_, stride) in found {
            if self.drives_out(stride)? && self.drives_out(stride)? {
                return Ok(stride);
            }
        }
        Ok(FAR)
    }

    /// Whether as many reads as should, at this distance from one another, leave nothing of one before them: what reads on
    /// may take them for one.
    fn drives_out(&mut self, stride: u64) -> Result<bool, BadInput> {
        let all = self.sectors();
        let sector = self.draw.below(all);
        self.read(sector)?;
        for i in 0..u64::from(self.memory.forgotten_after) {
            self.read((sector + all / 2 + i * stride) % all)?;
        }
        Ok(self.read(sector)?.is_some_and(|reply| !self.is_hit(reply.response())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Caps;
    use std::collections::VecDeque;

    /// A device that takes half a minute for anything.
    struct Slow {
        now: Time,
        asked: u32,
    }

    impl Device for Slow {
        fn caps(&self) -> Caps {
            Caps { blocks: 1000, depth: 1, seek: block::SeekBy::Command, arms: 1 }
        }

        fn now(&self) -> Time {
            self.now
        }

        fn issue(&mut self, _: Tag, _: Command) -> Time {
            self.asked += 1;
            self.now
        }

        fn next(&mut self, _: Time) -> Option<(Time, Tag, Outcome)> {
            self.now += Span(30_000_000_000);
            Some((self.now, Tag(0), Outcome::Ok))
        }
    }

    #[test]
    fn a_profile_does_not_go_on_for_ever() {
        let mut device = Slow { now: Time(5_000_000_000), asked: 0 };
        let mut bench = ProbeBench::new("slow", &mut device, 1, None);
        let error =
            (0..1000).find_map(|block| bench.command(Verb::Read, Extent::new(block, 1)).err()).expect("it ends");
        assert!(error.what.contains("180 minutes"), "{error}");
        assert_eq!(device.asked, 361);
    }

    /// A device that keeps what it read last of so many places, and counts what it is asked.
    struct Keeps {
        now: Time,
        kept: VecDeque<u64>,
        most: usize,
        asked: [u64; 2],
        flying: Option<(Tag, Span)>,
    }

    const HIT: Span = Span(100_000);
    const MISS: Span = Span(5_000_000);

    impl Device for Keeps {
        fn caps(&self) -> Caps {
            Caps { blocks: 1 << 24, depth: 1, seek: block::SeekBy::Command, arms: 1 }
        }

        fn now(&self) -> Time {
            self.now
        }

        fn issue(&mut self, tag: Tag, command: Command) -> Time {
            self.asked[usize::from(command.verb.writes())] += 1;
            let place = command.at.start.0;
            let known = self.kept.iter().position(|kept| *kept == place);
            known.map(|at| self.kept.remove(at));
            self.kept.push_back(place);
            if self.kept.len() > self.most {
                self.kept.pop_front();
            }
            self.flying = Some((tag, if known.is_some() { HIT } else { MISS }));
            self.now
        }

        fn next(&mut self, _: Time) -> Option<(Time, Tag, Outcome)> {
            let (tag, took) = self.flying.take()?;
            self.now += took;
            Some((self.now, tag, Outcome::Ok))
        }
    }

    #[test]
    fn what_is_forgotten_is_gone_and_whatever_was_asked_is_counted() {
        for most in [1usize, 2, 7, 31, 32, 60] {
            let mut device = Keeps { now: Time(0), kept: VecDeque::new(), most, asked: [0; 2], flying: None };
            let scratch = Some(Scratch { first: 100, blocks: 50 });
            let mut bench = ProbeBench::new("keeps", &mut device, 3, scratch);
            bench.memory = Memory { hit: Some((Span(0), HIT)), forgotten_after: most as u32 };
            for sector in [0, 9, 1 << 15, (1 << 24) - 1] {
                let took = |reply: Option<TimedCommand>| reply.map(TimedCommand::response);
                bench.read(sector).expect("it answers");
                assert_eq!(took(bench.read(sector).expect("it answers")), Some(HIT), "{sector} of {most}");
                bench.forget(sector).expect("it answers");
                assert_eq!(took(bench.read(sector).expect("it answers")), Some(MISS), "{sector} of {most}");
                assert_eq!(took(bench.read_medium(sector).expect("it answers")), Some(MISS), "{sector} of {most}");
            }
            assert!(bench.write(Verb::Write { fua: true }, 120, 30).expect("it answers").is_some());
            assert!(bench.write(Verb::Write { fua: true }, 121, 30).expect("it answers").is_none(), "not all inside");
            let error = bench.command(Verb::Write { fua: true }, Extent::new(99, 2)).expect_err("it is outside");
            assert!(error.to_string().starts_with("keeps"), "{error}");
            assert!(error.what.contains("was not given") && !error.mend.is_empty(), "{error}");
            let counted = [bench.commands - bench.writes, bench.writes];
            assert_eq!((counted, counted[1]), (device.asked, 1));
        }
    }

    #[test]
    fn what_stays_in_memory_after_all_was_thought_forgotten_takes_more_to_forget_from_then_on() {
        for most in [1usize, 2, 7, 31] {
            let mut device = Keeps { now: Time(0), kept: VecDeque::new(), most, asked: [0; 2], flying: None };
            let mut bench = ProbeBench::new("keeps", &mut device, 3, None);
            bench.memory = Memory { hit: Some((Span(0), HIT)), forgotten_after: 1 };
            for sector in [1 << 15, 1 << 20] {
                bench.read(sector).expect("it answers");
                let reply = bench.read_medium(sector).expect("it answers").expect("it is read");
                assert_eq!(reply.response(), MISS, "{sector} of {most}");
            }
            assert!((1..4 * most).contains(&(bench.memory.forgotten_after as usize)), "{:?} of {most}", bench.memory);
        }
    }
}
