//! Runs the first replication of one experiment file and prints how many requests ended in it, before and after what was
//! measured too: what `cargo xtask budget` counts the instructions of. With two files the first, a trace, is written as the
//! second, in the form and packing that its ending says.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use trace::write::{TraceWriter, WritableFormat};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match &arguments[..] {
        [file] => run(file).map(|ended| println!("{ended}")),
        [from, to] => convert(Path::new(from), Path::new(to)),
        _ => Err("which experiment file?\n  mend: give its path".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

/// Runs an experiment; how many requests ended.
fn run(file: &str) -> Result<u64, String> {
    let ended = AtomicU64::new(0);
    let tell = |more| {
        ended.fetch_add(more, Ordering::Relaxed);
    };
    let experiment = load::experiment::load(Path::new(file), &[], None).map_err(|error| error.to_string())?;
    sim::replicate(&experiment[0].experiment, 0, &tell).map_err(|error| error.to_string())?;
    Ok(ended.into_inner())
}

/// Writes a trace anew, or packs it.
fn convert(from: &Path, to: &Path) -> Result<(), String> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", to.display());
    let mut out = File::create(to).map_err(|error| wrong(&error))?;
    match to.extension().and_then(|end| end.to_str()) {
        Some("gz") => {
            let mut packed = flate2::write::GzEncoder::new(out, flate2::Compression::default());
            let bytes = std::fs::read(from).map_err(|error| wrong(&error))?;
            packed.write_all(&bytes).and_then(|()| packed.finish().map(drop)).map_err(|error| wrong(&error))
        }
        Some("zst") => {
            let bytes = std::fs::read(from).map_err(|error| wrong(&error))?;
            let packed = zstd::stream::encode_all(&*bytes, 0).map_err(|error| wrong(&error))?;
            out.write_all(&packed).map_err(|error| wrong(&error))
        }
        _ => {
            let format = WritableFormat::of(to).ok_or_else(|| wrong(&"no format has this ending"))?;
            let mut trace = trace::open(from, None).map_err(|error| wrong(&error))?;
            let writer = TraceWriter::new(format, out).map_err(|error| wrong(&error))?;
            let mut writer = writer.ok_or_else(|| wrong(&"this build does not write it"))?;
            while let Some(record) = trace.next() {
                let record = record.map_err(|error| wrong(&error))?;
                let device = trace.devices()[record.device.0 as usize].clone();
                writer.put(&record, &device).map_err(|error| wrong(&error))?;
            }
            writer.finish().map(drop).map_err(|error| wrong(&error))
        }
    }
}
