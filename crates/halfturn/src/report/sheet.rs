//! The data sheet of a drive, on a page.

use super::device::device;
use super::sustained::rates;
use super::table::{Edge, table};
use super::{number, plot};
use block::{Span, units};
use disk::{After, Drive, Mechanics, Model, Order, Sheet, Truth, Unmeasured, WriteStages};

/// Rows of the zone table, at most.
const ZONE_ROWS: u32 = 16;

/// What `drive show` prints.
pub fn data_sheet(model: &Model) -> String {
    match model {
        Model::Disk(drive) => disk(drive),
        Model::Other(other) => device(other),
    }
}

fn disk(drive: &Drive) -> String {
    let Drive { sheet, truth } = drive;
    let mechanics = &sheet.mechanics;
    let mut text = format!(" {}\n\n", sheet.title);
    let mut lines = geometry(mechanics);
    lines.extend(moves(sheet));
    lines.extend(electronics(sheet));
    lines.extend(noise(truth));
    for (name, value) in lines {
        text += &format!(" {name:<18}  {value}\n");
    }
    text += &format!("\n{}", zones(mechanics));
    let last = mechanics.layout.cylinders().saturating_sub(1);
    let curve = plot::curve(|distance| mechanics.seek.time(distance).as_ms(), last, "cylinders to cross", "seek, ms");
    text += &format!("\n{curve}\n");
    text += &list_lines("sources", &sheet.sources);
    text + &list_lines("assumed: no source prints these", &sheet.assumed)
}

