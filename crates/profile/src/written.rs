//! What was learned by writing, put into the drive file that reads alone would give.

use crate::curve::smooth;
use crate::estimate::NS_PER_MS;
use crate::probe::buffer::BufferHabits;
use crate::probe::stages::REST;
use crate::probe::write::Writes;
use crate::profile::{DriveKnowledge, ms};
use disk::{After, DrivePlan, SeekCurve, Unmeasured};

/// A difference that a reach does not show for certain, ms.
const UNSURE: f64 = 0.05;

impl DriveKnowledge {
    /// The plan of a drive, with what is known of its writes.
    pub(crate) fn add_writes(&self, mut plan: DrivePlan) -> DrivePlan {
        let Some((writes, buffer, _)) = self.writes.as_ref().filter(|(writes, ..)| writes.done) else {
            plan.unmeasured = Unmeasured::WRITES;
            return plan;
        };
        plan.unmeasured.write_settle = writes.points.is_empty() && writes.switch.is_none();
        plan.unmeasured.write_overhead = writes.overhead.is_none();
        let block = self.cache.block_ns() / NS_PER_MS;
        let sector = block * f64::from(1u32 << self.shift);
        // A completion later than a read's is the drive's; an earlier one makes the read's late.
        let later = writes.lag + block;
        plan.overheads.done = After { read: ms(-later), write: ms(later) };
        let early = (-later).max(0.0);
        plan.overheads.read = plan.overheads.read.less(ms(early));
        let hit = writes.hit.map_or(plan.overheads.hit.write, |hit| ms(hit - block));
        plan.overheads.hit = After { write: hit, ..plan.overheads.hit }.less(ms(early));
        plan.bus.write_watermark = writes.watermark;
        let overhead = |reach: f64| ms(reach - block - early);
        let [read, write] = writes.after_write;
        plan.overheads.read.write = read.map_or(plan.overheads.read.read, overhead);
        let after_read = writes.overhead(&self.moves);
        plan.overheads.write = After { read: overhead(after_read), write: overhead(write.unwrap_or(after_read)) };
        plan.switches.write_settle = ms(writes.settle);
        if writes.own_curve {
            plan.seek_write = Some(SeekCurve::Table(smooth(&writes.curve(&self.moves))));
        }
        let head = self.head_switch();
        let lost = [
            writes.lost_at_head.unwrap_or(self.transfer.lost_at_head),
            writes.lost_at_cylinder.unwrap_or(self.transfer.lost_at_cylinder),
        ];
        let (at_head, at_cylinder) = self.crossings(head, lost);
        (plan.switches.head_write, plan.switches.cylinder_write) = (ms(at_head), ms(at_cylinder));
        // A write that follows a head switch sooner than a read does shows what it switches in.
        let switch = writes.switch.map(|switch| switch.mean - writes.overhead(&self.moves) - writes.settle);
        if let Some(switch) = switch.filter(|switch| *switch < head - 2.0 * UNSURE) {
            plan.switches.head_write = ms(switch);
        }
        plan.overheads.large = match (self.large, writes.large) {
            (None, None) => None,
            (reads, large) => Some(disk::Large {
                above: reads.or(large).map_or(0, |large| large.above),
                read: reads.map_or(1.0, |large| large.share),
                write: large.or(reads.filter(|_| writes.on_arrival != Some(false))).map_or(1.0, |large| large.share),
            }),
        };
        plan.cache.shared = writes.shared;
        plan.access.writes = writes.on_arrival.unwrap_or(plan.access.reads);
        if buffer.blocks > 0 {
            let [read, write] = buffer.response.map(|response| ms(response - sector - later.max(0.0)));
            plan.overheads.buffered = After { read, write };
            plan.overheads.stages = buffer.stages;
            plan.cache.write_buffer = buffer.blocks.min(u64::from(u32::MAX)) as u32;
            plan.cache.write_extents = buffer.extents;
            plan.cache.joins_writes = buffer.joins;
            plan.cache.written_hits = buffer.answers;
            plan.cache.hits_wait = writes.hits_wait;
            plan.cache.drain = buffer.drain.unwrap_or_default();
        }
        plan
    }

    /// What of writes is not measured but assumed.
    #[must_use]
    pub fn assumed_of_writes(&self) -> Vec<String> {
        match &self.writes {
            None => vec!["writes, and whether they are buffered: unknown, nothing was written".to_owned()],
            Some((writes, buffer, _)) => [self.unknown_moves(writes), unknown_buffer(buffer)].concat(),
        }
    }

