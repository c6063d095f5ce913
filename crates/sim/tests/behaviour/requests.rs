//! The record of each request: laws over random experiments, a second count by another path, and the same on any number of threads.
//!
//! `HALFTURN_SEED=N` runs the experiment of one seed, `HALFTURN_SEEDS=N` so many.

use crate::files::{Folder, cases};
use block::{BadInput, Ending, Op, Time};
use flow::PictureScope;
use load::Draw;
use load::experiment::{Case, parse};
use load::requests::{PARTS, Record, Records, write_csv};
use load::results::{Results, Run};
use sched::Wait;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Random experiments, where no number is given.
const EXPERIMENTS: u64 = 120;

/// What is kept of a record.
#[derive(Clone, Debug)]
struct Kept {
    number: u64,
    class: String,
    op: Op,
    ending: Option<Ending>,
    counted: bool,
    arrival: u64,
    start: u64,
    end: u64,
    commands: u64,
    waits: [u64; Wait::KINDS],
    parts: [u64; PARTS],
}

impl Kept {
    fn wait(&self, wait: Wait) -> u64 {
        self.waits[wait as usize]
    }
}

/// By case and replication, records and their lines.
type Book = Arc<Mutex<BTreeMap<(usize, u32), (Vec<Kept>, Vec<u8>)>>>;

struct Keep(Book, (usize, u32));

impl Records for Keep {
    fn put(&mut self, it: &Record) -> Result<(), BadInput> {
        let mut book = self.0.lock().unwrap();
        let (kept, lines) = book.entry(self.1).or_default();
        kept.push(Kept {
            number: it.request,
            class: it.class.to_owned(),
            op: it.op,
            ending: it.ending,
            counted: it.counted,
            arrival: it.arrival.0,
            start: it.start.0,
            end: it.end.0,
            commands: it.commands,
            waits: it.waits.map(|span| span.0),
            parts: it.parts.map(|span| span.0),
        });
        write_csv(it, lines).unwrap();
        Ok(())
    }

    fn close(&mut self) -> Result<(), BadInput> {
        self.0.lock().unwrap().entry(self.1).or_default();
        Ok(())
    }
}

/// Results, and the records of each run.
type Recorded = (Results, BTreeMap<(usize, u32), (Vec<Kept>, Vec<u8>)>);

fn record(cases: &[Case]) -> Result<Recorded, BadInput> {
    let book = Book::default();
    let opens =
        |case, replication| Ok(Some(Box::new(Keep(Arc::clone(&book), (case, replication))) as Box<dyn Records>));
    let results = sim::simulate_and_record(cases, &sim::Unwatched, &opens)?;
    let book = std::mem::take(&mut *book.lock().unwrap());
    Ok((results, book))
}

