//! `disksim_disk` read into a plan: overheads, bus, cache, queue.

use super::mechanics::span;
use super::params::{Ignored, Params};
use super::parse::Parsed;
use super::path;
use crate::{After, Ahead, Bus, Cache, Disconnect, Drain, DrivePlan, FreesAt, Overheads, Queue, Turn, Whole};
use block::{BadInput, Span};

/// Sizes in blocks and counts: no drive has more.
const MOST: f64 = 1e9;

/// A rate, 10^6 bytes/s, that bounds nothing.
pub(super) const UNBOUND: f64 = 1e9;

/// Parameters that bear on no time.
const HARMLESS: [&str; 3] = ["Print stats", "Avg sectors per cylinder", "Calc sector by sector"];
/// Parameters that do nothing at 1: what is modelled.
const AT_ONE: [&str; 3] = ["Read directly to buffer", "Immed transfer partial hit", "Write hit stop prefetch"];
/// What a scheduler may do beside choosing an order; nothing of it is modelled.
const SCHEDULING: [&str; 7] = [
    "Write initiation delay",
    "Read initiation delay",
    "Sequential stream scheme",
    "Maximum concat size",
    "Overlapping request scheme",
    "Scheduling timeout scheme",
    "Scheduling priority scheme",
];

/// The parameters of a drive beyond its mechanics.
pub(super) fn plan(
    disk: &Params,
    plan: &mut DrivePlan,
    parsed: &Parsed,
    ignored: &mut Vec<Ignored>,
    warnings: &mut Vec<String>,
) -> Result<(), BadInput> {
    let fast = disk.whole_or_zero("Fast write level", MOST)?;
    plan.overheads = overheads(disk, fast > 0)?;
    plan.bus = bus(disk, parsed, ignored, warnings)?;
    plan.cache = cache(disk, fast)?;
    plan.access.reads = disk.flag("Immediate buffer read")?;
    // A write that is not reported early is never begun in its middle there: so its answers say.
    plan.access.writes = disk.flag("Immediate buffer write")? && fast > 0;
    // Only what begins to read wherever the head lands has blocks that came by before: the measured Atlas 10K, which does, keeps
    // them; the Ultrastar 18ES, which does not, answers alike in either way, and DiskSim's answers for it are met without.
    plan.access.free = disk.flag("Read any free blocks")? && plan.access.reads;
    plan.queue = queue(disk, ignored, warnings)?;
    if plan.cache.segments == 1 {
        // Data that are still to be sent keep the one segment there is, so that nobody else has anything to read into.
        plan.queue.frees_at = FreesAt::Completion;
    }
    if fast == 1 && plan.queue.depth > 1 {
        warnings.push(
            "`Fast write level = 1` is taken as 2: writes are reported early while other commands wait, too".into(),
        );
    }
    if disk.number("Read-ahead over requested")? == Some(0.0) && disk.or_zero("Maximum read-ahead (blks)")? == 0.0 {
        warnings.push(
            "`Read-ahead over requested = 0` is taken as 1: reading ahead does not stop short of what was read".into(),
        );
    }
    let mut rest = disk.rest(&HARMLESS);
    for it in &mut rest {
        it.neutral = if AT_ONE.contains(&it.parameter.as_str()) { it.value == "1" } else { it.neutral };
    }
    ignored.extend(rest);
    Ok(())
}