    /// What the scratch was too small for, of the arm.
    fn unknown_moves(&self, writes: &Writes) -> Vec<String> {
        let track = self.geometry.map.regions.iter().map(|region| region.track).max().unwrap_or(1) << self.shift;
        let mut notes = Vec::new();
        if !writes.done {
            return vec!["writes, and whether they are buffered: unknown, for no write came back done".to_owned()];
        }
        if writes.points.is_empty() && writes.overhead.is_none() {
            let need = block::units::show_blocks(2 * track);
            notes.push(format!("moves of writes: unknown, for the scratch holds no whole track; {need} would do"));
        } else if writes.farthest() < self.moves.points.last().map_or(0, |point| point.distance) {
            let cylinders = writes.farthest();
            notes.push(format!(
                "seeks of writes over more than {cylinders} cylinders: as of reads, and the settling; the scratch is no farther \
                 from either end"
            ));
        }
        for (known, what, edge) in [
            (writes.on_arrival.is_some(), "zero-latency writes", "whole track"),
            (writes.lost_at_head.is_some() || self.geometry.heads == 1, "crossing heads in a write", "end of a track"),
            (writes.lost_at_cylinder.is_some(), "crossing cylinders in a write", "end of a cylinder"),
        ] {
            if !known {
                notes.push(format!("{what}: as of reads, for no {edge} lies well inside the scratch"));
            }
        }
        notes
    }
}

/// What the scratch was too small for, of the buffer.
fn unknown_buffer(buffer: &BufferHabits) -> Vec<String> {
    let mut notes = Vec::new();
    if buffer.blocks == 0 {
        return notes;
    }
    let size = block::units::show_blocks(buffer.blocks);
    if buffer.at_least {
        notes.push(format!(
            "write buffer: {size} or more, for the scratch or the longest write ended before it was full"
        ));
    }
    if buffer.stages.is_some() {
        notes.push(format!(
            "for how long no write comes before they are fast anew: {} ms, for it was not tried",
            REST.as_ms()
        ));
    }
    if buffer.drain.is_none() {
        notes.push("order of writing back: shortest access first, for it could not be told inside the scratch".into());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::ProbeDraw;
    use crate::platter::{Platter, known};
    use crate::{Scratch, Thoroughness};

    /// However a completion is late or early, what a command takes in all is what was measured.
    #[test]
    fn a_drive_file_has_each_command_take_what_was_measured() {
        let mut platter = Platter::of_zones(2, &[(30, 200)]);
        let scratch = Some(Scratch { first: 1_000, blocks: 900 });
        let found = known(&mut platter, Thoroughness::Quick, scratch);
        for seed in 0..200 {
            let mut draw = ProbeDraw::new(seed);
            let mut it = found.clone();
            it.cache.mb_s = Some(5.0 + 100.0 * draw.unit());
            (it.cache.segments, it.cache.hit) = (4, 0.2 + draw.unit());
            it.moves.overhead = Some(0.5 + draw.unit());
            let (writes, ..) = it.writes.as_mut().expect("it was written");
            writes.lag = 0.4 * (draw.unit() - 0.5);
            let [overhead, after_read, after_write, hit] = [0, 1, 2, 3].map(|_| 0.6 + draw.unit());
            (writes.overhead, writes.after_write) = (Some(overhead), [Some(after_read), Some(after_write)]);
            (writes.hit, writes.settle) = (Some(hit), draw.unit());
            let (lag, settle) = (writes.lag, writes.settle);
            let (block, own) = (it.cache.block_ns() / NS_PER_MS, it.cache.hit);
            let reads = it.moves.overhead();
            let plan = it.plan("it", 30 * 2 * 200);
            let took = plan.overheads;
            let same = |span: block::Span, end: block::Span, ms: f64| {
                assert!((span.as_ms() + end.as_ms() - ms).abs() < 3e-6, "seed {seed}: {span:?} and {end:?} of {ms}");
            };
            same(took.read.read, took.done.read, reads - block);
            same(took.read.write, took.done.read, after_read - block);
            same(took.write.read, took.done.write, overhead + lag);
            same(took.write.write, took.done.write, after_write + lag);
            same(took.hit.read, took.done.read, own);
            same(took.hit.write, took.done.read, hit - block);
            same(plan.switches.write_settle, block::Span::ZERO, settle);
        }
    }
}
