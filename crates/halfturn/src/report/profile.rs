//! What a profile found, with what it rests on.

use super::figure::{Axis, Figure, Marks, Series};
use super::number;
use super::page::HtmlPage;
use super::table::{Edge, table};
use block::units;
use profile::probe::buffer::BufferHabits;
use profile::probe::chunk::Chunks;
use profile::probe::write::Writes;
use profile::{DriveKnowledge, DriveProfile, Grade, ProfileOutcome};

/// The colour of what was measured.
const COLOUR: &str = "#1f77b4";

/// A profile as people read it.
pub fn profile_report(name: &str, profile: &DriveProfile, verdict: &Grade, written: Option<&str>) -> String {
    let mut text = match &profile.outcome {
        ProfileOutcome::Disk(known) => disk(name, profile, known),
        ProfileOutcome::NoRotation([least, middle, most]) => format!(
            " {name}: no rotation found: {} ({} blocks) that answer single reads in {}, at least {}, at most {}\n",
            units::show_blocks(profile.blocks),
            number::count(profile.blocks),
            number::seconds(middle / 1e3),
            number::seconds(least / 1e3),
            number::seconds(most / 1e3),
        ),
        ProfileOutcome::Unmapped(_, why) => format!(
            " {name}: {} ({} blocks)\n Refused: {why}\n",
            units::show_blocks(profile.blocks),
            number::count(profile.blocks)
        ),
    };
    let commands = number::count(profile.commands);
    let writes = match profile.writes {
        0 => String::new(),
        writes => format!(", {} of them writes", number::count(writes)),
    };
    text += &format!(" {commands} commands{writes}, {} of device time\n", number::seconds(profile.time.as_secs()));
    if !profile.unreadable.is_empty() {
        let shown: Vec<String> = profile.unreadable.iter().take(8).map(|sector| number::count(*sector)).collect();
        let count = number::count(profile.unreadable.len() as u64);
        text += &format!(" {count} reads failed, of sectors {}\n", shown.join("; "));
    }
    if !profile.unwritable.is_empty() {
        let shown: Vec<String> = profile.unwritable.iter().take(8).map(|sector| number::count(*sector)).collect();
        let count = number::count(profile.unwritable.len() as u64);
        text += &format!(" {count} writes failed, at sectors {}\n", shown.join("; "));
    }
    if profile.stalls > 0 {
        text += &format!(" {} replies stalled and were asked again\n", number::count(profile.stalls));
    }
    if let ProfileOutcome::Disk(_) = &profile.outcome {
        text += &match verdict {
            Grade::Good => " Good: it predicts what the drive does\n".to_owned(),
            Grade::Usable(why) => format!(" Usable, within the intervals it has: {why}\n"),
            Grade::Refused(why) => format!(" Refused: {why}\n"),
        };
    }
    if let Some(file) = written {
        text += &format!(" Written to {file}\n");
    }
    text
}

