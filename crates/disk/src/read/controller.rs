//! `[access]`, `[overhead]`, `[cache]`, `[queue]` and `[truth]` of a drive file.

use crate::{
    Access, After, Ahead, Bus, Cache, Disconnect, Drain, FreesAt, Large, Overheads, Queue, Truth, Turn, Whole,
};
use block::{BadInput, Span};
use config::Section;

/// Orders of the queue in the drive.
pub(crate) const ORDERS: [(&str, Turn); 6] = [
    ("soonest", Turn::Soonest),
    ("fcfs", Turn::Fcfs),
    ("look", Turn::Look),
    ("ascending", Turn::Ascending),
    ("c-look", Turn::CLook),
    ("sstf", Turn::Sstf),
];

/// When the arm goes on to the next command.
pub(crate) const FREES_AT: [(&str, FreesAt); 3] =
    [("medium", FreesAt::Medium), ("message", FreesAt::Message), ("completion", FreesAt::Completion)];

/// A time, or two: after a read and after a write.
fn after(section: &Section, key: &str) -> Result<Option<After>, BadInput> {
    let Some(spans) = section.spans(key)? else { return Ok(None) };
    match spans[..] {
        [span] => Ok(Some(After::either(span))),
        [read, write] => Ok(Some(After { read, write })),
        _ => {
            let mend = "give one, or two as [\"0.2ms\", \"0.3ms\"]: after a read, after a write";
            Err(section.error(key, format!("`{key}` has {} times", spans.len()), mend))
        }
    }
}

/// The overheads and the bus.
pub(super) fn overheads(section: Option<Section>) -> Result<(Overheads, Bus), BadInput> {
    let Some(section) = section else { return Ok((Overheads::default(), Bus::default())) };
    let read = after(&section, "read")?.unwrap_or_default();
    let write = after(&section, "write")?.unwrap_or(read);
    let overheads = Overheads {
        read,
        hit: after(&section, "hit")?.unwrap_or(read),
        write,
        buffered: after(&section, "buffered")?.unwrap_or(write),
        queued: section.span("queued")?,
        done: after(&section, "done")?.unwrap_or_default(),
        reselect: section.span("reselect")?.unwrap_or_default(),
        prepare: section.span("prepare")?.unwrap_or_default(),
        release_read: after(&section, "release_read")?.unwrap_or_default(),
        release_write: section.span("release_write")?.unwrap_or_default(),
        least_seek: section.span("least_seek")?.unwrap_or_default(),
        disconnect: section.section("disconnect")?.map(disconnect).transpose()?,
        large: section.section("large")?.map(large).transpose()?,
    };
    let bus = bus(&section)?;
    section.close()?;
    Ok((overheads, bus))
}

/// The keys of `[overhead]` that are the bus's.
fn bus(section: &Section) -> Result<Bus, BadInput> {
    let rate = |key: &str| section.has(key).then(|| super::positive(section, key)).transpose();
    Ok(Bus {
        mb_s: rate("bus_mb_s")?,
        write_mb_s: rate("bus_write_mb_s")?,
        watermark: section.share("watermark")?.unwrap_or(0.0),
        write_watermark: section.share("write_watermark")?.unwrap_or(0.0),
        watermark_of: section
            .choice("watermark_of", &[("request", Whole::Request), ("segment", Whole::Segment)])?
            .unwrap_or_default(),
        exclusive: section.bool("exclusive_bus")?.unwrap_or(false),
        holds_reading: section.bool("holds_reading")?.unwrap_or(false),
    })
}

fn disconnect(section: Section) -> Result<Disconnect, BadInput> {
    let span = |key: &str| -> Result<Span, BadInput> { Ok(section.span(key)?.unwrap_or_default()) };
    let (command, seek) = (span("command")?, span("seek")?);
    let disconnect = Disconnect { command, seek, data: span("data")?, reselect: span("reselect")? };
    section.close()?;
    Ok(disconnect)
}

fn large(section: Section) -> Result<Large, BadInput> {
    let rate = |key: &str| -> Result<f64, BadInput> {
        let share = section.share(key)?.unwrap_or(1.0);
        if share > 0.01 {
            return Ok(share);
        }
        Err(section.error(
            key,
            format!("{key} is {share}"),
            "give the share of the medium's rate that is left, e.g. 0.83",
        ))
    };
    let above = section.need("above", section.size("above")?)?;
    let large = Large { above: above.min(1 << 31) as u32, read: rate("read")?, write: rate("write")? };
    section.close()?;
    Ok(large)
}

