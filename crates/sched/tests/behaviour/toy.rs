//! A device that takes as long as its sheet says, by the arithmetic of `disk` alone: no cache, no noise; after a read it reads
//! on. Its write buffer is never full, but sometimes slow.

use block::{Command, Direction, Lbn, Span, Time, Verb};
use disk::{Rotation, Sheet, Spot, Track};
use std::sync::Arc;

pub struct ToyDrive {
    mechanics: Arc<disk::Mechanics>,
    sheet: Sheet,
    rotation: Rotation,
    track: Track,
    /// After a read: the block behind it, where that lies, and when the head was there.
    reads_on: Option<(Lbn, Spot, Time)>,
}

impl ToyDrive {
    /// A drive whose platter has this phase at time zero.
    pub fn new(sheet: &Sheet, origin: u64) -> ToyDrive {
        let mechanics = Arc::clone(&sheet.mechanics);
        let track = mechanics.layout.locate(block::Lbn(0)).track;
        let rotation = mechanics.rotation.with_origin(origin);
        ToyDrive { mechanics, sheet: sheet.clone(), rotation, track, reads_on: None }
    }

    /// When a command issued now comes back; one into the write buffer may be hindered.
    pub fn serve(&mut self, now: Time, command: &Command, hindered: bool) -> Time {
        let overheads = self.sheet.overheads;
        let rate = self.sheet.bus.mb_s;
        let bus = |blocks: u32| rate.map_or(0.0, |rate| f64::from(blocks) * 0.512 / rate);
        if command.verb == (Verb::Write { fua: false }) && self.sheet.cache.write_buffer > 0 {
            let late = if hindered { self.rotation.period() } else { Span::ZERO };
            return now + overheads.buffered.write + Span::from_ms(bus(command.at.blocks)) + late;
        }
        let reads_on = self.reads_on.take();
        let (overhead, write) = match command.verb {
            Verb::Read => (overheads.read.read, false),
            Verb::Write { .. } => (overheads.write.write, true),
            Verb::Flush => return now + overheads.write.write,
            Verb::Discard(_) => return now,
            Verb::Seek => {
                let track = self.mechanics.layout.locate(command.at.start).track;
                let stroke = self.mechanics.stroke(std::mem::replace(&mut self.track, track), track, Direction::Read);
                return now + overheads.read.read + stroke.total();
            }
        };
        let spot = self.mechanics.layout.locate(command.at.start);
        let arrived = now + overhead + self.mechanics.stroke(self.track, spot.track, command.verb.direction()).total();
        let on = reads_on.filter(|(next, ..)| !write && *next == command.at.start);
        let (from, spot) = on.map_or((arrived, spot), |(_, spot, since)| (since, spot));
        let passage = self.mechanics.pass(&self.rotation, from, spot, command.at, command.verb.direction());
        self.track = passage.after.track;
        self.reads_on = (!write).then_some((command.at.end(), passage.after, passage.end));
        let sent = if on.is_some() { now + overheads.hit.read + Span::from_ms(bus(command.at.blocks)) } else { now };
        sent.max(passage.end + Span::from_ms(if write { 0.0 } else { bus(1) }))
    }
}

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ mixed >> 31) * u128::from(limit)) >> 64) as u64
    }

    /// Once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}
