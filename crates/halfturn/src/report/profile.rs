//! What a profile found, with what it rests on.

use super::number;
use super::page::Page;
use super::table::{Edge, table};
use block::units;
use plotly::common::{Mode, Title};
use plotly::layout::Axis;
use plotly::{Layout, Plot, Scatter};
use profile::{Known, Outcome, Profile};

/// A profile as people read it.
pub fn profiled(name: &str, profile: &Profile, written: Option<&str>) -> String {
    let mut text = match &profile.outcome {
        Outcome::Disk(known) => disk(name, profile, known),
        Outcome::NoRotation([least, middle, most]) => format!(
            " {name}: no rotation found: {} ({} blocks) that answer single reads in {}, at least {}, at most {}\n",
            units::show_blocks(profile.blocks),
            number::count(profile.blocks),
            number::seconds(middle / 1e3),
            number::seconds(least / 1e3),
            number::seconds(most / 1e3),
        ),
    };
    let commands = number::count(profile.commands);
    text += &format!(" {commands} commands, {} of device time\n", number::seconds(profile.time.as_secs()));
    if !profile.unreadable.is_empty() {
        let shown: Vec<String> = profile.unreadable.iter().take(8).map(|sector| number::count(*sector)).collect();
        let count = number::count(profile.unreadable.len() as u64);
        text += &format!(" {count} reads failed, of sectors {}\n", shown.join("; "));
    }
    if profile.stalls > 0 {
        text += &format!(" {} replies stalled and were asked again\n", number::count(profile.stalls));
    }
    if let Some(file) = written {
        text += &format!(" Written to {file}\n");
    }
    text
}

fn disk(name: &str, profile: &Profile, known: &Known) -> String {
    let geometry = &known.geometry;
    let rows = vec![
        row("rotation", format!("{:.6} ms", known.clock.mean_period() / 1e6), rotation(known)),
        row("sector", units::show_blocks(1 << known.shift), "blocks that complete at the same angle".into()),
        row("heads", geometry.heads.to_string(), order(known)),
        row("cylinders", number::count(geometry.all_cylinders()), regions(known)),
        row("overhead", ms(known.moves.overhead()), overhead(known)),
        row("head switch", ms(known.head_switch()), "least reach from head to head".into()),
        row("seek", seeks(known), format!("{} distances, spread {}", known.moves.points.len(), ms(known.moves.spread))),
        row("late seeks", number::percent(known.late.share), format!("by {}", ms(known.late.by))),
        row("read cache", cache(known), format!("answers in {}", ms(known.cache.hit))),
        row("reads", arrival(known).into(), "whole tracks, asked for at every angle".into()),
    ];
    let heads = [("", Edge::Left), ("found", Edge::Left), ("evidence", Edge::Left)];
    let heads = heads.map(|(head, edge)| (head.to_owned(), edge));
    let validation = &known.validation;
    format!(
        " {name}: {} ({} blocks)\n\n{}\n {} fresh random reads: predicted to {} rms, {} a revolution off\n",
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
    format!("{} ms", number::fixed(ms, 3))
}

fn rotation(known: &Known) -> String {
    let noise = known.clock.noise * known.clock.period / 1e9;
    format!("{} rpm; completions within {}", number::fixed(60e9 / known.clock.mean_period(), 2), number::seconds(noise))
}

fn order(known: &Known) -> String {
    match known.geometry.arrangement {
        profile::map::Arrangement::Heads => "a cylinder, then the next".into(),
        profile::map::Arrangement::Bands(width) => format!("{width} cylinders on a head, then back on the next"),
    }
}

fn regions(known: &Known) -> String {
    let map = &known.geometry.map;
    let slips: usize = map.regions.iter().map(|region| region.slips.len()).sum();
    let tracks = map.regions.iter().map(|region| region.round);
    let (least, most) = (tracks.clone().min().unwrap_or(0), tracks.max().unwrap_or(0));
    let sectors = if least == most { most.to_string() } else { format!("{most} to {least}") };
    let regions = match map.regions.len() {
        1 => "1 region".to_owned(),
        several => format!("{several} regions"),
    };
    format!("{regions} of {sectors} sectors a track, {slips} slips, {} sectors elsewhere", map.remaps.len())
}

fn overhead(known: &Known) -> String {
    match known.moves.overhead {
        Some(_) => "least reach on one track".into(),
        None => "the shortest move, for it could not be told from one".into(),
    }
}

fn seeks(known: &Known) -> String {
    let curve = known.moves.curve();
    match (curve.first(), curve.last()) {
        (Some(first), Some(last)) => format!("{} to {}", ms(first.1), ms(last.1)),
        _ => "none".into(),
    }
}

fn cache(known: &Known) -> String {
    let cache = &known.cache;
    match cache.segments {
        0 => "none found".into(),
        segments => format!("{segments} segments of {} blocks, {} read on", cache.segment, cache.read_ahead),
    }
}

fn arrival(known: &Known) -> &'static str {
    if known.transfer.on_arrival { "begin where the head lands" } else { "begin with their first sector" }
}

/// A page with the seek curve, and predicted against observed times, that opens offline.
pub fn profile_page(name: &str, profile: &Profile, text: &str) -> String {
    let mut page = Page::new(&format!("Profile of {name}"));
    page.text(text);
    if let Outcome::Disk(known) = &profile.outcome {
        let curve = known.moves.curve();
        let seek = Scatter::new(
            curve.iter().map(|(distance, _)| *distance).collect(),
            curve.iter().map(|(_, ms)| *ms).collect::<Vec<f64>>(),
        );
        page.figure(&drawn(seek.mode(Mode::LinesMarkers), "Seek curve", ("distance, cylinders", "ms")));
        let pairs = &known.validation.pairs;
        let observed = Scatter::new(
            pairs.iter().map(|(predicted, _)| *predicted).collect(),
            pairs.iter().map(|(_, observed)| *observed).collect::<Vec<f64>>(),
        );
        let title = "How well is it known: fresh random reads";
        page.figure(&drawn(observed.mode(Mode::Markers), title, ("predicted, ms", "observed, ms")));
    }
    page.html()
}

fn drawn<X, Y>(trace: Box<Scatter<X, Y>>, title: &str, (x, y): (&str, &str)) -> Plot
where
    X: serde::Serialize + Clone + 'static,
    Y: serde::Serialize + Clone + 'static,
{
    let mut plot = Plot::new();
    plot.add_trace(trace);
    plot.set_layout(
        Layout::new()
            .title(Title::with_text(title))
            .x_axis(Axis::new().title(Title::with_text(x)))
            .y_axis(Axis::new().title(Title::with_text(y))),
    );
    plot
}
