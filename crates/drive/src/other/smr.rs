//! Shingled tracks that the drive manages by itself, after Skylight (A. Aghayev, P. Desnoyers, FAST 2015).
//!
//! The outermost blocks of a disk are the media cache, a log that goes round; behind them lie the bands. A write goes to the end of
//! the log; a map tells where each block is. A band is cleaned by reading it, what the log holds of it, and writing it whole. That is
//! done for the band of the oldest write in the log: when nothing has come for a while, or to make room. A write that goes on where
//! the last one ended, and began before the band, goes straight to its place; if such a stream ends within a band, the band is
//! rewritten before anything else goes to the log. A command waits for a cleaning under way. Units: blocks; places in the log
//! count on, and lie on the disk modulo its size.

use super::Timing;
use super::alone::AloneDisk;
use crate::account::Parts;
use block::{Command, Extent, Span, Time, Verb};
use disk::other;
use std::collections::{BTreeMap, VecDeque};

/// Blocks in the log, by the first of them: where they end, and where in the log the first one is.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: u64,
    log: u64,
}

/// What was written to the log at once.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u64,
    end: u64,
    log: u64,
}

/// A drive of shingled tracks.
pub(super) struct Shingled {
    disk: AloneDisk,
    smr: other::Smr,
    map: BTreeMap<u64, Piece>,
    /// Oldest first; the first still holds a block that the map knows.
    log: VecDeque<Entry>,
    /// Where the next write goes.
    head: u64,
    /// Where the writes that follow one another began, and where the last one ended.
    run: (u64, u64),
    /// The band that a stream has begun to write and not ended.
    open: Option<u64>,
    /// When the last command was complete; the disk may be at the drive's own work for longer.
    served: Time,
}

impl Shingled {
    pub(super) fn new(smr: &other::Smr, seed: u64) -> Shingled {
        Shingled {
            disk: AloneDisk::new(&smr.drive, seed),
            smr: smr.clone(),
            map: BTreeMap::new(),
            log: VecDeque::new(),
            head: 0,
            run: (0, u64::MAX),
            open: None,
            served: Time::ZERO,
        }
    }

    /// The disk does something with blocks in their place; what that took.
    fn ask_home(&mut self, verb: Verb, start: u64, end: u64) -> Parts {
        self.disk.ask(verb, self.smr.media_cache + start, end - start)
    }

    /// The same with blocks in the log.
    fn ask_log(&mut self, verb: Verb, log: u64, blocks: u64) -> Parts {
        self.disk.ask(verb, log % self.smr.media_cache, blocks)
    }

    fn read(&mut self, at: Extent, parts: &mut Parts) {
        let (mut next, end) = (at.start.0, at.end().0);
        while next < end {
            match self.map.range(..=next).next_back().map(|(start, piece)| (*start, *piece)) {
                Some((start, piece)) if piece.end > next => {
                    let to = piece.end.min(end);
                    *parts += self.ask_log(Verb::Read, piece.log + (next - start), to - next);
                    next = to;
                }
                _ => {
                    let to = self.map.range(next..end).next().map_or(end, |(start, _)| *start);
                    *parts += self.ask_home(Verb::Read, next, to);
                    next = to;
                }
            }
        }
    }

    fn write(&mut self, verb: Verb, at: Extent, parts: &mut Parts) {
        let goes_on = self.run.1 == at.start.0;
        self.run = (if goes_on { self.run.0 } else { at.start.0 }, at.end().0);
        if !goes_on && let Some(band) = self.open.take() {
            parts.external += self.clean(band);
        }
        let (mut next, band) = (at.start.0, self.smr.band);
        while next < at.end().0 {
            let begins = next / band * band;
            let ends = (begins + band).min(self.smr.blocks());
            let to = ends.min(at.end().0);
            if self.run.0 < begins {
                *parts += self.ask_home(verb, next, to);
                self.supersede(next, to);
                self.open = (to < ends).then_some(begins / band);
            } else {
                self.append(verb, next, to, parts);
            }
            next = to;
        }
    }

    /// Writes to the end of the log, when there is room.
    fn append(&mut self, verb: Verb, start: u64, end: u64, parts: &mut Parts) {
        let (size, blocks) = (self.smr.media_cache, end - start);
        loop {
            let head = if self.head % size + blocks > size { self.head.next_multiple_of(size) } else { self.head };
            let Some(oldest) = self.log.front().copied() else {
                self.head = head;
                break;
            };
            if head + blocks - oldest.log <= size && self.map.len() < self.smr.extents as usize {
                self.head = head;
                break;
            }
            parts.external += self.clean(oldest.start / self.smr.band);
        }
        let began = self.disk.free;
        *parts += self.ask_log(verb, self.head, blocks);
        let rest = self.smr.append.less(self.disk.free.since(began));
        parts.external += rest;
        self.disk.free += rest;
        self.supersede(start, end);
        self.map.insert(start, Piece { end, log: self.head });
        self.log.push_back(Entry { start, end, log: self.head });
        self.head += blocks;
    }