fn disk(name: &str, profile: &DriveProfile, known: &DriveKnowledge) -> String {
    let geometry = &known.geometry;
    let mut rows = vec![
        row("rotation", format!("{:.6} ms", known.clock.mean_period() / 1e6), rotation(known)),
        row("sector", units::show_blocks(1 << known.shift), "blocks that complete at the same angle".into()),
        row("heads", geometry.heads.to_string(), order(known)),
        row("cylinders", number::count(geometry.all_cylinders()), regions(known)),
        row("overhead", ms(known.moves.overhead()), overhead(known)),
        row(
            "head switch",
            ms(known.head_switch()),
            format!("least reach from head to head{}", within(known, "head_switch_ms")),
        ),
        row("seek", seeks(known), seek_evidence(known)),
        row("late seeks", number::percent(known.late.share), late(known)),
        row("read cache", cache(known), format!("answers in {}", ms(known.cache.hit))),
        row("bus", bus(known), held_back(known)),
        row("reads", arrival(known).into(), "whole tracks, asked for at every angle".into()),
        row("queue", queue(known), queue_evidence(known)),
        row("chunks of reads", range(&known.chunks), best(&known.chunks)),
    ];
    rows.extend(known.writes.iter().flat_map(|(writes, buffer, chunks)| write_findings(known, writes, buffer, chunks)));
    let heads = [("", Edge::Left), ("found", Edge::Left), ("evidence", Edge::Left)];
    let heads = heads.map(|(head, edge)| (head.to_owned(), edge));
    let validation = &known.validation;
    let assumed =
        known.assumed_of_writes().into_iter().map(|note| format!(" Not measured: {note}\n")).collect::<String>();
    let guessed = geometry.map.guessed.map_or(String::new(), |from| {
        let share = number::percent(1.0 - (from << known.shift) as f64 / profile.blocks as f64);
        format!(
            " Not mapped in the time there was: {share}, from sector {} on; taken to go on as before\n",
            number::count(from)
        )
    });
    let gives_up = known.effort.gives_up().map_or(String::new(), |what| format!(" Given up, {what}\n"));
    format!(
        " {name}: {} ({} blocks)\n\n{}{guessed}\n{assumed}{gives_up} {} fresh random reads: predicted to {} rms, {} a revolution off\n",
        units::show_blocks(profile.blocks),
        number::count(profile.blocks),
        table(&heads, &rows),
        validation.pairs.len(),
        number::seconds(validation.rms_on_time_ms / 1e3),
        number::percent(validation.late),
    )
}

fn row(what: &str, found: String, evidence: String) -> Vec<String> {
    vec![what.into(), found, evidence]
}

fn ms(ms: f64) -> String {
    format!("{} ms", number::with_decimals(ms, 3))
}

fn rotation(known: &DriveKnowledge) -> String {
    let noise = known.clock.noise * known.clock.period / 1e9;
    let wander = known.clock.wander * known.clock.period / 1e9;
    format!(
        "{} rpm ± {:.1e}; completions within {}, wander {} a second",
        number::with_decimals(60e9 / known.clock.mean_period(), 2),
        known.clock.within(),
        number::seconds(noise),
        number::seconds(wander)
    )
}

fn order(known: &DriveKnowledge) -> String {
    match known.geometry.arrangement {
        profile::map::Arrangement::Heads => "a cylinder, then the next".into(),
        profile::map::Arrangement::Bands(width) => format!("{width} cylinders on a head, then back on the next"),
    }
}

fn regions(known: &DriveKnowledge) -> String {
    let map = &known.geometry.map;
    let slips: usize = map.regions.iter().map(|region| region.slips.len()).sum();
    let tracks = map.regions.iter().map(|region| region.round);
    let (least, most) = (tracks.clone().min().unwrap_or(0), tracks.max().unwrap_or(0));
    let sectors = if least == most { most.to_string() } else { format!("{most} to {least}") };
    let regions = match map.regions.len() {
        1 => "1 region".to_owned(),
        several => format!("{several} regions"),
    };
    let hidden = match known.hidden {
        0 => String::new(),
        hidden => format!(", {hidden} cylinders without data"),
    };
    format!("{regions} of {sectors} sectors a track, {slips} slips, {} sectors elsewhere{hidden}", map.remaps.len())
}

/// What a finding may be off, where there is an interval of it, ms.
fn within(known: &DriveKnowledge, key: &str) -> String {
    let confidence = known.confidence();
    let interval = confidence.intervals.iter().find(|(name, _)| *name == key);
    interval.map_or(String::new(), |(_, [least, most])| format!(", {} to {}", ms(*least), ms(*most)))
}

fn seek_evidence(known: &DriveKnowledge) -> String {
    let moves = &known.moves;
    let most = moves.points.iter().map(|point| point.reach.within).fold(0.0, f64::max);
    format!("{} distances, each ± {} at most, spread {}", moves.points.len(), ms(most), ms(moves.spread))
}

fn late(known: &DriveKnowledge) -> String {
    let confidence = known.confidence();
    let interval = confidence.intervals.iter().find(|(name, _)| *name == "late_share");
    let [least, most] = interval.map_or([0.0; 2], |(_, interval)| *interval);
    format!("by {}, {} to {}", ms(known.late.by), number::percent(least), number::percent(most))
}

