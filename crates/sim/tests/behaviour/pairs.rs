//! Every pair of options works together, or is refused by name.

use load::experiment;
use sim::replicate;

/// The values of each option; the first is what the others are tried with.
const OPTIONS: [(&str, &[&str]); 7] = [
    ("policy", &["look", "fcfs", "c-look", "sstf", "satf", "asatf", "smtf", "lookahead", "yield", "batch-look"]),
    ("predictor", &["", "profile", "distance", "mimic", "oracle"]),
    ("preemption", &["never", "always", "priority", "conservative", "aggressive", "lookahead"]),
    ("io", &["semi-preemptible", "non-preemptible"]),
    (
        "array",
        &[
            "",
            "level = \"0\"\ndisks = 4",
            "level = \"0/1\"\ndisks = 4\nmigration = \"remainder\"",
            "level = \"0/1\"\ndisks = 4\nmigration = \"jit\"\nplacement = \"nearest\"",
            "level = \"5\"\ndisks = 4",
            "level = \"5\"\ndisks = 4\n[[array.fails]]\ndisk = 1\nat = \"2s\"\nreplaced = true",
        ],
    ),
    ("buffer", &["", "8MiB"]),
    ("drive", &["atlas10k", "nl20", "mirror-atlas10k", "tape-lto5"]),
];

fn text(chosen: &[&str]) -> String {
    let [policy, predictor, preemption, io, array, buffer, drive] = chosen else { unreachable!("one of each option") };
    let array = match (array.split_once("\n[["), buffer.is_empty()) {
        _ if array.is_empty() => String::new(),
        (_, true) => format!("[array]\n{array}\n"),
        (Some((array, fails)), false) => format!("[array]\n{array}\nbuffer = \"{buffer}\"\n[[{fails}\n"),
        (None, false) => format!("[array]\n{array}\nbuffer = \"{buffer}\"\n"),
    };
    let predictor = if predictor.is_empty() { String::new() } else { format!("predictor = \"{predictor}\"") };
    let chunk = if *io == "semi-preemptible" { "[scheduler.plan]\nchunk = \"64KiB\"" } else { "" };
    format!(
        "[drive]\nmodel = \"{drive}\"\n{array}[scheduler]\npolicy = \"{policy}\"\n{predictor}\nio = \"{io}\"\n\
         preemption = \"{preemption}\"\n{chunk}\n[[workload]]\nname = \"a\"\nkind = \"closed\"\ndepth = 6\nsize = \"256KiB\"\n\
         read = 0.5\n[[workload]]\nname = \"b\"\nkind = \"open\"\nrate = \"20/s\"\nsize = \"4KiB\"\npriority = 1\n\
         deadline = \"300ms\"\n[run]\nrequests = 1000\n"
    )
}

#[test]
fn every_pair_of_options_runs_or_is_refused_by_name() {
    let (mut ran, mut refused) = (0, 0);
    for (i, (_, values)) in OPTIONS.iter().enumerate() {
        for (j, (_, others)) in OPTIONS.iter().enumerate().skip(i + 1) {
            for value in *values {
                for other in *others {
                    let mut chosen = OPTIONS.map(|(_, values)| values[0]);
                    (chosen[i], chosen[j]) = (value, other);
                    let text = text(&chosen);
                    let run = experiment::parse("pair", &text, &[], None)
                        .and_then(|cases| replicate(&cases[0].experiment, 0, &|_| ()));
                    match run {
                        Ok(run) => {
                            assert!(run.meter.requests() >= 1000, "{text}\nends before its time");
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
    assert!(ran > 400 && refused > 5, "{ran} ran, {refused} were refused");
}