    /// What the map has of these blocks is no longer what they hold.
    fn supersede(&mut self, start: u64, end: u64) {
        let meets = |(_, piece): &(&u64, &Piece)| piece.end > start;
        while let Some((at, piece)) = self.map.range(..end).next_back().filter(meets).map(|(at, it)| (*at, *it)) {
            self.map.remove(&at);
            if at < start {
                self.map.insert(at, Piece { end: start, ..piece });
            }
            if piece.end > end {
                self.map.insert(end, Piece { log: piece.log + (end - at), ..piece });
            }
        }
        while self.log.front().is_some_and(|entry| !self.is_live(entry)) {
            self.log.pop_front();
        }
    }

    /// Whether the map still knows a block of what was written at once.
    fn is_live(&self, entry: &Entry) -> bool {
        let meets = self.map.range(..entry.end).rev().take_while(|(_, piece)| piece.end > entry.start);
        meets.into_iter().any(|(start, piece)| piece.log.wrapping_sub(*start) == entry.log.wrapping_sub(entry.start))
    }

    /// Rewrites a band with what the log holds of it; how long that took.
    fn clean(&mut self, band: u64) -> Span {
        let began = self.disk.free;
        let start = band * self.smr.band;
        let end = (start + self.smr.band).min(self.smr.blocks());
        // A piece may reach into a band only from within: what is appended is cut where a band ends.
        let mut pieces: Vec<(u64, u64)> =
            self.map.range(start..end).map(|(at, piece)| (piece.log, piece.end - at)).collect();
        pieces.sort_unstable();
        if pieces.iter().map(|(_, blocks)| blocks).sum::<u64>() < end - start {
            self.ask_home(Verb::Read, start, end);
        }
        for (log, blocks) in pieces {
            self.ask_log(Verb::Read, log, blocks);
        }
        self.ask_home(Verb::Write { fua: true }, start, end);
        self.supersede(start, end);
        self.disk.free.since(began)
    }

    /// Cleans bands until `now`, if nothing came for long enough.
    fn clean_when_idle(&mut self, now: Time) {
        let mut from = self.disk.free + self.smr.cleans_after;
        while from < now {
            let oldest = self.log.front().map(|entry| entry.start / self.smr.band);
            let Some(band) = self.open.take().or(oldest) else { return };
            self.disk.free = from;
            self.clean(band);
            from = self.disk.free;
        }
    }
}

impl Timing for Shingled {
    fn serve(&mut self, now: Time, Command { verb, at, .. }: Command) -> Parts {
        self.clean_when_idle(now);
        let others = self.served.since(now);
        let mut parts = Parts { queued: others, external: self.disk.free.since(now).less(others), ..Parts::default() };
        self.disk.free = self.disk.free.max(now);
        match verb {
            Verb::Read => self.read(at, &mut parts),
            Verb::Write { .. } => self.write(verb, at, &mut parts),
            Verb::Flush => parts += self.disk.ask(Verb::Flush, 0, 0),
            Verb::Seek | Verb::Discard(_) => {}
        }
        self.served = self.disk.free;
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::hash;
    use disk::other::Kind;
    use disk::{Model, catalogue};

    /// A drive whose log is that of two bands.
    fn small() -> Shingled {
        let Model::Other(other) = catalogue::model("archive-8tb").expect("a device") else { panic!("a disk") };
        let Kind::Smr(smr) = other.kind else { panic!("not shingled") };
        let smr = other::Smr { media_cache: 4096, band: 2048, extents: 40, ..*smr };
        Shingled::new(&smr, 1)
    }

    #[test]
    fn each_block_is_where_it_was_written_last() {
        let mut smr = small();
        // Of the blocks of five bands, where in the log they were written last.
        let mut last = vec![None; 10_240];
        for i in 0..3000 {
            let dice = |salt| hash(salt, i);
            let (start, blocks) = (dice(1) % 5 * 2048 + dice(2) % 1900, 1 + dice(3) % 140);
            let (known, mut parts) = (smr.map.clone(), Parts::default());
            smr.write(Verb::Write { fua: true }, Extent::new(start, blocks as u32), &mut parts);
            assert!(smr.map.len() <= 41 && smr.head - smr.log.front().expect("it was written").log <= 4096);
            // What the map knew in a band and knows no longer was cleaned, or is written over just now.
            for (at, piece) in known {
                let kept = |block: &u64| smr.map.range(..=block).next_back().is_some_and(|(_, it)| it.end > *block);
                (at..piece.end).filter(|block| !kept(block)).for_each(|block| last[block as usize] = None);
            }
            (start..start + blocks).for_each(|block| last[block as usize] = Some(smr.head - blocks + (block - start)));
            let mut mapped = vec![None; 10_240];
            for (at, piece) in &smr.map {
                for block in *at..piece.end {
                    assert!(mapped[block as usize].replace(piece.log + (block - at)).is_none(), "{block} twice");
                }
            }
            assert_eq!(mapped, last, "after write {i}");
        }
    }
}
