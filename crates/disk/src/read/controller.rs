//! `[access]`, `[overhead]`, `[cache]`, `[queue]` and `[truth]` of a drive file.

use crate::{
    Access, After, Ahead, Bus, Cache, Disconnect, Drain, DurationLimit, FreesAt, Large, LimitPolicy, Overheads, Queue,
    Truth, Turn, Unmeasured, Whole, WriteStages,
};
use block::{BadInput, Span, units};
use config::{Key, Section, Word, Words};

/// Sizes of the buffer memory at most, in blocks.
const LARGEST: u64 = 1 << 31;

config::keys! {
    /// What a command takes outside the mechanics, and the way to the host. Each of the times `read`, `write`, `hit`, `buffered`,
    /// `done` and `release_read` is one, or two: after a read, after a write.
    pub fn overhead() -> "[overhead]";

    /// Before the arm moves for a read.
    READ: Vec<Span> = times("read").usually("0ms");
    /// Before the arm moves for a write that completes on the medium; `unknown` where it was not measured.
    WRITE: Option<Vec<Span>> = times_or("write", Unmeasured::WORD).else_told("as `read`");
    /// Before the first block of a read that is, at least in part, in the cache.
    HIT: Vec<Span> = times("hit").else_told("as `read`");
    /// Before the buffer fills with a write.
    BUFFERED: Vec<Span> = times("buffered").else_told("as `write`");
    /// In place of `read` and `write` for a command that waited in the drive while another was served.
    QUEUED: Span = span("queued").else_told("as those");
    /// Before completion is reported.
    DONE: Vec<Span> = times("done").usually("0ms");
    /// Before data go to the host after the drive let go of the bus to wait for the medium.
    RESELECT: Span = span("reselect").usually("0ms");
    /// Before data go over the bus right after the command, of a hit and of a write.
    PREPARE: Span = span("prepare").usually("0ms");
    /// Holding the bus to let go of it, in a read.
    RELEASE_READ: Vec<Span> = times("release_read").usually("0ms");
    /// The same in a write.
    RELEASE_WRITE: Span = span("release_write").usually("0ms");
    /// The least time before a write that does not continue the last one is on the medium.
    LEAST_SEEK: Span = span("least_seek").usually("0ms");
    /// Rate of the bus, 10^6 bytes/s.
    BUS_MB_S: f64 = number("bus_mb_s", f64::MIN_POSITIVE, f64::MAX).else_told("without bounds");
    /// Its rate for writes, 10^6 bytes/s.
    BUS_WRITE_MB_S: f64 = number("bus_write_mb_s", f64::MIN_POSITIVE, f64::MAX).else_told("as `bus_mb_s`");
    /// The share of a read that must be in the buffer before it goes over the bus.
    WATERMARK: f64 = share("watermark").usually("0");
    /// The share of the buffer that must be empty before a write comes over the bus.
    WRITE_WATERMARK: f64 = share("write_watermark").usually("0");
    /// What those are shares of.
    WATERMARK_OF: Whole = word("watermark_of").usually("request");
    /// Whether commands, data and completions take turns on the bus.
    EXCLUSIVE_BUS: bool = bool("exclusive_bus").usually("false");
    /// Whether a read holds the bus while it waits for the medium.
    HOLDS_READING: bool = bool("holds_reading").usually("false");
}

config::keys! {
    /// Where a write that does not continue the last one lets go of the bus before its data are sent.
    pub fn disconnect_keys() -> "[overhead.disconnect]";

    /// In place of the write's overhead, before the arm moves.
    COMMAND: Span = span("command").usually("0ms");
    /// Further, before the arm moves.
    SEEK: Span = span("seek").usually("0ms");
    /// After `command`, before the data begin to come.
    DATA: Span = span("data").usually("0ms");
    /// Before completion is reported, in place of what other writes take to come back to the bus.
    AGAIN: Span = span("reselect").usually("0ms");
}

config::keys! {
    /// What large commands lose.
    pub fn large_keys() -> "[overhead.large]";

    /// Commands of more than this lose it.
    ABOVE: u64 = size("above").required();
    /// The share of the medium's rate that is left to reads.
    LARGE_READ: f64 = number("read", LEAST_LEFT, 1.0).usually("1");
    /// The share of the medium's rate that is left to writes.
    LARGE_WRITE: f64 = number("write", LEAST_LEFT, 1.0).usually("1");
}