fn overhead(known: &DriveKnowledge) -> String {
    match known.moves.overhead {
        Some(_) => format!("least reach on one track{}", within(known, "overhead_ms")),
        None => "the shortest move, for it could not be told from one".into(),
    }
}

fn seeks(known: &DriveKnowledge) -> String {
    let curve = known.moves.curve();
    match (curve.first(), curve.last()) {
        (Some(first), Some(last)) => format!("{} to {}", ms(first.1), ms(last.1)),
        _ => "none".into(),
    }
}

fn cache(known: &DriveKnowledge) -> String {
    let cache = &known.cache;
    match cache.segments {
        0 => "none found".into(),
        segments => format!("{segments} segments of {} blocks, {} read on", cache.segment, cache.read_ahead),
    }
}

fn bus(known: &DriveKnowledge) -> String {
    known
        .cache
        .mb_s
        .map_or_else(|| "takes no time that shows".into(), |mb_s| format!("{} MB/s", number::with_decimals(mb_s, 1)))
}

fn held_back(known: &DriveKnowledge) -> String {
    match known.watermark {
        0.0 => "longer reads end as their last sector passes, or as the bus has it".into(),
        share => format!("{} of a read is in the buffer before it goes", number::percent(share)),
    }
}

fn arrival(known: &DriveKnowledge) -> &'static str {
    if known.transfer.on_arrival { "begin where the head lands" } else { "begin with their first sector" }
}

/// What was found by writing, and what the scratch was too small for.
fn write_findings(known: &DriveKnowledge, writes: &Writes, buffer: &BufferHabits, chunks: &Chunks) -> Vec<Vec<String>> {
    let seeks = match (writes.own_curve, writes.points.len()) {
        (_, 0) => "no seek measured".to_owned(),
        (own, count) => {
            let curve = if own { "a curve of their own" } else { "the curve of reads" };
            format!("{count} distances up to {} cylinders: {curve}", number::count(writes.farthest()))
        }
    };
    let arrival = match writes.on_arrival {
        Some(true) => "begin where the head lands",
        Some(false) => "begin with their first sector",
        None => "no track to ask",
    };
    let settle = row("write settle", ms(writes.settle), seeks);
    let mut rows = vec![
        row("write overhead", ms(writes.overhead(&known.moves)), "least reach on one track".into()),
        settle,
        row("writes", arrival.into(), "whole tracks, asked for at every angle".into()),
    ];
    rows.push(match buffer.blocks {
        0 => row("write buffer", "none found".into(), "writes wait for the medium".into()),
        blocks => {
            let more = if buffer.at_least { " or more" } else { "" };
            let count = match buffer.extents {
                0 => String::new(),
                extents => format!(", {} writes", number::count(extents.into())),
            };
            row("write buffer", format!("{}{more}{count}", units::show_blocks(blocks)), drains(buffer))
        }
    });
    rows.extend(
        buffer
            .stages
            .map(|it| row("buffered writes", super::sheet::stages(&it), "writes far apart, one after another".into())),
    );
    rows.push(row("chunks of writes", range(chunks), best(chunks)));
    rows
}

fn queue(known: &DriveKnowledge) -> String {
    match (known.queue.depth, known.queue.reorders()) {
        (depth, true) => format!("{depth} commands, soonest first"),
        (1, false) => "one command at a time".into(),
        (depth, false) => format!("{depth} commands, not by position"),
    }
}

fn queue_evidence(known: &DriveKnowledge) -> String {
    match known.queue.depth {
        1 => "as the device says".into(),
        _ => {
            let [overtaken, soonest] = [known.queue.overtaken, known.queue.soonest].map(number::percent);
            format!("given together, {overtaken} overtaken; {soonest} of the picks what the arm reaches soonest")
        }
    }
}