/// A random experiment.
pub fn experiment(seed: u64) -> String {
    let mut draw = Draw::new(seed, 77);
    let mut one_of = |words: &[&'static str]| words[draw.below(words.len() as u64) as usize];
    let drives = ["atlas10k", "nl20", "st318437lw", "mirror-atlas10k", "flash-x25m", "store-block", "tape-lto5"];
    let (drive, short) = (one_of(&drives), one_of(&["yes", "yes", "no"]) == "yes");
    let queue = if short || drive != "nl20" { "queue = 1" } else { one_of(&["queue = 1", "queue = 4"]) };
    let array = one_of(&[
        "",
        "",
        "",
        "array = { level = \"0\", disks = 3 }",
        "array = { level = \"0/1\", disks = 4, migration = \"jit\" }",
        "array = { level = \"5\", disks = 4 }",
        "array = { level = \"5\", disks = 4, fails = [{ disk = 1, at = \"300ms\", replaced = true }] }",
        "array = { level = \"5\", disks = 3, buffer = \"1MiB\" }",
        "array = { level = \"0\", disks = 2, buffer = \"512KiB\" }",
    ]);
    let policy = one_of(&["fcfs", "look", "sstf", "asatf"]);
    let service = if short {
        let preemption = one_of(&["never", "always", "priority", "conservative", "aggressive", "lookahead"]);
        let plan = one_of(&["", ", jit = false", ", prefetch = \"always\"", ", split = \"masked\""]);
        format!("io = \"semi-preemptible\"\npreemption = \"{preemption}\"\nplan = {{ chunk = \"32KiB\"{plan} }}")
    } else {
        "io = \"non-preemptible\"".into()
    };
    let bound = one_of(&["", "", "queue = 3"]);
    let region = one_of(&["", "region = \"0%..0.01%\""]);
    let deadline = one_of(&["", "deadline = \"150ms\""]);
    // A tape takes a minute to wind.
    let rates: &[_] = if drive == "tape-lto5" { &["1/min", "3/h"] } else { &["20/s", "60/s"] };
    let (rate, size) = (one_of(rates), one_of(&["4KiB", "64KiB"]));
    let warmup = one_of(&["warmup = \"0s\"", "warmup = \"0s\"", "warmup = \"500ms\"", ""]);
    let end = one_of(&["requests = 150", "duration = \"2s\""]);
    format!(
        "drive = {{ model = \"{drive}\", {queue} }}\n{array}\n[scheduler]\npolicy = \"{policy}\"\n{service}\n{bound}\n\
         [[workload]]\nname = \"long\"\nkind = \"closed\"\ndepth = 2\nsize = \"256KiB\"\nread = 0.5\n{region}\n\
         [[workload]]\nname = \"short\"\nkind = \"open\"\nrate = \"{rate}\"\nsize = \"{size}\"\nread = 0.7\npriority = 1\n\
         {region}\n{deadline}\n[run]\n{end}\n{warmup}\nreplications = 2\n"
    )
}

/// Laws of the records of one run.
fn hold(records: &[Kept], text: &str) {
    let mut numbers: Vec<u64> = records.iter().map(|it| it.number).collect();
    numbers.sort_unstable();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "a request has two records\n{text}");
    assert!(records.windows(2).all(|pair| pair[0].end <= pair[1].end), "not in the order of their ends\n{text}");
    let (lone, whole) = (!text.contains("array"), text.contains("non-preemptible"));
    for it in records {
        let sum: u64 = it.waits.iter().chain(&it.parts).sum();
        assert_eq!(sum, it.end - it.arrival, "{it:?}\n{text}");
        assert!(it.arrival <= it.start && it.start <= it.end, "{it:?}\n{text}");
        assert!(it.commands > 0 || it.parts.iter().all(|part| *part == 0), "{it:?}\n{text}");
        if whole {
            assert_eq!((it.wait(Wait::Slack), it.wait(Wait::Preempted)), (0, 0), "{it:?}\n{text}");
        }
        if lone && whole {
            assert_eq!(it.waits.iter().sum::<u64>(), it.start - it.arrival, "{it:?}\n{text}");
        }
        if !text.contains("queue = 3") && !text.contains("buffer") {
            assert_eq!(it.wait(Wait::Admission), 0, "{it:?}\n{text}");
        }
        // The time of every device here is told apart.
        if it.ending.is_some() {
            assert_eq!(it.parts[PARTS - 1], 0, "{it:?}\n{text}");
        }
    }
}

fn mean_ms(of: &[&Kept], time: impl Fn(&Kept) -> u64) -> f64 {
    of.iter().map(|it| time(it)).sum::<u64>() as f64 / of.len().max(1) as f64 / 1e6
}

/// The records of all replications of a run are what its results count.
fn agree(run: &Run, records: &[Kept], text: &str) {
    let counted: Vec<&Kept> = records.iter().filter(|it| it.counted).collect();
    assert_eq!(counted.len() as u64, run.requests, "{text}");
    for (name, class) in &run.classes {
        let of: Vec<&Kept> = counted.iter().copied().filter(|it| it.class == *name).collect();
        let with = |ending| of.iter().filter(|it| it.ending == ending).count() as u64;
        let failed = of.iter().filter(|it| matches!(it.ending, Some(Ending::Failed(_)))).count() as u64;
        let counts = [of.len() as u64, with(Some(Ending::Dropped)), failed, with(None)];
        assert_eq!(counts, [class.requests, class.dropped, class.failed, class.still_waiting], "{name}\n{text}");
        let timed: Vec<&Kept> =
            of.into_iter().filter(|it| matches!(it.ending, None | Some(Ending::Finished))).collect();
        let close = |mean: f64, wanted: f64, what: &str| {
            assert!((mean - wanted).abs() < 1e-9, "{name}: {what} {mean}, not {wanted}\n{text}");
        };
        close(mean_ms(&timed, |it| it.end - it.arrival), class.response_ms.mean, "response");
        close(mean_ms(&timed, |it| it.start - it.arrival), class.waiting_ms.mean, "waiting");
        // Of commands side by side only one counts for a request.
        if !text.contains("array") {
            close(mean_ms(&timed, |it| it.parts[2]), class.external_ms, "external");
        }
    }
}