config::keys! {
    /// What buffered writes take longer once many came: fast, mid and now and then slow, as BCW found them (FAST 2020).
    pub fn stages_keys() -> "[overhead.stages]";

    /// How much is taken in fast.
    FAST: u64 = size("fast").usually("0B");
    /// What each write takes longer after that.
    MID: Span = span("mid").usually("0ms");
    /// How much is taken in so between two slow writes; 0: no write is slow.
    BETWEEN: u64 = size("between").usually("0B");
    /// What a slow write takes longer.
    SLOW: Span = span("slow").usually("0ms");
    /// For how long none comes, and nothing waits to be written back, before writes are fast anew. A flush has the same effect at once.
    REST: Span = span("rest").usually("100ms");
}

/// The share of the medium's rate that is left to large commands is more than a hundredth, so that they come to an end.
const LEAST_LEFT: f64 = 0.01;

config::keys! {
    /// Zero-latency access: what is transferred from where the head arrives on the track.
    pub fn access_keys() -> "[access]";

    /// Of reads.
    READS: bool = bool("reads").usually("false");
    /// Of writes.
    WRITES: bool = bool("writes").usually("false");
    /// Whether what passes before the first block wanted is read, too.
    FREE: bool = bool("free").usually("false");
}

config::keys! {
    /// The buffer memory.
    pub fn cache_keys() -> "[cache]";

    /// Segments that reads are kept in.
    SEGMENTS: u64 = whole("segments", 0, u64::MAX).usually("0");
    /// Size of a segment.
    SEGMENT: u64 = size("segment").usually("0B");
    /// How far the drive reads on after a read.
    READ_AHEAD_TO: Ahead = word("read_ahead_to").usually("most");
    /// The most it reads on, where that is bounded by blocks.
    READ_AHEAD: u64 = size("read_ahead").else_told("a segment");
    /// The least it reads on before another command may have the arm.
    LEAST_READ_AHEAD: u64 = size("least_read_ahead").usually("0B");
    /// Whether it reads on again, from where it stopped, after a read that was all in the cache.
    RESUMES: bool = bool("resumes").usually("false");
    /// Whether a read whose first block is just being read ahead counts as found.
    ALMOST_HITS: bool = bool("almost_hits").usually("true");
    /// Whether what was delivered is given up.
    FORGETS: bool = bool("forgets").usually("false");
    /// Whether a read may be answered with what was written.
    WRITTEN_HITS: bool = bool("written_hits").usually("true");
    /// Whether a read answered from the cache waits for a write-back under way.
    HITS_WAIT: bool = bool("hits_wait").usually("false");
    /// Whether reading ahead may stop inside a sector, which is not kept then.
    STOPS_IN_SECTOR: bool = bool("stops_in_sector").usually("false");
    /// Whether reading ahead ends as soon as a command comes for anything else; otherwise when that needs the arm.
    ENDS_AT_COMMAND: bool = bool("ends_at_command").usually("false");
    /// Whether reading ahead may take the place of what a command under way has still to send; otherwise it waits.
    OVERTAKES: bool = bool("overtakes").usually("true");
    /// Size of the write buffer. A write that fits completes when it is in it. `unknown` where it was not measured: a
    /// simulated drive then has none and a scheduler believes in none, and both say so.
    WRITE_BUFFER: Option<u64> = size_or("write_buffer", Unmeasured::WORD).usually("0B");
    /// The most extents that the write buffer holds; 0: as many as fit.
    WRITE_EXTENTS: u32 = within("write_extents", 0, 1 << 16).usually("0");
    /// The most of the write buffer that writes take which continue one another, as where each stream has one segment; 0: all of it.
    /// A write larger than this is larger than the buffer.
    WRITE_STREAM: u64 = size("write_stream").usually("0B");
    /// Whether a write that continues the last one is not counted there.
    JOINS_WRITES: bool = bool("joins_writes").usually("true");
    /// Whether buffered writes that continue one another go to the medium in one go; otherwise a turn passes between them.
    STREAMS_WRITES: bool = bool("streams_writes").usually("true");
    /// Whether a write goes into the buffer while the arm serves a command or writes back what it does not continue.
    ACCEPTS_BUSY: bool = bool("accepts_busy").usually("true");
    /// Whether the arm sets out for a write while its data still come over the bus.
    SEEKS_EARLY: bool = bool("seeks_early").usually("false");
    /// Whether a write that begins or ends inside a sector reads the sector it begins in first, and writes when that comes round
    /// again: what drives of 4 KiB sectors addressed by 512 bytes (512e) must do. What is joined in the write buffer is one write.
    MERGES_SECTORS: bool = bool("merges_sectors").usually("false");
    /// Whether written data take up segments of reads.
    SHARED: bool = bool("shared").usually("false");
    /// In what order buffered writes go to the medium.
    DRAIN: Drain = word("drain").usually("soonest");
}