/// How fast a buffer drains, as far as it could be filled.
fn drains(buffer: &BufferHabits) -> String {
    match (buffer.mb_s > 0.0, buffer.per_second > 0.0) {
        (true, true) => {
            let (mb_s, each) = (number::with_decimals(buffer.mb_s, 1), number::with_decimals(buffer.per_second, 0));
            format!("drains at {mb_s} MB/s in a row, {each} scattered writes/s")
        }
        (true, false) => format!("drains at {} MB/s in a row", number::with_decimals(buffer.mb_s, 1)),
        (false, true) => format!("drains {} scattered writes/s", number::with_decimals(buffer.per_second, 0)),
        (false, false) => "writes come back at once".into(),
    }
}

fn range(chunks: &Chunks) -> String {
    match chunks.optimal {
        Some((least, most)) => {
            format!("{} to {}", units::show_blocks(least.into()), units::show_blocks(most.into()))
        }
        None => "too few tracks to tell".into(),
    }
}

fn best(chunks: &Chunks) -> String {
    format!("{} sizes in a row, at best {} MB/s", chunks.sweep.len(), number::with_decimals(fastest(chunks), 1))
}

/// The highest of the rates in a row, MB/s.
fn fastest(chunks: &Chunks) -> f64 {
    chunks.sweep.iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
}

/// What was found, a paragraph for each thing there is to say: whether it may be believed, what the drive is, what is not known.
fn answer(name: &str, profile: &DriveProfile, verdict: &Grade) -> Vec<String> {
    let capacity = units::show_blocks(profile.blocks);
    let ProfileOutcome::Disk(known) = &profile.outcome else {
        return vec![format!("Nothing turns in {name} ({capacity}): there is no drive to write down.")];
    };
    let validation = &known.validation;
    let tried = format!(
        "{} random reads that nothing was learned from were predicted to {}, but for {} that came a revolution early or late",
        number::count(validation.pairs.len() as u64),
        number::seconds(validation.rms_on_time_ms / 1e3),
        number::percent(validation.late)
    );
    let mut lines = vec![match verdict {
        Grade::Good => format!("What was found predicts {name}: {tried}."),
        Grade::Usable(why) => format!("What was found may be used within its intervals: {why}. {tried}."),
        Grade::Refused(why) => format!("What was found cannot be believed, and was not written: {why}. {tried}."),
    }];
    lines.push(format!(
        "It holds {capacity}, turns at {} rpm, and has {} heads over {} cylinders; a seek takes {}. Reads in a row come at {} MB/s \
         at best.",
        number::with_decimals(60e9 / known.clock.mean_period(), 0),
        known.geometry.heads,
        number::count(known.geometry.all_cylinders()),
        seeks(known),
        number::with_decimals(fastest(&known.chunks), 1)
    ));
    lines.extend(known.assumed_of_writes().into_iter().map(|note| format!("Not measured: {note}.")));
    lines.extend(known.effort.gives_up().map(|what| format!("Given up, {what}.")));
    lines
}

/// A page with the seek curve, and predicted against observed times, that opens offline.
pub fn profile_page(name: &str, profile: &DriveProfile, verdict: &Grade, text: &str) -> String {
    let mut page = HtmlPage::new(&format!("Profile of {name}"));
    page.answer(&answer(name, profile, verdict));
    page.text(text);
    if let ProfileOutcome::Disk(known) = &profile.outcome {
        let mut seek = Figure::new("Seek curve", Axis::of("distance, cylinders"), Axis::of("ms"));
        let curve = known.moves.curve();
        let at: Vec<(f64, f64)> = curve.iter().map(|(distance, ms)| (f64::from(*distance), *ms)).collect();
        seek.series.push(Series::new("seek", COLOUR, Marks::Line { at: at.clone(), steps: false }));
        seek.series.push(Series { legend: false, ..Series::new("seek", COLOUR, Marks::Dots { at }) });
        page.figure(&seek);
        let title = "How well is it known: fresh random reads";
        let mut known_by = Figure::new(title, Axis::of("predicted, ms"), Axis::of("observed, ms"));
        let at = known.validation.pairs.clone();
        known_by.series.push(Series::new("read", COLOUR, Marks::Dots { at }));
        page.figure(&known_by);
    }
    page.html()
}
