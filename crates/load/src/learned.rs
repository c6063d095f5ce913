//! What the Disk Mimic learned of a device, as a file.

use block::{At, BadInput, Span};
use config::Document;
use sched::predict::mimic::{Known, Learned, ProbeEffort};
use std::fmt::Write;
use std::path::Path;

/// As the text of a file that [`read`] reads.
#[must_use]
pub fn write(learned: &Learned, device: &str) -> String {
    let known: Vec<Known> = learned.distances().collect();
    let effort = learned.effort;
    let mut text = format!(
        "# What the Disk Mimic learned of {device}: [scheduler.mimic] table = \"this file\"\n\
         # A distance is in blocks of 512 bytes, from the end of a request to the start of the next; its time is that of\n\
         # the whole command. Where `line` is 1, times up to the next distance are on the line between the two.\n\n\
         blocks = {}\ngrain = {}\n\n[effort]\ncommands = {}\ntime = \"{}ms\"\ninterpolated = {:.4}\ncoarse = {:.4}\n",
        learned.blocks(),
        learned.grain(),
        effort.commands,
        effort.time.0 / 1_000_000,
        effort.interpolated,
        effort.coarse,
    );
    text.push_str("\n[times]\n");
    list(&mut text, "distance", known.iter().map(|known| known.distance.to_string()));
    list(&mut text, "time_us", known.iter().map(|known| format!("{:.1}", known.time.0 as f64 / 1e3)));
    list(&mut text, "samples", known.iter().map(|known| known.samples.to_string()));
    list(&mut text, "line", known.iter().map(|known| u8::from(known.line).to_string()));
    text
}

fn list(text: &mut String, key: &str, values: impl Iterator<Item = String>) {
    let _ = write!(text, "{key} = [");
    for (i, value) in values.enumerate() {
        text.push_str(if i % 16 == 0 { "\n    " } else { " " });
        let _ = write!(text, "{value},");
    }
    text.push_str("\n]\n");
}

/// Reads such a file.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn read(path: &Path) -> Result<Learned, BadInput> {
    of(&Document::load(path)?)
}

/// The same, of a drive of so many blocks.
///
/// # Errors
/// Bad input with file, line and mend; also when it was learned of another drive.
pub fn read_of(path: &Path, blocks: u64) -> Result<Learned, BadInput> {
    let learned = read(path)?;
    if learned.blocks() != blocks {
        let what = format!("learned of a device of {} blocks; the drive has {blocks}", learned.blocks());
        let mend = "make it anew of this drive with `halfturn profile --mimic`";
        return Err(BadInput::new(path.display().to_string(), At::File, what, mend));
    }
    Ok(learned)
}

/// The same of a text, shown as `name` in errors.
///
/// # Errors
/// Bad input with file, line and mend.
pub fn parse(name: &str, text: &str) -> Result<Learned, BadInput> {
    of(&Document::parse(name, text)?)
}

fn of(document: &Document) -> Result<Learned, BadInput> {
    let root = document.root();
    let mend = "make the file anew with `halfturn profile --mimic`";
    let blocks = root.need("blocks", root.u64("blocks")?)?;
    let grain = root.within("grain", 1, 1 << 20)?.unwrap_or(2);
    let mut effort = ProbeEffort::default();
    if let Some(section) = root.section("effort")? {
        effort = ProbeEffort {
            commands: section.u64("commands")?.unwrap_or(0),
            time: section.span("time")?.unwrap_or(Span::ZERO),
            interpolated: section.share("interpolated")?.unwrap_or(0.0),
            coarse: section.share("coarse")?.unwrap_or(0.0),
            ..ProbeEffort::default()
        };
        section.close()?;
    }
    let times = root.section("times")?.ok_or_else(|| root.here("no [times]", mend))?;
    let column = |key| times.need(key, times.f64s(key)?);
    let (distance, time) = (column("distance")?, column("time_us")?);
    let (samples, line) = (column("samples")?, column("line")?);
    for (key, column) in [("time_us", &time), ("samples", &samples), ("line", &line)] {
        if column.len() != distance.len() {
            let what = format!("{} values, but {} distances", column.len(), distance.len());
            return Err(times.error(key, what, mend));
        }
    }
    if distance.is_empty() {
        return Err(times.error("distance", "no distances", mend));
    }
    if !distance.is_sorted_by(|one, next| one < next) {
        return Err(times.error("distance", "the distances are not in ascending order", mend));
    }
    if time.iter().any(|time| !(0.0..=1e12).contains(time)) {
        return Err(times.error("time_us", "a time is negative or beyond all bounds", mend));
    }
    times.close()?;
    root.close()?;
    let known = (0..distance.len()).map(|i| Known {
        distance: distance[i] as i64,
        time: Span((time[i] * 1e3) as u64),
        samples: samples[i].clamp(0.0, 255.0) as u8,
        line: line[i] != 0.0,
    });
    Ok(Learned::of(blocks, grain, known, effort))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let known = [(-64, 5.0), (0, 0.5), (2, 0.7), (4096, 7.25)].map(|(distance, ms)| Known {
            distance,
            time: Span((ms * 1e6) as u64),
            samples: 10,
            line: distance == 2,
        });
        let learned =
            Learned::of(100_000, 2, known.into_iter(), ProbeEffort { commands: 80, ..ProbeEffort::default() });
        let text = write(&learned, "a test");
        let again = parse("table.toml", &text).unwrap();
        assert_eq!(again.distances().collect::<Vec<_>>(), learned.distances().collect::<Vec<_>>());
        assert_eq!(again.effort, learned.effort);
    }

    #[test]
    fn what_was_learned_of_another_drive_is_an_error() {
        let known = [0, 8].map(|distance| Known { distance, time: Span(5_000_000), samples: 10, line: distance == 0 });
        let learned = Learned::of(100_000, 2, known.into_iter(), ProbeEffort::default());
        let path = std::env::temp_dir().join(format!("learned-{}.toml", std::process::id()));
        std::fs::write(&path, write(&learned, "a test")).unwrap();
        let blocks = |count| read_of(&path, count).map(|learned| learned.blocks()).map_err(|error| error.to_string());
        assert_eq!(blocks(100_000), Ok(100_000));
        assert!(blocks(99_999).unwrap_err().contains("of 100000 blocks; the drive has 99999"));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn broken_files_are_errors_and_never_panics() {
        let good = "blocks = 1000\n[times]\ndistance = [-8, 0, 8]\ntime_us = [5e3, 100, 4e3]\n\
                    samples = [10, 10, 9]\nline = [1, 0, 0]\n";
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |bound: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % bound
        };
        let mut errors = 0;
        for _ in 0..5000 {
            let mut bytes = good.as_bytes().to_vec();
            for _ in 0..=below(4) {
                let at = below(bytes.len());
                match below(3) {
                    0 => bytes[at] = b"-0189e.,[]=#\n\"x"[below(15)],
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"-0189e.,[]=#\n\"x"[below(15)]),
                }
            }
            let text = String::from_utf8(bytes).expect("it is ASCII");
            match parse("mutated.toml", &text) {
                Err(error) => errors += usize::from(!error.to_string().is_empty()),
                Ok(learned) => {
                    assert!([i64::MIN, 0, i64::MAX].iter().all(|it| learned.time(*it) <= Some(Span(u64::MAX))))
                }
            }
        }
        assert!((1000..5000).contains(&errors), "{errors} errors");
    }
}