#[test]
fn records_add_up_and_are_what_the_results_count() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seeds =
        number("HALFTURN_SEED").map_or(0..number("HALFTURN_SEEDS").unwrap_or(EXPERIMENTS), |seed| seed..seed + 1);
    let (mut ran, mut waited, mut endings) = (0, [0_u64; Wait::KINDS], [0_u64; 4]);
    for seed in seeds {
        let text = format!("{}seed = {seed}\n# HALFTURN_SEED={seed}", experiment(seed));
        let Ok((results, book)) = parse("random", &text, &[], None).and_then(|cases| record(&cases)) else {
            continue;
        };
        ran += 1;
        let plain = sim::simulate(&cases(&text), &sim::Unwatched).unwrap();
        let json = |results| serde_json::to_string(results).unwrap();
        assert_eq!(json(&results), json(&plain), "to be recorded changes a run\n{text}");
        assert_eq!(book.len(), 2, "{text}");
        book.values().for_each(|(records, _)| hold(records, &text));
        let all: Vec<Kept> = book.into_values().flat_map(|(records, _)| records).collect();
        agree(&results.runs[0], &all, &text);
        for it in &all {
            (0..Wait::KINDS).for_each(|kind| waited[kind] += u64::from(it.waits[kind] > 0));
            let ending = match it.ending {
                Some(Ending::Finished) => 0,
                Some(Ending::Failed(_)) => 1,
                Some(Ending::Dropped) => 2,
                None => 3,
            };
            endings[ending] += 1;
        }
    }
    if number("HALFTURN_SEED").is_none() {
        assert!(ran as u64 > EXPERIMENTS / 3, "{ran} ran");
        assert!(waited.iter().all(|many| *many > 50), "waits: {waited:?}");
        assert!(endings[0] > 1000 && endings[2] > 10, "endings: {endings:?}");
    }
}

/// One drive, in short commands, interrupted in every way.
const SHORT: &str = r#"
drive = { model = "atlas10k" }
[scheduler]
policy = "sstf"
io = "semi-preemptible"
preemption = "always"
[[workload]]
name = "long"
kind = "closed"
depth = 2
size = "512KiB"
read = 0.5
[[workload]]
name = "short"
kind = "open"
rate = "25/s"
size = "4KiB"
priority = 1
[run]
requests = 400
warmup = "0s"
seed = 3
"#;

/// The commands of a run, as a picture of it has them: by request how many, and their parts.
fn commands(case: &Case) -> (BTreeMap<u64, (u64, Vec<u64>)>, Time) {
    let scope = PictureScope { from: Time::ZERO, to: Time::NEVER, most: usize::MAX };
    let seen = sim::panorama(&case.experiment, scope).unwrap();
    let mut sums: BTreeMap<u64, (u64, Vec<u64>)> = BTreeMap::new();
    for step in seen.disks.iter().flat_map(|disk| &disk.steps) {
        let Some(request) = step.request else { continue };
        let (count, parts) = sums.entry(request.into()).or_insert((0, vec![0; PARTS]));
        *count += 1;
        parts.iter_mut().zip(step.parts.name_parts()).for_each(|(sum, (_, span))| *sum += span.0);
    }
    (sums, seen.to)
}

#[test]
fn parts_of_a_request_are_those_of_its_commands_summed_up() {
    for text in [
        SHORT.to_owned(),
        SHORT.replace("\"atlas10k\"", "\"nl20\""),
        SHORT.replace("semi-preemptible", "non-preemptible").replace("always", "never"),
    ] {
        let case = cases(&text);
        let (_, book) = record(&case).unwrap();
        let (wanted, to) = commands(&case[0]);
        let mut compared = 0;
        for it in book[&(0, 0)].0.iter().filter(|it| it.end < to.0) {
            let (count, parts) = wanted.get(&it.number).cloned().unwrap_or((0, vec![0; PARTS]));
            assert_eq!((it.commands, &it.parts[..]), (count, &parts[..]), "{it:?}");
            compared += 1;
        }
        assert!(compared > 300, "{compared}");
    }
}

#[test]
fn as_many_are_preempted_as_the_results_say_and_wait_for_who_did() {
    let (results, book) = record(&cases(SHORT)).unwrap();
    let (records, _) = &book[&(0, 0)];
    let of =
        |class: &str, wait: Wait| records.iter().filter(|it| it.class == class && it.wait(wait) > 0).count() as u64;
    let preemptions = results.runs[0].service.as_ref().unwrap().preemptions;
    assert!(preemptions > 50, "{preemptions}");
    // One that goes on in another's slack, or is interrupted twice, counts once.
    assert!((preemptions / 2..=preemptions).contains(&of("long", Wait::Preempted)), "{preemptions}");
    assert_eq!(of("short", Wait::Preempted), 0);
    assert!(of("long", Wait::Slack) > 50);
}

