//! A drive file (TOML) written from a plan; what [`crate::parse`] reads back is the same drive.

use crate::{
    After, Ahead, Bus, Cache, Child, Confidence, Drain, DrivePlan, DurationLimit, LayoutPlan, ListPlan, Order,
    Overheads, Parity, Queue, SeekCurve, Sparing, TreePlan, Truth, Unmeasured, Whole, WriteStages,
};
use block::Span;
use config::Words;
use std::fmt::Write;

/// The text of a drive file.
#[must_use]
pub fn write(plan: &DrivePlan) -> String {
    let mut text = format!("title = {}\n", quote(&plan.title));
    for (key, list) in [("sources", &plan.sources), ("assumed", &plan.assumed)] {
        if !list.is_empty() {
            let lines: String = list.iter().map(|line| format!("    {},\n", quote(line))).collect();
            text += &format!("{key} = [\n{lines}]\n");
        }
    }
    text += &format!("\n[rotation]\nrpm = {}\n\n", plan.rpm);
    text += &geometry(&plan.layout);
    text += &format!("\n[seek]\n{}", curve(&plan.seek, "table"));
    match &plan.seek_write {
        Some(write @ SeekCurve::Table(_)) => text += &curve(write, "write_table"),
        Some(write) => text += &format!("\n[seek.write]\n{}", curve(write, "table")),
        None => {}
    }
    let switches = &plan.switches;
    text += "\n[switch]\n";
    for (key, span) in [
        ("head", switches.head),
        ("head_write", switches.head_write),
        ("cylinder", switches.cylinder),
        ("cylinder_write", switches.cylinder_write),
    ] {
        text += &format!("{key} = {}\n", ms(span));
    }
    let unmeasured = plan.unmeasured;
    text += &format!("write_settle = {}\n", or_unknown((!unmeasured.write_settle).then(|| ms(switches.write_settle))));
    text += &format!("\n[overhead]\n{}", overheads(&plan.overheads, unmeasured));
    text = insert_before_tables(text, &bus(&plan.bus));
    let access = plan.access;
    if access.reads || access.writes || access.free {
        text += &format!("\n[access]\nreads = {}\nwrites = {}\nfree = {}\n", access.reads, access.writes, access.free);
    }
    text += &format!("\n[cache]\n{}", cache(&plan.cache, unmeasured));
    text += &queue(&plan.queue);
    text += &truth(&plan.truth);
    text += &confidence(&plan.confidence);
    text
}

/// The keys of `[overhead]` that are the bus's, where anything is given.
fn bus(bus: &Bus) -> String {
    let rates = [("bus_mb_s", bus.mb_s), ("bus_write_mb_s", bus.write_mb_s)];
    let mut text: String = rates.iter().filter_map(|(key, rate)| Some(format!("{key} = {:?}\n", (*rate)?))).collect();
    for (key, share) in [("watermark", bus.watermark), ("write_watermark", bus.write_watermark)] {
        if share > 0.0 {
            text += &format!("{key} = {share:?}\n");
        }
    }
    if bus.watermark_of == Whole::Segment {
        text += "watermark_of = \"segment\"\n";
    }
    for (key, holds) in [("exclusive_bus", bus.exclusive), ("holds_reading", bus.holds_reading)] {
        if holds {
            text += &format!("{key} = true\n");
        }
    }
    text
}

/// The queue in the drive, where it is not the plain one.
fn queue(queue: &Queue) -> String {
    let plain = Queue::default();
    if *queue == plain {
        return String::new();
    }
    let mut text = format!("\n[queue]\ndepth = {}\n", queue.depth);
    text += &format!("order = \"{}\"\n", word(queue.order));
    if queue.age_limit != queue.order.age_limit() {
        text += &format!("age_limit = {}\n", ms(queue.age_limit));
    }
    if queue.frees_at != plain.frees_at {
        text += &format!("frees_at = \"{}\"\n", word(queue.frees_at));
    }
    if queue.weighs != plain.weighs {
        text += &format!("weighs = {}\n", queue.weighs);
    }
    if queue.high_priority {
        text += "high_priority = true\n";
    }
    let limits: Vec<String> = queue.limits.iter().map_while(|it| it.map(limit)).collect();
    if !limits.is_empty() {
        text += &format!("limits = [{}]\n", limits.join(", "));
    }
    text
}