/// The queue in the drive, and what else its scheduler does.
fn queue(disk: &Params, ignored: &mut Vec<Ignored>, warnings: &mut Vec<String>) -> Result<Queue, BadInput> {
    let depth = disk.whole_or_zero("Max queue length", MOST)?.clamp(1, 4096) as u16;
    let frees_at = match disk.whole_or_zero("Preseeking level", MOST)? {
        0 => FreesAt::Completion,
        1 => FreesAt::Message,
        2 => FreesAt::Medium,
        other => {
            let what = format!("there is no level {other} of preseeking");
            return Err(disk.error("Preseeking level", what, "levels are 0 to 2"));
        }
    };
    let mut order = Turn::Fcfs;
    if let Some(block) = disk.block("Scheduler")? {
        let scheduler = disk.inner(block);
        let policy = scheduler.whole_or_zero("Scheduling policy", MOST)?;
        let (taken, by_cylinder) = match policy {
            0 | 1 => (Some(Turn::Fcfs), false),
            // Its elevator never learns that it turned: the direction is put back after each look at the queue.
            2 | 5 => (Some(Turn::Ascending), policy == 5),
            3 | 6 => (Some(Turn::CLook), policy == 6),
            4 | 7 => (Some(Turn::Sstf), policy == 7),
            8 | 10 => (Some(Turn::Soonest), false),
            _ => (None, false),
        };
        match (taken, scheduler.find("Scheduling policy")) {
            (None, Some(param)) => ignored.push(Ignored { neutral: depth == 1, ..scheduler.ignored_param(param) }),
            (Some(turn), _) => order = turn,
            (None, None) => {}
        }
        if by_cylinder && depth > 1 {
            warnings.push(format!("`Scheduling policy = {policy}` goes by cylinders: taken as the same by blocks"));
        }
        let others = SCHEDULING.iter().filter_map(|name| Some(scheduler.ignored_param(scheduler.find(name)?)));
        ignored.extend(others.map(|it| Ignored { neutral: it.neutral || depth == 1, ..it }));
    }
    Ok(Queue { depth, order, age_limit: Queue::AGELESS, frees_at, ..Queue::default() })
}

fn overheads(disk: &Params, fast: bool) -> Result<Overheads, BadInput> {
    let scale = disk.number("Time scale for overheads")?.unwrap_or(1.0);
    let request = disk.or_zero("Per-request overhead time")?;
    let time = |name: &'static str| -> Result<Span, BadInput> { Ok(span(disk.or_zero(name)? * scale)) };
    let class = |read: &'static str, write: &'static str| -> Result<After, BadInput> {
        let time = |name: &'static str| -> Result<Span, BadInput> { Ok(span((disk.or_zero(name)? + request) * scale)) };
        Ok(After { read: time(read)?, write: time(write)? })
    };
    let hit = class("Write hit over. after read", "Write hit over. after write")?;
    let miss = class("Write miss over. after read", "Write miss over. after write")?;
    let (prepare, first) = (time("Data preparation overhead")?, time("First reselect overhead")?);
    let release_read = After { read: time("Read disconnect afterread")?, write: time("Read disconnect afterwrite")? };
    // A write that is not reported early comes back to the bus when it is on the medium.
    let back = if fast { Span::ZERO } else { first };
    let disconnect = Disconnect {
        command: time("Extradisc command overhead")?,
        seek: time("Extradisc seek delta")?,
        data: time("Extradisc disconnect overhead")? + time("Extradisc inter-disconnect delay")? + first + prepare,
        reselect: time("Other reselect overhead")?,
    };
    Ok(Overheads {
        read: class("Read miss over. after read", "Read miss over. after write")?,
        hit: class("Read hit over. after read", "Read hit over. after write")?,
        write: if fast { hit } else { miss },
        buffered: hit,
        queued: None,
        done: After { read: time("Read completion overhead")?, write: time("Write completion overhead")? + back },
        reselect: first + prepare,
        prepare,
        release_read,
        release_write: time("Write disconnect overhead")?,
        least_seek: time("Minimum seek delay")?,
        disconnect: (disk.flag("Extra write disconnect")? && !fast).then_some(disconnect),
        large: None,
        stages: None,
    })
}

