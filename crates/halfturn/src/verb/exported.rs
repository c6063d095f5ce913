//! `--for`: a drive in the settings of another system, from what a host gets of it in virtual time.

use super::outputs::{Inputs, OutputFile};
use crate::failure::{VerbFailure, print};
use crate::report::{self, MeasuredDrive, MeasuredRate, ScrubChoice};
use block::{At, BadInput, Span, Verb};
use clap::ValueEnum;
use disk::Model;
use drive::host::{HostLoad, HostOrder, commands_s};
use drive::{Drive, Machine};
use load::interval;
use rayon::prelude::*;
use std::path::Path;

/// Whose settings are wanted.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TargetSystem {
    /// The capacities by which an OSD's mClock divides a disk
    Ceph,
    /// The line for io.cost.model, as the kernel's iocost_coef_gen.py measures it
    Iocost,
    /// A fio job that holds a real drive against this one, by reads alone
    Fio,
    /// Module parameters of ZFS that depend on the drive
    Zfs,
    /// A command of nbdkit's whose filters keep clients waiting as long
    Nbdkit,
    /// The drive itself in DiskSim's parameters, FILE.parv, with its seeks beside it, FILE.seek
    Disksim,
}

/// Replications: each has its own places, and finds the platter elsewhere.
const SEEDS: u64 = 5;
/// How long the kernel's script runs each of its loads.
const LASTS: Span = Span(120_000_000_000);
/// By then a write buffer is full.
const WARM_UP: Span = Span(60_000_000_000);
/// What the kernel's script keeps outstanding; a drive may take less.
const DEPTH: u16 = 64;
/// The most commands that are simulated of a row, which soon goes on as it began.
const ROW: u32 = 20_000;
/// The same of commands anywhere: more than a disk serves in that time, with its buffer filled besides.
const ANYWHERE: u32 = 200_000;
/// Blocks of 4 KiB and of 1 MiB.
const SMALL: u32 = 8;
const LARGE: u32 = 2048;

/// How long a scrub may make synchronous reads wait, as a multiple of their mean without it.
const BEARABLE: f64 = 2.0;
/// What of a scrub is tried at once in the drive.
const SCRUBS: [u32; 6] = [1, 2, 3, 4, 6, 10];

/// What another system is told of a drive, printed or, for `output`, written.
pub fn tell(name: &str, system: TargetSystem, output: Option<&Path>, inputs: &mut Inputs) -> Result<(), VerbFailure> {
    match (system, output) {
        (TargetSystem::Disksim, Some(path)) => write_for_disksim(name, path, inputs),
        (_, Some(path)) => {
            let output = OutputFile::new(path, inputs)?;
            output.write(for_system(name, system)?)
        }
        (_, None) => print(&for_system(name, system)?),
    }
}

/// Writes a drive's parameters, and its seek file beside them.
pub fn write_for_disksim(name: &str, path: &Path, inputs: &mut Inputs) -> Result<(), VerbFailure> {
    let beside = path.with_extension("seek");
    let (parameters, seeks) = (OutputFile::new(path, inputs)?, OutputFile::new(&beside, inputs)?);
    let file = beside.file_name().map_or_else(String::new, |file| file.to_string_lossy().into_owned());
    let files = disk::catalogue::for_disksim(name, &file)?;
    seeks.write(files.seeks)?;
    parameters.write(files.parameters)
}

/// The same as text, of a system that is told by one.
fn for_system(name: &str, system: TargetSystem) -> Result<String, VerbFailure> {
    let model = &disk::catalogue::model(name)?;
    Ok(match system {
        TargetSystem::Ceph => report::for_ceph(&measure(model, name)?),
        TargetSystem::Iocost => report::for_iocost(&measure(model, name)?),
        TargetSystem::Fio => report::for_fio(&measure(model, name)?),
        TargetSystem::Zfs => report::for_zfs(model.title(), &try_scrubs(name)?),
        TargetSystem::Nbdkit => report::for_nbdkit(&measure(model, name)?),
        TargetSystem::Disksim => {
            let what = "DiskSim reads a drive from two files, its parameters and its seeks";
            return Err(BadInput::new("--for disksim", At::File, what, "say where by -o FILE.parv").into());
        }
    })
}

fn machine(model: &Model, seed: u64) -> Box<dyn Machine> {
    match model {
        Model::Disk(drive) => Box::new(Drive::new(&drive.sheet, &drive.truth, seed)),
        Model::Other(other) => drive::other::machine(other, seed),
    }
}