config::keys! {
    /// The queue in the drive.
    pub fn queue_keys() -> "[queue]";

    /// Commands in the drive at once.
    DEPTH: u32 = within("depth", 1, 4096).usually("1");
    /// The order in which they are served.
    ORDER: Turn = word("order").usually("soonest");
    /// What has waited longer goes first.
    AGE_LIMIT: Span = span("age_limit").else_told("none but for `soonest`");
    /// When the arm goes on to the next command.
    FREES: FreesAt = word("frees_at").usually("medium");
    /// How many of the oldest that wait are weighed against one another.
    WEIGHS: u32 = within("weighs", 1, 65_535).else_told("all of them");
    /// Whether commands of high priority go before all but what waited longer than `age_limit`: NCQ PRIO of ACS-5, whose effect
    /// is left to the drive. Requests have it by `high_priority` of their class.
    HIGH_PRIORITY: bool = bool("high_priority").usually("false");
    /// Command duration limits that the drive keeps (ACS-5 and SPC-6), the first of which is number 1, at most seven: each
    /// `inactive TIME`, until it begins to serve a command, or `duration TIME`, until that completes, or both, and what becomes of one
    /// that still waits then: `late`, it is served as soon as possible (policy 0x0, where nothing is said); `unavailable`, it completes
    /// without its data (0xD: ENODATA); `abort`, it fails (0xF: ETIME). A command goes before others once it could otherwise be late.
    /// Requests have one by `duration_limit` of their class. A time of 0 is none.
    LIMITS: Vec<String> = texts("limits");
}

config::keys! {
    /// What no scheduler is told.
    pub fn truth_keys() -> "[truth]";

    /// Standard deviation of a seek's time.
    SEEK_NOISE: Span = span("seek_noise").usually("0ms");
    /// The share of seeks that do not settle at once.
    LATE_SHARE: f64 = share("late_share").usually("0");
    /// What such a seek takes longer.
    LATE_BY: Span = span("late_by").usually("0ms");
    /// How far the rotation is off the sheet's, as a fraction.
    RPM_OFFSET: f64 = number("rpm_offset", -MOST_OFF, MOST_OFF).usually("0");
    /// How far it wanders about that, as a fraction.
    RPM_WANDER: f64 = number("rpm_wander", -MOST_OFF, MOST_OFF).usually("0");
    /// The period in which it wanders.
    WANDER_PERIOD: Span = span("wander_period").usually("600s");
}

/// By what share a rotation may be off: a drive that is farther off is broken.
const MOST_OFF: f64 = 0.05;

impl Words for Turn {
    const WORDS: &'static [Word<Turn>] = &[
        Word::new("soonest", Turn::Soonest, "what the arm can begin soonest"),
        Word::new("fcfs", Turn::Fcfs, "in the order they came"),
        Word::new("look", Turn::Look, "by blocks, up and down"),
        Word::new("ascending", Turn::Ascending, "by blocks upwards, else the nearest below"),
        Word::new("c-look", Turn::CLook, "by blocks upwards, then from the lowest"),
        Word::new("sstf", Turn::Sstf, "the nearest by blocks"),
    ];
}

impl Words for FreesAt {
    const WORDS: &'static [Word<FreesAt>] = &[
        Word::new("medium", FreesAt::Medium, "when the medium is done"),
        Word::new("message", FreesAt::Message, "when the host has the data"),
        Word::new("completion", FreesAt::Completion, "when completion is reported"),
    ];
}

impl Words for Ahead {
    const WORDS: &'static [Word<Ahead>] = &[
        Word::new("nowhere", Ahead::Nowhere, "not at all"),
        Word::new("track", Ahead::Track, "to the end of the track"),
        Word::new("cylinder", Ahead::Cylinder, "to the end of the cylinder"),
        Word::new("most", Ahead::Most, "as far as `read_ahead`"),
        Word::new(
            "next-track",
            Ahead::NextTrack,
            "to the end of the track, and of the next one too if the segment began on the track before",
        ),
    ];
}

impl Words for Drain {
    const WORDS: &'static [Word<Drain>] = &[
        Word::new("soonest", Drain::Soonest, "what the arm can begin soonest, of the oldest"),
        Word::new("all-soonest", Drain::AllSoonest, "the same, all before anything else is served from the medium"),
        Word::new("in-order", Drain::InOrder, "as they came, all before anything else is served from the medium"),
    ];
}

impl Words for LimitPolicy {
    const WORDS: &'static [Word<LimitPolicy>] = &[
        Word::new("late", LimitPolicy::Late, "it is served as soon as possible"),
        Word::new("unavailable", LimitPolicy::Unavailable, "it completes without its data"),
        Word::new("abort", LimitPolicy::Abort, "it fails"),
    ];
}

