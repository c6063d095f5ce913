//! `disksim_disk` read into a plan: overheads, bus, cache, queue.

use super::mechanics::span;
use super::params::{Ignored, Params};
use super::parse::Parsed;
use super::path;
use crate::{After, Ahead, Bus, Cache, Disconnect, Drain, DrivePlan, Overheads};
use block::{BadInput, Span};

/// Sizes in blocks and counts: no drive has more.
const MOST: f64 = 1e9;

/// Parameters that bear on no time where a drive has its bus for itself.
const HARMLESS: [&str; 5] = [
    "Print stats",
    "Avg sectors per cylinder",
    "Calc sector by sector",
    "Hold bus entire read xfer",
    "Hold bus entire write xfer",
];
/// Parameters that do nothing at 1: what is modelled.
const AT_ONE: [&str; 3] = ["Max queue length", "Write hit stop prefetch", "Read directly to buffer"];

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
    plan.cache = cache(disk, fast > 0)?;
    plan.access.reads = disk.flag("Immediate buffer read")?;
    plan.access.writes = disk.flag("Immediate buffer write")?;
    plan.access.free = disk.flag("Read any free blocks")?;
    for name in ["Combine seq writes", "Immed transfer partial hit"] {
        if disk.number(name)? == Some(0.0) {
            warnings.push(format!("`{name} = 0` is not modelled: taken as 1"));
        }
    }
    if fast == 1 {
        warnings.push("`Fast write level = 1` is taken as 2: with one command at a time they are the same".into());
    }
    if let Some(queue) = disk.block("Scheduler")? {
        ignored.extend(scheduler(&disk.inner(queue))?);
    }
    let mut rest = disk.rest(&HARMLESS);
    for it in &mut rest {
        it.neutral = if AT_ONE.contains(&it.parameter.as_str()) { it.value == "1" } else { it.neutral };
    }
    ignored.extend(rest);
    Ok(())
}

/// What the scheduler of the disk holds beside first come, first served: nothing of it is modelled, and nothing of it
/// counts where one command is in the drive at a time.
fn scheduler(queue: &Params) -> Result<Vec<Ignored>, BadInput> {
    let name = "Scheduling policy";
    let comes_first = queue.number(name)?.is_none_or(|policy| policy == 1.0);
    let policy = queue.find(name).map(|param| Ignored { neutral: comes_first, ..queue.ignored(param) });
    let delays = ["Write initiation delay", "Read initiation delay"].map(|name| queue.find(name));
    let delays = delays.into_iter().flatten().map(|param| queue.ignored(param));
    Ok(policy.into_iter().chain(delays).collect())
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
    // A write that is not reported early comes back to the bus when it is on the medium.
    let back = if fast { Span::ZERO } else { first };
    let disconnect = Disconnect {
        command: time("Extradisc command overhead")?,
        seek: time("Extradisc seek delta")?,
        data: time("Extradisc disconnect overhead")? + time("Extradisc inter-disconnect delay")? + first + prepare,
    };
    Ok(Overheads {
        read: class("Read miss over. after read", "Read miss over. after write")?,
        hit: class("Read hit over. after read", "Read hit over. after write")?,
        write: if fast { hit } else { miss },
        buffered: hit,
        queued: None,
        done: After { read: time("Read completion overhead")?, write: time("Write completion overhead")? + back },
        reselect: first + prepare,
        least_seek: time("Minimum seek delay")?,
        disconnect: (disk.flag("Extra write disconnect")? && !fast).then_some(disconnect),
        large: None,
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
    let block_ms = path::block_ms(disk, parsed, block_ms, ignored)?;
    let mb_s = (block_ms > 1e-9).then(|| 0.512 / block_ms);
    let mark = disk.or_zero("High (read) water mark")?.clamp(0.0, 1.0);
    let by_request = disk.flag("Set watermark by reqsize")?;
    if mark > 0.0 && !by_request {
        warnings.push("the high water mark is of the segment: taken as a share of each request".into());
    }
    Ok(Bus { mb_s, watermark: mark, write_watermark: disk.or_zero("Low (write) water mark")?.clamp(0.0, 1.0) })
}

fn cache(disk: &Params, fast: bool) -> Result<Cache, BadInput> {
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
        write_buffer: if fast { writes.saturating_mul(segment).min(1 << 31) } else { 0 },
        write_extents: writes,
        joins_writes: true,
        shared: !dedicated && caches,
        drain: Drain::InOrder,
    };
    Ok(cache)
}