/// What is taken on arrival.
pub(super) fn access(section: Option<Section>) -> Result<Access, BadInput> {
    let Some(section) = section else { return Ok(Access::default()) };
    let flag = |key: &str| -> Result<bool, BadInput> { Ok(section.bool(key)?.unwrap_or(false)) };
    let access = Access { reads: flag("reads")?, writes: flag("writes")?, free: flag("free")? };
    section.close()?;
    Ok(access)
}

/// The buffer memory.
pub(super) fn cache(section: Option<Section>) -> Result<Cache, BadInput> {
    let Some(section) = section else { return Ok(Cache::default()) };
    let size = |key: &str| -> Result<u32, BadInput> { Ok(section.size(key)?.unwrap_or(0).min(1 << 31) as u32) };
    let plain = Cache::default();
    let flag = |key: &str, plain: bool| -> Result<bool, BadInput> { Ok(section.bool(key)?.unwrap_or(plain)) };
    let segment = size("segment")?;
    let ahead = [
        ("nowhere", Ahead::Nowhere),
        ("track", Ahead::Track),
        ("cylinder", Ahead::Cylinder),
        ("most", Ahead::Most),
        ("next-track", Ahead::NextTrack),
    ];
    let drain = [("soonest", Drain::Soonest), ("all-soonest", Drain::AllSoonest), ("in-order", Drain::InOrder)];
    let cache = Cache {
        segments: section.u64("segments")?.unwrap_or(0).min(1 << 16) as u32,
        segment,
        ahead: section.choice("read_ahead_to", &ahead)?.unwrap_or_default(),
        read_ahead: if section.has("read_ahead") { size("read_ahead")? } else { segment },
        least_ahead: size("least_read_ahead")?,
        resumes: flag("resumes", plain.resumes)?,
        almost_hits: flag("almost_hits", plain.almost_hits)?,
        forgets: flag("forgets", plain.forgets)?,
        written_hits: flag("written_hits", plain.written_hits)?,
        hits_wait: flag("hits_wait", plain.hits_wait)?,
        stops_in_sector: flag("stops_in_sector", plain.stops_in_sector)?,
        ends_at_command: flag("ends_at_command", plain.ends_at_command)?,
        overtakes: flag("overtakes", plain.overtakes)?,
        write_buffer: size("write_buffer")?,
        write_extents: section.within("write_extents", 0, 1 << 16)?.unwrap_or(0),
        joins_writes: flag("joins_writes", plain.joins_writes)?,
        streams_writes: flag("streams_writes", plain.streams_writes)?,
        accepts_busy: flag("accepts_busy", plain.accepts_busy)?,
        seeks_early: flag("seeks_early", plain.seeks_early)?,
        shared: flag("shared", plain.shared)?,
        drain: section.choice("drain", &drain)?.unwrap_or_default(),
    };
    section.close()?;
    Ok(cache)
}

/// The queue in the drive.
pub(super) fn queue(section: Option<Section>) -> Result<Queue, BadInput> {
    let Some(section) = section else { return Ok(Queue::default()) };
    let plain = Queue::default();
    let order = section.choice("order", &ORDERS)?.unwrap_or_default();
    let queue = Queue {
        depth: section.within("depth", 1, 4096)?.unwrap_or(u32::from(plain.depth)) as u16,
        order,
        age_limit: section.span("age_limit")?.unwrap_or(order.age_limit()),
        frees_at: section.choice("frees_at", &FREES_AT)?.unwrap_or_default(),
    };
    section.close()?;
    Ok(queue)
}

/// What nobody outside knows.
pub(super) fn truth(section: Option<Section>) -> Result<Truth, BadInput> {
    let Some(section) = section else { return Ok(Truth::default()) };
    let fraction = |key: &str| -> Result<f64, BadInput> {
        let value = section.f64(key)?.unwrap_or(0.0);
        if value.abs() <= 0.05 {
            Ok(value)
        } else {
            Err(section.error(key, format!("{key} is {value}"), "give a fraction of at most 0.05"))
        }
    };
    let truth = Truth {
        seek_noise: section.span("seek_noise")?.unwrap_or_default(),
        late_share: section.share("late_share")?.unwrap_or(0.0),
        late_by: section.span("late_by")?.unwrap_or_default(),
        rpm_offset: fraction("rpm_offset")?,
        rpm_wander: fraction("rpm_wander")?,
        wander_period: section.span("wander_period")?.unwrap_or(Span(600_000_000_000)),
        drift: None,
    };
    section.close()?;
    Ok(truth)
}