/// What a host gets of it under each load.
fn measure(model: &Model, name: &str) -> Result<MeasuredDrive, BadInput> {
    let caps = machine(model, 1).caps();
    if caps.blocks < 4 * u64::from(LARGE) {
        let what = "is too small to be measured by commands of 1 MiB";
        return Err(BadInput::new(name, At::File, what, "name a drive of 4 MiB or more"));
    }
    let inner = (caps.blocks - caps.blocks / 16) / u64::from(LARGE) * u64::from(LARGE);
    let middle = caps.blocks / 2 / u64::from(LARGE) * u64::from(LARGE);
    let write = Verb::Write { fua: false };
    let load = |verb, blocks, order, most, warm_up| HostLoad {
        verb,
        blocks,
        depth: DEPTH,
        order,
        warm_up,
        lasts: LASTS,
        most,
    };
    let row = |verb, blocks, start| load(verb, blocks, HostOrder::From(start), ROW, Span::ZERO);
    let anywhere =
        |verb, depth, warm_up| HostLoad { depth, ..load(verb, SMALL, HostOrder::Anywhere, ANYWHERE, warm_up) };
    let loads = [
        row(Verb::Read, LARGE, 0),
        row(Verb::Read, SMALL, 0),
        anywhere(Verb::Read, DEPTH, Span::ZERO),
        row(write, LARGE, 0),
        row(write, SMALL, 0),
        anywhere(write, DEPTH, Span::ZERO),
        row(Verb::Read, LARGE, middle),
        row(Verb::Read, LARGE, inner),
        anywhere(Verb::Read, 1, Span::ZERO),
        anywhere(write, DEPTH, WARM_UP),
    ];
    let jobs: Vec<(usize, u64)> = (0..loads.len()).flat_map(|load| (1..=SEEDS).map(move |seed| (load, seed))).collect();
    let rates: Vec<f64> = jobs
        .par_iter()
        .with_max_len(1)
        .map(|(load, seed)| commands_s(&mut *machine(model, *seed), *seed, &loads[*load]))
        .collect();
    let mut rates = rates.chunks_exact(SEEDS as usize).map(|rates| MeasuredRate {
        a_second: rates.iter().sum::<f64>() / rates.len() as f64,
        half: interval(rates).unwrap_or(0.0),
    });
    let mut next = || rates.next().expect("one for each load");
    Ok(MeasuredDrive {
        title: model.title().to_owned(),
        depth: caps.depth.min(DEPTH),
        row: ROW,
        reads_large: next(),
        reads_row: next(),
        reads_anywhere: next(),
        writes_large: next(),
        writes_row: next(),
        writes_anywhere: next(),
        reads_middle: next(),
        reads_inner: next(),
        reads_alone: next(),
        writes_sustained: next(),
    })
}

/// How much of a scrub ZFS may have in the drive before synchronous reads wait twice as long.
fn try_scrubs(name: &str) -> Result<Vec<ScrubChoice>, VerbFailure> {
    let model = config::quote(name);
    let depth = disk::catalogue::model(name)?.depth();
    let experiment = |scrub: &str, policy: &str| {
        format!(
            "[drive]\nmodel = {model}\nqueue = {depth}\n[scheduler]\npolicy = \"zfs\"\n{policy}\n[[workload]]\nname = \"reads\"\n\
             kind = \"open\"\nrate = \"20/s\"\nsize = \"16KiB\"\npriority = 2\n{scrub}[run]\nduration = \"120s\"\nwarmup = \"10s\"\n\
             replications = 5\n"
        )
    };
    let scrub = "[[workload]]\nname = \"scrub\"\nkind = \"closed\"\ndepth = 32\nsize = \"1MiB\"\nat = \"sequential\"\npriority = 0\n";
    let most = |count: u32| format!("scrub_min_active = 1\nscrub_max_active = {count}\nnia_credit = {count}");
    let run = |scrub: &str, policy: &str| {
        let cases = load::experiment::parse("scrub beside reads", &experiment(scrub, policy), &[], None)?;
        let results = sim::simulate(&cases, &sim::Unwatched)?;
        Ok::<_, BadInput>(results.runs.into_iter().next().expect("one run"))
    };
    let alone = run("", "")?.classes["reads"].response_ms.clone();
    let mut choices = Vec::new();
    for count in SCRUBS {
        let run = run(scrub, &most(count))?;
        let times = &run.classes["reads"].response_ms;
        choices.push(ScrubChoice {
            count,
            reads_ms: times.mean,
            half_ms: times.ci95.unwrap_or(0.0),
            alone_ms: alone.mean,
            scrub_mb_s: run.classes["scrub"].throughput_mb_s,
            bearable: times.mean <= BEARABLE * alone.mean,
        });
    }
    Ok(choices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_share_of_a_scrub_is_tried_beside_the_same_reads() {
        let choices = try_scrubs("nl20").unwrap_or_else(|_| panic!("a drive of the catalogue"));
        assert_eq!(choices.iter().map(|choice| choice.count).collect::<Vec<_>>(), SCRUBS);
        for choice in &choices {
            assert!(choice.alone_ms > 0.0 && choice.alone_ms == choices[0].alone_ms, "{}", choice.alone_ms);
            assert!(choice.reads_ms > choice.alone_ms && choice.half_ms > 0.0, "{} ms", choice.reads_ms);
            assert_eq!(choice.bearable, choice.reads_ms <= 2.0 * choice.alone_ms, "{}", choice.count);
            // A row is read no faster than the drive transfers.
            assert!((1.0..400.0).contains(&choice.scrub_mb_s), "{} MB/s", choice.scrub_mb_s);
        }
        // The more of a scrub is in the drive, the longer reads wait, and the faster the scrub is.
        for pair in choices.windows(2) {
            assert!(
                pair[0].reads_ms < pair[1].reads_ms && pair[0].scrub_mb_s < pair[1].scrub_mb_s,
                "{}",
                pair[1].count
            );
        }
    }
}