#[test]
fn a_write_waits_for_the_one_it_overlaps_until_that_has_ended() {
    let same = "drive = { model = \"atlas10k\" }\nscheduler = { policy = \"fcfs\" }\n[[workload]]\nname = \"a\"\nkind = \"closed\"\n\
        depth = 3\nsize = \"64KiB\"\nalign = \"64KiB\"\nread = 0\nregion = \"0%..0.001%\"\n[run]\nrequests = 60\nwarmup = \"0s\"\n";
    let (_, book) = record(&cases(same)).unwrap();
    let records = &book[&(0, 0)].0;
    let mut ends: Vec<u64> = records.iter().map(|it| it.end).collect();
    ends.sort_unstable();
    let held: Vec<&Kept> = records.iter().filter(|it| it.wait(Wait::Overlap) > 0).collect();
    assert!(held.len() > 30, "{}", held.len());
    for it in held {
        // It was held from the beginning until another ended.
        assert!(ends.contains(&(it.arrival + it.wait(Wait::Overlap))), "{it:?}");
    }
}

#[test]
fn alone_at_an_array_a_request_waits_for_nothing() {
    // The fifth disk holds parity: a short write reads what was there, and what it was summed into.
    for (level, op, commands) in [("5", "read = 0", 4), ("5", "read = 1", 1), ("0/1", "read = 0", 2)] {
        let text = format!(
            "drive = {{ model = \"atlas10k\" }}\narray = {{ level = \"{level}\", disks = 4 }}\nscheduler = {{ policy = \"fcfs\" }}\n\
             [[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 1\nsize = \"4KiB\"\n{op}\n[run]\nrequests = 60\n\
             warmup = \"0s\"\n"
        );
        let (_, book) = record(&cases(&text)).unwrap();
        let records = &book[&(0, 0)].0;
        assert!(records.len() >= 60);
        for it in records {
            assert_eq!((it.waits, it.commands), ([0; Wait::KINDS], commands), "{level} {op}: {it:?}");
        }
    }
}

#[test]
fn as_many_writes_wait_for_admission_as_found_the_buffer_full() {
    let text = "drive = { model = \"atlas10k\" }\narray = { level = \"0\", disks = 2, buffer = \"256KiB\" }\n\
        scheduler = { policy = \"fcfs\" }\n[[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 4\nsize = \"64KiB\"\nread = 0\n\
        [run]\nrequests = 80\nwarmup = \"0s\"\n";
    let (results, book) = record(&cases(text)).unwrap();
    let waited = book[&(0, 0)].0.iter().filter(|it| it.wait(Wait::Admission) > 0).count() as u64;
    let blocked = results.runs[0].buffer.as_ref().unwrap().blocked;
    // The last of them may be outstanding at the end.
    assert!(waited > 30 && (blocked - 4..=blocked).contains(&waited), "{waited} waited, {blocked} were blocked");
}

#[test]
fn processes_requests_are_recorded_too() {
    let text = include_str!("../../../../examples/two-compressions.toml");
    let folder = Folder::new("processes");
    let text = text.replace("[run]", "[run]\nduration = \"2s\"").replacen("duration = \"2s\"\nduration", "duration", 1);
    let file = folder.file("processes.toml", &text);
    let cases = load::experiment::load(file.as_ref(), &[], None).unwrap_or_else(|error| panic!("{error}"));
    let (results, book) = record(&cases[..1]).unwrap();
    book.values().for_each(|(records, _)| hold(records, "array"));
    let all: Vec<Kept> = book.into_values().flat_map(|(records, _)| records).collect();
    assert!(all.len() > 20 && all.iter().any(|it| it.op == Op::Read));
    assert_eq!(all.iter().filter(|it| it.counted).count() as u64, results.runs[0].requests);
}

#[test]
fn records_are_the_same_on_any_number_of_threads() {
    let text = SHORT.replace("\"sstf\"", "[\"sstf\", \"fcfs\"]").replace("seed = 3", "seed = 3\nreplications = 3");
    let lines = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let (_, book) = pool.install(|| record(&cases(&text))).unwrap();
        book.into_values().map(|(_, lines)| String::from_utf8(lines).unwrap()).collect::<Vec<_>>()
    };
    let one = lines(1);
    assert_eq!((one.len(), &one), (6, &lines(3)));
    assert!(
        one[4].starts_with("scheduler.policy=fcfs,2,") || one[4].starts_with("policy=fcfs,2,"),
        "{}",
        &one[4][..60]
    );
}
