//! The drive file of a data sheet: compact, each assumed number with what it may be beside it.

use super::{AGE_LIMIT_MS, Assumption, DataSheet, NOISE_MS, Numbers, OVERHEAD_MS};
use std::fmt::Write;

/// Cylinders of a band where tracks are dense: those of `nl20`.
const BAND: u32 = 128;

pub(super) fn write(sheet: &DataSheet, numbers: &Numbers, assumed: &[Assumption]) -> String {
    let mut text = format!("title = {}\n", crate::write::quote(&sheet.title));
    let assumed: Vec<String> =
        assumed.iter().map(|it| format!("{}: {} ({}): {}", it.what, it.value, it.range, it.basis)).collect();
    for (key, lines) in [("sources", &sheet.sources), ("assumed", &assumed)] {
        if lines.is_empty() {
            continue;
        }
        if key == "assumed" {
            text += "# What the sheet does not print: the value taken, and from the least to the most it is likely to be.\n";
        }
        let lines: String = lines.iter().map(|line| format!("    {},\n", crate::write::quote(line))).collect();
        text += &format!("{key} = [\n{lines}]\n");
    }
    text += &write_printed(sheet, numbers);
    text += &format!("\n[rotation]\nrpm = {}\n", sheet.rpm);
    text += &geometry(numbers);
    text += &arm(numbers);
    text + &controller(numbers)
}

/// What the sheet prints and no parameter says: tests hold the drive against it.
fn write_printed(sheet: &DataSheet, numbers: &Numbers) -> String {
    let mut text = format!("\n[published]\nblocks = {}\n", numbers.geometry.blocks);
    for (key, value) in [("mean_seek_ms", sheet.seek_ms), ("full_stroke_ms", sheet.full_stroke_ms)] {
        text += &value.map_or_else(String::new, |value| format!("{key} = {value:?}\n"));
    }
    if let Some((depth, rate)) = sheet.random_reads_s {
        text += &format!("random_reads_s = [[{depth}, {rate:?}]]\n");
    }
    match sheet.inner_mb_s {
        Some(inner) => text + &format!("sustained_mb_s = [{:?}, {inner:?}]\n", sheet.outer_mb_s),
        None => text + &format!("outer_mb_s = {:?}\n", sheet.outer_mb_s),
    }
}

fn geometry(numbers: &Numbers) -> String {
    let geometry = &numbers.geometry;
    let order = match numbers.seeks.dense {
        true => format!("\"band-serpentine\"\nband = {BAND}"),
        false => "\"serpentine\"".into(),
    };
    let mut text = format!("\n[geometry]\nheads = {}\norder = {order}\n", geometry.heads);
    if geometry.sector > 1 {
        text += &format!("sector = \"{} blocks\"\n", geometry.sector);
    }
    text += &format!("blocks = {}\nskew = \"revolutions\"\n", geometry.blocks);
    text += "# first cylinder, last cylinder, sectors a track, head skew, cylinder skew; all but the first and last rate assumed\n";
    text += "zones = [\n";
    let skew = numbers.skew;
    for (first, last, sectors) in &geometry.zones {
        let _ = writeln!(text, "    [{first}, {last}, {sectors}, {skew:.3}, {skew:.3}],");
    }
    text + "]\n"
}

fn arm(numbers: &Numbers) -> String {
    let curve = &numbers.curve;
    let (track, write) = (numbers.seeks.track, numbers.seeks.write_track);
    format!(
        "\n[seek]\n# a + b·√d up to the knee, then c + e·d, through the seeks printed or assumed\nsingle_ms = {track:.4}\n\
         a_ms = {:.4}\nb_ms = {:.6e}\nknee = {}\nc_ms = {:.5}\ne_ms = {:.6e}\n\
         \n[switch]\n# heads change as tracks do: assumed\nhead = \"{track:.4}ms\"\nhead_write = \"{write:.4}ms\"\n\
         cylinder = \"{track:.4}ms\"\ncylinder_write = \"{write:.4}ms\"\nwrite_settle = \"{:.4}ms\"\n",
        curve.a, curve.b, curve.knee, curve.c, curve.e, numbers.seeks.settle,
    )
}

fn controller(numbers: &Numbers) -> String {
    let cache = &numbers.cache;
    // Blocks of 512 bytes in larger sectors.
    let merges = if numbers.geometry.sector > 1 { "merges_sectors = true\n" } else { "" };
    format!(
        "\n[overhead]\n# assumed: 0.1 to 0.3 ms a command, less for a hit and for one that waited\nread = \"{OVERHEAD_MS}ms\"\n\
         hit = \"0.05ms\"\nqueued = \"0.03ms\"\nbus_mb_s = {:?}\n\
         \n[cache]\n# how the memory is divided is assumed\nsegments = {}\nsegment = \"{} blocks\"\n\
         write_buffer = \"{} blocks\"\n{merges}\
         \n[queue]\n# assumed: by positioning time, none passed over for longer than 1 to 4 s\ndepth = 32\n\
         age_limit = \"{AGE_LIMIT_MS}ms\"\n\
         \n[truth]\n# assumed: 0.03 to 0.15 ms\nseek_noise = \"{NOISE_MS}ms\"\n",
        numbers.bus_mb_s, cache.segments, cache.segment, cache.write,
    )
}