/// A limit as a file says it.
fn limit(limit: DurationLimit) -> String {
    let ms = |span: Span| span.0 as f64 / 1e6;
    quote(&format!("inactive {}ms duration {}ms {}", ms(limit.inactive), ms(limit.duration), word(limit.policy)))
}

/// The word of a file for a value.
fn word<T: Words + PartialEq>(value: T) -> &'static str {
    T::WORDS.iter().find(|word| word.value == value).map_or("", |word| word.name)
}

fn confidence(confidence: &Confidence) -> String {
    let Confidence { intervals, seeks } = confidence;
    if intervals.is_empty() && seeks.is_empty() {
        return String::new();
    }
    let lines: String =
        intervals.iter().map(|(key, [least, most])| format!("{key} = [{least:?}, {most:?}]\n")).collect();
    let rows: String =
        seeks.iter().map(|(far, [least, most])| format!("    [{far}, {least:?}, {most:?}],\n")).collect();
    format!("\n[confidence]\n{lines}seeks_ms = [\n{rows}]\n")
}

/// What nobody outside knows, where anything is given.
fn truth(truth: &Truth) -> String {
    let (seek_noise, late_by, wander_period) = (ms(truth.seek_noise), ms(truth.late_by), ms(truth.wander_period));
    match *truth == Truth::default() {
        true => String::new(),
        false => format!(
            "\n[truth]\nseek_noise = {seek_noise}\nlate_share = {:?}\nlate_by = {late_by}\nrpm_offset = {:?}\n\
             rpm_wander = {:?}\nwander_period = {wander_period}\n",
            truth.late_share, truth.rpm_offset, truth.rpm_wander,
        ),
    }
}

/// Puts a line of `[overhead]` before its inner tables.
fn insert_before_tables(mut text: String, line: &str) -> String {
    let at = text.find("\n[overhead.").unwrap_or(text.len());
    text.insert_str(at, line);
    text
}

