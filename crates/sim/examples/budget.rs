//! Runs the first replication of one experiment file and prints how many requests ended in it, before and after what was
//! measured too: what `cargo xtask budget` counts the instructions of.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() -> ExitCode {
    let Some(file) = std::env::args().nth(1) else {
        eprintln!("which experiment file?\n  mend: give its path");
        return ExitCode::from(2);
    };
    let ended = AtomicU64::new(0);
    let tell = |more| {
        ended.fetch_add(more, Ordering::Relaxed);
    };
    let run = |file: &str| sim::replicate(&load::experiment::load(Path::new(file), &[], None)?[0].experiment, 0, &tell);
    match run(&file) {
        Ok(_) => {
            println!("{}", ended.into_inner());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
