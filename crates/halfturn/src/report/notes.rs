//! What must be known to believe a comparison: the foot of its table.

use super::number;
use super::rows::{CaseRun, shown_parts};
use load::results::{ArmError, Buffer, ReadCacheFigures};
use std::collections::BTreeSet;

/// A drive busier than this, under a load that does not wait for it, falls behind.
const OVERLOADED: f64 = 0.98;
/// So does one where requests wait for such a share of the whole run.
const BACKLOG: f64 = 0.05;

/// Parts of an arm's time that have a column only where they are large.
const MEANINGS: [(&str, &str); 5] = [
    ("external", "waiting until the arm had ended work of the drive's own, read-ahead or write-back"),
    ("overhead", "the drive's electronics, before the arm moves"),
    ("switch", "changing heads, and crossing to the next track"),
    ("settle", "settling before a write"),
    ("bus", "waiting for the host's bus"),
];

/// The lines under tables, with what they use to mark the best.
pub fn footer(pairs: &[CaseRun], tables: &str) -> String {
    let mut lines = Vec::new();
    if tables.contains(" *") {
        lines.push("* best of its column among runs asked for the same; less than ± apart may be chance".into());
    }
    if pairs.iter().any(|(_, run)| !run.disks.is_empty()) {
        lines.push(
            "busy: share of time with a command in service; seek to other: what the arm spent that time on".into(),
        );
    }
    for (part, meaning) in MEANINGS {
        if shown_parts(pairs).contains(&part) {
            lines.push(format!("{part}: {meaning}"));
        }
    }
    if pairs.iter().any(|(_, run)| run.service.is_some()) {
        lines.extend(super::service::MEANING.map(Into::into));
    }
    for (row, (_, run)) in pairs.iter().enumerate() {
        let error = run.service.as_ref().and_then(|service| service.arm_error_ms.as_ref());
        lines.extend(error.map(|error| format!("{}{}", whose(&[row], pairs), off(error))));
    }
    for (row, (_, run)) in pairs.iter().enumerate() {
        lines.extend(run.buffer.as_ref().map(|buffer| format!("{}{}", whose(&[row], pairs), buffer_note(buffer))));
        lines.extend(run.read_cache.as_ref().map(|cache| format!("{}{}", whose(&[row], pairs), cache_note(cache))));
    }
    let overloaded = list_overloaded(pairs);
    if !overloaded.is_empty() {
        lines.push(format!(
            "{}the drive is overloaded: the table compares backlogs, not schedulers; slow the replay with time_scale \
             or replay closed",
            whose(&overloaded, pairs)
        ));
    }
    let mut seen = BTreeSet::new();
    for note in pairs.iter().flat_map(|(_, run)| &run.notes).filter(|note| seen.insert(note.as_str())) {
        let runs: Vec<usize> = (0..pairs.len()).filter(|row| pairs[*row].1.notes.contains(note)).collect();
        lines.push(format!("{}{note}", whose(&runs, pairs)));
    }
    lines.iter().map(|line| wrap(line)).collect()
}

/// How well the arm's way was foretold.
fn off(error: &ArmError) -> String {
    let ArmError { mean, p50, p99, .. } = error;
    let (by, word) = (mean.abs(), if *mean < 0.0 { "sooner" } else { "later" });
    format!(
        "arm of timed seeks: there {by:.3} ms {word} than believed on average; half are within {p50:.3} ms, 99 % within {p99:.3}"
    )
}

/// How full the write buffer was.
fn buffer_note(buffer: &Buffer) -> String {
    let Buffer { most_mib, p99_mib, full_fraction, .. } = buffer;
    let waited = match buffer.blocked {
        0 => "no write waited for room".into(),
        writes => format!("{writes} writes waited for room, in {:.1} % of the time", full_fraction * 100.0),
    };
    format!("write buffer: at most {most_mib:.1} MiB, for 99 % of the time up to {p99_mib:.1}; {waited}")
}

fn cache_note(cache: &ReadCacheFigures) -> String {
    let ReadCacheFigures { hit_fraction, awaited, read_ahead_mib, .. } = cache;
    let share = hit_fraction * 100.0;
    let waited = number::count(*awaited);
    format!(
        "read cache: answered {share:.1} % of the reads, {waited} once it was read ahead; read ahead {read_ahead_mib:.1} MiB"
    )
}

/// How many drives cannot keep up with their load.
pub fn count_overloaded(pairs: &[CaseRun]) -> usize {
    list_overloaded(pairs).len()
}

fn list_overloaded(pairs: &[CaseRun]) -> Vec<usize> {
    (0..pairs.len()).filter(|row| is_overloaded(&pairs[*row])).collect()
}

/// Whether requests come no matter what, and the drive cannot keep up.
fn is_overloaded((case, run): &CaseRun) -> bool {
    let waits_for_no_one = case.experiment.workloads.iter().all(|workload| workload.kind.is_open());
    let length_ms = run.simulated_seconds * 1e3 / f64::from(case.experiment.run.replications);
    let behind = run.classes.values().any(|class| class.response_ms.mean >= BACKLOG * length_ms);
    // Reading ahead keeps an arm moving that has nothing else to do: what counts is time in service.
    let busy = run.disks.iter().any(|disk| disk.busy >= OVERLOADED);
    waits_for_no_one && (busy || behind)
}

/// Which runs a note concerns; nothing if it is all.
fn whose(rows: &[usize], pairs: &[CaseRun]) -> String {
    if rows.len() == pairs.len() {
        return String::new();
    }
    let name = |row: &usize| {
        let labels = &pairs[*row].0.labels;
        labels.values().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let shown: Vec<String> = rows.iter().take(6).map(name).collect();
    let more = if rows.len() > 6 { format!(" and {} more", rows.len() - 6) } else { String::new() };
    format!("{}{more}: ", shown.join(", "))
}

/// A line broken between words, the rest indented.
pub fn wrap(line: &str) -> String {
    let mut text = String::new();
    let mut used = 0;
    for word in line.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > 106 {
            text.push_str("\n   ");
            used = 3;
        }
        if used > 0 || text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
        used += 1 + length;
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_break_between_words() {
        assert_eq!(wrap("a b"), " a b\n");
        let text = wrap(&"word ".repeat(50));
        assert!(text.lines().all(|line| line.len() <= 110), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("   ")), "{text}");
    }

    #[test]
    fn the_foot_explains_every_column_that_is_there_and_no_other() {
        use super::super::rows::tests::{run, short_experiment};
        use super::super::service;
        for (scheduler, several) in [("", false), ("io = \"semi-preemptible\"", true)] {
            let cases = short_experiment("\"a\"", scheduler);
            let results = run(&cases);
            let pairs: Vec<CaseRun> = cases.iter().zip(&results.runs).collect();
            let foot = footer(&pairs, "").split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(service::table(&pairs).is_some(), several);
            for meaning in service::MEANING {
                assert_eq!(foot.contains(meaning), several, "{foot}");
            }
            for (part, meaning) in MEANINGS {
                let explained = foot.contains(&format!("{part}: {meaning}"));
                assert_eq!(explained, shown_parts(&pairs).contains(&part), "{part}: {foot}");
            }
            assert!(foot.contains("busy: ") && !foot.contains("best of its column"), "{foot}");
            assert!(footer(&pairs, "1 *2").contains("best of its column"));
        }
    }
}