pub(crate) fn quote(text: &str) -> String {
    let escaped = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

fn ms(span: Span) -> String {
    format!("\"{}ms\"", span.0 as f64 / 1e6)
}

fn after(after: After) -> String {
    if after.read == after.write { ms(after.read) } else { format!("[{}, {}]", ms(after.read), ms(after.write)) }
}

/// Rows of a list, some to a line.
fn rows(key: &str, rows: &[String]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let lines: String = rows.chunks(8).map(|rows| format!("    {},\n", rows.join(", "))).collect();
    format!("{key} = [\n{lines}]\n")
}

/// A tree, as tables after the rest of `[geometry]`.
fn tree(tree: &TreePlan) -> String {
    let mut text = String::from("\n[geometry.tree]\n# first sector, last sector, sectors all round\n");
    let tracks = tree.tracks.iter().map(|it| format!("[{}, {}, {}]", it.low, it.high, it.sectors));
    text += &rows("tracks", &tracks.collect::<Vec<_>>());
    text += &rows("slips", &tree.slips.iter().map(|(at, n)| format!("[{at}, {n}]")).collect::<Vec<_>>());
    let remaps = tree.remaps.iter();
    let remaps = remaps.map(|it| format!("[{}, {}, {}, {}, {}]", it.first, it.blocks, it.cylinder, it.head, it.sector));
    text += &rows("remaps", &remaps.collect::<Vec<_>>());
    for list in &tree.lists {
        text += "\n[[geometry.tree.list]]\n# first block, cylinder, offset, blocks each, cylinders each, turn each, blocks, \
                 1 or -1 (cylinders descend), track or list, head (-1: a list)\nentries = [\n";
        for it in list {
            let (child, head) = match it.child {
                Child::Track(track, head) => (track, i64::from(head)),
                Child::List(list) => (list, -1),
            };
            let way = if it.descends { -1 } else { 1 };
            let _ = writeln!(
                text,
                "    [{}, {}, {:?}, {}, {}, {:?}, {}, {way}, {child}, {head}],",
                it.first, it.cylinder, it.offset, it.each, it.cylinders, it.turn, it.blocks
            );
        }
        text += "]\n";
    }
    text
}

/// A list of runs, as a table after the rest of `[geometry]`.
fn list(list: &ListPlan) -> String {
    let mut text = String::from(
        "\n[geometry.list]\n# first cylinder, last cylinder, sectors a track, first block, offset, head skew, cylinder skew \
         (revolutions)\nzones = [\n",
    );
    for it in &list.zones {
        let (cylinders, skews) = ((it.first_cylinder, it.last_cylinder), (it.offset, it.head_skew, it.cylinder_skew));
        let _ = writeln!(
            text,
            "    [{}, {}, {}, {}, {:?}, {:?}, {:?}],",
            cylinders.0, cylinders.1, it.sectors, it.first, skews.0, skews.1, skews.2
        );
    }
    text += "]\n# cylinder, head, first sector, sectors: in ascending blocks\n";
    let run = |it: &crate::SectorRun| format!("[{}, {}, {}, {}]", it.cylinder, it.head, it.sector, it.count);
    text + &rows("runs", &list.runs.iter().map(run).collect::<Vec<_>>())
}

fn geometry(layout: &LayoutPlan) -> String {
    let order = match layout.order {
        Order::HeadsFirst => "heads-first",
        Order::Serpentine(Parity::OfZone) => "serpentine",
        Order::Serpentine(Parity::OfDisk) => "serpentine-absolute",
        Order::BandSerpentine(_) => "band-serpentine",
    };
    let mut text = format!("[geometry]\nheads = {}\norder = \"{order}\"\n", layout.heads);
    if let Order::BandSerpentine(band) = layout.order {
        text += &format!("band = {band}\n");
    }
    if layout.sector_blocks > 1 {
        text += &format!("sector = \"{} blocks\"\n", layout.sector_blocks);
    }
    if let Some(blocks) = layout.blocks {
        text += &format!("blocks = {blocks}\n");
    }
    if let Sparing::Range(range) = layout.sparing {
        text += &format!("range = {range}\n");
    }
    let words = crate::layout::sparings(match layout.sparing {
        Sparing::Range(range) => range,
        _ => 1,
    });
    if let Some((word, _)) = words.iter().find(|(_, sparing)| *sparing == layout.sparing)
        && layout.sparing != Sparing::Zone
    {
        text += &format!("sparing = \"{word}\"\n");
    }
    if let Some(plan) = &layout.tree {
        return text + &tree(plan);
    }
    if let Some(plan) = &layout.list {
        return text + &list(plan);
    }
    text += "skew = \"revolutions\"\n";
    text +=
        "# first cylinder, last cylinder, sectors a track, head skew, cylinder skew (revolutions), spares\nzones = [\n";
    for zone in &layout.zones {
        let _ = writeln!(
            text,
            "    [{}, {}, {}, {:?}, {:?}, {}],",
            zone.first_cylinder, zone.last_cylinder, zone.sectors, zone.head_skew, zone.cylinder_skew, zone.spares
        );
    }
    text += "]\n";
    let zones = || layout.zones.iter().enumerate();
    let lists: [(&str, Vec<String>); 4] = [
        ("reserved", zones().filter(|(_, z)| z.reserved > 0).map(|(i, z)| format!("[{i}, {}]", z.reserved)).collect()),
        ("offset", zones().filter(|(_, z)| z.offset != 0.0).map(|(i, z)| format!("[{i}, {:?}]", z.offset)).collect()),
        ("slips", zones().flat_map(|(i, z)| z.slips.iter().map(move |slip| format!("[{i}, {slip}]"))).collect()),
        ("remaps", zones().flat_map(|(i, z)| z.remaps.iter().map(move |(a, b)| format!("[{i}, {a}, {b}]"))).collect()),
    ];
    for (key, list) in lists {
        text += &rows(key, &list);
    }
    text
}

fn curve(curve: &SeekCurve, key: &str) -> String {
    match curve {
        SeekCurve::Table(points) => {
            let points: Vec<String> = points.iter().map(|(distance, ms)| format!("[{distance}, {ms:?}]")).collect();
            format!("# distance in cylinders, ms\n{}", rows(key, &points))
        }
        SeekCurve::Lee { a, b, c } => format!("lee_ms = [{a:?}, {b:?}, {c:?}]\n"),
        SeekCurve::TwoPiece { a, b, knee, c, e, first } => {
            let first = if first.is_empty() { String::new() } else { format!("first_ms = {first:?}\n") };
            format!("{first}a_ms = {a:?}\nb_ms = {b:?}\nknee = {knee}\nc_ms = {c:?}\ne_ms = {e:?}\n")
        }
    }
}

fn overheads(overheads: &Overheads, unmeasured: Unmeasured) -> String {
    let mut text = String::new();
    for (key, time) in [
        ("read", Some(overheads.read)),
        ("hit", Some(overheads.hit)),
        ("write", Some(overheads.write).filter(|_| !unmeasured.write_overhead)),
        ("buffered", Some(overheads.buffered)),
        ("done", Some(overheads.done)),
    ] {
        text += &format!("{key} = {}\n", or_unknown(time.map(after)));
    }
    if overheads.release_read != After::default() {
        text += &format!("release_read = {}\n", after(overheads.release_read));
    }
    for (key, span) in [
        ("release_write", overheads.release_write),
        ("reselect", overheads.reselect),
        ("prepare", overheads.prepare),
        ("least_seek", overheads.least_seek),
    ] {
        if span > Span::ZERO {
            text += &format!("{key} = {}\n", ms(span));
        }
    }
    if let Some(queued) = overheads.queued {
        text += &format!("queued = {}\n", ms(queued));
    }
    if let Some(disconnect) = overheads.disconnect {
        let (command, seek, data) = (ms(disconnect.command), ms(disconnect.seek), ms(disconnect.data));
        let reselect = ms(disconnect.reselect);
        text += &format!(
            "\n[overhead.disconnect]\ncommand = {command}\nseek = {seek}\ndata = {data}\nreselect = {reselect}\n"
        );
    }
    if let Some(large) = overheads.large {
        let (read, write) = (large.read, large.write);
        text +=
            &format!("\n[overhead.large]\nabove = \"{} blocks\"\nread = {read:?}\nwrite = {write:?}\n", large.above);
    }
    if let Some(WriteStages { fast, mid, between, slow, rest }) = overheads.stages {
        let (mid, slow, rest) = (ms(mid), ms(slow), ms(rest));
        text += &format!("\n[overhead.stages]\nfast = \"{fast} blocks\"\nmid = {mid}\n");
        text += &format!("between = \"{between} blocks\"\nslow = {slow}\nrest = {rest}\n");
    }
    text
}

/// A value, or the word where it was not measured.
fn or_unknown(value: Option<String>) -> String {
    value.unwrap_or_else(|| quote(Unmeasured::WORD))
}

fn cache(cache: &Cache, unmeasured: Unmeasured) -> String {
    let ahead = match cache.ahead {
        Ahead::Nowhere => "nowhere",
        Ahead::Track => "track",
        Ahead::Cylinder => "cylinder",
        Ahead::Most => "most",
        Ahead::NextTrack => "next-track",
    };
    let drain = match cache.drain {
        Drain::Soonest => "soonest",
        Drain::AllSoonest => "all-soonest",
        Drain::InOrder => "in-order",
    };
    let plain = Cache::default();
    let mut text = format!(
        "segments = {}\nsegment = \"{} blocks\"\nread_ahead_to = \"{ahead}\"\nread_ahead = \"{} blocks\"\n\
         least_read_ahead = \"{} blocks\"\nresumes = {}\nalmost_hits = {}\nforgets = {}\nwritten_hits = {}\n\
         hits_wait = {}\nstops_in_sector = {}\nwrite_buffer = {}\nwrite_extents = {}\njoins_writes = {}\nshared = {}\n\
         drain = \"{drain}\"\n",
        cache.segments,
        cache.segment,
        cache.read_ahead,
        cache.least_ahead,
        cache.resumes,
        cache.almost_hits,
        cache.forgets,
        cache.written_hits,
        cache.hits_wait,
        cache.stops_in_sector,
        or_unknown((!unmeasured.write_buffer).then(|| quote(&format!("{} blocks", cache.write_buffer)))),
        cache.write_extents,
        cache.joins_writes,
        cache.shared,
    );
    if cache.write_stream != plain.write_stream {
        text += &format!("write_stream = \"{} blocks\"\n", cache.write_stream);
    }
    for (key, flag, plain) in [
        ("ends_at_command", cache.ends_at_command, plain.ends_at_command),
        ("overtakes", cache.overtakes, plain.overtakes),
        ("streams_writes", cache.streams_writes, plain.streams_writes),
        ("accepts_busy", cache.accepts_busy, plain.accepts_busy),
        ("seeks_early", cache.seeks_early, plain.seeks_early),
        ("merges_sectors", cache.merges_sectors, plain.merges_sectors),
    ] {
        if flag != plain {
            text += &format!("{key} = {flag}\n");
        }
    }
    text
}