fn bus(
    disk: &Params,
    parsed: &Parsed,
    ignored: &mut Vec<Ignored>,
    warnings: &mut Vec<String>,
) -> Result<Bus, BadInput> {
    let block_ms = disk.or_zero("Bulk sector transfer time")?;
    if block_ms < 0.0 {
        warnings.push(format!("`Bulk sector transfer time` is {block_ms}: the bus is taken to have no limit"));
    }
    let [read_ms, write_ms] = path::block_ms(disk, parsed, block_ms, ignored)?;
    let rate = |block_ms: f64| (block_ms > 1e-9).then(|| 0.512 / block_ms);
    Ok(Bus {
        mb_s: rate(read_ms),
        write_mb_s: if read_ms == write_ms { None } else { Some(rate(write_ms).unwrap_or(UNBOUND)) },
        watermark: disk.or_zero("High (read) water mark")?.clamp(0.0, 1.0),
        // In DiskSim the low mark holds back only what is appended to a full segment. The measured C3323A waits: its demerit is
        // 0.23 ms with the mark, 0.31 without, and DiskSim's own 0.31.
        write_watermark: disk.or_zero("Low (write) water mark")?.clamp(0.0, 1.0),
        watermark_of: if disk.flag("Set watermark by reqsize")? { Whole::Request } else { Whole::Segment },
        exclusive: true,
        holds_reading: disk.flag("Hold bus entire read xfer")?,
    })
}

fn cache(disk: &Params, level: u64) -> Result<Cache, BadInput> {
    let whole = |name: &'static str| -> Result<u32, BadInput> { Ok(disk.whole_or_zero(name, MOST)? as u32) };
    let dedicated = disk.flag("Use separate write segment")?;
    let segments = whole("Number of buffer segments")?.min(1 << 16);
    let segment = whole("Segment size (in blks)")?;
    let most = whole("Maximum read-ahead (blks)")?;
    let writes = if dedicated { 1 } else { whole("Maximum number of write segments")?.clamp(1, 1 << 16) };
    let _ = whole("Maximum number of write segments")?;
    let ahead = match disk.whole_or_zero("Buffer continuous read", MOST)? {
        0 => Ahead::Nowhere,
        1 => Ahead::Track,
        2 => Ahead::Cylinder,
        3 => Ahead::Most,
        4 => Ahead::NextTrack,
        other => {
            let name = "Buffer continuous read";
            return Err(disk.error(name, format!("there is no scheme {other} of reading ahead"), "schemes are 0 to 4"));
        }
    };
    // Without prebuffering a write has room only where the arm is free for it, or is writing what it continues.
    let prebuffers = disk.flag("Allow write prebuffering")?;
    let extents = if prebuffers { writes } else { 1 };
    let caches = disk.number("Enable caching in buffer")? != Some(0.0);
    let sneaky = disk.flag("Allow sneaky full read hits")?;
    let cache = Cache {
        segments: if caches { segments - u32::from(dedicated && segments > 1) } else { 0 },
        segment,
        ahead: if caches { ahead } else { Ahead::Nowhere },
        read_ahead: if most == 0 { segment } else { most },
        least_ahead: whole("Minimum read-ahead (blks)")?,
        resumes: disk.flag("Read-ahead on idle hit")?,
        almost_hits: disk.flag("Allow almost read hits")?,
        forgets: disk.or_zero("Read-ahead over requested")? < 0.0,
        written_hits: disk.flag("Allow read hits on write data")?,
        hits_wait: !sneaky,
        stops_in_sector: disk.flag("Stop prefetch in sector")?,
        ends_at_command: true,
        overtakes: false,
        write_buffer: if level > 0 { extents.saturating_mul(segment).min(1 << 31) } else { 0 },
        write_extents: extents,
        write_stream: 0,
        joins_writes: disk.number("Combine seq writes")? != Some(0.0),
        // DiskSim writes what was appended while the arm wrote what it continues with it, and then once more. No drive has reason to:
        // in the measured trace of the Cheetah 9LP one read of 10,000 comes behind such a write, and waits for no turn more.
        streams_writes: true,
        accepts_busy: prebuffers,
        seeks_early: true,
        merges_sectors: false,
        shared: !dedicated && caches,
        drain: Drain::InOrder,
    };
    Ok(cache)
}
