//! Compressing a large file (004 §5.2): read page by page with one page read ahead, computed on, and written to the cache.

use crate::process::{ProcessStep, Program};
use crate::requests::Criticality;
use block::{BadInput, Extent, Op, Time, units};
use load::Draw;
use load::experiment::{CompressionPlan, PAGE, Region};

/// Where a process is in its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CompressionStage {
    Create,
    Created,
    Read,
    Compute,
    Write,
}

/// One process that compresses a file.
pub struct Compression {
    name: String,
    plan: CompressionPlan,
    /// By what name it calls what it awaits.
    key: u32,
    /// Where the file it reads lies, and the one it writes.
    input: Files,
    output: Files,
    draw: Draw,
    stage: CompressionStage,
    /// Pages read and written so far.
    read: u64,
    written: u64,
}

impl Compression {
    /// The process of this number among those of a workload; it names its requests by `key`.
    ///
    /// # Errors
    /// When its files do not fit the device.
    pub fn new(
        name: &str,
        plan: CompressionPlan,
        (index, key): (u32, u32),
        blocks: u64,
        draw: Draw,
    ) -> Result<Compression, BadInput> {
        let mut draw = draw;
        let input = Files::within(name, &plan, plan.region, plan.input, index, blocks, &mut draw)?;
        // The page after the last one stands for the file's inode.
        let output = Files::within(name, &plan, plan.output_region, plan.output + 1, index, blocks, &mut draw)?;
        let name = format!("{name} {}", index + 1);
        Ok(Compression { name, plan, key, input, output, draw, stage: CompressionStage::Create, read: 0, written: 0 })
    }

    /// Pages written once so many were read.
    fn due(&self) -> u64 {
        (u128::from(self.read) * u128::from(self.plan.output) / u128::from(self.plan.input)) as u64
    }
}

/// Where a process's file lies among those of the others.
#[derive(Clone, Copy, Debug)]
struct Files {
    /// The first page of its file.
    first: u64,
    /// Pages of a piece of it, and from the beginning of one piece to that of the next.
    piece: u64,
    stride: u64,
}

impl Files {
    /// A process's file of so many pages in a region: interleaved with the others in pieces; or whole, each in its part of the
    /// region, and where in that by chance.
    fn within(
        name: &str,
        plan: &CompressionPlan,
        region: Region,
        pages: u64,
        index: u32,
        blocks: u64,
        draw: &mut Draw,
    ) -> Result<Files, BadInput> {
        let page = u64::from(PAGE);
        let (from, end) = region.on(blocks);
        let (from, end) = (from.div_ceil(page), end.min(blocks) / page);
        let (count, index) = (u64::from(plan.processes), u64::from(index));
        let piece = plan.interleave.map_or(pages, u64::from);
        let needed = count * pages.next_multiple_of(piece);
        if from + needed > end {
            let have = units::show_blocks(end.saturating_sub(from) * page);
            let what = format!("files of {} in all, and a region of {have}", units::show_blocks(needed * page));
            let mend = "make the region larger or the files smaller";
            return Err(load::workload::misfit(name, what, mend));
        }
        if plan.interleave.is_some() {
            return Ok(Files { first: from + index * piece, piece, stride: count * piece });
        }
        let part = (end - from) / count;
        Ok(Files { first: from + index * part + draw.below(part - pages + 1), piece, stride: piece })
    }

    /// Where a page of the file lies.
    fn page(&self, page: u64) -> u64 {
        self.first + page / self.piece * self.stride + page % self.piece
    }
}

impl Program for Compression {
    fn name(&self) -> &str {
        &self.name
    }

    fn next(&mut self, _: Time) -> ProcessStep {
        loop {
            match self.stage {
                CompressionStage::Create => {
                    self.stage = CompressionStage::Created;
                    let inode = self.output.page(self.plan.output) * u64::from(PAGE);
                    return ProcessStep::Ask {
                        key: Some((self.key, 1)),
                        op: Op::Write { fua: false },
                        at: Extent::new(inode, PAGE),
                        criticality: Criticality::Critical,
                    };
                }
                CompressionStage::Created => {
                    self.stage = CompressionStage::Read;
                    return ProcessStep::Await { key: self.key, blocks: true };
                }
                CompressionStage::Read if self.read == self.plan.input => return ProcessStep::Exit,
                CompressionStage::Read => {
                    self.stage = CompressionStage::Compute;
                    let next = self.read + 1;
                    let ahead = (next < self.plan.input).then(|| self.input.page(next));
                    return ProcessStep::Read { page: self.input.page(self.read), ahead };
                }
                CompressionStage::Compute => {
                    self.stage = CompressionStage::Write;
                    self.read += 1;
                    return ProcessStep::Compute(self.plan.compute.draw(&mut self.draw));
                }
                CompressionStage::Write if self.written < self.due() => {
                    self.written += 1;
                    return ProcessStep::Write { page: self.output.page(self.written - 1) };
                }
                CompressionStage::Write => {
                    self.stage = CompressionStage::Read;
                    if let Some((_, span)) = self.plan.pause.filter(|(every, _)| self.read.is_multiple_of(*every)) {
                        return ProcessStep::Pause { span };
                    }
                }
            }
        }
    }
}