impl Words for Whole {
    const WORDS: &'static [Word<Whole>] =
        &[Word::new("request", Whole::Request, "the request"), Word::new("segment", Whole::Segment, "a segment")];
}

/// A time, or two: after a read and after a write.
fn after(section: &Section, key: &Key<Vec<Span>>) -> Result<Option<After>, BadInput> {
    pair(section, key.name(), section.get(key)?)
}

fn pair(section: &Section, key: &str, spans: Option<Vec<Span>>) -> Result<Option<After>, BadInput> {
    let Some(spans) = spans else { return Ok(None) };
    match spans[..] {
        [span] => Ok(Some(After::either(span))),
        [read, write] => Ok(Some(After { read, write })),
        _ => {
            let mend = "give one, or two as [\"0.2ms\", \"0.3ms\"]: after a read, after a write";
            Err(section.error(key, format!("`{key}` has {} times", spans.len()), mend))
        }
    }
}

/// The overheads and the bus; notes what is not known of them.
pub(super) fn overheads(section: Option<Section>, unmeasured: &mut Unmeasured) -> Result<(Overheads, Bus), BadInput> {
    let Some(section) = section else { return Ok((Overheads::default(), Bus::default())) };
    let read = after(&section, &READ)?.unwrap_or_default();
    let write = section.get(&WRITE)?;
    unmeasured.write_overhead = write == Some(None);
    let write = pair(&section, WRITE.name(), write.flatten())?.unwrap_or(read);
    let overheads = Overheads {
        read,
        hit: after(&section, &HIT)?.unwrap_or(read),
        write,
        buffered: after(&section, &BUFFERED)?.unwrap_or(write),
        queued: section.get(&QUEUED)?,
        done: after(&section, &DONE)?.unwrap_or_default(),
        reselect: section.value(&RESELECT)?,
        prepare: section.value(&PREPARE)?,
        release_read: after(&section, &RELEASE_READ)?.unwrap_or_default(),
        release_write: section.value(&RELEASE_WRITE)?,
        least_seek: section.value(&LEAST_SEEK)?,
        disconnect: section.section("disconnect")?.map(disconnect).transpose()?,
        large: section.section("large")?.map(large).transpose()?,
        stages: section.section("stages")?.map(stages).transpose()?,
    };
    let bus = bus(&section)?;
    section.close()?;
    Ok((overheads, bus))
}

/// The keys of `[overhead]` that are the bus's.
fn bus(section: &Section) -> Result<Bus, BadInput> {
    Ok(Bus {
        mb_s: section.get(&BUS_MB_S)?,
        write_mb_s: section.get(&BUS_WRITE_MB_S)?,
        watermark: section.value(&WATERMARK)?,
        write_watermark: section.value(&WRITE_WATERMARK)?,
        watermark_of: section.value(&WATERMARK_OF)?,
        exclusive: section.value(&EXCLUSIVE_BUS)?,
        holds_reading: section.value(&HOLDS_READING)?,
    })
}

fn disconnect(section: Section) -> Result<Disconnect, BadInput> {
    let (command, seek) = (section.value(&COMMAND)?, section.value(&SEEK)?);
    let disconnect = Disconnect { command, seek, data: section.value(&DATA)?, reselect: section.value(&AGAIN)? };
    section.close()?;
    Ok(disconnect)
}

fn large(section: Section) -> Result<Large, BadInput> {
    let above = section.value(&ABOVE)?.min(LARGEST) as u32;
    let large = Large { above, read: section.value(&LARGE_READ)?, write: section.value(&LARGE_WRITE)? };
    section.close()?;
    Ok(large)
}

fn stages(section: Section) -> Result<WriteStages, BadInput> {
    let size = |key| section.value(key).map(|blocks: u64| blocks.min(LARGEST) as u32);
    let stages = WriteStages {
        fast: size(&FAST)?,
        mid: section.value(&MID)?,
        between: size(&BETWEEN)?,
        slow: section.value(&SLOW)?,
        rest: section.value(&REST)?,
    };
    section.close()?;
    Ok(stages)
}

/// What is taken on arrival.
pub(super) fn access(section: Option<Section>) -> Result<Access, BadInput> {
    let Some(section) = section else { return Ok(Access::default()) };
    let access = Access { reads: section.value(&READS)?, writes: section.value(&WRITES)?, free: section.value(&FREE)? };
    section.close()?;
    Ok(access)
}