pub(super) type SheetRow = (&'static str, String);

fn geometry(mechanics: &Mechanics) -> Vec<SheetRow> {
    let layout = &mechanics.layout;
    let order = match layout.order() {
        None => "as its tree or list has it".to_owned(),
        Some(Order::HeadsFirst) => "heads first".to_owned(),
        Some(Order::Serpentine(_)) => "serpentine".to_owned(),
        Some(Order::BandSerpentine(band)) => format!("serpentine in bands of {band} tracks"),
    };
    let period = mechanics.rotation.period_ns();
    vec![
        (
            "capacity",
            format!("{} ({} blocks of 512 B)", units::show_blocks(layout.blocks()), number::count(layout.blocks())),
        ),
        (
            "geometry",
            format!(
                "{} cylinders, {} heads, {} zones, sectors of {} B; {order}",
                number::count(u64::from(layout.cylinders())),
                layout.heads(),
                layout.zones(),
                512u32 << layout.sector_shift(),
            ),
        ),
        (
            "rotation",
            format!("{} rpm, {:.3} ms a revolution", number::count((60e9 / period).round() as u64), period / 1e6),
        ),
    ]
}

fn moves(sheet: &Sheet) -> Vec<SheetRow> {
    let mechanics = &sheet.mechanics;
    let (seek, switches) = (&mechanics.seek, &mechanics.switches);
    let full = seek.time(mechanics.layout.cylinders().saturating_sub(1));
    let mut switch = format!("head {}, cylinder {}", ms(switches.head), ms(switches.cylinder));
    if switches.head_write != switches.head || switches.cylinder_write != switches.cylinder {
        switch += &format!("; before writing {} and {}", ms(switches.head_write), ms(switches.cylinder_write));
    }
    vec![
        (
            "seek",
            format!(
                "mean {:.2} ms, to the next cylinder {}, full stroke {}",
                seek.mean_ms(),
                ms(seek.time(1)),
                ms(full)
            ),
        ),
        ("switch", switch),
        (
            "write settle",
            match sheet.unmeasured.write_settle {
                true => Unmeasured::WORD.to_owned(),
                false => format!("{} after a random move", ms(switches.write_settle)),
            },
        ),
    ]
}

fn electronics(sheet: &Sheet) -> Vec<SheetRow> {
    let (overheads, cache) = (&sheet.overheads, &sheet.cache);
    let bus = sheet.bus.mb_s.map_or("no limit".to_owned(), |rate| format!("{} MB/s", number::plain(rate)));
    let times = format!(
        "read {}, write {}, cache hit {}",
        either(overheads.read),
        if sheet.unmeasured.write_overhead { Unmeasured::WORD.to_owned() } else { either(overheads.write) },
        either(overheads.hit)
    );
    let size = |blocks: u32| units::show_blocks(u64::from(blocks));
    let reads = match cache.segments {
        0 => "no read cache".to_owned(),
        n => format!("{n} segments of {}, {} read ahead", size(cache.segment), size(cache.read_ahead)),
    };
    let writes = match cache.write_buffer {
        _ if sheet.unmeasured.write_buffer => format!("write buffer {}", Unmeasured::WORD),
        0 => "no write buffer".to_owned(),
        blocks => format!("write buffer {}", size(blocks)),
    };
    let mut rows = vec![("command overhead", times), ("bus", bus), ("cache", format!("{reads}; {writes}"))];
    rows.extend(overheads.stages.map(|stages| ("buffered writes", self::stages(&stages))));
    rows
}

/// What buffered writes take longer as they come one after the other.
pub(super) fn stages(stages: &WriteStages) -> String {
    let size = |blocks: u32| units::show_blocks(u64::from(blocks));
    let mut told = format!("after {} each {:.0} µs longer", size(stages.fast), stages.mid.as_ms() * 1e3);
    if stages.between > 0 {
        told += &format!(", one in each further {} {}", size(stages.between), ms(stages.slow));
    }
    format!("{told}, until none came for {}", ms(stages.rest))
}

/// A time that may differ after a write.
fn either(after: After) -> String {
    if after.read == after.write {
        ms(after.read)
    } else {
        format!("{} ({} after a write)", ms(after.read), ms(after.write))
    }
}

/// What the simulated drive does beyond its sheet.
fn noise(truth: &Truth) -> Option<SheetRow> {
    let mut words = Vec::new();
    if truth.seek_noise > Span::ZERO {
        words.push(format!("seeks vary by {} (standard deviation)", ms(truth.seek_noise)));
    }
    if truth.late_share > 0.0 {
        words.push(format!("{} of seeks settle {} late", number::percent(truth.late_share), ms(truth.late_by)));
    }
    if truth.rpm_offset != 0.0 || truth.rpm_wander != 0.0 {
        let parts = |fraction: f64| format!("{} ppm", number::plain(fraction * 1e6));
        words.push(format!("rotation off by {}, wandering {}", parts(truth.rpm_offset), parts(truth.rpm_wander)));
    }
    (!words.is_empty()).then(|| ("noise (not known)", words.join("; ")))
}

/// The zones, neighbours taken together where there are many.
fn zones(mechanics: &Mechanics) -> String {
    let layout = &mechanics.layout;
    let heads = ["zones", "cylinders", "sectors a track", "media MB/s", "sustained MB/s"];
    let heads = heads.map(|head| (head.to_owned(), Edge::Right));
    let together = layout.zones().div_ceil(ZONE_ROWS).max(1);
    let mut rows = Vec::new();
    for first in (0..layout.zones()).step_by(together as usize) {
        let last = (first + together).min(layout.zones()) - 1;
        let begins = |zone: u32| layout.locate(layout.zone_blocks(zone).0).track.cylinder;
        let ends = if last + 1 < layout.zones() { begins(last + 1) } else { layout.cylinders() };
        let range = |value: &dyn Fn(u32) -> String| {
            let (a, b) = (value(first), value(last));
            if a == b { a } else { format!("{a} – {b}") }
        };
        rows.push(vec![
            range(&|zone| zone.to_string()),
            format!(
                "{} – {}",
                number::count(u64::from(begins(first))),
                number::count(u64::from(ends.saturating_sub(1)))
            ),
            range(&|zone| layout.track_sectors(layout.locate(layout.zone_blocks(zone).0).track.zone).to_string()),
            range(&|zone| number::with_decimals(rates(mechanics, zone).media, 1)),
            range(&|zone| number::with_decimals(rates(mechanics, zone).sustained, 1)),
        ]);
    }
    table(&heads, &rows)
}

fn ms(span: Span) -> String {
    format!("{:.2} ms", span.as_ms())
}

pub(super) fn list_lines(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines.iter().map(|line| format!("  - {line}\n")).collect();
    format!(" {title}\n{lines}")
}
