//! Every pair of options works together, or is refused by name.

use load::experiment;
use sched::{policy, predict, preemption};
use sim::replicate;

/// Requests of a run: by then a disk has failed and another is in its place.
const REQUESTS: u64 = 400;

/// The values of each option, all of those that are registered; the first is what the others are tried with.
fn options() -> [Vec<&'static str>; 7] {
    let first = |first: &'static str, all: Vec<&'static str>| {
        std::iter::once(first).chain(all.into_iter().filter(|it| *it != first)).collect::<Vec<_>>()
    };
    let arrays = vec![
        "",
        "level = \"0\"\ndisks = 4",
        "level = \"0/1\"\ndisks = 4\nmigration = \"remainder\"",
        "level = \"0/1\"\ndisks = 4\nmigration = \"jit\"\nplacement = \"nearest\"",
        "level = \"0/1\"\ndisks = 4\nspeculation = \"copies\"\nmigration = \"jit\"",
        "level = \"0/1\"\ndisks = 4\ncoalescing = \"units\"",
        "level = \"5\"\ndisks = 4",
        "level = \"5\"\ndisks = 4\n[[array.fails]]\ndisk = 1\nat = \"2s\"\nreplaced = true",
    ];
    [
        first("look", policy::names().collect()),
        first("", predict::ALL.iter().map(|manual| manual.name).collect()),
        first("never", preemption::ALL.iter().map(|manual| manual.name).collect()),
        vec!["semi-preemptible", "non-preemptible"],
        arrays,
        vec!["", "8MiB"],
        ["atlas10k", "nl20"].into_iter().chain(disk::catalogue::others()).collect(),
    ]
}

fn text(chosen: &[&str]) -> String {
    let [policy, predictor, preemption, io, array, buffer, drive] = chosen else { unreachable!("one of each option") };
    let array = match (array.split_once("\n[["), buffer.is_empty()) {
        _ if array.is_empty() => String::new(),
        (_, true) => format!("[array]\n{array}\n"),
        (Some((array, fails)), false) => format!("[array]\n{array}\nbuffer = \"{buffer}\"\n[[{fails}\n"),
        (None, false) => format!("[array]\n{array}\nbuffer = \"{buffer}\"\n"),
    };
    let predictor = if predictor.is_empty() { String::new() } else { format!("predictor = \"{predictor}\"") };
    let promise = if *preemption == "slo" { "[scheduler.class.b]\np99 = \"50ms\"\n" } else { "" };
    let chunk = if *io == "semi-preemptible" { "[scheduler.plan]\nchunk = \"64KiB\"" } else { "" };
    format!(
        "[drive]\nmodel = \"{drive}\"\n{array}[scheduler]\npolicy = \"{policy}\"\n{predictor}\nio = \"{io}\"\n\
         preemption = \"{preemption}\"\n{chunk}\n{promise}[[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 6\nsize = \"256KiB\"\n\
         read = 0.5\n[[workload]]\nname = \"b\"\nkind = \"open\"\nrate = \"20/s\"\nsize = \"4KiB\"\npriority = 1\n\
         deadline = \"300ms\"\n[run]\nrequests = {REQUESTS}\n"
    )
}

#[test]
fn every_pair_of_options_runs_or_is_refused_by_name() {
    let (mut ran, mut refused) = (0, 0);
    let options = options();
    for (i, values) in options.iter().enumerate() {
        for (j, others) in options.iter().enumerate().skip(i + 1) {
            for value in values {
                for other in others {
                    let mut chosen = [0, 1, 2, 3, 4, 5, 6].map(|option: usize| options[option][0]);
                    (chosen[i], chosen[j]) = (value, other);
                    let text = text(&chosen);
                    let run = experiment::parse("pair", &text, &[], None)
                        .and_then(|cases| replicate(&cases[0].experiment, 0, &|_| ()));
                    match run {
                        Ok(run) => {
                            assert!(run.meter.requests() >= REQUESTS, "{text}\nends before its time");
                            ran += 1;
                        }
                        Err(error) => {
                            assert!(!error.what.is_empty() && !error.mend.is_empty(), "{text}");
                            refused += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{ran} ran, {refused} were refused");
    assert!(ran > 500 && refused > 5, "{ran} ran, {refused} were refused");
}