/// Reads `[cache]`, the buffer memory; notes what is not known of it.
pub(super) fn cache(section: Option<Section>, unmeasured: &mut Unmeasured) -> Result<Cache, BadInput> {
    let Some(section) = section else { return Ok(Cache::default()) };
    let size = |blocks: u64| blocks.min(LARGEST) as u32;
    let segment = size(section.value(&SEGMENT)?);
    let write_buffer = section.value(&WRITE_BUFFER)?;
    unmeasured.write_buffer = write_buffer.is_none();
    let cache = Cache {
        segments: section.value(&SEGMENTS)?.min(1 << 16) as u32,
        segment,
        ahead: section.value(&READ_AHEAD_TO)?,
        read_ahead: section.get(&READ_AHEAD)?.map_or(segment, size),
        least_ahead: size(section.value(&LEAST_READ_AHEAD)?),
        resumes: section.value(&RESUMES)?,
        almost_hits: section.value(&ALMOST_HITS)?,
        forgets: section.value(&FORGETS)?,
        written_hits: section.value(&WRITTEN_HITS)?,
        hits_wait: section.value(&HITS_WAIT)?,
        stops_in_sector: section.value(&STOPS_IN_SECTOR)?,
        ends_at_command: section.value(&ENDS_AT_COMMAND)?,
        overtakes: section.value(&OVERTAKES)?,
        write_buffer: write_buffer.map_or(0, size),
        write_extents: section.value(&WRITE_EXTENTS)?,
        write_stream: size(section.value(&WRITE_STREAM)?),
        joins_writes: section.value(&JOINS_WRITES)?,
        streams_writes: section.value(&STREAMS_WRITES)?,
        accepts_busy: section.value(&ACCEPTS_BUSY)?,
        seeks_early: section.value(&SEEKS_EARLY)?,
        merges_sectors: section.value(&MERGES_SECTORS)?,
        shared: section.value(&SHARED)?,
        drain: section.value(&DRAIN)?,
    };
    section.close()?;
    Ok(cache)
}

/// A limit as a file says it: `inactive 50ms abort`.
fn limit(text: &str) -> Result<DurationLimit, String> {
    let mut limit = DurationLimit::default();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        if let Some(policy) = LimitPolicy::WORDS.iter().find(|it| it.name == word) {
            limit.policy = policy.value;
            continue;
        }
        let place = match word {
            "inactive" => &mut limit.inactive,
            "duration" => &mut limit.duration,
            _ => return Err(format!("'{word}' in '{text}'")),
        };
        *place = units::span(words.next().unwrap_or_default())?;
    }
    Ok(limit)
}

/// The limits that the drive keeps.
fn limits(section: &Section) -> Result<[Option<DurationLimit>; DurationLimit::MOST], BadInput> {
    let mut limits = [None; DurationLimit::MOST];
    let texts = section.get(&LIMITS)?.unwrap_or_default();
    let wrong = |what| {
        let mend = "give up to seven such as \"inactive 50ms\" or \"duration 100ms abort\"; the last word is late, unavailable or abort";
        section.error(LIMITS.name(), what, mend)
    };
    if texts.len() > limits.len() {
        return Err(wrong(format!("{} limits", texts.len())));
    }
    for (place, text) in limits.iter_mut().zip(&texts) {
        *place = Some(limit(text).map_err(wrong)?);
    }
    Ok(limits)
}

/// The queue in the drive.
pub(super) fn queue(section: Option<Section>) -> Result<Queue, BadInput> {
    let Some(section) = section else { return Ok(Queue::default()) };
    let order = section.value(&ORDER)?;
    let queue = Queue {
        depth: section.value(&DEPTH)? as u16,
        order,
        age_limit: section.get(&AGE_LIMIT)?.unwrap_or(order.age_limit()),
        frees_at: section.value(&FREES)?,
        weighs: section.get(&WEIGHS)?.map_or(u16::MAX, |weighs| weighs as u16),
        high_priority: section.value(&HIGH_PRIORITY)?,
        limits: limits(&section)?,
    };
    section.close()?;
    Ok(queue)
}

/// What nobody outside knows.
pub(super) fn truth(section: Option<Section>) -> Result<Truth, BadInput> {
    let Some(section) = section else { return Ok(Truth::default()) };
    let truth = Truth {
        seek_noise: section.value(&SEEK_NOISE)?,
        late_share: section.value(&LATE_SHARE)?,
        late_by: section.value(&LATE_BY)?,
        rpm_offset: section.value(&RPM_OFFSET)?,
        rpm_wander: section.value(&RPM_WANDER)?,
        wander_period: section.value(&WANDER_PERIOD)?,
        drift: None,
    };
    section.close()?;
    Ok(truth)
}
